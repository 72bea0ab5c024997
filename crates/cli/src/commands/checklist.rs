//! `digest --check`: compares files with the digests in a list, as `sha256sum --check` does.
//!
//! A list has the lines of `sha256sum`, of BSD (`sha256sum --tag`, `openssl dgst`), or of `digest` itself with `-v` or
//! for several files.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::mem;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::commands::Context;
use crate::commands::lines::{Lines, escaped, on_screen};
use crate::error::{Error, exit};
use crate::input::Input;
use crate::many::{self, Sums, Turn};

/// The most bytes of a line that are read. A path has at most 4096.
const MOST_LINE_BYTES: u64 = 64 << 10;
/// The most files that are checked together. They keep all processors busy, and the list may be endless.
const MOST_TOGETHER: usize = 8192;

/// The options of `--check`, by their names in coreutils.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Read digests from each FILE, and compare them with those of the files that it names
    #[arg(short = 'c', long, conflicts_with_all = ["list", "verbose", "json", "sum", "tag"])]
    pub(super) check: bool,
    /// Pass over files that are not there
    #[arg(long, requires = "check")]
    ignore_missing: bool,
    /// Print nothing about files; the exit status tells
    #[arg(long, requires = "check")]
    status: bool,
    /// Fail if a line is not properly formatted
    #[arg(long, requires = "check")]
    strict: bool,
    /// Warn of each line that is not properly formatted
    #[arg(short = 'w', long, requires = "check")]
    warn: bool,
}

/// An algorithm for files in a list, and the length of its digests.
pub(super) trait Algorithm: Sums + Copy + PartialEq {
    fn digest_bytes(&self) -> usize;
}

/// Checks the lists, or the one on standard input. `find` returns the algorithm of a name. An algorithm in `fixed` is
/// that of every line, and a line that names another is not properly formatted.
pub(super) fn verify<A: Algorithm>(
    context: &Context,
    options: &Options,
    quiet: bool,
    lists: &[OsString],
    fixed: Option<A>,
    find: impl Fn(&str) -> Option<A>,
) -> Result<(), Error> {
    let standard = [OsString::from("-")];
    let lists = if lists.is_empty() { &standard } else { lists };
    let algorithm = |tag: Option<&str>| match (tag, fixed) {
        (None, fixed) => fixed,
        (Some(tag), None) => find(tag),
        (Some(tag), Some(fixed)) => find(tag).filter(|found| *found == fixed),
    };
    let check = Check { context, options, quiet, is_screen: io::stdout().is_terminal() };
    let mut all_good = true;
    for list in lists {
        match check.list(list, &algorithm, fixed.is_some()) {
            Ok(good) => all_good &= good,
            Err(error @ Error::Write { .. }) => return Err(error),
            Err(error) => {
                context.fail(&error);
                all_good = false;
            }
        }
    }
    if all_good { Ok(()) } else { Err(Error::Reported(exit::FAILURE)) }
}

struct Check<'a> {
    context: &'a Context,
    options: &'a Options,
    quiet: bool,
    is_screen: bool,
}

/// The counts of one list.
#[derive(Default)]
struct Counts {
    proper: u64,
    improper: u64,
    matched: u64,
    differing: u64,
    unread: u64,
    /// Lines that would have been proper if their algorithm had been known.
    nameless: u64,
}

