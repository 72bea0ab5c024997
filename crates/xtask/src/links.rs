//! The links of the documents: each names a file that exists, and each fragment names a heading of it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::root;

/// Follows every relative link and image of the documents in the root and below `docs`.
///
/// # Errors
/// Names each link that leads nowhere.
pub fn check() -> Result<(), String> {
    let mut documents = Vec::new();
    find(&root(), false, &mut documents)?;
    find(&root().join("docs"), true, &mut documents)?;
    let (mut count, mut faults) = (0, Vec::new());
    for document in &documents {
        for (line, target) in targets(&read(document)?) {
            count += 1;
            if let Err(why) = follow(document, &target) {
                let name = document.strip_prefix(root()).unwrap_or(document).display();
                faults.push(format!("{name}:{line}: {target}: {why}"));
            }
        }
    }
    faults.extend(book(&root().join("docs"))?);
    println!("{count} links in {} documents", documents.len());
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
}

/// Compares the pages of the book with its summary. Each page is a chapter, once, and each chapter is a page.
fn book(folder: &Path) -> Result<Vec<String>, String> {
    let summary = folder.join("SUMMARY.md");
    let chapters: Vec<String> = targets(&read(&summary)?).into_iter().map(|(_, target)| target).collect();
    let mut pages = Vec::new();
    find(folder, true, &mut pages)?;
    let name = |page: &PathBuf| page.strip_prefix(folder).ok().map(|name| name.display().to_string());
    let pages: Vec<String> = pages.iter().filter(|page| **page != summary).filter_map(name).collect();
    Ok(unlike(&chapters, &pages))
}

/// Names the pages that are no chapter or several, and the chapters that are no page.
fn unlike(chapters: &[String], pages: &[String]) -> Vec<String> {
    let times = |page: &String| chapters.iter().filter(|chapter| *chapter == page).count();
    let faults = pages.iter().filter(|page| times(page) != 1);
    let faults = faults.map(|page| format!("docs/{page}: SUMMARY.md names it {} times", times(page)));
    let missing = chapters.iter().filter(|chapter| !pages.contains(chapter));
    faults.chain(missing.map(|chapter| format!("docs/SUMMARY.md: {chapter} is no page"))).collect()
}

/// Collects the documents of a folder, in the order of their names.
fn find(folder: &Path, deep: bool, documents: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.map_while(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if deep && path.is_dir() {
            find(&path, deep, documents)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            documents.push(path);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// Returns the lines of a document that are not in fenced blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(i, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fence && !fenced).then_some((i + 1, line))
    })
}

/// Returns the targets of the relative links and images of a document, with their lines.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        // Every second part is between backticks, and shows a link without being one.
        let parts = line.split('`').enumerate();
        let outside: Vec<&str> = parts.map(|(i, part)| if i % 2 == 0 { part } else { "" }).collect();
        let outside = outside.join("`");
        for (open, close) in [("](", ')'), ("src=\"", '"'), ("srcset=\"", '"'), ("href=\"", '"')] {
            for rest in outside.split(open).skip(1) {
                let inside = rest.split(close).next().unwrap_or(rest);
                // A title follows the target after a space.
                let target = inside.split(' ').next().unwrap_or(inside);
                if !target.contains("://") && !target.starts_with("mailto:") {
                    found.push((number, target.to_owned()));
                }
            }
        }
    }
    found
}

/// Follows a link from the document that has it.
fn follow(document: &Path, target: &str) -> Result<(), String> {
    let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
    let folder = document.parent().expect("a document is in a folder");
    let path = if file.is_empty() { document.to_owned() } else { folder.join(file) };
    if !path.exists() {
        return Err("there is no such file".to_owned());
    }
    let markdown = path.extension().is_some_and(|extension| extension == "md");
    if markdown && !fragment.is_empty() && !anchors(&read(&path)?).iter().any(|anchor| anchor == fragment) {
        return Err("there is no such heading".to_owned());
    }
    Ok(())
}

/// Returns the names by which the headings of a document are linked to. One that repeats another has a number behind it.
fn anchors(text: &str) -> Vec<String> {
    let mut bases: Vec<String> = Vec::new();
    let mut anchors = Vec::new();
    for (_, line) in prose(text) {
        let Some((hashes, title)) = line.split_once(' ') else { continue };
        if hashes.is_empty() || hashes.len() > 6 || hashes.chars().any(|c| c != '#') {
            continue;
        }
        let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let base = kept.collect::<String>().to_lowercase().replace(' ', "-");
        let before = bases.iter().filter(|other| **other == base).count();
        anchors.push(if before == 0 { base.clone() } else { format!("{base}-{before}") });
        bases.push(base);
    }
    anchors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_code_only() {
        let text = "See [a](a.md), ![b](p/b.svg \"title\") and `[no](no.md)`.\n```\n[no](no.md)\n```\n\
                    [far](https://example.org/) <img src=\"c.svg\">\n";
        let found = targets(text);
        let found: Vec<(usize, &str)> = found.iter().map(|(line, target)| (*line, target.as_str())).collect();
        assert_eq!(found, [(1, "a.md"), (1, "p/b.svg"), (5, "c.svg")]);
    }

    #[test]
    fn headings_are_named_as_they_are_linked_to() {
        let text = "# One `word`, two\n## Keys & ends\n```\n# no heading\n```\n## Again\n### Again\n#no\n";
        assert_eq!(anchors(text), ["one-word-two", "keys--ends", "again", "again-1"]);
    }

    #[test]
    fn every_page_is_a_chapter() {
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let faults = unlike(&names(&["a.md", "b.md", "a.md"]), &names(&["a.md", "c.md"]));
        let expected = [
            "docs/a.md: SUMMARY.md names it 2 times",
            "docs/c.md: SUMMARY.md names it 0 times",
            "docs/SUMMARY.md: b.md is no page",
        ];
        assert_eq!(faults, expected);
    }

    #[test]
    fn a_link_leads_to_a_file_and_a_heading() {
        let readme = root().join("README.md");
        assert_eq!(follow(&readme, "CONTRIBUTING.md#voice"), Ok(()));
        assert_eq!(follow(&readme, "docs"), Ok(()));
        assert!(follow(&readme, "CONTRIBUTING.md#no-such-heading").is_err());
        assert!(follow(&readme, "docs/no-such-file.md").is_err());
    }
}
