//! The parts that the schemes on module lattices share: room that is cleared, sponges side by side, a transposition.

pub(crate) mod side_by_side;
#[cfg(target_arch = "x86_64")]
pub(crate) mod transpose;
mod work;

pub(crate) use work::{Work, wipe};
