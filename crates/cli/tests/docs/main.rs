//! Runs the commands of README.md and of the pages in `docs`, and compares what they write with what the page shows.
//!
//! Each page has a fresh home, in which its commands run as they are printed and in their order, with what
//! `cargo xtask install` has put below a prefix. In a block marked `console`, lines that begin with `$ ` are commands and
//! the others are their output. `compare.rs` says what fits; in a block marked `console measured` all numbers may differ.
//! `listed.rs` has what is left out. With MILLSTREAM_UPDATE_DOCS=1, outputs that differ are replaced by those of this run.

mod compare;
mod listed;
mod page;
mod programs;
mod shell;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use listed::{At, BEFORE, FOLDERS, MAY_WARN, NOT_COMPARED, NOT_RUN, OTHER_BLOCKS, VARIES};
use millstream_testkit::install::{install, root};
use page::{Block, Command};
use shell::{Ended, Home};

/// Makes a test of each page.
macro_rules! pages {
    ($($name:ident $file:literal),* $(,)?) => {
        const PAGES: &[&str] = &[$($file),*];
        $(#[test]
        fn $name() {
            run_page($file);
        })*
    };
}

pages!(
    readme "README.md",
    introduction "introduction.md",
    files "files.md",
    backup "backup.md",
    backup_format "backup-format.md",
    tokens "tokens.md",
    pkcs11 "pkcs11.md",
    isolated "isolated.md",
    openssl "openssl.md",
    srtp "srtp.md",
    dpdk "dpdk.md",
    observe "observe.md",
    columns "columns.md",
    library "library.md",
    c "c.md",
    policy "policy.md",
    operations "operations.md",
    packages "packages.md",
    speed "speed.md",
    kernels "kernels.md",
    sparc "sparc.md",
);

#[test]
fn every_page_with_a_block_is_run() {
    let folder = root().join("docs").read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    let mut with_blocks: BTreeSet<String> = folder.map(|name| name.into_string().unwrap()).collect();
    with_blocks.insert("README.md".to_owned());
    with_blocks.retain(|name| {
        name.ends_with(".md") && !page::blocks(&std::fs::read_to_string(page::path(name)).unwrap()).is_empty()
    });
    assert_eq!(with_blocks, PAGES.iter().map(|page| page.to_string()).collect());
}

/// A list may only name commands and texts that the pages have.
#[test]
fn lists_name_what_the_pages_have() {
    let text = |name: &str| std::fs::read_to_string(page::path(name)).unwrap();
    for ((name, begin), _) in NOT_RUN.iter().chain(NOT_COMPARED) {
        let blocks = page::blocks(&text(name));
        let found = blocks.iter().flat_map(Block::commands).any(|command| command.text.starts_with(begin));
        assert!(found, "{name} has no command that begins with {begin:?}");
    }
    for ((name, kind), _) in OTHER_BLOCKS {
        assert!(
            page::blocks(&text(name)).iter().any(|block| block.kind == *kind),
            "{name} has no block {kind}"
        );
    }
    let all: String = PAGES.iter().map(|name| text(name)).collect();
    for (varies, _) in VARIES {
        assert!(all.contains(varies), "no page has {varies:?}");
    }
}

/// Returns the folder of the installation, which is made once for all tests.
fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documented");
        let _ = std::fs::remove_dir_all(&prefix);
        let output = install(&["--prefix", prefix.to_str().unwrap()]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        prefix
    })
}

fn run_page(name: &str) {
    let text = std::fs::read_to_string(page::path(name)).unwrap();
    let blocks = page::blocks(&text);
    let home = Home::new(prefix());
    for (_, folder) in FOLDERS.iter().filter(|(page, _)| *page == name) {
        copy_files(&root().join(folder), home.path());
    }
    let (before, commands) = (before(name), commands(name, &blocks, &home));
    let texts = before.iter().copied().chain(commands.iter().map(|command| command.text.as_str()));
    let ended = home.run(texts);
    assert_eq!(ended.len(), before.len() + commands.len(), "{name}: the shell ended early");
    let (prepared, ended) = ended.split_at(before.len());
    for (command, ended) in before.iter().zip(prepared) {
        assert_eq!(ended.status, 0, "{name}, {command}:\n{}", ended.lines.join("\n"));
    }
    let faults: Vec<(&Command, &Ended, String)> = commands
        .iter()
        .zip(ended)
        .filter_map(|(command, ended)| Some((command, ended, fault(name, command, ended)?)))
        .collect();
    if std::env::var_os("MILLSTREAM_UPDATE_DOCS").is_some() {
        std::fs::write(page::path(name), updated(&text, &faults)).unwrap();
    }
    let faults: Vec<String> = faults.into_iter().map(|(_, _, fault)| fault).collect();
    assert!(
        faults.is_empty(),
        "{}\n\nMILLSTREAM_UPDATE_DOCS=1 puts in what was written now",
        faults.join("\n\n")
    );
}

