//! Keys and passphrases, from files or from the terminal without echo. They are zeroised when dropped.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zeroize::{Zeroize, Zeroizing};

use crate::error::{Error, plain};
use crate::{shown, signals};

/// The longest key file. Keysets are the longest, and none has this many bytes.
const MOST_BYTES: u64 = 1 << 20;

/// The words for a file that has more.
const NO_KEY: &str = "more than a megabyte: not a key";

/// A key or a passphrase.
pub type Secret = Zeroizing<Vec<u8>>;

/// Reads a key file, and returns a warning if everyone may read it.
///
/// # Errors
/// [`Error::Secret`] when it can't be read or is empty.
pub fn key_file(path: &Path) -> Result<(Secret, Option<String>), Error> {
    file_of_keys(path, "invalid key. The file is empty", NO_KEY)
}

/// Reads a file that has keys in it, as [`key_file`], with the caller's words for a file that is empty or too long.
///
/// # Errors
/// [`Error::Secret`] when it can't be read, or with those words.
pub(crate) fn file_of_keys(
    path: &Path,
    empty: &str,
    too_long: &str,
) -> Result<(Secret, Option<String>), Error> {
    let (bytes, everyone) = read(path, too_long)?;
    if bytes.is_empty() {
        return Err(Error::secret(path, empty));
    }
    Ok((bytes, everyone.then(|| readable(path, "key"))))
}

/// Reads the first line of a file as a passphrase.
///
/// # Errors
/// [`Error::Secret`] when it can't be read or the line is empty.
pub fn passphrase_file(path: &Path) -> Result<(Secret, Option<String>), Error> {
    first_line(path, "passphrase")
}

/// Reads the first line of a file as a token's PIN.
///
/// # Errors
/// [`Error::Secret`] when it can't be read or the line is empty.
pub fn pin_file(path: &Path) -> Result<(Secret, Option<String>), Error> {
    first_line(path, "PIN")
}

fn first_line(path: &Path, what: &str) -> Result<(Secret, Option<String>), Error> {
    let (mut bytes, everyone) = read(path, NO_KEY)?;
    let end = bytes.iter().position(|&b| b == b'\n').unwrap_or(bytes.len());
    bytes[end..].zeroize();
    bytes.truncate(end);
    if bytes.is_empty() {
        return Err(Error::secret(path, format!("invalid {what}. The first line is empty")));
    }
    Ok((bytes, everyone.then(|| readable(path, what))))
}

fn readable(path: &Path, what: &str) -> String {
    let path = shown::path(path);
    format!("{path}: everyone may read this {what}; chmod 600 {path}")
}

/// A reason to doubt that a key is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Every byte is zero.
    Zero,
    /// The key consists of hexadecimal digits, for half as many bytes.
    Hexadecimal,
    /// The key consists of other printable characters, like a password.
    Text,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Doubt::Zero => "every byte is zero, so this is no key; make one with 'millstream keygen'",
            Doubt::Hexadecimal => "it holds hexadecimal digits; make bytes of them with 'xxd -r -p'",
            Doubt::Text => "it holds text, which is no random key; a passphrase goes with --passphrase-file",
        })
    }
}

/// The shortest text that counts. Fewer printable bytes may be random: those of a DES key are once in some
/// thousand times.
const LEAST_TEXT: usize = 16;

/// Returns a reason to doubt that the contents of a key file are a random key. Every byte is looked at,
/// whatever the others are.
pub fn doubt(key: &[u8]) -> Option<Doubt> {
    if key.iter().fold(0, |all, byte| all | byte) == 0 {
        return Some(Doubt::Zero);
    }
    let key = key.trim_ascii_end();
    let all =
        |is: fn(&u8) -> bool| key.len() >= LEAST_TEXT && key.iter().fold(true, |all, byte| all & is(byte));
    match (all(u8::is_ascii_hexdigit), all(|byte| byte.wrapping_sub(b' ') < 95)) {
        (true, _) => Some(Doubt::Hexadecimal),
        (false, true) => Some(Doubt::Text),
        (false, false) => None,
    }
}

