//! Refusals and warnings of `encrypt`, `decrypt` and their kin, so that nobody loses data or a secret by a
//! slip of the hand.

use std::fs::{File, Metadata};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use millstream_engines::modes::Direction;
use millstream_files::cipher::Cipher;
use millstream_files::{Format, solaris};

use crate::error::Error;
use crate::shown;

/// Adds a hint to an error of the command line where people are known to try something that does not work.
pub(super) fn with_hint(mut error: clap::Error) -> clap::Error {
    let argument = |kind| match error.get(kind) {
        Some(ContextValue::String(argument)) => argument.clone(),
        _ => String::new(),
    };
    let (given, before) = (argument(ContextKind::InvalidArg), argument(ContextKind::PriorArg));
    if error.kind() == ErrorKind::ArgumentConflict && given == before {
        let hint = "only one of the values could be used; give the option once";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
    error
}

/// Spells out the control characters of what an error repeats from the command line.
pub(super) fn harmless(mut error: clap::Error) -> clap::Error {
    let spelled_out = |value: &ContextValue| match value {
        ContextValue::String(text) => Some(ContextValue::String(shown::text(text))),
        ContextValue::Strings(texts) => {
            Some(ContextValue::Strings(texts.iter().map(|text| shown::text(text)).collect()))
        }
        _ => None,
    };
    let harmless: Vec<_> =
        error.context().filter_map(|(kind, value)| Some((kind, spelled_out(value)?))).collect();
    for (kind, value) in harmless {
        error.insert(kind, value);
    }
    error
}

/// Returns the file that `-i` or `-o` names. A minus names standard input or output, as if the option were
/// not there.
pub(super) fn file(path: Option<&Path>) -> Option<&Path> {
    path.filter(|path| path.as_os_str() != "-")
}

/// Refuses to overwrite, or to append to, a file that keys are made from: nothing that was ever encrypted
/// with it could be decrypted again. `output` is the file's name, or nothing for standard output. Each secret
/// comes with its name for messages.
pub(super) fn spare_secrets(output: Option<&Path>, secrets: &[(&str, Option<&Path>)]) -> Result<(), Error> {
    let Some(written) = destination(output) else { return Ok(()) };
    let is_written = |path: &Path| path.metadata().is_ok_and(|secret| is_same(&secret, &written));
    for (what, path) in secrets {
        if let Some(path) = path.filter(|path| is_written(path)) {
            let output = output.map_or("standard output".into(), shown::path);
            let path = shown::path(path);
            return Err(Error::Usage(format!(
                "{output}: is the {what} {path}, which the output would destroy; write to another file"
            )));
        }
    }
    Ok(())
}

/// Returns the metadata of the existing file that the output would go to.
fn destination(output: Option<&Path>) -> Option<Metadata> {
    match output {
        Some(path) => path.metadata().ok(),
        None => File::from(io::stdout().as_fd().try_clone_to_owned().ok()?).metadata().ok(),
    }
}

/// Returns true when both are one file that keeps what is written to it. A terminal or a pipe may well give a
/// passphrase and take the output.
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    let keeps = a.is_file() || a.file_type().is_block_device();
    keeps && (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// Refuses to show ciphertext on a terminal, which would obey its bytes, and which no reader can use.
/// `output` is the value of `-o`: a user who names a terminal there, or a minus, wants it so.
pub(super) fn spare_terminal(output: Option<&Path>, direction: Direction) -> Result<(), Error> {
    if output.is_some() || direction == Direction::Decrypt || !io::stdout().is_terminal() {
        return Ok(());
    }
    Err(Error::Usage(
        "standard output is a terminal, which ciphertext would garble; name a file with -o, or insist with '-o -'".into(),
    ))
}

/// Returns the warning that the user of a format for encryption should see, if any.
pub(super) fn about(format: Format, algorithm: Option<&str>) -> Option<String> {
    let cipher = algorithm.and_then(Cipher::from_name);
    let (what, authentic, legacy) = match (format, algorithm) {
        (Format::Tink | Format::Age | Format::Envelope, _) => return None,
        (Format::Solaris, name) => {
            ("the format solaris", false, name != Some(solaris::Algorithm::Aes.name()))
        }
        (Format::OpenSsl, _) => {
            ("the format openssl", false, cipher.is_some_and(|cipher| cipher.is_legacy()))
        }
        (Format::Raw, name) => {
            let cipher = cipher?;
            (name?, cipher.is_aead(), cipher.is_legacy())
        }
    };
    let weak = algorithm.filter(|_| legacy).map_or(String::new(), |name| format!("{}, and ", too_weak(name)));
    let changes = format!(
        "{weak}{what} does not authenticate: anybody who can change the file can change what it decrypts to; \
         leave out -a and --format for an authenticated file"
    );
    (!authentic).then_some(changes)
}

/// Returns the warning that the user of a MAC should see, if any.
pub(super) fn about_mac(name: &str, legacy: bool) -> Option<String> {
    legacy.then(|| format!("{}; sha256_hmac and aes_cmac are not", too_weak(name)))
}

fn too_weak(name: &str) -> String {
    format!("{name} is too weak for new data")
}

/// A writer to a terminal that lets text through only. Nothing of a piece that holds control characters other
/// than tabs and ends of lines reaches the terminal.
pub(super) struct Screen<W>(pub(super) W);

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_control = |&byte: &u8| byte < b' ' && !b"\t\n\r".contains(&byte) || byte == 0x7f;
        if bytes.iter().any(is_control) {
            let why = "it is not text, and standard output is a terminal; name a file with -o, or insist with '-o -'";
            return Err(io::Error::other(why));
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_shows_text_and_nothing_that_commands_a_terminal() {
        let mut screen = Screen(Vec::new());
        screen.write_all("Zeile\tund Köln\r\n".as_bytes()).unwrap();
        for bytes in [&b"\x1b[31m"[..], b"a\0", b"\x07", b"\x7f"] {
            assert!(screen.write_all(bytes).unwrap_err().to_string().contains("-o -"));
        }
        assert_eq!(screen.0, "Zeile\tund Köln\r\n".as_bytes());
    }
}
