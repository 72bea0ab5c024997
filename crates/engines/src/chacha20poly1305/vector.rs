//! ChaCha20 rounds over vectors of any width, in the two arrangements the kernels use.
//!
//! Down: word `i` of several blocks shares vector `i`, so the diagonal round only names other
//! vectors. Across: a row of four words of one block fills 128 bits, and rows turn between rounds.
//! Four vectors hold as many blocks as they have 128-bit parts, so a single block wastes nothing.
//!
//! Ref. RFC 8439 §2.1 (quarter round), §2.3 (block function).
//!
//! # Safety
//! The functions of the traits may need processor features; whoever names a type that implements
//! one calls from a function that has them.
#![allow(unsafe_code)]

/// "expand 32-byte k", RFC 8439 §2.3.
pub(super) const SIGMA: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// A vector of 32-bit words.
pub(super) trait Words: Copy {
    /// # Safety
    /// As the file's head says.
    unsafe fn add(self, other: Self) -> Self;
    /// # Safety
    /// As the file's head says.
    unsafe fn xor(self, other: Self) -> Self;
    /// # Safety
    /// As the file's head says.
    unsafe fn rotate<const LEFT: i32>(self) -> Self;
}

/// A vector of rows of four words.
#[cfg(target_arch = "x86_64")]
pub(super) trait Rows: Words {
    /// Moves the words of every row down by `N` places.
    ///
    /// # Safety
    /// As the file's head says.
    unsafe fn turn<const N: usize>(self) -> Self;
}

/// A column round and a diagonal round, arranged down.
///
/// # Safety
/// The caller has the features of `W`.
#[inline(always)]
pub(super) unsafe fn double_round_down<W: Words>(x: &mut [W; 16]) {
    // SAFETY: the caller's.
    unsafe {
        four_quarter_rounds::<W, 0>(x);
        four_quarter_rounds::<W, 1>(x);
    }
}

/// RFC 8439 §2.1, of four columns (`DIAGONAL` 0) or diagonals (1), in step: a processor sees four
/// independent chains side by side.
#[inline(always)]
unsafe fn four_quarter_rounds<W: Words, const DIAGONAL: usize>(x: &mut [W; 16]) {
    // SAFETY: the caller's.
    unsafe {
        half_quarter_rounds::<W, DIAGONAL, 16, 12>(x);
        half_quarter_rounds::<W, DIAGONAL, 8, 7>(x);
    }
}

#[inline(always)]
unsafe fn half_quarter_rounds<W: Words, const DIAGONAL: usize, const D: i32, const B: i32>(x: &mut [W; 16]) {
    let row = |r: usize, i: usize| 4 * r + (i + r * DIAGONAL) % 4;
    // SAFETY: the caller's.
    unsafe {
        for i in 0..4 {
            x[i] = x[i].add(x[row(1, i)]);
        }
        for i in 0..4 {
            x[row(3, i)] = x[row(3, i)].xor(x[i]).rotate::<D>();
        }
        for i in 0..4 {
            x[row(2, i)] = x[row(2, i)].add(x[row(3, i)]);
        }
        for i in 0..4 {
            x[row(1, i)] = x[row(1, i)].xor(x[row(2, i)]).rotate::<B>();
        }
    }
}

/// A column round and a diagonal round on `SETS` sets of blocks, arranged across.
///
/// # Safety
/// The caller has the features of `R`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn double_round_across<R: Rows, const SETS: usize>(x: &mut [[R; 4]; SETS]) {
    // SAFETY: the caller's.
    unsafe {
        for s in 0..SETS {
            quarter_round_rows(&mut x[s]);
        }
        // The second row comes last out of a round and goes first into the next: it stays, and
        // the others turn around it while they wait.
        for s in 0..SETS {
            x[s][0] = x[s][0].turn::<3>();
            x[s][2] = x[s][2].turn::<1>();
            x[s][3] = x[s][3].turn::<2>();
        }
        for s in 0..SETS {
            quarter_round_rows(&mut x[s]);
        }
        for s in 0..SETS {
            x[s][0] = x[s][0].turn::<1>();
            x[s][2] = x[s][2].turn::<3>();
            x[s][3] = x[s][3].turn::<2>();
        }
    }
}

/// Four quarter rounds of each block, one a column of the rows.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn quarter_round_rows<R: Rows>(x: &mut [R; 4]) {
    // SAFETY: the caller's.
    unsafe {
        x[0] = x[0].add(x[1]);
        x[3] = x[3].xor(x[0]).rotate::<16>();
        x[2] = x[2].add(x[3]);
        x[1] = x[1].xor(x[2]).rotate::<12>();
        x[0] = x[0].add(x[1]);
        x[3] = x[3].xor(x[0]).rotate::<8>();
        x[2] = x[2].add(x[3]);
        x[1] = x[1].xor(x[2]).rotate::<7>();
    }
}
