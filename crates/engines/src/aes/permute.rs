//! AES by vector permutation: every step of a round is lookups in tables that lie in registers, so time depends on
//! nothing. A processor needs a byte shuffle and no more.
//!
//! Ref. Hamburg, "Accelerating AES with Vector Permute Instructions" (CHES 2009); FIPS 197 §5.1 and §5.3.5.
//!
//! # Safety
//! As in `unit.rs`: the callers vouch for the features of the register.
#![allow(unsafe_code)]

use super::schedule::{Block, Form, Schedule};
use super::tower::{self, Pair};
use super::unit::{Register, Unit, mix, times_87};
use crate::blocks::field::AES_CONSTANT;

/// The S-box of `tower.rs`. Round keys are in its form, and have the S-box's constant in them.
#[derive(Clone, Copy)]
pub(crate) struct Permute;

impl<R: Register> Unit<R> for Permute {
    const FORM: Form = Form::Tower;
    const CONSTANT: u8 = AES_CONSTANT;
    const ABREAST: usize = 4;
    const LOOP: bool = true;

    #[inline(always)]
    unsafe fn enter(state: R) -> R {
        // SAFETY: as the caller; so below.
        unsafe { linear(state, &tower::ENTER) }
    }

    #[inline(always)]
    unsafe fn enter_inverse(state: R) -> R {
        // SAFETY: as above.
        unsafe { linear(state, &tower::ENTER_INVERSE) }
    }

    #[inline(always)]
    unsafe fn enc(state: R, key: R) -> R {
        // SAFETY: as above.
        unsafe {
            let inverse = invert(state);
            let (once, twice) = (sum(inverse, &tower::SUB), sum(inverse, &tower::SUB_TWICE));
            mix([twice, twice.xor(once), once, once], &tower::SHIFT, key)
        }
    }

    #[inline(always)]
    unsafe fn enc_last(state: R, key: R) -> R {
        // SAFETY: as above.
        unsafe { sum(invert(state), &tower::SUB_LAST).permute(&tower::SHIFT[0]).xor(key) }
    }

    #[inline(always)]
    unsafe fn dec(state: R, key: R) -> R {
        // SAFETY: as above.
        unsafe {
            let inverse = invert(state);
            let [a, b, c, d] = &tower::UNSUB;
            let terms = [sum(inverse, a), sum(inverse, b), sum(inverse, c), sum(inverse, d)];
            mix(terms, &tower::UNSHIFT, key)
        }
    }

    #[inline(always)]
    unsafe fn dec_last(state: R, key: R) -> R {
        // SAFETY: as above.
        unsafe { sum(invert(state), &tower::UNSUB_LAST).permute(&tower::UNSHIFT[0]).xor(key) }
    }

    #[inline(always)]
    unsafe fn times_87<const UPPER: bool>(carry: R) -> R {
        // SAFETY: as above.
        unsafe { times_87::<R, UPPER>(carry) }
    }
}

/// A linear map of every byte.
#[inline(always)]
unsafe fn linear<R: Register>(state: R, map: &Pair) -> R {
    // SAFETY: as the caller.
    unsafe { sum(state.nibbles(), map) }
}

/// The sum of a lookup in each of two tables.
#[inline(always)]
unsafe fn sum<R: Register>(indices: [R; 2], tables: &Pair) -> R {
    // SAFETY: as the caller.
    unsafe { indices[0].look_up(R::splat(&tables[0])).xor(indices[1].look_up(R::splat(&tables[1]))) }
}

/// Returns `io` and `jo` of every byte: see `tower.rs`.
#[inline(always)]
unsafe fn invert<R: Register>(state: R) -> [R; 2] {
    // SAFETY: as the caller.
    unsafe {
        let (inverse, a_over) = (R::splat(&tower::INVERSE), R::splat(&tower::A_OVER));
        let [k, i] = state.nibbles();
        let j = i.xor(k);
        let a_over_k = k.look_up(a_over);
        let io = i.look_up(inverse).xor(a_over_k).look_up(inverse).xor(j);
        let jo = j.look_up(inverse).xor(a_over_k).look_up(inverse).xor(i);
        [io, jo]
    }
}

/// Brings round keys that FIPS 197's key expansion made into the form of [`Permute`]. `R` is a register of one block.
#[inline(always)]
pub(crate) unsafe fn adopt<R: Register>(schedule: &mut Schedule, put: impl Fn(&mut Block, R)) {
    let rounds = schedule.rounds.min(14);
    // SAFETY: as the caller.
    unsafe {
        let constant = R::splat(&[AES_CONSTANT; 16]);
        for i in 1..rounds {
            let key = R::splat(&schedule.encrypt[i]).xor(constant);
            put(&mut schedule.encrypt[i], linear(key, &tower::ENTER));
        }
        let last = R::splat(&schedule.encrypt[rounds]).xor(constant);
        put(&mut schedule.encrypt[rounds], last);
    }
    schedule.form = Form::Tower;
}

/// The equivalent inverse cipher's round keys, in the order of use. InvSubBytes begins with adding the S-box's constant,
/// which the keys of the cipher have in them already, and which InvMixColumns leaves as it is.
#[inline(always)]
pub(crate) unsafe fn invert_keys<R: Register>(
    schedule: &Schedule,
    inverse: &mut Schedule,
    put: impl Fn(&mut Block, R),
) {
    let rounds = schedule.rounds.min(14);
    inverse.encrypt[0] = schedule.encrypt[rounds];
    for i in 1..rounds {
        // SAFETY: as the caller.
        unsafe {
            let key = R::splat(&schedule.encrypt[rounds - i]);
            let [a, b, c, d] = &tower::UNMIX;
            let terms = [linear(key, a), linear(key, b), linear(key, c), linear(key, d)];
            put(&mut inverse.encrypt[i], mix(terms, &tower::STEP, R::splat(&[0; 16])));
        }
    }
    inverse.encrypt[rounds] = schedule.encrypt[0];
    inverse.form = Form::Tower;
}
