//! Keys, points and signatures that are wrong, each with its error.

mod nist_common;

use millstream_cpu::Features;
use millstream_engines::hash::Hash;
use millstream_publickey::ecdsa::{Curve, Message, PrivateKey, PublicKey};
use millstream_publickey::{Error, Random, ecdh};
use millstream_testkit::hex;
use nist_common::Repeatable;

const FEATURES: fn() -> Features = Features::hardware;

fn order(curve: Curve) -> Vec<u8> {
    hex(match curve {
        Curve::P256 => "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
        Curve::P384 => {
            "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973"
        }
        Curve::P521 => {
            "01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa\
             51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409"
        }
    })
}

#[test]
fn private_keys() {
    for curve in Curve::ALL {
        let order = order(curve);
        let key = |bytes: &[u8]| PrivateKey::new(FEATURES(), curve, bytes).map(drop);
        assert_eq!(order.len(), curve.bytes());
        assert!(matches!(key(&order), Err(Error::Scalar { .. })));
        assert!(matches!(key(&vec![0; order.len()]), Err(Error::Scalar { .. })));
        assert!(matches!(key(&vec![0xff; order.len()]), Err(Error::Scalar { .. })));
        for len in [0, 1, order.len() - 1, order.len() + 1] {
            assert!(matches!(key(&vec![1; len]), Err(Error::Length { .. })));
        }
        let mut largest = order;
        *largest.last_mut().unwrap() -= 1;
        let key = PrivateKey::new(FEATURES(), curve, &largest).unwrap();
        let mut bytes = vec![0; largest.len()];
        key.write(&mut bytes).unwrap();
        assert_eq!(bytes, largest);
        assert!(matches!(key.write(&mut bytes[1..]), Err(Error::Length { .. })));
        // The order less one is minus one: its public key is that of one, with the other sign.
        bytes.fill(0);
        *bytes.last_mut().unwrap() = 1;
        let one = PrivateKey::new(FEATURES(), curve, &bytes).unwrap();
        let (plus, minus) = (one.public().to_compressed(), key.public().to_compressed());
        assert_eq!((plus[0] ^ minus[0], &plus[1..]), (1, &minus[1..]));
        assert!(!format!("{key:?}").contains("ff"), "{key:?}");
    }
}

#[test]
fn public_keys() {
    let mut random = Repeatable(millstream_testkit::Random::new(5));
    for curve in Curve::ALL {
        let point = PrivateKey::generate(FEATURES(), curve, &mut random).unwrap().public();
        for kernel in curve.table().available(FEATURES()) {
            let key = |bytes: &[u8]| PublicKey::with_kernel(kernel, bytes);
            let (whole, short) = (point.to_bytes(), point.to_compressed());
            assert_eq!(key(&whole).as_ref(), Ok(&point));
            assert_eq!(key(&short).as_ref(), Ok(&point));
            for encoded in [&whole[..], &short[..]] {
                for len in 1..encoded.len() {
                    assert!(matches!(key(&encoded[..len]).map(drop), Err(Error::Length { .. })));
                }
                assert!(matches!(key(&[encoded, &[0]].concat()).map(drop), Err(Error::Length { .. })));
                for first in [0, 1, 5, 6, 7, 0xff] {
                    let mut other = encoded.to_vec();
                    other[0] = first;
                    assert!(matches!(key(&other).map(drop), Err(Error::Encoding { .. })));
                }
            }
            assert!(matches!(key(&[]).map(drop), Err(Error::Length { .. })));
            // The identity.
            assert!(matches!(key(&[0]).map(drop), Err(Error::Encoding { .. })));
            // The coordinates are those of no point, or not below the prime.
            let mut other = whole.to_vec();
            *other.last_mut().unwrap() ^= 1;
            assert!(matches!(key(&other).map(drop), Err(Error::Point { .. })));
            other[1..].fill(0xff);
            assert!(matches!(key(&other).map(drop), Err(Error::Point { .. })));
            other[1..].fill(0);
            assert!(matches!(key(&other).map(drop), Err(Error::Point { .. })));
            // Half of all x coordinates belong to a point.
            let mut refused = 0;
            for x in 0..64 {
                let mut other = short.to_vec();
                other[1..].fill(0);
                *other.last_mut().unwrap() = x;
                match key(&other) {
                    Ok(found) => assert_eq!(*found.to_compressed(), other),
                    Err(error) => {
                        assert!(matches!(error, Error::Point { .. }));
                        refused += 1;
                    }
                }
            }
            assert!((16..48).contains(&refused), "{refused}");
        }
    }
}

