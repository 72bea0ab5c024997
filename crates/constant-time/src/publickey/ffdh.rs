//! Rows of Diffie-Hellman in finite fields.

use millstream_publickey::ffdh::{FFDH, Group, PrivateKey, PublicKey};

use crate::Row;
use crate::trial::{Run, Trial};

/// The smallest group, because valgrind executes a power slowly.
const GROUP: Group = Group::Ffdhe2048;

/// Bytes of a private key.
const KEY: usize = GROUP.private_bytes();

pub(super) fn one(row: Row) -> Option<Vec<Trial>> {
    let bound = FFDH.named(row.features, row.name)?;
    let key = move |bytes: &[u8]| PrivateKey::with_kernel(bound, GROUP, bytes).expect("an exponent");
    let trial =
        |what: &str, run: Run| Trial::new(row.algorithm, bound.kernel(), what, KEY, &[GROUP.bytes()], run);
    Some(vec![
        trial(
            "public key",
            Box::new(move |bytes, parts| {
                parts[0].data.copy_from_slice(&key(bytes).public_key().to_bytes());
            }),
        ),
        trial(
            "agree",
            Box::new(move |bytes, parts| {
                let peer = PublicKey::new(GROUP, &[0x5a; GROUP.bytes()]).expect("a number below the prime");
                parts[0].data.copy_from_slice(&key(bytes).agree(&peer).expect("one group"));
            }),
        ),
    ])
}
