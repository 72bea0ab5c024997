//! Many claim rows of a tally at once, under every interleaving: the real source, with the model checker's atomics.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p millstream-cwq --release --test loom_tally`
#![cfg(loom)]
#![allow(dead_code)]

use loom::sync::Arc;
use loom::thread;

/// The atomics that rows are made of.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use loom::thread::yield_now as spin_loop;
}

#[path = "../../shm/src/tally/claim.rs"]
mod claim;

use sync::{AtomicU64, Ordering};

/// Adds up what the rows of a name have counted.
fn counted(rows: &[Vec<AtomicU64>], name: u64) -> u64 {
    let of_name = rows.iter().filter(|row| {
        row[claim::STATE].load(Ordering::Acquire) == claim::READY && claim::names::<2>(row) == [name, !name]
    });
    of_name.map(|row| row[1].load(Ordering::Relaxed)).sum()
}

fn rows(count: usize) -> Arc<Vec<Vec<AtomicU64>>> {
    let row = |_| (0..claim::NAMES + 2).map(|_| AtomicU64::new(0)).collect();
    Arc::new((0..count).map(row).collect())
}

/// Counts once for a name; it must find a row that is its own.
fn count(rows: &[Vec<AtomicU64>], name: u64) {
    let row = claim::row_of(rows.iter().map(Vec::as_slice), &[name, !name]).expect("a row is left");
    row[1].fetch_add(1, Ordering::Relaxed);
}

fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// Two that want the same row, and one of them another first: nothing is counted for another name or lost, and a row is never
/// seen with half a name.
#[test]
fn what_is_counted_at_once_is_counted_once() {
    check(|| {
        // One more than names: somebody slow makes two rows of one.
        let rows = rows(3);
        let other = rows.clone();
        let thread = thread::spawn(move || {
            count(&other, 1);
            count(&other, 2);
        });
        count(&rows, 2);
        // Whoever reads meanwhile finds whole names in rows that are ready.
        for row in rows.iter().filter(|row| row[claim::STATE].load(Ordering::Acquire) == claim::READY) {
            let [name, inverse] = claim::names::<2>(row);
            assert!(matches!(name, 1 | 2) && inverse == !name, "{name:x} {inverse:x}");
        }
        thread.join().unwrap();
        assert_eq!(counted(&rows, 1), 1);
        assert_eq!(counted(&rows, 2), 2);
    });
}
