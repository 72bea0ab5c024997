//! The socket in the file system: made, watched, and made again when somebody took it away.

use std::fs::{self, DirBuilder};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use millstream_shm::{Listener, Socket};
use rustix::fs::inotify;

use crate::disposal::Disposal;
use crate::process::has_run_out;

/// The pause before a socket that has gone is made again, so that whoever removes its directory can finish.
const SETTLE: Duration = Duration::from_millis(100);
/// The pause after a failed attempt.
const RETRY: Duration = Duration::from_secs(2);
/// The time for which nobody is let in when not even a descriptor to refuse with is left.
const PAUSE: Duration = Duration::from_millis(250);

/// A newcomer, or the reason why there is none.
pub(crate) enum Visitor {
    /// A client.
    Welcome(Socket),
    /// A client for whom there is no descriptor left. It can be told so, and that is all.
    Refused(Socket),
    /// There are no more newcomers.
    Nobody,
    /// Nobody can be let in or be told so: see [`Door::pause_until`].
    Closed,
}

/// The entrance for clients.
pub(crate) struct Door {
    /// None while it could not be bound again.
    listener: Option<Listener>,
    /// True to ask the kernel to refuse descriptors that clients send.
    refuse: bool,
    disposal: Disposal,
    path: PathBuf,
    /// A watch that tells when the socket or its directory is taken away; none where somebody else bound it.
    watch: Option<OwnedFd>,
    /// A descriptor to give up, so that a client can be refused when no other is left.
    spare: Option<OwnedFd>,
    /// The time at which to bind it again.
    pub(crate) restore_at: Option<Instant>,
    /// The time until which nobody is let in.
    pub(crate) pause_until: Option<Instant>,
}

impl Door {
    /// Binds a socket, for everybody or for this user only, or takes the one that was inherited. Where
    /// `refuse` is true, the kernel is asked to refuse descriptors that clients send.
    pub(crate) fn open(
        path: &Path,
        inherited: Option<OwnedFd>,
        for_all: bool,
        refuse: bool,
        disposal: &Disposal,
    ) -> io::Result<Self> {
        let mut door = Door {
            listener: None,
            refuse,
            disposal: disposal.clone(),
            path: path.to_owned(),
            watch: None,
            spare: Some(spare()?),
            restore_at: None,
            pause_until: None,
        };
        match inherited {
            Some(descriptor) => {
                rustix::io::ioctl_fionbio(&descriptor, true)?;
                rustix::io::fcntl_setfd(&descriptor, rustix::io::FdFlags::CLOEXEC)?;
                door.take(Listener::received(descriptor));
            }
            None => {
                door.watch =
                    Some(inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?);
                door.bind(for_all)?;
            }
        }
        Ok(door)
    }

    fn bind(&mut self, for_all: bool) -> io::Result<()> {
        let path = self.path.clone();
        let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
        if let Some(directory) = directory
            && !directory.exists()
        {
            DirBuilder::new().mode(if for_all { 0o755 } else { 0o700 }).create(directory)?;
        }
        let listener = Listener::bind_with_mode(&self.path, mode(for_all))?;
        rustix::io::ioctl_fionbio(&listener, true)?;
        self.take(listener);
        let Some(watch) = &self.watch else { return Ok(()) };
        // These events tell when the link to the socket goes or another takes its place. Watching everything
        // in the directory would cost time for what others do there.
        use inotify::WatchFlags;
        inotify::add_watch(watch, &self.path, WatchFlags::ATTRIB | WatchFlags::MOVE_SELF)?;
        let directory = directory.unwrap_or(Path::new("."));
        inotify::add_watch(watch, directory, WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF)?;
        Ok(())
    }

    fn take(&mut self, listener: Listener) {
        if self.refuse {
            // On kernels that can't, each connection is guarded.
            let _ = listener.refuse_descriptors();
        }
        self.listener = Some(listener);
    }

    /// Gives the listener up. Clients that have connected and were not let in may have sent descriptors.
    fn shut(&mut self) {
        let Some(listener) = self.listener.take() else { return };
        if listener.refuses_descriptors() {
            return;
        }
        if let Ok(descriptor) = listener.into_descriptor() {
            self.disposal.take(descriptor, None);
        }
    }

    /// Lets everybody connect, or this user only. The policy decides what they may have; this only keeps them
    /// from knocking.
    pub(crate) fn admit(&self, for_all: bool) -> io::Result<()> {
        self.listener.as_ref().map_or(Ok(()), |listener| listener.set_mode(mode(for_all)))
    }

    pub(crate) fn listener(&self) -> Option<BorrowedFd<'_>> {
        self.listener.as_ref().map(AsFd::as_fd)
    }

    pub(crate) fn watch(&self) -> Option<BorrowedFd<'_>> {
        self.watch.as_ref().map(AsFd::as_fd)
    }

    /// Lets the next client in.
    pub(crate) fn accept(&mut self) -> io::Result<Visitor> {
        let Some(listener) = &self.listener else { return Ok(Visitor::Nobody) };
        match listener.accept() {
            Ok(socket) => return Ok(Visitor::Welcome(socket)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Visitor::Nobody),
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => return Ok(Visitor::Nobody),
            Err(error) if has_run_out(&error) => {}
            Err(error) => return Err(error),
        }
        self.spare = None;
        match listener.accept() {
            Ok(socket) => Ok(Visitor::Refused(socket)),
            // The system wants a descriptor before it looks whether anybody is there.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.take_spare();
                Ok(Visitor::Nobody)
            }
            Err(_) => {
                self.pause();
                Ok(Visitor::Closed)
            }
        }
    }

    /// Lets nobody in for a moment.
    pub(crate) fn pause(&mut self) {
        self.pause_until = Some(Instant::now() + PAUSE);
    }

    /// Opens a spare descriptor again, after a refusal used it up.
    pub(crate) fn take_spare(&mut self) {
        if self.spare.is_none() {
            self.spare = spare().ok();
        }
    }

    /// Handles an event at the socket or its directory. Returns true when the socket is out of place and is
    /// to be made again soon.
    pub(crate) fn look(&mut self) -> bool {
        let Some(watch) = &self.watch else { return false };
        let mut space = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(watch, &mut space);
        while events.next().is_ok() {}
        let in_place = self.listener.as_ref().is_some_and(Listener::is_in_place);
        if in_place || self.restore_at.is_some() {
            return false;
        }
        self.restore_at = Some(Instant::now() + SETTLE);
        true
    }

    /// Binds it again. The old listener must not be waited for any more.
    pub(crate) fn restore(&mut self, for_all: bool) -> io::Result<()> {
        self.restore_at = None;
        self.shut();
        let bound = self.bind(for_all);
        if bound.is_err() {
            self.shut();
            self.restore_at = Some(Instant::now() + RETRY);
        }
        bound
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.shut();
    }
}

/// Returns the socket's mode, for everybody or for this user only.
fn mode(for_all: bool) -> u32 {
    if for_all { 0o666 } else { 0o600 }
}

fn spare() -> io::Result<OwnedFd> {
    Ok(fs::File::open("/dev/null")?.into())
}
