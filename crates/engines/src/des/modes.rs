//! The modes, written once over the functions of a kernel.
//!
//! Ref. FIPS 81; NIST SP 800-38A §6.1 (ECB), §6.2 (CBC), §6.3 (CFB with 64-bit segments);
//! FIPS 113 (the MAC).
//!
//! # Safety
//! Every function here is an inlined body of a kernel's entry point and may be called only where
//! that kernel's features are: its caller's target features are the witness.
#![allow(unsafe_code)]

use zeroize::Zeroize;

use super::ops::BLOCK;
use super::schedule::Schedule;
use super::wiring::Groups;
use crate::InOut;
use crate::modes::Direction;

/// The cipher as one processor tier computes it. A block is a word in the byte order of memory.
pub(super) trait Cipher {
    /// Blocks that [`Cipher::wide`] works on at a time.
    type Wide: AsRef<[u64]> + AsMut<[u64]> + Default + Zeroize;

    /// The least number of blocks for `wide`. Fewer are worked on one or two at a time.
    const WORTH: usize;

    /// The number of blocks in `Wide`.
    const WIDTH: usize = size_of::<Self::Wide>() / BLOCK;

    /// One block.
    ///
    /// # Safety
    /// The kernel's features exist.
    unsafe fn one(keys: &[Groups], block: u64) -> u64;

    /// Two blocks, for kernels that are faster so.
    ///
    /// # Safety
    /// The kernel's features exist.
    #[inline(always)]
    unsafe fn two(keys: &[Groups], blocks: [u64; 2]) -> [u64; 2] {
        // SAFETY: as the caller says.
        unsafe { [Self::one(keys, blocks[0]), Self::one(keys, blocks[1])] }
    }

    /// Ciphers the first `used` blocks of a buffer. The other blocks may hold anything
    /// afterwards.
    ///
    /// # Safety
    /// The kernel's features exist.
    unsafe fn wide(schedule: &Schedule, direction: Direction, blocks: &mut Self::Wide, used: usize);
}

/// Runs a mode whose blocks don't wait for each other, with as many at a time as the kernel
/// takes.
#[inline(always)]
unsafe fn parallel<C: Cipher>(schedule: &Schedule, direction: Direction, mut pass: Parallel<'_>) {
    let keys = schedule.groups(direction);
    if pass.data.len() / BLOCK >= C::WORTH {
        let mut buffer = C::Wide::default();
        while pass.data.len() / BLOCK >= C::WORTH {
            let used = C::WIDTH.min(pass.data.len() / BLOCK);
            pass.fetch(&mut buffer.as_mut()[..used]);
            // SAFETY: as the caller says.
            unsafe { C::wide(schedule, direction, &mut buffer, used) };
            pass.finish(&buffer.as_ref()[..used]);
        }
        buffer.zeroize();
    }
    let mut pair = [0; 2];
    while pass.data.len() >= 2 * BLOCK {
        pass.fetch(&mut pair);
        // SAFETY: as the caller says.
        pair = unsafe { C::two(keys, pair) };
        pass.finish(&pair);
    }
    if !pass.data.is_empty() {
        pass.fetch(&mut pair[..1]);
        // SAFETY: as the caller says.
        pair[0] = unsafe { C::one(keys, pair[0]) };
        pass.finish(&pair[..1]);
    }
}

/// The additions around the cipher in the modes whose blocks don't wait for each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    /// Nothing.
    Ecb,
    /// The ciphertext block before is added to the output.
    CbcDecrypt,
    /// The ciphertext block before is the input, and the output is added to the block.
    CfbDecrypt,
}

struct Parallel<'a> {
    around: Around,
    chain: u64,
    data: InOut<'a>,
}

impl Parallel<'_> {
    /// The cipher's inputs for the next blocks.
    #[inline(always)]
    fn fetch(&self, blocks: &mut [u64]) {
        let data = &self.data.input()[..BLOCK * blocks.len()];
        if self.around == Around::CfbDecrypt {
            blocks[0] = self.chain;
            for (block, bytes) in blocks[1..].iter_mut().zip(data.as_chunks().0) {
                *block = u64::from_ne_bytes(*bytes);
            }
        } else {
            for (block, bytes) in blocks.iter_mut().zip(data.as_chunks().0) {
                *block = u64::from_ne_bytes(*bytes);
            }
        }
    }

    /// Takes the cipher's outputs for these blocks and moves on.
    #[inline(always)]
    fn finish(&mut self, blocks: &[u64]) {
        let mut data = self.data.take(BLOCK * blocks.len());
        let next = u64::from_ne_bytes(data.load(BLOCK * (blocks.len() - 1)));
        match self.around {
            Around::Ecb => {
                for (i, block) in blocks.iter().enumerate() {
                    data.store(BLOCK * i, block.to_ne_bytes());
                }
            }
            // The blocks are stored from the end, because in place each store overwrites the
            // ciphertext that the block after it needed.
            Around::CbcDecrypt => {
                for i in (1..blocks.len()).rev() {
                    let before = u64::from_ne_bytes(data.load(BLOCK * (i - 1)));
                    data.store(BLOCK * i, (blocks[i] ^ before).to_ne_bytes());
                }
                data.store(0, (blocks[0] ^ self.chain).to_ne_bytes());
            }
            Around::CfbDecrypt => {
                for (i, block) in blocks.iter().enumerate() {
                    let ciphertext = u64::from_ne_bytes(data.load(BLOCK * i));
                    data.store(BLOCK * i, (block ^ ciphertext).to_ne_bytes());
                }
            }
        }
        self.chain = next;
    }
}

