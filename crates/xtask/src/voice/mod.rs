//! The voice of comments: a paragraph opens with a sentence or a noun, not with a fragment that only its author understands.
//!
//! Each crate has a number of fragments, in `limits.txt`, that may only fall. CONTRIBUTING.md says how to write instead.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::run::root;

/// Words that open a fragment: "It from its number", "Of a hash: that".
const BARE: &[&str] =
    &["It", "Of", "That", "Those", "Who", "Whom", "Whose", "As", "Where", "From", "Its", "By"];

/// Question words in place of a noun: "Whether it was told", "What lies where".
const QUESTIONS: &[&str] = &["What", "Which", "Whether", "How"];

/// The folders with crates, each of which has its sources in `src`.
const ROOMS: &[&str] = &["crates", "machines", "."];
const LIMITS: &str = "crates/xtask/src/voice/limits.txt";
const HEAD: &str = "# Paragraphs of comments in a crate's sources that open with a fragment (`It`, `Of`, `That`...) and with a question word\n\
                    # in place of a noun (`What`, `Which`...). `cargo xtask voice` lowers the numbers; nothing raises them.\n";

/// The number of a crate's comment lines, and of the fragments among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    lines: usize,
    bare: usize,
    questions: usize,
}

impl std::ops::AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        self.lines += other.lines;
        self.bare += other.bare;
        self.questions += other.questions;
    }
}

/// Compares each crate's fragments with its limit.
///
/// # Errors
/// When a crate has more fragments than before, or fewer, so that its limit should follow.
pub fn check() -> Result<(), String> {
    let (now, limits) = (crates()?, limits()?);
    let mut faults = Vec::new();
    for name in now.keys().chain(limits.keys().filter(|name| !now.contains_key(*name))) {
        let (count, limit) =
            (now.get(name).copied().unwrap_or_default(), limits.get(name).copied().unwrap_or_default());
        if count.bare > limit.0 || count.questions > limit.1 {
            faults.push(format!(
                "{name}: {} comments open with a fragment and {} with a question word, {} and {} before: write sentences \
                 (CONTRIBUTING.md, Voice; `cargo xtask voice {name}` lists them)",
                count.bare, count.questions, limit.0, limit.1
            ));
        } else if (count.bare, count.questions) != limit {
            faults.push(format!("{name}: fewer fragments than before: keep it so by `cargo xtask voice`"));
        }
    }
    println!("{}", share(&now));
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
}

/// Lowers the limits to the present numbers, or lists the fragments below a folder.
///
/// # Errors
/// When a file can't be read or written, or a crate has more fragments than its limit.
pub fn lower(folder: Option<&Path>) -> Result<(), String> {
    if let Some(folder) = folder {
        for path in sources(&root().join(folder))? {
            for (number, line) in fragments(&read(&path)?).1 {
                println!("{}:{number}: {line}", path.strip_prefix(root()).unwrap_or(&path).display());
            }
        }
        return Ok(());
    }
    let (now, limits) = (crates()?, limits()?);
    let mut text = HEAD.to_owned();
    for (name, count) in &now {
        // A new crate has no limit yet, and begins without fragments.
        let (bare, questions) = limits.get(name).copied().unwrap_or_default();
        if count.bare > bare || count.questions > questions {
            return Err(format!(
                "{name} has more fragments than before: `cargo xtask voice {name}` lists them"
            ));
        }
        text += &format!("{name} {} {}\n", count.bare, count.questions);
    }
    std::fs::write(root().join(LIMITS), text).map_err(|e| format!("{LIMITS}: {e}"))?;
    println!("{}", share(&now));
    Ok(())
}

/// The share of all comment lines that open with a fragment.
fn share(crates: &BTreeMap<String, Count>) -> String {
    let mut all = Count::default();
    crates.values().for_each(|count| all += *count);
    let percent = |part: usize| 100.0 * part as f64 / all.lines.max(1) as f64;
    format!(
        "{} comment lines: {:.2} % open with a fragment, {:.2} % with that or a question word",
        all.lines,
        percent(all.bare),
        percent(all.bare + all.questions)
    )
}

/// The fragments of each crate, by its folder.
fn crates() -> Result<BTreeMap<String, Count>, String> {
    let mut crates = BTreeMap::new();
    for room in ROOMS {
        let room = root().join(room);
        let Ok(entries) = std::fs::read_dir(&room) else { continue };
        for folder in entries.map_while(Result::ok).map(|entry| entry.path()) {
            if !folder.join("Cargo.toml").exists() || !folder.join("src").is_dir() {
                continue;
            }
            let mut count = Count::default();
            for path in sources(&folder.join("src"))? {
                count += fragments(&read(&path)?).0;
            }
            let name = folder.strip_prefix(root()).unwrap_or(&folder);
            crates.insert(name.display().to_string(), count);
        }
    }
    Ok(crates)
}

fn limits() -> Result<BTreeMap<String, (usize, usize)>, String> {
    let line = |line: &str| {
        let mut words = line.split(' ');
        let name = words.next()?.to_owned();
        Some((name, (words.next()?.parse().ok()?, words.next()?.parse().ok()?)))
    };
    let text = read(&root().join(LIMITS))?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|text| line(text).ok_or_else(|| format!("{LIMITS}: not understood: {text}"))).collect()
}

/// All Rust files below a folder, in order.
fn sources(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let fail = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// Counts a file's comments, and finds those paragraphs that open with a fragment, by the numbers of their lines.
fn fragments(text: &str) -> (Count, Vec<(usize, &str)>) {
    let (mut count, mut found) = (Count::default(), Vec::new());
    // `opens` is true if the next line opens a paragraph, and `is_example` if the lines belong to an example.
    let (mut opens, mut is_example) = (true, false);
    for (line, number) in text.lines().zip(1..) {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            (opens, is_example) = (true, false);
            continue;
        };
        count.lines += 1;
        let comment = comment.strip_prefix(['/', '!']).unwrap_or(comment).trim_start();
        let (item, text) = without_mark(comment);
        if comment.starts_with("```") {
            is_example = !is_example;
        } else if !is_example && (opens || item) {
            let first = text.split([' ', ',', '.', ':', ';']).next().unwrap_or_default();
            count.bare += usize::from(BARE.contains(&first));
            count.questions += usize::from(QUESTIONS.contains(&first));
            if BARE.contains(&first) || QUESTIONS.contains(&first) {
                found.push((number, line.trim_start()));
            }
        }
        opens = comment.is_empty();
    }
    (count, found)
}

/// Returns true if a line is an item of a list, and the text behind the item's mark.
fn without_mark(comment: &str) -> (bool, &str) {
    let numbered = comment.split_once(". ").filter(|(number, _)| number.parse::<u8>().is_ok());
    let marked = comment.strip_prefix("- ").or_else(|| comment.strip_prefix("* "));
    match marked.or(numbered.map(|(_, text)| text)) {
        Some(text) => (true, text),
        None => (false, comment),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_opens_with_its_first_line_only() {
        let text = "/// Whether it was told, and\n/// It goes on.\n///\n/// Of a hash: that.\nfn f() {}\n// Wakes the worker.\n";
        let (count, found) = fragments(text);
        assert_eq!(count, Count { lines: 5, bare: 1, questions: 1 });
        assert_eq!(found.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 4]);
    }

    #[test]
    fn items_open_and_examples_do_not() {
        let text = "//! - Those of a list\n//! 2. What comes second\n//! ```\n//! It::is(code)\n//! ```\n";
        assert_eq!(fragments(text).0, Count { lines: 5, bare: 1, questions: 1 });
    }
}
