//! POLYVAL, the hash of AES-GCM-SIV: GHASH with the bytes of each block in the opposite order.
//!
//! A block as a little-endian integer is an operand of GHASH's multiplication. A key in the same form is GHASH's subkey
//! divided by x (RFC 8452 appendix A), which is how the vectors of GHASH keep their powers.
//!
//! Ref. RFC 8452 §3, appendix A.
//!
//! # Safety
//! The functions of a row need its features. Every call goes through a [`Bound`], which exists only where they do.
#![allow(unsafe_code)]

use std::fmt;

use millstream_cpu::{FeatureSet, Features};
use zeroize::Zeroize;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::blocks::Vector;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::ghash::{POLYNOMIAL, Powers, Sum};
use super::portable::multiply;
use super::{BLOCK_BYTES, arch};
use crate::{AlgorithmInfo, Bound, Kernel, Row, Standing, Table, Timing};

/// The functions of one row.
#[derive(Debug)]
pub struct PolyvalOps {
    /// The state after more bytes under a key, filled up with zeros to whole blocks.
    pub(super) absorb: unsafe fn(u128, u128, &[u8]) -> u128,
}

/// The kernels of POLYVAL.
pub static POLYVAL: Table<PolyvalOps> = Table::new(
    AlgorithmInfo {
        name: "polyval", standing: Standing::Current, standard: "RFC 8452 §3", key_bits: &[128]
    },
    ROWS,
    known_answer,
);

static ROWS: &[Row<PolyvalOps>] = &[
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-pclmul-by8",
            requires: arch::x86_64_permute128::POLYVAL_REQUIRES,
            timing: Timing::Constant,
            note: "one reduction for eight blocks, and for each of the last ones",
        },
        ops: arch::x86_64_permute128::POLYVAL,
    },
    #[cfg(target_arch = "aarch64")]
    Row {
        kernel: Kernel {
            name: "aarch64-pmull-by8",
            requires: arch::aarch64_ce::POLYVAL_REQUIRES.union(super::PMULL),
            timing: Timing::Constant,
            note: "one reduction for eight blocks, and for each of the last ones",
        },
        ops: arch::aarch64_ce::POLYVAL,
    },
    Row {
        kernel: Kernel {
            name: "portable",
            requires: FeatureSet::EMPTY,
            timing: Timing::Constant,
            note: "integer multiplication with holes",
        },
        ops: PolyvalOps { absorb: portable_absorb },
    },
];

/// POLYVAL under one key, bound to a kernel. A key serves one message. Zeroised on drop.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::gcm::Polyval;
///
/// let mut hash = Polyval::new(Features::hardware(), &[7; 16]);
/// hash.absorb(b"a piece, which zeros fill up to whole blocks");
/// hash.absorb(&[1; 16]);
/// let value: [u8; 16] = hash.value();
/// # assert_ne!(value, [0; 16]);
/// ```
pub struct Polyval {
    kernel: Bound<PolyvalOps>,
    key: u128,
    state: u128,
}

impl Polyval {
    /// Begins under a key on the best kernel that `features` allow.
    pub fn new(features: Features, key: &[u8; 16]) -> Self {
        Polyval::with_kernel(POLYVAL.best(features), key)
    }

    /// Begins under a key on the kernel given.
    #[inline(always)]
    pub fn with_kernel(kernel: Bound<PolyvalOps>, key: &[u8; 16]) -> Self {
        Polyval { kernel, key: u128::from_le_bytes(*key), state: 0 }
    }

    /// Takes in bytes, filled up with zeros to whole blocks of 16.
    #[inline(always)]
    pub fn absorb(&mut self, bytes: &[u8]) {
        // SAFETY: `kernel` is bound.
        self.state = unsafe { (self.kernel.ops().absorb)(self.key, self.state, bytes) };
    }

    /// The value so far.
    #[inline(always)]
    pub fn value(&self) -> [u8; 16] {
        self.state.to_le_bytes()
    }
}

impl Drop for Polyval {
    #[inline(always)]
    fn drop(&mut self) {
        self.key.zeroize();
        self.state.zeroize();
    }
}

