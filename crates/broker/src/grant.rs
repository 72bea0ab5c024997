//! One grant: its memory, its holder, and its end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::Instant;

use millstream_cwq::ring::SLEEP_WORD;
use millstream_protocol::{Grant as Terms, KEY_PIECE_BYTES, KEY_SLOT_BYTES, STATE_BYTES, STATE_LIVE};
use millstream_shm::{
    AAD_BYTES, Doorbell, Mapping, Memory, Rings, STATE_PLACE_BYTES, Socket, Words, buffer_bytes, sleep,
};

use crate::identity::Peer;
use crate::ledger::{Amounts, Resource};
use crate::link::Shared;
use crate::policy::Size;
use crate::shown::Shown;
use crate::totals::Work;

/// Returns the bytes of arena for a grant of that size: what was asked for, and the room that its queues keep
/// for themselves. Returns none where 32-bit offsets could not reach it all.
pub(crate) fn arena_bytes(size: &Size) -> Option<u32> {
    let places: usize = [AAD_BYTES, STATE_PLACE_BYTES].into_iter().map(buffer_bytes).sum();
    let own = u64::from(size.queues) * u64::from(size.depth) * places as u64;
    let all = (own + u64::from(size.arena_bytes)).next_multiple_of(4096);
    u32::try_from(all).ok()
}

/// Returns what a grant is charged while it is made. A part of it is freed when the client has the grant: see
/// [`KEY_SOCKET`].
pub(crate) fn charge(terms: &Terms) -> Option<Amounts> {
    let rings = Rings::new(terms.queues, terms.depth)?.bytes() as u64;
    Some(Amounts::new(&[
        (Resource::Grants, 1),
        (Resource::Descriptors, 5 + KEY_SOCKET.get(Resource::Descriptors)),
        (Resource::Queues, terms.queues.into()),
        (Resource::Memory, u64::from(terms.arena_bytes) + rings.next_multiple_of(4096) + STATE_BYTES as u64),
        (
            Resource::KeyMemory,
            (u64::from(terms.key_slots) * KEY_SLOT_BYTES).next_multiple_of(KEY_PIECE_BYTES),
        ),
        (Resource::Orders, 1),
    ]))
}

/// The descriptors of the key socket, which are closed once a grant was handed out.
pub(crate) const KEY_SOCKET: Amounts = Amounts::new(&[(Resource::Descriptors, 2)]);
/// The one of them that remains where the broker holds the worker's end until the worker has let go.
pub(crate) const KEY_END: Amounts = Amounts::new(&[(Resource::Descriptors, 1)]);

/// The memory and doorbell that client and worker share. The broker maps the state page, which nobody else
/// can write to.
pub(crate) struct Shares {
    arena: Arc<Memory>,
    rings: Arc<Memory>,
    page: Arc<Memory>,
    doorbell: Arc<Doorbell>,
    state: Words,
    layout: Rings,
    queues: u32,
}

impl Shares {
    /// Makes new memory, all zero, which the system has yet to give: see
    /// [`What::Take`](crate::errands::What::Take).
    ///
    /// # Errors
    /// The system's: memory or descriptors have run out.
    pub(crate) fn new(terms: &Terms) -> io::Result<Self> {
        let layout = Rings::new(terms.queues, terms.depth).ok_or(io::ErrorKind::InvalidInput)?;
        let arena = Memory::new("millstream arena", terms.arena_bytes as usize)?;
        let rings = Memory::new("millstream rings", layout.bytes())?;
        let page = Memory::new("millstream state", STATE_BYTES)?;
        let state = Mapping::shared(&page)?.words(0, 1).ok_or(io::ErrorKind::InvalidInput)?;
        state[0].store(STATE_LIVE, Ordering::Release);
        arena.seal()?;
        rings.seal()?;
        page.seal_writing()?;
        Ok(Shares {
            arena: Arc::new(arena),
            rings: Arc::new(rings),
            page: Arc::new(page),
            doorbell: Arc::new(Doorbell::new()?),
            state,
            layout,
            queues: terms.queues,
        })
    }

    /// Returns the descriptors that go with a message, in order. The last is a key socket, or one for handing
    /// over.
    pub(crate) fn descriptors(&self, last: Socket) -> Vec<Shared> {
        vec![self.arena.clone(), self.rings.clone(), self.page.clone(), self.doorbell.clone(), Arc::new(last)]
    }

