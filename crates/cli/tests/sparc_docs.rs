//! Runs the commands of the chapter `docs/sparc.md`, and compares their output with the chapter's.
//!
//! In a block marked `console`, lines that begin with `$ ` are commands, and the others are their output. The
//! figures of a block marked `console measured` are those of one machine, so its commands only have to
//! succeed. With MILLSTREAM_UPDATE_DOCS=1, the outputs in the chapter are replaced by those of this run.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{MILLSTREAM, Place};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the output of a command, in the folder of the guest programs.
fn written(place: &Place, command: &str) -> String {
    let bin = Path::new(MILLSTREAM).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {command}\n}} 2>&1")])
        .current_dir(place.path("guest"))
        .env("PATH", path)
        .output()
        .unwrap();
    // The machine decides whether a signal leaves a core file.
    let text = String::from_utf8_lossy(&output.stdout).replace(" (core dumped)", "");
    assert!(output.status.success(), "{command}: {}\n{text}", output.status);
    // A last line without an end becomes a line in the chapter, too.
    if text.is_empty() || text.ends_with('\n') { text } else { text + "\n" }
}

/// Returns the chapter with the current output of its commands.
fn rewritten(place: &Place, chapter: &str) -> String {
    let mut text = String::new();
    let mut lines = chapter.lines().peekable();
    while let Some(line) = lines.next() {
        text += &format!("{line}\n");
        if !line.starts_with("```console") {
            continue;
        }
        let measured = line.contains("measured");
        while let Some(line) = lines.next_if(|line| *line != "```") {
            let Some(command) = line.strip_prefix("$ ") else { panic!("not after a command: {line}") };
            text += &format!("{line}\n");
            let now = written(place, command);
            let mut before = String::new();
            while let Some(line) = lines.next_if(|line| *line != "```" && !line.starts_with("$ ")) {
                before += &format!("{line}\n");
            }
            let keep = measured && !before.is_empty();
            text += if keep { &before } else { &now };
        }
    }
    text
}

#[test]
fn the_commands_of_the_chapter_write_what_it_says() {
    let path = root().join("docs/sparc.md");
    let chapter = std::fs::read_to_string(&path).unwrap();
    let compiler = Command::new("sparc64-linux-gnu-gcc").arg("--version").output();
    compiler.expect("sparc64-linux-gnu-gcc runs: install gcc-sparc64-linux-gnu");
    let place = Place::new();
    std::fs::create_dir(place.path("guest")).unwrap();
    for entry in std::fs::read_dir(root().join("machines/ultrasparc/guest")).unwrap() {
        let from = entry.unwrap().path();
        std::fs::copy(&from, place.path("guest").join(from.file_name().unwrap())).unwrap();
    }
    let now = rewritten(&place, &chapter);
    if std::env::var_os("MILLSTREAM_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    for (line, (now, chapter)) in now.lines().zip(chapter.lines()).enumerate() {
        assert_eq!(now, chapter, "docs/sparc.md, line {}: MILLSTREAM_UPDATE_DOCS=1 mends it", line + 1);
    }
    assert_eq!(now.lines().count(), chapter.lines().count());
}
