//! Claiming a row. Many processes look for theirs at once, and each takes the first that is free.
//!
//! The model checker runs this file as well: `crates/cwq/tests/loom_tally.rs` includes it with its own
//! atomics in place of those of `crate::sync`.

use crate::sync::{AtomicU64, Ordering, spin_loop};

/// The offsets of the state and of the names within a row.
pub(super) const STATE: usize = 0;
pub(super) const NAMES: usize = 3;

/// The states of a row. A claimer moves it from the first to the second, writes the names, and moves it to
/// the third.
pub(super) const FREE: u64 = 0;
pub(super) const CLAIMED: u64 = 1;
pub(super) const READY: u64 = 2;

/// The number of times that another's claim is looked at before the next row is tried: far longer than
/// writing two names takes. A process that died half way costs everybody this row. One that is merely slow
/// gets two rows with the same names, which readers add up.
const PATIENCE: u32 = if cfg!(any(miri, loom)) { 2 } else { 1000 };

/// Returns the first row that has these names, or that was free and is now claimed for them. Returns none
/// where all rows have other names.
pub(super) fn row_of<'a, const N: usize>(
    rows: impl Iterator<Item = &'a [AtomicU64]>,
    wanted: &[u64; N],
) -> Option<&'a [AtomicU64]> {
    for row in rows {
        if row[STATE].load(Ordering::Acquire) == FREE && claim(row, wanted) {
            return Some(row);
        }
        if settled(row) == READY && *wanted == names(row) {
            return Some(row);
        }
    }
    None
}

/// Returns the state of a row, after giving a claim some time to finish.
fn settled(row: &[AtomicU64]) -> u64 {
    let mut state = row[STATE].load(Ordering::Acquire);
    for _ in 0..PATIENCE {
        if state != CLAIMED {
            break;
        }
        spin_loop();
        state = row[STATE].load(Ordering::Acquire);
    }
    state
}

/// Claims a free row. Returns false when somebody else was faster.
pub(super) fn claim(row: &[AtomicU64], names: &[u64]) -> bool {
    if row[STATE].compare_exchange(FREE, CLAIMED, Ordering::Acquire, Ordering::Relaxed).is_err() {
        return false;
    }
    for (word, &value) in row[NAMES..].iter().zip(names) {
        word.store(value, Ordering::Relaxed);
    }
    // Pairs with the acquire load of the state: whoever sees the row ready sees its names.
    row[STATE].store(READY, Ordering::Release);
    true
}

/// Reads the names of a row that is ready.
pub(super) fn names<const N: usize>(row: &[AtomicU64]) -> [u64; N] {
    std::array::from_fn(|at| row[NAMES + at].load(Ordering::Relaxed))
}
