//! Agreement in finite fields on every row: the primes by their definition, powers by OpenSSL's arithmetic, and keys that are refused.
//!
//! Ref. RFC 7919 appendix A; SP 800-56A Rev. 3 §5.6.2.3.2.
#![cfg(target_arch = "x86_64")]

use millstream_cpu::Features;
use millstream_publickey::ffdh::{FFDH, Group, PrivateKey, PublicKey};
use millstream_publickey::{Bound, Engine, Error, Random};
use millstream_testkit::Ran;
use openssl::bn::{BigNum, BigNumContext};

/// A source of repeatable bytes.
struct Source(millstream_testkit::Random);

impl Random for Source {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        self.0.fill(bytes);
        Ok(())
    }
}

fn number(value: u32) -> BigNum {
    BigNum::from_u32(value).unwrap()
}

/// Computes a prime from its definition, `2^b - 2^(b-64) + (floor(2^(b-130) e) + x) 2^64 - 1`.
fn prime(group: Group) -> BigNum {
    let (bits, x) = match group {
        Group::Ffdhe2048 => (2048, 560_316),
        Group::Ffdhe3072 => (3072, 2_625_351),
        Group::Ffdhe4096 => (4096, 5_736_041),
    };
    // e is the sum of the inverses of all factorials; 64 bits more make the sum exact enough.
    let (mut e, mut term) = (number(0), &number(1) << (bits - 130 + 64));
    let mut count = 0;
    while term.num_bits() > 0 {
        e = &e + &term;
        count += 1;
        term = &term / &number(count);
    }
    let middle = &(&(&e >> 64) + &number(x)) << 64;
    let outer = &(&number(1) << bits) - &(&number(1) << (bits - 64));
    &(&outer + &middle) - &number(1)
}

fn kernels() -> impl Iterator<Item = Bound<millstream_publickey::ffdh::Ops>> {
    FFDH.available(Features::hardware())
}

#[test]
fn primes_are_as_defined_and_safe() {
    let mut ctx = BigNumContext::new().unwrap();
    for group in Group::ALL {
        let prime = prime(group);
        assert_eq!(prime.num_bytes() as usize, group.bytes());
        assert!(prime.is_prime(10, &mut ctx).unwrap() && (&prime >> 1).is_prime(10, &mut ctx).unwrap());
        // The prime that keys have is that one: p - 2 is the last number that is taken.
        for (distance, taken) in [(1, false), (2, true)] {
            let bytes = (&prime - &number(distance)).to_vec();
            assert_eq!(PublicKey::new(group, &bytes).is_ok(), taken, "{group}: p - {distance}");
        }
    }
}

#[test]
fn powers_are_openssls() {
    let mut ran = Ran::new("ffdh");
    let mut random = millstream_testkit::Random::new(41);
    for group in Group::ALL {
        let prime = prime(group);
        let order = &prime >> 1;
        let mut exponents: Vec<Vec<u8>> =
            [1, 2, 7, 8, 9, 29, 32, 33, 40, 48].map(|len| random.bytes(len)).to_vec();
        // Zero is no exponent.
        exponents.iter_mut().for_each(|exponent| exponent[0] |= 1);
        exponents.extend([vec![1], vec![0, 0, 0, 0, 0, 0, 0, 0, 3], (&order - &number(1)).to_vec()]);
        exponents.push((&order - &number(123)).to_vec());
        for (i, exponent) in exponents.iter().enumerate() {
            let mut peer = random.bytes(group.bytes());
            // Half of the numbers are close to the prime.
            peer[0] = if i % 2 == 0 { 0x7f } else { 0xff };
            if i == 3 {
                peer.fill(0);
                peer[group.bytes() - 1] = 2;
            }
            let peer = PublicKey::new(group, &peer).unwrap();
            let power = |base: &[u8]| {
                let (base, exponent) =
                    (BigNum::from_slice(base).unwrap(), BigNum::from_slice(exponent).unwrap());
                let mut power = BigNum::new().unwrap();
                power.mod_exp(&base, &exponent, &prime, &mut BigNumContext::new().unwrap()).unwrap();
                power.to_vec_padded(group.bytes() as i32).unwrap()
            };
            for kernel in kernels() {
                let key = PrivateKey::with_kernel(kernel, group, exponent).unwrap();
                assert_eq!(*key.public_key().to_bytes(), power(&[2]), "{group} on {}", kernel.kernel().name);
                assert_eq!(*key.agree(&peer).unwrap(), power(&peer.to_bytes()), "{}", kernel.kernel().name);
                ran.kernel(kernel.kernel().name);
            }
        }
    }
    ran.missing((&FFDH).kernels().into_iter().map(|kernel| (kernel.name, kernel.requires)));
    ran.at_least(1);
}

#[test]
fn generated_keys_agree() {
    let mut source = Source(millstream_testkit::Random::new(42));
    for group in Group::ALL {
        let mut key = || PrivateKey::generate(Features::hardware(), group, &mut source).unwrap();
        let (ours, theirs) = (key(), key());
        let secret = ours.agree(&PublicKey::new(group, &theirs.public_key().to_bytes()).unwrap()).unwrap();
        assert_eq!(secret, theirs.agree(&ours.public_key()).unwrap());
        assert_ne!(secret, ours.agree(&ours.public_key()).unwrap());
        assert_eq!(secret.len(), group.bytes());
        assert!(!format!("{ours:?} {secret:?}").contains(&format!("{:02x}{:02x}", secret[0], secret[1])));
    }
}

#[test]
fn wrong_keys_are_refused() {
    for group in Group::ALL {
        let prime = prime(group);
        let public = |bytes: &[u8]| PublicKey::new(group, bytes).map(drop);
        let element = Err(Error::Element { algorithm: "ffdh" });
        for bytes in [vec![], vec![0], vec![1], vec![0; group.bytes()]] {
            assert_eq!(public(&bytes), element);
        }
        for distance in 0..2 {
            assert_eq!(public(&(&prime - &number(distance)).to_vec()), element);
        }
        assert_eq!(public(&(&prime + &number(2)).to_vec()), element);
        assert_eq!(public(&vec![0xff; group.bytes()]), element);
        assert!(matches!(public(&vec![0; group.bytes() + 1]), Err(Error::Length { .. })));
        assert_eq!(public(&[2]), Ok(()));

        let private = |bytes: &[u8]| PrivateKey::new(Features::hardware(), group, bytes).map(drop);
        let scalar = Err(Error::Scalar { algorithm: "ffdh" });
        let order = &prime >> 1;
        for bytes in [vec![0], vec![0; group.bytes()], vec![0xff; group.bytes()], order.to_vec()] {
            assert_eq!(private(&bytes), scalar, "{bytes:?}");
        }
        assert_eq!(private(&(&order - &number(1)).to_vec()), Ok(()));
        assert!(matches!(private(&[]), Err(Error::Length { .. })));
        assert!(matches!(private(&vec![1; group.bytes() + 1]), Err(Error::Length { .. })));
    }
    let key = PrivateKey::new(Features::hardware(), Group::Ffdhe2048, &[5; 32]).unwrap();
    let other = PublicKey::new(Group::Ffdhe3072, &[5; 32]).unwrap();
    assert!(matches!(key.agree(&other), Err(Error::Element { .. })));
}
