//! SHA-1 for processors without its own instructions: scalar rounds beside a schedule in vectors, for
//! two blocks at once.
//!
//! The schedule runs in the vector pipes during the rounds of the first block, with the words of the
//! second block in the upper half of each register. The second block's rounds then find their schedule
//! ready. A last odd block is scheduled beside itself.
//!
//! Ref. FIPS 180-4 §6.1.2.
//!
//! # Safety
//! Loads and stores are of 16 and 32 bytes inside arrays: a block (64 bytes) and the schedule (640),
//! from which the rounds read too.
#![allow(unsafe_code)]

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use millstream_cpu::FeatureSet;

use crate::Row;
use crate::hash::chain;
use crate::sha1::{BLOCK, CompressOps, K, State};

pub(crate) const ROW: Row<CompressOps> = chain::row(
    "x86_64-avx2",
    FeatureSet::parse("avx2,bmi1,bmi2"),
    compress,
    "scalar rounds; the schedule of two blocks in vectors",
);

/// One round; the caller rotates the names instead of the words. `$wk` points to the words of the
/// schedule, with their constants added; `$i` counts their bytes. `$f` adds its function of b, c and d
/// to e. The round is written out because the compiler's order of additions takes two thirds more
/// time.
macro_rules! round {
    ($wk:ident $i:expr, [$($f:literal)*] $a:ident $b:ident $c:ident $d:ident $e:ident) => {
        // SAFETY: reads four bytes at `wk + i`, which the caller keeps inside the schedule; the
        // other operands are registers. BMI1 and BMI2 are among the features of the function around.
        unsafe {
            core::arch::asm!(
                "add {e:e}, dword ptr [{wk} + {i}]",
                $($f,)*
                "rorx {t:e}, {a:e}, 27",
                "rorx {b:e}, {b:e}, 2",
                "add {e:e}, {t:e}",
                wk = in(reg) $wk,
                i = const 4 * ($i),
                a = in(reg) $a,
                b = inout(reg) $b,
                c = in(reg) $c,
                d = in(reg) $d,
                e = inout(reg) $e,
                t = out(reg) _,
                options(pure, readonly, nostack),
            );
        }
    };
    ($wk:ident $i:expr, choose, $a:ident $b:ident $c:ident $d:ident $e:ident) => {
        round!($wk $i, [
            "andn {t:e}, {b:e}, {d:e}" "add {e:e}, {t:e}" "mov {t:e}, {b:e}" "and {t:e}, {c:e}" "add {e:e}, {t:e}"
        ] $a $b $c $d $e);
    };
    ($wk:ident $i:expr, parity, $a:ident $b:ident $c:ident $d:ident $e:ident) => {
        round!($wk $i, ["mov {t:e}, {c:e}" "xor {t:e}, {d:e}" "xor {t:e}, {b:e}" "add {e:e}, {t:e}"] $a $b $c $d $e);
    };
    ($wk:ident $i:expr, majority, $a:ident $b:ident $c:ident $d:ident $e:ident) => {
        round!($wk $i, [
            "mov {t:e}, {c:e}" "and {t:e}, {d:e}" "add {e:e}, {t:e}"
            "mov {t:e}, {c:e}" "xor {t:e}, {d:e}" "and {t:e}, {b:e}" "add {e:e}, {t:e}"
        ] $a $b $c $d $e);
    };
}