impl fmt::Debug for Polyval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "polyval({})", self.kernel.kernel().name)
    }
}

/// The blocks that are reduced together.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const BATCH: usize = 8;

/// The bytes from which it pays to compute the key's powers.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const LONG: usize = 4 * BATCH * BLOCK_BYTES;

/// The state after more bytes, on vectors of one block.
///
/// # Safety
/// The processor has the vector's instructions.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
pub(super) unsafe fn absorb<V: Vector<One = V>>(key: u128, state: u128, mut bytes: &[u8]) -> u128 {
    const { assert!(V::BLOCKS == 1) };
    // SAFETY: as the caller; the pointers are those of blocks of `bytes`.
    unsafe {
        let polynomial = V::one(POLYNOMIAL);
        let first = Powers::of(V::one(key), polynomial);
        let mut state = V::one(state);
        if bytes.len() >= LONG {
            let mut powers = [first; BATCH];
            for i in 1..BATCH {
                let next = Sum::product(powers[i - 1].h, first).reduce(polynomial);
                powers[i] = Powers::of(next, polynomial);
            }
            while let Some((batch, rest)) = bytes.split_first_chunk::<{ BATCH * BLOCK_BYTES }>() {
                let block = |i: usize| batch.as_ptr().add(i * BLOCK_BYTES);
                let mut sum = Sum::product(V::load(block(0)).xor(state), powers[BATCH - 1]);
                for i in 1..BATCH {
                    sum = sum.add(V::load(block(i)), powers[BATCH - 1 - i]);
                }
                state = sum.reduce(polynomial);
                bytes = rest;
            }
        }
        let (blocks, rest) = bytes.as_chunks::<BLOCK_BYTES>();
        for block in blocks {
            state = Sum::product(V::load(block.as_ptr()).xor(state), first).reduce(polynomial);
        }
        if !rest.is_empty() {
            let block = V::load_part(rest.as_ptr(), rest.len());
            state = Sum::product(block.xor(state), first).reduce(polynomial);
        }
        V::value(state)
    }
}

/// Defines the function of a row for a vector of one block.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! polyval_row {
    ($vector:ty, $features:literal) => {
        pub(in crate::gcm) const POLYVAL_REQUIRES: millstream_cpu::FeatureSet =
            millstream_cpu::FeatureSet::parse($features);

        pub(in crate::gcm) const POLYVAL: crate::gcm::PolyvalOps =
            crate::gcm::PolyvalOps { absorb: polyval_absorb };

        #[target_feature(enable = $features)]
        fn polyval_absorb(key: u128, state: u128, bytes: &[u8]) -> u128 {
            // SAFETY: this function has the instructions.
            unsafe { crate::gcm::polyval::absorb::<$vector>(key, state, bytes) }
        }
    };
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use polyval_row;

/// The state after more bytes, in GHASH's arithmetic.
fn portable_absorb(key: u128, mut state: u128, bytes: &[u8]) -> u128 {
    // mulX_GHASH of appendix A: one place towards the higher coefficients, and the polynomial for the one that leaves.
    let subkey = key >> 1 ^ (key & 1).wrapping_neg() & 0xe1 << 120;
    for chunk in bytes.chunks(BLOCK_BYTES) {
        let mut block = [0; BLOCK_BYTES];
        block[..chunk.len()].copy_from_slice(chunk);
        state = multiply(state ^ u128::from_le_bytes(block), subkey);
    }
    state
}

/// RFC 8452 appendix A.
fn known_answer(kernel: Bound<PolyvalOps>) -> bool {
    let mut hash =
        Polyval::with_kernel(kernel, &0x2562_9347_5892_4276_1d31_f826_ba4b_757b_u128.to_be_bytes());
    hash.absorb(&0x4f4f_9566_8c83_dfb6_4017_62bb_2d01_a262_u128.to_be_bytes());
    hash.absorb(&0xd1a2_4ddd_2721_d006_bbe4_5f20_d3c9_f362_u128.to_be_bytes());
    hash.value() == 0xf7a3_b47b_8461_19fa_e5b7_866c_f5e5_b77e_u128.to_be_bytes()
}
