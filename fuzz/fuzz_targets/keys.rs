//! Keys as bytes: points, scalars, components of RSA, Ed25519's and X25519's strings. Every row takes or refuses the same ones. What is taken has one
//! meaning on all rows: it signs alike, verifies what it signed and nothing else, agrees alike, and is written as it was read.
#![cfg_attr(fuzzing, no_main)]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use millstream_cpu::Features;
use millstream_engines::hash::Hash;
use millstream_publickey::ecdsa::{Curve, Message};
use millstream_publickey::rsa::{self, Component, Components, MAX_BYTES};
use millstream_publickey::{Error, ecdsa, ed25519, x25519};

/// A key, and a message to sign with it.
#[derive(Arbitrary, Debug)]
struct Input<'a> {
    key: Key<'a>,
    message: &'a [u8],
}

#[derive(Arbitrary, Debug)]
enum Key<'a> {
    Point {
        curve: u8,
        bytes: &'a [u8],
    },
    Scalar {
        curve: u8,
        bytes: &'a [u8],
    },
    /// The numbers of a public key.
    RsaPublic {
        modulus: &'a [u8],
        exponent: &'a [u8],
    },
    /// Changes to a private key that is right.
    RsaPrivate(Vec<Edit>),
    /// Bytes in place of PKCS#1's encodings.
    RsaDer(&'a [u8]),
    /// Changes to the encoding of a right key: places, and bits that are flipped there.
    RsaDerChanged(Vec<(u16, u8)>),
    Ed25519Private(&'a [u8]),
    Ed25519Public {
        bytes: &'a [u8],
        signature: &'a [u8],
    },
    X25519 {
        private: &'a [u8],
        peer: &'a [u8],
    },
}

/// A change to one number of a key.
#[derive(Arbitrary, Debug)]
enum Edit {
    Flip {
        number: u8,
        at: u8,
        bits: u8,
    },
    Shorten {
        number: u8,
        len: u8,
    },
    Extend {
        number: u8,
        zeros: u8,
    },
    /// Exchanges two numbers, as p and q with what belongs to them.
    Exchange {
        one: u8,
        other: u8,
    },
}

fuzz_target!(|input: Input<'_>| {
    match input.key {
        Key::Point { curve, bytes } => point(pick(curve), bytes),
        Key::Scalar { curve, bytes } => scalar(pick(curve), bytes, input.message),
        Key::RsaPublic { modulus, exponent } => rsa_public(modulus, exponent, input.message),
        Key::RsaPrivate(edits) => rsa_private(&edits, input.message),
        Key::RsaDer(der) => rsa_der(der, input.message),
        Key::RsaDerChanged(flips) => {
            let mut der = key_in_der();
            let len = der.len();
            flips.iter().for_each(|&(at, bits)| der[usize::from(at) % len] ^= bits);
            rsa_der(&der, input.message);
        }
        Key::Ed25519Private(seed) => ed25519_private(seed, input.message),
        Key::Ed25519Public { bytes, signature } => ed25519_public(bytes, signature, input.message),
        Key::X25519 { private, peer } => x25519(private, peer),
    }
});

fn pick(curve: u8) -> Curve {
    Curve::ALL[usize::from(curve) % Curve::ALL.len()]
}

/// Asks that all rows say the same, and returns it.
fn alike<T: PartialEq + std::fmt::Debug>(results: impl IntoIterator<Item = T>) -> T {
    let mut results = results.into_iter();
    let first = results.next().expect("a portable row");
    results.for_each(|other| assert_eq!(other, first, "two rows differ"));
    first
}

fn point(curve: Curve, bytes: &[u8]) {
    let rows = || curve.table().available(Features::hardware());
    let parsed = rows().map(|kernel| {
        let key = ecdsa::PublicKey::with_kernel(kernel, bytes)?;
        let again = ecdsa::PublicKey::with_kernel(kernel, &key.to_bytes())?;
        let smaller = ecdsa::PublicKey::with_kernel(kernel, &key.to_compressed())?;
        assert!(again == key && smaller == key, "a point has two meanings");
        let mut one = vec![0; curve.bytes()];
        one[curve.bytes() - 1] = 1;
        let one = ecdsa::PrivateKey::with_kernel(Features::hardware(), kernel, &one)?;
        assert_eq!(*one.agree(&key)?, key.to_bytes()[1..][..curve.bytes()]);
        Ok::<_, Error>(key.to_bytes().to_vec())
    });
    if let Ok(written) = alike(parsed) {
        assert!(bytes == written || bytes.len() == 1 + curve.bytes());
    }
}

