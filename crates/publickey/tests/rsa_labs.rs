//! The examples of PKCS #1 v2.1 by RSA Laboratories and those that pyca/cryptography derived from them for OAEP with other hashes, on every
//! row and in the lanes. Where a salt or a seed is published, results are compared byte for byte.
//!
//! Ref. RFC 8017 §5.1.2 (the primitive), §7.1, §7.2, §8.1, §8.2.

mod rsa_common;

use millstream_cpu::Features;
use millstream_engines::hash::Hash;
use millstream_kernel::Engine;
use millstream_publickey::rsa::{Job, Lanes, MAX_BYTES, Oaep, PrivateKey, Pss, RSA_LANES};
use millstream_publickey::{Error, Random};
use millstream_testkit::{Ran, cavp, hex};
use rsa_common::{Numbers, all_kernels, kernels};

/// A source that gives a salt or a seed.
struct Given<'a>(&'a [u8]);

impl Random for Given<'_> {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        bytes.copy_from_slice(self.0);
        Ok(())
    }
}

/// A key and the examples that belong to it, each a list of byte strings.
struct Group {
    numbers: Numbers,
    examples: Vec<Vec<Vec<u8>>>,
}

/// The titles of a private key's numbers, in the order of [`Numbers`].
const NUMBERS: [&str; 8] = [
    "Modulus:",
    "Public exponent:",
    "Exponent:",
    "Prime 1:",
    "Prime 2:",
    "Prime exponent 1:",
    "Prime exponent 2:",
    "Coefficient:",
];

/// Reads a file: titles after `#`, each with lines of hexadecimal digits. `titles` are those of an example.
fn groups(file: &str, titles: &[&str]) -> Vec<Group> {
    let text = cavp::text(&format!("asymmetric/RSA/{file}"));
    let mut items: Vec<(&str, String)> = Vec::new();
    for line in text.lines().map(str::trim) {
        match (line.strip_prefix('#'), items.last_mut()) {
            (Some(title), _) => items.push((title.trim(), String::new())),
            (None, Some((_, digits))) => digits.extend(line.chars().filter(char::is_ascii_hexdigit)),
            // The introduction.
            (None, None) => {}
        }
    }
    let mut groups: Vec<Group> = Vec::new();
    let bytes = |digits: &str| hex(&format!("{digits:0>width$}", width = digits.len().next_multiple_of(2)));
    let mut items = items.into_iter();
    while let Some((title, digits)) = items.next() {
        if title == "Private key" {
            let of_key = |(title, _): &(&str, String)| NUMBERS.contains(title);
            let numbers: Vec<_> = items.by_ref().filter(of_key).take(NUMBERS.len()).collect();
            let value =
                |name: &&str| numbers.iter().find(|(title, _)| title == name).map(|(_, value)| bytes(value));
            let numbers = NUMBERS.each_ref().map(|name| value(name).expect("a number"));
            groups.push(Group { numbers: Numbers(numbers), examples: Vec::new() });
        } else if title == titles[0] {
            let rest = titles[1..].iter().map(|wanted| {
                let (title, digits) = items.next().expect("a whole example");
                assert_eq!(title, *wanted, "{file}");
                bytes(&digits)
            });
            let example = [bytes(&digits)].into_iter().chain(rest).collect();
            groups.last_mut().expect("a key").examples.push(example);
        }
    }
    groups
}

/// An operation with the private key, by its parameters.
#[derive(Clone, Copy)]
enum Scheme {
    SignPkcs1,
    SignPss,
    DecryptPkcs1,
    DecryptOaep { hash: Hash, mgf: Hash },
}

/// SHA-1 twice, as all examples of RSA Laboratories have it.
const SHA1: Pss = Pss { hash: Hash::Sha1, mgf: Hash::Sha1, salt: 20 };

