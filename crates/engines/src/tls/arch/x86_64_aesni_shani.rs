//! AES-CBC and SHA-1 or SHA-256 in one pass, with the processor's own rounds of each.
//!
//! AES-CBC and the hash are both chains of instructions that wait for the one before, so alone each
//! leaves most of the processor idle. Here a block of AES follows every quarter of a block of the hash
//! in the code, which is near enough for the processor to run both chains side by side.
//!
//! Ref. FIPS 197 §5.1; FIPS 180-4 §6.1.2 and §6.2.2; NIST SP 800-38A §6.2.
//!
//! # Safety
//! The functions are entered with their features. Loads and stores are of 16 bytes inside arrays: a
//! block, a round key, and 64 bytes of a record.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use crate::aes::{Block, Schedule};
use crate::sha1::arch::x86_64_shani::{self as sha1, twenty};
use crate::sha256::K;
use crate::sha256::arch::x86_64_shani::{self as sha256, four_rounds};
use crate::tls::ops::{Ahead, SealOps};

pub(in crate::tls) const OPS: SealOps = SealOps { sha1: Some(with_sha1), sha256: Some(with_sha256) };

/// Hashes and encrypts in one pass. The message is `ahead` bytes before the cipher, so that the hash
/// reads data that is not encrypted yet.
macro_rules! pass {
    ($name:ident, $rounds:ident, $state:ty) => {
        #[target_feature(enable = "aes,sha,sse4.1")]
        fn $name(schedule: &Schedule, chain: &mut Block, state: &mut $state, ahead: Ahead<'_>) {
            match schedule.rounds {
                10 => $rounds::<10>(schedule, chain, state, ahead),
                12 => $rounds::<12>(schedule, chain, state, ahead),
                _ => $rounds::<14>(schedule, chain, state, ahead),
            }
        }
    };
}

pass!(with_sha1, sha1_pass, crate::sha1::State);
pass!(with_sha256, sha256_pass, crate::sha256::State);

#[target_feature(enable = "aes,sha,sse4.1")]
fn sha1_pass<const ROUNDS: usize>(
    schedule: &Schedule,
    chain: &mut Block,
    state: &mut crate::sha1::State,
    mut ahead: Ahead<'_>,
) {
    let keys = round_keys(schedule);
    let mut cipher = load(chain);
    let (mut abcd, mut e) = sha1::load_state(state);
    for step in 0..ahead.steps {
        let before = (abcd, e);
        let mut w = sha1::load_block(ahead.message(step));
        let data = ahead.data(step);
        twenty!(0 abcd e w);
        cipher = encrypt::<ROUNDS>(&keys, cipher, &mut data[0]);
        twenty!(1 abcd e w);
        cipher = encrypt::<ROUNDS>(&keys, cipher, &mut data[1]);
        twenty!(2 abcd e w);
        cipher = encrypt::<ROUNDS>(&keys, cipher, &mut data[2]);
        twenty!(3 abcd e w);
        cipher = encrypt::<ROUNDS>(&keys, cipher, &mut data[3]);
        e = _mm_sha1nexte_epu32(e, before.1);
        abcd = _mm_add_epi32(abcd, before.0);
    }
    sha1::store_state(state, abcd, e);
    store(chain, cipher);
}

#[target_feature(enable = "aes,sha,sse4.1")]
fn sha256_pass<const ROUNDS: usize>(
    schedule: &Schedule,
    chain: &mut Block,
    state: &mut crate::sha256::State,
    mut ahead: Ahead<'_>,
) {
    let keys = round_keys(schedule);
    let mut cipher = load(chain);
    let (mut abef, mut cdgh) = sha256::load_state(state);
    for step in 0..ahead.steps {
        let before = (abef, cdgh);
        let [mut w0, mut w1, mut w2, mut w3] = sha256::load_block(ahead.message(step));
        let data = ahead.data(step);
        four_rounds!(0, w0, abef cdgh);
        four_rounds!(1, w1, abef cdgh);
        four_rounds!(2, w2, abef cdgh);
        four_rounds!(3, w3, abef cdgh);
        cipher = encrypt::<ROUNDS>(&keys, cipher, &mut data[0]);
        for i in 1..4 {
            w0 = sha256::schedule(w0, w1, w2, w3);
            four_rounds!(4 * i, w0, abef cdgh);
            w1 = sha256::schedule(w1, w2, w3, w0);
            four_rounds!(4 * i + 1, w1, abef cdgh);
            w2 = sha256::schedule(w2, w3, w0, w1);
            four_rounds!(4 * i + 2, w2, abef cdgh);
            w3 = sha256::schedule(w3, w0, w1, w2);
            four_rounds!(4 * i + 3, w3, abef cdgh);
            cipher = encrypt::<ROUNDS>(&keys, cipher, &mut data[i]);
        }
        abef = _mm_add_epi32(abef, before.0);
        cdgh = _mm_add_epi32(cdgh, before.1);
    }
    sha256::store_state(state, abef, cdgh);
    store(chain, cipher);
}

/// Encrypts one block of CBC in place; returns its ciphertext.
#[inline]
#[target_feature(enable = "aes,sse4.1")]
fn encrypt<const ROUNDS: usize>(keys: &[__m128i; 15], chain: __m128i, data: &mut Block) -> __m128i {
    let mut block = _mm_xor_si128(chain, _mm_xor_si128(load(data), keys[0]));
    for round in 1..ROUNDS {
        block = _mm_aesenc_si128(block, keys[round]);
    }
    block = _mm_aesenclast_si128(block, keys[ROUNDS]);
    store(data, block);
    block
}

#[inline]
#[target_feature(enable = "sse4.1")]
fn round_keys(schedule: &Schedule) -> [__m128i; 15] {
    let mut keys = [_mm_setzero_si128(); 15];
    for (key, block) in keys.iter_mut().zip(schedule.round_keys()) {
        *key = load(block);
    }
    keys
}

#[inline]
#[target_feature(enable = "sse4.1")]
fn load(block: &Block) -> __m128i {
    // SAFETY: a block is 16 bytes.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "sse4.1")]
fn store(block: &mut Block, value: __m128i) {
    // SAFETY: a block is 16 bytes.
    unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), value) }
}
