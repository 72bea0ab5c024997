//! The choices that signatures of ML-DSA and SLH-DSA share: the context, what the message is, and where a signature comes from.
//!
//! Ref. EVP_SIGNATURE-ML-DSA(7), EVP_SIGNATURE-SLH-DSA(7).

use millstream::publickey::slhdsa::CONTEXT_MAX;

use super::message::Purpose;
use crate::abi::{INTEGER, OCTET_STRING, OsslParam};
use crate::error::{Reason, Result};
use crate::params::Param;

pub const CONTEXT: OsslParam = OsslParam::described(c"context-string", OCTET_STRING);
pub const ENTROPY: OsslParam = OsslParam::described(c"test-entropy", OCTET_STRING);
pub const DETERMINISTIC: OsslParam = OsslParam::described(c"deterministic", INTEGER);
pub const ENCODING: OsslParam = OsslParam::described(c"message-encoding", INTEGER);
pub const SIGNATURE: OsslParam = OsslParam::described(c"signature", OCTET_STRING);

/// The choices of a context of signatures.
#[derive(Clone)]
pub struct Choices {
    /// The standard's ctx, of at most 255 bytes.
    pub context: Vec<u8>,
    /// True if the message is signed within its context, as the standard has it. Otherwise what comes is the standard's M', which tests
    /// and callers that have encoded it already hand over.
    pub encodes: bool,
    pub deterministic: bool,
    /// The signature that pieces are to have.
    pub expected: Vec<u8>,
}

impl Choices {
    pub fn new() -> Self {
        Choices { context: Vec::new(), encodes: true, deterministic: false, expected: Vec::new() }
    }

    /// Takes a parameter over, if it is one of these choices.
    ///
    /// # Errors
    /// For a value of another type, and a context that is too long.
    pub fn set(&mut self, param: &Param<'_>, purpose: Purpose) -> Result<()> {
        match param.key().to_bytes() {
            b"context-string" => {
                let context = param.octets()?;
                if context.len() > CONTEXT_MAX {
                    return Err(
                        Reason::FAILED_TO_GET_PARAMETER.with("a context string has at most 255 bytes")
                    );
                }
                self.context = context.to_vec();
            }
            b"deterministic" => self.deterministic = param.size()? == 1,
            b"message-encoding" => self.encodes = param.size()? != 0,
            b"signature" if purpose == Purpose::VerifyMessage => self.expected = param.octets()?.to_vec(),
            _ => {}
        }
        Ok(())
    }
}
