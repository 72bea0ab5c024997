//! HMAC over a message whose end is secret: the same work on the same bytes, wherever the message ends.
//!
//! The length of a TLS record's data is known only from its padding, which nobody has authenticated yet.
//! If more data took one compression more, the time would reveal the padding, and from that plaintext
//! can be had (AlFardan and Paterson, "Lucky Thirteen", 2013). So every block that may be the last is
//! compressed with the bytes that it would have, and a mask picks the chaining value after the true last
//! one.
//!
//! Ref. RFC 2104 §2; FIPS 180-4 §5.1; FIPS 202 §5.1; RFC 5246 §6.2.3.2, implementation note.

use std::slice::from_ref;

use super::key::{HmacKey, Outer, Pair};
use crate::hash::{Chain, Chaining, Digest, Hash, MAX_DIGEST, each, length_len, wipe};
use millstream_kernel::masks::{equal, for_bytes, less, secret};

impl HmacKey {
    /// Returns the tag of `header` and the first `len` bytes of `data`. `len` is secret, at least
    /// `shortest` and at most `data.len()`. The time and the memory that is read depend on
    /// `header.len()`, `data.len()` and `shortest` only.
    ///
    /// ```
    /// use millstream_cpu::Features;
    /// use millstream_engines::hash::Hash;
    /// use millstream_engines::hmac::HmacKey;
    ///
    /// let key = HmacKey::new(Features::hardware(), Hash::Sha256, b"Jefe");
    /// let tag = key.sign_prefix(b"what do ya ", b"want for nothing? or else", 4, 17);
    /// assert_eq!(tag, key.sign(b"what do ya want for nothing?"));
    /// ```
    ///
    /// # Panics
    /// When `shortest` is more than `data.len()`, or header and data together have 2^30 bytes or more. A
    /// `len` out of its bounds gives a meaningless tag.
    pub fn sign_prefix(&self, header: &[u8], data: &[u8], shortest: usize, len: usize) -> Digest {
        assert!(shortest <= data.len() && header.len() + data.len() < 1 << 30);
        let message = Message { header, data };
        each!(&self.pair, pair => {
            Digest::new(self.hash, &pair.sign_prefix(self.hash, message, shortest, len))
        })
    }
}

/// A header, and the data of which the message is a prefix.
#[derive(Clone, Copy)]
struct Message<'a> {
    header: &'a [u8],
    data: &'a [u8],
}

impl Message<'_> {
    /// Returns the bytes from `at` on, followed by zeros.
    #[inline(always)]
    fn block<const BLOCK: usize>(&self, at: usize) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        for (part, begins) in [(self.header, 0), (self.data, self.header.len())] {
            let (from, to) = (at.max(begins), (at + BLOCK).min(begins + part.len()));
            if from < to {
                block[from - at..to - at].copy_from_slice(&part[from - begins..to - begins]);
            }
        }
        block
    }
}

impl<S: Chaining, const BLOCK: usize> Pair<S, BLOCK> {
    fn sign_prefix(&self, hash: Hash, message: Message<'_>, shortest: usize, len: usize) -> S {
        // These blocks are wholly in the message wherever it ends.
        let certain = (message.header.len() + shortest) / BLOCK;
        let mut chain = self.inner;
        absorb_certain(&mut chain, message, certain);

        let end = secret(message.header.len() + len);
        let field = length_len::<S, BLOCK>();
        let last = (end + field as u32) / BLOCK as u32;
        let mut length = [0; BLOCK];
        S::write_length(&mut length, BLOCK as u64 + u64::from(end));
        let blocks = (message.header.len() + message.data.len() + field) / BLOCK + 1;
        let mut digest = [0; MAX_DIGEST];
        for index in certain..blocks {
            let is_last = for_bytes(equal(index as u32, last));
            let mut block = message.block(index * BLOCK);
            cut(&mut block, (index * BLOCK) as u32, end, S::END);
            merge(&mut block, &length, is_last);
            chain.absorb(from_ref(&block));
            wipe(std::slice::from_mut(&mut block));
            let mut words = [0; MAX_DIGEST];
            chain.state.write(&mut words[..S::OUTPUT]);
            merge(&mut digest, &words, is_last);
        }
        let mut inner = S::read(&digest[..S::OUTPUT]);
        let tag = Outer::padded::<S>(hash).finish(chain.kernel, self.outer, &inner);
        inner.zeroize();
        chain.state.zeroize();
        wipe(std::slice::from_mut(&mut digest));
        tag
    }
}

