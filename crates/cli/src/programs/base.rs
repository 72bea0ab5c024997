//! The OpenSSL configuration that a program has without us, read as OpenSSL reads it (config(5)).
//!
//! Only what is needed to extend it is read: the sections and their entries. Mistakes are passed over,
//! because OpenSSL itself reports them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The paths at which distributions keep it: Debian, Fedora, and the others.
const USUAL: &[&str] = &["/usr/lib/ssl/openssl.cnf", "/etc/pki/tls/openssl.cnf", "/etc/ssl/openssl.cnf"];

/// The most files that one may include, so that a file that includes itself comes to an end.
const MOST_FILES: u32 = 100;

/// The section of entries before the first section.
pub const DEFAULT: &str = "default";

/// Returns the file that a program reads by default: the one that OPENSSL_CONF names, or the distribution's.
pub fn usual() -> Option<PathBuf> {
    match std::env::var_os("OPENSSL_CONF") {
        Some(path) if !path.is_empty() => Some(PathBuf::from(path)).filter(|path| path.is_file()),
        _ => USUAL.iter().map(PathBuf::from).find(|path| path.is_file()),
    }
}

/// The contents of a configuration.
#[derive(Clone, Debug, Default)]
pub struct Base {
    sections: BTreeMap<String, Vec<(String, String)>>,
    /// True when a dollar is a letter, and only `${name}` is replaced.
    dollar_is_letter: bool,
    include_from: Option<PathBuf>,
    files: u32,
}

impl Base {
    /// Reads a file, and the files it includes.
    ///
    /// # Errors
    /// Fails when the file itself can't be read.
    pub fn read(path: &Path) -> std::io::Result<Base> {
        let mut base = Base::default();
        let include_from = std::env::var_os("OPENSSL_CONF_INCLUDE").map(PathBuf::from);
        base.include_from = include_from;
        let text = std::fs::read(path)?;
        base.text(&text, &mut DEFAULT.to_owned());
        Ok(base)
    }

    /// Returns the entries of a section in their order, each name once.
    pub fn section(&self, name: &str) -> &[(String, String)] {
        self.sections.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns one entry.
    pub fn get(&self, section: &str, name: &str) -> Option<&str> {
        let entry = self.section(section).iter().find(|(other, _)| other == name);
        entry.map(|(_, value)| value.as_str())
    }

    /// Reads the lines of a file, which begin in `section` and leave it at their last one, where the includer
    /// goes on.
    fn text(&mut self, text: &[u8], section: &mut String) {
        self.files += 1;
        let text = String::from_utf8_lossy(text);
        let mut joined = String::new();
        for line in text.trim_start_matches('\u{feff}').lines() {
            joined += line;
            if joined.ends_with('\\') && !joined.ends_with("\\\\") {
                joined.pop();
                continue;
            }
            self.line(&std::mem::take(&mut joined), section);
        }
        self.line(&joined, section);
    }

    fn line(&mut self, line: &str, section: &mut String) {
        let line = without_comment(line).trim();
        if let Some(rest) = line.strip_prefix('[') {
            if let Some((name, _)) = rest.split_once(']') {
                *section = self.value(name.trim(), section);
            }
        } else if let Some(path) = directive(line, ".include") {
            let path = PathBuf::from(self.value(path, section));
            self.include(&path, section);
        } else if let Some(pragma) = directive(line, ".pragma") {
            self.pragma(pragma);
        } else if let Some((name, value)) = line.split_once('=') {
            let (of, name) = name.trim().split_once("::").unwrap_or((section, name.trim()));
            let value = self.value(value.trim(), of);
            let entries = self.sections.entry(of.to_owned()).or_default();
            // The last entry of a name counts, at its own place.
            entries.retain(|(other, _)| other != name);
            entries.push((name.to_owned(), value));
        }
    }

    fn pragma(&mut self, pragma: &str) {
        match pragma.split_once(':').map(|(name, value)| (name.trim(), value.trim())) {
            Some(("dollarid", value)) => self.dollar_is_letter = ["on", "true"].contains(&value),
            Some(("includedir", value)) if std::env::var_os("OPENSSL_CONF_INCLUDE").is_none() => {
                self.include_from = Some(value.into());
            }
            _ => {}
        }
    }

    /// Includes a file, or all files in a directory that have the right extension.
    fn include(&mut self, path: &Path, section: &mut String) {
        let path = match &self.include_from {
            Some(from) => from.join(path),
            None => path.to_owned(),
        };
        let Ok(entries) = std::fs::read_dir(&path) else { return self.include_file(&path, section) };
        for entry in entries.flatten().map(|entry| entry.path()) {
            if entry.extension().is_some_and(|extension| extension == "cnf" || extension == "conf") {
                self.include_file(&entry, section);
            }
        }
    }

    fn include_file(&mut self, path: &Path, section: &mut String) {
        if self.files < MOST_FILES
            && let Ok(text) = std::fs::read(path)
        {
            self.text(&text, section);
        }
    }

    /// Evaluates a value: removes quotes and escapes, and substitutes variables.
    fn value(&self, text: &str, section: &str) -> String {
        let mut value = String::new();
        let mut rest = text.chars();
        while let Some(letter) = rest.next() {
            match letter {
                '\\' => value.extend(rest.next().map(escaped)),
                '"' | '\'' | '`' => {
                    while let Some(inner) = rest.next().filter(|&inner| inner != letter) {
                        match inner {
                            '\\' => value.extend(rest.next()),
                            inner => value.push(inner),
                        }
                    }
                }
                '$' => match variable(rest.as_str(), self.dollar_is_letter) {
                    Some((name, after)) => {
                        value += &self.variable(name, section);
                        rest = after.chars();
                    }
                    None => value.push('$'),
                },
                letter => value.push(letter),
            }
        }
        value
    }

    /// Returns the value of `name` or `section::name`. A name that its section lacks is looked up in the
    /// default one.
    fn variable(&self, name: &str, section: &str) -> String {
        let (of, name) = name.split_once("::").unwrap_or((section, name));
        let own = self.get(of, name).map(str::to_owned);
        let environment = || (of == "ENV").then(|| std::env::var(name).ok()).flatten();
        own.or_else(environment).or_else(|| self.get(DEFAULT, name).map(str::to_owned)).unwrap_or_default()
    }
}

/// Returns the rest of a line that begins with a directive, whose equals sign may be left out.
fn directive<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(name)?;
    if !rest.starts_with(['=', ' ', '\t']) {
        return None;
    }
    let rest = rest.trim_start();
    Some(rest.strip_prefix('=').unwrap_or(rest).trim())
}

