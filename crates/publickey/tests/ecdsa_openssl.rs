//! Signatures, shared secrets and public keys beside OpenSSL's, on every row.
#![cfg(target_arch = "x86_64")]

mod nist_common;

use millstream_cpu::Features;
use millstream_engines::hash::Hash;
use millstream_publickey::ecdh::AgreeJob;
use millstream_publickey::ecdsa::{
    Curve, Lanes, Message, Presignature, PrivateKey, PublicKey, SignJob, VerifyJob,
};
use millstream_testkit::Ran;
use nist_common::{Repeatable, signature_of_der};
use openssl::bn::{BigNum, BigNumContext};
use openssl::derive::Deriver;
use openssl::ec::{EcGroup, EcKey, EcPoint, PointConversionForm};
use openssl::ecdsa::EcdsaSig;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};

fn group(curve: Curve) -> EcGroup {
    EcGroup::from_curve_name(match curve {
        Curve::P256 => Nid::X9_62_PRIME256V1,
        Curve::P384 => Nid::SECP384R1,
        Curve::P521 => Nid::SECP521R1,
    })
    .unwrap()
}

/// Gives OpenSSL a private key of ours.
fn theirs(key: &PrivateKey) -> EcKey<Private> {
    let mut scalar = vec![0; key.curve().bytes()];
    key.write(&mut scalar).unwrap();
    let (group, mut context) = (group(key.curve()), BigNumContext::new().unwrap());
    let point = EcPoint::from_bytes(&group, &key.public().to_bytes(), &mut context).unwrap();
    let key = EcKey::from_private_components(&group, &BigNum::from_slice(&scalar).unwrap(), &point).unwrap();
    key.check_key().unwrap();
    key
}

#[test]
fn signatures_and_secrets() {
    let mut ran = Ran::new("openssl");
    let mut random = Repeatable(millstream_testkit::Random::new(1));
    for curve in Curve::ALL {
        for kernel in curve.table().available(Features::hardware()) {
            for _ in 0..if curve == Curve::P256 { 100 } else { 30 } {
                let made = PrivateKey::generate(Features::hardware(), curve, &mut random).unwrap();
                let mut scalar = vec![0; curve.bytes()];
                made.write(&mut scalar).unwrap();
                let key = PrivateKey::with_kernel(Features::hardware(), kernel, &scalar).unwrap();
                let other = PrivateKey::generate(Features::hardware(), curve, &mut random).unwrap();
                one_key(&key, &other, &mut random);
                ran.kernel(&format!("{curve} {}", kernel.kernel().name));
            }
        }
    }
    ran.at_least(3);
}

fn one_key(key: &PrivateKey, other: &PrivateKey, random: &mut Repeatable) {
    let (curve, their_key) = (key.curve(), theirs(key));
    let len = [20, 32, 48, 64][random.0.below(4)];
    let digest = random.0.bytes(len);
    let message = Message::digest(Hash::Sha256, &digest);

    let ours = key.sign(&message, random).unwrap();
    let (r, s) = ours.split_at(curve.bytes());
    let (r, s) = (BigNum::from_slice(r).unwrap(), BigNum::from_slice(s).unwrap());
    assert!(EcdsaSig::from_private_components(r, s).unwrap().verify(&digest, &their_key).unwrap());

    let signature = EcdsaSig::sign(&digest, &their_key).unwrap().to_der().unwrap();
    key.public().verify(&message, &signature_of_der(&signature, curve).unwrap()).unwrap();

    let mut context = BigNumContext::new().unwrap();
    let mut encoded = |form| their_key.public_key().to_bytes(&group(curve), form, &mut context).unwrap();
    let whole = encoded(PointConversionForm::UNCOMPRESSED);
    let short = encoded(PointConversionForm::COMPRESSED);
    assert_eq!((&*key.public().to_bytes(), &*key.public().to_compressed()), (&whole[..], &short[..]));

    let (their_private, their_peer) =
        (PKey::from_ec_key(their_key).unwrap(), PKey::from_ec_key(theirs(other)).unwrap());
    let mut deriver = Deriver::new(&their_private).unwrap();
    deriver.set_peer(&their_peer).unwrap();
    assert_eq!(*key.agree(&other.public()).unwrap(), deriver.derive_to_vec().unwrap());
    assert_eq!(PublicKey::new(Features::none(), curve, &short).unwrap(), key.public());
}

