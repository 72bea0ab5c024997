//! The socket by which other processes of the user see and change a data plane.
//!
//! A connection carries one request and one answer. A request is a line with a word and its arguments, and for `add` the text behind it, up to the
//! client's end of writing. An answer is a line, `ok` or `error` with the reason, and behind `ok` the report as JSON where one was asked for.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use millstream_shm::{Listener, Socket};
use rustix::net::{SocketFlags, accept_with};
use zeroize::Zeroizing;

use super::changes::Changes;
use super::plane::Plane;
use super::{add, report};
use crate::error::{Error, plain};
use crate::shown;

/// The longest request, in bytes.
pub(crate) const MOST_BYTES: u64 = 1 << 20;

/// The time that a client has for its request, and to take its answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Returns the place of the socket where none is named.
///
/// # Errors
/// [`Error::Usage`] without a folder for it.
pub(crate) fn socket_path(named: Option<&Path>) -> Result<PathBuf, Error> {
    if let Some(path) = named {
        return Ok(path.to_owned());
    }
    let folder = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
    let folder = folder.ok_or_else(|| {
        Error::Usage("XDG_RUNTIME_DIR names no folder for the socket; name the socket with --control".into())
    })?;
    Ok(PathBuf::from(folder).join("millstream-esp.sock"))
}

/// Sends a request, and returns what comes behind `ok`.
///
/// # Errors
/// [`Error`]: nobody listens, or the request was refused.
pub(crate) fn ask(path: &Path, request: &[u8]) -> Result<String, Error> {
    let failed = |error: io::Error| Error::Serve(format!("{}: {}", shown::path(path), plain(&error)));
    let mut stream = UnixStream::connect(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Error::Serve(format!(
            "{}: no millstream esp run is there; start one, or name its socket with --control",
            shown::path(path)
        )),
        _ => failed(error),
    })?;
    // Keys go to this user's process, or root's, and to no other.
    let peer = stream.as_fd().try_clone_to_owned().and_then(|descriptor| Socket::received(descriptor).peer());
    if !peer.is_ok_and(|peer| is_trusted(peer.uid)) {
        return Err(Error::Serve(format!("{}: another user listens there", shown::path(path))));
    }
    let mut answer = String::new();
    stream.write_all(request).and_then(|()| stream.shutdown(Shutdown::Write)).map_err(failed)?;
    stream.read_to_string(&mut answer).map_err(failed)?;
    let (first, rest) = answer.split_once('\n').unwrap_or((&answer, ""));
    match first.strip_prefix("error ") {
        None if first == "ok" => Ok(rest.to_owned()),
        Some(why) => Err(Error::Serve(why.to_owned())),
        None => Err(Error::Serve(format!("{}: the answer makes no sense", shown::path(path)))),
    }
}

fn is_trusted(uid: u32) -> bool {
    uid == 0 || uid == rustix::process::geteuid().as_raw()
}

/// The thread that answers. Its socket is gone when this is dropped.
pub(super) struct Server(PathBuf);

impl Server {
    /// Listens, with a socket that its user alone can connect to.
    ///
    /// # Errors
    /// [`Error::Serve`] where another one listens; [`Error::Write`].
    pub(super) fn start(path: &Path, plane: &Arc<Plane>) -> Result<Self, Error> {
        let failed = |source| Error::Write { name: path.display().to_string(), source };
        let listener = Listener::bind_stream_with_mode(path, 0o600).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => Error::Serve(format!(
                "{}: another millstream esp serves there; name another socket with --control",
                shown::path(path)
            )),
            _ => failed(error),
        })?;
        let plane = plane.clone();
        let thread = thread::Builder::new().name("esp-control".to_owned());
        thread.spawn(move || serve(&listener, &plane)).map_err(failed)?;
        Ok(Server(path.to_owned()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A file that is not there any more is what is wanted.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Answers one client after the other. A client that takes its time holds up other requests, and no packets.
fn serve(listener: &Listener, plane: &Arc<Plane>) {
    loop {
        let Ok(accepted) = accept_with(listener.as_fd(), SocketFlags::CLOEXEC) else {
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        let client = Socket::received(accepted);
        if client.peer().is_ok_and(|peer| is_trusted(peer.uid)) {
            // A client that breaks off hears no answer.
            let _ = client.duplicate().and_then(|descriptor| attend(UnixStream::from(descriptor), plane));
        }
    }
}

fn attend(mut client: UnixStream, plane: &Arc<Plane>) -> io::Result<()> {
    client.set_write_timeout(Some(PATIENCE))?;
    let mut room = Zeroizing::new(vec![0; MOST_BYTES as usize + 1]);
    let request = read(&client, &mut room, PATIENCE)?;
    let answer = match std::str::from_utf8(request) {
        Ok(request) if request.len() as u64 <= MOST_BYTES => answer(request, plane),
        _ => Err("the request is longer than a megabyte, or no text".to_owned()),
    };
    match answer {
        Ok(report) => write!(client, "ok\n{report}"),
        Err(why) => writeln!(client, "error {}", why.replace('\n', " ")),
    }
}

/// Reads up to the client's end of writing, or as much as there is room for.
///
/// # Errors
/// The system's; `TimedOut` or `WouldBlock` when that takes longer than `patience` in all, however much came in between.
fn read<'r>(mut client: &UnixStream, room: &'r mut [u8], patience: Duration) -> io::Result<&'r [u8]> {
    let end = Instant::now() + patience;
    let mut len = 0;
    while len < room.len() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        client.set_read_timeout(Some(left))?;
        match client.read(&mut room[len..]) {
            Ok(0) => break,
            Ok(more) => len += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(&room[..len])
}

fn answer(request: &str, plane: &Arc<Plane>) -> Result<String, String> {
    let (line, rest) = request.split_once('\n').unwrap_or((request, ""));
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["add"] => add::add(plane, rest).map(|count| format!("{count}\n")),
        ["del", spi] => remove(plane, spi, None),
        ["del", spi, destination] => {
            let destination = destination.parse().map_err(|_| format!("{destination} is no address"))?;
            remove(plane, spi, Some(destination))
        }
        ["show"] => Ok(format!("{}\n", report::json(plane))),
        _ => Err("a request that is not known".to_owned()),
    }
}

fn remove(plane: &Arc<Plane>, spi: &str, destination: Option<IpAddr>) -> Result<String, String> {
    let number = match spi.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => spi.parse(),
    };
    let number = number.map_err(|_| format!("{spi} is no SPI"))?;
    match Changes::begin(plane).remove(number, destination) {
        true => Ok(String::new()),
        false => Err(format!("there is no association {number:#010x}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_drips_has_no_more_time_than_others() {
        let (client, server) = UnixStream::pair().unwrap();
        (&client).write_all(b"show\n").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(read(&server, &mut [0; 100], Duration::from_secs(10)).unwrap(), b"show\n");

        let (mut client, server) = UnixStream::pair().unwrap();
        // The thread ends when nobody has the other end any more.
        let drips = thread::spawn(move || {
            while client.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_millis(5));
            }
        });
        let patience = Duration::from_millis(100);
        let error = read(&server, &mut [0; 1 << 20], patience).unwrap_err();
        assert!([io::ErrorKind::TimedOut, io::ErrorKind::WouldBlock].contains(&error.kind()), "{error}");
        drop(server);
        drips.join().unwrap();
    }
}
