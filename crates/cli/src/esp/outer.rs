//! The outer sockets that are open, each with the thread that reads from it.
//!
//! Packets take the sockets alone. Whoever opens and closes them takes the readers first, for as long as that lasts, so a port is free again when its socket
//! was closed.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;

use super::sockets::{Local, Socket};

/// The outer sockets that are open.
pub(super) struct Outer {
    sockets: RwLock<HashMap<Local, Arc<Socket>>>,
    readers: Mutex<HashMap<Local, JoinHandle<()>>>,
    /// The most that may be open.
    most: usize,
    hears_icmp: bool,
}

impl Outer {
    /// Makes one without a socket. With `hears_icmp` its sockets take what routers say.
    pub(super) fn new(most: usize, hears_icmp: bool) -> Self {
        Outer { sockets: RwLock::default(), readers: Mutex::default(), most, hears_icmp }
    }

    /// Hands the socket of a local end to `with`, if it is open. It stays open so long.
    pub(super) fn with<R>(&self, local: Local, with: impl FnOnce(&Socket) -> R) -> Option<R> {
        self.sockets().get(&local).map(|socket| with(socket))
    }

    /// Returns the number of sockets that are open.
    pub(super) fn count(&self) -> usize {
        self.sockets().len()
    }

    /// Begins to open and close sockets, which one thread does at a time.
    pub(super) fn change(&self) -> Change<'_> {
        Change { outer: self, readers: self.readers.lock().unwrap_or_else(PoisonError::into_inner) }
    }

    fn sockets(&self) -> RwLockReadGuard<'_, HashMap<Local, Arc<Socket>>> {
        self.sockets.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn sockets_mut(&self) -> RwLockWriteGuard<'_, HashMap<Local, Arc<Socket>>> {
        self.sockets.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to open and close sockets.
pub(super) struct Change<'o> {
    outer: &'o Outer,
    readers: MutexGuard<'o, HashMap<Local, JoinHandle<()>>>,
}

impl Change<'_> {
    /// Opens the socket of a local end, unless it is open. `start` starts the thread that reads from it up to [`Socket::end`].
    ///
    /// # Errors
    /// As for [`Socket::open`], and `QuotaExceeded` when there are too many.
    pub(super) fn open(
        &mut self,
        local: Local,
        start: impl FnOnce(Arc<Socket>) -> io::Result<JoinHandle<()>>,
    ) -> io::Result<()> {
        if self.readers.contains_key(&local) {
            return Ok(());
        }
        if self.readers.len() >= self.outer.most {
            let what = format!(
                "{} sockets are open, the most of this data plane; let associations share a port, or remove some",
                self.readers.len()
            );
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, what));
        }
        let socket = Arc::new(Socket::open(local, self.outer.hears_icmp)?);
        self.readers.insert(local, start(socket.clone())?);
        self.outer.sockets_mut().insert(local, socket);
        Ok(())
    }

    /// Closes all sockets but those that are used, and ends their threads. The caller holds no lock that these take.
    pub(super) fn close_unused(&mut self, used: &HashSet<Local>) {
        let unused: Vec<_> = self.readers.extract_if(|local, _| !used.contains(local)).collect();
        for (local, _) in &unused {
            if let Some(socket) = self.outer.sockets_mut().remove(local) {
                socket.end();
            }
        }
        for (_, thread) in unused {
            // Nobody is left to hear of a panic, and its packets are lost already.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    fn free() -> Local {
        let address = UdpSocket::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
        Local { address: address.ip(), port: Some(address.port()) }
    }

    #[test]
    fn a_socket_and_its_thread_end_when_they_are_not_used() {
        let outer = Outer::new(2, true);
        let ends = [free(), free()];
        let (count, counts) = std::sync::mpsc::channel();
        let start = |socket: Arc<Socket>| {
            let count = count.clone();
            std::thread::Builder::new().spawn(move || {
                while !socket.is_over() {
                    socket.wait().unwrap();
                }
                count.send(()).unwrap();
            })
        };
        let mut change = outer.change();
        for local in [ends[0], ends[1], ends[0]] {
            change.open(local, start).unwrap();
        }
        let third = free();
        assert_eq!(change.open(third, start).unwrap_err().kind(), io::ErrorKind::QuotaExceeded);
        assert_eq!(outer.count(), 2);
        change.close_unused(&HashSet::from([ends[1]]));
        counts.try_recv().unwrap();
        assert!(counts.try_recv().is_err());
        assert!(outer.with(ends[0], |_| ()).is_none() && outer.with(ends[1], |_| ()).is_some());
        // The port is free at once, for this data plane and for others.
        drop(UdpSocket::bind((ends[0].address, ends[0].port.unwrap())).unwrap());
        change.open(ends[0], start).unwrap();
        change.close_unused(&HashSet::new());
        assert_eq!((outer.count(), counts.try_iter().count()), (0, 2));
    }
}
