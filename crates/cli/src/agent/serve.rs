//! The clients of the agent: who may connect, and how long each may keep a thread.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use millstream_shm::{Listener, Socket};
use rustix::net::{SocketFlags, accept_with};
use zeroize::Zeroizing;

use super::protocol::Agent;

/// The most clients at a time. Each has a thread.
const MOST_CLIENTS: usize = 64;

/// The most bytes of a message, as OpenSSH's agent takes them.
const MOST_BYTES: usize = 256 << 10;

/// The longest time for the rest of a message that began, and for a client to take its answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serves clients of this user, and of root, until the process ends.
///
/// # Errors
/// The system's, when no more connections can be accepted.
pub fn serve(listener: &Listener, agent: &Arc<Agent>) -> io::Result<()> {
    let own = rustix::process::geteuid().as_raw();
    let clients = Arc::new(AtomicUsize::new(0));
    loop {
        let accepted = match accept_with(listener.as_fd(), SocketFlags::CLOEXEC) {
            Ok(accepted) => accepted,
            Err(rustix::io::Errno::INTR | rustix::io::Errno::CONNABORTED) => continue,
            Err(error) => return Err(error.into()),
        };
        let client = Socket::received(accepted);
        let may = client.peer().is_ok_and(|peer| peer.uid == own || peer.uid == 0);
        if !may || clients.fetch_add(1, Ordering::AcqRel) >= MOST_CLIENTS {
            if may {
                clients.fetch_sub(1, Ordering::AcqRel);
            }
            continue;
        }
        let (agent, clients) = (Arc::clone(agent), Arc::clone(&clients));
        let descriptor = client.duplicate();
        drop(client);
        let thread = std::thread::Builder::new().name("client".into());
        let left = Arc::clone(&clients);
        let started = thread.spawn(move || {
            // A client that breaks off ends its own thread alone.
            let _ = descriptor.and_then(|descriptor| attend(descriptor, &agent));
            left.fetch_sub(1, Ordering::AcqRel);
        });
        if started.is_err() {
            clients.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Answers a client until it closes.
fn attend(descriptor: OwnedFd, agent: &Agent) -> io::Result<()> {
    let mut client = UnixStream::from(descriptor);
    client.set_write_timeout(Some(PATIENCE))?;
    loop {
        client.set_read_timeout(None)?;
        let mut len = [0; 4];
        if client.read(&mut len[..1])? == 0 {
            return Ok(());
        }
        client.set_read_timeout(Some(PATIENCE))?;
        client.read_exact(&mut len[1..])?;
        let len = u32::from_be_bytes(len) as usize;
        if len == 0 || len > MOST_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut message = Zeroizing::new(vec![0; len]);
        client.read_exact(&mut message)?;
        let answer = agent.answer(&message, std::thread::sleep);
        let whole = [&(answer.len() as u32).to_be_bytes()[..], &answer].concat();
        client.write_all(&whole)?;
    }
}