impl Scheme {
    /// The titles of an example, whose first is the message and whose last the result of the public or private operation.
    fn titles(self, seeds: bool) -> &'static [&'static str] {
        match self {
            Scheme::SignPkcs1 => &["Message to be signed:", "Signature:"],
            Scheme::SignPss => &["Message to be signed:", "Salt:", "Signature:"],
            _ if seeds => &["Message:", "Seed:", "Encryption:"],
            _ => &["Message:", "Encryption:"],
        }
    }

    fn oaep(self) -> Oaep<'static> {
        let Scheme::DecryptOaep { hash, mgf } = self else { panic!("not OAEP") };
        Oaep { hash, mgf, label: &[] }
    }

    /// Does it alone.
    fn alone(self, key: &PrivateKey, example: &[Vec<u8>], out: &mut [u8]) -> Result<usize, Error> {
        let last = &example[example.len() - 1];
        match self {
            Scheme::SignPkcs1 => key.sign_pkcs1(Hash::Sha1, &example[0], out),
            Scheme::SignPss => key.sign_pss(&SHA1, &mut Given(&example[1]), &example[0], out),
            Scheme::DecryptPkcs1 => key.decrypt_pkcs1(last, out),
            Scheme::DecryptOaep { .. } => key.decrypt_oaep(&self.oaep(), last, out),
        }
    }

    fn job<'a>(self, key: &'a PrivateKey, example: &[Vec<u8>], out: &'a mut [u8]) -> Job<'a> {
        let last = &example[example.len() - 1];
        match self {
            Scheme::SignPkcs1 => Job::sign_pkcs1(key, Hash::Sha1, &example[0], out),
            Scheme::SignPss => Job::sign_pss(key, &SHA1, &mut Given(&example[1]), &example[0], out),
            Scheme::DecryptPkcs1 => Job::decrypt_pkcs1(key, last, out),
            Scheme::DecryptOaep { .. } => Job::decrypt_oaep(key, self.oaep(), last, out),
        }
    }

    /// Returns the operation's result, as published.
    fn result(self, example: &[Vec<u8>]) -> &[u8] {
        match self {
            Scheme::SignPkcs1 | Scheme::SignPss => &example[example.len() - 1],
            Scheme::DecryptPkcs1 | Scheme::DecryptOaep { .. } => &example[0],
        }
    }

    /// Goes the other way with the public key, and as far as a seed allows, to the same bytes.
    fn back(self, key: &PrivateKey, example: &[Vec<u8>]) {
        let (public, message, last) = (key.public_key(), &example[0], &example[example.len() - 1]);
        let mut out = vec![0; key.size()];
        match self {
            Scheme::SignPkcs1 => public.verify_pkcs1_vartime(Hash::Sha1, message, last).unwrap(),
            Scheme::SignPss => public.verify_pss_vartime(&SHA1, message, last).unwrap(),
            Scheme::DecryptOaep { .. } if example.len() == 3 => {
                public.encrypt_oaep(&self.oaep(), &mut Given(&example[1]), message, &mut out).unwrap();
                assert_eq!(out, *last);
            }
            Scheme::DecryptOaep { .. } => {}
            Scheme::DecryptPkcs1 => {
                // The primitive alone: the block is known, for its padding is the seed.
                let block = [&[0, 2][..], &example[1], &[0], message].concat();
                key.raw(last, &mut out).unwrap();
                assert_eq!(out, block);
                public.raw(&block, &mut out).unwrap();
                assert_eq!(out, *last);
            }
        }
    }
}

/// Runs all examples of a file on every row and in the lanes, and counts them.
fn run(file: &str, scheme: Scheme, seeds: bool, ran: &mut Ran) -> usize {
    let groups = groups(file, scheme.titles(seeds));
    for kernel in kernels() {
        for group in &groups {
            let key = group.numbers.key(kernel).unwrap();
            for example in &group.examples {
                let mut out = [0; MAX_BYTES];
                let len = scheme.alone(&key, example, &mut out).unwrap();
                assert_eq!(&out[..len], scheme.result(example), "{file} on {}", kernel.kernel().name);
                scheme.back(&key, example);
                ran.kernel(kernel.kernel().name);
            }
            for lanes in RSA_LANES.available(Features::hardware()) {
                let mut outs = vec![[0; MAX_BYTES]; group.examples.len()];
                let jobs = group.examples.iter().zip(&mut outs);
                let mut jobs: Vec<_> = jobs.map(|(example, out)| scheme.job(&key, example, out)).collect();
                Lanes::with_kernel(lanes).run(&mut jobs);
                let lens: Vec<_> = jobs.iter().map(|job| job.result.unwrap()).collect();
                for ((len, out), example) in lens.into_iter().zip(&outs).zip(&group.examples) {
                    assert_eq!(&out[..len], scheme.result(example), "{file} on {}", lanes.kernel().name);
                    ran.kernel(lanes.kernel().name);
                }
            }
        }
    }
    groups.iter().map(|group| group.examples.len()).sum()
}

fn finish(ran: &Ran) {
    ran.missing(all_kernels());
    ran.missing((&RSA_LANES).kernels().into_iter().map(|kernel| (kernel.name, kernel.requires)));
    ran.at_least(2);
}

#[test]
fn signatures() {
    let mut ran = Ran::new("rsa laboratories, signatures");
    assert_eq!(run("pkcs1v15sign-vectors.txt", Scheme::SignPkcs1, false, &mut ran), 300);
    assert_eq!(run("pkcs-1v2-1d2-vec/pss-vect.txt", Scheme::SignPss, false, &mut ran), 60);
    finish(&ran);
}

#[test]
fn decryption() {
    let mut ran = Ran::new("rsa laboratories, decryption");
    assert_eq!(run("pkcs1v15crypt-vectors.txt", Scheme::DecryptPkcs1, true, &mut ran), 300);
    let sha1 = Scheme::DecryptOaep { hash: Hash::Sha1, mgf: Hash::Sha1 };
    assert_eq!(run("pkcs-1v2-1d2-vec/oaep-vect.txt", sha1, true, &mut ran), 60);
    finish(&ran);
}

#[test]
fn oaep_with_every_pair_of_hashes() {
    let mut ran = Ran::new("oaep of two hashes");
    let hashes = [
        ("sha1", Hash::Sha1),
        ("sha224", Hash::Sha224),
        ("sha256", Hash::Sha256),
        ("sha384", Hash::Sha384),
        ("sha512", Hash::Sha512),
    ];
    let mut files = 0;
    for (mgf_name, mgf) in hashes {
        for (name, hash) in hashes.into_iter().filter(|&(_, hash)| (mgf, hash) != (Hash::Sha1, Hash::Sha1)) {
            // The hash of MGF1 comes first.
            let file = format!("oaep-custom/oaep-{mgf_name}-{name}.txt");
            assert_eq!(run(&file, Scheme::DecryptOaep { hash, mgf }, false, &mut ran), 60, "{file}");
            files += 1;
        }
    }
    assert_eq!(files, 24);
    finish(&ran);
}
