//! Rows of X448 and Ed448.

use millstream_publickey::ed448::{self, ED448};
use millstream_publickey::x448::{self, PublicKey, X448};

use crate::Row;
use crate::trial::{Run, Trial};

/// Bytes of a message, which is secret too: the signature tells something of it only to who has it.
const MESSAGE: usize = 77;

/// The public key of a peer: the base point.
fn peer() -> PublicKey {
    let mut bytes = [0; x448::KEY];
    bytes[0] = 5;
    PublicKey::new(&bytes).expect("56 bytes")
}

pub(super) fn x448(row: Row) -> Option<Vec<Trial>> {
    let bound = X448.named(row.features, row.name)?;
    let key = move |bytes: &[u8]| x448::PrivateKey::with_kernel(bound, bytes).expect("56 bytes");
    let run: Run = Box::new(move |bytes, parts| {
        let secret = key(bytes).agree(&peer()).expect("a point of a large order");
        parts[0].data.copy_from_slice(secret.as_bytes());
    });
    Some(vec![Trial::new(row.algorithm, bound.kernel(), "agree", x448::KEY, &[x448::KEY], run)])
}

pub(super) fn ed448(row: Row) -> Option<Vec<Trial>> {
    let bound = ED448.named(row.features, row.name)?;
    let features = row.features;
    let run = move |bytes: &[u8], parts: &mut [crate::Part<'_>]| {
        let key = ed448::PrivateKey::with_kernel(bound, features, bytes).expect("57 bytes");
        let signature = key.sign(parts[0].data);
        // An object has no room behind it for the whole signature, and S depends on everything before.
        parts[0].put(&signature[ed448::KEY..]);
    };
    let what = "key and signature";
    Some(vec![Trial::new(row.algorithm, bound.kernel(), what, ed448::KEY, &[MESSAGE], run)])
}
