//! One message to seal or open among many.

use crate::aead::TAG;
use crate::{Error, InOut};

/// One message for [`Xaes::seal_many`](super::Xaes::seal_many) and [`Xaes::open_many`](super::Xaes::open_many).
pub struct XaesJob<'a> {
    /// The nonce of 24 bytes.
    pub nonce: &'a [u8],
    /// Associated data.
    pub aad: &'a [u8],
    /// The data to encrypt or decrypt.
    pub data: InOut<'a>,
    /// The tag: sealing writes it, unless the result is an error; opening reads it.
    pub tag: [u8; TAG],
    /// The result, as that of [`Aead::seal`](crate::aead::Aead::seal) or [`Aead::open`](crate::aead::Aead::open).
    pub result: Result<(), Error>,
}

impl<'a> XaesJob<'a> {
    /// A message with a tag of zeros.
    pub const fn new(nonce: &'a [u8], aad: &'a [u8], data: InOut<'a>) -> Self {
        XaesJob { nonce, aad, data, tag: [0; TAG], result: Ok(()) }
    }
}
