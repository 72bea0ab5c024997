//! Blocks with each byte in a vector of its own, one block a byte.
//!
//! Permutations of bytes are then renamed vectors, linear layers are additions of whole vectors, and an S-box works on one
//! vector of bytes. This form suits many blocks. A cipher is written once over [`Plane`] for every width and every way to
//! compute its S-boxes.
//!
//! # Safety
//! The methods of a [`Plane`] need its features; every function here passes that duty to its
//! caller, which is compiled for those features and reached through a `Bound`.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc, reason = "the head of this file says it for all")]

use super::{Cipher, Subkeys};

/// A vector of bytes, in lanes of sixteen.
pub(crate) trait Plane: Copy {
    /// Bytes in a vector.
    const BYTES: usize;

    unsafe fn load(from: *const u8) -> Self;
    unsafe fn store(self, to: *mut u8);
    /// A byte, given four times, everywhere.
    unsafe fn splat(byte: u32) -> Self;
    unsafe fn xor(self, b: Self) -> Self;
    #[inline(always)]
    unsafe fn xor3(self, b: Self, c: Self) -> Self {
        // SAFETY: the caller's features. The compiler makes one instruction of it where there is one.
        unsafe { self.xor(b).xor(c) }
    }
    unsafe fn and(self, b: Self) -> Self;
    unsafe fn or(self, b: Self) -> Self;
    /// The first halves of each lane of `self` and `b`, byte by byte in turn.
    unsafe fn interleave_low(self, b: Self) -> Self;
    /// The second halves.
    unsafe fn interleave_high(self, b: Self) -> Self;
}

/// Planes that can compute a cipher.
pub(crate) trait Computes<C: Cipher>: Plane {
    /// Passes as many blocks as a plane has bytes. Plane `i` holds byte `i` of every block.
    unsafe fn pass<K: Keys<Self>>(keys: &K, x: [Self; 16]) -> [Self; 16];
}

/// The subkeys of every block, in rows of 16 bytes.
pub(crate) trait Keys<P> {
    /// The rows that the keys have.
    fn used(&self) -> usize;
    /// One byte of a row, for every block.
    unsafe fn byte(&self, row: usize, byte: usize) -> P;
}

/// One key for all blocks.
impl<C: Cipher, P: Plane> Keys<P> for Subkeys<C> {
    #[inline(always)]
    fn used(&self) -> usize {
        self.used
    }

    #[inline(always)]
    unsafe fn byte(&self, row: usize, byte: usize) -> P {
        // SAFETY: see the head of this file.
        unsafe { P::splat(self.wide.as_ref()[row][byte]) }
    }
}

/// A key for each block, with each byte of the subkeys in a vector.
pub(crate) struct KeyPlanes<C: Cipher, P: Copy> {
    pub used: usize,
    pub bytes: C::Rows<P>,
}

impl<C: Cipher, P: Plane> Keys<P> for KeyPlanes<C, P> {
    #[inline(always)]
    fn used(&self) -> usize {
        self.used
    }

    #[inline(always)]
    unsafe fn byte(&self, row: usize, byte: usize) -> P {
        self.bytes.as_ref()[row][byte]
    }
}

/// Passes as many blocks as a vector has bytes.
#[inline(always)]
pub(crate) unsafe fn crypt<C: Cipher, P: Computes<C>, K: Keys<P>>(keys: &K, blocks: &mut [u8]) {
    assert!(blocks.len() >= 16 * P::BYTES);
    // SAFETY: sixteen vectors fit the blocks; for the features see the head of this file.
    unsafe {
        let mut x = [P::splat(0); 16];
        for i in 0..16 {
            x[i] = P::load(blocks.as_ptr().add(i * P::BYTES));
        }
        x = transpose(P::pass(keys, transpose(x)));
        for i in 0..16 {
            x[i].store(blocks.as_mut_ptr().add(i * P::BYTES));
        }
    }
}

/// Turns blocks in vectors into bytes in vectors, or back: in each lane, byte `j` of vector `i` becomes byte `i` of
/// vector `j`. Each step turns the eight-bit index of a byte (vector, byte) by one bit.
#[inline(always)]
pub(crate) unsafe fn transpose<P: Plane>(mut x: [P; 16]) -> [P; 16] {
    for _ in 0..4 {
        let old = x;
        for i in 0..8 {
            // SAFETY: see the head of this file.
            unsafe {
                x[2 * i] = old[i].interleave_low(old[i + 8]);
                x[2 * i + 1] = old[i].interleave_high(old[i + 8]);
            }
        }
    }
    x
}

