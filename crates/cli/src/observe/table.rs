//! Tables whose columns are as wide as their contents.

use std::fmt::Write;

use rustix::termios::tcgetwinsize;

/// A column's title, and whether it is aligned to the right.
pub type Column<'a> = (&'a str, bool);

/// Formats a line for each row under the titles. The last column is not padded.
pub fn table(columns: &[Column<'_>], rows: &[Vec<String>]) -> String {
    let width = |index: usize| {
        let cells = rows.iter().filter_map(|row| row.get(index)).map(|cell| cell.chars().count());
        cells.chain([columns[index].0.chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let titles: Vec<String> = columns.iter().map(|(title, _)| (*title).to_owned()).collect();
    let mut text = String::new();
    for row in [titles].iter().chain(rows) {
        let mut line = String::new();
        for ((cell, width), (_, right)) in row.iter().zip(&widths).zip(columns) {
            let gap = if line.is_empty() { "" } else { "  " };
            let _ = match right {
                true => write!(line, "{gap}{cell:>width$}"),
                false => write!(line, "{gap}{cell:width$}"),
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// Formats lines of at most `width`. The widest columns are cut, down to [`NARROWEST`]: names in their
/// middle, and the last column at its end.
pub fn table_within(columns: &[Column<'_>], rows: &[Vec<String>], width: Option<usize>) -> String {
    let Some(width) = width else { return table(columns, rows) };
    let wide =
        |index: usize| rows.iter().filter_map(|row| row.get(index)).map(|cell| cell.chars().count()).max();
    let mut widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(index, (title, _))| wide(index).unwrap_or(0).max(title.len()))
        .collect();
    let gaps = 2 * columns.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > width {
        let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > NARROWEST) else { break };
        *widest -= 1;
    }
    let last = columns.len() - 1;
    let cut = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        cells.map(|(index, (cell, width))| cut(cell, *width, index == last)).collect()
    };
    table(columns, &rows.iter().map(cut).collect::<Vec<_>>())
}

/// The width below which columns are not cut.
const NARROWEST: usize = 16;

/// Cuts a text to at most so many letters, at its end or before its middle.
pub fn cut(text: &str, width: usize, at_end: bool) -> String {
    let length = text.chars().count();
    if length <= width || width == 0 {
        return text.to_owned();
    }
    let behind = if at_end { 0 } else { width * 2 / 3 };
    let before = text.chars().take(width - 1 - behind);
    before.chain(['…']).chain(text.chars().skip(length - behind)).collect()
}

/// Returns the width of the terminal that standard error goes to, if it goes to one.
pub fn terminal_width() -> Option<usize> {
    let columns = tcgetwinsize(rustix::stdio::stderr()).ok()?.ws_col;
    Some(usize::from(columns)).filter(|columns| *columns > 0)
}

/// Formats `1 run` or `2 runs`.
pub fn count(number: u64, what: &str) -> String {
    let plural = match what {
        _ if number == 1 => "",
        _ if what.ends_with('s') => "es",
        _ => "s",
    };
    format!("{number} {what}{plural}")
}

/// Formats `a`, `a and b` or `a, b and c`.
pub fn enumerated<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> String {
    let words: Vec<S> = words.into_iter().collect();
    match words.as_slice() {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

/// Names the first of many words and the number of the others. The JSON has all of them.
pub fn few(words: &[&str], other: &str) -> String {
    const MOST: usize = 8;
    const FIRST: usize = 5;
    if words.len() <= MOST {
        return enumerated(words);
    }
    let others = count((words.len() - FIRST) as u64, other);
    enumerated(words[..FIRST].iter().copied().chain([&*others]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_their_titles() {
        let rows =
            [vec!["a".to_owned(), "10".into(), "x y".into()], vec!["bcd".into(), "9".into(), "".into()]];
        let text = table(&[("N", false), ("#", true), ("REST", false)], &rows);
        assert_eq!(text, "N     #  REST\na    10  x y\nbcd   9\n");
    }

    #[test]
    fn what_is_widest_is_cut() {
        let columns = [("NAME", false), ("N", true), ("CALLED BY", false)];
        let rows = [vec!["a".repeat(20) + "/" + &"b".repeat(20), "10".into(), "x ".repeat(20)]];
        let text = table_within(&columns, &rows, Some(46));
        assert!(text.lines().all(|line| line.chars().count() <= 46), "{text}");
        assert!(text.contains("aaa…bbb") || text.contains("b  10"), "{text}");
        assert!(text.trim_end().ends_with('…'), "{text}");
        assert_eq!(table_within(&columns, &rows, None), table(&columns, &rows));
        // Nothing can be read below a certain width.
        assert!(table_within(&columns, &rows, Some(10)).lines().any(|line| line.chars().count() > 30));
    }

    #[test]
    fn words_are_put_together() {
        assert_eq!(enumerated(["a"]), "a");
        assert_eq!(enumerated(["a", "b", "c"]), "a, b and c");
        assert_eq!(few(&["a"; 9], "other"), "a, a, a, a, a and 4 others");
        assert_eq!(
            [count(1, "process"), count(2, "process"), count(0, "run")],
            ["1 process", "2 processes", "0 runs"]
        );
    }
}
