//! SHAKE: digests as long as the caller says.
//!
//! Ref. EVP_MD-SHAKE(7), EVP_DigestFinalXOF(3), EVP_DigestSqueeze(3).

use std::sync::OnceLock;

use millstream::sha3::{self, Xof, XofKernel, XofReader};
use millstream::tally::{Place, Row};

use crate::abi::{OsslParam, UNSIGNED_INTEGER};
use crate::count::Rows;
use crate::digest::{Context, Digest, Message, Spec};
use crate::error::{Reason, Result};
use crate::params::Params;
use crate::provider::Provider;

/// The parameters of a message: its digest's length, under two names.
pub const SETTABLE: &[OsslParam] = &[
    OsslParam::described(c"xoflen", UNSIGNED_INTEGER),
    OsslParam::described(c"size", UNSIGNED_INTEGER),
    OsslParam::END,
];

/// The default lengths, which OpenSSL has up to version 3.3.
pub const SIZE_128: usize = 16;
pub const SIZE_256: usize = 32;

/// A message under way, or its output.
#[derive(Clone)]
pub struct Shake {
    state: State,
    kernel: &'static XofKernel,
    xof: Xof,
    /// Bytes of the digest, if the caller said how many.
    asked: Option<usize>,
}

#[derive(Clone)]
enum State {
    Absorbing(sha3::Shake),
    /// The output is read piece by piece.
    Squeezing(XofReader),
}

/// Returns the kernel for a function, which is chosen once.
fn kernel(xof: Xof) -> Result<&'static XofKernel> {
    static KERNELS: [OnceLock<XofKernel>; 2] = [const { OnceLock::new() }; _];
    let kernel = &KERNELS[xof as usize];
    if let Some(kernel) = kernel.get() {
        return Ok(kernel);
    }
    let best = XofKernel::best(millstream::features()?, xof);
    Ok(kernel.get_or_init(|| best))
}

impl Message for Shake {
    fn new(spec: &Spec) -> Result<Self> {
        let xof = spec.xof.ok_or(Reason::INTERNAL)?;
        let kernel = kernel(xof)?;
        let state = State::Absorbing(sha3::Shake::with_kernel(*kernel));
        Ok(Shake { state, kernel, xof, asked: None })
    }

    fn row(&self, provider: Provider) -> Row {
        static ROWS: [Rows; 2] = [const { Rows::new() }; _];
        ROWS[self.xof as usize].row(provider, Place::InProcess, self.xof.name(), self.kernel.kernel().name)
    }

    fn reset(&mut self) {
        self.state = State::Absorbing(sha3::Shake::with_kernel(*self.kernel));
    }

    fn renew(&mut self, _: &Spec) {
        self.reset();
        self.asked = None;
    }

    fn update(&mut self, data: &[u8]) -> Result<()> {
        match &mut self.state {
            State::Absorbing(shake) => shake.update(data),
            State::Squeezing(_) => return Err(Reason::UPDATE_CALL_OUT_OF_ORDER),
        }
        Ok(())
    }

    fn size(&self, spec: &Spec) -> Result<usize> {
        self.len(spec).ok_or(Reason::INVALID_DIGEST_LENGTH)
    }

    fn asked(&self) -> Option<usize> {
        self.asked
    }

    fn finish(&mut self, out: &mut [u8]) -> Result<()> {
        if matches!(self.state, State::Squeezing(_)) {
            return Err(Reason::FINAL_CALL_OUT_OF_ORDER);
        }
        self.squeeze(out);
        self.reset();
        Ok(())
    }
}

impl Shake {
    /// Ends the message if it has not ended, and writes the next bytes of its output.
    fn squeeze(&mut self, out: &mut [u8]) {
        if let State::Absorbing(shake) = &self.state {
            self.state = State::Squeezing(shake.clone().finish());
        }
        if let State::Squeezing(reader) = &mut self.state {
            reader.squeeze(out);
        }
    }

    /// Returns the bytes of the digest, if the caller said how many or there is a default.
    fn len(&self, spec: &Spec) -> Option<usize> {
        self.asked.or((spec.size > 0).then_some(spec.size))
    }

    fn is_squeezing(&self) -> bool {
        matches!(self.state, State::Squeezing(_))
    }
}

impl<D: Digest<Message = Shake>> Context<D> {
    /// Takes parameters: the length of the digest.
    pub fn set(&mut self, params: Params<'_>) -> Result<()> {
        let names = [c"xoflen", c"size"];
        if let Some(param) = names.into_iter().find_map(|name| params.find(name)) {
            self.message.asked = Some(param.size()?);
        }
        Ok(())
    }

    /// Tells the length of the digest, or the greatest number where it has none.
    pub fn answer(&self, params: Params<'_>) -> Result<()> {
        for param in params {
            if matches!(param.key().to_bytes(), b"xoflen" | b"size") {
                param.set_size(self.message.len(&D::SPEC).unwrap_or(usize::MAX))?;
            }
        }
        Ok(())
    }

    /// Writes the next bytes of the output. The first ones end the message.
    pub fn squeeze(&mut self, out: &mut [u8]) -> Result<()> {
        if !self.message.is_squeezing() {
            self.count.add(0);
        }
        self.begun = false;
        self.message.squeeze(out);
        Ok(())
    }
}
