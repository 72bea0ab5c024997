//! Ciphers: the trait of all contexts, and what describes a cipher.
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
pub mod siv;
pub mod stream;
pub mod together;
pub mod wrap;
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

/// A cipher that the provider offers.
pub trait Cipher: 'static {
    /// The context behind an `EVP_CIPHER_CTX` of the cipher.
    type Context: Context;
    /// OpenSSL's names for the cipher, separated by colons.
    const NAMES: &'static CStr;
    /// The description that OpenSSL asks for.
    const INFO: CipherInfo;
    /// The parameters of its context.
    const SPEC: &'static <Self::Context as Context>::Spec;
    /// Returns the counters of the cipher.
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
    Wrap = 0x10002,
    Siv = 0x10004,
    GcmSiv = 0x10005,
}

/// The description of a cipher that OpenSSL asks for. Lengths are in bytes.
#[derive(Clone, Copy, Debug)]
pub struct CipherInfo {
    pub mode: Mode,
    pub key: usize,
    pub iv: usize,
    /// The length of a block, which is 1 for a stream cipher.
    pub block: usize,
    pub aead: bool,
    /// True if the context takes care of the vector itself.
    pub custom_iv: bool,
    /// True if the cipher seals many records of TLS at once.
    pub multi_block: bool,
}

/// The parameters that tell the description.
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

impl CipherInfo {
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

/// The data from which OpenSSL's new contexts are made: a cipher of a provider, with its keys in the service or in this
/// process.
#[derive(Clone, Copy)]
pub struct Registration {
    pub provider: Provider,
    pub info: &'static CipherInfo,
    pub rows: &'static Rows,
    /// True if keys go to the service.
    pub isolated: bool,
}

/// Makes a key in this process.
pub type Make<K> = fn(Features, &[u8]) -> std::result::Result<Arc<K>, EngineError>;

/// The most bytes that `finish` writes.
pub const LAST: usize = 32;

/// The context behind an `EVP_CIPHER_CTX`. Its methods are the functions of provider-cipher(7).
pub trait Context: Clone + Send {
    /// The parameters of one algorithm of the kind.
    type Spec: 'static;
    /// The parameters that can be asked for; the list ends with `END`.
    const GETTABLE: &'static [OsslParam];
    /// The parameters that can be set; the list ends with `END`.
    const SETTABLE: &'static [OsslParam];

    /// Bytes of room that the caller of an update has beyond what libcrypto tells. (OpenSSL's own key wrap writes there, too.)
    const BEYOND: usize = 0;

    /// Tells whether keys have rules (parity), so that OpenSSL should ask for a random one.
    fn has_random_key(_spec: &Self::Spec) -> bool {
        false
    }

    fn new(registration: Registration, spec: &'static Self::Spec) -> Self;

    /// Begins a message, before its key and its parameters are set. Without a vector the last one may be used again.
    fn start(&mut self, direction: Direction, iv: Option<&[u8]>) -> Result<()>;

    /// Sets a key of bytes for the direction that was given at the start.
    fn set_key(&mut self, key: &[u8]) -> Result<()>;

    /// Begins a message: with the last key, or the last vector, where none is given.
    fn init(
        &mut self,
        direction: Direction,
        key: Option<&[u8]>,
        iv: Option<&[u8]>,
        params: Params<'_>,
    ) -> Result<()> {
        self.start(direction, iv)?;
        if let Some(key) = key {
            self.set_key(key)?;
        }
        self.set(params)
    }

    /// Takes a key that is in the service already. [`Context::init`] without a key comes next.
    fn take(&mut self, _direction: Direction, key: &Arc<ServiceKey>) -> Result<()> {
        fits(key, None, None)
    }

    /// Encrypts or decrypts a piece that leaves nothing over, with as much output as input, if the context is at such a
    /// point; else returns none and does nothing. [`Context::update`] and [`Exchange`] would cost half as much as a
    /// block on top.
    #[inline(always)]
    fn quick(&mut self, _data: InOut<'_>) -> Option<Result<()>> {
        None
    }

    /// Returns the number of bytes that [`Context::update`] writes for `input` more.
    fn update_len(&self, input: usize) -> Result<usize>;

    /// Takes the next piece. Writes as many bytes as [`Context::update_len`] said, and returns how many of them count.
    fn update(&mut self, data: Exchange<'_>) -> Result<usize>;

    /// True if several messages may be computed at once.
    const PIPELINED: bool = false;

    /// Takes the next piece of each message, and tells in `written` how many bytes count.
    fn update_together(pipes: &mut [Self], pieces: Vec<Exchange<'_>>, written: &mut [usize]) -> Result<()> {
        each_update(pipes, pieces, written)
    }

    /// Ends each message with its last bytes, and tells in `written` how many these are.
    fn finish_together(pipes: &mut [Self], last: &mut [[u8; LAST]], written: &mut [usize]) -> Result<()> {
        each_finish(pipes, last, written)
    }

    /// Writes the tag of a message that was encrypted, as many bytes as there is room for.
    fn tag(&self, _tag: &mut [u8]) -> Result<()> {
        Err(crate::error::Reason::NOT_SUPPORTED)
    }

    /// Sets the tag that the message to be decrypted must have.
    fn expect(&mut self, _tag: &[u8]) -> Result<()> {
        Err(crate::error::Reason::NOT_SUPPORTED)
    }

    /// Takes associated data: an update without output.
    fn associate(&mut self, _data: &[u8]) -> Result<usize> {
        Err(crate::error::Reason::OUTPUT_BUFFER_TOO_SMALL)
    }

    /// Ends the message, and returns how many bytes of `out` count.
    fn finish(&mut self, out: &mut [u8; LAST]) -> Result<usize>;

    /// Returns the number of bytes that [`Context::cipher`] writes.
    fn cipher_len(&self, input: usize) -> Result<usize> {
        Ok(input)
    }

    /// Encrypts or decrypts in one call with nothing held back: `EVP_Cipher`. Returns how many bytes count.
    fn cipher(&mut self, data: Exchange<'_>) -> Result<usize>;

    /// Ends an AEAD's message: `EVP_Cipher` without input.
    fn end(&mut self) -> Result<usize> {
        Ok(0)
    }

    /// Answers parameters that change the context, before [`Context::get`] answers the rest.
    fn draw(&mut self, _params: Params<'_>) -> Result<()> {
        Ok(())
    }

    fn get(&self, params: Params<'_>) -> Result<()>;

    fn set(&mut self, params: Params<'_>) -> Result<()>;
}

/// [`Context::update_together`], one after another.
fn each_update<C: Context>(pipes: &mut [C], pieces: Vec<Exchange<'_>>, written: &mut [usize]) -> Result<()> {
    for ((pipe, piece), written) in pipes.iter_mut().zip(pieces).zip(written) {
        *written = pipe.update(piece)?;
    }
    Ok(())
}

/// [`Context::finish_together`], one after another.
fn each_finish<C: Context>(pipes: &mut [C], last: &mut [[u8; LAST]], written: &mut [usize]) -> Result<()> {
    for ((pipe, last), written) in pipes.iter_mut().zip(last).zip(written) {
        *written = pipe.finish(last)?;
    }
    Ok(())
}
