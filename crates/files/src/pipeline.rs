//! Reading, computing and writing at the same time.
//!
//! A stream is cut into pieces. One thread reads them, one or several compute, and the caller's thread
//! writes. Pieces go to the workers in turn and are taken from them in turn, so they leave in the order in
//! which they came without being sorted. The channels are short, so memory stays bounded. If both ends are
//! regular files, [`run_at`] lets each worker read, compute and write its own pieces instead.

use std::fs::File;
use std::io::{self, Read, Write};
use std::num::NonZero;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use zeroize::Zeroize;

use crate::error::Error;

/// The number of pieces that may wait before each worker, and after it.
const DEPTH: usize = 2;

/// The bytes that [`consume`] hands over at once. They stay in the second-level cache between reading and
/// computing.
const CONSUMED: usize = 256 << 10;

/// The most bytes that are reserved for a piece before its length is known.
const MOST_RESERVED: usize = 65 << 20;

/// One piece of a stream.
#[derive(Debug, Default)]
pub struct Piece {
    /// The piece's number, from 0.
    pub index: u64,
    /// True when the stream ends with it. Only the last piece may be shorter than the others.
    pub last: bool,
    /// The bytes: input before a worker has had it, output after.
    pub bytes: Vec<u8>,
}

/// The lengths of the pieces of a stream, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The length of the first piece.
    pub first: usize,
    /// The length of the others. The last one may be shorter.
    pub rest: usize,
    /// The most bytes by which computing may lengthen a piece.
    pub growth: usize,
}

impl Cut {
    fn len(&self, index: u64) -> usize {
        if index == 0 { self.first } else { self.rest }
    }
}

/// A function that turns a piece of input into a piece of output.
pub type Worker = Box<dyn FnMut(&mut Piece) -> Result<(), Error> + Send>;

/// A function that is told how many bytes were done, after each piece.
pub type Progress<'a> = &'a (dyn Fn(u64) + Sync);

/// Returns how many workers this machine can run at the same time.
pub fn parallelism() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Reads a stream piece by piece. It is one piece ahead, to know which is the last.
struct Pieces<R> {
    reader: R,
    cut: Cut,
    next: Option<Piece>,
}

impl<R: Read> Pieces<R> {
    fn new(reader: R, cut: Cut) -> Result<Self, Error> {
        let mut pieces = Pieces { reader, cut, next: None };
        pieces.next = Some(pieces.read(0, Vec::new())?);
        Ok(pieces)
    }

    fn read(&mut self, index: u64, mut bytes: Vec<u8>) -> Result<Piece, Error> {
        let len = self.cut.len(index);
        bytes.clear();
        // A cut that means "all of it" is a limit, not an expectation.
        bytes.reserve_exact((len + self.cut.growth).min(MOST_RESERVED));
        (&mut self.reader).take(len as u64).read_to_end(&mut bytes).map_err(Error::Read)?;
        let last = bytes.len() < len;
        Ok(Piece { index, last, bytes })
    }

    /// Returns the next piece; `spare` is a buffer to reuse.
    fn next(&mut self, spare: impl FnOnce() -> Vec<u8>) -> Result<Option<Piece>, Error> {
        let Some(mut piece) = self.next.take() else { return Ok(None) };
        if !piece.last {
            let following = self.read(piece.index + 1, spare())?;
            // A stream that ends exactly with a piece has no empty one after it.
            piece.last = following.last && following.bytes.is_empty();
            if !piece.last {
                self.next = Some(following);
            }
        }
        Ok(Some(piece))
    }
}

/// Passes all of `reader` through the workers to `writer`, in order.
///
/// A piece is written only after its worker has returned `Ok`, and none after one that failed. Threads that
/// are left when it returns an error end by themselves, the reader when its current read returns.
///
/// # Errors
/// The first error of the earliest piece.
pub fn run<R, W>(
    reader: R,
    mut writer: W,
    cut: Cut,
    workers: Vec<Worker>,
    progress: Progress<'_>,
) -> Result<(), Error>
where
    R: Read + Send + 'static,
    W: Write,
{
    let (spare_in, spare_out) = channel();
    let mut to_workers = Vec::new();
    let mut from_workers = Vec::new();
    for worker in workers {
        let (to, input) = sync_channel(DEPTH);
        let (output, from) = sync_channel(DEPTH);
        thread::spawn(move || work(worker, input, output));
        to_workers.push(to);
        from_workers.push(from);
    }
    let reader = thread::spawn(move || read(reader, cut, &to_workers, &spare_out));
    for from in from_workers.iter().cycle() {
        // The channel ends when the reader has failed, or a worker has panicked.
        let Ok(piece) = from.recv() else { break };
        let piece: Piece = piece?;
        let len = piece.bytes.len() as u64;
        writer.write_all(&piece.bytes).map_err(Error::Write)?;
        progress(len);
        let _ = spare_in.send(piece.bytes);
        if piece.last {
            return writer.flush().map_err(Error::Write);
        }
    }
    match reader.join() {
        Ok(Err(error)) => Err(error),
        _ => Err(Error::Read(io::Error::other("a worker ended before its work"))),
    }
}

