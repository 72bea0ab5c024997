//! NIST's and RSA Laboratories' vectors for RSA, on every row and in the lanes.
//!
//! The tests compute what the files leave out of a private key with OpenSSL, and so run where that is.
//!
//! Ref. NIST CAVP, "The FIPS 186-4 RSA Validation System", §6.2 and §6.3 (signatures); the examples of PKCS #1 v2.1 by RSA
//! Laboratories (PSS, OAEP, and both kinds of v1.5).
#![cfg(target_arch = "x86_64")]

mod cavp_common;
mod rsa_common;

use cavp_common::hash;
use millstream_cpu::Features;
use millstream_engines::hash::Hash;
use millstream_kernel::{Bound, Engine};
use millstream_publickey::rsa::{
    Job, Lanes, MAX_BYTES, Ops, PrivateKey, Pss, PublicJob, PublicKey, RSA_LANES,
};
use millstream_publickey::{Error, Random};
use millstream_testkit::cavp::{self, Case, passes};
use millstream_testkit::{Ran, hex};
use openssl::bn::{BigNum, BigNumContext};
use rsa_common::{Numbers, all_kernels, kernels};

/// A source that gives a salt.
struct Given(Vec<u8>);

impl Random for Given {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        assert_eq!(bytes.len(), self.0.len());
        bytes.copy_from_slice(&self.0);
        Ok(())
    }
}

/// A scheme and its salt.
#[derive(Clone)]
enum Scheme {
    Pkcs1,
    Pss(Vec<u8>),
}

/// A message that was signed.
struct Signed {
    /// The modulus, the public exponent, and the private one or nothing.
    key: [Vec<u8>; 3],
    /// Both primes or nothing.
    primes: [Vec<u8>; 2],
    scheme: Scheme,
    hash: Hash,
    message: Vec<u8>,
    signature: Vec<u8>,
    right: bool,
}

/// Reads a file. The numbers of a key stand before the messages that it signs, and hold until the next.
fn signed(file: &str, pss: Option<usize>) -> Vec<Signed> {
    let (mut all, mut numbers) = (Vec::new(), Case::new());
    // The blank line before one case is missing. Each begins with the hash, and a key's numbers may end up apart.
    let text = cavp::text(&format!("asymmetric/RSA/{file}")).replace("\nSHAAlg", "\n\nSHAAlg");
    for case in cavp::parse(&text) {
        if case.contains_key("n") {
            numbers.clear();
        }
        for name in ["n", "e", "d", "p", "q"] {
            numbers.extend(case.get(name).map(|value| (name.to_owned(), value.clone())));
        }
        let Some(signature) = case.get("S") else { continue };
        let get = |name: &str| numbers.get(name).map_or(Vec::new(), |digits| number(digits));
        let salt = || case.get("SaltVal").map_or(vec![0; pss.unwrap_or(0)], |salt| hex(salt));
        all.push(Signed {
            key: ["n", "e", "d"].map(get),
            primes: ["p", "q"].map(get),
            scheme: pss.map_or(Scheme::Pkcs1, |_| Scheme::Pss(salt())),
            hash: hash(&case["SHAAlg"]).expect("a hash"),
            message: hex(&case["Msg"]),
            signature: hex(signature),
            right: !case.contains_key("Result") || passes(&case),
        });
    }
    all
}

fn number(digits: &str) -> Vec<u8> {
    cavp::number(digits, 0)
}

impl Signed {
    fn public(&self, kernel: Bound<Ops>) -> Result<PublicKey, Error> {
        PublicKey::with_kernel(kernel, Features::hardware(), &self.key[0], &self.key[1])
    }

    /// Completes a private key.
    fn numbers(&self) -> Numbers {
        let [n, e, d] = self.key.each_ref().map(|bytes| BigNum::from_slice(bytes).unwrap());
        let primes = self.primes.each_ref().map(|bytes| BigNum::from_slice(bytes).unwrap());
        let primes = if self.primes[0].is_empty() { factors(&n, &e, &d) } else { primes };
        complete(&n, &e, &d, &primes)
    }

    fn pss(&self) -> Option<Pss> {
        match &self.scheme {
            Scheme::Pkcs1 => None,
            Scheme::Pss(salt) => Some(Pss { hash: self.hash, mgf: self.hash, salt: salt.len() }),
        }
    }