/// Signatures whose nonces were computed before.
#[test]
fn presignatures() {
    let mut random = Repeatable(millstream_testkit::Random::new(3));
    for features in [Features::hardware(), Features::none()] {
        let lanes = Lanes::new(features);
        let mut places = [const { Presignature::NONE }; 8];
        for round in 0..10 {
            let key = PrivateKey::generate(features, Curve::P256, &mut random).unwrap();
            lanes.presign(features, &mut random, &mut places).unwrap();
            for place in places.iter_mut().take(lanes.presignatures()) {
                let digest = random.0.bytes([20, 32, 48, 64][round % 4]);
                let message = Message::digest(Hash::Sha256, &digest);
                let signature = key.sign_presigned(&message, place.take().unwrap()).unwrap();
                let (r, s) = signature.split_at(32);
                let (r, s) = (BigNum::from_slice(r).unwrap(), BigNum::from_slice(s).unwrap());
                let pair = EcdsaSig::from_private_components(r, s).unwrap();
                assert!(pair.verify(&digest, &theirs(&key)).unwrap());
                assert!(place.take().is_none(), "it serves once");
            }
        }
    }
}

/// Many operations at once, each with a key of its own.
#[test]
fn lanes() {
    let mut ran = Ran::new("openssl, lanes");
    let mut random = Repeatable(millstream_testkit::Random::new(2));
    for curve in Curve::ALL {
        lanes_of(curve, &mut random, &mut ran);
    }
    ran.at_least(3);
}

fn lanes_of(curve: Curve, random: &mut Repeatable, ran: &mut Ran) {
    let keys: Vec<_> =
        (0..27).map(|_| PrivateKey::generate(Features::hardware(), curve, random).unwrap()).collect();
    let public: Vec<_> = keys.iter().map(PrivateKey::public).collect();
    let digests: Vec<_> = keys.iter().map(|_| random.0.array::<32>()).collect();
    let messages: Vec<_> = digests.iter().map(|digest| Message::digest(Hash::Sha256, digest)).collect();
    for kernel in curve.lanes().available(Features::hardware()) {
        let lanes = Lanes::with_kernel(kernel);
        let mut jobs: Vec<_> =
            keys.iter().zip(&messages).map(|(key, message)| SignJob::new(key, message)).collect();
        lanes.sign(&mut jobs, random);
        let mut signatures = Vec::new();
        for ((job, key), digest) in jobs.iter().zip(&keys).zip(&digests) {
            let signature = job.result.as_ref().unwrap();
            let (r, s) = signature.split_at(curve.bytes());
            let (r, s) = (BigNum::from_slice(r).unwrap(), BigNum::from_slice(s).unwrap());
            let pair = EcdsaSig::from_private_components(r, s).unwrap();
            assert!(pair.verify(digest, &theirs(key)).unwrap());
            let der = EcdsaSig::sign(digest, &theirs(key)).unwrap().to_der().unwrap();
            signatures.push(signature_of_der(&der, curve).unwrap());
        }
        let jobs = public.iter().zip(&messages).zip(&signatures);
        let mut jobs: Vec<_> = jobs.map(|((key, message), raw)| VerifyJob::new(key, message, raw)).collect();
        lanes.verify(&mut jobs);
        assert!(jobs.iter().all(|job| job.result.is_ok()));
        let mut jobs: Vec<_> =
            keys.iter().zip(public.iter().rev()).map(|(key, peer)| AgreeJob::new(key, peer)).collect();
        lanes.agree(&mut jobs);
        for (i, job) in jobs.iter().enumerate() {
            let private = PKey::from_ec_key(theirs(&keys[i])).unwrap();
            let peer = PKey::from_ec_key(theirs(&keys[keys.len() - 1 - i])).unwrap();
            let mut deriver = Deriver::new(&private).unwrap();
            deriver.set_peer(&peer).unwrap();
            assert_eq!(**job.result.as_ref().unwrap(), deriver.derive_to_vec().unwrap());
            ran.kernel(&format!("{curve} {}", lanes.kernel_of(curve).name));
        }
    }
}