fn read<R: Read>(
    reader: R,
    cut: Cut,
    to_workers: &[SyncSender<Piece>],
    spare: &Receiver<Vec<u8>>,
) -> Result<(), Error> {
    let mut pieces = Pieces::new(reader, cut)?;
    for to in to_workers.iter().cycle() {
        let Some(piece) = pieces.next(|| spare.try_recv().unwrap_or_default())? else { break };
        if to.send(piece).is_err() {
            break;
        }
    }
    Ok(())
}

fn work(mut worker: Worker, input: Receiver<Piece>, output: SyncSender<Result<Piece, Error>>) {
    for mut piece in input {
        let done = worker(&mut piece).map(|()| piece);
        let failed = done.is_err();
        if output.send(done).is_err() || failed {
            return;
        }
    }
}

/// Does what [`run`] does on the caller's thread, for streams of a few bytes and for fuzzing.
///
/// # Errors
/// The same as for [`run`].
pub fn run_here<R: Read, W: Write>(
    reader: R,
    mut writer: W,
    cut: Cut,
    mut worker: Worker,
) -> Result<(), Error> {
    let mut pieces = Pieces::new(reader, cut)?;
    let mut spare = Vec::new();
    while let Some(mut piece) = pieces.next(|| std::mem::take(&mut spare))? {
        worker(&mut piece)?;
        writer.write_all(&piece.bytes).map_err(Error::Write)?;
        spare = piece.bytes;
        spare.zeroize();
    }
    writer.flush().map_err(Error::Write)
}

/// The places of a stream's pieces in a file.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The offset of the first piece.
    pub start: u64,
    /// The lengths of the pieces.
    pub cut: Cut,
}

impl Layout {
    /// Returns the offset of piece `index`.
    fn offset(&self, index: u64) -> u64 {
        match index {
            0 => self.start,
            _ => self.start + self.cut.first as u64 + (index - 1) * self.cut.rest as u64,
        }
    }

    /// Returns how many pieces a file of `len` bytes has, at least one.
    fn count(&self, len: u64) -> u64 {
        let behind_first = len.saturating_sub(self.start).saturating_sub(self.cut.first as u64);
        1 + behind_first.div_ceil(self.cut.rest as u64)
    }
}