fn before(name: &str) -> Vec<&'static str> {
    let of_page = BEFORE.iter().filter(|(page, _)| *page == name);
    of_page.flat_map(|(_, commands)| commands.iter().copied()).collect()
}

/// Returns the commands to run. A block of another kind becomes a command that makes what it is the source of.
fn commands(name: &str, blocks: &[Block], home: &Home) -> Vec<Command> {
    let mut commands = Vec::new();
    for (i, block) in blocks.iter().enumerate() {
        match block.kind.split(' ').next().unwrap_or_default() {
            "sh" | "console" => {
                let is_run = |command: &Command| !is_listed(NOT_RUN, name, &command.text);
                commands.extend(block.commands().into_iter().filter(is_run));
            }
            "rust" => commands.extend(programs::rust(block, i, home)),
            "c" => programs::c(block, &blocks[i + 1..], home),
            "toml" if name == "policy.md" => commands.push(programs::policy(block, home)),
            kind => assert!(
                OTHER_BLOCKS.iter().any(|(at, _)| *at == (name, kind)),
                "{name}, line {}: a block of the kind {kind:?} that nothing runs and listed.rs does not have",
                block.line
            ),
        }
    }
    commands
}

fn is_listed(list: &[(At, &str)], page: &str, command: &str) -> bool {
    list.iter().any(|((name, begin), _)| *name == page && command.starts_with(begin))
}

/// Returns what is wrong with the end of a command.
fn fault(name: &str, command: &Command, ended: &Ended) -> Option<String> {
    let written = || ended.lines.join("\n");
    let place = format!("{name}, line {}: {}", command.line, command.text);
    // A command that fails on purpose shows its message.
    let may_fail = command.shown.as_ref().is_some_and(|shown| !shown.is_empty());
    if ended.status != 0 && (!may_fail || is_listed(NOT_COMPARED, name, &command.text)) {
        return Some(format!("{place}\nended with {} and wrote:\n{}", ended.status, written()));
    }
    let shown = command.shown.as_ref()?;
    if is_listed(NOT_COMPARED, name, &command.text) {
        return None;
    }
    let general =
        |line: &String| if command.measured { compare::without_numbers(line) } else { line.clone() };
    let expected: Vec<String> = shown.iter().map(|line| general(&varied(line))).collect();
    let warns = |line: &&String| MAY_WARN.iter().any(|begin| line.starts_with(begin));
    let lines: Vec<String> = ended.lines.iter().filter(|line| !warns(line)).map(general).collect();
    // A service that the page shows in another terminal goes on writing.
    let lines = match command.text.starts_with("millstream serve") {
        true => lines.get(..expected.len()).unwrap_or(&lines).to_vec(),
        false => lines,
    };
    (!compare::fits(&expected, &lines))
        .then(|| format!("{place}\nwrote:\n{}\nthe page has:\n{}", written(), shown.join("\n")))
}

/// Puts an ellipsis in place of what varies from machine to machine.
fn varied(line: &str) -> String {
    VARIES.iter().fold(line.to_owned(), |line, (text, _)| line.replace(text, "…"))
}

/// Returns the page with what was written in place of what it shows.
fn updated(text: &str, faults: &[(&Command, &Ended, String)]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (command, ended, _) in faults.iter().rev() {
        let Some(shown) = &command.shown else { continue };
        lines.splice(command.line..command.line + shown.len(), ended.lines.iter().cloned());
    }
    lines.join("\n") + "\n"
}

/// Copies the files of a folder into another.
fn copy_files(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}
