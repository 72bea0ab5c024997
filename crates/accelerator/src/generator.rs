//! The generator of random bytes: AES-256 in counter mode whose key is replaced by its own output before anything else of
//! that output is given out (fast key erasure).
//!
//! A pass fills a buffer with keystream. Its first 32 bytes become the next key, and overwrite the expanded key that made
//! them, before the pass ends. Bytes that are given out are zeroed in the buffer. So whoever reads the generator's memory
//! learns nothing of what it gave out before (backtracking resistance). What it gives out after that stays secret only once it
//! is seeded anew.
//!
//! The engines' kernels of AES-256-CTR make it, because they are the fastest on every processor with AES
//! instructions: a keystream of ChaCha20 takes about twice as long there. Where there are no such instructions the portable
//! row is slower than ChaCha20 would be, and runs in constant time.
//!
//! Ref. NIST SP 800-38A §6.5 (CTR), FIPS 180-4 §6.2 (SHA-256, which mixes seeds); NIST SP 800-90A §8.8 for the terms.

use std::fmt;

use millstream_cpu::Features;
use millstream_engines::InOut;
use millstream_engines::aes::Ctr;
use millstream_engines::hash::{Hash, Hasher};
use millstream_publickey::{Error, Random};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing, optimization_barrier};

use crate::wipe::wipe_stack;

/// Bytes of a key and of a seed.
const KEY: usize = 32;

/// Bytes that a pass gives, the next key among them. More would not make the key's expansion cheaper by much.
const BUFFER: usize = 4096;

/// The most bytes that one key makes directly in the caller's memory, where they still lie in the first cache.
const DIRECT: usize = 16 * 1024;

/// The counter block at which the keystream for the caller begins: the two before it make the next key.
const AFTER_KEY: [u8; 16] = 2_u128.to_be_bytes();

/// The text in front of what a new seed is mixed from: a block of the hash, so that the secrets begin the next.
const LABEL: &[u8; 64] = b"Millstream: what a generator's seed and its own output make.    ";

/// A deterministic random bit generator with fast key erasure.
///
/// The generator makes no system call and reads no clock: its host gives it a seed, and another from time to time
/// ([`Generator::wants_seed`] tells by count, and the host knows the time). It can't be cloned, because a copy would repeat it. A
/// forked child has a copy all the same, so a process that forks has to seed the child's before its first use, or to
/// leave it alone.
///
/// ```
/// use millstream_accelerator::Generator;
/// use millstream_cpu::Features;
///
/// // The seed comes from the system's generator, `getrandom(2)`.
/// # let seed = [7; 32];
/// let mut generator = Generator::new(Features::hardware(), &seed);
/// let (mut one, mut other) = ([0; 32], [0; 32]);
/// generator.fill(&mut one)?;
/// generator.fill(&mut other)?;
/// assert_ne!(one, other);
/// # Ok::<(), millstream_publickey::Error>(())
/// ```
pub struct Generator {
    features: Features,
    /// The state has one place, so that to move the generator leaves no copy of it.
    state: Box<State>,
    /// Bytes given out since the last seed.
    given: u64,
}

/// The secrets of a generator.
struct State {
    /// The key of the next pass, expanded.
    next: Ctr,
    /// Keystream; what was given out is zero.
    buffer: [u8; BUFFER],
    /// The first byte of the buffer that was not given out.
    begin: usize,
}

impl Generator {
    /// Bytes after which the generator wants another seed: it takes longer to make so many than to fetch one.
    pub const WANTS_SEED_AFTER: u64 = 1 << 20;

    /// Bytes after which the generator gives out no more without another seed.
    pub const MOST_BYTES: u64 = 1 << 36;

    /// Makes a generator from a seed of 32 bytes that nobody else knows or uses, on the best kernel that `features` allow.
    #[allow(clippy::missing_panics_doc, reason = "AES takes a key of 32 bytes")]
    pub fn new(features: Features, seed: &[u8; KEY]) -> Self {
        let next = Ctr::new(features, seed).expect("AES takes a key of 32 bytes");
        let mut state = Box::new(State { next, buffer: [0; BUFFER], begin: BUFFER });
        // The state no longer tells the seed after this, and neither does the stack, where its schedule was copied.
        state.pass();
        wipe_stack();
        Generator { features, state, given: 0 }
    }