impl Check<'_> {
    /// Checks a list. Returns false if anything in it is wrong.
    fn list<A: Algorithm>(
        &self,
        list: &OsStr,
        algorithm: &impl Fn(Option<&str>) -> Option<A>,
        is_fixed: bool,
    ) -> Result<bool, Error> {
        let Input { file, name, .. } = Input::operand(list)?;
        let mut reader = BufReader::new(file);
        let (mut counts, mut group) = (Counts::default(), Group::default());
        let mut end = Ok(());
        for number in 1u64.. {
            let line = match next_line(&mut reader) {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(source) => {
                    end = Err(Error::Read { name: name.clone(), source });
                    break;
                }
            };
            match Entry::of(&line, algorithm) {
                _ if line.is_empty() || line[0] == b'#' => {}
                Ok((algorithm, entry)) => {
                    counts.proper += 1;
                    if !group.has_room(algorithm) {
                        self.files(mem::take(&mut group), &mut counts)?;
                    }
                    group.add(algorithm, entry);
                }
                Err(is_nameless) => {
                    counts.improper += 1;
                    counts.nameless += u64::from(is_nameless && !is_fixed);
                    if self.options.warn {
                        self.files(mem::take(&mut group), &mut counts)?;
                        let what = "improperly formatted checksum line";
                        self.context.warn(format_args!("{name}: {number}: {what}"));
                    }
                }
            }
        }
        self.files(group, &mut counts)?;
        end.map(|()| self.sum_up(&name, &counts))
    }

    /// Checks the files of a group.
    fn files<A: Algorithm>(&self, group: Group<A>, counts: &mut Counts) -> Result<(), Error> {
        let Group { algorithm: Some(algorithm), names, digests } = group else { return Ok(()) };
        let mut verdicts = Verdicts { check: self, names: &names, digests, counts, lines: Lines::default() };
        many::sums(&names, &algorithm, self.quiet, &mut verdicts)
    }

    fn line(&self, name: &[u8], verdict: &str) -> Vec<u8> {
        let named = escaped(name);
        let start: &[u8] = if matches!(named, Cow::Owned(_)) { b"\\" } else { b"" };
        let line = [start, &named, b": ", verdict.as_bytes()].concat();
        let mut line = if self.is_screen { on_screen(&line) } else { line };
        line.push(b'\n');
        line
    }

    /// Reports what was wrong with a list. Returns true if nothing was.
    fn sum_up(&self, name: &str, counts: &Counts) -> bool {
        if counts.proper == 0 {
            let hint =
                if counts.nameless > 0 { "; its lines name no algorithm, so name it with -a" } else { "" };
            let why = format!("{name}: no properly formatted checksum lines found{hint}");
            self.context.fail(why);
            return false;
        }
        let is_unverified = self.options.ignore_missing && counts.matched == 0;
        if !self.options.status {
            for (count, one, several) in [
                (counts.improper, "line is improperly formatted", "lines are improperly formatted"),
                (counts.unread, "listed file could not be read", "listed files could not be read"),
                (counts.differing, "computed checksum did NOT match", "computed checksums did NOT match"),
            ] {
                if count > 0 {
                    let what = if count == 1 { one } else { several };
                    self.context.warn(format_args!("{count} {what}"));
                }
            }
            if is_unverified {
                self.context.fail(format_args!("{name}: no file was verified"));
            }
        }
        let is_strict = self.options.strict && counts.improper > 0;
        counts.differing + counts.unread == 0 && !is_unverified && !is_strict
    }
}

/// Returns the next line of a list without its end.
fn next_line(reader: &mut BufReader<File>) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    if reader.take(MOST_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    for end in [b'\n', b'\r'] {
        if line.last() == Some(&end) {
            line.pop();
        }
    }
    Ok(Some(line))
}

/// Lines of a list that follow each other and have one algorithm.
struct Group<A> {
    algorithm: Option<A>,
    names: Vec<OsString>,
    digests: Vec<Vec<u8>>,
}

impl<A> Default for Group<A> {
    fn default() -> Self {
        Group { algorithm: None, names: Vec::new(), digests: Vec::new() }
    }
}

impl<A: Algorithm> Group<A> {
    /// Returns true when the group may have another file with this algorithm.
    fn has_room(&self, algorithm: A) -> bool {
        self.names.len() < MOST_TOGETHER && self.algorithm.is_none_or(|own| own == algorithm)
    }

    fn add(&mut self, algorithm: A, entry: Entry<'_>) {
        self.algorithm = Some(algorithm);
        self.names.push(OsString::from_vec(entry.name.into_owned()));
        self.digests.push(entry.digest);
    }
}

/// The verdicts on the files of a group, as they are printed.
struct Verdicts<'a> {
    check: &'a Check<'a>,
    names: &'a [OsString],
    digests: Vec<Vec<u8>>,
    counts: &'a mut Counts,
    lines: Lines,
}

impl Turn<Vec<u8>> for Verdicts<'_> {
    fn take(&mut self, index: usize, sum: Result<Vec<u8>, Error>) -> Result<(), Error> {
        let Check { options, quiet, .. } = *self.check;
        let verdict = match sum {
            Ok(sum) if sum == self.digests[index] => {
                self.counts.matched += 1;
                if quiet { None } else { Some("OK") }
            }
            Ok(_) => {
                self.counts.differing += 1;
                Some("FAILED")
            }
            Err(Error::Open { source, .. })
                if options.ignore_missing && source.kind() == io::ErrorKind::NotFound =>
            {
                None
            }
            Err(error) => {
                self.counts.unread += 1;
                self.lines.print()?;
                self.check.context.fail(&error);
                Some("FAILED open or read")
            }
        };
        match verdict.filter(|_| !options.status) {
            Some(verdict) => self.lines.add(self.check.line(self.names[index].as_bytes(), verdict)),
            None => Ok(()),
        }
    }

    fn pause(&mut self) -> Result<(), Error> {
        self.lines.print()
    }
}

/// A line of a list.
#[derive(Debug, PartialEq, Eq)]
struct Entry<'a> {
    /// The algorithm, if the line names it.
    algorithm: Option<&'a str>,
    name: Cow<'a, [u8]>,
    digest: Vec<u8>,
}

