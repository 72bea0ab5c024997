//! Progress: one line, whatever the terminal's width, and none when the command has ended.

mod common;

use std::fs::File;

use common::{MILLSTREAM, Place, Terminal};

/// Makes a file that takes longer to digest than any test waits. It has no blocks on the disk.
fn place_with_long_file() -> Place {
    let place = Place::new();
    File::create(place.path("long")).unwrap().set_len(1 << 40).unwrap();
    place
}

/// Splits what a terminal was sent into the texts that it showed in a line, without the sequences that move its cursor.
fn lines(shown: &str) -> Vec<String> {
    let mut text = String::new();
    let mut letters = shown.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\x1b' => drop(letters.find(char::is_ascii_alphabetic)),
            '\r' | '\n' => text.push('\n'),
            letter => text.push(letter),
        }
    }
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn a_bar_takes_one_line_and_leaves_none() {
    let place = place_with_long_file();
    for (columns, seen) in [(120, " of 1.00 TiB"), (80, " of 1.00 TiB"), (50, "0%, "), (20, "0%")] {
        let shell = format!(
            "stty cols {columns} rows 24; trap : INT; TERM=xterm {MILLSTREAM} digest -a sha256 long; echo code $?; echo end"
        );
        let mut terminal = Terminal::new(&place, &shell);
        let mut shown = terminal.see(seen) + seen;
        terminal.type_in("\x03");
        let behind = terminal.see("code ");
        // The line was cleared, and the cursor is at its beginning.
        let cleared = behind.rsplit_once("\x1b[2K").map(|(_, rest)| rest.trim_start_matches('\r'));
        assert_eq!(cleared, Some(""), "{columns} columns: {behind:?}");
        assert!(terminal.see("end").starts_with("130"), "{columns} columns");
        shown += &behind;
        for line in lines(&shown) {
            // The terminal itself shows the key that was typed.
            let line = line.replace("^C", "");
            assert!(line.chars().count() <= columns, "{columns} columns: {line:?}");
        }
        terminal.end();
    }
}

#[test]
fn a_short_stream_to_a_slow_store_has_a_bar() {
    let place = Place::new();
    place.key("key", [7; 32]);
    File::create(place.path("file")).unwrap().set_len(1 << 20).unwrap();
    let put = "backup put store/a -k key --segment 64K --bandwidth 512K file";
    let shell = format!("stty cols 120 rows 24; TERM=xterm exec {MILLSTREAM} {put}");
    let mut terminal = Terminal::new(&place, &shell);
    terminal.see(" of 1.00 MiB");
    terminal.see("verifier ");
    terminal.end();
}

#[test]
fn there_is_none_in_a_pipe() {
    let place = Place::new();
    File::create(place.path("file")).unwrap().set_len(100 << 20).unwrap();
    place.words("digest -a crc32c file").good();
    let shell = format!("exec {MILLSTREAM} digest -q -a crc32c file");
    let (code, shown) = Terminal::new(&place, &shell).end();
    assert_eq!((code, lines(&shown).len()), (Some(0), 1), "{shown:?}");
}

#[test]
fn several_files_share_a_bar() {
    let place = Place::new();
    place.key("key", common::bytes(32));
    File::create(place.path("a")).unwrap().set_len(40 << 20).unwrap();
    File::create(place.path("b")).unwrap().set_len(40 << 20).unwrap();
    place.run("mkfifo", ["pipe"], b"").good();
    // Nobody writes to the pipe, so the bar stays.
    let shell =
        format!("stty cols 80 rows 24; trap : INT; {MILLSTREAM} encrypt -k key a gone pipe b; echo code $?");
    let mut terminal = Terminal::new(&place, &shell);
    // Files are done side by side, so the message may come before or after the last byte.
    terminal.see_all(&["80.00 MiB of 80.00 MiB", "can not open input file gone"]);
    terminal.type_in("\x03");
    terminal.see("code 130");
    terminal.end();
    let shell = format!("exec {MILLSTREAM} encrypt -q -f -k key a b");
    assert_eq!(Terminal::new(&place, &shell).end(), (Some(0), String::new()));
}
