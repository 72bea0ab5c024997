//! Faults: the reasons why a control word is not executed.

use std::fmt;

use super::physical::BusError;

/// An error in a word, at which its queue stops with a protocol error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No such opcode on this unit.
    Opcode,
    /// No such cipher on this unit.
    Cipher,
    /// No such hash, MAC or checksum on this unit.
    Auth,
    /// The first word of a block has no SOB.
    NotBegun,
    /// A word inside a block has SOB.
    BegunAlready,
    /// A needed address is zero.
    NoAddress(Field),
    /// An address of an SSL key operation is no multiple of 16.
    NotAligned(Field),
    /// The authentication key is longer than the unit takes.
    KeyLength,
    /// The digest is to be longer than the hash's.
    HashLength,
    /// A piece is shorter than a block of the cipher.
    ShortPiece,
    /// The last piece begins inside a block, or the whole is not whole blocks.
    BrokenBlock,
    /// The operation is longer than 64 KB.
    TooLong,
    /// A gather list has no whole entries, or can't be used here.
    Gather,
    /// A saved partial hash is invalid.
    SavedState,
    /// On the fast path: the transform is in place.
    InPlace,
    /// On the fast path: an object is not inside the page, or is in the queue.
    OutsidePage(Field),
    /// On the fast path: the result would overwrite its own inputs.
    Overlap,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Opcode => f.write_str("no such opcode on this unit"),
            Refusal::Cipher => f.write_str("no such cipher on this unit"),
            Refusal::Auth => f.write_str("no such hash, MAC or checksum on this unit"),
            Refusal::NotBegun => f.write_str("a block begins without SOB"),
            Refusal::BegunAlready => f.write_str("SOB inside a block: end it with EOB first"),
            Refusal::NoAddress(field) => write!(f, "{field} has no address"),
            Refusal::NotAligned(field) => write!(f, "{field} is not at a multiple of 16"),
            Refusal::KeyLength => {
                f.write_str("the authentication key is longer than the unit takes: hash it")
            }
            Refusal::HashLength => f.write_str("the digest has fewer bytes than are wanted"),
            Refusal::ShortPiece => f.write_str("a piece is shorter than a block of the cipher"),
            Refusal::BrokenBlock => f.write_str("the last piece does not begin and end with whole blocks"),
            Refusal::TooLong => f.write_str("the operation is longer than 65,536 bytes"),
            Refusal::Gather => f.write_str("the gather list is not whole entries of 16 bytes"),
            Refusal::SavedState => f.write_str("the saved state is no partial hash"),
            Refusal::InPlace => f.write_str("transforms in place can't be redone: give a destination"),
            Refusal::OutsidePage(field) => write!(f, "{field} leaves the page, or is in its queue"),
            Refusal::Overlap => f.write_str("the result overlaps what it is made of"),
        }
    }
}

/// An address of a control word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Field {
    Source,
    AuthKey,
    AuthIv,
    FinalAuthState,
    CipherKey,
    CipherIv,
    Destination,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Field::Source => "the source",
            Field::AuthKey => "the authentication key",
            Field::AuthIv => "the initial state",
            Field::FinalAuthState => "the final state",
            Field::CipherKey => "the cipher key",
            Field::CipherIv => "the vector",
            Field::Destination => "the destination",
        })
    }
}

/// The reason why a word was not executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The word is invalid: protocol error.
    Refused(Refusal),
    /// Memory did not answer: hardware error.
    Bus(BusError),
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Fault {
        Fault::Refused(refusal)
    }
}

impl From<BusError> for Fault {
    fn from(error: BusError) -> Fault {
        Fault::Bus(error)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Refused(refusal) => refusal.fmt(f),
            Fault::Bus(error) => error.fmt(f),
        }
    }
}
