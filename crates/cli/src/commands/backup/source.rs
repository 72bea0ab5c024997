//! The stream that is kept: standard input, a file, a device, a folder as tar, or the output of a command.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;

use super::Long;
use crate::error::Error;
use crate::input::Input;
use crate::progress::Progress;
use crate::{shown, signals};

/// The options that name the stream.
#[derive(clap::Args)]
pub(super) struct Source {
    /// A file, a device, or a folder, which becomes a stream of tar; without it, or with -, standard input
    #[arg(value_name = "FILE", conflicts_with = "command")]
    file: Option<PathBuf>,
    /// A command whose output is kept, and that must end well
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// A stream, open.
pub(super) struct Stream {
    pub(super) reader: Box<dyn Read>,
    /// The bytes there will be, if that is known.
    pub(super) len: Option<u64>,
    /// The stream's origin, in words.
    pub(super) name: String,
    /// True where somebody types it on a terminal.
    pub(super) is_typed: bool,
}

impl Stream {
    /// Makes the bar, unless the stream is typed where the bar would be.
    pub(super) fn progress(&self, long: &Long) -> Progress {
        if self.is_typed { Progress::Silent } else { long.progress(self.len) }
    }
}

impl Source {
    pub(super) fn open(&self) -> Result<Stream, Error> {
        if !self.command.is_empty() {
            return command(&self.command);
        }
        match &self.file {
            Some(path) if path.as_os_str() != "-" && path.is_dir() => {
                let tar = ["tar", "--create", "--file=-", "--directory"].map(OsString::from);
                let line: Vec<OsString> = tar.into_iter().chain([path.into(), ".".into()]).collect();
                command(&line)
            }
            Some(path) => from(Input::operand(path.as_os_str())?),
            None => from(Input::standard()?),
        }
    }
}

fn from(input: Input) -> Result<Stream, Error> {
    // A larger pipe saves system calls. Where the limit is lower, the pipe stays as it is.
    let _ = rustix::pipe::fcntl_setpipe_size(&input.file, 1 << 20);
    let is_typed = input.file.is_terminal();
    Ok(Stream { reader: Box::new(input.file), len: input.len, name: input.name, is_typed })
}

fn command(line: &[OsString]) -> Result<Stream, Error> {
    let name = line.iter().map(|word| shown::text(&word.to_string_lossy())).collect::<Vec<_>>().join(" ");
    let mut child = Command::new(&line[0])
        .args(&line[1..])
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|source| Error::Read { name: shown::text(&line[0].to_string_lossy()), source })?;
    let output = child.stdout.take().expect("a pipe was asked for");
    let _ = rustix::pipe::fcntl_setpipe_size(&output, 1 << 20);
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    signals::untidy().children.extend(pid);
    Ok(Stream {
        reader: Box::new(Checked { output, child, pid, ended: false }),
        len: None,
        name,
        is_typed: false,
    })
}

/// The output of a command. Its end is an error unless the command ended well: a stream that was cut off must not become a whole backup.
struct Checked {
    output: std::process::ChildStdout,
    child: Child,
    pid: Option<Pid>,
    ended: bool,
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.output.read(buffer)?;
        if read == 0 && !buffer.is_empty() && !self.ended {
            let status = self.child.wait()?;
            signals::untidy().children.retain(|child| Some(*child) != self.pid);
            self.ended = true;
            if !status.success() {
                return Err(io::Error::other(format!(
                    "the command ended with {status}, so its output may be cut off"
                )));
            }
        }
        Ok(read)
    }
}

impl Drop for Checked {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.child.kill();
            let _ = self.child.wait();
            signals::untidy().children.retain(|child| Some(*child) != self.pid);
        }
    }
}
