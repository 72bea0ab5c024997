//! The vector of a GCM context: its bytes, where they come from, and which message has them.

use crate::error::{Reason, Result};
use crate::params::Param;

/// The longest vector, in bytes.
pub const MAX_IV: usize = 128;

/// The vector's length where none is set. A random vector has at least that many bytes (SP 800-38D §8.2.2).
pub const USUAL_IV: usize = 12;

/// The bytes of a TLS 1.2 record's vector that come from the key block (RFC 5288 §3).
const FIXED_IV: usize = 4;

/// The number of bytes of a vector that the record carries itself.
pub const EXPLICIT_IV: usize = 8;

/// The progress of a vector from the caller to the messages that use it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// No vector was given.
    None,
    /// The caller gave one, and no message uses it yet.
    Given,
    /// The message under way uses it.
    InUse,
    /// A message used it, and the next one needs another.
    Used,
}

/// An initialisation vector.
#[derive(Clone)]
pub struct Vector {
    pub stage: Stage,
    bytes: [u8; MAX_IV],
    len: usize,
    /// True if the vector is random, at least in part.
    random: bool,
    /// True if the next vectors may be made from this one by counting.
    counts: bool,
}

impl Default for Vector {
    fn default() -> Self {
        Vector { stage: Stage::None, bytes: [0; MAX_IV], len: USUAL_IV, random: false, counts: false }
    }
}

impl Vector {
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_random(&self) -> bool {
        self.random
    }

    pub fn counts(&self) -> bool {
        self.counts
    }

    /// Takes the caller's vector for the next message.
    pub fn give(&mut self, iv: &[u8]) -> Result<()> {
        if iv.is_empty() || iv.len() > MAX_IV {
            return Err(Reason::INVALID_IV_LENGTH);
        }
        self.bytes[..iv.len()].copy_from_slice(iv);
        self.len = iv.len();
        self.random = false;
        self.stage = Stage::Given;
        Ok(())
    }

    pub fn set_len(&mut self, len: usize) -> Result<()> {
        if len == 0 || len > MAX_IV {
            return Err(Reason::INVALID_IV_LENGTH);
        }
        if len != self.len {
            // The vector that was given has another length.
            if self.stage != Stage::None {
                self.stage = Stage::Used;
            }
            self.len = len;
        }
        Ok(())
    }

    /// Makes the vector random from `at` on.
    pub fn randomise(&mut self, at: usize) -> Result<()> {
        let mut rest = &mut self.bytes[at..self.len];
        while !rest.is_empty() {
            let got = rustix::rand::getrandom(&mut *rest, rustix::rand::GetRandomFlags::empty());
            let got = got.map_err(|why| {
                Reason::CIPHER_OPERATION_FAILED.because(format!("the kernel has no random bytes: {why}"))
            })?;
            rest = &mut rest[got..];
        }
        self.random = true;
        self.stage = Stage::Given;
        Ok(())
    }

    /// Writes the last bytes of the vector to `out`, and counts the vector up for the next message.
    pub fn count(&mut self, out: &mut [u8]) -> Result<()> {
        if self.len < out.len().max(EXPLICIT_IV) {
            return Err(Reason::SILENT);
        }
        out.copy_from_slice(&self.bytes[self.len - out.len()..self.len]);
        let invocation = &mut self.bytes[self.len - EXPLICIT_IV..self.len];
        for byte in invocation.iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                break;
            }
        }
        Ok(())
    }

    /// Sets the last bytes of the vector.
    pub fn set_last(&mut self, last: &[u8]) -> Result<()> {
        let at = self.len.checked_sub(last.len()).ok_or(Reason::INVALID_IV_LENGTH)?;
        self.bytes[at..self.len].copy_from_slice(last);
        Ok(())
    }

    /// Sets the first bytes of the vector. A sender makes the others random and counts from there.
    pub fn set_fixed(&mut self, param: &Param<'_>, sends: bool) -> Result<()> {
        // -1 for its length is how `EVP_CTRL_GCM_SET_IV_FIXED` says that this is all of the vector.
        if param.room() == usize::MAX {
            let iv = param.octets_exactly(self.len)?;
            self.bytes[..self.len].copy_from_slice(iv);
        } else {
            let fixed = param.octets()?;
            if fixed.len() < FIXED_IV || self.len < fixed.len() + EXPLICIT_IV {
                return Err(Reason::FAILED_TO_GET_PARAMETER
                    .with("the fixed part of the vector has 4 bytes at least and leaves 8 at least"));
            }
            self.bytes[..fixed.len()].copy_from_slice(fixed);
            if sends {
                self.randomise(fixed.len())?;
            }
        }
        self.counts = true;
        self.stage = Stage::Given;
        Ok(())
    }
}
