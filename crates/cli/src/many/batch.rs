//! The files that one thread takes.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use millstream_files::pipeline;

use super::line::{Line, Outcome};
use super::sum::Sums;
use crate::error::Error;
use crate::{progress, shown};

/// The bytes of small files that are computed together. They stay in the second-level cache between reading
/// and computing.
const ROOM: usize = 512 << 10;
/// The most bytes of a file that waits for others; a longer one fills no lane better than it fills a thread.
const SMALL: usize = 64 << 10;
/// The bytes of a larger file that are read at once.
const PIECE: usize = 256 << 10;
/// The most files that are computed together.
const MOST: usize = 256;

/// The small files that a thread has read, and the room for them.
pub(super) struct Batch<'a> {
    files: &'a [OsString],
    sums: &'a dyn Sums,
    line: &'a Line,
    room: Box<[u8]>,
    /// The numbers of the files in the room, and the places of their bytes.
    read: Vec<(usize, Range<usize>)>,
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

impl<'a> Batch<'a> {
    pub(super) fn new(files: &'a [OsString], sums: &'a dyn Sums, line: &'a Line) -> Self {
        Batch { files, sums, line, room: vec![0; ROOM].into(), read: Vec::with_capacity(MOST) }
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
            let path = Path::new(&self.files[index]);
            match kind(path) {
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
        let space = if len == 0 { SMALL } else { len + 1 };
        if self.used() + space > ROOM || self.read.len() == MOST {
            self.compute();
        }
        let start = self.used();
        let Ok(mut file) = File::open(path) else { return self.line.give([(index, Outcome::Left)]) };
        match fill(&mut file, &mut self.room[start..start + space], len) {
            Ok(read) if read < space => self.read.push((index, start..start + read)),
            Ok(read) => {
                self.compute();
                self.stream(index, path, file, start..start + read, None);
            }
            Err(source) => self.line.give([(index, Outcome::Sum(Err(failed(path, source))))]),
        }
    }

    /// Computes the sum of a file piece by piece.
    fn large(&mut self, index: usize, path: &Path, len: u64) {
        self.compute();
        let Ok(file) = File::open(path) else { return self.line.give([(index, Outcome::Left)]) };
        let done = (len >= progress::LARGE).then(|| self.line.reading(index, len));
        self.stream(index, path, file, 0..0, done.as_deref());
    }

    /// Computes the sum of a file whose first bytes are in the room, and tells `done` how far it is.
    fn stream(
        &mut self,
        index: usize,
        path: &Path,
        mut file: File,
        head: Range<usize>,
        done: Option<&AtomicU64>,
    ) {
        let mut sum = self.sums.begin();
        sum.update(&self.room[head]);
        let advance = |bytes| {
            if let Some(done) = done {
                done.fetch_add(bytes, Ordering::Relaxed);
            }
        };
        let read = if self.line.is_empty() {
            // There are fewer files than processors now, so another one can read ahead.
            pipeline::consume(file, None, &advance, |piece| sum.update(piece))
        } else {
            loop {
                match file.read(&mut self.room[..PIECE]) {
                    Ok(0) => break Ok(()),
                    Ok(read) => {
                        sum.update(&self.room[..read]);
                        advance(read as u64);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => break Err(error),
                }
            }
        };
        let sum = read.map(|()| sum.finish()).map_err(|source| failed(path, source));
        self.line.give([(index, Outcome::Sum(sum))]);
    }

    /// Computes the sums of the files in the room and empties it.
    fn compute(&mut self) {
        if self.read.is_empty() {
            return;
        }
        let messages: Vec<&[u8]> = self.read.iter().map(|(_, place)| &self.room[place.clone()]).collect();
        let sums = self.sums.of_all(&messages);
        let indices = self.read.drain(..).map(|(index, _)| index);
        self.line.give(indices.zip(sums.into_iter().map(|sum| Outcome::Sum(Ok(sum)))));
    }

    /// Returns the bytes of the room that are taken.
    fn used(&self) -> usize {
        self.read.last().map_or(0, |(_, place)| place.end)
    }
}

/// Asks before the file is opened: opening a pipe would already tell who writes to it.
fn kind(path: &Path) -> Kind {
    // The name that stands for standard input.
    if path.as_os_str() == "-" {
        return Kind::Special;
    }
    match path.metadata() {
        Ok(found) if found.is_file() => match usize::try_from(found.len()) {
            Ok(len @ 0..=SMALL) => Kind::Small(len),
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

fn failed(path: &Path, source: io::Error) -> Error {
    Error::Read { name: shown::path(path), source }
}