fn scalar(curve: Curve, bytes: &[u8], message: &[u8]) {
    let features = Features::hardware();
    let message = Message::hashed(features, Hash::Sha256, message);
    let signed = curve.table().available(features).map(|kernel| {
        let key = ecdsa::PrivateKey::with_kernel(features, kernel, bytes)?;
        let mut written = vec![0; curve.bytes()];
        key.write(&mut written)?;
        assert_eq!(written, bytes);
        let (public, mut signature) = (key.public(), key.sign_deterministic(&message).to_vec());
        let secret = key.agree(&public)?.to_vec();
        public.verify(&message, &signature).expect("what was signed");
        signature[curve.bytes()] ^= 0x40;
        assert!(public.verify(&message, &signature).is_err());
        Ok::<_, Error>((public.to_bytes().to_vec(), signature, secret))
    });
    if let Ok((public, ..)) = alike(signed) {
        point(curve, &public);
    }
}

fn rsa_public(modulus: &[u8], exponent: &[u8], message: &[u8]) {
    let powers = rsa::RSA.available(Features::hardware()).map(|kernel| {
        let key = rsa::PublicKey::with_kernel(kernel, Features::hardware(), modulus, exponent)?;
        let mut written = [0; MAX_BYTES];
        let len = key.modulus(&mut written)?;
        assert_eq!(written[..len], *significant(modulus));
        let mut number = vec![0; key.size()];
        let taken = message.len().min(key.size() - 1);
        number[key.size() - taken..].copy_from_slice(&message[..taken]);
        let mut power = vec![0; key.size()];
        key.raw(&number, &mut power)?;
        // Nothing that was found by chance is a signature.
        assert!(key.verify_pkcs1_vartime(Hash::Sha256, message, &number).is_err());
        Ok::<_, Error>(power)
    });
    let _ = alike(powers);
}

fn significant(number: &[u8]) -> &[u8] {
    &number[number.iter().take_while(|&&byte| byte == 0).count()..]
}

fn rsa_private(edits: &[Edit], message: &[u8]) {
    let mut numbers = RSA_KEY.map(<[u8]>::to_vec);
    let place = |number: u8| usize::from(number) % RSA_KEY.len();
    for edit in edits.iter().take(8) {
        match *edit {
            Edit::Flip { number, at, bits } => {
                let number = &mut numbers[place(number)];
                let at = usize::from(at) % number.len().max(1);
                number.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= bits);
            }
            Edit::Shorten { number, len } => numbers[place(number)].truncate(len.into()),
            Edit::Extend { number, zeros } => {
                numbers[place(number)].splice(0..0, std::iter::repeat_n(0, zeros.into()));
            }
            Edit::Exchange { one, other } => numbers.swap(place(one), place(other)),
        }
    }
    let unchanged = numbers.each_ref().map(|number| significant(number)) == RSA_KEY;
    let [modulus, public_exponent, private_exponent, p, q, dp, dq, inverse] = &numbers;
    let components = Components { modulus, public_exponent, private_exponent, p, q, dp, dq, inverse };
    let signed = rsa::RSA.available(Features::hardware()).map(|kernel| {
        let key = rsa::PrivateKey::with_kernel(kernel, Features::hardware(), &components)?;
        let names =
            [Component::Modulus, Component::PrivateExponent, Component::P, Component::Q, Component::Inverse];
        for (name, given) in names.into_iter().zip([modulus, private_exponent, p, q, inverse]) {
            let mut written = [0; MAX_BYTES];
            let len = key.component(name, &mut written)?;
            assert_eq!(significant(&written[..len]), significant(given), "{name:?}");
        }
        let mut signature = vec![0; key.size()];
        // Factors that are no primes make a key whose results are not released.
        key.sign_pkcs1(Hash::Sha256, message, &mut signature)?;
        key.public_key().verify_pkcs1_vartime(Hash::Sha256, message, &signature).expect("what was signed");
        Ok::<_, Error>(signature)
    });
    let signed = alike(signed);
    assert!(signed.is_ok() || !unchanged, "a key that is right was refused: {signed:?}");
}

