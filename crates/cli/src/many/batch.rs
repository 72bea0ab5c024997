//! The files that one thread takes.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use zeroize::Zeroizing;

use super::line::{Line, Outcome};
use super::work::{Large, Whole, Work};
use crate::error::Error;
use crate::shown;

/// The bytes of small files that are computed together. They stay in the second-level cache between reading
/// and computing.
const ROOM: usize = 512 << 10;
/// The most bytes of a file that waits for others; a longer one fills no lane better than it fills a thread.
pub(super) const SMALL: usize = 64 << 10;
/// The most files that are computed together.
const MOST: usize = 256;

/// The small files that a thread has read, and the room for them.
pub(super) struct Batch<'a, W: Work> {
    work: &'a W,
    line: &'a Line<W::Result>,
    room: Zeroizing<Vec<u8>>,
    read: Vec<Waiting<W::Kept>>,
    /// The most bytes of a file that goes into the room.
    most: Option<usize>,
}

/// A small file in the room.
struct Waiting<K> {
    index: usize,
    place: Range<usize>,
    kept: K,
}

/// A file as `stat` shows it.
enum Kind {
    /// A regular file that fits into the room beside others.
    Small(usize),
    /// A longer one.
    Large(u64),
    /// A file that must be read in its turn, or that can't be read.
    Special,
}

impl<'a, W: Work> Batch<'a, W> {
    pub(super) fn new(work: &'a W, line: &'a Line<W::Result>) -> Self {
        let most = work.most_together().map(|most| most.min(SMALL));
        Batch { work, line, room: vec![0; ROOM].into(), read: Vec::with_capacity(MOST), most }
    }

    /// Takes files until none is left.
    pub(super) fn run(mut self) {
        while let Some(index) = self.line.next() {
            if !self.line.has_room(index) {
                self.compute();
                if !self.line.wait_for_room(index) {
                    return;
                }
            }
            let path = self.work.path(index);
            match kind(path, self.most) {
                Kind::Small(len) => self.small(index, path, len),
                Kind::Large(len) => self.large(index, path, len),
                Kind::Special => self.line.give([(index, Outcome::Left)]),
            }
        }
        self.compute();
    }

    /// Reads a file of `len` bytes into the room.
    fn small(&mut self, index: usize, path: &Path, len: usize) {
        // One byte more than the file has shows whether the file has grown. The kernel's own files (/proc) say
        // that they are empty, and some give all that they have to the first read only.
        let space = if len == 0 { self.most.unwrap_or(SMALL) } else { len + 1 };
        if self.used() + space > ROOM || self.read.len() == MOST {
            self.compute();
        }
        let start = self.used();
        let Ok(mut file) = File::open(path) else { return self.line.give([(index, Outcome::Left)]) };
        let kept = match self.work.keep(index, &file) {
            Ok(kept) => kept,
            Err(error) => return self.line.give([(index, Outcome::Done(Err(error)))]),
        };
        match fill(&mut file, &mut self.room[start..start + space], len) {
            Ok(read) if read < space => {
                self.read.push(Waiting { index, place: start..start + read, kept });
            }
            Ok(read) => {
                self.compute();
                self.alone(index, file, None, start..start + read);
            }
            Err(source) => {
                let failed = Error::Read { name: shown::path(path), source };
                self.line.give([(index, Outcome::Done(Err(failed)))]);
            }
        }
    }

    /// Works on a larger file, after those in the room.
    fn large(&mut self, index: usize, path: &Path, len: u64) {
        self.compute();
        let Ok(file) = File::open(path) else { return self.line.give([(index, Outcome::Left)]) };
        self.alone(index, file, Some(len), 0..0);
    }

    fn alone(&mut self, index: usize, file: File, len: Option<u64>, head: Range<usize>) {
        let large = Large { index, file, len, room: &mut self.room, head };
        let result = self.work.alone(large, self.line);
        self.line.give([(index, Outcome::Done(result))]);
    }

    /// Works on the files in the room and empties it.
    fn compute(&mut self) {
        if self.read.is_empty() {
            return;
        }
        let whole = |waiting: Waiting<W::Kept>| Whole {
            index: waiting.index,
            bytes: &self.room[waiting.place],
            kept: waiting.kept,
        };
        let files: Vec<_> = self.read.drain(..).map(whole).collect();
        let results = self.work.together(&files);
        let indices = files.iter().map(|file| file.index);
        self.line.give(indices.zip(results.into_iter().map(Outcome::Done)));
    }

    /// Returns the bytes of the room that are taken.
    fn used(&self) -> usize {
        self.read.last().map_or(0, |waiting| waiting.place.end)
    }
}

/// Asks before the file is opened: opening a pipe would already tell who writes to it.
fn kind(path: &Path, most: Option<usize>) -> Kind {
    // The name that stands for standard input.
    if path.as_os_str() == "-" {
        return Kind::Special;
    }
    match path.metadata() {
        Ok(found) if found.is_file() => match usize::try_from(found.len()) {
            Ok(len) if most.is_some_and(|most| len <= most) => Kind::Small(len),
            _ => Kind::Large(found.len()),
        },
        _ => Kind::Special,
    }
}

/// Reads a file to its end, or until the buffer is full, and returns the number of bytes. As many as were
/// `expected` are all of it, so no other read has to find the end.
fn fill(file: &mut File, buffer: &mut [u8], expected: usize) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() && (filled == 0 || filled != expected) {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
