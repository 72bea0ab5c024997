//! One value to encrypt or decrypt among many.

use crate::Error;

/// One value for [`Ff1::encrypt_many`](super::Ff1::encrypt_many) and [`Ff1::decrypt_many`](super::Ff1::decrypt_many).
#[derive(Debug)]
pub struct Ff1Job<'a> {
    /// The tweak, of any length: public, and not the same for values of different columns.
    pub tweak: &'a [u8],
    /// The digits, each below the radix, the most significant first.
    pub digits: &'a mut [u16],
    /// The result of [`Ff1::encrypt`](super::Ff1::encrypt) or [`Ff1::decrypt`](super::Ff1::decrypt).
    pub result: Result<(), Error>,
}

impl<'a> Ff1Job<'a> {
    /// A value to encrypt or decrypt in place.
    pub fn new(tweak: &'a [u8], digits: &'a mut [u16]) -> Self {
        Ff1Job { tweak, digits, result: Ok(()) }
    }
}
