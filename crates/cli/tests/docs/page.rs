//! A page of the documents, as its fenced blocks.

use std::path::PathBuf;

use millstream_testkit::install::root;

/// A fenced block.
#[derive(Debug, PartialEq)]
pub struct Block {
    /// The words behind the opening fence, as `console measured`.
    pub kind: String,
    /// The number of the first line inside.
    pub line: usize,
    /// The lines inside, without the indentation of the fence.
    pub lines: Vec<String>,
}

/// A command of a page.
#[derive(Debug, PartialEq)]
pub struct Command {
    /// The number of its line.
    pub line: usize,
    pub text: String,
    /// The output that the page shows; none where commands stand alone.
    pub shown: Option<Vec<String>>,
    /// True if the numbers in the output are those of one machine at one moment.
    pub measured: bool,
}

/// Returns the path of a page.
pub fn path(name: &str) -> PathBuf {
    if name == "README.md" { root().join(name) } else { root().join("docs").join(name) }
}

/// Returns the blocks of a page, in order.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(kind) = line.trim_start().strip_prefix("```") else { continue };
        let indent = line.len() - line.trim_start().len();
        let inside = lines.by_ref().map(|(_, line)| line.get(indent..).unwrap_or_default().to_owned());
        let inside = inside.take_while(|line| line != "```").collect();
        blocks.push(Block { kind: kind.to_owned(), line: number + 2, lines: inside });
    }
    blocks
}

impl Block {
    /// Returns the commands of a block for a shell. Others have none.
    pub fn commands(&self) -> Vec<Command> {
        let measured = self.kind.ends_with(" measured");
        let mut commands: Vec<Command> = Vec::new();
        for (i, text) in self.lines.iter().enumerate() {
            let line = self.line + i;
            match self.kind.split(' ').next() {
                Some("sh") if !text.trim_start().starts_with('#') && !text.trim().is_empty() => {
                    commands.push(Command { line, text: text.clone(), shown: None, measured });
                }
                Some("console") => match (text.strip_prefix("$ "), commands.last_mut()) {
                    (Some(text), _) => {
                        let shown = Some(Vec::new());
                        commands.push(Command { line, text: text.to_owned(), shown, measured });
                    }
                    (None, Some(command)) => command.shown.get_or_insert_default().push(text.clone()),
                    (None, None) => panic!("line {line} is output of no command: {text}"),
                },
                _ => {}
            }
        }
        commands
    }
}

#[test]
fn blocks_and_commands_of_a_page() {
    let text =
        "a\n```sh\n# why\none\ntwo\n```\n- b\n  ```console measured\n  $ three\n  3\n  $ four\n  ```\n";
    let blocks = blocks(text);
    assert_eq!((blocks[0].line, blocks[1].line, blocks.len()), (3, 9, 2));
    let of = |line, text: &str, shown, measured| Command { line, text: text.to_owned(), shown, measured };
    assert_eq!(blocks[0].commands(), [of(4, "one", None, false), of(5, "two", None, false)]);
    let shown = |lines: &[&str]| Some(lines.iter().map(|line| line.to_string()).collect());
    let expected = [of(9, "three", shown(&["3"]), true), of(11, "four", shown(&[]), true)];
    assert_eq!(blocks[1].commands(), expected);
}
