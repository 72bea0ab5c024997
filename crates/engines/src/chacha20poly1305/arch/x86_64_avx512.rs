//! ChaCha20 with AVX-512: 16 blocks down the vectors in bulk, 4 to 20 blocks in one latency of the
//! rounds for the head of an object; Poly1305 with AVX-512 IFMA.
//!
//! Ref. RFC 8439 §2.3, §2.4.
//!
//! # Safety
//! The functions of the table have the features in their `target_feature` attribute, for which the
//! table's row asks, and instantiate [`Tier`] methods under it. Loads and stores of data are inside
//! the `InOut` they belong to, or masked off; those of keystream inside the pad.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::object::{self, CHACHA_BLOCK, Pad, Tier};
use super::super::poly1305::Poly1305;
use super::super::vector::{Rows, SIGMA, Words, double_round_across, double_round_down};
use super::super::{Key, Nonce, Ops};
use super::ifma;
use super::ymm::{self, Ymm};
use crate::InOut;
use crate::aead::TAG;

pub(in super::super) const OPS: Ops = Ops { seal, open, keystream, authenticate: ifma::authenticate };

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
unsafe fn seal(key: &Key, nonce: &Nonce, aad: &[u8], data: InOut<'_>) -> [u8; TAG] {
    // SAFETY: the features are this function's.
    unsafe { object::seal::<Avx512>(key, nonce, aad, data) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
unsafe fn open(key: &Key, nonce: &Nonce, aad: &[u8], data: InOut<'_>, tag: &[u8; TAG]) -> bool {
    // SAFETY: the features are this function's.
    unsafe { object::open::<Avx512>(key, nonce, aad, data, tag) }
}

/// Blocks that the bulk loop makes at once.
const WIDE: usize = 16;
/// Blocks of one set of rows.
const SET: usize = 4;

pub(super) struct Avx512;

impl Tier for Avx512 {
    const HEAD: usize = (SET + WIDE - 1) * CHACHA_BLOCK;

    #[inline(always)]
    unsafe fn head(key: &Key, nonce: &Nonce, len: usize, pad: &mut Pad) -> usize {
        let out = pad.as_mut_ptr();
        // SAFETY: the caller has the features; a pad has room for 20 blocks.
        unsafe {
            match len {
                0..=64 => ymm::across::<Narrow, 1>(key, nonce, 0, out),
                65..=192 => ymm::across::<Narrow, 2>(key, nonce, 0, out),
                193..=448 => ymm::across::<Narrow, 4>(key, nonce, 0, out),
                449..=704 => across::<3>(key, nonce, 0, out),
                705..=960 => across::<4>(key, nonce, 0, out),
                _ => across_and_down(key, nonce, out),
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
    unsafe fn xor_and_keep(data: InOut<'_>, pad: &mut [u8]) {
        // SAFETY: the caller has the features.
        unsafe { xor_and_keep(data, pad) }
    }

    #[inline(always)]
    unsafe fn authenticate(mac: &mut Poly1305, blocks: &[u8]) {
        // SAFETY: the caller has the features.
        unsafe { ifma::authenticate(mac, blocks) }
    }
}

/// Encrypts or decrypts `data` from block `counter` on.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
fn keystream(key: &Key, nonce: &Nonce, mut counter: u32, mut data: InOut<'_>) {
    while data.len() > 3 * SET * CHACHA_BLOCK {
        let blocks = down(key, nonce, counter);
        let n = data.len().min(WIDE * CHACHA_BLOCK);
        xor_blocks(data.take(n), &blocks);
        counter = counter.wrapping_add(WIDE as u32);
    }
    if !data.is_empty() {
        let mut pad = [const { std::mem::MaybeUninit::<[u8; CHACHA_BLOCK]>::uninit() }; 3 * SET];
        let out = pad.as_mut_ptr().cast();
        // SAFETY: there is room for three sets, and so many bytes as are used were written.
        unsafe {
            match data.len() {
                0..=128 => ymm::across::<Narrow, 1>(key, nonce, counter, out),
                129..=256 => ymm::across::<Narrow, 2>(key, nonce, counter, out),
                257..=512 => ymm::across::<Narrow, 4>(key, nonce, counter, out),
                _ => across::<3>(key, nonce, counter, out),
            };
            let len = data.len();
            xor(data, std::slice::from_raw_parts(out, len));
        }
    }
}

/// Combines `data` with as many bytes of `pad`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn xor(mut data: InOut<'_>, pad: &[u8]) {
    let len = data.len();
    assert!(pad.len() == len);
    let (input, output, pad) = (data.input_ptr(), data.output_ptr(), pad.as_ptr());
    let mut at = 0;
    // SAFETY: `at + 64 <= len` in the loop; the rest of fewer bytes is masked.
    unsafe {
        while len - at >= CHACHA_BLOCK {
            let x = _mm512_xor_si512(
                _mm512_loadu_si512(input.add(at).cast()),
                _mm512_loadu_si512(pad.add(at).cast()),
            );
            _mm512_storeu_si512(output.add(at).cast(), x);
            at += CHACHA_BLOCK;
        }
        if at < len {
            let mask = (1u64 << (len - at)) - 1;
            let x = _mm512_xor_si512(
                _mm512_maskz_loadu_epi8(mask, input.add(at).cast()),
                _mm512_maskz_loadu_epi8(mask, pad.add(at).cast()),
            );
            _mm512_mask_storeu_epi8(output.add(at).cast(), mask, x);
        }
    }
}

/// Does the same as [`xor`], and leaves the output in `pad` too (see [`Tier::xor_and_keep`]), which
/// is part of a [`Pad`].
///
/// # Safety
/// `pad` is aligned to 64 bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn xor_and_keep(mut data: InOut<'_>, pad: &mut [u8]) {
    let len = data.len();
    assert!(pad.len() >= len.next_multiple_of(CHACHA_BLOCK));
    let (input, output, pad) = (data.input_ptr(), data.output_ptr(), pad.as_mut_ptr());
    let mut at = 0;
    while at < len {
        let mask = u64::MAX >> (CHACHA_BLOCK - (len - at).min(CHACHA_BLOCK));
        // SAFETY: bytes past the end of the data are masked off; the pad has whole blocks, whose
        // alignment the caller promises.
        unsafe {
            let pad = pad.add(at).cast::<__m512i>();
            let x = _mm512_maskz_loadu_epi8(mask, input.add(at).cast());
            let x = _mm512_maskz_mov_epi8(mask, _mm512_xor_si512(x, _mm512_load_si512(pad)));
            _mm512_mask_storeu_epi8(output.add(at).cast(), mask, x);
            _mm512_store_si512(pad, x);
        }
        at += CHACHA_BLOCK;
    }
}

/// Combines up to 16 blocks of data with keystream in registers.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn xor_blocks(mut data: InOut<'_>, pad: &[__m512i; WIDE]) {
    let len = data.len();
    let (input, output) = (data.input_ptr(), data.output_ptr());
    if len == WIDE * CHACHA_BLOCK {
        for i in 0..WIDE {
            // SAFETY: block `i` of 16.
            unsafe {
                let x = _mm512_xor_si512(_mm512_loadu_si512(input.cast::<__m512i>().add(i)), pad[i]);
                _mm512_storeu_si512(output.cast::<__m512i>().add(i), x);
            }
        }
        return;
    }
    for i in 0..WIDE {
        let at = i * CHACHA_BLOCK;
        // A masked access of nothing would take long if there is no memory behind the end.
        if at >= len {
            break;
        }
        let mask = u64::MAX >> (CHACHA_BLOCK - (len - at).min(CHACHA_BLOCK));
        // SAFETY: bytes past the end are masked off.
        unsafe {
            let x = _mm512_maskz_loadu_epi8(mask, input.add(at).cast());
            let x = _mm512_xor_si512(x, pad[i]);
            _mm512_mask_storeu_epi8(output.add(at).cast(), mask, x);
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Vector(pub(super) __m512i);

impl Words for Vector {
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller has the features.
        Vector(unsafe { _mm512_add_epi32(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller has the features.
        Vector(unsafe { _mm512_xor_si512(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn rotate<const LEFT: i32>(self) -> Self {
        // SAFETY: the caller has the features.
        Vector(unsafe { _mm512_rol_epi32::<LEFT>(self.0) })
    }
}

impl Rows for Vector {
    #[inline(always)]
    unsafe fn turn<const N: usize>(self) -> Self {
        // SAFETY: the caller has the features.
        Vector(unsafe {
            match N {
                1 => _mm512_shuffle_epi32::<0b00_11_10_01>(self.0),
                2 => _mm512_shuffle_epi32::<0b01_00_11_10>(self.0),
                _ => _mm512_shuffle_epi32::<0b10_01_00_11>(self.0),
            }
        })
    }
}

/// A vector of 256 bits, for objects that are short enough. Such an object waits only for the
/// rounds' latency, which is less here on processors whose 512-bit operations take two turns.
#[derive(Clone, Copy)]
struct Narrow(__m256i);

impl Words for Narrow {
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller has the features.
        Narrow(unsafe { _mm256_add_epi32(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller has the features.
        Narrow(unsafe { _mm256_xor_si256(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn rotate<const LEFT: i32>(self) -> Self {
        // SAFETY: the caller has the features.
        Narrow(unsafe { _mm256_rol_epi32::<LEFT>(self.0) })
    }
}

impl Rows for Narrow {
    #[inline(always)]
    unsafe fn turn<const N: usize>(self) -> Self {
        // SAFETY: the caller has the features.
        Narrow(unsafe { ymm::turn::<N>(self.0) })
    }
}

impl Ymm for Narrow {
    #[inline(always)]
    fn of(vector: __m256i) -> Self {
        Narrow(vector)
    }

    #[inline(always)]
    fn vector(self) -> __m256i {
        self.0
    }
}

/// The state of four blocks as rows: constants, key, key, counter and nonce (RFC 8439 §2.3).
#[inline]
#[target_feature(enable = "avx512f")]
fn rows(key: &Key, nonce: &Nonce, counter: u32) -> [Vector; 4] {
    let counters = _mm512_set_epi32(0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0);
    let [n0, n1, n2] = nonce.map(|word| word as i32);
    let last = _mm512_broadcast_i32x4(_mm_set_epi32(n2, n1, n0, counter as i32));
    // SAFETY: four constants and eight words of key.
    let (constants, key0, key4) = unsafe {
        let key = key.0.as_ptr().cast::<__m128i>();
        (_mm_loadu_si128(SIGMA.as_ptr().cast()), _mm_loadu_si128(key), _mm_loadu_si128(key.add(1)))
    };
    [
        Vector(_mm512_broadcast_i32x4(constants)),
        Vector(_mm512_broadcast_i32x4(key0)),
        Vector(_mm512_broadcast_i32x4(key4)),
        Vector(_mm512_add_epi32(last, counters)),
    ]
}

/// Turns four rows of four blocks into the blocks, and writes them.
///
/// # Safety
/// `out` has room for 256 bytes.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn write_set([a, b, c, d]: [Vector; 4], out: *mut u8) {
    let ab01 = _mm512_shuffle_i32x4::<0x44>(a.0, b.0);
    let ab23 = _mm512_shuffle_i32x4::<0xee>(a.0, b.0);
    let cd01 = _mm512_shuffle_i32x4::<0x44>(c.0, d.0);
    let cd23 = _mm512_shuffle_i32x4::<0xee>(c.0, d.0);
    // SAFETY: the caller's.
    unsafe {
        let out = out.cast::<__m512i>();
        _mm512_storeu_si512(out, _mm512_shuffle_i32x4::<0x88>(ab01, cd01));
        _mm512_storeu_si512(out.add(1), _mm512_shuffle_i32x4::<0xdd>(ab01, cd01));
        _mm512_storeu_si512(out.add(2), _mm512_shuffle_i32x4::<0x88>(ab23, cd23));
        _mm512_storeu_si512(out.add(3), _mm512_shuffle_i32x4::<0xdd>(ab23, cd23));
    }
}

/// Writes the keystream of `SETS` sets of blocks, and returns its length.
///
/// # Safety
/// `out` has room for it.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn across<const SETS: usize>(key: &Key, nonce: &Nonce, counter: u32, out: *mut u8) -> usize {
    let start = rows(key, nonce, counter);
    let mut x = [start; SETS];
    for s in 0..SETS {
        x[s][3] = Vector(_mm512_add_epi32(start[3].0, first_words((SET * s) as i32)));
    }
    // SAFETY: the features are this function's; the caller's room.
    unsafe {
        for _ in 0..10 {
            double_round_across(&mut x);
        }
        for s in 0..SETS {
            for i in 0..4 {
                x[s][i] = x[s][i].add(start[i]);
            }
            x[s][3] = Vector(_mm512_add_epi32(x[s][3].0, first_words((SET * s) as i32)));
            write_set(x[s], out.add(s * SET * CHACHA_BLOCK));
        }
    }
    SETS * SET * CHACHA_BLOCK
}

/// `n` in the counter's place of every row.
#[inline]
#[target_feature(enable = "avx512f")]
fn first_words(n: i32) -> __m512i {
    _mm512_maskz_set1_epi32(0x1111, n)
}

/// The state of 16 blocks, a word a vector.
#[inline]
#[target_feature(enable = "avx512f")]
fn columns(key: &Key, nonce: &Nonce, counter: u32) -> [Vector; 16] {
    let mut x = [Vector(_mm512_setzero_si512()); 16];
    for i in 0..4 {
        x[i] = Vector(_mm512_set1_epi32(SIGMA[i] as i32));
    }
    for i in 0..8 {
        x[4 + i] = Vector(_mm512_set1_epi32(key.0[i] as i32));
    }
    let counters = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    x[12] = Vector(_mm512_add_epi32(_mm512_set1_epi32(counter as i32), counters));
    for i in 0..3 {
        x[13 + i] = Vector(_mm512_set1_epi32(nonce[i] as i32));
    }
    x
}

/// The keystream of 16 blocks, a block a vector.
#[inline]
#[target_feature(enable = "avx512f")]
fn down(key: &Key, nonce: &Nonce, counter: u32) -> [__m512i; WIDE] {
    let mut x = columns(key, nonce, counter);
    // SAFETY: the features are this function's.
    unsafe {
        for _ in 0..10 {
            double_round_down(&mut x);
        }
    }
    finish(x, key, nonce, counter)
}

/// Adds the state to the rounds' result, and turns words into blocks.
#[inline]
#[target_feature(enable = "avx512f")]
fn finish(mut x: [Vector; 16], key: &Key, nonce: &Nonce, counter: u32) -> [__m512i; WIDE] {
    let start = columns(key, nonce, counter);
    for i in 0..16 {
        x[i].0 = _mm512_add_epi32(x[i].0, start[i].0);
    }
    transpose(x)
}

/// Transposes a 16 by 16 matrix of words.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn transpose(x: [Vector; 16]) -> [__m512i; 16] {
    // Part l of `quads[g][k]` holds words 4 g to 4 g + 3 of block 4 l + k.
    let mut quads = [[_mm512_setzero_si512(); 4]; 4];
    for g in 0..4 {
        let [a, b, c, d] = [x[4 * g].0, x[4 * g + 1].0, x[4 * g + 2].0, x[4 * g + 3].0];
        let (ab_low, ab_high) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        let (cd_low, cd_high) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
        quads[g][0] = _mm512_unpacklo_epi64(ab_low, cd_low);
        quads[g][1] = _mm512_unpackhi_epi64(ab_low, cd_low);
        quads[g][2] = _mm512_unpacklo_epi64(ab_high, cd_high);
        quads[g][3] = _mm512_unpackhi_epi64(ab_high, cd_high);
    }
    let mut blocks = [_mm512_setzero_si512(); 16];
    for k in 0..4 {
        let [a, b, c, d] = [quads[0][k], quads[1][k], quads[2][k], quads[3][k]];
        let (ab01, ab23) = (_mm512_shuffle_i32x4::<0x44>(a, b), _mm512_shuffle_i32x4::<0xee>(a, b));
        let (cd01, cd23) = (_mm512_shuffle_i32x4::<0x44>(c, d), _mm512_shuffle_i32x4::<0xee>(c, d));
        blocks[k] = _mm512_shuffle_i32x4::<0x88>(ab01, cd01);
        blocks[4 + k] = _mm512_shuffle_i32x4::<0xdd>(ab01, cd01);
        blocks[8 + k] = _mm512_shuffle_i32x4::<0x88>(ab23, cd23);
        blocks[12 + k] = _mm512_shuffle_i32x4::<0xdd>(ab23, cd23);
    }
    blocks
}

/// Writes blocks 0 to 19: a set of rows beside 16 columns, which leave room between their
/// instructions.
///
/// # Safety
/// `out` has room for 20 blocks.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn across_and_down(key: &Key, nonce: &Nonce, out: *mut u8) -> usize {
    let start = rows(key, nonce, 0);
    let mut set = [start];
    let mut x = columns(key, nonce, SET as u32);
    // SAFETY: the features are this function's; the caller's room.
    unsafe {
        for _ in 0..10 {
            double_round_across(&mut set);
            double_round_down(&mut x);
        }
        for i in 0..4 {
            set[0][i] = set[0][i].add(start[i]);
        }
        write_set(set[0], out);
        let blocks = finish(x, key, nonce, SET as u32);
        for i in 0..WIDE {
            _mm512_storeu_si512(out.cast::<__m512i>().add(SET + i), blocks[i]);
        }
    }
    (SET + WIDE) * CHACHA_BLOCK
}
