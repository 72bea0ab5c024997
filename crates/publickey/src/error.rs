//! The errors of public-key operations, one variant for each thing that failed.

use std::fmt;

/// Why an operation was refused or failed. Nothing of its result is given out then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A key, a value or a context has a length that the algorithm does not take.
    Length {
        /// The algorithm, as in `x25519`.
        algorithm: &'static str,
        /// The part that is too long or too short, as in `public key`.
        what: &'static str,
        /// Bytes given.
        given: usize,
        /// The lengths that it takes, in words, as in `32 bytes`.
        takes: &'static str,
    },
    /// Bytes are not the encoding of anything, or not the one encoding that the standard allows.
    Encoding {
        /// The algorithm.
        algorithm: &'static str,
        /// The part that is encoded wrongly, as in `public key`.
        what: &'static str,
    },
    /// A scalar is zero, or not below the group's order.
    Scalar {
        /// The algorithm.
        algorithm: &'static str,
    },
    /// A point is not on the curve, or gives an agreement to which the private key contributes nothing.
    Point {
        /// The algorithm.
        algorithm: &'static str,
    },
    /// A number is not an element of the group with which a secret can be agreed on.
    Element {
        /// The algorithm.
        algorithm: &'static str,
    },
    /// A signature does not verify: the message was changed, or another key has signed it.
    Signature,
    /// A sealed message does not open: it was changed, or sealed for another key or purpose. Nothing of it is given out.
    Authentication,
    /// A modulus is even, too small or too large, or its factors do not fit it.
    Modulus,
    /// An exponent is even, too small or too large, or does not fit the modulus.
    Exponent,
    /// The padding of the decrypted data is not valid: the key or the label is wrong, or the data was changed.
    Padding,
    /// The message is too long for the key, or not below the modulus.
    Message,
    /// The source of random bytes has failed.
    Random,
    /// A result did not verify before its release, because the computation or the key is faulty. Nothing is released.
    Fault,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::Length { algorithm, what, given, takes } => {
                write!(f, "{algorithm}: {what} of {given} bytes; it takes {takes}")
            }
            Error::Encoding { algorithm, what } => {
                write!(f, "{algorithm}: {what} is not encoded as the standard says")
            }
            Error::Scalar { algorithm } => {
                write!(f, "{algorithm}: a scalar is zero or not below the order of the group")
            }
            Error::Point { algorithm } => {
                write!(
                    f,
                    "{algorithm}: the point is not on the curve or of small order; ask the peer for another key"
                )
            }
            Error::Element { algorithm } => {
                write!(
                    f,
                    "{algorithm}: the public key is not between 2 and p - 2; ask the peer for another key"
                )
            }
            Error::Signature => f.write_str(
                "the signature does not verify: the message was changed, or another key has signed it",
            ),
            Error::Authentication => {
                f.write_str("the message does not open: it was changed, or sealed for another key or purpose")
            }
            Error::Modulus => f.write_str(
                "the modulus is even or of a size that is not supported, or its factors do not fit it",
            ),
            Error::Exponent => f.write_str(
                "the exponent is even or of a size that is not supported, or does not fit the modulus",
            ),
            Error::Padding => {
                f.write_str("bad padding: the key or the label is wrong, or the data was changed")
            }
            Error::Message => f.write_str("the message is too long for the key"),
            Error::Random => f.write_str("the source of random bytes has failed"),
            Error::Fault => f.write_str(
                "the result did not verify, and was not released: the processor or the key is faulty",
            ),
        }
    }
}

impl std::error::Error for Error {}
