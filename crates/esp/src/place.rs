//! The place where packets are computed: this thread, or a worker of the service, which holds the keys.

use std::sync::{Arc, Mutex, PoisonError};

use millstream::cwq::Status;
use millstream::isolated::{Accelerator, Attach, AttachError};
use millstream::queue::{Queue, Refusal, Request, Ticket};

use crate::description::KeyMaterial;
use crate::fate::Fate;
use crate::keys::{Bound, Keys};
use crate::suite::Suite;
use crate::task::{Kind, Task, run_here};

/// The place where keys are.
#[derive(Clone)]
pub enum Place {
    /// This process.
    Here,
    /// A worker of the service.
    Worker(Arc<Service>),
}

impl Place {
    /// Binds the keys of an association.
    ///
    /// # Errors
    /// As the engines' own `new`, and where the service is not there or has no room.
    pub fn bind(&self, suite: Suite, material: &KeyMaterial) -> Result<Keys, millstream::Error> {
        match self {
            Place::Here => Keys::here(suite, material),
            Place::Worker(service) => {
                let (number, accelerator) =
                    service.current().ok_or(millstream::Error::Queue(Refusal::Gone))?;
                Keys::in_worker(suite, material, (number, &accelerator))
            }
        }
    }

    /// Makes what computes on one thread.
    pub(crate) fn computer(&self) -> Computer {
        match self {
            Place::Here => Computer::Here,
            Place::Worker(service) => Computer::Worker { service: service.clone(), queue: None },
        }
    }
}

/// A grant of the service, or the lack of one after the service has ended.
pub struct Service {
    attach: Attach,
    state: Mutex<State>,
}

struct State {
    number: u64,
    accelerator: Option<Accelerator>,
}

impl Service {
    /// Attaches to the service.
    ///
    /// # Errors
    /// [`AttachError`].
    pub fn connect(attach: Attach) -> Result<Self, AttachError> {
        let accelerator = Some(attach.attach()?);
        Ok(Service { attach, state: Mutex::new(State { number: 1, accelerator }) })
    }

    /// Returns true if the grant has ended.
    pub fn is_lost(&self) -> bool {
        let state = self.lock();
        state
            .accelerator
            .as_ref()
            .is_none_or(|accelerator| !matches!(accelerator.state(), millstream::isolated::GrantState::Live))
    }

    /// Attaches again after the grant has ended. Keys that it had are gone, so they have to be bound again.
    ///
    /// # Errors
    /// [`AttachError`]; it may be tried again.
    pub fn reconnect(&self) -> Result<(), AttachError> {
        // Not under the lock: threads that compute find no grant meanwhile, and drop their packets.
        self.lock().accelerator = None;
        let accelerator = self.attach.attach()?;
        let mut state = self.lock();
        state.number += 1;
        state.accelerator = Some(accelerator);
        Ok(())
    }

    fn current(&self) -> Option<(u64, Accelerator)> {
        let state = self.lock();
        Some((state.number, state.accelerator.clone()?))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Computes tasks for one thread.
pub(crate) enum Computer {
    Here,
    Worker {
        service: Arc<Service>,
        /// A queue of the grant with this number.
        queue: Option<(u64, Box<Queue>)>,
    },
}

impl Computer {
    /// Executes tasks, whose keys are of the grant with this number or in this process. Each has its result in place.
    pub fn run(&mut self, tasks: &mut [Task<'_>], grants: &[Option<u64>]) {
        let Computer::Worker { service, queue } = self else { return run_here(tasks) };
        let current = service.current();
        let stale = queue.as_ref().map(|(number, _)| *number) != current.as_ref().map(|(number, _)| *number);
        if stale {
            // The old queue goes first, so that its grant can end.
            *queue = None;
            *queue =
                current.and_then(|(number, accelerator)| Some((number, Box::new(accelerator.queue().ok()?))));
        }
        let Some((number, queue)) = queue else {
            tasks.iter_mut().for_each(|task| task.result = Err(Fate::NoKey));
            return;
        };
        for (task, grant) in tasks.iter_mut().zip(grants) {
            if *grant != Some(*number) {
                task.result = Err(Fate::NoKey);
            }
        }
        run_there(queue, tasks);
    }
}

/// Has a worker execute tasks, as many at a time as the queue takes.
fn run_there(queue: &mut Queue, tasks: &mut [Task<'_>]) {
    let mut tickets: Vec<(Ticket, usize)> = Vec::with_capacity(tasks.len());
    for i in 0..tasks.len() {
        if tasks[i].result.is_err() {
            continue;
        }
        loop {
            match submit(queue, &tasks[i]) {
                Ok(ticket) => tickets.push((ticket, i)),
                Err(Refusal::Full | Refusal::ArenaFull) if queue.in_flight() > 0 => {
                    take_one(queue, tasks, &mut tickets);
                    continue;
                }
                Err(_) => tasks[i].result = Err(Fate::Service),
            }
            break;
        }
    }
    while take_one(queue, tasks, &mut tickets) {}
    for (_, i) in tickets {
        tasks[i].result = Err(Fate::Service);
    }
}

fn submit(queue: &mut Queue, task: &Task<'_>) -> Result<Ticket, Refusal> {
    let Bound::Worker(key) = task.key else { return Err(Refusal::Gone) };
    let mut source = queue.buffer(task.data.len())?;
    source.copy_from_slice(task.data);
    let (iv, aad, tag) = (task.iv.as_slice(), task.aad.as_slice(), task.tag.as_slice());
    let request = match task.kind {
        Kind::Mac => Request::mac(*key, source),
        Kind::Verify => Request::verify(*key, source, tag),
        kind => {
            let destination = queue.buffer(task.data.len())?;
            match kind {
                Kind::Seal => Request::seal(*key, iv, aad, source, destination),
                Kind::Open => Request::open_cut(*key, iv, aad, source, destination, tag, tag.len()),
                Kind::Encrypt => Request::encrypt(*key, iv, source, destination),
                _ => Request::decrypt(*key, iv, source, destination),
            }
        }
    };
    queue.submit(request).map_err(|refused| refused.why)
}

/// Waits for one task to end. Returns false when none is in flight.
fn take_one(queue: &mut Queue, tasks: &mut [Task<'_>], tickets: &mut Vec<(Ticket, usize)>) -> bool {
    let Some(done) = queue.wait() else { return false };
    let Some(at) = tickets.iter().position(|(ticket, _)| *ticket == done.ticket) else { return true };
    let task = &mut tasks[tickets.swap_remove(at).1];
    match done.result {
        Ok(()) => {
            if task.makes_tag() {
                task.set_tag(done.tag());
            }
            if let Some(output) = &done.buffers.destination {
                task.data.copy_from_slice(output);
            }
        }
        Err(Status::Authentication) => task.result = Err(Fate::Forged),
        Err(Status::Key) => task.result = Err(Fate::NoKey),
        Err(_) => task.result = Err(Fate::Service),
    }
    true
}
