//! The two forms of a wrapped key.
//!
//! Ref. NIST SP 800-38F §6.2 (KW), §6.3 (KWP).

use crate::Error;

/// Bytes of half a block, the unit of what is wrapped.
pub(super) const HALF: usize = 8;

/// Bytes by which a wrapped key is longer than what is in it, made up to whole halves.
pub const OVERHEAD: usize = HALF;

/// The bytes that can be wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Whole halves of a block, two at least: KW (SP 800-38F §6.2).
    Kw,
    /// Any number of bytes, one at least: KWP (§6.3).
    Kwp,
}

impl Form {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Form::Kw => "aes-kw",
            Form::Kwp => "aes-kwp",
        }
    }

    /// The standard's value with which a wrapped key begins (§6.2, ICV1; §6.3, ICV2).
    pub(super) const fn check_value(self) -> [u8; HALF] {
        match self {
            Form::Kw => [0xa6; HALF],
            Form::Kwp => [0xa6, 0x59, 0x59, 0xa6, 0, 0, 0, 0],
        }
    }

    /// Returns the half with which a key of `len` bytes begins.
    pub(super) fn begin(self, mut check_value: [u8; HALF], len: usize) -> [u8; HALF] {
        if self == Form::Kwp {
            check_value[4..].copy_from_slice(&(len as u32).to_be_bytes());
        }
        check_value
    }

    /// Returns the bytes of what `len` bytes become.
    ///
    /// # Errors
    /// [`Error::DataLength`].
    pub fn wrapped_len(self, len: usize) -> Result<usize, Error> {
        let fits = match self {
            Form::Kw => len >= 2 * HALF && len.is_multiple_of(HALF),
            Form::Kwp => len >= 1 && u32::try_from(len).is_ok(),
        };
        let takes = match self {
            Form::Kw => "a multiple of 8 bytes, 16 at least",
            Form::Kwp => "1 to 4294967295 bytes",
        };
        let refused = Error::DataLength { algorithm: self.name(), given: len as u64, takes };
        if fits { len.next_multiple_of(HALF).checked_add(OVERHEAD).ok_or(refused) } else { Err(refused) }
    }

    /// Returns the most bytes that can be in `len` wrapped ones.
    ///
    /// # Errors
    /// [`Error::DataLength`].
    pub fn unwrapped_len(self, len: usize) -> Result<usize, Error> {
        // KWP's length has 32 bits.
        let (least, most, takes) = match self {
            Form::Kw => (3 * HALF, usize::MAX, "a multiple of 8 bytes, 24 at least"),
            Form::Kwp => (2 * HALF, u32::MAX as usize, "a multiple of 8 bytes, 16 to 4294967296"),
        };
        if len >= least && len.is_multiple_of(HALF) && len - OVERHEAD <= most {
            return Ok(len - OVERHEAD);
        }
        Err(Error::DataLength { algorithm: self.name(), given: len as u64, takes })
    }
}