/// Returns the name after a dollar, and the text behind it.
fn variable(text: &str, only_in_braces: bool) -> Option<(&str, &str)> {
    let closing = match text.chars().next()? {
        '{' => '}',
        '(' => ')',
        _ if only_in_braces => return None,
        _ => {
            let part = |text: &str| {
                text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len())
            };
            let mut end = part(text);
            if let Some(rest) = text[end..].strip_prefix("::") {
                end += 2 + part(rest);
            }
            return Some(text.split_at(end));
        }
    };
    text[1..].split_once(closing)
}

/// Returns the character for a letter after a backslash.
fn escaped(letter: char) -> char {
    match letter {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'b' => '\u{8}',
        letter => letter,
    }
}

/// Returns a line up to the first `#` that is neither quoted nor escaped.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut escape) = (None, false);
    for (at, letter) in line.char_indices() {
        match letter {
            _ if escape => escape = false,
            '\\' => escape = true,
            '"' | '\'' | '`' if quote.is_none() => quote = Some(letter),
            letter if quote == Some(letter) => quote = None,
            '#' if quote.is_none() => return &line[..at],
            _ => {}
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Base {
        let mut base = Base::default();
        base.text(text.as_bytes(), &mut DEFAULT.to_owned());
        base
    }

    #[test]
    fn sections_merge_and_the_last_value_counts() {
        let base = parsed("a = 1\n[ s ]\nx=1 # not this\ny = \"2 # 3\"\n[t]\n[s]\nx = 3\ndefault::a = 2\n");
        assert_eq!(base.get(DEFAULT, "a"), Some("2"));
        let expected = [("y", "2 # 3"), ("x", "3")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(base.section("s"), expected);
        assert_eq!(base.section("none"), []);
    }

    #[test]
    fn variables_quotes_and_escapes_are_as_openssl_has_them() {
        let base = parsed(
            "dir = /a\nlong = one \\\n  two\n[s]\ndir = /b\nown = $dir/x\nbraces = ${default::dir}y\n\
             round = $(dir)z\nother = $default::dir\nescaped = \\$dir\\n\nquoted = 'a\"$dir'\nnone = [$nowhere]\n\
             .pragma = dollarid:on\nletter = $dir${dir}\n",
        );
        let expected = [
            ("own", "/b/x"),
            ("braces", "/ay"),
            ("round", "/bz"),
            ("other", "/a"),
            ("escaped", "$dir\n"),
            ("quoted", "a\"$dir"),
            ("none", "[]"),
            ("letter", "$dir/b"),
        ];
        for (name, value) in expected {
            assert_eq!(base.get("s", name), Some(value), "{name}");
        }
        assert_eq!(base.get(DEFAULT, "long"), Some("one   two"));
    }

    #[test]
    fn files_and_directories_are_included() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("more")).unwrap();
        std::fs::write(path("more/a.cnf"), "[s]\na = 1\n").unwrap();
        std::fs::write(path("more/b.txt"), "[s]\nb = 1\n").unwrap();
        let own = format!(".include = {0}/more\nc = 1\n.include {0}/self\n", folder.path().display());
        std::fs::write(path("self"), own).unwrap();
        let base = Base::read(&path("self")).unwrap();
        assert_eq!((base.get("s", "a"), base.get("s", "b")), (Some("1"), None));
        assert_eq!(base.get("s", "c"), Some("1"), "it goes on in the section the last file ended in");
    }
}
