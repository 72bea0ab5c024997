//! ChaCha20 four blocks side by side in plain arrays, and Poly1305 a block at a time.
//!
//! Ref. RFC 8439 §2.3 and §2.4.
//!
//! # Safety
//! Nothing here needs a processor feature; the functions are `unsafe` because rows of a table are.
//! The pad's pointer is written within the blocks it has.
#![allow(unsafe_code)]

use super::lanes::{SIGMA, Words, double_round_down};
use super::object::{CHACHA_BLOCK, Pad, Tier, open, seal};
use super::poly1305::Poly1305;
use super::{Key, Nonce, Ops};
use crate::InOut;

pub(super) const OPS: Ops = Ops {
    seal: seal::<Portable>,
    open: open::<Portable>,
    keystream: <Portable as Tier>::keystream,
    authenticate: <Portable as Tier>::authenticate,
};

struct Portable;

const LANES: usize = 4;

/// Four words, which compilers turn into vectors where they have them.
#[derive(Clone, Copy)]
struct Four([u32; LANES]);

impl Words for Four {
    #[inline(always)]
    unsafe fn add(mut self, other: Self) -> Self {
        for i in 0..LANES {
            self.0[i] = self.0[i].wrapping_add(other.0[i]);
        }
        self
    }

    #[inline(always)]
    unsafe fn xor(mut self, other: Self) -> Self {
        for i in 0..LANES {
            self.0[i] ^= other.0[i];
        }
        self
    }

    #[inline(always)]
    unsafe fn rotate<const LEFT: i32>(mut self) -> Self {
        for i in 0..LANES {
            self.0[i] = self.0[i].rotate_left(LEFT as u32);
        }
        self
    }
}

/// The keystream of four blocks from `counter` on.
fn four_blocks(key: &Key, nonce: &Nonce, counter: u32) -> [[u8; CHACHA_BLOCK]; LANES] {
    let mut start = [Four([0; LANES]); 16];
    for i in 0..4 {
        start[i] = Four([SIGMA[i]; LANES]);
    }
    for i in 0..8 {
        start[4 + i] = Four([key.0[i]; LANES]);
    }
    for lane in 0..LANES {
        start[12].0[lane] = counter.wrapping_add(lane as u32);
    }
    for i in 0..3 {
        start[13 + i] = Four([nonce[i]; LANES]);
    }
    let mut x = start;
    let mut out = [[0; CHACHA_BLOCK]; LANES];
    for _ in 0..10 {
        // SAFETY: arrays need no feature.
        unsafe { double_round_down(&mut x) };
    }
    for i in 0..16 {
        for lane in 0..LANES {
            let word = x[i].0[lane].wrapping_add(start[i].0[lane]);
            out[lane][4 * i..4 * i + 4].copy_from_slice(&word.to_le_bytes());
        }
    }
    out
}

impl Tier for Portable {
    const HEAD: usize = (LANES - 1) * CHACHA_BLOCK;

    #[inline(always)]
    unsafe fn head(key: &Key, nonce: &Nonce, _len: usize, pad: &mut Pad) -> usize {
        // SAFETY: a pad has room for four blocks.
        unsafe { pad.as_mut_ptr().cast::<[[u8; CHACHA_BLOCK]; LANES]>().write(four_blocks(key, nonce, 0)) };
        LANES * CHACHA_BLOCK
    }

    #[inline(always)]
    unsafe fn keystream(key: &Key, nonce: &Nonce, mut counter: u32, mut data: InOut<'_>) {
        while !data.is_empty() {
            let pad = four_blocks(key, nonce, counter);
            let n = data.len().min(LANES * CHACHA_BLOCK);
            // SAFETY: no feature is needed.
            unsafe { Self::xor(data.take(n), &pad.as_flattened()[..n]) };
            counter = counter.wrapping_add(LANES as u32);
        }
    }

    #[inline(always)]
    unsafe fn xor(mut data: InOut<'_>, pad: &[u8]) {
        let (blocks, rest) = pad.as_chunks::<16>();
        for block in blocks {
            let mut part = data.take(16);
            let input = u128::from_le_bytes(part.load(0));
            part.store(0, (input ^ u128::from_le_bytes(*block)).to_le_bytes());
        }
        data.xor(rest);
    }

    #[inline(always)]
    unsafe fn xor_and_keep(mut data: InOut<'_>, pad: &mut [u8]) {
        let len = data.len();
        // SAFETY: no feature is needed.
        unsafe { Self::xor(data.reborrow(), &pad[..len]) };
        pad[..len].copy_from_slice(data.output());
        pad[len..].fill(0);
    }

    #[inline(always)]
    unsafe fn authenticate(mac: &mut Poly1305, blocks: &[u8]) {
        mac.blocks(blocks);
    }
}
