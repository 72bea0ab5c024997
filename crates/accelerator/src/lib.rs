#![deny(unsafe_code)]
mod key;
mod operation;
mod unit;

pub use key::{AeadKey, CipherKey, Handle, Key, KeySlots, MacKey, SlotsFull, algorithm_of};
pub use operation::{Checksum, Operation};
pub use unit::Unit;
