//! Text from elsewhere, such as the names of files, as messages show it: whatever could command a terminal, or make
//! one line look like two, is spelled out.

use std::fmt::Write;
use std::path::Path;

/// Spells out the control characters of a text, as in `\n` and `\x1b`, and those that turn the direction of writing.
pub fn text(text: &str) -> String {
    spelled_out(text, |_| false)
}

/// Spells out the same characters of a message that may have several lines.
pub fn lines(text: &str) -> String {
    spelled_out(text, |c| c == '\n' || c == '\t')
}

/// Returns the name of a file for a message. Bytes that are not UTF-8 are replaced.
pub fn path(path: &Path) -> String {
    text(&path.to_string_lossy())
}

fn spelled_out(text: &str, is_kept: fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if is_kept(c) || !commands(c) => shown.push(c),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if c.is_ascii() => {
                let _ = write!(shown, "\\x{:02x}", u32::from(c));
            }
            c => shown.extend(c.escape_unicode()),
        }
    }
    shown
}

/// Returns true for a character that a terminal does not simply show.
fn commands(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_commands_a_terminal_is_left() {
        assert_eq!(text("a\x1b[2J\n\r\t\x7f\u{9b}b"), "a\\x1b[2J\\n\\r\\t\\x7f\\u{9b}b");
        assert_eq!(text("\u{202e}txt"), "\\u{202e}txt");
        assert_eq!(text("Köln \\n"), "Köln \\n");
        assert_eq!(lines("two\n\tlines\x07"), "two\n\tlines\\x07");
    }
}
