//! The system's errors in words for people.

use std::io::{self, ErrorKind};

/// Returns the system's message without the number that Rust appends.
///
/// ```
/// use std::io;
///
/// assert_eq!(millstream_shm::plain(&io::Error::from_raw_os_error(13)), "Permission denied");
/// assert_eq!(millstream_shm::plain(&io::ErrorKind::NotFound.into()), "no such file");
/// ```
pub fn plain(error: &io::Error) -> String {
    if error.raw_os_error().is_none() && error.get_ref().is_none() {
        return words(error.kind());
    }
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// Returns a kind of error in the words of the system, where Rust has words of its own.
pub fn words(kind: ErrorKind) -> String {
    let words = match kind {
        ErrorKind::NotFound => "no such file",
        ErrorKind::AlreadyExists => "it exists already",
        ErrorKind::ConnectionRefused => "nobody listens there",
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => "the other side has ended the connection",
        ErrorKind::AddrInUse => "the address is in use",
        ErrorKind::WouldBlock => "it is busy",
        ErrorKind::TimedOut => "it took too long",
        ErrorKind::UnexpectedEof => "it ends too early",
        ErrorKind::Unsupported => "the system does not support it",
        kind => return kind.to_string(),
    };
    words.to_owned()
}
