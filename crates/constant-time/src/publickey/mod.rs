//! Rows of public-key algorithms: what they do with private keys. A peer's key is public.

mod curve25519;
mod curve448;
mod ffdh;
mod mldsa;
mod mlkem;
mod rsa;
mod slhdsa;
mod weierstrass;

use millstream_publickey::{Error, Random};

use crate::Row;
use crate::trial::Trial;

/// A source that gives the same bytes again and again.
struct Same;

impl Random for Same {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        bytes.fill(0x6b);
        Ok(())
    }
}

/// Returns the trials of a row of a public-key table; none for another table.
pub fn trials(row: Row) -> Option<Vec<Trial>> {
    match row.algorithm {
        "x25519" => curve25519::x25519(row),
        "x25519-lanes" => curve25519::x25519_lanes(row),
        "ed25519" => curve25519::ed25519(row),
        "ed25519-lanes" => curve25519::ed25519_lanes(row),
        "x448" => curve448::x448(row),
        "ed448" => curve448::ed448(row),
        "p256" | "p384" | "p521" => weierstrass::one(row),
        "p256-lanes" | "p384-lanes" | "p521-lanes" => weierstrass::lanes(row),
        "ffdh" => ffdh::one(row),
        "ml-dsa" => mldsa::one(row),
        "ml-dsa-lanes" => mldsa::lanes(row),
        "ml-kem" => mlkem::one(row),
        "ml-kem-lanes" => mlkem::lanes(row),
        "rsa" => rsa::one(row),
        "rsa-lanes" => rsa::lanes(row),
        "slh-dsa" => slhdsa::one(row),
        _ => None,
    }
}
