//! ChaCha20 with AVX2: eight blocks down the vectors in bulk, two or four across for short objects;
//! Poly1305 by four.
//!
//! Ref. RFC 8439 §2.3, §2.4.
//!
//! # Safety
//! The functions of the table have the features in their `target_feature` attribute, for which the
//! table's row asks, and instantiate [`Tier`] methods under it. Loads and stores of data are inside
//! the `InOut` they belong to; those of keystream inside the pad.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::object::{self, CHACHA_BLOCK, Pad, Tier};
use super::super::poly1305::Poly1305;
use super::super::vector::{Rows, Words};
use super::super::{Key, Nonce, Ops};
use super::limbs26;
use super::ymm::{self, Ymm};
use crate::InOut;
use crate::aead::TAG;

pub(in super::super) const OPS: Ops = Ops { seal, open, keystream, authenticate: limbs26::authenticate };

#[target_feature(enable = "avx2,bmi2")]
unsafe fn seal(key: &Key, nonce: &Nonce, aad: &[u8], data: InOut<'_>) -> [u8; TAG] {
    // SAFETY: the features are this function's.
    unsafe { object::seal::<Avx2>(key, nonce, aad, data) }
}

#[target_feature(enable = "avx2,bmi2")]
unsafe fn open(key: &Key, nonce: &Nonce, aad: &[u8], data: InOut<'_>, tag: &[u8; TAG]) -> bool {
    // SAFETY: the features are this function's.
    unsafe { object::open::<Avx2>(key, nonce, aad, data, tag) }
}

/// Blocks that the bulk loop makes at once.
const WIDE: usize = ymm::WIDE;
/// Bytes in a vector.
const VECTOR: usize = 32;

pub(super) struct Avx2;

impl Tier for Avx2 {
    const HEAD: usize = (WIDE - 1) * CHACHA_BLOCK;

