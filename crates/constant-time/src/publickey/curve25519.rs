//! Rows of X25519 and Ed25519.

use millstream_publickey::ed25519::{self, ED25519, ED25519_LANES, SignJob};
use millstream_publickey::x25519::{self, PublicKey, X25519, X25519_LANES};

use crate::Row;
use crate::trial::Trial;

/// Bytes of a private key of Curve25519.
const KEY: usize = 32;

/// The number of operations that are done together.
const LANES: usize = 8;

/// Bytes of a message, which is secret too: the signature tells something of it only to who has it.
const MESSAGE: usize = 77;

/// The public key of a peer: the base point.
fn peer() -> PublicKey {
    let mut bytes = [0; KEY];
    bytes[0] = 9;
    PublicKey::new(&bytes).expect("32 bytes")
}

pub(super) fn x25519(row: Row) -> Option<Vec<Trial>> {
    let bound = X25519.named(row.features, row.name)?;
    let key = move |bytes: &[u8]| x25519::PrivateKey::with_kernel(bound, bytes).expect("32 bytes");
    let trial = |what: &str, run: crate::trial::Run| {
        Trial::new(row.algorithm, bound.kernel(), what, KEY, &[KEY], run)
    };
    Some(vec![
        trial(
            "public key",
            Box::new(move |bytes, parts| parts[0].data.copy_from_slice(key(bytes).public_key().as_bytes())),
        ),
        trial(
            "agree",
            Box::new(move |bytes, parts| {
                let secret = key(bytes).agree(&peer()).expect("a point of a large order");
                parts[0].data.copy_from_slice(secret.as_bytes());
            }),
        ),
    ])
}

pub(super) fn x25519_lanes(row: Row) -> Option<Vec<Trial>> {
    let lanes = x25519::Lanes::with_kernel(X25519_LANES.named(row.features, row.name)?);
    let features = row.features;
    let keys = move |bytes: &[u8]| -> Vec<x25519::PrivateKey> {
        bytes.chunks(KEY).map(|key| x25519::PrivateKey::new(features, key).expect("32 bytes")).collect()
    };
    let trial = |what: &str, run: crate::trial::Run| {
        Trial::new(row.algorithm, lanes.kernel(), what, LANES * KEY, &[KEY; LANES], run)
    };
    Some(vec![
        trial(
            "public keys",
            Box::new(move |bytes, parts| {
                let keys = keys(bytes);
                let mut jobs: Vec<_> = keys.iter().map(x25519::KeyJob::new).collect();
                lanes.public_keys(&mut jobs);
                for (part, job) in parts.iter_mut().zip(&jobs) {
                    part.data.copy_from_slice(job.public.as_ref().expect("the job has run").as_bytes());
                }
            }),
        ),
        trial(
            "agree",
            Box::new(move |bytes, parts| {
                let (keys, peer) = (keys(bytes), peer());
                let mut jobs: Vec<_> = keys.iter().map(|key| x25519::Job::new(key, &peer)).collect();
                lanes.run(&mut jobs);
                for (part, job) in parts.iter_mut().zip(&jobs) {
                    let secret = job.secret.as_ref().expect("the job has run");
                    part.data.copy_from_slice(secret.as_ref().expect("a large order").as_bytes());
                }
            }),
        ),
    ])
}

pub(super) fn ed25519(row: Row) -> Option<Vec<Trial>> {
    let bound = ED25519.named(row.features, row.name)?;
    let features = row.features;
    let what = "key and signature";
    let run = move |bytes: &[u8], parts: &mut [crate::Part<'_>]| {
        let key = ed25519::PrivateKey::with_kernel(bound, features, bytes).expect("32 bytes");
        let signature = key.sign(parts[0].data);
        parts[0].put(&signature);
    };
    Some(vec![Trial::new(row.algorithm, bound.kernel(), what, KEY, &[MESSAGE], run)])
}

pub(super) fn ed25519_lanes(row: Row) -> Option<Vec<Trial>> {
    let features = row.features;
    let lanes = ed25519::Lanes::with_kernel(ED25519_LANES.named(features, row.name)?, features);
    let run = move |bytes: &[u8], parts: &mut [crate::Part<'_>]| {
        let seeds = bytes.as_chunks::<KEY>().0;
        let mut jobs: Vec<_> = seeds.iter().map(ed25519::KeyJob::new).collect();
        lanes.keys(&mut jobs);
        let keys: Vec<_> = jobs.into_iter().map(|job| job.key.expect("the job has run")).collect();
        let messages = parts.iter().map(|part| &*part.data);
        let mut jobs: Vec<_> = keys.iter().zip(messages).map(|(key, data)| SignJob::new(key, data)).collect();
        lanes.sign(&mut jobs);
        let signatures: Vec<_> =
            jobs.into_iter().map(|job| job.signature.expect("the job has run")).collect();
        for (part, signature) in parts.iter_mut().zip(signatures) {
            part.put(&signature.expect("no context is too long"));
        }
    };
    let what = "keys and signatures";
    Some(vec![Trial::new(row.algorithm, lanes.kernel(), what, LANES * KEY, &[MESSAGE; LANES], run)])
}