    /// Fills `bytes` with random bytes, of which the generator keeps no trace.
    ///
    /// # Errors
    /// [`Error::Random`] when more than [`Generator::MOST_BYTES`] were given out since the last seed. Nothing is written
    /// then; [`Generator::reseed`] is the remedy.
    #[inline]
    pub fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        let given = self.given.saturating_add(bytes.len() as u64);
        if given > Self::MOST_BYTES {
            return Err(Error::Random);
        }
        self.given = given;
        self.state.fill(bytes);
        Ok(())
    }

    /// Mixes a seed of 32 bytes into the state. Whoever knows only the state before, or only the seed, or has even chosen
    /// it, knows nothing of the state after.
    pub fn reseed(&mut self, seed: &[u8; KEY]) {
        let mut own = Zeroizing::new([0; KEY]);
        self.state.fill(&mut *own);
        let mut hasher = Hasher::new(self.features, Hash::Sha256);
        hasher.update(LABEL);
        hasher.update(&*own);
        hasher.update(seed);
        let mut mixed = hasher.finish();
        self.state.replace_key(mixed.first_chunk().expect("a digest of 32 bytes"));
        mixed.zeroize();
        drop(own);
        wipe_stack();
        self.given = 0;
    }

    /// Returns true when [`Generator::WANTS_SEED_AFTER`] bytes or more were given out since the last seed.
    #[inline]
    pub fn wants_seed(&self) -> bool {
        self.given >= Self::WANTS_SEED_AFTER
    }

    /// Returns how many bytes were given out since the last seed.
    #[inline]
    pub fn given(&self) -> u64 {
        self.given
    }
}

impl Random for Generator {
    #[inline]
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        Generator::fill(self, bytes)
    }
}

impl ZeroizeOnDrop for Generator {}

impl fmt::Debug for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Generator({} bytes since its seed)", self.given)
    }
}

impl State {
    #[inline]
    fn fill(&mut self, mut bytes: &mut [u8]) {
        loop {
            bytes = self.give(bytes);
            if bytes.is_empty() {
                return;
            }
            if bytes.len() >= BUFFER {
                let part = bytes.len().min(DIRECT);
                let (part, rest) = std::mem::take(&mut bytes).split_at_mut(part);
                self.make_in_place(part);
                bytes = rest;
            } else {
                self.pass();
            }
        }
    }

    /// Gives out what the buffer has, zeroes it there, and returns the bytes that are left to fill.
    #[inline]
    fn give<'b>(&mut self, bytes: &'b mut [u8]) -> &'b mut [u8] {
        let held = &mut self.buffer[self.begin..];
        let len = bytes.len().min(held.len());
        let (part, rest) = bytes.split_at_mut(len);
        part.copy_from_slice(&held[..len]);
        wipe(&mut held[..len]);
        self.begin += len;
        rest
    }

    /// Fills the buffer, whose bytes were all given out, and replaces the key.
    #[cold]
    #[inline(never)]
    fn pass(&mut self) {
        let State { next, buffer, begin } = self;
        next.apply(&[0; 16], InOut::in_place(buffer));
        next.rekey(&buffer[..KEY]).expect("AES takes a key of 32 bytes");
        wipe(&mut buffer[..KEY]);
        *begin = KEY;
    }

    /// Makes keystream where the caller wants it, and replaces the key. The buffer is empty before and after.
    #[cold]
    #[inline(never)]
    fn make_in_place(&mut self, bytes: &mut [u8]) {
        let State { next, buffer, .. } = self;
        bytes.fill(0);
        next.apply(&AFTER_KEY, InOut::in_place(bytes));
        next.apply(&[0; 16], InOut::in_place(&mut buffer[..KEY]));
        next.rekey(&buffer[..KEY]).expect("AES takes a key of 32 bytes");
        wipe(&mut buffer[..KEY]);
    }

    /// Begins anew with another key, and forgets what the buffer has.
    fn replace_key(&mut self, key: &[u8; KEY]) {
        wipe(&mut self.buffer);
        self.next.rekey(key).expect("AES takes a key of 32 bytes");
        self.pass();
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // The expanded key zeroes itself.
        wipe(&mut self.buffer);
    }
}

