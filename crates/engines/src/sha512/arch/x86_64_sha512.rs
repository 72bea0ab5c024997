//! SHA-512 with the processor's own rounds, two at a time.
//!
//! The state lies in two registers as ABEF and CDGH, as `vsha512rnds2` takes it.
//!
//! Processors with these instructions are few. The kernel is therefore written over three functions,
//! and a test runs it on models of the instructions, after the manual's pseudocode.
//!
//! Ref. FIPS 180-4 §6.4.2; Intel Architecture Instruction Set Extensions Programming Reference,
//! VSHA512RNDS2, VSHA512MSG1, VSHA512MSG2.
//!
//! # Safety
//! Loads and stores are of 32 bytes inside arrays: the state (64 bytes), a block (128), and `K` (640).
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use millstream_cpu::FeatureSet;

use crate::Row;
use crate::hash::chain;
use crate::sha512::{BLOCK, CompressOps, K, State};

pub(crate) const ROW: Row<CompressOps> =
    chain::row("x86_64-sha512", FeatureSet::parse("sha512,avx2"), compress, "the processor's own rounds");

/// Rounds 4i to 4i + 3, on the words `$w`.
macro_rules! four_rounds {
    ($rnds2:ident $k:expr, $w:ident, $abef:ident $cdgh:ident) => {
        // SAFETY: `k` points to four of the constants.
        let wk = _mm256_add_epi64($w, unsafe { _mm256_loadu_si256($k.cast()) });
        $cdgh = $rnds2($cdgh, $abef, _mm256_castsi256_si128(wk));
        $abef = $rnds2($abef, $cdgh, _mm256_extracti128_si256::<1>(wk));
    };
}

/// Replaces `$w0` by the four words that follow these sixteen: FIPS 180-4 §6.4.2 step 1.
macro_rules! next_words {
    ($msg1:ident $msg2:ident $w0:ident $w4:ident $w8:ident $w12:ident) => {
        let w9 = _mm256_permute4x64_epi64::<0b00_11_10_01>(_mm256_blend_epi32::<0b0000_0011>($w8, $w12));
        let sum = _mm256_add_epi64($msg1($w0, _mm256_castsi256_si128($w4)), w9);
        $w0 = $msg2(sum, $w12);
    };
}

macro_rules! compress {
    ($name:ident $features:literal $rnds2:ident $msg1:ident $msg2:ident) => {
        #[target_feature(enable = $features)]
        fn $name(state: &mut State, blocks: &[[u8; BLOCK]], last: &[[u8; BLOCK]]) {
            let (mut abef, mut cdgh) = load_state(state);
            for block in blocks.iter().chain(last) {
                let before = (abef, cdgh);
                let [mut w0, mut w1, mut w2, mut w3] = load_block(block);
                let mut k = K.as_ptr();
                for _ in 0..4 {
                    four_rounds!($rnds2 k, w0, abef cdgh);
                    next_words!($msg1 $msg2 w0 w1 w2 w3);
                    four_rounds!($rnds2 k.wrapping_add(4), w1, abef cdgh);
                    next_words!($msg1 $msg2 w1 w2 w3 w0);
                    four_rounds!($rnds2 k.wrapping_add(8), w2, abef cdgh);
                    next_words!($msg1 $msg2 w2 w3 w0 w1);
                    four_rounds!($rnds2 k.wrapping_add(12), w3, abef cdgh);
                    next_words!($msg1 $msg2 w3 w0 w1 w2);
                    k = k.wrapping_add(16);
                }
                four_rounds!($rnds2 k, w0, abef cdgh);
                four_rounds!($rnds2 k.wrapping_add(4), w1, abef cdgh);
                four_rounds!($rnds2 k.wrapping_add(8), w2, abef cdgh);
                four_rounds!($rnds2 k.wrapping_add(12), w3, abef cdgh);
                abef = _mm256_add_epi64(abef, before.0);
                cdgh = _mm256_add_epi64(cdgh, before.1);
            }
            store_state(state, abef, cdgh);
        }
    };
}

compress!(compress "sha512,avx2" _mm256_sha512rnds2_epi64 _mm256_sha512msg1_epi64 _mm256_sha512msg2_epi64);

#[target_feature(enable = "avx2")]
fn load_block(block: &[u8; BLOCK]) -> [__m256i; 4] {
    let swap = _mm256_broadcastsi128_si256(_mm_set_epi64x(0x0809_0a0b_0c0d_0e0f, 0x0001_0203_0405_0607));
    let mut w = [swap; 4];
    for i in 0..4 {
        // SAFETY: `32 * i + 32 <= 128`.
        w[i] = _mm256_shuffle_epi8(unsafe { _mm256_loadu_si256(block.as_ptr().add(32 * i).cast()) }, swap);
    }
    w
}

