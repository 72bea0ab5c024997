//! Rows of RSA. The modulus is public, every other number of the key is secret.

use millstream_engines::hash::Hash;
use millstream_publickey::rsa::{Components, Job, Lanes, Oaep, PrivateKey, Pss, PublicKey, RSA, RSA_LANES};
use millstream_testkit::hex;

use super::Same;
use crate::trial::{Run, Trial};
use crate::{Part, Row};

/// Bytes of the modulus.
const SIZE: usize = 128;
/// Bytes of a prime, and of the numbers modulo a prime.
const HALF: usize = SIZE / 2;
/// Bytes of a digest, which is secret.
const DIGEST: usize = 32;
/// Bytes of the key's secret numbers.
const SECRET: usize = SIZE + 5 * HALF;
/// Operations that are done together.
const LANES: usize = 4;

/// The modulus of a key that was made for these trials.
const MODULUS: &str = concat!(
    "bf27096073d94eadf3d3440a19d54285b2e7faa7b33515c2c83c22d97f5c69b54dab8c9aed3f22110fb3de7da8e05dea",
    "831bc483d0ee7f311d60fed9754ec7cef48f51958d80e595dc02692686ffb8a3f894f78418c44cd109d49d158b9ccafb",
    "7cfd1a0180515f35e6b6ad3fea0a9a504a2ac3b68bd8bd855c0b6f5923df836f",
);

/// The key's private exponent, primes, their exponents and the inverse.
const NUMBERS: &str = concat!(
    "15309da07c972d5aa939d5440d630fb1c48864c7ec5cc921c392af064f510e42d3ee5d72db33f171d4bccac0415545f3",
    "f63ec0c52007204070924d0e0c2c0488228fe6f69d318d3f447f611d500e082fcafb06c5b8cda4013bb32844c65175f4",
    "2aa0aeb0bf8ddd9a2da5b27b152d29464f1500dba18874515a1060f6c366cdd1e497211682ed83265ea420f9a2f1bf69",
    "e916892c4ce607cb44dc4c0eeaa3e0cd9518e64ed0f233859745f9ff0ba1cf46698aa89499ee0c574ebedc355f687e27",
    "d612b46833b12505e46138665b6d4845429832c3eb76a4a04bc650d11e209e266a3d7279d6a3cec41aded00cd5cd8564",
    "90e8463da9bf5af5f0c42b6e5125e579146791228b495c3d9e911408748d13c30675668537d008be12457fdc8d0157dd",
    "c20358fb8c173296282cace62149ae50e0b6e9d969ec1fd9e34392308975b05dbfee093d9b8ae94cbd13c54350194cc0",
    "7c1285014f2d12307d7f9299cacf27bbfd689628529e8f15179a492218d6a9101f3381366be89a9f027c7f0beb4974d1",
    "01925577987d1d4343c06dbd639ed4f33e942a1007f13170b48d5bc691f476f256e433714c776193337a70f42a0cdc57",
    "2e6ca9c0cc57e61dc272c4eb1e4bda64",
);

/// Writes the secret numbers into the first part, which becomes secret as a whole.
fn prepare(_: &[u8], parts: &mut [Part<'_>]) {
    parts[0].data.copy_from_slice(&hex(NUMBERS));
}

/// The key with the secret numbers of the first part.
fn key(row: Row, parts: &[Part<'_>]) -> PrivateKey {
    let (private_exponent, halves) = parts[0].data.split_at(SIZE);
    let half = |i: usize| &halves[i * HALF..][..HALF];
    let components = Components {
        modulus: &hex(MODULUS),
        public_exponent: &[1, 0, 1],
        private_exponent,
        p: half(0),
        q: half(1),
        dp: half(2),
        dq: half(3),
        inverse: half(4),
    };
    let bound = RSA.named(row.features, row.name).unwrap_or_else(|| RSA.best(row.features));
    PrivateKey::with_kernel(bound, row.features, &components).expect("the key's numbers fit each other")
}

fn public_key(row: Row) -> PublicKey {
    PublicKey::new(row.features, &hex(MODULUS), &[1, 0, 1]).expect("a modulus")
}

fn oaep() -> Oaep<'static> {
    Oaep::new(Hash::Sha256)
}

pub(super) fn one(row: Row) -> Option<Vec<Trial>> {
    let kernel = RSA.named(row.features, row.name)?.kernel();
    let trial = |what: &str, run: Run| {
        Trial::new(row.algorithm, kernel, what, DIGEST, &[SECRET, SIZE], run).prepared(prepare)
    };
    Some(vec![
        trial(
            "sign PKCS#1",
            Box::new(move |digest, parts| {
                let key = key(row, parts);
                key.sign_pkcs1_digest(Hash::Sha256, digest, parts[1].data).expect("a signature");
            }),
        ),
        trial(
            "sign PSS",
            Box::new(move |digest, parts| {
                let (key, pss) = (key(row, parts), Pss::new(Hash::Sha256));
                key.sign_pss_digest(&pss, &mut Same, digest, parts[1].data).expect("a signature");
            }),
        ),
        trial(
            "decrypt OAEP",
            Box::new(move |_, parts| {
                let mut ciphertext = [0; SIZE];
                public_key(row).encrypt_oaep(&oaep(), &mut Same, b"message", &mut ciphertext).expect("room");
                let key = key(row, parts);
                key.decrypt_oaep(&oaep(), &ciphertext, parts[1].data).expect("a message");
            }),
        ),
        trial(
            "decrypt PKCS#1",
            Box::new(move |_, parts| {
                let mut ciphertext = [0; SIZE];
                public_key(row).encrypt_pkcs1(&mut Same, b"message", &mut ciphertext).expect("room");
                let key = key(row, parts);
                key.decrypt_pkcs1(&ciphertext, parts[1].data).expect("a message");
            }),
        ),
        trial(
            "decrypt PKCS#1 with a wrong padding",
            Box::new(move |_, parts| {
                let mut ciphertext = [0; SIZE];
                public_key(row).raw(&[0x55; SIZE], &mut ciphertext).expect("below the modulus");
                let key = key(row, parts);
                key.decrypt_pkcs1(&ciphertext, parts[1].data).expect("another message");
            }),
        ),
    ])
}

pub(super) fn lanes(row: Row) -> Option<Vec<Trial>> {
    let bound = RSA_LANES.named(row.features, row.name)?;
    let parts = [SECRET, SIZE, SIZE, SIZE, SIZE];
    let run = move |digests: &[u8], parts: &mut [Part<'_>]| {
        let key = key(row, parts);
        let digests = digests.chunks(DIGEST);
        let mut jobs: Vec<_> = digests
            .zip(&mut parts[1..])
            .map(|(digest, part)| Job::sign_pkcs1_digest(&key, Hash::Sha256, digest, part.data))
            .collect();
        Lanes::with_kernel(bound).run(&mut jobs);
        for job in jobs {
            job.result.expect("a signature");
        }
    };
    let trial = Trial::new(row.algorithm, bound.kernel(), "sign PKCS#1", LANES * DIGEST, &parts, run);
    Some(vec![trial.prepared(prepare)])
}