/// Zeroes bytes by the widest stores there are. `zeroize` would write one byte at a time, and cost more than making them.
#[inline]
fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    optimization_barrier(bytes);
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const SEED: [u8; KEY] = [0x5a; KEY];

    fn generator() -> Generator {
        Generator::new(Features::hardware(), &SEED)
    }

    /// Returns keystream of AES-256-CTR, block by block, from an engine that shares nothing with the generator's.
    fn keystream(key: &[u8], first: u128, len: usize) -> Vec<u8> {
        let mode = millstream_engines::aes::Ecb::new(Features::none(), key).unwrap();
        let blocks = (first..).take(len.div_ceil(16)).map(u128::to_be_bytes);
        let mut bytes = blocks.collect::<Vec<_>>().concat();
        millstream_engines::modes::BlockMode::encrypt(&mode, &mut [], InOut::in_place(&mut bytes));
        bytes.truncate(len);
        bytes
    }

    fn drawn(generator: &mut Generator, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        generator.fill(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn output_is_the_keystream_of_keys_that_each_make_the_next() {
        let mut generator = generator();
        let (first, mut key) = (keystream(&SEED, 0, BUFFER), Vec::new());
        key.extend_from_slice(&first[..KEY]);
        let mut expected = first[KEY..].to_vec();
        for _ in 0..2 {
            let pass = keystream(&key, 0, BUFFER);
            key = pass[..KEY].to_vec();
            expected.extend_from_slice(&pass[KEY..]);
        }
        let mut got = Vec::new();
        for len in [0, 1, 15, 16, 17, 31, 32, 33, 4000, 63].into_iter().cycle() {
            got.extend(drawn(&mut generator, len));
            if got.len() + 4000 > expected.len() {
                break;
            }
        }
        let rest = expected.len() - got.len();
        got.extend(drawn(&mut generator, rest));
        assert!(got == expected);
        // A long request is made where it is wanted: each part by a key that makes the next one first.
        let long = drawn(&mut generator, 2 * DIRECT + BUFFER + 5);
        let mut expected = Vec::new();
        for len in [DIRECT, DIRECT, BUFFER + 5] {
            expected.extend(keystream(&key, 2, len));
            key = keystream(&key, 0, KEY);
        }
        assert!(long == expected);
        assert_eq!(generator.given(), (got.len() + long.len()) as u64);
    }

    #[test]
    fn kernels_agree() {
        let mut portable = Generator::new(Features::none(), &SEED);
        assert!(drawn(&mut portable, 50_000) == drawn(&mut generator(), 50_000));
    }

    #[test]
    fn what_was_given_out_is_gone() {
        let mut generator = generator();
        for len in [1, 100, BUFFER - KEY - 101, 1, BUFFER, 3] {
            drawn(&mut generator, len);
            let State { buffer, begin, .. } = &*generator.state;
            assert!(buffer[..*begin].iter().all(|byte| *byte == 0), "after {len}");
        }
        drawn(&mut generator, 40);
        let before = generator.state.buffer;
        generator.reseed(&SEED);
        let kept = before.windows(16).filter(|window| window.iter().any(|byte| *byte != 0));
        let after: HashSet<&[u8]> = generator.state.buffer.windows(16).collect();
        assert!(kept.into_iter().all(|window| !after.contains(window)));
    }

    #[test]
    fn a_seed_is_mixed_with_the_state() {
        let seeded = |own: u8, other: u8| {
            let mut generator = Generator::new(Features::hardware(), &[own; KEY]);
            drawn(&mut generator, 100);
            generator.reseed(&[other; KEY]);
            assert_eq!((generator.given(), generator.wants_seed()), (0, false));
            drawn(&mut generator, 64)
        };
        // Both count, and nothing else does.
        let outputs = [(1, 1), (1, 2), (2, 1), (2, 2)].map(|(own, other)| seeded(own, other));
        assert_eq!(outputs.iter().collect::<HashSet<_>>().len(), 4);
        assert_eq!(seeded(1, 2), outputs[1]);

        let mut generator = Generator::new(Features::hardware(), &[1; KEY]);
        drawn(&mut generator, 100);
        let own = drawn(&mut generator, KEY);
        let mut hasher = Hasher::new(Features::none(), Hash::Sha256);
        for part in [&LABEL[..], &own, &[2; KEY]] {
            hasher.update(part);
        }
        let key = hasher.finish();
        assert_eq!(keystream(&key, 2, 64), outputs[1]);
    }

    #[test]
    fn it_asks_for_a_seed_and_then_insists() {
        let mut generator = generator();
        drawn(&mut generator, Generator::WANTS_SEED_AFTER as usize - 1);
        assert!(!generator.wants_seed());
        drawn(&mut generator, 1);
        assert!(generator.wants_seed());
        generator.given = Generator::MOST_BYTES - 10;
        drawn(&mut generator, 9);
        let mut two = [0; 2];
        assert_eq!(generator.fill(&mut two), Err(Error::Random));
        assert_eq!(two, [0; 2]);
        drawn(&mut generator, 1);
        assert_eq!(generator.fill(&mut [0]), Err(Error::Random));
        generator.reseed(&SEED);
        drawn(&mut generator, 2);
    }

    #[test]
    fn no_block_comes_twice_wherever_the_generator_moves() {
        let mut seen = HashSet::new();
        let mut generator = generator();
        for round in 0..200 {
            let bytes = drawn(&mut generator, 16 * (1 + 37 * round % 600));
            assert!(bytes.chunks(16).all(|block| seen.insert(block.to_vec())));
            generator = match round % 3 {
                0 => *Box::new(generator),
                1 => std::thread::spawn(move || generator).join().unwrap(),
                _ => {
                    generator.reseed(&SEED);
                    generator
                }
            };
        }
    }
}
