//! The errors of the engines, one variant for each thing that failed.

use std::fmt;

/// Why an operation was refused or failed. Nothing is written to the output on any of them
/// except where [`Error::Authentication`] says what the output holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The key's length is not one the algorithm takes.
    KeyLength {
        /// The algorithm, as in `aes-gcm`.
        algorithm: &'static str,
        /// Bytes given.
        given: usize,
        /// The lengths it takes, in words, as in `16, 24 or 32 bytes`.
        takes: &'static str,
    },
    /// The two halves of an XTS key are equal (IEEE 1619, FIPS 140 IG A.9).
    WeakKey {
        /// The algorithm.
        algorithm: &'static str,
    },
    /// The nonce's or initialisation vector's length is not one the algorithm takes.
    NonceLength {
        /// The algorithm.
        algorithm: &'static str,
        /// Bytes given.
        given: usize,
        /// The lengths it takes, in words.
        takes: &'static str,
    },
    /// A tag has a length the algorithm does not produce.
    TagLength {
        /// The algorithm.
        algorithm: &'static str,
        /// Bytes given.
        given: usize,
        /// The lengths it takes, in words.
        takes: &'static str,
    },
    /// The data's length does not fit the mode: not whole blocks, too short, or too long.
    DataLength {
        /// The algorithm.
        algorithm: &'static str,
        /// Bytes (or bits where the algorithm counts bits) given.
        given: u64,
        /// The lengths that the algorithm takes, in words.
        takes: &'static str,
    },
    /// A parameter has a value the algorithm does not take.
    Parameter {
        /// The algorithm.
        algorithm: &'static str,
        /// The parameter's name in the standard, as in `BEARER`.
        name: &'static str,
        /// The value given.
        given: u64,
        /// The values that the algorithm takes, in words.
        takes: &'static str,
    },
    /// The output buffer is too short, or not as long as the input where it must be.
    OutputLength {
        /// Bytes given.
        given: usize,
        /// Bytes needed.
        needed: usize,
    },
    /// The tag does not match: the data, the associated data, the nonce or the key is not what
    /// was sealed. No plaintext is returned: a separate output is zeroed, and a buffer opened in
    /// place holds its ciphertext again.
    Authentication,
    /// The padding at the end of the decrypted data is not valid: the key is wrong or the data
    /// was changed.
    Padding,
    /// A saved mid-state is of another algorithm or version, or was damaged.
    MidState,
    /// This public key of a peer is none to make a secret with: its point has a small order, with which everybody agrees on the same secret, or is
    /// none of the curve, or a number in it is not reduced.
    Peer {
        /// The algorithm.
        algorithm: &'static str,
    },
    /// There are no random bytes: the generator was never seeded, or its source has failed.
    Random,
    /// A call came in an order the operation does not allow, as associated data after data.
    Order {
        /// The rule that the call broke, in words.
        rule: &'static str,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::KeyLength { algorithm, given, takes } => {
                write!(f, "{algorithm}: a key of {given} bytes; it takes {takes}")
            }
            Error::WeakKey { algorithm } => {
                write!(f, "{algorithm}: the two halves of the key are equal; use two different keys")
            }
            Error::NonceLength { algorithm, given, takes } => {
                write!(f, "{algorithm}: a nonce of {given} bytes; it takes {takes}")
            }
            Error::TagLength { algorithm, given, takes } => {
                write!(f, "{algorithm}: a tag of {given} bytes; it takes {takes}")
            }
            Error::DataLength { algorithm, given, takes } => {
                write!(f, "{algorithm}: data of length {given}; it takes {takes}")
            }
            Error::Parameter { algorithm, name, given, takes } => {
                write!(f, "{algorithm}: {name} is {given}; it takes {takes}")
            }
            Error::OutputLength { given, needed } => {
                write!(f, "an output of {given} bytes where {needed} are needed")
            }
            Error::Authentication => {
                f.write_str("authentication failed: the data was changed, or the key or nonce is not the one it was sealed with")
            }
            Error::Padding => {
                f.write_str("bad padding: the key is wrong or the data was changed")
            }
            Error::MidState => {
                f.write_str("not a mid-state of this algorithm")
            }
            Error::Peer { algorithm } => write!(
                f,
                "{algorithm}: the peer's public key is none to make a secret with: its order is small, or it is not encoded as it should be; ask the peer for another"
            ),
            Error::Random => f.write_str("no random bytes: seed the unit, or give it a source"),
            Error::Order { rule } => f.write_str(rule),
        }
    }
}

impl std::error::Error for Error {}