/// Returns the error that a key file's length is wrong, with what the file may hold instead.
pub(crate) fn length(path: &Path, key: &[u8], error: impl fmt::Display) -> Error {
    match doubt(key) {
        Some(doubt) => Error::secret(path, format!("{error}; {doubt}")),
        None => Error::secret(path, error),
    }
}

fn read(path: &Path, too_long: &str) -> Result<(Secret, bool), Error> {
    let failed = |error: io::Error| Error::secret(path, format!("can not read it: {}", plain(&error)));
    let file = File::open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    // The room is reserved at once, so that no copy stays behind when the vector grows.
    let mut bytes = Zeroizing::new(Vec::with_capacity(found.len().clamp(4096, MOST_BYTES) as usize + 1));
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Error::secret(path, too_long));
    }
    Ok((bytes, found.is_file() && found.mode() & 0o004 != 0))
}

/// The texts with which the terminal asks for a secret.
#[derive(Clone, Copy, Debug)]
pub struct Prompt {
    /// The secret, as in `passphrase`.
    pub what: &'static str,
    /// The first question.
    pub first: &'static str,
    /// The second question, where there are two.
    pub again: &'static str,
    /// The remedy when there is no terminal.
    pub remedy: &'static str,
}

const PASSPHRASE: Prompt = Prompt {
    what: "passphrase",
    first: "Enter passphrase: ",
    again: "Re-enter passphrase: ",
    remedy: "name a key with -k or a passphrase with --passphrase-file",
};

/// Asks for a passphrase at the terminal, twice where a mistyped one would lose the data.
///
/// # Errors
/// [`Error::Passphrase`] when there is no terminal, or when the answer is empty or not the same twice.
pub fn ask(twice: bool) -> Result<Secret, Error> {
    ask_for(&PASSPHRASE, twice)
}

/// Asks for a secret at the terminal, as [`ask`] does.
///
/// # Errors
/// The same as for [`ask`].
pub fn ask_for(asked: &Prompt, twice: bool) -> Result<Secret, Error> {
    let Prompt { what, first, again, remedy } = *asked;
    let mut tty = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/tty")
        .map_err(|_| Error::Passphrase(format!("there is no terminal to ask for a {what}; {remedy}")))?;
    let failed = |error: io::Error| Error::Passphrase(format!("asking for a {what}: {}", plain(&error)));
    let before = tcgetattr(&tty).map_err(|error| failed(error.into()))?;
    silence(&tty, &before).map_err(failed)?;
    let answers = prompt(&mut tty, first).and_then(|first| {
        let again = if twice { Some(prompt(&mut tty, again)?) } else { None };
        Ok((first, again))
    });
    tcsetattr(&tty, OptionalActions::Drain, &before).map_err(|error| failed(error.into()))?;
    signals::untidy().terminal = None;
    let (first, again) = answers.map_err(failed)?;
    if first.is_empty() {
        return Err(Error::Passphrase(format!("invalid {what}. It is empty")));
    }
    if again.is_some_and(|again| *again != *first) {
        return Err(Error::Passphrase(format!("invalid {what}. The two are not the same")));
    }
    Ok(first)
}

/// Turns echo off. A signal that ends or stops the process restores the old settings, and one that continues
/// it turns echo off again.
fn silence(tty: &File, before: &Termios) -> io::Result<()> {
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    silent.local_modes.insert(LocalModes::ECHONL);
    signals::untidy().terminal =
        Some(signals::Terminal { before: before.clone(), during: silent.clone(), prompt: "" });
    tcsetattr(tty, OptionalActions::Drain, &silent)?;
    Ok(())
}

fn prompt(tty: &mut File, text: &'static str) -> io::Result<Secret> {
    if let Some(terminal) = &mut signals::untidy().terminal {
        terminal.prompt = text;
    }
    tty.write_all(text.as_bytes())?;
    line(tty)
}

/// Reads one line. A terminal hands over at most one with each read.
fn line(tty: &mut File) -> io::Result<Secret> {
    let mut bytes = Zeroizing::new(vec![0; 4096]);
    let n = loop {
        match tty.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read?,
        }
    };
    bytes.truncate(n);
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    Ok(bytes)
}
