//! One, two or four blocks of AES-GCM in a vector, and the ends of a text that fill none.
//!
//! # Safety
//! A value of a [`Vector`] type is the witness that the processor has that type's instructions:
//! the only functions that make one from nothing are unsafe and are called from a row's functions,
//! inside its target features. Everything here is inlined into those. Pointers come from slices
//! and [`InOut`](crate::InOut)s, and stay within the lengths given beside them.
#![allow(unsafe_code)]

use crate::aes::schedule::Form;

pub(super) const BLOCK: usize = 16;

/// One, two or four blocks side by side.
pub(super) trait Vector: Copy {
    /// The number of blocks.
    const BLOCKS: usize;
    /// The form of the round keys.
    const FORM: Form = Form::Standard;
    /// True if the rounds of AES are a loop: see [`Unit::LOOP`](crate::aes::unit::Unit::LOOP).
    const LOOP: bool = false;
    /// The type of one block.
    type One: Vector<One = Self::One>;

    /// The same block in every place.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn broadcast(block: &[u8; BLOCK]) -> Self;

    /// Loads any bytes.
    ///
    /// # Safety
    /// As [`Vector::broadcast`]; the vector's bytes at `from` can be read.
    unsafe fn load(from: *const u8) -> Self;

    /// Loads the first `n` bytes, and fills up with zeros. `n` may be anything from 0 to the vector's size.
    ///
    /// # Safety
    /// As [`Vector::broadcast`]; `n` bytes at `from` can be read.
    unsafe fn load_part(from: *const u8, n: usize) -> Self;

    /// Does the same as [`Vector::load_part`] for one block.
    ///
    /// # Safety
    /// As [`Vector::load_part`].
    unsafe fn load_block(from: *const u8, n: usize) -> Self::One;

    /// Writes the vector.
    ///
    /// # Safety
    /// Its bytes at `to` can be written.
    unsafe fn store(self, to: *mut u8);

    /// Writes the first `n` bytes.
    ///
    /// # Safety
    /// `n` bytes at `to` can be written.
    unsafe fn store_part(self, to: *mut u8, n: usize);

    /// Does the same as [`Vector::load_part`], one place up: place 0 is zero.
    ///
    /// # Safety
    /// As [`Vector::load_part`]; `n` is at most the size of the other places.
    unsafe fn load_above(from: *const u8, n: usize) -> Self;

    /// Does the same as [`Vector::store_part`], from place 1 on.
    ///
    /// # Safety
    /// As [`Vector::store_part`]; `n` is at most the size of the other places.
    unsafe fn store_above(self, to: *mut u8, n: usize);

    /// Keeps the first `n` bytes, and zeroes the others.
    fn keep(self, n: usize) -> Self;
    /// Keeps the first `n` bytes from place 1 on, and zeroes everything else.
    fn keep_above(self, n: usize) -> Self;

    fn xor(self, other: Self) -> Self;
    fn xor3(self, b: Self, c: Self) -> Self;
    /// Goes from the XOR with the first round key to the first round of AES.
    #[inline(always)]
    fn enter(self) -> Self {
        self
    }
    /// One middle round of AES.
    fn round(self, key: Self) -> Self;
    /// Does nothing, but the compiler keeps all such places in their order. It might otherwise sort the rounds of
    /// several blocks into those of one after the other, which wait for each other. It might also move GHASH behind
    /// the rounds that it stands between, and all the powers would wait for it on the stack. This is for processors
    /// with plenty of registers.
    #[inline(always)]
    fn pin(&mut self) {}
    /// The last round of AES.
    fn last_round(self, key: Self) -> Self;
    /// Returns the carry-less product of a half of each block and a half of each of `other`: the upper half of these
    /// if `A` is 1, of those if `B` is 1.
    fn multiply<const A: i32, const B: i32>(self, other: Self) -> Self;
    /// Reverses the bytes of each block: from memory's order to an integer's, and back.
    fn reverse(self) -> Self;
    /// The 64-bit halves of each block exchanged.
    fn swap(self) -> Self;
    /// The sum in each 32-bit part, which for a block as an integer is inc32 of §6.2.
    fn add32(self, other: Self) -> Self;