/// Twenty rounds of one function, after which the names are back in their places. After every fourth
/// round `$also` is done, with the first line of words that the rounds do not read yet.
macro_rules! twenty {
    ($wk:ident $f:ident $also:ident $line:literal $a:ident $b:ident $c:ident $d:ident $e:ident) => {
        round!($wk 8 * $line, $f, $a $b $c $d $e);
        round!($wk 8 * $line + 1, $f, $e $a $b $c $d);
        round!($wk 8 * $line + 2, $f, $d $e $a $b $c);
        round!($wk 8 * $line + 3, $f, $c $d $e $a $b);
        $also!($line + 4);
        round!($wk 8 * $line + 8, $f, $b $c $d $e $a);
        round!($wk 8 * $line + 9, $f, $a $b $c $d $e);
        round!($wk 8 * $line + 10, $f, $e $a $b $c $d);
        round!($wk 8 * $line + 11, $f, $d $e $a $b $c);
        $also!($line + 5);
        round!($wk 8 * $line + 16, $f, $c $d $e $a $b);
        round!($wk 8 * $line + 17, $f, $b $c $d $e $a);
        round!($wk 8 * $line + 18, $f, $a $b $c $d $e);
        round!($wk 8 * $line + 19, $f, $e $a $b $c $d);
        $also!($line + 6);
        round!($wk 8 * $line + 24, $f, $d $e $a $b $c);
        round!($wk 8 * $line + 25, $f, $c $d $e $a $b);
        round!($wk 8 * $line + 26, $f, $b $c $d $e $a);
        round!($wk 8 * $line + 27, $f, $a $b $c $d $e);
        $also!($line + 7);
        round!($wk 8 * $line + 32, $f, $e $a $b $c $d);
        round!($wk 8 * $line + 33, $f, $d $e $a $b $c);
        round!($wk 8 * $line + 34, $f, $c $d $e $a $b);
        round!($wk 8 * $line + 35, $f, $b $c $d $e $a);
        $also!($line + 8);
    };
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn compress(state: &mut State, blocks: &[[u8; BLOCK]], last: &[[u8; BLOCK]]) {
    let mut blocks = blocks.iter().chain(last);
    while let Some(first) = blocks.next() {
        let second = blocks.next();
        // Eight words of a line are rounds 4i to 4i + 3 of the first block, then of the second.
        let mut schedule = MaybeUninit::<[[u32; 8]; 20]>::uninit();
        let lines = schedule.as_mut_ptr().cast::<__m256i>();
        let mut w = load(first, second.unwrap_or(first));
        for i in 0..4 {
            // SAFETY: the first 4 of 20 lines.
            unsafe { store(lines.add(i), w[i], K[0]) };
        }
        macro_rules! next_words {
            ($line:expr) => {
                let line: usize = $line;
                if line < 20 {
                    let i = line % 4;
                    w[i] = next_four(w[i], w[(i + 1) % 4], w[(i + 2) % 4], w[(i + 3) % 4]);
                    // SAFETY: a line below 20.
                    unsafe { store(lines.add(line), w[i], K[line / 5 % 4]) };
                }
            };
        }
        macro_rules! nothing {
            ($line:expr) => {};
        }
        macro_rules! eighty {
            ($also:ident $words:expr) => {
                let [mut a, mut b, mut c, mut d, mut e] = *state;
                let words = $words;
                twenty!(words choose $also 0 a b c d e);
                twenty!(words parity $also 5 a b c d e);
                twenty!(words majority $also 10 a b c d e);
                twenty!(words parity $also 15 a b c d e);
                for (word, new) in state.iter_mut().zip([a, b, c, d, e]) {
                    *word = word.wrapping_add(new);
                }
            };
        }
        eighty!(next_words lines.cast::<u32>());
        if second.is_some() {
            eighty!(nothing lines.cast::<u32>().wrapping_add(4));
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

/// Writes four words of each block, with the constant of their rounds added.
///
/// # Safety
/// `line` may be written.
#[target_feature(enable = "avx2")]
unsafe fn store(line: *mut __m256i, w: __m256i, k: u32) {
    // SAFETY: as above.
    unsafe { _mm256_storeu_si256(line, _mm256_add_epi32(w, _mm256_set1_epi32(k as i32))) }
}

/// Returns the four words that follow these sixteen: FIPS 180-4 §6.1.2 step 1.
#[target_feature(enable = "avx2")]
fn next_four(w0: __m256i, w4: __m256i, w8: __m256i, w12: __m256i) -> __m256i {
    let (w2, w13) = (_mm256_alignr_epi8::<8>(w4, w0), _mm256_srli_si256::<4>(w12));
    let w = rotate(_mm256_xor_si256(_mm256_xor_si256(w0, w2), _mm256_xor_si256(w8, w13)));
    // The last word needs the first.
    _mm256_xor_si256(w, rotate(_mm256_slli_si256::<12>(w)))
}

/// Rotates to the left by one bit.
#[target_feature(enable = "avx2")]
fn rotate(w: __m256i) -> __m256i {
    _mm256_xor_si256(_mm256_add_epi32(w, w), _mm256_srli_epi32::<31>(w))
}