/// Every encoding that is taken is the only one of its key.
fn rsa_der(der: &[u8], message: &[u8]) {
    let features = Features::hardware();
    if let Ok(key) = rsa::PublicKey::from_pkcs1(features, der) {
        let mut written = [0; rsa::MAX_PUBLIC_DER];
        let len = key.to_pkcs1(&mut written).expect("room for a public key");
        assert_eq!(written[..len], *der);
    }
    if let Ok(key) = rsa::PrivateKey::from_pkcs1(features, der) {
        let mut written = [0; rsa::MAX_PRIVATE_DER];
        let len = key.to_pkcs1(&mut written).expect("room for a private key");
        assert_eq!(written[..len], *der);
        let mut signature = vec![0; key.size()];
        if key.sign_pkcs1(Hash::Sha256, message, &mut signature).is_ok() {
            let public = key.public_key();
            public.verify_pkcs1_vartime(Hash::Sha256, message, &signature).expect("what was signed");
        }
    }
}

fn key_in_der() -> Vec<u8> {
    let [modulus, public_exponent, private_exponent, p, q, dp, dq, inverse] = &RSA_KEY;
    let components = Components { modulus, public_exponent, private_exponent, p, q, dp, dq, inverse };
    let key = rsa::PrivateKey::new(Features::hardware(), &components).expect("a right key");
    let mut der = vec![0; rsa::MAX_PRIVATE_DER];
    let len = key.to_pkcs1(&mut der).expect("room for a private key");
    der.truncate(len);
    der
}

fn ed25519_private(seed: &[u8], message: &[u8]) {
    let features = Features::hardware();
    let signed = ed25519::ED25519.available(features).map(|kernel| {
        let key = ed25519::PrivateKey::with_kernel(kernel, features, seed)?;
        assert_eq!(key.seed(), seed);
        let mut signature = key.sign(message);
        key.public_key().verify(message, &signature).expect("what was signed");
        signature[40] ^= 1;
        assert!(key.public_key().verify_zip215(message, &signature).is_err());
        Ok::<_, Error>((*key.public_bytes(), signature))
    });
    if let Ok((public, _)) = alike(signed) {
        ed25519::PublicKey::new(features, &public).expect("a key that was made");
    }
}

fn ed25519_public(bytes: &[u8], signature: &[u8], message: &[u8]) {
    let features = Features::hardware();
    let verdicts = ed25519::ED25519.available(features).map(|kernel| {
        let key = ed25519::PublicKey::with_kernel(kernel, features, bytes)?;
        assert_eq!(key.as_bytes(), bytes);
        let (strict, loose) = (key.verify(message, signature), key.verify_zip215(message, signature));
        assert!(strict.is_err() || loose.is_ok(), "ZIP 215 refuses what RFC 8032 takes");
        Ok::<_, Error>((strict, loose))
    });
    let loose = alike(verdicts).is_ok();
    assert!(loose || ed25519::PublicKey::new(features, bytes).is_err());
}

fn x25519(private: &[u8], peer: &[u8]) {
    let secrets = x25519::X25519.available(Features::hardware()).map(|kernel| {
        let key = x25519::PrivateKey::with_kernel(kernel, private)?;
        let (ours, theirs) = (key.public_key(), x25519::PublicKey::new(peer)?);
        let both = key.agree(&ours).map(|secret| *secret.as_bytes());
        Ok::<_, Error>((*ours.as_bytes(), both, key.agree(&theirs).map(|secret| *secret.as_bytes())))
    });
    let _ = alike(secrets);
}

