//! The standard error of workers, on which they say why they can't start or that they panicked. It goes to
//! the log, as lines that can't control a terminal, and no more of it than a worker has reason to say.

use std::io::{self, PipeReader, PipeWriter, Read};

use crate::broker::Broker;
use crate::chatter::{Kind, say};
use crate::shown::Shown;

/// The most bytes of one process that are read. Its pipe is closed after them.
const MOST: usize = 64 << 10;
/// The most bytes that are read at once.
const AT_ONCE: usize = 4096;
/// The length at which a long line is broken.
const LINE: usize = 512;

/// The end of a pipe into which a worker writes.
pub(crate) struct Said {
    pipe: PipeReader,
    /// A line that has not ended.
    line: Vec<u8>,
    heard: usize,
}

impl Said {
    /// Makes the pipe. The worker's end never makes it wait: output that does not fit is lost.
    ///
    /// # Errors
    /// Too many descriptors.
    pub(crate) fn new() -> io::Result<(Self, PipeWriter)> {
        let (pipe, worker) = io::pipe()?;
        rustix::io::ioctl_fionbio(&pipe, true)?;
        rustix::io::ioctl_fionbio(&worker, true)?;
        Ok((Said { pipe, line: Vec::new(), heard: 0 }, worker))
    }

    pub(crate) fn pipe(&self) -> &PipeReader {
        &self.pipe
    }

    /// Reads lines that were written since, up to a limit. Returns them, and whether there may be more.
    fn take(&mut self) -> (Vec<Shown>, bool) {
        let mut bytes = [0; AT_ONCE];
        let most = AT_ONCE.min(MOST - self.heard);
        let more = match self.pipe.read(&mut bytes[..most]) {
            Ok(0) => false,
            Ok(count) => {
                self.heard += count;
                self.line.extend_from_slice(&bytes[..count]);
                true
            }
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        };
        let mut lines = Vec::new();
        while let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
            lines.push(shown(&self.line.drain(..=end).collect::<Vec<_>>()));
        }
        while self.line.len() >= LINE || !more && !self.line.is_empty() {
            let end = self.line.len().min(LINE);
            lines.push(shown(&self.line.drain(..end).collect::<Vec<_>>()));
        }
        lines.retain(|line| !line.is_empty());
        (lines, more)
    }
}

fn shown(line: &[u8]) -> Shown {
    Shown::text(String::from_utf8_lossy(line).trim_end())
}

impl Broker {
    /// Passes on what a worker has written.
    pub(crate) fn hear_said(&mut self, index: usize) {
        let Some(process) = &mut self.crew[index].process else { return };
        let Some(said) = &mut process.said else { return };
        let (lines, more) = said.take();
        if !more {
            self.poll.remove(said.pipe());
            process.said = None;
        }
        for said in lines {
            say!(self.chatter, None, Kind::Said, error, worker = index, said = &*said, "a worker says");
        }
    }

    /// Passes on what a dead worker has written.
    pub(crate) fn hear_last_words(&mut self, index: usize) {
        for _ in 0..=MOST / AT_ONCE {
            self.hear_said(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn texts(lines: &[Shown]) -> Vec<&str> {
        lines.iter().map(|line| &**line).collect()
    }

    #[test]
    fn lines_are_passed_on_when_they_end() {
        let (mut said, mut worker) = Said::new().unwrap();
        worker.write_all(b"one\ntwo\x1b[2J\r\n\nthr").unwrap();
        let (lines, more) = said.take();
        assert_eq!((texts(&lines), more), (vec!["one", "two\\u{1b}[2J"], true));
        assert_eq!(said.take(), (vec![], true), "nothing more yet");
        worker.write_all(b"ee\xff").unwrap();
        drop(worker);
        assert_eq!(said.take(), (vec![], true));
        let (lines, more) = said.take();
        assert_eq!((texts(&lines), more), (vec!["three\u{fffd}"], false));
    }

    #[test]
    fn a_line_without_end_is_broken_and_a_flood_ends() {
        let (mut said, mut worker) = Said::new().unwrap();
        worker.write_all(&[b'x'; 1300]).unwrap();
        let (lines, _) = said.take();
        assert_eq!(lines.iter().map(|line| line.len()).collect::<Vec<_>>(), [LINE, LINE]);
        let mut turns = 0;
        loop {
            // The write never blocks.
            let _ = worker.write(&[b'y'; 2 * AT_ONCE]);
            turns += 1;
            if !said.take().1 {
                break;
            }
        }
        assert_eq!((turns, said.heard), (MOST / AT_ONCE + 1, MOST));
    }
}
