//! How a row becomes somebody's: many look for theirs at once, and take the first that is free.
//!
//! The model checker runs this file as well: `crates/cwq/tests/loom_tally.rs` includes it, with its own atomics in place of those
//! of `crate::sync`.

use crate::sync::{AtomicU64, Ordering, spin_loop};

/// Where in a row its state is, and from where on it says what it is for.
pub(super) const STATE: usize = 0;
pub(super) const NAMES: usize = 3;

/// States of a row: who claims it goes from the first to the second, writes the names, and goes to the third.
pub(super) const FREE: u64 = 0;
pub(super) const CLAIMED: u64 = 1;
pub(super) const READY: u64 = 2;

/// How often somebody else's claim is looked at again before another row is taken: far longer than to write two names
/// takes. Who died half way loses this row for all, and who is only slow makes two rows of one, which whoever reads
/// them adds up.
const PATIENCE: u32 = if cfg!(any(miri, loom)) { 2 } else { 1000 };

/// The first of the rows that is for this, or that is free and now is; none where all are somebody else's.
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

/// Its state, after a while when it is being claimed.
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

/// Takes a free row, unless somebody else is faster.
pub(super) fn claim(row: &[AtomicU64], names: &[u64]) -> bool {
    if row[STATE].compare_exchange(FREE, CLAIMED, Ordering::Acquire, Ordering::Relaxed).is_err() {
        return false;
    }
    for (word, &value) in row[NAMES..].iter().zip(names) {
        word.store(value, Ordering::Relaxed);
    }
    // Pairs with the acquire of who looks at the state: who sees it ready sees the names.
    row[STATE].store(READY, Ordering::Release);
    true
}

/// What a row that is ready is for.
pub(super) fn names<const N: usize>(row: &[AtomicU64]) -> [u64; N] {
    std::array::from_fn(|at| row[NAMES + at].load(Ordering::Relaxed))
}
