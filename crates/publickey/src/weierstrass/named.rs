//! The curves by name.

use std::fmt;

use super::field::Modulus;
use super::operands::{Words, widened};
use super::primes;
use crate::Error;

/// The bytes of the longest coordinate or scalar.
pub const MAX_BYTES: usize = 66;
/// The bytes of the longest point.
pub const MAX_POINT: usize = 1 + 2 * MAX_BYTES;

/// One of the curves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Curve {
    /// P-256, also called secp256r1 and prime256v1.
    P256,
    /// P-384, also called secp384r1.
    P384,
    /// P-521, also called secp521r1.
    P521,
}

impl Curve {
    /// Every curve.
    pub const ALL: [Curve; 3] = [Curve::P256, Curve::P384, Curve::P521];

    /// Returns the number of bits of the order, which is that of the prime too.
    pub const fn bits(self) -> usize {
        match self {
            Curve::P256 => 256,
            Curve::P384 => 384,
            Curve::P521 => 521,
        }
    }

    /// Returns the number of bytes of a scalar or a coordinate: 32, 48 or 66.
    pub const fn bytes(self) -> usize {
        self.bits().div_ceil(8)
    }

    /// Returns the order of the group.
    pub(crate) fn order(self) -> &'static Words {
        static ORDERS: [Words; 3] = [
            widened(&primes::P256Order::MODULUS),
            widened(&primes::P384Order::MODULUS),
            widened(&primes::P521Order::MODULUS),
        ];
        &ORDERS[self as usize]
    }

    /// Returns the prime of the coordinates.
    pub(crate) fn prime(self) -> &'static Words {
        static PRIMES: [Words; 3] = [
            widened(&primes::P256Field::MODULUS),
            widened(&primes::P384Field::MODULUS),
            widened(&primes::P521Field::MODULUS),
        ];
        &PRIMES[self as usize]
    }
}

impl Curve {
    /// The name of the curve's table.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Curve::P256 => "p256",
            Curve::P384 => "p384",
            Curve::P521 => "p521",
        }
    }

    /// The error of something that has not `numbers` numbers of the curve's length.
    pub(crate) const fn length(self, what: &'static str, given: usize, numbers: usize) -> Error {
        let takes = match (self, numbers) {
            (Curve::P256, 1) => "32 bytes",
            (Curve::P256, _) => "64 bytes",
            (Curve::P384, 1) => "48 bytes",
            (Curve::P384, _) => "96 bytes",
            (Curve::P521, 1) => "66 bytes",
            (Curve::P521, _) => "132 bytes",
        };
        Error::Length { algorithm: self.name(), what, given, takes }
    }
}

impl fmt::Display for Curve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "P-{}", self.bits())
    }
}
