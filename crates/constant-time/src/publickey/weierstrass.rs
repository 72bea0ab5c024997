//! Rows of the curves P-256, P-384 and P-521.

use millstream_engines::hash::Hash;
use millstream_publickey::ecdh::AgreeJob;
use millstream_publickey::ecdsa::{Curve, Lanes, Message, Presignature, PrivateKey, PublicKey, SignJob};
use millstream_publickey::weierstrass::PublicJob;
use millstream_publickey::{Error, Random};

use super::Same;
use crate::trial::{Run, Trial};
use crate::{Part, Row};

/// The number of operations that are done together.
const LANES: usize = 8;

/// A digest, which is public.
const DIGEST: [u8; 32] = [0x5a; 32];

/// A source that gives secrets, each as a number below the order.
struct Given<'a>(&'a [u8]);

impl Random for Given<'_> {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        let (first, rest) = self.0.split_at(bytes.len());
        bytes.copy_from_slice(&below_order(Curve::P256, first));
        self.0 = rest;
        Ok(())
    }
}

/// Keeps a scalar below the order: the highest bits that the curve does not use are cleared.
fn below_order(curve: Curve, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[0] &= (0xff_u16 >> (8 * bytes.len() + 1 - curve.bits())) as u8;
    bytes
}

/// The public key of a peer.
fn peer(row: Row, curve: Curve) -> PublicKey {
    let mut one = vec![0; curve.bytes()];
    one[curve.bytes() - 1] = 1;
    PrivateKey::new(row.features, curve, &one).expect("a scalar").public()
}

pub(super) fn one(row: Row) -> Option<Vec<Trial>> {
    let curve = Curve::ALL.into_iter().find(|curve| curve.table().algorithm.name == row.algorithm)?;
    let bound = curve.table().named(row.features, row.name)?;
    let len = curve.bytes();
    let key = move |bytes: &[u8]| {
        PrivateKey::with_kernel(row.features, bound, &below_order(curve, bytes)).expect("a scalar")
    };
    let peer = peer(row, curve);
    let trial = |what: &str, data: usize, run: Run| {
        Trial::new(row.algorithm, bound.kernel(), what, len, &[data], run)
    };
    Some(vec![
        trial(
            "public key",
            1 + 2 * len,
            Box::new(move |bytes, parts| parts[0].data.copy_from_slice(&key(bytes).public().to_bytes())),
        ),
        trial(
            "sign",
            2 * len,
            Box::new(move |bytes, parts| {
                let message = Message::digest(Hash::Sha256, &DIGEST);
                let signature = key(bytes).sign(&message, &mut Same).expect("a signature");
                parts[0].data.copy_from_slice(&signature);
            }),
        ),
        trial(
            "agree",
            len,
            Box::new(move |bytes, parts| {
                parts[0].data.copy_from_slice(&key(bytes).agree(&peer).expect("one curve"));
            }),
        ),
    ])
}

pub(super) fn lanes(row: Row) -> Option<Vec<Trial>> {
    let curve = match row.algorithm {
        "p384-lanes" => Curve::P384,
        "p521-lanes" => Curve::P521,
        _ => Curve::P256,
    };
    let bound = curve.lanes().named(row.features, row.name)?;
    let len = curve.bytes();
    let keys = move |bytes: &[u8]| -> Vec<PrivateKey> {
        let key = |bytes: &[u8]| PrivateKey::new(row.features, curve, &below_order(curve, bytes));
        bytes.chunks(len).map(|bytes| key(bytes).expect("a scalar")).collect()
    };
    let peer = peer(row, curve);
    let trial = |what: &str, data: usize, run: Run| {
        Trial::new(row.algorithm, bound.kernel(), what, LANES * len, &[data; LANES], run)
    };
    let mut trials = vec![
        trial(
            "public keys",
            1 + 2 * len,
            Box::new(move |bytes, parts| {
                let keys = keys(bytes);
                let mut jobs: Vec<_> = keys.iter().map(PublicJob::new).collect();
                Lanes::with_kernel(bound).public(&mut jobs);
                put(
                    parts,
                    jobs.iter().map(|job| job.result.as_ref().expect("the job has run").to_bytes().to_vec()),
                );
            }),
        ),
        trial(
            "sign",
            2 * len,
            Box::new(move |bytes, parts| {
                let (keys, message) = (keys(bytes), Message::digest(Hash::Sha256, &DIGEST));
                let mut jobs: Vec<_> = keys.iter().map(|key| SignJob::new(key, &message)).collect();
                Lanes::with_kernel(bound).sign(&mut jobs, &mut Same);
                put(parts, jobs.iter().map(|job| job.result.as_ref().expect("the job has run").to_vec()));
            }),
        ),
        trial(
            "agree",
            len,
            Box::new(move |bytes, parts| {
                let keys = keys(bytes);
                let mut jobs: Vec<_> = keys.iter().map(|key| AgreeJob::new(key, &peer)).collect();
                Lanes::with_kernel(bound).agree(&mut jobs);
                put(parts, jobs.iter().map(|job| job.result.as_ref().expect("the job has run").to_vec()));
            }),
        ),
    ];
    // Presignatures are of P-256 alone.
    if curve == Curve::P256 {
        trials.push(trial(
            "presign, and sign with that",
            2 * len,
            Box::new(move |bytes, parts| {
                // The nonces are as secret as the keys.
                let keys = keys(bytes);
                let mut presignatures = [const { Presignature::NONE }; LANES];
                let lanes = Lanes::with_kernel(bound);
                for places in presignatures.chunks_mut(lanes.presignatures()) {
                    lanes.presign(row.features, &mut Given(bytes), places).expect("random bytes");
                }
                let message = Message::digest(Hash::Sha256, &DIGEST);
                let signatures = keys.iter().zip(&mut presignatures).map(|(key, place)| {
                    let presignature = place.take().expect("each place has one");
                    key.sign_presigned(&message, presignature).expect("numbers above zero").to_vec()
                });
                put(parts, signatures);
            }),
        ));
    }
    Some(trials)
}

/// Keeps the result of each job.
fn put(parts: &mut [Part<'_>], results: impl Iterator<Item = Vec<u8>>) {
    for (part, result) in parts.iter_mut().zip(results) {
        part.data.copy_from_slice(&result);
    }
}
