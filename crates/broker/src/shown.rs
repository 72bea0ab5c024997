//! Texts from clients and workers, made fit for logs, terminals and other clients.

use std::fmt;
use std::ops::Deref;

/// The most bytes of a name.
const NAME: usize = 64;
/// The most bytes of any other text.
const TEXT: usize = 512;

/// A text from somebody who need not be trusted. Characters that would control a terminal, end a line or
/// change the direction of writing are escaped, as in `\u{1b}`, and a text that is too long ends in `…`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown(String);

impl Shown {
    /// Makes a name fit to be shown.
    pub(crate) fn name(text: &str) -> Self {
        Self::of(text, NAME)
    }

    /// Makes any other text fit to be shown.
    pub(crate) fn text(text: &str) -> Self {
        Self::of(text, TEXT)
    }

    fn of(text: &str, most: usize) -> Self {
        let mut shown = String::new();
        for letter in text.chars() {
            let before = shown.len();
            match letter {
                '\'' | '"' => shown.push(letter),
                _ => shown.extend(letter.escape_debug()),
            }
            if shown.len() > most {
                shown.truncate(before);
                shown.push('…');
                break;
            }
        }
        Shown(shown)
    }
}

impl Deref for Shown {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_commands_a_terminal() {
        assert_eq!(&*Shown::name("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\\n");
        assert_eq!(
            &*Shown::text("\u{9b}31m\u{202e}\u{2028}\u{200b}"),
            "\\u{9b}31m\\u{202e}\\u{2028}\\u{200b}"
        );
        assert_eq!(&*Shown::text(r"\u{1b}"), r"\\u{1b}", "what was seen so before is told apart");
        assert_eq!(&*Shown::text("it's \"größer\" than 64 MiB"), "it's \"größer\" than 64 MiB");
        for letter in '\0'..=char::MAX {
            let shown = Shown::text(&letter.to_string());
            assert!(!shown.is_empty() && !shown.chars().any(char::is_control), "{letter:?}");
        }
    }

    #[test]
    fn nothing_is_long() {
        assert_eq!(&*Shown::name(&"x".repeat(NAME)), "x".repeat(NAME));
        assert_eq!(&*Shown::name(&"x".repeat(500)), "x".repeat(NAME) + "…");
        assert!(Shown::text(&"\u{1b}".repeat(4000)).len() <= TEXT + '…'.len_utf8());
    }
}
