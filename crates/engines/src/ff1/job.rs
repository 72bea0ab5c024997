//! One value to encrypt or decrypt among many.
//!
//! # Safety
//! A number of 16 bits is two bytes.
#![allow(unsafe_code)]

use std::slice;

use crate::Error;

/// A digit as it lies in memory: a number of 16 bits, or its two bytes, the low one first.
pub trait Digit: Copy + sealed::Sealed {
    /// Returns the number.
    fn number(self) -> u16;
    /// Returns the digit of a number.
    fn of(number: u16) -> Self;
    /// Returns the bytes of digits, in the order in which the form has them.
    fn bytes(digits: &mut [Self]) -> &mut [[u8; 2]];
}

impl Digit for u16 {
    #[inline(always)]
    fn number(self) -> u16 {
        self
    }

    #[inline(always)]
    fn of(number: u16) -> Self {
        number
    }

    #[inline(always)]
    fn bytes(digits: &mut [Self]) -> &mut [[u8; 2]] {
        // SAFETY: two bytes have the size of a number, need no alignment, and may have any values; so may a number.
        unsafe { slice::from_raw_parts_mut(digits.as_mut_ptr().cast(), digits.len()) }
    }
}

impl Digit for [u8; 2] {
    #[inline(always)]
    fn number(self) -> u16 {
        u16::from_le_bytes(self)
    }

    #[inline(always)]
    fn of(number: u16) -> Self {
        number.to_le_bytes()
    }

    #[inline(always)]
    fn bytes(digits: &mut [Self]) -> &mut [[u8; 2]] {
        digits
    }
}

mod sealed {
    /// Keeps the forms of a digit to those that are here.
    pub trait Sealed {}
    impl Sealed for u16 {}
    impl Sealed for [u8; 2] {}
}

/// One value for [`Ff1::encrypt_many`](super::Ff1::encrypt_many) and [`Ff1::decrypt_many`](super::Ff1::decrypt_many). A
/// digit is a `u16`, or two bytes where the digits lie among others' bytes.
#[derive(Debug)]
pub struct Ff1Job<'a, D = u16> {
    /// The tweak, of any length: public, and not the same for values of different columns.
    pub tweak: &'a [u8],
    /// The digits, each below the radix, the most significant first.
    pub digits: &'a mut [D],
    /// The result of [`Ff1::encrypt`](super::Ff1::encrypt) or [`Ff1::decrypt`](super::Ff1::decrypt).
    pub result: Result<(), Error>,
}

impl<'a, D: Digit> Ff1Job<'a, D> {
    /// A value to encrypt or decrypt in place.
    pub fn new(tweak: &'a [u8], digits: &'a mut [D]) -> Self {
        Ff1Job { tweak, digits, result: Ok(()) }
    }
}
