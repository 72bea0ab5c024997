//! The two schemes of Ed448, and what each hashes before a message.
//!
//! Ref. RFC 8032 §5.2 (the table of parameters) and §2 (dom4).

use millstream_engines::sha3::{Shake, XofKernel};
use zeroize::Zeroize;

use super::{CONTEXT_MAX, NAME};
use crate::Error;
use crate::curve448::scalar::{DIGEST, Scalar};

/// A scheme of Ed448. A signature of one never verifies under the other, or under another context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme<'a> {
    /// Ed448: the message itself is signed, within a context of 0 to 255 bytes.
    Pure(&'a [u8]),
    /// Ed448ph: 64 bytes of the message's SHAKE256 are signed, within a context of 0 to 255 bytes.
    Prehash(&'a [u8]),
}

const DOMAIN: &[u8; 8] = b"SigEd448";

/// Bytes of what Ed448ph signs of a message.
const PREHASH: usize = 64;

/// A message as the scheme hashes it: dom4, and the message or its digest.
pub(super) struct Input<'m> {
    hash: XofKernel,
    domain: [u8; DOMAIN.len() + 2 + CONTEXT_MAX],
    domain_len: usize,
    message: &'m [u8],
    digest: Option<[u8; PREHASH]>,
}

impl<'m> Input<'m> {
    /// Prepares a message.
    ///
    /// # Errors
    /// [`Error::Length`] for a context that is too long.
    pub(super) fn new(hash: XofKernel, scheme: Scheme<'_>, message: &'m [u8]) -> Result<Self, Error> {
        let (flag, context) = match scheme {
            Scheme::Pure(context) => (0, context),
            Scheme::Prehash(context) => (1, context),
        };
        let (given, takes) = (context.len(), "at most 255 bytes");
        let too_long = |_| Error::Length { algorithm: NAME, what: "context", given, takes };
        let len = u8::try_from(given).map_err(too_long)?;
        let mut input = Input::plain(hash, message);
        input.domain_len += given;
        input.domain[DOMAIN.len()..][..2].copy_from_slice(&[flag, len]);
        input.domain[DOMAIN.len() + 2..][..given].copy_from_slice(context);
        if flag == 1 {
            let mut digest = [0; PREHASH];
            let mut shake = Shake::with_kernel(hash);
            shake.update(message);
            shake.finish().squeeze(&mut digest);
            input.digest = Some(digest);
        }
        Ok(input)
    }

    /// Prepares a message of Ed448 without a context.
    pub(super) fn plain(hash: XofKernel, message: &'m [u8]) -> Self {
        let mut domain = [0; DOMAIN.len() + 2 + CONTEXT_MAX];
        domain[..DOMAIN.len()].copy_from_slice(DOMAIN);
        Input { hash, domain, domain_len: DOMAIN.len() + 2, message, digest: None }
    }

    /// Hashes dom4, these parts and the message to a scalar.
    pub(super) fn scalar(&self, parts: &[&[u8]]) -> Scalar {
        let mut shake = Shake::with_kernel(self.hash);
        shake.update(&self.domain[..self.domain_len]);
        parts.iter().for_each(|part| shake.update(part));
        shake.update(self.digest.as_ref().map_or(self.message, |digest| digest));
        let mut wide = [0; DIGEST];
        shake.finish().squeeze(&mut wide);
        let scalar = Scalar::reduce(&wide);
        wide.zeroize();
        scalar
    }
}
