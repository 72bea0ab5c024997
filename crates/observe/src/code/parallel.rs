//! A parallel map over many items, on all processors.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The largest number of threads. More are not worth their start.
const MOST_THREADS: usize = 8;

/// Applies `work` to each of `items` and returns the results in their order. A thread takes `batch` items at
/// once, and no thread is started for a single batch.
pub(super) fn map<T: Sync, R: Send>(items: &[T], batch: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let batches: Vec<&[T]> = items.chunks(batch.max(1)).collect();
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = batches.len().min(processors).min(MOST_THREADS);
    if threads < 2 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        while let Some((index, batch)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            batches.get(index).map(|batch| (index, batch))
        } {
            done.push((index, batch.iter().map(&work).collect::<Vec<R>>()));
        }
        done
    };
    let mut all = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(take)).collect();
        let mut all = take();
        for other in others {
            match other.join() {
                Ok(done) => all.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    all.sort_unstable_by_key(|(index, _)| *index);
    all.into_iter().flat_map(|(_, done)| done).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_what_they_are_of() {
        let items: Vec<usize> = (0..1000).collect();
        for batch in [0, 1, 7, 999, 1000, 5000] {
            assert_eq!(map(&items, batch, |item| item * 3), items.iter().map(|i| i * 3).collect::<Vec<_>>());
        }
        assert!(map(&[], 1, |item: &usize| *item).is_empty());
    }
}
