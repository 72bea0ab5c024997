//! The accelerator: takes control words from queues, fills lanes, runs engines, posts completions.
//!
//! Three things can be used on their own. An [`Operation`] describes one piece of work over borrowed bytes. A
//! [`Unit`] executes any number of them, those of one kind side by side. An [`Accelerator`] makes operations
//! from the control words of its queues, over the arena and the keys of each queue's grant: it checks
//! every word before it believes it, and a malformed one harms nobody but its own queue.
//!
//! The accelerators of Sun's processors had two sub-units each, one for ciphers and hashes and one for modular arithmetic. [`Unit`] is
//! both: `pairs` is the second. Nothing here makes a system call or reads a clock.
//!
//! The files follow a word through the pipeline: `take` takes it from its queue (a `HeldWord`), `check` makes a `CheckedWord`
//! of it, `operands` finds its bytes and makes an [`Operation`], `stage` copies them where that is needed, `run` executes.
//! `algorithms` lists all algorithms; to add one is to add a row there.
#![cfg_attr(not(feature = "ff1"), allow(unreachable_code, reason = "without FF1 no key of it can exist"))]
#![deny(unsafe_code)]

mod accelerator;
mod algorithms;
mod alike;
mod alone;
mod arena;
mod bounds;
mod check;
mod combined;
mod cost;
mod engines;
mod explain;
mod generate;
mod generator;
mod grant;
mod held;
mod jobs;
mod kept;
mod key;
mod limiting;
mod limits;
mod long;
mod moving;
mod operands;
mod operation;
mod pair_operations;
mod pairs;
mod presign;
mod purpose;
mod queue;
mod run;
mod runs;
mod sealer;
mod sets;
mod shape;
mod sink;
mod slab;
mod sleep;
mod slot_errors;
mod slots;
mod source;
mod stage;
mod staging;
mod stats;
mod status;
mod take;
mod trace;
mod turn;
mod unit;
mod uses;
mod visit;
mod way;
mod wipe;
#[cfg(not(feature = "ff1"))]
mod without_ff1;
mod word_keys;
mod work;

pub use accelerator::{Accelerator, FlushPolicy};
pub use algorithms::{algorithm_of, given_by, hash_of, is_long_result};
pub use arena::{Arena, LocalArena, copy};
pub use bounds::Turns;
pub use check::MAX_PIECES;
pub use explain::explain;
pub use generate::generate_key;
pub use generator::Generator;
pub use grant::{GrantConfig, GrantId, MovedQueue, Position, QueueId, Released};
pub use kept::{KeyMemory, SharedKeyMemory};
pub use key::{AeadKey, CipherKey, Key, KeyRef, MacKey, PrivateKey};
pub use limits::{UseLimit, UseLimits};
pub use long::{MOST_OPENED, Reserve};
pub use operation::Operation;
pub use pairs::{
    DecryptionScheme, MlDsaInput, Presignatures, SignatureScheme, VerifyingKey, VerifyingKeyRef, Watch,
};
pub use purpose::{NonceCounter, Nonces, Purpose};
pub use sets::{algorithm_of_slh_dsa, slh_dsa_set};
pub use slot_errors::{ExportError, InsertError, SlotsFull};
pub use slots::{Handle, KeySlots, MovedKey, MovedSlot, PreparedKey};
pub use source::{FillRandom, UnitRandom};
pub use stats::{Filled, QueueStats};
pub use status::status_of;
pub use unit::Unit;
pub use way::{Way, WayError};
pub use work::Checksum;

/// The source of random bytes that [`generate_key`] takes, and the error with which it fails.
pub use millstream_publickey::{Error as PublicKeyError, Random};