/// Takes in the first blocks, which are public. Blocks of the data are taken from where they lie.
#[inline(always)]
fn absorb_certain<S: Chaining, const BLOCK: usize>(
    chain: &mut Chain<S, BLOCK>,
    message: Message<'_>,
    count: usize,
) {
    let mut index = 0;
    while index < count && index * BLOCK < message.header.len() {
        chain.absorb(from_ref(&message.block(index * BLOCK)));
        index += 1;
    }
    if index < count {
        let blocks = message.data[index * BLOCK - message.header.len()..].as_chunks().0;
        chain.absorb(&blocks[..count - index]);
    }
}

/// Keeps the bytes before `end` of a block that begins at `at` in the message, and adds the byte `mark` that
/// ends the message (FIPS 180-4 §5.1, FIPS 202 §5.1).
#[inline(always)]
fn cut<const BLOCK: usize>(block: &mut [u8; BLOCK], at: u32, end: u32, mark: u8) {
    for i in 0..BLOCK {
        let place = at + i as u32;
        block[i] = block[i] & less(place, end) as u8 | mark & equal(place, end) as u8;
    }
}

/// Adds the bits of `other` where `mask` has ones.
#[inline(always)]
fn merge<const N: usize>(bytes: &mut [u8; N], other: &[u8; N], mask: u8) {
    for i in 0..N {
        bytes[i] |= other[i] & mask;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use millstream_cpu::{FeatureSet, Features};

    use super::*;
    use crate::hash::chain::{row, table};
    use crate::hash::{CompressOps, Family};
    use crate::{Row, Standing, Table, sha256};

    thread_local! {
        /// The place of each call's blocks, and their number.
        static CALLS: RefCell<Vec<(usize, usize)>> = const { RefCell::new(Vec::new()) };
    }

    fn counting(_: &mut sha256::State, blocks: &[[u8; 64]], last: &[[u8; 64]]) {
        CALLS.with_borrow_mut(|calls| calls.push((blocks.as_ptr().addr(), blocks.len() + last.len())));
    }

    static ROWS: &[Row<CompressOps<sha256::State, 64>>] = &[row("counting", FeatureSet::EMPTY, counting, "")];
    static COUNTING: Table<CompressOps<sha256::State, 64>> =
        table("counting", Standing::Current, "none", ROWS, |_| true);

    #[test]
    fn the_work_does_not_depend_on_the_secret() {
        let chain = Chain { kernel: COUNTING.best(Features::none()), state: [0; 8] };
        let key = HmacKey { hash: Hash::Sha256, pair: Family::Sha256(Pair::new(Hash::Sha256, chain, b"k")) };
        let data = [7; 700];
        for longest in [0, 1, 42, 43, 50, 51, 52, 255, 256, 300, 512, 700] {
            for window in [0, 1, 63, 64, 256, 288] {
                let shortest = longest - window.min(longest);
                let work = |len| {
                    CALLS.take();
                    key.sign_prefix(&[1; 13], &data[..longest], shortest, len);
                    CALLS.take()
                };
                let first = work(shortest);
                let compressed: usize = first.iter().map(|call| call.1).sum();
                assert_eq!(compressed, (13 + longest + 8) / 64 + 2, "with the outer block");
                for len in shortest..=longest {
                    assert_eq!(work(len), first, "{len} of {shortest} to {longest}");
                }
            }
        }
    }
}
