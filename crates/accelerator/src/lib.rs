//! The accelerator: takes control words from queues, fills lanes, runs engines, posts completions.
//!
//! Three things can be used on their own. An [`Operation`] describes one piece of work over borrowed bytes. A
//! [`Unit`] executes any number of them, those of one kind side by side. An [`Accelerator`] makes operations
//! from the control words of its queues, over the arena and the keys of each queue's grant: it checks
//! every word before it believes it, and a malformed one harms nobody but its own queue.
//!
//! An accelerator has two sub-units in mind, as its ancestors had: cipher and hash, which [`Unit`] is, and
//! modular arithmetic, which will take its place beside it. Nothing here makes a system call or asks a clock.
#![deny(unsafe_code)]

mod accelerator;
mod algorithms;
mod alone;
mod arena;
mod bounds;
mod check;
mod combined;
mod cost;
mod grant;
mod held;
mod kept;
mod key;
mod long;
mod moving;
mod operands;
mod operation;
mod purpose;
mod queue;
mod run;
mod sealer;
mod sink;
mod slab;
mod sleep;
mod slots;
mod stage;
mod staging;
mod stats;
mod status;
mod take;
mod trace;
mod turn;
mod unit;
mod visit;
mod wipe;
mod word_keys;
mod work;

pub use accelerator::{Accelerator, FlushPolicy};
pub use algorithms::{algorithm_of, hash_of};
pub use arena::{Arena, LocalArena};
pub use bounds::Turns;
pub use check::MAX_PIECES;
pub use grant::{GrantConfig, GrantId, MovedQueue, Position, QueueId, Released};
pub use kept::{KeyMemory, SharedKeyMemory};
pub use key::{AeadKey, CipherKey, Key, KeyRef, MacKey};
pub use long::{MOST_OPENED, Reserve};
pub use operation::Operation;
pub use purpose::{NonceCounter, Nonces, Purpose};
pub use slots::{ExportError, Handle, InsertError, KeySlots, MovedKey, MovedSlot, PreparedKey, SlotsFull};
pub use stats::{Filled, QueueStats};
pub use status::status_of;
pub use unit::Unit;
pub use work::Checksum;