    fn verify(&self, key: &PublicKey) -> bool {
        match self.pss() {
            None => key.verify_pkcs1_vartime(self.hash, &self.message, &self.signature),
            Some(pss) => key.verify_pss_vartime(&pss, &self.message, &self.signature),
        }
        .is_ok()
    }

    fn sign(&self, key: &PrivateKey, out: &mut [u8]) -> Result<usize, Error> {
        match (&self.scheme, self.pss()) {
            (Scheme::Pss(salt), Some(pss)) => {
                key.sign_pss(&pss, &mut Given(salt.clone()), &self.message, out)
            }
            _ => key.sign_pkcs1(self.hash, &self.message, out),
        }
    }

    fn sign_job<'a>(&self, key: &'a PrivateKey, out: &'a mut [u8]) -> Job<'a> {
        match (&self.scheme, self.pss()) {
            (Scheme::Pss(salt), Some(pss)) => {
                Job::sign_pss(key, &pss, &mut Given(salt.clone()), &self.message, out)
            }
            _ => Job::sign_pkcs1(key, self.hash, &self.message, out),
        }
    }

    fn verify_job<'a>(&'a self, key: &'a PublicKey) -> PublicJob<'a> {
        match self.pss() {
            None => PublicJob::verify_pkcs1(key, self.hash, &self.message, &self.signature),
            Some(pss) => PublicJob::verify_pss(key, &pss, &self.message, &self.signature),
        }
    }
}

fn complete(n: &BigNum, e: &BigNum, d: &BigNum, primes: &[BigNum; 2]) -> Numbers {
    let mut ctx = BigNumContext::new().unwrap();
    let one = BigNum::from_u32(1).unwrap();
    let mut inverse = BigNum::new().unwrap();
    inverse.mod_inverse(&primes[1], &primes[0], &mut ctx).unwrap();
    let [dp, dq] = primes.each_ref().map(|prime| {
        let mut exponent = BigNum::new().unwrap();
        exponent.nnmod(d, &(prime.as_ref() - one.as_ref()), &mut ctx).unwrap();
        exponent
    });
    Numbers([n, e, d, &primes[0], &primes[1], &dp, &dq, &inverse].map(|number| number.to_vec()))
}

/// Returns the primes of a modulus whose exponents are known: SP 800-56B Rev. 2 appendix C.1, with small bases.
fn factors(n: &BigNum, e: &BigNum, d: &BigNum) -> [BigNum; 2] {
    let mut ctx = BigNumContext::new().unwrap();
    let one = BigNum::from_u32(1).unwrap();
    let mut odd = &(e * d) - &one;
    let mut twos = 0;
    while !odd.is_bit_set(0) {
        odd = &odd >> 1;
        twos += 1;
    }
    for base in 2..100 {
        let mut power = BigNum::new().unwrap();
        power.mod_exp(&BigNum::from_u32(base).unwrap(), &odd, n, &mut ctx).unwrap();
        for _ in 0..twos {
            let mut square = BigNum::new().unwrap();
            square.mod_sqr(&power, n, &mut ctx).unwrap();
            if square == one && power != one && power != n - &one {
                let mut prime = BigNum::new().unwrap();
                prime.gcd(&(&power - &one), n, &mut ctx).unwrap();
                let other = n / &prime;
                return if prime > other { [prime, other] } else { [other, prime] };
            }
            power = square;
        }
    }
    panic!("no factors of {n}");
}

/// Verifies on every row and in every lane kernel, where lanes have keys of several sizes. Returns how many are right, and how many are wrong.
fn verify_all(all: &[Signed], ran: &mut Ran) -> (usize, usize) {
    for kernel in kernels() {
        let keys: Vec<_> = all.iter().map(|signed| signed.public(kernel)).collect();
        for (key, signed) in keys.iter().zip(all) {
            let right = key.as_ref().is_ok_and(|key| signed.verify(key));
            assert_eq!(right, signed.right, "{key:?} {:?}", signed.hash);
            ran.kernel(kernel.kernel().name);
        }
        let pairs: Vec<_> =
            keys.iter().zip(all).filter_map(|(key, signed)| Some((key.as_ref().ok()?, signed))).collect();
        for lanes in RSA_LANES.available(Features::hardware()) {
            let mut jobs: Vec<_> = pairs.iter().map(|(key, signed)| signed.verify_job(key)).collect();
            Lanes::with_kernel(lanes).run_public(&mut jobs);
            for (job, (_, signed)) in jobs.iter().zip(&pairs) {
                assert_eq!(job.result.is_ok(), signed.right, "{job:?}");
                ran.kernel(lanes.kernel().name);
            }
        }
    }
    let right = all.iter().filter(|signed| signed.right).count();
    (right, all.len() - right)
}

