//! The modes over any kernel's way to pass many blocks, or one.
//!
//! Ref. NIST SP 800-38A §6.1 (ECB), §6.2 (CBC), §6.5 (CTR).

use super::Block;
use super::schedule::Order;
use crate::InOut;

/// The cipher in either direction, which is the order of its subkeys.
pub(super) trait Cipher {
    /// Blocks that are passed side by side.
    const WIDTH: usize;

    /// Passes the first `count` of [`MAX_WIDTH`] blocks; the blocks after them may change.
    ///
    /// # Safety
    /// The features of the kernel.
    unsafe fn batch(order: &Order, blocks: &mut [Block; MAX_WIDTH], count: usize);

    /// Passes one block.
    ///
    /// # Safety
    /// The features of the kernel.
    unsafe fn one(order: &Order, block: Block) -> Block;
}

/// The number of blocks that the widest kernel passes.
pub(super) const MAX_WIDTH: usize = 64;

#[inline(always)]
fn xor(a: Block, b: Block) -> Block {
    (u128::from_ne_bytes(a) ^ u128::from_ne_bytes(b)).to_ne_bytes()
}

/// # Safety
/// The features of the kernel, here and below.
#[inline(always)]
pub(super) unsafe fn ecb<C: Cipher>(order: &Order, mut data: InOut<'_>) {
    let mut blocks = [[0; 16]; MAX_WIDTH];
    while !data.is_empty() {
        let count = C::WIDTH.min(data.len() / 16);
        let mut part = data.take(16 * count);
        blocks.as_flattened_mut()[..16 * count].copy_from_slice(part.input());
        // SAFETY: the caller's promise.
        unsafe { C::batch(order, &mut blocks, count) };
        part.output().copy_from_slice(&blocks.as_flattened()[..16 * count]);
    }
}

#[inline(always)]
pub(super) unsafe fn cbc_encrypt<C: Cipher>(order: &Order, chain: &mut Block, mut data: InOut<'_>) {
    for at in (0..data.len()).step_by(16) {
        // SAFETY: the caller's promise.
        *chain = unsafe { C::one(order, xor(*chain, data.load(at))) };
        data.store(at, *chain);
    }
}

#[inline(always)]
pub(super) unsafe fn cbc_decrypt<C: Cipher>(order: &Order, chain: &mut Block, mut data: InOut<'_>) {
    let mut blocks = [[0; 16]; MAX_WIDTH];
    while !data.is_empty() {
        let count = C::WIDTH.min(data.len() / 16);
        let mut part = data.take(16 * count);
        blocks.as_flattened_mut()[..16 * count].copy_from_slice(part.input());
        // SAFETY: the caller's promise.
        unsafe { C::batch(order, &mut blocks, count) };
        for i in 0..count {
            let before = *chain;
            *chain = part.load(16 * i);
            part.store(16 * i, xor(blocks[i], before));
        }
    }
}

#[inline(always)]
pub(super) unsafe fn ctr<C: Cipher>(order: &Order, chain: &mut Block, mut data: InOut<'_>) {
    let mut blocks = [[0; 16]; MAX_WIDTH];
    let mut counter = u128::from_be_bytes(*chain);
    while !data.is_empty() {
        let count = C::WIDTH.min(data.len() / 16);
        let mut part = data.take(16 * count);
        for i in 0..count {
            blocks[i] = counter.to_be_bytes();
            counter = counter.wrapping_add(1);
        }
        // SAFETY: the caller's promise.
        unsafe { C::batch(order, &mut blocks, count) };
        for i in 0..count {
            part.store(16 * i, xor(part.load(16 * i), blocks[i]));
        }
    }
    *chain = counter.to_be_bytes();
}

/// The functions of a kernel, from its `Cipher`, compiled for its features.
macro_rules! passes {
    ($cipher:ty $(, $features:literal)?) => {{
        use $crate::camellia::passes::{cbc_decrypt, cbc_encrypt, ctr, ecb};
        use $crate::camellia::{Block, Ops, Schedule};
        use $crate::modes::Direction;
        $(#[target_feature(enable = $features)])?
        fn ecb_pass(schedule: &Schedule, direction: Direction, data: $crate::InOut<'_>) {
            let order = schedule.order(direction);
            // SAFETY: this function has the features.
            unsafe { ecb::<$cipher>(order, data) }
        }
        $(#[target_feature(enable = $features)])?
        fn cbc_pass(schedule: &Schedule, direction: Direction, chain: &mut Block, data: $crate::InOut<'_>) {
            // SAFETY: this function has the features.
            unsafe {
                match direction {
                    Direction::Encrypt => cbc_encrypt::<$cipher>(&schedule.encrypt, chain, data),
                    Direction::Decrypt => cbc_decrypt::<$cipher>(&schedule.decrypt, chain, data),
                }
            }
        }
        $(#[target_feature(enable = $features)])?
        fn ctr_pass(schedule: &Schedule, chain: &mut Block, data: $crate::InOut<'_>) {
            // SAFETY: this function has the features.
            unsafe { ctr::<$cipher>(&schedule.encrypt, chain, data) }
        }
        Ops { ecb: ecb_pass, cbc: cbc_pass, ctr: ctr_pass }
    }};
}
pub(super) use passes;