/// Passes a regular file of `len` bytes through the workers to another file, in any order. Each worker reads,
/// computes and writes its own pieces.
///
/// # Errors
/// The error of the earliest piece that failed. The output is useless then.
pub fn run_at(
    input: &File,
    len: u64,
    from: Layout,
    output: &File,
    to: Layout,
    workers: Vec<Worker>,
    progress: Progress<'_>,
) -> Result<(), Error> {
    let count = from.count(len);
    let next = AtomicU64::new(0);
    let failed = AtomicBool::new(false);
    let first_error: Mutex<Option<(u64, Error)>> = Mutex::new(None);
    let one = |worker: &mut Worker, piece: &mut Piece| -> Result<(), Error> {
        let at = from.offset(piece.index);
        let n = (len.saturating_sub(at)).min(from.cut.len(piece.index) as u64) as usize;
        piece.bytes.resize(n, 0);
        input.read_exact_at(&mut piece.bytes, at).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Error::Changed,
            _ => Error::Read(error),
        })?;
        worker(piece)?;
        output.write_all_at(&piece.bytes, to.offset(piece.index)).map_err(Error::Write)?;
        progress(n as u64);
        Ok(())
    };
    let (one, next, failed, first_error_of_all) = (&one, &next, &failed, &first_error);
    thread::scope(|scope| {
        for mut worker in workers {
            scope.spawn(move || {
                let mut piece = Piece::default();
                piece.bytes.reserve_exact(from.cut.first.max(from.cut.rest) + from.cut.growth);
                while !failed.load(Ordering::Relaxed) {
                    piece.index = next.fetch_add(1, Ordering::Relaxed);
                    if piece.index >= count {
                        break;
                    }
                    piece.last = piece.index + 1 == count;
                    if let Err(error) = one(&mut worker, &mut piece) {
                        failed.store(true, Ordering::Relaxed);
                        let mut first = first_error_of_all.lock().unwrap_or_else(|e| e.into_inner());
                        if first.as_ref().is_none_or(|(index, _)| piece.index < *index) {
                            *first = Some((piece.index, error));
                        }
                    }
                }
                piece.bytes.zeroize();
            });
        }
    });
    match first_error.into_inner().unwrap_or_else(|e| e.into_inner()) {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

/// Passes all of `reader`, `len` bytes if that is known, to `consume` on the caller's thread, while another
/// thread reads ahead.
///
/// # Errors
/// Fails when reading fails.
pub fn consume<R>(
    reader: R,
    len: Option<u64>,
    progress: Progress<'_>,
    mut consume: impl FnMut(&[u8]),
) -> io::Result<()>
where
    R: Read + Send + 'static,
{
    let mut consume = |piece: &[u8]| {
        consume(piece);
        progress(piece.len() as u64);
    };
    let (spare_in, spare_out): (Sender<Vec<u8>>, _) = channel();
    if len.is_some_and(|len| len < CONSUMED as u64) {
        let mut bytes = Vec::new();
        return read_whole(reader, &mut bytes).map(|_| consume(&bytes));
    }
    let (to, pieces) = sync_channel::<io::Result<Vec<u8>>>(DEPTH);
    thread::spawn(move || {
        let mut reader = reader;
        loop {
            let mut bytes = spare_out.try_recv().unwrap_or_default();
            let read = (&mut reader).take(CONSUMED as u64);
            let read = read_whole(read, &mut bytes);
            let end = !matches!(read, Ok(CONSUMED));
            if to.send(read.map(|_| bytes)).is_err() || end {
                return;
            }
        }
    });
    for piece in pieces {
        let piece = piece?;
        consume(&piece);
        let _ = spare_in.send(piece);
    }
    Ok(())
}

fn read_whole(mut reader: impl Read, bytes: &mut Vec<u8>) -> io::Result<usize> {
    bytes.clear();
    bytes.reserve_exact(CONSUMED);
    reader.read_to_end(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUT: Cut = Cut { first: 3, rest: 5, growth: 1 };

    /// Appends the piece's number and whether it is the last.
    fn mark() -> Worker {
        Box::new(|piece| {
            piece.bytes.push(b'0' + piece.index as u8 + 10 * u8::from(piece.last));
            Ok(())
        })
    }

    fn marked(input: &[u8]) -> Vec<u8> {
        let mut output = Vec::new();
        run_here(input, &mut output, CUT, mark()).unwrap();
        output
    }

    #[test]
    fn a_stream_ends_with_its_last_piece() {
        assert_eq!(marked(b""), b":");
        assert_eq!(marked(b"ab"), b"ab:");
        assert_eq!(marked(b"abc"), b"abc:");
        assert_eq!(marked(b"abcd"), b"abc0d;");
        assert_eq!(marked(b"abcdefgh"), b"abc0defgh;");
        assert_eq!(marked(b"abcdefghi"), b"abc0defgh1i<");
    }

    #[test]
    fn the_three_ways_agree_at_every_length() {
        use std::io::{Seek, Write};
        for len in 0..40 {
            let input: Vec<u8> = (0..len).map(|i| b'a' + i % 26).collect();
            let expected = marked(&input);
            for workers in 1..4 {
                let many = || (0..workers).map(|_| mark()).collect::<Vec<_>>();
                let mut output = Vec::new();
                run(io::Cursor::new(input.clone()), &mut output, CUT, many(), &|_| {}).unwrap();
                assert_eq!(output, expected);

                let mut file = tempfile::tempfile().unwrap();
                file.write_all(b"head").unwrap();
                file.write_all(&input).unwrap();
                let mut out = tempfile::tempfile().unwrap();
                let grown = Cut { first: 4, rest: 6, growth: 0 };
                let (from, to) = (Layout { start: 4, cut: CUT }, Layout { start: 0, cut: grown });
                let all = 4 + u64::from(len);
                run_at(&file, all, from, &out, to, many(), &|_| {}).unwrap();
                let mut output = Vec::new();
                out.rewind().unwrap();
                out.read_to_end(&mut output).unwrap();
                assert_eq!(output, expected);
            }
        }
    }

    #[test]
    fn nothing_is_written_after_a_piece_that_failed() {
        let fail_at = |bad: u64| -> Worker {
            Box::new(
                move |piece| if piece.index == bad { Err(Error::Tampered { segment: bad }) } else { Ok(()) },
            )
        };
        for bad in 0..4 {
            let mut output = Vec::new();
            let workers = vec![fail_at(bad), fail_at(bad)];
            let input = io::Cursor::new(vec![7; 18]);
            let error = run(input, &mut output, CUT, workers, &|_| {}).unwrap_err();
            assert!(matches!(error, Error::Tampered { segment } if segment == bad));
            assert_eq!(output.len(), [0, 3, 8, 13][bad as usize]);
        }
    }

    #[test]
    fn a_failing_reader_or_writer_is_told_as_such() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::ConnectionReset.into())
            }
        }
        let error = run(Broken, Vec::new(), CUT, vec![mark()], &|_| {}).unwrap_err();
        assert!(matches!(error, Error::Read(_)));
        let full: &mut [u8] = &mut [];
        let error = run(io::Cursor::new(vec![0; 100]), full, CUT, vec![mark()], &|_| {}).unwrap_err();
        assert!(matches!(error, Error::Write(_)));
    }

    #[test]
    fn consume_sees_every_byte_in_order() {
        for len in [0, 1, (256 << 10) - 1, 256 << 10, (256 << 10) + 1, 1_000_000] {
            let input: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            for known in [None, Some(len as u64)] {
                let mut seen = Vec::new();
                consume(io::Cursor::new(input.clone()), known, &|_| {}, |piece| {
                    seen.extend_from_slice(piece)
                })
                .unwrap();
                assert!(seen == input, "{len} bytes");
            }
        }
    }
}
