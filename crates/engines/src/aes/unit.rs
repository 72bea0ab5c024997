//! The units that compute AES's rounds on a register: the processor's AES instructions, or what stands in for them.
//!
//! # Safety
//! All functions need the features of the register and of the unit: the caller vouches for both.
#![allow(unsafe_code)]

use super::schedule::{Block, Form};

/// A unit that computes the rounds on registers `R`.
///
/// The first round key is XORed before [`Unit::enter`] or [`Unit::enter_inverse`], the last one as the result comes out.
/// So a mode's own XORs may go in with those two keys whatever the unit is.
pub(crate) trait Unit<R: Copy>: Copy {
    /// The form of the round keys, which lanes ask for.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    const FORM: Form;
    /// The constant of the S-box if SubBytes leaves it to the round keys, or zero.
    const CONSTANT: u8 = 0;
    /// The number of registers that go through the rounds side by side. A round of many instructions overlaps with the
    /// next register's anyway, and with more registers side by side its tables would have no room.
    const ABREAST: usize;
    /// True if the rounds are a loop. A round of one instruction is written out for each number of rounds; a round of
    /// forty would then fill the cache of instructions several times over, and a jump is nothing beside it.
    const LOOP: bool;

    /// Brings a state into the form of the rounds.
    ///
    /// # Safety
    /// See the head of this file; so below.
    #[inline(always)]
    unsafe fn enter(state: R) -> R {
        state
    }

    /// Brings a state into the form of the inverse cipher's rounds.
    #[inline(always)]
    unsafe fn enter_inverse(state: R) -> R {
        state
    }

    /// SubBytes, ShiftRows, MixColumns, AddRoundKey.
    unsafe fn enc(state: R, key: R) -> R;
    /// SubBytes, ShiftRows, AddRoundKey.
    unsafe fn enc_last(state: R, key: R) -> R;
    /// InvSubBytes, InvShiftRows, InvMixColumns, AddRoundKey.
    unsafe fn dec(state: R, key: R) -> R;
    /// InvSubBytes, InvShiftRows, AddRoundKey.
    unsafe fn dec_last(state: R, key: R) -> R;

    /// Returns the carry-less product of 0x87 and the upper half of each block if `UPPER`, of the lower half otherwise. At
    /// most 32 bits of the half are in use, and the other half is zero or, if `UPPER`, anything.
    unsafe fn times_87<const UPPER: bool>(carry: R) -> R;
}

/// A register of whole blocks.
pub(crate) trait Register: Copy {
    /// The same block in every place.
    unsafe fn splat(block: &Block) -> Self;
    unsafe fn xor(self, other: Self) -> Self;
    /// The low half and the high half of each byte.
    unsafe fn nibbles(self) -> [Self; 2];
    /// Returns for each byte the entry of a table that it numbers: of the 16 bytes at its place in `table`. A byte of 0x80
    /// or more gives zero.
    unsafe fn look_up(self, table: Self) -> Self;
    /// Shifts the halves of each block to the left.
    unsafe fn shift_halves<const BITS: i32>(self) -> Self;
    /// The upper half of each block in the place of the lower, and zero.
    unsafe fn upper_half(self) -> Self;

    /// The bytes of each block in the order that `order` names.
    #[inline(always)]
    unsafe fn permute(self, order: &Block) -> Self {
        // SAFETY: as the caller.
        unsafe { Self::splat(order).look_up(self) }
    }
}

/// [`Unit::times_87`] without a carry-less multiplication: 0x87 has four bits.
#[inline(always)]
pub(crate) unsafe fn times_87<R: Register, const UPPER: bool>(carry: R) -> R {
    // SAFETY: as the caller.
    unsafe {
        let carry = if UPPER { carry.upper_half() } else { carry };
        let low = carry.xor(carry.shift_halves::<1>());
        low.xor(carry.shift_halves::<2>()).xor(carry.shift_halves::<7>())
    }
}

/// The columns' sums: ShiftRows or InvShiftRows in `orders`, then a term of MixColumns for each step down a column.
#[inline(always)]
pub(crate) unsafe fn mix<R: Register>(terms: [R; 4], orders: &[Block; 4], key: R) -> R {
    // SAFETY: as the caller.
    unsafe {
        let [a, b, c, d] = terms;
        let first = a.permute(&orders[0]).xor(b.permute(&orders[1]));
        let second = c.permute(&orders[2]).xor(d.permute(&orders[3]));
        first.xor(second.xor(key))
    }
}
