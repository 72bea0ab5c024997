//! The permutation Keccak-f\[1600\], written once for every kind of word: a register of the processor, or a vector with a word
//! of each message.
//!
//! A round consists of the five operations of [`Lane`], four of which are instructions of AArch64's extension for SHA-3.
//!
//! Ref. FIPS 202 §3.2 (the steps of a round), §3.3 and §3.4 (the permutation), §4 (the sponge).
//!
//! # Safety
//! The functions of a [`Lane`] may need processor features: whoever names a type that implements it calls from a function
//! that has them.
#![allow(unsafe_code)]

/// Words in a state. The standard's A\[x, y\] is the word `x + 5 * y`.
pub(super) const WORDS: usize = 25;

/// The constants of the step iota: FIPS 202 §3.2.5.
#[rustfmt::skip]
const ROUND_CONSTANTS: [u64; 24] = [
    0x0000_0000_0000_0001, 0x0000_0000_0000_8082, 0x8000_0000_0000_808a, 0x8000_0000_8000_8000,
    0x0000_0000_0000_808b, 0x0000_0000_8000_0001, 0x8000_0000_8000_8081, 0x8000_0000_0000_8009,
    0x0000_0000_0000_008a, 0x0000_0000_0000_0088, 0x0000_0000_8000_8009, 0x0000_0000_8000_000a,
    0x0000_0000_8000_808b, 0x8000_0000_0000_008b, 0x8000_0000_0000_8089, 0x8000_0000_0000_8003,
    0x8000_0000_0000_8002, 0x8000_0000_0000_0080, 0x0000_0000_0000_800a, 0x8000_0000_8000_000a,
    0x8000_0000_8000_8081, 0x8000_0000_0000_8080, 0x0000_0000_8000_0001, 0x8000_0000_8000_8008,
];

/// A word of the state, of one message or of several.
///
/// # Safety
/// Every function: the processor has the features of the type.
pub(super) trait Lane: Copy {
    unsafe fn splat(word: u64) -> Self;

    unsafe fn xor(self, other: Self) -> Self;

    unsafe fn xor3(self, y: Self, z: Self) -> Self;

    /// `self ^ other`, with `other` rotated to the left by one bit.
    unsafe fn xor_rotated(self, other: Self) -> Self;

    /// `self ^ other`, rotated to the right.
    unsafe fn xor_rotate_right<const BITS: i32>(self, other: Self) -> Self;

    /// `self ^ (!y & z)`, the step chi.
    unsafe fn chi(self, y: Self, z: Self) -> Self;
}

/// A word of one message.
///
/// # Safety
/// Every function: the processor has the features of the type.
pub(super) trait Single: Lane {
    /// Returns the word.
    unsafe fn word(self) -> u64;
}

/// Permutes the state: FIPS 202 §3.3 and §3.4.
///
/// # Safety
/// The processor has the features of `V`.
#[inline(always)]
pub(super) unsafe fn permute<V: Lane>(state: &mut [V; WORDS]) {
    // One round in the loop: the compiler leaves 25 vectors in registers, and to unroll it was never faster.
    let mut a = *state;
    for i in 0..ROUND_CONSTANTS.len() {
        // SAFETY: the caller's.
        a = unsafe { round(a, ROUND_CONSTANTS[i]) };
    }
    *state = a;
}

/// Permutes the words of a state.
///
/// # Safety
/// The processor has the features of `V`.
#[inline(always)]
pub(super) unsafe fn permute_words<V: Single>(words: &mut [[u64; 1]; WORDS]) {
    // SAFETY: the caller's.
    unsafe {
        let mut a = [V::splat(0); WORDS];
        for i in 0..WORDS {
            a[i] = V::splat(words[i][0]);
        }
        permute(&mut a);
        for i in 0..WORDS {
            words[i] = [a[i].word()];
        }
    }
}

/// The steps rho, pi and chi for a row of the new state. Each of its words comes from the word `$i` of the old state, with the
/// column's parity of the step theta, rotated to the right by `$bits`.
macro_rules! row {
    ($a:ident $d:ident $($i:literal $bits:literal),+) => {{
        let b = [$($a[$i].xor_rotate_right::<$bits>($d[$i % 5])),+];
        [
            b[0].chi(b[1], b[2]),
            b[1].chi(b[2], b[3]),
            b[2].chi(b[3], b[4]),
            b[3].chi(b[4], b[0]),
            b[4].chi(b[0], b[1]),
        ]
    }};
}

/// One round. The right rotations are 64 less the offsets of FIPS 202 §3.2.2.
#[inline(always)]
unsafe fn round<V: Lane>(a: [V; WORDS], constant: u64) -> [V; WORDS] {
    // SAFETY: the caller's.
    unsafe {
        let mut c = [a[0]; 5];
        for x in 0..5 {
            c[x] = a[x].xor3(a[x + 5], a[x + 10]).xor3(a[x + 15], a[x + 20]);
        }
        let mut d = c;
        for x in 0..5 {
            d[x] = c[(x + 4) % 5].xor_rotated(c[(x + 1) % 5]);
        }
        let mut rows = [
            row!(a d 0 0, 6 20, 12 21, 18 43, 24 50),
            row!(a d 3 36, 9 44, 10 61, 16 19, 22 3),
            row!(a d 1 63, 7 58, 13 39, 19 56, 20 46),
            row!(a d 4 37, 5 28, 11 54, 17 49, 23 8),
            row!(a d 2 2, 8 9, 14 25, 15 23, 21 62),
        ];
        rows[0][0] = rows[0][0].xor(V::splat(constant));
        let mut new = a;
        for y in 0..5 {
            for x in 0..5 {
                new[x + 5 * y] = rows[y][x];
            }
        }
        new
    }
}

/// Absorbs blocks, and then those of `last`: FIPS 202 §4, steps 4 to 6.
///
/// # Safety
/// The processor has the features of `V`.
#[inline(always)]
pub(super) unsafe fn absorb<V: Single, const RATE: usize>(
    state: &mut [u64; WORDS],
    blocks: &[[u8; RATE]],
    last: &[[u8; RATE]],
) {
    // SAFETY: the caller's.
    unsafe {
        let mut a = [V::splat(0); WORDS];
        for i in 0..WORDS {
            a[i] = V::splat(state[i]);
        }
        for block in blocks.iter().chain(last) {
            let words = block.as_chunks().0;
            for i in 0..RATE / 8 {
                a[i] = a[i].xor(V::splat(u64::from_le_bytes(words[i])));
            }
            permute(&mut a);
        }
        for i in 0..WORDS {
            state[i] = a[i].word();
        }
    }
}