    #[inline(always)]
    unsafe fn head(key: &Key, nonce: &Nonce, len: usize, pad: &mut Pad) -> usize {
        let out = pad.as_mut_ptr();
        // SAFETY: the caller has the features; a pad has room for 20 blocks.
        unsafe {
            match len {
                0..=64 => ymm::across::<Vector, 1>(key, nonce, 0, out),
                65..=192 => ymm::across::<Vector, 2>(key, nonce, 0, out),
                _ => {
                    out.cast::<[__m256i; 2 * WIDE]>().write(ymm::down::<Vector>(key, nonce, 0));
                    WIDE * CHACHA_BLOCK
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn keystream(key: &Key, nonce: &Nonce, counter: u32, data: InOut<'_>) {
        // SAFETY: the caller has the features.
        unsafe { keystream(key, nonce, counter, data) }
    }

    #[inline(always)]
    unsafe fn xor(data: InOut<'_>, pad: &[u8]) {
        // SAFETY: the caller has the features.
        unsafe { xor(data, pad) }
    }

    #[inline(always)]
    unsafe fn xor_and_keep(mut data: InOut<'_>, pad: &mut [u8]) {
        let (kept, filler) = pad.split_at_mut(data.len());
        // SAFETY: the caller has the features.
        unsafe { xor(data.reborrow(), kept) };
        kept.copy_from_slice(data.output());
        filler.fill(0);
    }

    #[inline(always)]
    unsafe fn authenticate(mac: &mut Poly1305, blocks: &[u8]) {
        // SAFETY: the caller has the features.
        unsafe { limbs26::authenticate(mac, blocks) }
    }
}

/// Encrypts or decrypts `data` from block `counter` on.
#[target_feature(enable = "avx2")]
fn keystream(key: &Key, nonce: &Nonce, mut counter: u32, mut data: InOut<'_>) {
    while data.len() >= WIDE * CHACHA_BLOCK {
        let mut chunk = data.take(WIDE * CHACHA_BLOCK);
        let (input, output) = (chunk.input_ptr().cast::<__m256i>(), chunk.output_ptr().cast::<__m256i>());
        // SAFETY: the features are this function's; a chunk is 16 vectors.
        unsafe {
            let pad = ymm::down::<Vector>(key, nonce, counter);
            for i in 0..pad.len() {
                _mm256_storeu_si256(
                    output.add(i),
                    _mm256_xor_si256(_mm256_loadu_si256(input.add(i)), pad[i]),
                );
            }
        }
        counter = counter.wrapping_add(WIDE as u32);
    }
    if !data.is_empty() {
        let mut pad = [_mm256_setzero_si256(); 2 * WIDE];
        let (out, len) = (&raw mut pad, data.len());
        // SAFETY: there is room for eight blocks, all of which are written where `len` needs them.
        unsafe {
            match len {
                0..=128 => _ = ymm::across::<Vector, 1>(key, nonce, counter, out.cast()),
                129..=256 => _ = ymm::across::<Vector, 2>(key, nonce, counter, out.cast()),
                _ => out.write(ymm::down::<Vector>(key, nonce, counter)),
            }
            xor(data, std::slice::from_raw_parts(out.cast::<u8>(), len));
        }
    }
}

/// Combines `data` with as many bytes of `pad`.
#[inline]
#[target_feature(enable = "avx2")]
fn xor(mut data: InOut<'_>, pad: &[u8]) {
    assert!(pad.len() == data.len());
    let whole = pad.len() / VECTOR * VECTOR;
    let (input, output) = (data.input_ptr(), data.output_ptr());
    let mut at = 0;
    while at < whole {
        // SAFETY: `at + 32 <= whole`, inside all three.
        unsafe {
            let x = _mm256_loadu_si256(input.add(at).cast());
            let x = _mm256_xor_si256(x, _mm256_loadu_si256(pad.as_ptr().add(at).cast()));
            _mm256_storeu_si256(output.add(at).cast(), x);
        }
        at += VECTOR;
    }
    let (_, mut tail) = data.split_at(whole);
    let mut rest = &pad[whole..];
    if let Some((first, after)) = rest.split_first_chunk() {
        let block = u128::from_le_bytes(tail.load(0)) ^ u128::from_le_bytes(*first);
        tail.store(0, block.to_le_bytes());
        tail.take(16);
        rest = after;
    }
    tail.xor(rest);
}

#[derive(Clone, Copy)]
pub(super) struct Vector(__m256i);

impl Words for Vector {
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller has the features.
        Vector(unsafe { _mm256_add_epi32(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller has the features.
        Vector(unsafe { _mm256_xor_si256(self.0, other.0) })
    }

    /// Rotates by whole bytes with a byte shuffle, which is one instruction, and by other counts
    /// with two shifts.
    #[inline(always)]
    unsafe fn rotate<const LEFT: i32>(self) -> Self {
        // SAFETY: the caller has the features.
        Vector(unsafe {
            match LEFT {
                16 => _mm256_shuffle_epi8(self.0, byte_rotation::<2>()),
                8 => _mm256_shuffle_epi8(self.0, byte_rotation::<1>()),
                12 => _mm256_or_si256(_mm256_slli_epi32::<12>(self.0), _mm256_srli_epi32::<20>(self.0)),
                7 => _mm256_or_si256(_mm256_slli_epi32::<7>(self.0), _mm256_srli_epi32::<25>(self.0)),
                _ => unreachable!(),
            }
        })
    }
}

/// Returns the shuffle that rotates words left by so many bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn byte_rotation<const BYTES: i64>() -> __m256i {
    let (low, high) = match BYTES {
        1 => (0x0605_0407_0201_0003, 0x0e0d_0c0f_0a09_080b),
        _ => (0x0504_0706_0100_0302, 0x0d0c_0f0e_0908_0b0a),
    };
    _mm256_set_epi64x(high, low, high, low)
}

impl Rows for Vector {
    #[inline(always)]
    unsafe fn turn<const N: usize>(self) -> Self {
        // SAFETY: the caller has the features.
        Vector(unsafe { ymm::turn::<N>(self.0) })
    }
}

impl Ymm for Vector {
    #[inline(always)]
    fn of(vector: __m256i) -> Self {
        Vector(vector)
    }

    #[inline(always)]
    fn vector(self) -> __m256i {
        self.0
    }
}
