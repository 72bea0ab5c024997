//! SHA-256 for processors without its own instructions: scalar rounds beside a schedule in vectors,
//! for two blocks at once.
//!
//! This kernel works like SHA-512's for AVX2, which says more. The schedule runs in the vector pipes
//! during the rounds of the first block, with the words of the second block in the upper half of each
//! register. The second block's rounds then find their schedule ready. A last odd block is scheduled
//! beside itself. The rounds are written out for the same reason as there.
//!
//! Ref. FIPS 180-4 §6.2.2, §4.1.2.
//!
//! # Safety
//! Loads and stores are of 16 and 32 bytes inside arrays: a block (64 bytes), `K` (256) and the
//! schedule (512), from which the rounds read too.
#![allow(unsafe_code)]

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use millstream_cpu::FeatureSet;

use crate::Row;
use crate::hash::chain;
use crate::sha256::{BLOCK, CompressOps, K, State};

pub(crate) const ROW: Row<CompressOps> = chain::row(
    "x86_64-avx2",
    FeatureSet::parse("avx2,bmi1,bmi2"),
    compress,
    "scalar rounds; the schedule of two blocks in vectors",
);

/// One round; the caller rotates the names instead of the words.
///
/// `$wk` points to the words of the schedule, with their constants added; `$i` counts their bytes.
/// `$bc` is `b ^ c` before and `a ^ b` after, which is `b ^ c` of the next round: the majority of
/// a, b and c is `b` unless a and c both differ from it.
macro_rules! round {
    ($wk:ident $i:literal $bc:ident $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident) => {
        let ab: u32;
        // SAFETY: reads four bytes at `wk + i`, which the caller keeps inside the schedule; the
        // other operands are registers. BMI1 and BMI2 are among the features of the function around.
        unsafe {
            core::arch::asm!(
                "add {h:e}, dword ptr [{wk} + {i}]",
                "rorx {t0:e}, {e:e}, 6",
                "andn {ab:e}, {e:e}, {g:e}",
                "rorx {t1:e}, {e:e}, 11",
                "add {h:e}, {ab:e}",
                "mov {ab:e}, {e:e}",
                "and {ab:e}, {f:e}",
                "xor {t0:e}, {t1:e}",
                "rorx {t1:e}, {e:e}, 25",
                "add {h:e}, {ab:e}",
                "xor {t0:e}, {t1:e}",
                "mov {ab:e}, {a:e}",
                "xor {ab:e}, {b:e}",
                "add {h:e}, {t0:e}",
                "rorx {t0:e}, {a:e}, 2",
                "add {d:e}, {h:e}",
                "and {bc:e}, {ab:e}",
                "rorx {t1:e}, {a:e}, 13",
                "xor {bc:e}, {b:e}",
                "xor {t0:e}, {t1:e}",
                "rorx {t1:e}, {a:e}, 22",
                "add {h:e}, {bc:e}",
                "xor {t0:e}, {t1:e}",
                "add {h:e}, {t0:e}",
                wk = in(reg) $wk,
                i = const $i,
                a = in(reg) $a,
                b = in(reg) $b,
                d = inout(reg) $d,
                e = in(reg) $e,
                f = in(reg) $f,
                g = in(reg) $g,
                h = inout(reg) $h,
                bc = inout(reg) $bc => _,
                ab = out(reg) ab,
                t0 = out(reg) _,
                t1 = out(reg) _,
                options(pure, readonly, nostack),
            );
        }
        $bc = ab;
    };
}

