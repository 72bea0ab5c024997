//! The rounds with GFNI, whose one instruction inverts in the AES field and applies an affine map.
//!
//! Ref. FIPS 197 §5.1.1, §5.3.2; Intel SDM volume 2, GF2P8AFFINEINVQB.
//!
//! # Safety
//! The callers vouch for `gfni` and for the features of the register: see `unit.rs`.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::x86_64_aesni::expand_by;
use super::x86_64_xmm::put;
use crate::aes::Schedule;
use crate::aes::schedule::Form;
use crate::aes::tower::{SHIFT, STEP, UNSHIFT};
use crate::aes::unit::{Register, Unit, mix, times_87};
use crate::blocks::field::{AES_AFFINE, AES_CONSTANT, Linear, multiply};

/// The S-box by inversion in the AES field. Round keys are as FIPS 197 writes them.
#[derive(Clone, Copy)]
pub(crate) struct Galois;

/// SubBytes times 1 and 2: the matrices after the inversion, and the constants after those.
const SUB: i64 = AES_AFFINE.matrix() as i64;
const SUB_TWICE: i64 = AES_AFFINE.then(Linear::multiplication(2)).matrix() as i64;
const CONSTANT: i32 = AES_CONSTANT as i32;
const CONSTANT_TWICE: i32 = multiply(AES_CONSTANT, 2) as i32;

/// The map and its constant before the inversion of InvSubBytes.
const UNSUB: i64 = AES_AFFINE.inverse().matrix() as i64;
const UNSUB_CONSTANT: i32 = AES_AFFINE.inverse().of(AES_CONSTANT) as i32;

/// The factors of InvMixColumns.
const FACTORS: [i64; 4] = [factor(14), factor(11), factor(13), factor(9)];
const ONE: i64 = factor(1);

const fn factor(factor: u8) -> i64 {
    Linear::multiplication(factor).matrix() as i64
}

/// Expands a key into a blank schedule.
#[target_feature(enable = "gfni,ssse3")]
pub(crate) fn expand(schedule: &mut Schedule, key: &[u8]) {
    // SAFETY: this function has the unit's instructions.
    unsafe { expand_by::<Galois>(schedule, key) }
}

/// The equivalent inverse cipher's round keys, in the order of use.
#[target_feature(enable = "gfni,ssse3")]
pub(crate) fn invert(schedule: &Schedule, inverse: &mut Schedule) {
    let rounds = schedule.rounds.min(14);
    inverse.encrypt[0] = schedule.encrypt[rounds];
    for i in 1..rounds {
        let mut terms = [_mm_setzero_si128(); 4];
        for j in 0..4 {
            // SAFETY: SSE2 is part of x86-64.
            let key = unsafe { __m128i::splat(&schedule.encrypt[rounds - i]) };
            terms[j] = _mm_gf2p8affine_epi64_epi8::<0>(key, _mm_set1_epi64x(FACTORS[j]));
        }
        // SAFETY: this function has the register's instructions.
        put(&mut inverse.encrypt[i], unsafe { mix(terms, &STEP, _mm_setzero_si128()) });
    }
    inverse.encrypt[rounds] = schedule.encrypt[0];
}

/// The rounds on one width of register.
macro_rules! unit {
    ($register:ty, $set1:ident, $affine:ident, $affine_inverse:ident) => {
        impl Unit<$register> for Galois {
            const FORM: Form = Form::Standard;
            const ABREAST: usize = if size_of::<$register>() == 64 { 8 } else { 4 };
            const LOOP: bool = true;

            #[inline(always)]
            unsafe fn enc(state: $register, key: $register) -> $register {
                // SAFETY: as the caller; so below.
                unsafe {
                    let once = $affine_inverse::<CONSTANT>(state, $set1(SUB));
                    let twice = $affine_inverse::<CONSTANT_TWICE>(state, $set1(SUB_TWICE));
                    mix([twice, twice.xor(once), once, once], &SHIFT, key)
                }
            }

            #[inline(always)]
            unsafe fn enc_last(state: $register, key: $register) -> $register {
                // SAFETY: as above.
                unsafe { $affine_inverse::<CONSTANT>(state, $set1(SUB)).permute(&SHIFT[0]).xor(key) }
            }

            #[inline(always)]
            unsafe fn dec(state: $register, key: $register) -> $register {
                // SAFETY: as above.
                unsafe {
                    let state = $affine::<UNSUB_CONSTANT>(state, $set1(UNSUB));
                    let [a, b, c, d] = FACTORS;
                    let terms = [
                        $affine_inverse::<0>(state, $set1(a)),
                        $affine_inverse::<0>(state, $set1(b)),
                        $affine_inverse::<0>(state, $set1(c)),
                        $affine_inverse::<0>(state, $set1(d)),
                    ];
                    mix(terms, &UNSHIFT, key)
                }
            }

            #[inline(always)]
            unsafe fn dec_last(state: $register, key: $register) -> $register {
                // SAFETY: as above.
                unsafe {
                    let state = $affine::<UNSUB_CONSTANT>(state, $set1(UNSUB));
                    $affine_inverse::<0>(state, $set1(ONE)).permute(&UNSHIFT[0]).xor(key)
                }
            }

            #[inline(always)]
            unsafe fn times_87<const UPPER: bool>(carry: $register) -> $register {
                // SAFETY: as above.
                unsafe { times_87::<_, UPPER>(carry) }
            }
        }
    };
}

unit!(__m128i, _mm_set1_epi64x, _mm_gf2p8affine_epi64_epi8, _mm_gf2p8affineinv_epi64_epi8);
unit!(__m256i, _mm256_set1_epi64x, _mm256_gf2p8affine_epi64_epi8, _mm256_gf2p8affineinv_epi64_epi8);
unit!(__m512i, _mm512_set1_epi64, _mm512_gf2p8affine_epi64_epi8, _mm512_gf2p8affineinv_epi64_epi8);
