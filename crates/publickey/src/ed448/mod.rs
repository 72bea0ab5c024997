//! Ed448, the signature on edwards448, with its variant Ed448ph.
//!
//! Verification is strict as RFC 8032 §5.2.7 is: the key's and the signature's points are encoded as §5.2.2 says, S is below the order, and
//! the equation is the one without the cofactor, S B = R + k A, as in OpenSSL.
//!
//! Ref. RFC 8032 §5.2.
//!
//! # Safety
//! Each call through a table's functions is covered by the [`Bound`] it goes through.
#![allow(unsafe_code)]

mod private;
mod public;
mod scheme;

use millstream_cpu::{FeatureSet, Features};

pub use self::private::PrivateKey;
pub use self::public::PublicKey;
pub use self::scheme::Scheme;
use crate::curve448::edwards::{POINT, Point};
use crate::curve448::scalar::Scalar;
use crate::{AlgorithmInfo, Bound, Error, Kernel, Row, Standing, Table, Timing};

const NAME: &str = "ed448";

/// Bytes of a private key, and of a public key.
pub const KEY: usize = POINT;
/// Bytes of a signature.
pub const SIGNATURE: usize = 2 * POINT;
/// The longest context, in bytes.
pub const CONTEXT_MAX: usize = 255;

/// The functions of a kernel.
#[derive(Debug)]
pub struct Ops {
    /// The encoding of a secret scalar's multiple of the base point.
    multiply_base: unsafe fn(&Scalar) -> [u8; KEY],
    /// The encoding of S B - k A, of public values.
    difference: unsafe fn(&Scalar, &Scalar, &Point) -> [u8; KEY],
}

/// The kernels of Ed448, best first.
pub static ED448: Table<Ops> = Table::new(
    AlgorithmInfo { name: NAME, standing: Standing::Current, standard: "RFC 8032 §5.2", key_bits: &[456] },
    ROWS,
    known_answer,
);

const ROWS: &[Row<Ops>] = &[Row {
    kernel: Kernel {
        name: "portable",
        requires: FeatureSet::EMPTY,
        timing: Timing::Constant,
        note: "56-bit limbs in 128-bit products, one operation at a time",
    },
    ops: Ops { multiply_base, difference },
}];

fn multiply_base(scalar: &Scalar) -> [u8; KEY] {
    Point::BASE.multiply(scalar).encode()
}

fn difference(s: &Scalar, k: &Scalar, key: &Point) -> [u8; KEY] {
    Point::BASE.multiply(s).add(&key.negate().multiply(k)).encode()
}

/// RFC 8032 §7.4, "1 octet": the private key, the public key, and the signature of the byte 3.
const SEED: &[u8; KEY] = b"\xc4\xea\xb0\x5d\x35\x70\x07\xc6\x32\xf3\xdb\xb4\x84\x89\x92\x4d\x55\x2b\x08\xfe\x0c\x35\x3a\x0d\x4a\x1f\
    \x00\xac\xda\x2c\x46\x3a\xfb\xea\x67\xc5\xe8\xd2\x87\x7c\x5e\x3b\xc3\x97\xa6\x59\x94\x9e\xf8\x02\x1e\x95\x4e\x0a\x12\x27\x4e";
const PUBLIC: &[u8; KEY] = b"\x43\xba\x28\xf4\x30\xcd\xff\x45\x6a\xe5\x31\x54\x5f\x7e\xcd\x0a\xc8\x34\xa5\x5d\x93\x58\xc0\x37\x2b\xfa\
    \x0c\x6c\x67\x98\xc0\x86\x6a\xea\x01\xeb\x00\x74\x28\x02\xb8\x43\x8e\xa4\xcb\x82\x16\x9c\x23\x51\x60\x62\x7b\x4c\x3a\x94\x80";
const MESSAGE: &[u8] = b"\x03";
const SIGNED: &[u8; SIGNATURE] = b"\x26\xb8\xf9\x17\x27\xbd\x62\x89\x7a\xf1\x5e\x41\xeb\x43\xc3\x77\xef\xb9\xc6\x10\xd4\x8f\x23\x35\xcb\x0b\
    \xd0\x08\x78\x10\xf4\x35\x25\x41\xb1\x43\xc4\xb9\x81\xb7\xe1\x8f\x62\xde\x8c\xcd\xf6\x33\xfc\x1b\xf0\x37\xab\x7c\xd7\x79\x80\
    \x5e\x0d\xbc\xc0\xaa\xe1\xcb\xce\xe1\xaf\xb2\xe0\x27\xdf\x36\xbc\x04\xdc\xec\xbf\x15\x43\x36\xc1\x9f\x0a\xf7\xe0\xa6\x47\x29\
    \x05\xe7\x99\xf1\x95\x3d\x2a\x0f\xf3\x34\x8a\xb2\x1a\xa4\xad\xaf\xd1\xd2\x34\x44\x1c\xf8\x07\xc0\x3a\x00";

fn known_answer(kernel: Bound<Ops>) -> bool {
    let answer = || {
        let key = PrivateKey::with_kernel(kernel, Features::none(), SEED)?;
        let signature = key.sign(MESSAGE);
        key.public_key().verify(MESSAGE, &signature)?;
        Ok::<bool, Error>(signature == *SIGNED && key.public_key().as_bytes() == PUBLIC)
    };
    answer().unwrap_or(false)
}