    /// Returns the parts that can be large: the arena and the rings.
    pub(crate) fn memory(&self) -> [Arc<Memory>; 2] {
        [self.arena.clone(), self.rings.clone()]
    }

    /// Tells the client that the grant is over. Those who wait for completions are still to be woken, with
    /// the result.
    pub(crate) fn end(&self, state: u64) -> Sleepers {
        self.state[0].store(state, Ordering::Release);
        Sleepers { rings: self.rings.clone(), layout: self.layout, queues: self.queues }
    }
}

/// The threads that sleep until a completion of a grant. They sleep on memory that its client can change as it
/// likes.
pub(crate) struct Sleepers {
    rings: Arc<Memory>,
    layout: Rings,
    queues: u32,
}

impl Sleepers {
    /// Wakes them. This takes as long as the client likes.
    ///
    /// # Errors
    /// The system's: no memory.
    pub(crate) fn wake(&self) -> io::Result<()> {
        // Pairs with the fence of a client that goes to sleep: either it sees the state, or it is seen asleep
        // here.
        fence(Ordering::SeqCst);
        let rings = Mapping::shared(&self.rings)?;
        for queue in 0..self.queues {
            let (at, count) = self.layout.completions(queue);
            let Some(words) = rings.words(at, count) else { continue };
            words[SLEEP_WORD].store(0, Ordering::SeqCst);
            sleep::wake(&words[SLEEP_WORD]);
        }
        Ok(())
    }
}

/// The progress of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The memory is being taken from the system. No worker was told.
    Preparing,
    /// The worker was told and has not answered.
    Serving,
    /// The grant is in use.
    Live,
    /// The grant is on its way to another worker. The flags tell which side has answered.
    Moving { to: usize, released: bool, adopted: bool },
    /// The worker was told to drop it.
    Ending,
}

/// A grant.
pub(crate) struct Grant {
    pub(crate) terms: Terms,
    /// The client's name for itself.
    pub(crate) name: Shown,
    pub(crate) peer: Peer,
    /// The connection that the grant lives as long as.
    pub(crate) client: u64,
    /// The worker that has it.
    pub(crate) worker: usize,
    pub(crate) since: Instant,
    pub(crate) shares: Shares,
    pub(crate) phase: Phase,
    /// The worker's end of the key socket, until the worker is told.
    pub(crate) worker_end: Option<Socket>,
    /// The client's end, until it is sent.
    pub(crate) key_end: Option<Socket>,
    /// The inode of the worker's end.
    pub(crate) key_inode: u64,
    /// The connections that wait for it to be moved, or to end.
    pub(crate) askers: Vec<u64>,
    /// The work in its worker's last report.
    pub(crate) counted: Work,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_have_room_of_their_own_beside_what_was_asked_for() {
        let size = Size { queues: 2, depth: 16, arena_bytes: 10_000, key_slots: 1 };
        assert_eq!(arena_bytes(&size), Some((10_000 + 32 * (256 + 512_u32)).next_multiple_of(4096)));
        assert_eq!(arena_bytes(&Size { arena_bytes: u32::MAX, ..size }), None);
    }

    #[test]
    fn sleepers_wake_at_the_end() {
        let terms = Terms { queues: 3, depth: 16, arena_bytes: 4096, ..Terms::default() };
        let shares = Shares::new(&terms).unwrap();
        let rings = Mapping::shared(&shares.rings).unwrap();
        let page = Mapping::read_only(&shares.page).unwrap().words(0, 1).unwrap();
        let (at, count) = shares.layout.completions(2);
        let words = rings.words(at, count).unwrap();
        words[SLEEP_WORD].store(1, Ordering::SeqCst);
        let begin = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| sleep::wait(&words[SLEEP_WORD], 1, std::time::Duration::from_secs(30)));
            std::thread::sleep(std::time::Duration::from_millis(30));
            shares.end(millstream_protocol::STATE_REVOKED).wake().unwrap();
        });
        assert!(begin.elapsed() < std::time::Duration::from_secs(20));
        assert_eq!(page[0].load(Ordering::Acquire), millstream_protocol::STATE_REVOKED);
    }
}
