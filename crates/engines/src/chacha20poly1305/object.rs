//! One whole object, sealed or opened. The code is the same for every kernel.
//!
//! The first pass makes the one-time Poly1305 key (block 0 of the keystream) together with the
//! keystream of the object's head, so a short object costs one latency of the rounds. `open`
//! authenticates everything before it decrypts anything.
//!
//! Ref. RFC 8439 §2.6 (one-time key), §2.8 (AEAD construction).
//!
//! # Safety
//! The functions of [`Tier`] may need processor features; the `#[target_feature]` function that
//! instantiates [`seal`] or [`open`] has them. [`Tier::head`] promises to have written the bytes
//! it says it has.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use super::poly1305::{BLOCK, Poly1305};
use super::{Key, Nonce, tags_match};
use crate::InOut;
use crate::aead::TAG;

/// Bytes of a ChaCha20 block.
pub(super) const CHACHA_BLOCK: usize = 64;

/// Blocks of keystream that the widest first pass makes.
const PAD_BLOCKS: usize = 20;

/// Data is encrypted and authenticated in pieces that stay in the first-level cache.
const PIECE: usize = 16 * 1024;

/// The functions of a kernel.
pub(super) trait Tier {
    /// The longest head of an object, in bytes: a multiple of 64, less than `64 * PAD_BLOCKS`.
    const HEAD: usize;

    /// Writes keystream from block 0 on: at least the one-time key's block and `len` bytes more,
    /// where `len <= HEAD`. Returns the bytes written.
    ///
    /// # Safety
    /// As the file's head says.
    unsafe fn head(key: &Key, nonce: &Nonce, len: usize, pad: &mut Pad) -> usize;