    /// The blocks' sum in GF(2^128).
    fn sum(self) -> Self::One;
    /// Place 0.
    fn first(self) -> Self::One;
    /// One block in place 0, zeros in the others.
    fn from_first(first: Self::One) -> Self;
    /// Returns the same vector with place 0 replaced.
    fn with_first(self, first: Self::One) -> Self;
    /// The same block in every place.
    fn repeat(one: Self::One) -> Self;
    /// A block a place, as many as there are places.
    fn join(blocks: &[Self::One]) -> Self;
    /// A block as an integer.
    ///
    /// # Safety
    /// As [`Vector::broadcast`].
    unsafe fn one(value: u128) -> Self::One;
    /// The integer.
    fn value(one: Self::One) -> u128;
    /// The numbers 0, 1, 2, 3, which are added to a repeated counter.
    ///
    /// # Safety
    /// As [`Vector::broadcast`].
    unsafe fn indices() -> Self;
}

/// The first `n` bytes at `from`, at most 16, as the low bytes of a little-endian integer.
///
/// # Safety
/// `n` bytes at `from` can be read.
#[inline(always)]
pub(super) unsafe fn read_part(from: *const u8, n: usize) -> u128 {
    // SAFETY: two loads inside 0..n, which overlap where n is between their sizes and there have
    // the same bits; for less than four bytes the first, the middle and the last.
    unsafe {
        match n {
            16.. => u128::from_le_bytes(from.cast::<[u8; 16]>().read()),
            8.. => {
                let low = u64::from_le_bytes(from.cast::<[u8; 8]>().read());
                let high = u64::from_le_bytes(from.add(n - 8).cast::<[u8; 8]>().read());
                let high = high.checked_shr(8 * (16 - n as u32)).unwrap_or(0);
                u128::from(high) << 64 | u128::from(low)
            }
            4.. => {
                let low = u64::from(u32::from_le_bytes(from.cast::<[u8; 4]>().read()));
                let high = u64::from(u32::from_le_bytes(from.add(n - 4).cast::<[u8; 4]>().read()));
                u128::from(low | high << (8 * (n - 4)))
            }
            1.. => {
                let byte = |i: usize| u32::from(from.add(i).read()) << (8 * i);
                u128::from(byte(0) | byte(n / 2) | byte(n - 1))
            }
            0 => 0,
        }
    }
}

/// Writes the `n` low bytes of `value`, at most 16, in little-endian order.
///
/// # Safety
/// `n` bytes at `to` can be written.
#[inline(always)]
pub(super) unsafe fn write_part(value: u128, to: *mut u8, n: usize) {
    // SAFETY: as in `read_part`.
    unsafe {
        match n {
            16.. => to.cast::<[u8; 16]>().write(value.to_le_bytes()),
            8.. => {
                to.add(n - 8).cast::<[u8; 8]>().write(((value >> (8 * (n - 8))) as u64).to_le_bytes());
                to.cast::<[u8; 8]>().write((value as u64).to_le_bytes());
            }
            4.. => {
                to.add(n - 4).cast::<[u8; 4]>().write(((value as u64 >> (8 * (n - 4))) as u32).to_le_bytes());
                to.cast::<[u8; 4]>().write((value as u32).to_le_bytes());
            }
            1.. => {
                to.add(n - 1).write((value as u32 >> (8 * (n - 1))) as u8);
                to.add(n / 2).write((value as u32 >> (8 * (n / 2))) as u8);
                to.write(value as u8);
            }
            0 => {}
        }
    }
}

/// Thirty-two ones, then thirty-two zeros: from 32 - n on, a mask of n bytes.
pub(super) static KEEP: [u8; 64] = {
    let mut mask = [0; 64];
    let mut i = 0;
    while i < 32 {
        mask[i] = 0xff;
        i += 1;
    }
    mask
};
