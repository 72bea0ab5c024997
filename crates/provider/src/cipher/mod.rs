//! Ciphers: what all contexts have in common.
//!
//! Ref. provider-cipher(7), EVP_EncryptInit(3).

pub mod aead;
pub mod block;
pub mod cbc_hmac;
mod common;
pub mod key;
mod multi_block;
pub mod pipeline;
pub mod rc4;
mod records;
pub mod remote;
pub mod stream;
pub mod together;
pub mod xts;

pub use common::random;

use std::ffi::CStr;
use std::sync::Arc;

use millstream::isolated::ServiceKey;
use millstream::modes::Direction;
use millstream::{EngineError, Features, InOut};

use crate::abi::{INTEGER, OsslParam, UNSIGNED_INTEGER};
use crate::count::Rows;
use crate::error::Result;
use crate::exchange::Exchange;
use crate::params::Params;
use crate::provider::Provider;
use crate::remote::fits;

/// A cipher that is offered.
pub trait Cipher: 'static {
    /// What stands behind an `EVP_CIPHER_CTX` of it.
    type Context: Context;
    /// OpenSSL's names for it, with colons between.
    const NAMES: &'static CStr;
    /// What it is.
    const TRAITS: Traits;
    /// What its context needs to know.
    const SPEC: &'static <Self::Context as Context>::Spec;
    /// Its counters.
    fn rows() -> &'static Rows;
}

/// OpenSSL's number for a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Mode {
    Stream = 0,
    Ecb = 1,
    Cbc = 2,
    Cfb = 3,
    Ctr = 5,
    Gcm = 6,
    Xts = 0x10001,
}

/// What OpenSSL wants to know of a cipher. Lengths in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    pub mode: Mode,
    pub key: usize,
    pub iv: usize,
    /// 1 for a stream cipher.
    pub block: usize,
    pub aead: bool,
    /// Whether the context takes care of the vector itself.
    pub custom_iv: bool,
    /// Whether it seals many records of TLS at once.
    pub multi_block: bool,
}

/// The parameters that tell that.
pub const GETTABLE: &[OsslParam] = &[
    OsslParam::described(c"mode", UNSIGNED_INTEGER),
    OsslParam::described(c"keylen", UNSIGNED_INTEGER),
    OsslParam::described(c"ivlen", UNSIGNED_INTEGER),
    OsslParam::described(c"blocksize", UNSIGNED_INTEGER),
    OsslParam::described(c"aead", INTEGER),
    OsslParam::described(c"custom-iv", INTEGER),
    OsslParam::described(c"cts", INTEGER),
    OsslParam::described(c"tls-multi", INTEGER),
    OsslParam::described(c"has-randkey", INTEGER),
    OsslParam::described(c"encrypt-then-mac", INTEGER),
    OsslParam::END,
];

