//! The layout of a grant's memory. Both sides compute it from the same few numbers.

use millstream_cwq::{Completion, ControlWord, ring};

/// The bytes in front of each buffer in an arena: a cache line for an initialisation vector and one for a
/// tag.
pub const BUFFER_HEAD: usize = 128;

/// The bytes of associated data that a queue has room for, for each operation in flight.
pub const AAD_BYTES: usize = 128;

/// The bytes that a queue keeps beside that for a mid-state, for each operation in flight.
pub const STATE_PLACE_BYTES: usize = ControlWord::STATE_BYTES as usize;

/// Returns what a buffer of `len` bytes takes of an arena, which is handed out in powers of two.
pub const fn buffer_bytes(len: usize) -> usize {
    (BUFFER_HEAD + len).next_power_of_two()
}

/// Rings begin on pages of their own.
const PAGE: usize = 4096;

/// The rings of a grant. Each queue has one for control words and one for completions, both twice as deep as
/// the queue, so that there is always room to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rings {
    queues: usize,
    capacity: usize,
}

impl Rings {
    /// Lays out the rings for a number of queues of one depth. Returns none when the depth is no power of
    /// two, or when either number is too large.
    pub fn new(queues: u32, depth: u32) -> Option<Self> {
        let (queues, capacity) = (queues as usize, 2 * depth as usize);
        let fits = (1..=1024).contains(&queues) && depth.is_power_of_two() && depth <= 1 << 16;
        fits.then_some(Rings { queues, capacity })
    }

    /// Returns the bytes of all rings.
    pub fn bytes(&self) -> usize {
        self.queues * self.queue_bytes()
    }

    fn submission_words(&self) -> usize {
        ring::words::<{ ControlWord::WORDS }>(self.capacity)
    }

    fn completion_words(&self) -> usize {
        ring::words::<{ Completion::WORDS }>(self.capacity)
    }

    fn queue_bytes(&self) -> usize {
        (8 * self.submission_words()).next_multiple_of(PAGE)
            + (8 * self.completion_words()).next_multiple_of(PAGE)
    }

    /// Returns where the control words of a queue lie: the offset in bytes, and the number of words.
    pub fn submissions(&self, queue: u32) -> (usize, usize) {
        (queue as usize * self.queue_bytes(), self.submission_words())
    }

    /// Returns where the completions of a queue lie: the offset in bytes, and the number of words.
    pub fn completions(&self, queue: u32) -> (usize, usize) {
        let (at, words) = self.submissions(queue);
        (at + (8 * words).next_multiple_of(PAGE), self.completion_words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mapping, Memory};

    #[test]
    fn rings_lie_apart_and_inside() {
        let rings = Rings::new(3, 64).unwrap();
        let memory = Mapping::shared(&Memory::new("test", rings.bytes()).unwrap()).unwrap();
        let mut end = 0;
        for queue in 0..3 {
            for (at, words) in [rings.submissions(queue), rings.completions(queue)] {
                assert!(at >= end && at.is_multiple_of(PAGE));
                let words = memory.words(at, words).expect("inside");
                end = at + 8 * words.len();
            }
            let (at, words) = rings.completions(queue);
            let ring =
                ring::Producer::<_, { Completion::WORDS }>::new(memory.words(at, words).unwrap()).unwrap();
            assert_eq!(ring.capacity(), 128);
        }
        assert!(
            Rings::new(0, 64).is_none() && Rings::new(1, 3).is_none() && Rings::new(1, 1 << 17).is_none()
        );
    }
}