/// Returns ABEF and CDGH, with the first letter in the highest lane.
#[target_feature(enable = "avx2")]
fn load_state(state: &State) -> (__m256i, __m256i) {
    let [a, b, c, d, e, f, g, h] = state.map(|word| word as i64);
    (_mm256_set_epi64x(a, b, e, f), _mm256_set_epi64x(c, d, g, h))
}

#[target_feature(enable = "avx2")]
fn store_state(state: &mut State, abef: __m256i, cdgh: __m256i) {
    let ([f, e, b, a], [h, g, d, c]) = (words(abef), words(cdgh));
    *state = [a, b, c, d, e, f, g, h];
}

/// Returns the lanes, the lowest first.
#[target_feature(enable = "avx2")]
fn words(x: __m256i) -> [u64; 4] {
    let mut out = [0; 4];
    // SAFETY: `out` is 32 bytes.
    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), x) };
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sha512::portable;
    use millstream_cpu::{Feature, Features};
    use millstream_testkit::Random;

    #[target_feature(enable = "avx2")]
    fn vector([w0, w1, w2, w3]: [u64; 4]) -> __m256i {
        _mm256_set_epi64x(w3 as i64, w2 as i64, w1 as i64, w0 as i64)
    }

    /// Models VSHA512RNDS2: C, D, G, H come from the destination, and A, B, E, F from the first
    /// source.
    #[target_feature(enable = "avx2")]
    fn rnds2_model(cdgh: __m256i, abef: __m256i, wk: __m128i) -> __m256i {
        let ([f, e, b, a], [h, g, d, c]) = (words(abef), words(cdgh));
        let wk = [_mm_cvtsi128_si64(wk) as u64, _mm_extract_epi64::<1>(wk) as u64];
        let (mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h) = (a, b, c, d, e, f, g, h);
        for wk in wk {
            let sum1 = e.rotate_right(14) ^ e.rotate_right(18) ^ e.rotate_right(41);
            let sum0 = a.rotate_right(28) ^ a.rotate_right(34) ^ a.rotate_right(39);
            let t = wk.wrapping_add(sum1).wrapping_add((e & f) ^ (!e & g)).wrapping_add(h);
            let new = t.wrapping_add((a & b) ^ (a & c) ^ (b & c)).wrapping_add(sum0);
            (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(t), c, b, a, new);
        }
        vector([f, e, b, a])
    }

    /// Models VSHA512MSG1, which adds the first sum of the word after it to each word of the
    /// destination.
    #[target_feature(enable = "avx2")]
    fn msg1_model(w0: __m256i, w4: __m128i) -> __m256i {
        let w = words(w0);
        let next = [w[1], w[2], w[3], _mm_cvtsi128_si64(w4) as u64];
        let sum = |x: u64| x.rotate_right(1) ^ x.rotate_right(8) ^ (x >> 7);
        vector([0, 1, 2, 3].map(|i| w[i].wrapping_add(sum(next[i]))))
    }

    /// Models VSHA512MSG2, which adds the second sum of the word two before it to each word of the
    /// destination.
    #[target_feature(enable = "avx2")]
    fn msg2_model(sums: __m256i, w12: __m256i) -> __m256i {
        let (w, last) = (words(sums), words(w12));
        let sum = |x: u64| x.rotate_right(19) ^ x.rotate_right(61) ^ (x >> 6);
        let w16 = w[0].wrapping_add(sum(last[2]));
        let w17 = w[1].wrapping_add(sum(last[3]));
        vector([w16, w17, w[2].wrapping_add(sum(w16)), w[3].wrapping_add(sum(w17))])
    }

    compress!(compress_on_models "avx2" rnds2_model msg1_model msg2_model);

    #[test]
    fn agrees_with_portable_on_models_of_the_instructions() {
        if !Features::hardware().contains(Feature::Avx2.into()) {
            return millstream_testkit::skip("sha512: the models of the instructions need avx2");
        }
        let mut random = Random::new(1);
        for count in 0..5 {
            let blocks: Vec<[u8; BLOCK]> = (0..count).map(|_| random.array()).collect();
            let mut ours: State = [0; 8].map(|_: u64| random.next_u64());
            let mut theirs = ours;
            // SAFETY: the processor has avx2.
            unsafe { compress_on_models(&mut ours, &blocks[..count / 2], &blocks[count / 2..]) };
            portable::compress(&mut theirs, &blocks, &[]);
            assert_eq!(ours, theirs, "{count} blocks");
        }
    }
}
