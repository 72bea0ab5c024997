//! The parts that a worker needs to serve a grant, and its reasons to refuse one.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use millstream_accelerator::{GrantConfig, InsertError, SharedKeyMemory, UseLimit, UseLimits};
use millstream_cwq::ring::{Corrupt, Producer};
use millstream_cwq::{AlgorithmSet, Completion};
use millstream_protocol::{Grant, KeyRules, STATE_BYTES};
use millstream_shm::{Doorbell, Mapping, Memory, Rings, Socket, Words, plain};

use super::memory::{Hand, SharedArena};
use super::presigning::Presigning;

/// The most keys a grant may hold: handles have no more numbers.
const MOST_SLOTS: u32 = 1 << 16;

/// Why an order was not obeyed.
#[derive(Debug)]
pub(super) enum Refused {
    Message(millstream_protocol::Error),
    Received(io::Error),
    Descriptors { given: usize, needed: usize },
    Memory { what: &'static str, why: io::Error },
    TooSmall { what: &'static str, bytes: usize, needed: usize },
    Limits,
    Known(u64),
    Unknown(u64),
    Rings(Corrupt),
    Doorbell(io::Error),
    KeySocket(io::Error),
    KeyMemory { slots: u32 },
    Keys(InsertError),
    HandOver(&'static str),
    Peer(io::Error),
    Ended,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Message(error) => write!(f, "the order was not understood: {error}"),
            Refused::Received(error) => write!(f, "the order did not arrive whole: {}", plain(error)),
            Refused::Descriptors { given, needed } => {
                write!(f, "{given} descriptors came with the order, and {needed} are needed")
            }
            Refused::Memory { what, why } => write!(f, "the {what} can't be mapped: {}", plain(why)),
            Refused::TooSmall { what, bytes, needed } => {
                write!(f, "the {what} has {bytes} bytes, and the grant needs {needed}")
            }
            Refused::Limits => {
                f.write_str("the grant's queues, depth, arena or key slots are none that can be served")
            }
            Refused::Known(grant) => write!(f, "grant {grant} is served here already"),
            Refused::Unknown(grant) => write!(f, "grant {grant} is not served here"),
            Refused::Rings(error) => error.fmt(f),
            Refused::Doorbell(error) => write!(f, "the doorbell can't be waited for: {}", plain(error)),
            Refused::KeySocket(error) => write!(f, "the key socket can't be waited for: {}", plain(error)),
            Refused::KeyMemory { slots } => write!(
                f,
                "the memory for keys has no room for {slots} key slots: ask for fewer, or raise --key-memory and LimitMEMLOCK of the service"
            ),
            Refused::Keys(error) => write!(f, "a key of the grant can't be kept here: {error}"),
            Refused::HandOver(what) => write!(f, "the other worker did not hand the grant over: {what}"),
            Refused::Peer(error) => {
                write!(f, "the other worker does not listen, or says nothing: {}", plain(error))
            }
            Refused::Ended => f.write_str("the accelerator has ended"),
        }
    }
}

/// One queue's memory: control words, completions, and the completions again for the word that its client sleeps on.
pub(super) struct Queue {
    pub(super) submissions: Words,
    pub(super) completions: Words,
    pub(super) sleeper: Producer<Words, { Completion::WORDS }>,
}

/// A grant's memory, checked against what was granted.
pub(super) struct Parts {
    pub(super) grant: Grant,
    pub(super) arena: SharedArena,
    pub(super) queues: Vec<Queue>,
    pub(super) doorbell: Doorbell,
    /// The key socket; of a grant that moves the one to the other worker.
    pub(super) socket: Option<Socket>,
    /// Kept so that the last owner of a mapping is the control thread, which unmaps.
    pub(super) mappings: [Arc<Mapping>; 3],
}

impl Parts {
    /// Maps the five descriptors that come with a grant, and keeps the page in which is shown whose arena is touched.
    pub(super) fn new(
        grant: Grant,
        descriptors: Vec<OwnedFd>,
        progress: Option<Words>,
    ) -> Result<Self, Refused> {
        let given = descriptors.len();
        let [arena, rings, state, doorbell, socket] =
            descriptors.try_into().map_err(|_| Refused::Descriptors { given, needed: 5 })?;
        let layout = Rings::new(grant.queues, grant.depth).ok_or(Refused::Limits)?;
        if grant.arena_bytes == 0 || grant.key_slots > MOST_SLOTS || grant.id == u64::MAX {
            return Err(Refused::Limits);
        }
        let state = received("state page", state, STATE_BYTES)?;
        let state = Mapping::read_only(&state).map_err(|why| Refused::Memory { what: "state page", why })?;
        let arena = map("arena", received("arena", arena, grant.arena_bytes as usize)?)?;
        let rings = map("memory of the rings", received("memory of the rings", rings, layout.bytes())?)?;
        let mappings = [arena.clone(), rings.clone(), state.clone()];
        let hand = Hand::new(grant.id, state.words(0, 1).ok_or(Refused::Limits)?, progress);
        let arena = SharedArena::new(arena, grant.arena_bytes, hand).ok_or(Refused::Limits)?;
        let queues = (0..grant.queues).map(|queue| {
            let of = |(at, words)| rings.words(at, words).ok_or(Refused::Limits);
            let (submissions, completions) = (of(layout.submissions(queue))?, of(layout.completions(queue))?);
            let sleeper = Producer::new(completions.clone()).map_err(Refused::Rings)?;
            Ok(Queue { submissions, completions, sleeper })
        });
        let queues = queues.collect::<Result<_, Refused>>()?;
        let (doorbell, socket) = (Doorbell::received(doorbell), Some(Socket::received(socket)));
        Ok(Parts { grant, arena, queues, doorbell, socket, mappings })
    }
}

/// Returns what an accelerator is told of a grant.
pub(super) fn config(grant: &Grant, memory: &SharedKeyMemory, presigning: Presigning) -> GrantConfig {
    GrantConfig {
        key_slots: grant.key_slots as usize,
        algorithms: AlgorithmSet::from_bits(grant.algorithms),
        key_memory: Some(memory.clone()),
        label: grant.id,
        presigns: presigning.permits(&grant.keys),
    }
}

/// Returns the limits on the uses of a grant's keys.
pub(super) fn use_limits(rules: &KeyRules) -> UseLimits {
    UseLimits {
        key: UseLimit { per_second: rules.key_uses_per_s, total: rules.key_uses },
        grant: UseLimit { per_second: rules.uses_per_s, total: rules.uses },
    }
}

/// Memory that came from the broker, of at least that many bytes.
fn received(what: &'static str, descriptor: OwnedFd, needed: usize) -> Result<Memory, Refused> {
    let memory = Memory::received(descriptor).map_err(|why| Refused::Memory { what, why })?;
    if memory.len() < needed {
        return Err(Refused::TooSmall { what, bytes: memory.len(), needed });
    }
    Ok(memory)
}

fn map(what: &'static str, memory: Memory) -> Result<Arc<Mapping>, Refused> {
    Mapping::shared(&memory).map_err(|why| Refused::Memory { what, why })
}
