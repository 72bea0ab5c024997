//! The modes over any kernel's way to pass many blocks, or one.
//!
//! Ref. NIST SP 800-38A §6.1 (ECB), §6.2 (CBC), §6.5 (CTR).

use super::{Block, Cipher, Subkeys};
use crate::InOut;

/// A kernel's way to pass blocks through the cipher, in the direction that the subkeys are for.
pub(crate) trait Batch {
    type Cipher: Cipher;

    /// Blocks that are passed side by side.
    const WIDTH: usize;

    /// Passes the first `count` of [`MAX_WIDTH`] blocks; the blocks after them may change.
    ///
    /// # Safety
    /// The features of the kernel.
    unsafe fn batch(subkeys: &Subkeys<Self::Cipher>, blocks: &mut [Block; MAX_WIDTH], count: usize);

    /// Passes one block.
    ///
    /// # Safety
    /// The features of the kernel.
    unsafe fn one(subkeys: &Subkeys<Self::Cipher>, block: Block) -> Block;
}

/// The number of blocks that the widest kernel passes.
pub(crate) const MAX_WIDTH: usize = 64;

#[inline(always)]
fn xor(a: Block, b: Block) -> Block {
    (u128::from_ne_bytes(a) ^ u128::from_ne_bytes(b)).to_ne_bytes()
}

/// # Safety
/// The features of the kernel, here and below.
#[inline(always)]
pub(crate) unsafe fn ecb<B: Batch>(subkeys: &Subkeys<B::Cipher>, mut data: InOut<'_>) {
    let mut blocks = [[0; 16]; MAX_WIDTH];
    while !data.is_empty() {
        let count = B::WIDTH.min(data.len() / 16);
        let mut part = data.take(16 * count);
        blocks.as_flattened_mut()[..16 * count].copy_from_slice(part.input());
        // SAFETY: the caller's promise.
        unsafe { B::batch(subkeys, &mut blocks, count) };
        part.output().copy_from_slice(&blocks.as_flattened()[..16 * count]);
    }
}

#[inline(always)]
pub(crate) unsafe fn cbc_encrypt<B: Batch>(
    subkeys: &Subkeys<B::Cipher>,
    chain: &mut Block,
    mut data: InOut<'_>,
) {
    for at in (0..data.len()).step_by(16) {
        // SAFETY: the caller's promise.
        *chain = unsafe { B::one(subkeys, xor(*chain, data.load(at))) };
        data.store(at, *chain);
    }
}

#[inline(always)]
pub(crate) unsafe fn cbc_decrypt<B: Batch>(
    subkeys: &Subkeys<B::Cipher>,
    chain: &mut Block,
    mut data: InOut<'_>,
) {
    let mut blocks = [[0; 16]; MAX_WIDTH];
    while !data.is_empty() {
        let count = B::WIDTH.min(data.len() / 16);
        let mut part = data.take(16 * count);
        blocks.as_flattened_mut()[..16 * count].copy_from_slice(part.input());
        // SAFETY: the caller's promise.
        unsafe { B::batch(subkeys, &mut blocks, count) };
        for i in 0..count {
            let before = *chain;
            *chain = part.load(16 * i);
            part.store(16 * i, xor(blocks[i], before));
        }
    }
}

#[inline(always)]
pub(crate) unsafe fn ctr<B: Batch>(subkeys: &Subkeys<B::Cipher>, chain: &mut Block, mut data: InOut<'_>) {
    let mut blocks = [[0; 16]; MAX_WIDTH];
    let mut counter = u128::from_be_bytes(*chain);
    while !data.is_empty() {
        let count = B::WIDTH.min(data.len() / 16);
        let mut part = data.take(16 * count);
        for i in 0..count {
            blocks[i] = counter.to_be_bytes();
            counter = counter.wrapping_add(1);
        }
        // SAFETY: the caller's promise.
        unsafe { B::batch(subkeys, &mut blocks, count) };
        for i in 0..count {
            part.store(16 * i, xor(part.load(16 * i), blocks[i]));
        }
    }
    *chain = counter.to_be_bytes();
}

/// The functions of a kernel, from its [`Batch`], compiled for its features.
macro_rules! passes {
    ($batch:ty $(, $features:literal)?) => {{
        use $crate::blocks::passes::{Batch, cbc_decrypt, cbc_encrypt, ctr, ecb};
        use $crate::blocks::{Block, Ops, Schedule};
        use $crate::modes::Direction;
        type Keys = Schedule<<$batch as Batch>::Cipher>;
        $(#[target_feature(enable = $features)])?
        fn ecb_pass(schedule: &Keys, direction: Direction, data: $crate::InOut<'_>) {
            let subkeys = schedule.subkeys(direction);
            // SAFETY: this function has the features.
            unsafe { ecb::<$batch>(subkeys, data) }
        }
        $(#[target_feature(enable = $features)])?
        fn cbc_pass(schedule: &Keys, direction: Direction, chain: &mut Block, data: $crate::InOut<'_>) {
            // SAFETY: this function has the features.
            unsafe {
                match direction {
                    Direction::Encrypt => cbc_encrypt::<$batch>(&schedule.encrypt, chain, data),
                    Direction::Decrypt => cbc_decrypt::<$batch>(&schedule.decrypt, chain, data),
                }
            }
        }
        $(#[target_feature(enable = $features)])?
        fn ctr_pass(schedule: &Keys, chain: &mut Block, data: $crate::InOut<'_>) {
            // SAFETY: this function has the features.
            unsafe { ctr::<$batch>(&schedule.encrypt, chain, data) }
        }
        Ops { ecb: ecb_pass, cbc: cbc_pass, ctr: ctr_pass }
    }};
}
pub(crate) use passes;