/// Sixteen rounds, whose names end where they began. After every fourth round `$also` is done, with 0
/// to 3.
macro_rules! sixteen_rounds {
    ($wk:ident $bc:ident $also:ident
     $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident) => {
        round!($wk 0 $bc $a $b $c $d $e $f $g $h);
        round!($wk 4 $bc $h $a $b $c $d $e $f $g);
        round!($wk 8 $bc $g $h $a $b $c $d $e $f);
        round!($wk 12 $bc $f $g $h $a $b $c $d $e);
        $also!(0);
        round!($wk 32 $bc $e $f $g $h $a $b $c $d);
        round!($wk 36 $bc $d $e $f $g $h $a $b $c);
        round!($wk 40 $bc $c $d $e $f $g $h $a $b);
        round!($wk 44 $bc $b $c $d $e $f $g $h $a);
        $also!(1);
        round!($wk 64 $bc $a $b $c $d $e $f $g $h);
        round!($wk 68 $bc $h $a $b $c $d $e $f $g);
        round!($wk 72 $bc $g $h $a $b $c $d $e $f);
        round!($wk 76 $bc $f $g $h $a $b $c $d $e);
        $also!(2);
        round!($wk 96 $bc $e $f $g $h $a $b $c $d);
        round!($wk 100 $bc $d $e $f $g $h $a $b $c);
        round!($wk 104 $bc $c $d $e $f $g $h $a $b);
        round!($wk 108 $bc $b $c $d $e $f $g $h $a);
        $also!(3);
    };
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn compress(state: &mut State, blocks: &[[u8; BLOCK]], last: &[[u8; BLOCK]]) {
    let mut blocks = blocks.iter().chain(last);
    while let Some(first) = blocks.next() {
        let second = blocks.next();
        // Eight words of a line are rounds 4i to 4i + 3 of the first block, then of the second.
        let mut schedule = MaybeUninit::<[[u32; 8]; 16]>::uninit();
        let lines = schedule.as_mut_ptr().cast::<__m256i>();
        let mut k = K.as_ptr().cast::<__m128i>();
        let mut w = load(first, second.unwrap_or(first));
        for i in 0..4 {
            // SAFETY: the first 4 of 16 lines, and of 16 quadruples of constants.
            unsafe { store(lines.add(i), w[i], k.add(i)) };
        }
        for half in 0..1 + usize::from(second.is_some()) {
            let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
            let mut bc = b ^ c;
            let mut wk = lines.cast::<__m128i>().wrapping_add(half);
            let mut left = 4;
            if half == 0 {
                // Rounds 0 to 47 of the first block, and the schedule of rounds 16 to 63.
                left = 1;
                for _ in 0..3 {
                    k = k.wrapping_add(4);
                    macro_rules! next_words {
                        ($i:literal) => {
                            w[$i] = next_four(w[$i], w[($i + 1) % 4], w[($i + 2) % 4], w[($i + 3) % 4]);
                            // SAFETY: lines 4 to 15 in three turns, and their constants.
                            unsafe { store(wk.cast::<__m256i>().add(4 + $i), w[$i], k.add($i)) };
                        };
                    }
                    sixteen_rounds!(wk bc next_words a b c d e f g h);
                    wk = wk.wrapping_add(8);
                }
            }
            macro_rules! nothing {
                ($i:literal) => {};
            }
            for _ in 0..left {
                sixteen_rounds!(wk bc nothing a b c d e f g h);
                wk = wk.wrapping_add(8);
            }
            for (word, new) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
                *word = word.wrapping_add(new);
            }
        }
    }
}

/// Returns the words of two blocks, four of each in a register. The words of `second` are in the upper
/// half.
#[target_feature(enable = "avx2")]
fn load(first: &[u8; BLOCK], second: &[u8; BLOCK]) -> [__m256i; 4] {
    let swap = _mm256_broadcastsi128_si256(_mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203));
    let mut w = [swap; 4];
    for i in 0..4 {
        let (low, high) = (first.as_ptr().cast::<__m128i>(), second.as_ptr().cast::<__m128i>());
        // SAFETY: `16 * i + 16 <= 64`.
        let bytes = unsafe { _mm256_loadu2_m128i(high.add(i), low.add(i)) };
        w[i] = _mm256_shuffle_epi8(bytes, swap);
    }
    w
}

/// Writes four words of each block, with the constants of their rounds added.
///
/// # Safety
/// `line` may be written and `k` read.
#[target_feature(enable = "avx2")]
unsafe fn store(line: *mut __m256i, w: __m256i, k: *const __m128i) {
    // SAFETY: as above.
    unsafe {
        let k = _mm256_broadcastsi128_si256(_mm_loadu_si128(k));
        _mm256_storeu_si256(line, _mm256_add_epi32(w, k));
    }
}

/// Returns the four words that follow these sixteen: FIPS 180-4 §6.2.2 step 1.
#[target_feature(enable = "avx2")]
fn next_four(w0: __m256i, w4: __m256i, w8: __m256i, w12: __m256i) -> __m256i {
    let w1 = _mm256_alignr_epi8::<4>(w4, w0);
    let w9 = _mm256_alignr_epi8::<4>(w12, w8);
    let sum = _mm256_add_epi32(_mm256_add_epi32(w0, w9), sigma0(w1));
    // The upper two words need the lower two.
    let low = _mm256_add_epi32(sum, sigma1(_mm256_shuffle_epi32::<0b11_11_10_10>(w12), LOW));
    _mm256_add_epi32(low, sigma1(_mm256_shuffle_epi32::<0b01_01_00_00>(low), HIGH))
}

/// FIPS 180-4 (4.6).
#[target_feature(enable = "avx2")]
fn sigma0(w: __m256i) -> __m256i {
    let x = _mm256_xor_si256(_mm256_srli_epi32::<7>(w), _mm256_slli_epi32::<25>(w));
    let y = _mm256_xor_si256(_mm256_srli_epi32::<18>(w), _mm256_slli_epi32::<14>(w));
    _mm256_xor_si256(_mm256_xor_si256(x, y), _mm256_srli_epi32::<3>(w))
}

/// The places to which [`sigma1`] moves the two words: bytes of each half.
const LOW: (i64, i64) = (0x0b0a_0908_0302_0100, -1);
const HIGH: (i64, i64) = (-1, 0x0b0a_0908_0302_0100);

/// Computes FIPS 180-4 (4.7) on two words of each block. Each word is given twice, so that a 64-bit
/// shift rotates it.
#[target_feature(enable = "avx2")]
fn sigma1(w: __m256i, (low, high): (i64, i64)) -> __m256i {
    let x = _mm256_xor_si256(_mm256_srli_epi64::<17>(w), _mm256_srli_epi64::<19>(w));
    let x = _mm256_xor_si256(x, _mm256_srli_epi32::<10>(w));
    _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(_mm_set_epi64x(high, low)))
}