/// Signs again what is right, on every row and in the lanes: the result has every byte of the file's. Returns how many were signed,
/// and how many private keys were refused because the public exponent is not theirs.
fn sign_all(all: &[Signed], ran: &mut Ran) -> (usize, usize) {
    let (mut counts, mut known) = ((0, 0), std::collections::HashMap::new());
    let numbers: Vec<_> = all
        .iter()
        .map(|signed| known.entry(&signed.key).or_insert_with(|| signed.numbers()).clone())
        .collect();
    for kernel in kernels() {
        counts = (0, 0);
        let keys: Vec<_> = numbers.iter().map(|numbers| numbers.key(kernel)).collect();
        for (key, signed) in keys.iter().zip(all) {
            let key = match key {
                Ok(key) => key,
                Err(error) => {
                    assert!(*error == Error::Exponent && !signed.right, "{error}");
                    counts.1 += 1;
                    continue;
                }
            };
            if signed.right {
                let mut out = [0; MAX_BYTES];
                let len = signed.sign(key, &mut out).unwrap();
                assert_eq!(out[..len], signed.signature, "{:?} on {}", signed.hash, kernel.kernel().name);
                ran.kernel(kernel.kernel().name);
                counts.0 += 1;
            }
        }
        let pairs: Vec<_> = keys.iter().zip(all).filter(|(_, signed)| signed.right).collect();
        for lanes in RSA_LANES.available(Features::hardware()) {
            let mut outs = vec![[0; MAX_BYTES]; pairs.len()];
            let jobs = pairs.iter().zip(&mut outs);
            let mut jobs: Vec<_> =
                jobs.map(|((key, signed), out)| signed.sign_job(key.as_ref().unwrap(), out)).collect();
            Lanes::with_kernel(lanes).run(&mut jobs);
            let results: Vec<_> = jobs.iter().map(|job| job.result).collect();
            for ((result, out), (_, signed)) in results.iter().zip(&outs).zip(&pairs) {
                assert_eq!(&out[..result.unwrap()], signed.signature, "{}", lanes.kernel().name);
                ran.kernel(lanes.kernel().name);
            }
        }
    }
    counts
}

fn finish(ran: &Ran) {
    ran.missing(all_kernels());
    ran.missing((&RSA_LANES).kernels().into_iter().map(|kernel| (kernel.name, kernel.requires)));
    ran.at_least(2);
}

#[test]
fn signatures_are_made_byte_for_byte() {
    let mut ran = Ran::new("cavp rsa sign");
    for (file, pss, count) in
        [("FIPS_186-2/SigGen15_186-2.txt", None, 250), ("FIPS_186-2/SigGenPSS_186-2.txt", Some(20), 250)]
    {
        let all = signed(file, pss);
        assert_eq!(verify_all(&all, &mut ran), (count, 0), "{file}");
        assert_eq!(sign_all(&all, &mut ran), (count, 0), "{file}");
    }
    finish(&ran);
}

#[test]
fn signatures_without_private_keys() {
    let mut ran = Ran::new("cavp rsa generated");
    for (file, pss) in [
        ("FIPS_186-2/SigGen15_186-2.rsp", None),
        ("FIPS_186-2/SigGen15_186-3.rsp", None),
        ("FIPS_186-2/SigGenPSS_186-2.rsp", Some(20)),
        ("FIPS_186-2/SigGenPSS_186-3.rsp", Some(0)),
    ] {
        assert_eq!(verify_all(&signed(file, pss), &mut ran), (250, 0), "{file}");
    }
    finish(&ran);
}

#[test]
fn signatures_with_verdicts() {
    let mut ran = Ran::new("cavp rsa verify");
    for (file, pss, verified, made) in [
        ("FIPS_186-2/SigVer15_186-3.rsp", None, (75, 375), (75, 75)),
        ("FIPS_186-2/SigVerPSS_186-3.rsp", Some(10), (75, 375), (75, 75)),
        ("SigVer15EMTest.txt", None, (0, 150), (0, 0)),
    ] {
        let all = signed(file, pss);
        assert_eq!(verify_all(&all, &mut ran), verified, "{file}");
        assert_eq!(sign_all(&all, &mut ran), made, "{file}");
    }
    finish(&ran);
}