#[inline(always)]
pub(super) unsafe fn ecb<C: Cipher>(schedule: &Schedule, direction: Direction, data: InOut<'_>) {
    // SAFETY: as the caller says.
    unsafe { parallel::<C>(schedule, direction, Parallel { around: Around::Ecb, chain: 0, data }) }
}

/// CBC: decryption is parallel, encryption a chain.
#[inline(always)]
pub(super) unsafe fn cbc<C: Cipher>(
    schedule: &Schedule,
    direction: Direction,
    chain: &mut [u8; BLOCK],
    data: InOut<'_>,
) {
    // SAFETY: as the caller says.
    unsafe {
        match direction {
            Direction::Encrypt => cbc_encrypt::<C>(schedule, chain, data),
            Direction::Decrypt => chained::<C>(schedule, direction, Around::CbcDecrypt, chain, data),
        }
    }
}

/// CFB: decryption is parallel, encryption a chain, and both run the cipher forwards.
#[inline(always)]
pub(super) unsafe fn cfb<C: Cipher>(
    schedule: &Schedule,
    direction: Direction,
    chain: &mut [u8; BLOCK],
    data: InOut<'_>,
) {
    // SAFETY: as the caller says.
    unsafe {
        match direction {
            Direction::Encrypt => cfb_encrypt::<C>(schedule, chain, data),
            Direction::Decrypt => chained::<C>(schedule, Direction::Encrypt, Around::CfbDecrypt, chain, data),
        }
    }
}

#[inline(always)]
unsafe fn chained<C: Cipher>(
    schedule: &Schedule,
    direction: Direction,
    around: Around,
    chain: &mut [u8; BLOCK],
    data: InOut<'_>,
) {
    let Some(last) = data.input().last_chunk() else { return };
    let last = *last;
    let pass = Parallel { around, chain: u64::from_ne_bytes(*chain), data };
    // SAFETY: as the caller says.
    unsafe { parallel::<C>(schedule, direction, pass) };
    *chain = last;
}

#[inline(always)]
unsafe fn cbc_encrypt<C: Cipher>(schedule: &Schedule, chain: &mut [u8; BLOCK], mut data: InOut<'_>) {
    let keys = schedule.groups(Direction::Encrypt);
    let mut x = u64::from_ne_bytes(*chain);
    for at in (0..data.len()).step_by(BLOCK) {
        // SAFETY: as the caller says.
        x = unsafe { C::one(keys, x ^ u64::from_ne_bytes(data.load(at))) };
        data.store(at, x.to_ne_bytes());
    }
    *chain = x.to_ne_bytes();
}

#[inline(always)]
unsafe fn cfb_encrypt<C: Cipher>(schedule: &Schedule, chain: &mut [u8; BLOCK], mut data: InOut<'_>) {
    let keys = schedule.groups(Direction::Encrypt);
    let mut x = u64::from_ne_bytes(*chain);
    for at in (0..data.len()).step_by(BLOCK) {
        // SAFETY: as the caller says.
        x = unsafe { C::one(keys, x) } ^ u64::from_ne_bytes(data.load(at));
        data.store(at, x.to_ne_bytes());
    }
    *chain = x.to_ne_bytes();
}

#[inline(always)]
pub(super) unsafe fn mac<C: Cipher>(schedule: &Schedule, chain: &mut [u8; BLOCK], blocks: &[[u8; BLOCK]]) {
    let keys = schedule.groups(Direction::Encrypt);
    let mut x = u64::from_ne_bytes(*chain);
    for block in blocks {
        // SAFETY: as the caller says.
        x = unsafe { C::one(keys, x ^ u64::from_ne_bytes(*block)) };
    }
    *chain = x.to_ne_bytes();
}