impl<'a> Entry<'a> {
    /// Parses a line that has a digest of its algorithm's length. Fails with true if only the algorithm's name may be
    /// lacking.
    fn of<A: Algorithm>(
        line: &'a [u8],
        algorithm: &impl Fn(Option<&str>) -> Option<A>,
    ) -> Result<(A, Self), bool> {
        let entry = Entry::parse(line).ok_or(false)?;
        match algorithm(entry.algorithm) {
            Some(algorithm) if entry.digest.len() == algorithm.digest_bytes() => Ok((algorithm, entry)),
            _ => Err(entry.algorithm.is_none()),
        }
    }

    /// Parses a line.
    fn parse(line: &'a [u8]) -> Option<Self> {
        let line = line.trim_ascii_start();
        let (is_escaped, line) = match line.strip_prefix(b"\\") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let (algorithm, name, digest) = tagged(line).or_else(|| untagged(line))?;
        let name = if is_escaped { Cow::Owned(unescaped(name)?) } else { Cow::Borrowed(name) };
        let is_path = !name.is_empty() && !name.contains(&0);
        is_path.then_some(Entry { algorithm, name, digest })
    }
}

/// The parts of a line: the algorithm, if it is named, the name as it is written, and the digest.
type Parts<'a> = (Option<&'a str>, &'a [u8], Vec<u8>);

/// Splits `SHA256 (name) = HEX`, also without the algorithm or the blanks. The name may have brackets itself.
fn tagged(line: &[u8]) -> Option<Parts<'_>> {
    let open = line.iter().position(|byte| *byte == b'(')?;
    let close = line.iter().rposition(|byte| *byte == b')')?;
    let tag = line[..open].strip_suffix(b" ").unwrap_or(&line[..open]);
    let is_tag = tag.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_/".contains(byte));
    let name = line.get(open + 1..close)?;
    let digest = line[close + 1..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let tag = std::str::from_utf8(tag).ok().filter(|_| is_tag)?;
    Some((Some(tag).filter(|tag| !tag.is_empty()), name, bytes(digest)?))
}

/// Splits `HEX  name` and `HEX *name`.
fn untagged(line: &[u8]) -> Option<Parts<'_>> {
    let end = line.iter().position(|byte| *byte == b' ')?;
    let (digest, rest) = line.split_at(end);
    let name = rest.strip_prefix(b"  ").or_else(|| rest.strip_prefix(b" *"))?;
    Some((None, name, bytes(digest)?))
}

fn bytes(hex: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    };
    if hex.is_empty() { None } else { hex.chunks(2).map(pair).collect() }
}

/// Undoes `escaped`.
fn unescaped(name: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = name.iter();
    let mut plain = Vec::with_capacity(name.len());
    while let Some(&byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => match bytes.next()? {
                b'\\' => b'\\',
                b'n' => b'\n',
                b'r' => b'\r',
                _ => return None,
            },
            byte => byte,
        });
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Option<(Option<&str>, String)> {
        let entry = Entry::parse(line.as_bytes())?;
        assert_eq!(entry.digest, [0x0a, 0xff], "{line}");
        Some((entry.algorithm, String::from_utf8(entry.name.into_owned()).unwrap()))
    }

    #[test]
    fn lines_of_every_program() {
        for (line, algorithm, name) in [
            ("0aff  a", None, "a"),
            ("0AFF *a", None, "a"),
            ("  0aff   a", None, " a"),
            ("\\0aff  a\\n\\\\b\\r", None, "a\n\\b\r"),
            ("0aff  a\\n", None, "a\\n"),
            ("0aff  (a) = 0aff", None, "(a) = 0aff"),
            ("SHA256 (a) = 0aff", Some("SHA256"), "a"),
            ("SHA512/256 (a) = 0aff", Some("SHA512/256"), "a"),
            ("SHA2-256(a)= 0aff", Some("SHA2-256"), "a"),
            ("\\SHA256 (a\\nb) = 0aff", Some("SHA256"), "a\nb"),
            ("sha256 (a) = 0b) = 0aff", Some("sha256"), "a) = 0b"),
            ("(a b) = 0aff", None, "a b"),
        ] {
            assert_eq!(parsed(line), Some((algorithm, name.to_owned())), "{line}");
        }
        for line in [
            "0aff",
            "0aff a",
            "0af  a",
            "0afg  a",
            "0aff  ",
            "x y (a) = 0aff",
            "SHA256 (a) 0aff",
            "SHA256 (a) = ",
            "SHA256 a) = 0aff",
            ")(",
            "\\0aff  a\\x",
            "\\0aff  a\\",
            "0aff  a\0b",
        ] {
            assert_eq!(parsed(line), None, "{line}");
        }
    }
}