    /// Encrypts or decrypts `data`, from block `counter` of the keystream on.
    ///
    /// # Safety
    /// As the file's head says.
    unsafe fn keystream(key: &Key, nonce: &Nonce, counter: u32, data: InOut<'_>);

    /// Combines `data` with as many bytes of pad.
    ///
    /// # Safety
    /// As the file's head says.
    unsafe fn xor(data: InOut<'_>, pad: &[u8]);

    /// Does the same as [`Tier::xor`], and leaves the output in `pad` too, filled up with zeros.
    /// `pad` is as long as `data`, rounded up to whole blocks of keystream, so that a kernel may
    /// take it in vectors.
    ///
    /// # Safety
    /// As the file's head says.
    unsafe fn xor_and_keep(data: InOut<'_>, pad: &mut [u8]);

    /// Adds whole blocks to a MAC.
    ///
    /// # Safety
    /// As the file's head says.
    unsafe fn authenticate(mac: &mut Poly1305, blocks: &[u8]);
}

/// The keystream of the first pass: secret, wiped after use.
#[repr(C, align(64))]
pub(super) struct Pad {
    blocks: [MaybeUninit<[u8; CHACHA_BLOCK]>; PAD_BLOCKS],
    /// Blocks written.
    used: usize,
}

impl Pad {
    #[inline(always)]
    fn new() -> Self {
        Pad { blocks: [const { MaybeUninit::uninit() }; PAD_BLOCKS], used: 0 }
    }

    /// Returns the place of block 0, aligned to 64 bytes.
    #[inline(always)]
    pub(super) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.blocks.as_mut_ptr().cast()
    }

    /// Returns the bytes written.
    #[inline(always)]
    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: `used` is set from what `Tier::head` says it has written.
        unsafe { std::slice::from_raw_parts_mut(self.as_mut_ptr(), self.used * CHACHA_BLOCK) }
    }
}

impl Drop for Pad {
    #[inline(always)]
    fn drop(&mut self) {
        for block in &mut self.blocks[..self.used] {
            block.write([0; CHACHA_BLOCK]);
            // The barrier keeps the store from being dropped as dead.
            zeroize::optimization_barrier(block);
        }
    }
}

/// Makes the keystream of an object's beginning, and the MAC with the associated data in it.
#[inline(always)]
unsafe fn begin<T: Tier>(key: &Key, nonce: &Nonce, aad: &[u8], head: usize, pad: &mut Pad) -> Poly1305 {
    // SAFETY: the caller has the features of `T`.
    unsafe {
        pad.used = T::head(key, nonce, head, pad) / CHACHA_BLOCK;
        let one_time_key = (*pad.bytes()).first_chunk().expect("a block is longer than the key");
        let mut mac = Poly1305::new(one_time_key);
        authenticate_padded::<T>(&mut mac, aad);
        mac
    }
}

#[inline(always)]
unsafe fn authenticate_padded<T: Tier>(mac: &mut Poly1305, data: &[u8]) {
    let (whole, tail) = data.split_at(data.len() / BLOCK * BLOCK);
    if !whole.is_empty() {
        // SAFETY: the caller has the features of `T`.
        unsafe { T::authenticate(mac, whole) };
    }
    mac.padded(tail);
}

/// Encrypts `data` and returns the tag.
///
/// # Safety
/// The caller has the features of `T`.
#[inline(always)]
pub(super) unsafe fn seal<T: Tier>(key: &Key, nonce: &Nonce, aad: &[u8], data: InOut<'_>) -> [u8; TAG] {
    let len = data.len();
    let mut pad = Pad::new();
    // SAFETY: the caller has the features of `T`.
    unsafe {
        let mut mac = begin::<T>(key, nonce, aad, len.min(T::HEAD), &mut pad);
        if len <= T::HEAD {
            // The MAC reads the ciphertext from the pad, where it lies in whole vectors: reading
            // it back from the output would wait for the odd-sized stores there.
            let pad = &mut pad.bytes()[CHACHA_BLOCK..CHACHA_BLOCK + len.next_multiple_of(CHACHA_BLOCK)];
            T::xor_and_keep(data, pad);
            if len > 0 {
                T::authenticate(&mut mac, &pad[..len.next_multiple_of(BLOCK)]);
            }
        } else {
            seal_long::<T>(key, nonce, data, &mut mac, &pad.bytes()[CHACHA_BLOCK..]);
        }
        mac.lengths(aad.len() as u64, len as u64);
        mac.tag()
    }
}

/// Encrypts and authenticates an object that is longer than the head, whose keystream is in `pad`.
#[inline(always)]
unsafe fn seal_long<T: Tier>(key: &Key, nonce: &Nonce, mut data: InOut<'_>, mac: &mut Poly1305, pad: &[u8]) {
    let mut counter = 1 + (T::HEAD / CHACHA_BLOCK) as u32;
    let mut piece = data.take(data.len().min(PIECE));
    let (head, rest) = piece.reborrow().split_at(T::HEAD);
    // SAFETY: the caller has the features of `T`.
    unsafe {
        T::xor(head, &pad[..T::HEAD]);
        T::keystream(key, nonce, counter, rest);
        authenticate_padded::<T>(mac, piece.output());
        counter += ((PIECE - T::HEAD) / CHACHA_BLOCK) as u32;
        while !data.is_empty() {
            let mut piece = data.take(data.len().min(PIECE));
            T::keystream(key, nonce, counter, piece.reborrow());
            authenticate_padded::<T>(mac, piece.output());
            counter = counter.wrapping_add((PIECE / CHACHA_BLOCK) as u32);
        }
    }
}

/// Decrypts `data` if `tag` is right and returns true; otherwise writes nothing and returns false.
///
/// # Safety
/// The caller has the features of `T`.
#[inline(always)]
pub(super) unsafe fn open<T: Tier>(
    key: &Key,
    nonce: &Nonce,
    aad: &[u8],
    data: InOut<'_>,
    tag: &[u8; TAG],
) -> bool {
    let len = data.len();
    let head = len.min(T::HEAD);
    let mut pad = Pad::new();
    // SAFETY: the caller has the features of `T`.
    unsafe {
        let mut mac = begin::<T>(key, nonce, aad, head, &mut pad);
        authenticate_padded::<T>(&mut mac, data.input());
        mac.lengths(aad.len() as u64, len as u64);
        if !tags_match(&mac.tag(), tag) {
            return false;
        }
        let (first, rest) = data.split_at(head);
        T::xor(first, &pad.bytes()[CHACHA_BLOCK..CHACHA_BLOCK + head]);
        if !rest.is_empty() {
            T::keystream(key, nonce, (1 + head / CHACHA_BLOCK) as u32, rest);
        }
    }
    true
}
