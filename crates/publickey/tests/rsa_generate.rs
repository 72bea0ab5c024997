//! Generated RSA keys: FIPS 186-5's rules, OpenSSL's opinion, and refusals.
#![cfg(target_arch = "x86_64")]

mod rsa_common;

use millstream_cpu::Features;
use millstream_engines::hash::Hash;
use millstream_publickey::rsa::{Component, MAX_BYTES, PrivateKey};
use millstream_publickey::{Error, Random};
use openssl::bn::{BigNum, BigNumContext, BigNumRef};
use openssl::pkey::PKey;
use openssl::rsa::Rsa;
use openssl::sign::Verifier;
use rsa_common::{Broken, Source, kernels};

fn number(key: &PrivateKey, component: Component) -> BigNum {
    let mut bytes = [0; MAX_BYTES];
    let len = key.component(component, &mut bytes).unwrap();
    BigNum::from_slice(&bytes[..len]).unwrap()
}

fn check_prime(prime: &BigNumRef, bits: i32) {
    let mut context = BigNumContext::new().unwrap();
    assert!(prime.is_prime(64, &mut context).unwrap());
    assert_eq!(prime.num_bits(), bits);
    // At least the square root of two times a power of two: the square has all its bits.
    let mut square = BigNum::new().unwrap();
    square.sqr(prime, &mut context).unwrap();
    assert_eq!(square.num_bits(), 2 * bits);
}

#[test]
fn keys_are_right_and_openssl_takes_them() {
    let mut random = Source::new(51);
    for (bits, exponent) in
        [(2048, 65_537), (2048, 0xffff_ffff_ffff_fffb), (2176, 65_539), (3072, 65_537), (4096, 65_537)]
    {
        let key = PrivateKey::generate(Features::hardware(), bits, exponent, &mut random).unwrap();
        assert_eq!((key.public_key().bits(), key.public_key().exponent()), (bits, exponent));
        let [n, e, d, p, q, dp, dq, inverse] = [
            Component::Modulus,
            Component::PublicExponent,
            Component::PrivateExponent,
            Component::P,
            Component::Q,
            Component::Dp,
            Component::Dq,
            Component::Inverse,
        ]
        .map(|component| number(&key, component));
        check_prime(&p, bits as i32 / 2);
        check_prime(&q, bits as i32 / 2);
        let mut apart = BigNum::new().unwrap();
        apart.checked_sub(&p, &q).unwrap();
        assert!(apart.num_bits() > bits as i32 / 2 - 100);
        assert!(d.num_bits() > bits as i32 / 2);
        // The private exponent is the least: below the least common multiple of p - 1 and q - 1.
        let mut context = BigNumContext::new().unwrap();
        let one = BigNum::from_u32(1).unwrap();
        let (mut gcd, mut product, mut multiple) =
            (BigNum::new().unwrap(), BigNum::new().unwrap(), BigNum::new().unwrap());
        let (p1, q1) = (&p - &one, &q - &one);
        gcd.gcd(&p1, &q1, &mut context).unwrap();
        product.checked_mul(&p1, &q1, &mut context).unwrap();
        multiple.checked_div(&product, &gcd, &mut context).unwrap();
        let mut right = BigNum::new().unwrap();
        right.mod_inverse(&e, &multiple, &mut context).unwrap();
        assert_eq!(right, d);
        let theirs = Rsa::from_private_components(n, e, d, p, q, dp, dq, inverse).unwrap();
        assert!(theirs.check_key().unwrap());
        let mut signature = vec![0; key.size()];
        key.sign_pkcs1(Hash::Sha256, b"abc", &mut signature).unwrap();
        let pkey = PKey::from_rsa(theirs).unwrap();
        let mut verifier = Verifier::new(openssl::hash::MessageDigest::sha256(), &pkey).unwrap();
        assert!(verifier.verify_oneshot(&signature, b"abc").unwrap());
    }
}

#[test]
fn every_row_generates_the_same_key() {
    let mut moduli = Vec::new();
    for kernel in kernels() {
        let key = PrivateKey::generate_with_kernel(
            kernel,
            Features::hardware(),
            2048,
            65_537,
            &mut Source::new(52),
        );
        moduli.push(number(&key.unwrap(), Component::Modulus));
    }
    assert!(moduli.windows(2).all(|pair| pair[0] == pair[1]));
}

/// A source that gives the same byte always.
struct Constant(u8);

impl Random for Constant {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        bytes.fill(self.0);
        Ok(())
    }
}

#[test]
fn what_is_not_allowed_is_refused_by_name() {
    let mut random = Source::new(53);
    let refused = |bits, exponent, random: &mut dyn Random| {
        PrivateKey::generate(Features::hardware(), bits, exponent, random).map(|_| ()).unwrap_err()
    };
    for bits in [0, 1024, 2047, 2056, 4224, usize::MAX] {
        assert_eq!(refused(bits, 65_537, &mut random), Error::Modulus, "{bits}");
    }
    for exponent in [0, 1, 3, 65_535, 65_536, 1 << 20] {
        assert_eq!(refused(2048, exponent, &mut random), Error::Exponent, "{exponent}");
    }
    assert_eq!(refused(2048, 65_537, &mut Broken), Error::Random);
    assert_eq!(refused(2048, 65_537, &mut Constant(0)), Error::Random);
    assert_eq!(refused(2048, 65_537, &mut Constant(0xff)), Error::Random);
}