impl Traits {
    pub fn answer(&self, has_random_key: bool, params: Params<'_>) -> Result<()> {
        for param in params {
            match param.key().to_bytes() {
                b"mode" => param.set_uint(self.mode as u32)?,
                b"keylen" => param.set_size(self.key)?,
                b"ivlen" => param.set_size(self.iv)?,
                b"blocksize" => param.set_size(self.block)?,
                b"aead" => param.set_bool(self.aead)?,
                b"custom-iv" => param.set_bool(self.custom_iv)?,
                b"has-randkey" => param.set_bool(has_random_key)?,
                b"tls-multi" => param.set_bool(self.multi_block)?,
                b"cts" | b"encrypt-then-mac" => param.set_bool(false)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Where a key is, and whom to ask about it: what a new context is made for.
#[derive(Clone, Copy)]
pub struct Offer {
    pub provider: Provider,
    pub traits: &'static Traits,
    pub rows: &'static Rows,
    /// Whether keys go to the service.
    pub isolated: bool,
}

/// Makes a key in this process.
pub type Make<K> = fn(Features, &[u8]) -> std::result::Result<Arc<K>, EngineError>;

/// The longest that `finish` writes.
pub const LAST: usize = 32;

/// What stands behind an `EVP_CIPHER_CTX`. Its methods are the functions of provider-cipher(7).
pub trait Context: Clone + Send {
    /// What one algorithm of the kind differs in from the next.
    type Spec: 'static;
    /// Ends with `END`.
    const GETTABLE: &'static [OsslParam];
    /// Ends with `END`.
    const SETTABLE: &'static [OsslParam];

    /// Whether keys of such have rules (parity), and OpenSSL should ask for a random one.
    fn has_random_key(_spec: &Self::Spec) -> bool {
        false
    }

    fn new(offer: Offer, spec: &'static Self::Spec) -> Self;

    fn provider(&self) -> Provider;

    /// Begins a message: with the last key, or the last vector, where none is given.
    fn init(
        &mut self,
        direction: Direction,
        key: Option<&[u8]>,
        iv: Option<&[u8]>,
        params: Params<'_>,
    ) -> Result<()>;

    /// Takes a key that is in the service already. [`Context::init`] without a key comes next.
    fn take(&mut self, _direction: Direction, key: &Arc<ServiceKey>) -> Result<()> {
        fits(key, None, None)
    }

    /// Passes a piece from whose end nothing stays behind, with as much output as input, where the context is at such a point;
    /// none where it is not, and nothing is done then. What [`Context::update`] and [`Exchange`] cost more than this is half of
    /// what a block takes.
    #[inline(always)]
    fn quick(&mut self, _data: InOut<'_>) -> Option<Result<()>> {
        None
    }

    /// How many bytes [`Context::update`] writes for `input` more.
    fn update_len(&self, input: usize) -> Result<usize>;

    /// Takes the next piece; writes as many bytes as [`Context::update_len`] said, and tells how many of them count.
    fn update(&mut self, data: Exchange<'_>) -> Result<usize>;

    /// Whether several messages may be passed at once.
    const PIPELINED: bool = false;

    /// Takes the next piece of each message; tells how many bytes count.
    fn update_together(pipes: &mut [Self], pieces: Vec<Exchange<'_>>) -> Result<Vec<usize>> {
        pipes.iter_mut().zip(pieces).map(|(pipe, piece)| pipe.update(piece)).collect()
    }

    /// Writes the tag of a message that was encrypted: as many bytes as there is room for.
    fn tag(&self, _tag: &mut [u8]) -> Result<()> {
        Err(crate::error::Reason::NOT_SUPPORTED)
    }

    /// The tag that the message to be decrypted must have.
    fn expect(&mut self, _tag: &[u8]) -> Result<()> {
        Err(crate::error::Reason::NOT_SUPPORTED)
    }

    /// Takes associated data: an update without output.
    fn associate(&mut self, _data: &[u8]) -> Result<usize> {
        Err(crate::error::Reason::OUTPUT_BUFFER_TOO_SMALL)
    }

    /// Ends the message; tells how many bytes of `out` count.
    fn finish(&mut self, out: &mut [u8; LAST]) -> Result<usize>;

    /// How many bytes [`Context::cipher`] writes.
    fn cipher_len(&self, input: usize) -> Result<usize> {
        Ok(input)
    }

    /// One pass, with nothing held back: `EVP_Cipher`. Tells how many bytes count.
    fn cipher(&mut self, data: Exchange<'_>) -> Result<usize>;

    /// `EVP_Cipher` without input: for AEADs the end of the message.
    fn end(&mut self) -> Result<usize> {
        Ok(0)
    }

    /// Answers what changes the context when it is asked for, before [`Context::get`] answers the rest.
    fn draw(&mut self, _params: Params<'_>) -> Result<()> {
        Ok(())
    }

    fn get(&self, params: Params<'_>) -> Result<()>;

    fn set(&mut self, params: Params<'_>) -> Result<()>;
}