/// Declares a type of planes in the file of a tier, over a vector and its intrinsics.
macro_rules! plane {
    ($plane:ident($vector:ty): $splat:ident($byte:ty), $load:ident, $store:ident, $xor:ident, $and:ident, $or:ident,
     $low:ident, $high:ident) => {
        #[derive(Clone, Copy)]
        struct $plane($vector);

        impl $crate::blocks::planes::Plane for $plane {
            const BYTES: usize = size_of::<$vector>();

            #[inline(always)]
            unsafe fn load(from: *const u8) -> Self {
                // SAFETY: the caller's.
                unsafe { $plane($load(from.cast())) }
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut u8) {
                // SAFETY: the caller's.
                unsafe { $store(to.cast(), self.0) }
            }

            #[inline(always)]
            unsafe fn splat(byte: u32) -> Self {
                // SAFETY: the caller's features; so below.
                unsafe { $plane($splat(byte as $byte)) }
            }

            #[inline(always)]
            unsafe fn xor(self, b: Self) -> Self {
                // SAFETY: as above.
                unsafe { $plane($xor(self.0, b.0)) }
            }

            #[inline(always)]
            unsafe fn and(self, b: Self) -> Self {
                // SAFETY: as above.
                unsafe { $plane($and(self.0, b.0)) }
            }

            #[inline(always)]
            unsafe fn or(self, b: Self) -> Self {
                // SAFETY: as above.
                unsafe { $plane($or(self.0, b.0)) }
            }

            #[inline(always)]
            unsafe fn interleave_low(self, b: Self) -> Self {
                // SAFETY: as above.
                unsafe { $plane($low(self.0, b.0)) }
            }

            #[inline(always)]
            unsafe fn interleave_high(self, b: Self) -> Self {
                // SAFETY: as above.
                unsafe { $plane($high(self.0, b.0)) }
            }
        }
    };
}
pub(crate) use plane;

/// Declares a type of planes over SSE registers, and so below over AVX2's and AVX-512's.
#[cfg(target_arch = "x86_64")]
macro_rules! plane_128 {
    ($plane:ident) => {
        $crate::blocks::planes::plane! {
            $plane(__m128i): _mm_set1_epi32(i32), _mm_loadu_si128, _mm_storeu_si128, _mm_xor_si128, _mm_and_si128,
            _mm_or_si128, _mm_unpacklo_epi8, _mm_unpackhi_epi8
        }
    };
}
#[cfg(target_arch = "x86_64")]
pub(crate) use plane_128;

#[cfg(target_arch = "x86_64")]
macro_rules! plane_256 {
    ($plane:ident) => {
        $crate::blocks::planes::plane! {
            $plane(__m256i): _mm256_set1_epi32(i32), _mm256_loadu_si256, _mm256_storeu_si256, _mm256_xor_si256,
            _mm256_and_si256, _mm256_or_si256, _mm256_unpacklo_epi8, _mm256_unpackhi_epi8
        }
    };
}
#[cfg(target_arch = "x86_64")]
pub(crate) use plane_256;

#[cfg(target_arch = "x86_64")]
macro_rules! plane_512 {
    ($plane:ident) => {
        $crate::blocks::planes::plane! {
            $plane(__m512i): _mm512_set1_epi32(i32), _mm512_loadu_si512, _mm512_storeu_si512, _mm512_xor_si512,
            _mm512_and_si512, _mm512_or_si512, _mm512_unpacklo_epi8, _mm512_unpackhi_epi8
        }
    };
}
#[cfg(target_arch = "x86_64")]
pub(crate) use plane_512;

/// Declares a type of planes over NEON registers.
#[cfg(target_arch = "aarch64")]
macro_rules! plane_neon {
    ($plane:ident) => {
        $crate::blocks::planes::plane! {
            $plane(uint8x16_t): vdupq_n_u8(u8), vld1q_u8, vst1q_u8, veorq_u8, vandq_u8, vorrq_u8, vzip1q_u8, vzip2q_u8
        }
    };
}
#[cfg(target_arch = "aarch64")]
pub(crate) use plane_neon;
