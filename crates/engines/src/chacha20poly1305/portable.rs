//! ChaCha20 and Poly1305 a block at a time in plain words: four quarter rounds fill a processor's
//! arithmetic units, and a short object pays for no block it doesn't use.
//!
//! Ref. RFC 8439 §2.3 and §2.4.
//!
//! # Safety
//! Nothing here needs a processor feature; the functions are `unsafe` because rows of a table are.
//! The pad's pointer is written within the blocks it has room for.
#![allow(unsafe_code)]

use super::object::{CHACHA_BLOCK, Pad, Tier, open, seal};
use super::poly1305::Poly1305;
use super::vector::{SIGMA, Words, double_round_down};
use super::{Key, Nonce, Ops};
use crate::InOut;

pub(super) const OPS: Ops = Ops {
    seal: seal::<Portable>,
    open: open::<Portable>,
    keystream: <Portable as Tier>::keystream,
    authenticate: <Portable as Tier>::authenticate,
};

struct Portable;

impl Words for u32 {
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        self ^ other
    }

    #[inline(always)]
    unsafe fn rotate<const LEFT: i32>(self) -> Self {
        self.rotate_left(LEFT as u32)
    }
}

/// Block `counter` of the keystream (RFC 8439 §2.3).
fn block(key: &Key, nonce: &Nonce, counter: u32) -> [u8; CHACHA_BLOCK] {
    let mut start = [0; 16];
    start[..4].copy_from_slice(&SIGMA);
    start[4..12].copy_from_slice(&key.0);
    start[12] = counter;
    start[13..].copy_from_slice(nonce);
    let mut x = start;
    for _ in 0..10 {
        // SAFETY: plain words need no feature.
        unsafe { double_round_down(&mut x) };
    }
    let mut out = [0; CHACHA_BLOCK];
    for (i, bytes) in out.as_chunks_mut().0.iter_mut().enumerate() {
        *bytes = x[i].wrapping_add(start[i]).to_le_bytes();
    }
    out
}

impl Tier for Portable {
    const HEAD: usize = 3 * CHACHA_BLOCK;

    #[inline(always)]
    unsafe fn head(key: &Key, nonce: &Nonce, len: usize, pad: &mut Pad) -> usize {
        let blocks = 1 + len.div_ceil(CHACHA_BLOCK);
        let out = pad.as_mut_ptr().cast::<[u8; CHACHA_BLOCK]>();
        for i in 0..blocks {
            // SAFETY: a pad has room for the head and a block more.
            unsafe { out.add(i).write(block(key, nonce, i as u32)) };
        }
        blocks * CHACHA_BLOCK
    }

    #[inline(always)]
    unsafe fn keystream(key: &Key, nonce: &Nonce, mut counter: u32, mut data: InOut<'_>) {
        while !data.is_empty() {
            let pad = block(key, nonce, counter);
            let n = data.len().min(CHACHA_BLOCK);
            // SAFETY: no feature is needed.
            unsafe { Self::xor(data.take(n), &pad[..n]) };
            counter = counter.wrapping_add(1);
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