#[test]
fn signatures() {
    let mut random = Repeatable(millstream_testkit::Random::new(6));
    for curve in Curve::ALL {
        let private = PrivateKey::generate(FEATURES(), curve, &mut random).unwrap();
        let public = private.public();
        let message = Message::hashed(FEATURES(), Hash::Sha256, b"a message");
        let signature = private.sign(&message, &mut random).unwrap();
        public.verify(&message, &signature).unwrap();
        // Hedged signatures differ each time.
        assert_ne!(private.sign(&message, &mut random).unwrap(), signature);
        for kernel in curve.table().available(FEATURES()) {
            let public = PublicKey::with_kernel(kernel, &public.to_bytes()).unwrap();
            for bit in 0..8 * signature.len() {
                let mut other = signature.to_vec();
                other[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(public.verify(&message, &other), Err(Error::Signature), "{curve} {bit}");
            }
            for len in (0..signature.len()).step_by(7) {
                assert!(matches!(public.verify(&message, &signature[..len]), Err(Error::Length { .. })));
            }
            let (order, len) = (order(curve), curve.bytes());
            for wrong in [vec![0; len], order, vec![0xff; len]] {
                for half in [0, len] {
                    let mut other = signature.to_vec();
                    other[half..][..len].copy_from_slice(&wrong);
                    assert_eq!(public.verify(&message, &other), Err(Error::Signature));
                }
            }
        }
    }
}

#[test]
fn digests_of_every_length() {
    let mut random = Repeatable(millstream_testkit::Random::new(7));
    for curve in Curve::ALL {
        let private = PrivateKey::generate(FEATURES(), curve, &mut random).unwrap();
        let public = private.public();
        let digest = random.0.bytes(150);
        for len in 0..digest.len() {
            let message = Message::digest(Hash::Sha384, &digest[..len]);
            let signature = private.sign_deterministic(&message);
            public.verify(&message, &signature).unwrap();
            // Only the leftmost bits count.
            let longer = Message::digest(Hash::Sha384, &digest);
            assert_eq!(public.verify(&longer, &signature).is_ok(), len >= curve.bytes(), "{curve} {len}");
        }
    }
}

/// A source that fails after some calls.
struct Failing(usize);

impl Random for Failing {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        bytes.fill(0);
        self.0 = self.0.checked_sub(1).ok_or(Error::Random)?;
        Ok(())
    }
}

#[test]
fn sources_that_fail() {
    let key = PrivateKey::new(FEATURES(), Curve::P256, &[1; 32]).unwrap();
    let message = Message::digest(Hash::Sha256, &[1; 32]);
    assert_eq!(key.sign(&message, &mut Failing(0)), Err(Error::Random));
    // Zeros are no scalar, so another is drawn each time until the source fails.
    for calls in [0, 3] {
        assert!(matches!(
            PrivateKey::generate(FEATURES(), Curve::P384, &mut Failing(calls)),
            Err(Error::Random)
        ));
    }
    // A source that always gives the same is as good as none: the nonce is that of another message all the same.
    let other = Message::digest(Hash::Sha256, &[2; 32]);
    let (one, two) =
        (key.sign(&message, &mut Failing(1)).unwrap(), key.sign(&other, &mut Failing(1)).unwrap());
    assert_ne!(one[..32], two[..32]);
}

#[test]
fn keys_of_two_curves() {
    let ours = ecdh::PrivateKey::new(FEATURES(), Curve::P256, &[1; 32]).unwrap();
    let theirs = ecdh::PrivateKey::new(FEATURES(), Curve::P384, &[1; 48]).unwrap();
    assert!(matches!(ours.agree(&theirs.public()), Err(Error::Point { .. })));
}