/// A key of 1024 bits, made for this: n, e, d, p, q, both exponents, and the inverse of q.
const RSA_KEY: [&[u8]; 8] = [
    &[
        0xc5, 0x87, 0xdc, 0x0a, 0xad, 0xcb, 0x5f, 0xd1, 0xa8, 0xe6, 0x6c, 0x87, 0x87, 0xa4, 0xcc, 0xd1, 0x04,
        0x65, 0xae, 0x4b, 0x03, 0xf0, 0x66, 0xc4, 0x34, 0x1e, 0x9b, 0x6d, 0x23, 0x7f, 0x7b, 0xf9, 0x5e, 0xcc,
        0xda, 0x58, 0x4e, 0xbb, 0x26, 0x3c, 0xd5, 0x5a, 0x13, 0xf4, 0x53, 0x3c, 0xda, 0x7c, 0xf2, 0x8c, 0xc5,
        0x7b, 0xb3, 0xaa, 0xa0, 0x3f, 0x28, 0xc6, 0xf6, 0xa0, 0x03, 0x12, 0x48, 0x86, 0xf8, 0x85, 0x90, 0x6e,
        0x5d, 0xb0, 0xca, 0x8e, 0xe4, 0x03, 0x8a, 0xf8, 0x7c, 0xe7, 0x5d, 0x44, 0xe8, 0x28, 0x9f, 0xbd, 0x24,
        0x37, 0x3b, 0xd6, 0x42, 0x69, 0xfc, 0xfd, 0xef, 0x17, 0x04, 0xa7, 0x04, 0x4d, 0x70, 0x26, 0x37, 0xcc,
        0x7b, 0x3f, 0x87, 0x05, 0x87, 0xb8, 0x40, 0xa9, 0x9c, 0x25, 0x89, 0xe9, 0xfc, 0xcd, 0x6a, 0x08, 0x8a,
        0x7e, 0x32, 0x9e, 0xa3, 0x48, 0xef, 0x88, 0xc4, 0x3b,
    ],
    &[0x01, 0x00, 0x01],
    &[
        0xa5, 0x1e, 0xec, 0xd2, 0x00, 0x76, 0x01, 0xa3, 0x41, 0x8d, 0x5d, 0x2b, 0xee, 0x37, 0xd4, 0xfe, 0xe4,
        0xae, 0x1b, 0x04, 0x9a, 0x46, 0x5b, 0xa1, 0xa7, 0xef, 0xed, 0xfd, 0x4d, 0xaf, 0x43, 0xf3, 0x31, 0x4c,
        0x0d, 0x39, 0xc4, 0x96, 0xad, 0x60, 0x2c, 0xf9, 0x1f, 0xb5, 0x1d, 0xdf, 0xc0, 0xc4, 0xb1, 0xfc, 0xfb,
        0x18, 0x6d, 0x18, 0x34, 0xdc, 0x97, 0x39, 0xba, 0xf0, 0x07, 0xa1, 0x40, 0xfe, 0x1a, 0x0d, 0x5e, 0x3a,
        0x73, 0xf7, 0x76, 0x3d, 0x04, 0x43, 0xb9, 0xef, 0x25, 0x37, 0x29, 0xca, 0x49, 0xc8, 0xe0, 0xc2, 0x0a,
        0x23, 0x7e, 0xb7, 0x89, 0x27, 0x5f, 0xb8, 0x65, 0xad, 0x98, 0x49, 0x8f, 0x5b, 0xf4, 0x29, 0x2e, 0xca,
        0xde, 0xe4, 0x48, 0x1e, 0x69, 0x89, 0xd9, 0x0c, 0x33, 0x3e, 0xc5, 0x30, 0x1c, 0xd9, 0x38, 0x8d, 0x0a,
        0xb7, 0x38, 0xa2, 0x8f, 0x1b, 0xaf, 0xba, 0xd1,
    ],
    &[
        0xef, 0x79, 0xab, 0x3e, 0x69, 0x63, 0x75, 0x24, 0xb7, 0xbe, 0x46, 0xde, 0xcc, 0x72, 0x32, 0xfe, 0x99,
        0xbd, 0x3d, 0xcf, 0x0e, 0xa3, 0x39, 0x69, 0x75, 0x68, 0x1a, 0x6d, 0xc3, 0xd6, 0x56, 0x55, 0x17, 0x10,
        0xb8, 0xb7, 0x20, 0xde, 0x3a, 0x8f, 0xc4, 0x90, 0xf0, 0x95, 0xc6, 0x7d, 0x4f, 0x00, 0xb0, 0x7c, 0xde,
        0xb8, 0xa3, 0x10, 0x8f, 0xe6, 0x42, 0xfe, 0xab, 0xf1, 0x3d, 0x41, 0x44, 0x5f,
    ],
    &[
        0xd3, 0x29, 0x3d, 0x60, 0x04, 0xd1, 0x06, 0x37, 0x5b, 0x84, 0xf9, 0xb1, 0xc4, 0x9d, 0x78, 0x06, 0x5d,
        0x48, 0x7d, 0xfd, 0xbb, 0xfb, 0x71, 0xd9, 0x9f, 0xb4, 0x3c, 0x6e, 0xf2, 0x8d, 0x40, 0x4e, 0x27, 0x14,
        0xa0, 0x15, 0x34, 0xe4, 0x9e, 0x5f, 0x6d, 0x82, 0x1d, 0x86, 0xa6, 0xee, 0x09, 0xcd, 0x8e, 0xbd, 0x68,
        0x34, 0xad, 0x5e, 0x8b, 0x05, 0xad, 0x69, 0x33, 0x76, 0x81, 0x6d, 0x2d, 0xa5,
    ],
    &[
        0xb5, 0x5c, 0x7e, 0xad, 0x10, 0xa1, 0x8b, 0x19, 0x18, 0xb2, 0xd8, 0xf7, 0x68, 0xfc, 0x5f, 0xd4, 0x63,
        0xd8, 0x67, 0x14, 0x05, 0xf0, 0xe5, 0xcd, 0x11, 0x66, 0x9b, 0x05, 0x60, 0x18, 0x56, 0x5f, 0xb0, 0xcd,
        0x30, 0x27, 0x38, 0x94, 0x34, 0xe3, 0xa6, 0xa9, 0x62, 0x1a, 0xfc, 0x2c, 0xf0, 0x85, 0x04, 0x24, 0x3d,
        0x84, 0xb5, 0xb2, 0x18, 0x58, 0xf9, 0x89, 0xe7, 0xec, 0x16, 0x48, 0xf4, 0x9f,
    ],
    &[
        0x3f, 0xdd, 0x10, 0x27, 0xf3, 0x2c, 0xf8, 0xb1, 0x53, 0x67, 0xa3, 0x51, 0x25, 0x82, 0xee, 0xa3, 0x16,
        0x21, 0x6f, 0xa1, 0x86, 0xf2, 0x24, 0x5b, 0xca, 0x56, 0x6b, 0x94, 0xae, 0x9d, 0x13, 0xde, 0xcf, 0x29,
        0x08, 0xc5, 0x81, 0x2a, 0xc7, 0xcf, 0x5a, 0xc2, 0x68, 0x85, 0xaa, 0x05, 0x02, 0x47, 0xfe, 0x2c, 0xc0,
        0xd0, 0x75, 0xc2, 0xcb, 0x4f, 0x1b, 0x44, 0x5f, 0x01, 0x2f, 0x61, 0xc2, 0xd5,
    ],
    &[
        0x08, 0xb1, 0x61, 0x14, 0xb8, 0x28, 0x4f, 0xb0, 0x55, 0x62, 0x10, 0x37, 0x46, 0xc0, 0x10, 0x53, 0x2c,
        0xde, 0xd6, 0xca, 0x2c, 0x55, 0x45, 0x86, 0xdf, 0xca, 0x49, 0x7b, 0xc7, 0x73, 0xbc, 0xb9, 0x14, 0x4b,
        0x7a, 0x7c, 0x10, 0x10, 0xaa, 0x27, 0xad, 0xcd, 0xe6, 0x8e, 0x93, 0xe8, 0x8c, 0x66, 0x6e, 0x65, 0xd5,
        0xbb, 0x2b, 0x07, 0xc0, 0x19, 0x91, 0x89, 0xb2, 0x9b, 0x9d, 0x9a, 0xe2, 0xbc,
    ],
];
