//! The AES key schedule: the round keys in the order in which a kernel uses them.
//!
//! Ref. FIPS 197 §5.2 (key expansion) and §5.3.5 (the equivalent inverse cipher).
//!
//! # Safety
//! Dropping a schedule overwrites its own bytes with volatile writes, which the compiler may not
//! leave out: in words of 16 bytes, because a volatile write of an array becomes a call.
#![allow(unsafe_code)]

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::uint8x16_t as Word;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m128i as Word;
#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
use std::primitive::u128 as Word;

use std::ptr;
use std::sync::atomic::{Ordering, compiler_fence};

use zeroize::ZeroizeOnDrop;

use super::sliced::sub_word;
use crate::Error;

/// The key lengths of AES, in bits.
pub(crate) const KEY_BITS: &[usize] = &[128, 192, 256];

/// One block, or one round key.
pub type Block = [u8; 16];

/// The form of round keys.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum Form {
    /// The form of FIPS 197.
    Standard,
    /// Bitsliced, for the portable kernel.
    Sliced,
    /// In the form of `tower.rs`.
    Tower,
}

/// The round keys of one key for one direction, in the form of the kernels that expanded it.
#[derive(Clone)]
#[repr(C, align(16))]
pub struct Schedule {
    pub(crate) encrypt: [Block; 15],
    /// 10, 12 or 14.
    pub(crate) rounds: usize,
    pub(crate) form: Form,
    /// Zeros in place of padding. Padding would carry along whatever lay on the stack where a key is
    /// made.
    pub(crate) unused: [u8; 7],
}

/// Expands a key of 16, 24 or 32 bytes into a blank schedule.
pub(crate) type Expand = unsafe fn(&mut Schedule, &[u8]);

/// Turns a blank schedule into the decryption schedule that belongs to an encryption schedule.
pub(crate) type Invert = unsafe fn(&Schedule, &mut Schedule);

impl Schedule {
    /// Returns a schedule of the right number of rounds, with no round keys yet.
    ///
    /// # Errors
    /// [`Error::KeyLength`] unless the key has 16, 24 or 32 bytes.
    #[inline]
    pub(crate) fn blank(algorithm: &'static str, key: &[u8]) -> Result<Self, Error> {
        match key.len() {
            16 | 24 | 32 => Ok(Schedule {
                encrypt: [[0; 16]; 15],
                rounds: key.len() / 4 + 6,
                form: Form::Standard,
                unused: [0; 7],
            }),
            given => Err(Error::KeyLength { algorithm, given, takes: "16, 24 or 32 bytes" }),
        }
    }

    /// The round keys in use, `rounds + 1` of them.
    #[inline(always)]
    pub(crate) fn round_keys(&self) -> &[Block] {
        &self.encrypt[..self.rounds + 1]
    }
}

impl Drop for Schedule {
    #[inline]
    fn drop(&mut self) {
        for block in &mut self.encrypt {
            // SAFETY: a block of our own, which is aligned to 16, and zeros are a value of the type.
            unsafe { ptr::from_mut(block).cast::<Word>().write_volatile(std::mem::zeroed()) };
        }
        compiler_fence(Ordering::SeqCst);
    }
}

impl ZeroizeOnDrop for Schedule {}

/// Expands `key` as FIPS 197 writes it, with arithmetic alone, in constant time.
pub(crate) fn expand_portable(schedule: &mut Schedule, key: &[u8]) {
    let words = key.len() / 4;
    let total = 4 * (schedule.rounds + 1);
    let w = schedule.encrypt.as_flattened_mut().as_chunks_mut::<4>().0;
    w[..words].copy_from_slice(key.as_chunks::<4>().0);
    let mut rcon = 1u8;
    for i in words..total {
        let mut t = w[i - 1];
        if i % words == 0 {
            t.rotate_left(1);
            t = sub_word(t);
            t[0] ^= rcon;
            rcon = (rcon << 1) ^ ((rcon >> 7) * 0x1b);
        } else if words > 6 && i % words == 4 {
            t = sub_word(t);
        }
        for j in 0..4 {
            w[i][j] = w[i - words][j] ^ t[j];
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use millstream_testkit::{hex, hex_array};

    /// FIPS 197 appendix A: each key and its last round key.
    pub(crate) const EXAMPLES: [(&str, &str); 3] = [
        ("2b7e151628aed2a6abf7158809cf4f3c", "d014f9a8c9ee2589e13f0cc8b6630ca6"),
        ("8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b", "e98ba06f448c773c8ecc720401002202"),
        (
            "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
            "fe4890d1e6188d0b046df344706c631e",
        ),
    ];

    #[test]
    fn miri_expands_the_examples_of_the_standard() {
        for (key, last) in EXAMPLES {
            let key = hex(key);
            let mut schedule = Schedule::blank("aes", &key).unwrap();
            expand_portable(&mut schedule, &key);
            assert_eq!(*schedule.round_keys().last().unwrap(), hex_array(last));
        }
    }

    #[test]
    fn other_lengths_are_refused() {
        for len in (0..40).filter(|len| ![16, 24, 32].contains(len)) {
            assert!(Schedule::blank("aes", &vec![0; len]).is_err(), "{len} bytes");
        }
    }
}
