//! One message in pieces of any length.
//!
//! Ref. FIPS 180-4 §5.1 and §5.2; FIPS 202 §4.

use super::chain::{Chain, Chaining, compress, length_fits};

/// A chaining value, the number of bytes in it, and the part of a block that waits for the rest.
#[derive(Clone)]
pub(crate) struct Stream<S: Chaining, const BLOCK: usize> {
    pub(crate) chain: Chain<S, BLOCK>,
    /// Bytes taken in so far.
    pub(crate) count: u64,
    /// The last `count % BLOCK` bytes of them, at the front.
    buffer: [u8; BLOCK],
}

impl<S: Chaining, const BLOCK: usize> Stream<S, BLOCK> {
    /// A message whose first `count` bytes, whole blocks, are already in `chain`.
    #[inline(always)]
    pub(crate) fn new(chain: Chain<S, BLOCK>, count: u64) -> Self {
        Stream { chain, count, buffer: [0; BLOCK] }
    }

    /// A message whose first `count` bytes are already taken in: whole blocks in `chain`, the rest
    /// in `waiting`.
    pub(crate) fn resume(chain: Chain<S, BLOCK>, count: u64, waiting: &[u8]) -> Self {
        let mut stream = Stream::new(chain, count);
        stream.buffer[..waiting.len()].copy_from_slice(waiting);
        stream
    }

    /// The bytes that wait for the rest of their block.
    pub(crate) fn waiting(&self) -> &[u8] {
        &self.buffer[..self.used()]
    }

    #[inline(always)]
    fn used(&self) -> usize {
        (self.count % BLOCK as u64) as usize
    }

    #[inline(always)]
    pub(crate) fn update(&mut self, mut data: &[u8]) {
        let used = self.used();
        self.count = self.count.wrapping_add(data.len() as u64);
        if used > 0 {
            let Some((head, rest)) = data.split_at_checked(BLOCK - used) else {
                self.buffer[used..used + data.len()].copy_from_slice(data);
                return;
            };
            self.buffer[used..].copy_from_slice(head);
            self.chain.absorb(std::slice::from_ref(&self.buffer));
            data = rest;
        }
        let (blocks, tail) = data.as_chunks::<BLOCK>();
        if !blocks.is_empty() {
            self.chain.absorb(blocks);
        }
        self.buffer[..tail.len()].copy_from_slice(tail);
    }

    /// Pads the message in its own buffer and folds in its end. The stream must be restarted after.
    #[inline(always)]
    pub(crate) fn finish(&mut self) -> S {
        let used = self.used();
        self.buffer[used] = S::END;
        self.buffer[used + 1..].fill(0);
        let first = std::slice::from_mut(&mut self.buffer);
        if length_fits::<S, BLOCK>(used) {
            S::write_length(&mut first[0], self.count);
            compress(self.chain.kernel, &mut self.chain.state, first, &[]);
        } else {
            let mut second = [0; BLOCK];
            S::write_length(&mut second, self.count);
            compress(self.chain.kernel, &mut self.chain.state, first, &[second]);
        }
        self.chain.state
    }

    /// Lends the chaining value to a caller who folds the next `bytes` bytes in, which are whole
    /// blocks. No byte waits for the rest of its block.
    #[inline(always)]
    pub(crate) fn lend(&mut self, bytes: usize) -> &mut S {
        debug_assert!(self.used() == 0 && bytes.is_multiple_of(BLOCK));
        self.count = self.count.wrapping_add(bytes as u64);
        &mut self.chain.state
    }

    /// Clears the bytes that wait for the rest of their block.
    #[inline(always)]
    pub(crate) fn forget(&mut self) {
        self.buffer = [0; BLOCK];
        zeroize::optimization_barrier(&self.buffer);
    }

    /// Goes back to `state`, which holds `count` bytes in whole blocks.
    #[inline(always)]
    pub(crate) fn restart(&mut self, state: S, count: u64) {
        self.chain.state = state;
        self.count = count;
    }
}

/// Clears the buffer and the chaining value, because the hashed data may be secret.
impl<S: Chaining, const BLOCK: usize> Drop for Stream<S, BLOCK> {
    #[inline(always)]
    fn drop(&mut self) {
        self.chain.state = S::default();
        self.buffer = [0; BLOCK];
        // The barrier keeps the stores above from being dropped as dead.
        zeroize::optimization_barrier(self);
    }
}
