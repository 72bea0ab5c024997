//! Compares the lines that a command wrote with those that its page shows.
//!
//! An ellipsis (`…`) stands for anything within a line, and a line that is nothing else for any number of lines. A run of
//! blanks is as good as another, because the width of a column follows from what is in it.

/// The sign that stands for anything.
const ANYTHING: char = '…';

/// Returns true if the lines are those that are shown.
pub fn fits(shown: &[String], written: &[String]) -> bool {
    let Some((first, others)) = shown.split_first() else { return written.is_empty() };
    if first.trim() == ANYTHING.to_string() {
        return (0..=written.len()).any(|from| fits(others, &written[from..]));
    }
    match written.split_first() {
        Some((line, rest)) => line_fits(first, line) && fits(others, rest),
        None => false,
    }
}

fn line_fits(shown: &str, written: &str) -> bool {
    let (shown, written) = (blanks(shown), blanks(written));
    let mut parts = shown.split(ANYTHING);
    let Some(mut rest) = written.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Makes one blank of several, and none at the ends.
fn blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Replaces numbers by ellipses, with signs and units: `+1.5`, `8.07k`, `65/1024`.
pub fn without_numbers(line: &str) -> String {
    let is_number = |word: &str| {
        let word = word.trim_matches(|c: char| "()+-,;%".contains(c));
        word == "-" || word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit())
    };
    let words = line.split_whitespace().map(|word| if is_number(word) { "…" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits_text(shown: &str, written: &str) -> bool {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        fits(&lines(shown), &lines(written))
    }

    #[test]
    fn text_fits_itself_whatever_its_columns() {
        assert!(fits_text("a  b\nc", "a b\nc") && fits_text("", ""));
        assert!(!fits_text("a b", "ab") && !fits_text("a", "a\nb") && !fits_text("a\nb", "a"));
    }

    #[test]
    fn an_ellipsis_is_anything() {
        assert!(
            fits_text("at …: 3, … end", "at /run: 3, the end")
                && fits_text("…", "a\nb")
                && fits_text("…", "")
        );
        assert!(fits_text("a\n…\nd", "a\nb\nc\nd") && fits_text("a\n…\nd", "a\nd"));
        assert!(!fits_text("a…c", "ab") && !fits_text("a\n…\nd", "a\nb\nc") && !fits_text("ab…b", "ab"));
    }

    #[test]
    fn measured_words_remain() {
        assert_eq!(without_numbers("queue   64  1.50 M (+3.1 %) of"), "queue … … M … … of");
    }
}
