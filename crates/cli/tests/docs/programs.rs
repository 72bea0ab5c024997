//! Blocks that are sources: programs in Rust and C, and a policy.

use std::path::PathBuf;
use std::process::Command as Process;
use std::sync::OnceLock;

use millstream_testkit::install::{cargo, profile, root};

use crate::page::{Block, Command};
use crate::shell::Home;

/// Compiles a program of Rust and returns the command that makes it the page's `./program`, which is what `cargo run`
/// runs. Lines that are no program must be lines of a program in library.md.
pub fn rust(block: &Block, number: usize, home: &Home) -> Option<Command> {
    let text = block.lines.join("\n");
    if !text.contains("fn main()") {
        let library = std::fs::read_to_string(root().join("docs/library.md")).unwrap();
        for line in block.lines.iter().filter(|line| !line.trim().is_empty()) {
            let found = library.lines().any(|other| other.trim() == line.trim());
            assert!(found, "line {}: no program of docs/library.md has this line: {line}", block.line);
        }
        return None;
    }
    let source = home.path().join(format!("program-{number}.rs"));
    std::fs::write(&source, &text).unwrap();
    let program = source.with_extension("");
    let library = library();
    let mut rustc = Process::new("rustc");
    rustc.args(["--edition", "2024", "-D", "warnings", "--extern"]);
    rustc.arg(format!("millstream={}", library.display())).arg("-L");
    rustc.arg(format!("dependency={}", library.with_file_name("deps").display()));
    let output = rustc.arg("-o").arg(&program).arg(&source).output().expect("rustc runs");
    assert!(output.status.success(), "line {}: {}", block.line, String::from_utf8_lossy(&output.stderr));
    let text = format!("ln -sf program-{number} program");
    Some(Command { line: block.line, text, shown: None, measured: false })
}

/// Returns the library `millstream`, which is compiled already where the whole workspace is tested.
fn library() -> PathBuf {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        let mut cargo = cargo();
        cargo.args(["build", "--quiet", "--package", "millstream", "--lib", "--profile", &profile()]);
        let output = cargo.args(["--message-format", "json"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let messages = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let made = messages.filter(|message| message["target"]["name"] == "millstream");
        let files: Vec<serde_json::Value> =
            made.flat_map(|message| message["filenames"].as_array().cloned().unwrap_or_default()).collect();
        let mut names = files.iter().filter_map(serde_json::Value::as_str);
        PathBuf::from(names.rfind(|name| name.ends_with(".rlib")).expect("cargo made the library"))
    });
    library.clone()
}

/// Writes a program in C to the file that the next commands compile.
pub fn c(block: &Block, next: &[Block], home: &Home) {
    let commands = next.iter().flat_map(Block::commands).map(|command| command.text);
    let name = commands.filter_map(|text| {
        text.strip_prefix("cc ")?.split(' ').find(|word| word.ends_with(".c")).map(str::to_owned)
    });
    let name =
        name.into_iter().next().unwrap_or_else(|| panic!("line {}: no command compiles it", block.line));
    std::fs::write(home.path().join(name), block.lines.join("\n") + "\n").unwrap();
}

/// Returns the command by which the policy becomes that of the page's service.
pub fn policy(block: &Block, home: &Home) -> Command {
    let written = format!("policy.{}", block.line);
    std::fs::write(home.path().join(&written), block.lines.join("\n") + "\n").unwrap();
    let text = format!("cp {written} policy.toml && millstream reload");
    Command { line: block.line, text, shown: None, measured: false }
}
