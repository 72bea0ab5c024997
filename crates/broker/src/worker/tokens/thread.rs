//! The vault's thread: it does what takes long, one thing at a time. To try a PIN takes a tenth of a second and 64 MiB by design, to make a key of RSA takes
//! seconds; neither the accelerator nor who asks about other keys is to wait for that. The thread gives way to both others.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use millstream_protocol::KeyRefusal;
use millstream_shm::{Doorbell, wipe_stack};
use millstream_store::vault::{LocalSession, Records};
use millstream_store::{Attributes, Error};

use super::keys::Secret;

/// The measure in which this thread gives way to the others, as `nice` has it.
const NICE: i32 = 10;

/// The outcome of a piece of work.
pub(super) enum Outcome {
    /// The PIN was tried; none where it was wrong.
    Tried(Result<Option<Box<LocalSession>>, Error>),
    /// A token was made, or its PIN was wrapped anew.
    Records(Result<Records, Error>),
    /// A key is ready to be sealed.
    Key(Result<Box<(Attributes, Secret)>, KeyRefusal>),
}

/// A piece of work.
pub(super) type Work = Box<dyn FnOnce() -> Outcome + Send>;

/// The control thread's side.
pub(super) struct Thread {
    send: Sender<(u64, Work)>,
    shared: Arc<Shared>,
}

struct Shared {
    done: Mutex<Vec<(u64, Outcome)>>,
    bell: Doorbell,
}

/// The thread's own side.
pub(in super::super) struct Body {
    receive: Receiver<(u64, Work)>,
    shared: Arc<Shared>,
    wipes: bool,
}

/// Makes both sides. The stack is wiped after each piece of work if it can be read from outside.
pub(super) fn sides(bell: Doorbell, wipes: bool) -> (Thread, Body) {
    let (send, receive) = channel();
    let shared = Arc::new(Shared { done: Mutex::default(), bell });
    (Thread { send, shared: shared.clone() }, Body { receive, shared, wipes })
}

impl Thread {
    /// Passes work on.
    pub(super) fn begin(&self, ticket: u64, work: Work) {
        // The thread ends with the process.
        let _ = self.send.send((ticket, work));
    }

    /// Returns what was done since the last call.
    pub(super) fn done(&self) -> Vec<(u64, Outcome)> {
        std::mem::take(&mut *self.shared.done.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn bell(&self) -> &Doorbell {
        &self.shared.bell
    }
}

impl Body {
    /// Has the calling thread give way to the others. It can't once it is confined.
    pub(in super::super) fn give_way(&self) {
        // A thread that may not is as important as the others, and still the only one of its kind.
        let _ = rustix::process::setpriority_process(None, NICE);
    }

    /// Works until the process ends.
    pub(in super::super) fn run(self) -> ! {
        while let Ok((ticket, work)) = self.receive.recv() {
            let outcome = work();
            self.shared.done.lock().unwrap_or_else(PoisonError::into_inner).push((ticket, outcome));
            if self.wipes {
                wipe_stack();
            }
            self.shared.bell.ring();
        }
        // The control thread has ended, and the process is about to. This thread may neither close the doorbell nor end.
        loop {
            thread::park();
        }
    }
}
