//! Keys and passphrases: from files, or from the terminal without echo. Zeroised when dropped.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zeroize::{Zeroize, Zeroizing};

use crate::error::{Error, plain};
use crate::signals;

/// The longest key file: keysets are the longest, and none has this many bytes.
const MOST_BYTES: u64 = 1 << 20;

/// A key or a passphrase.
pub type Secret = Zeroizing<Vec<u8>>;

/// All of a key file, and a warning if everyone may read it.
///
/// # Errors
/// [`Error::Secret`] when it can't be read or is empty.
pub fn key_file(path: &Path) -> Result<(Secret, Option<String>), Error> {
    let (bytes, everyone) = read(path)?;
    if bytes.is_empty() {
        return Err(Error::secret(path, "invalid key. The file is empty"));
    }
    let warning = everyone.then(|| format!("{0}: everyone may read this key; chmod 600 {0}", path.display()));
    Ok((bytes, warning))
}

/// The first line of a file.
///
/// # Errors
/// [`Error::Secret`] when it can't be read or the line is empty.
pub fn passphrase_file(path: &Path) -> Result<(Secret, Option<String>), Error> {
    let (mut bytes, everyone) = read(path)?;
    let end = bytes.iter().position(|&b| b == b'\n').unwrap_or(bytes.len());
    bytes[end..].zeroize();
    bytes.truncate(end);
    if bytes.is_empty() {
        return Err(Error::secret(path, "invalid passphrase. The first line is empty"));
    }
    let warning =
        everyone.then(|| format!("{0}: everyone may read this passphrase; chmod 600 {0}", path.display()));
    Ok((bytes, warning))
}

fn read(path: &Path) -> Result<(Secret, bool), Error> {
    let failed = |error: io::Error| Error::secret(path, format!("can not read it: {}", plain(&error)));
    let file = File::open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    // Room at once, so that no copy stays behind when the vector grows.
    let mut bytes = Zeroizing::new(Vec::with_capacity(found.len().clamp(4096, MOST_BYTES) as usize + 1));
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Error::secret(path, "more than a megabyte: not a key"));
    }
    Ok((bytes, found.is_file() && found.mode() & 0o004 != 0))
}

/// Asks at the terminal, twice where a mistyped passphrase would lose the data.
///
/// # Errors
/// [`Error::Passphrase`] when there is no terminal, or the answer is empty or not the same twice.
pub fn ask(twice: bool) -> Result<Secret, Error> {
    let mut tty = OpenOptions::new().read(true).write(true).open("/dev/tty").map_err(|_| {
        Error::Passphrase(
            "there is no terminal to ask for a passphrase; name a key with -k or a passphrase with \
             --passphrase-file"
                .into(),
        )
    })?;
    let failed = |error: io::Error| Error::Passphrase(format!("asking for a passphrase: {}", plain(&error)));
    let before = silence(&tty).map_err(failed)?;
    let answers = prompt(&mut tty, "Enter passphrase: ").and_then(|first| {
        let again = if twice { Some(prompt(&mut tty, "Re-enter passphrase: ")?) } else { None };
        Ok((first, again))
    });
    tcsetattr(&tty, OptionalActions::Drain, &before).map_err(|error| failed(error.into()))?;
    signals::untidy().terminal = None;
    let (first, again) = answers.map_err(failed)?;
    if first.is_empty() {
        return Err(Error::Passphrase("invalid passphrase. It is empty".into()));
    }
    if again.is_some_and(|again| *again != *first) {
        return Err(Error::Passphrase("invalid passphrase. The two are not the same".into()));
    }
    Ok(first)
}

/// Turns echo off; returns the settings from before, which a signal restores too.
fn silence(tty: &File) -> io::Result<Termios> {
    let before = tcgetattr(tty)?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    silent.local_modes.insert(LocalModes::ECHONL);
    signals::untidy().terminal = Some(before.clone());
    tcsetattr(tty, OptionalActions::Drain, &silent)?;
    Ok(before)
}

fn prompt(tty: &mut File, text: &str) -> io::Result<Secret> {
    tty.write_all(text.as_bytes())?;
    line(tty)
}

/// One line. A terminal hands over at most one with each read.
fn line(tty: &mut File) -> io::Result<Secret> {
    let mut bytes = Zeroizing::new(vec![0; 4096]);
    let n = tty.read(&mut bytes)?;
    bytes.truncate(n);
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    Ok(bytes)
}
