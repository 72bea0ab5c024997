//! How the memory of a grant is divided: both sides reckon it from the same few numbers.

use millstream_cwq::{Completion, ControlWord, ring};

/// Bytes before those of each buffer in an arena: a cache line for an initialisation vector and one for a tag.
pub const BUFFER_HEAD: usize = 128;

/// Bytes of associated data that a queue has a place for, for each operation in flight.
pub const AAD_BYTES: usize = 128;

/// Bytes of the place for a mid-state that it has beside that.
pub const STATE_PLACE_BYTES: usize = ControlWord::STATE_BYTES as usize;

/// What a buffer of that many bytes takes of an arena, which is handed out in powers of two.
pub const fn buffer_bytes(len: usize) -> usize {
    (BUFFER_HEAD + len).next_power_of_two()
}

/// Rings begin on pages of their own.
const PAGE: usize = 4096;

/// The rings of a grant: for each queue one for control words and one for completions, each twice as deep as the queue,
/// so that there is always room to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rings {
    queues: usize,
    capacity: usize,
}

impl Rings {
    /// For that many queues of that depth; none when the depth is no power of two, or there is too much of either.
    pub fn new(queues: u32, depth: u32) -> Option<Self> {
        let (queues, capacity) = (queues as usize, 2 * depth as usize);
        let fits = (1..=1024).contains(&queues) && depth.is_power_of_two() && depth <= 1 << 16;
        fits.then_some(Rings { queues, capacity })
    }

    /// Bytes of memory for all.
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

    /// Where the control words of a queue lie: the offset in bytes, and how many words.
    pub fn submissions(&self, queue: u32) -> (usize, usize) {
        (queue as usize * self.queue_bytes(), self.submission_words())
    }

    /// Where its completions lie.
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
