//! Our rows: one operation at a time, and eight.

use millstream::Features;
use millstream::hash::Hash;
use millstream::publickey::rsa::{Components, Job, PublicJob};
use millstream::publickey::{Error, ecdh, ecdsa, ed25519, mldsa, mlkem, rsa, slhdsa, x25519};

use super::Row;
use super::cases::{Algorithm, Case, MESSAGE, Material, Operation, numbers};
use super::{lattice, slhdsa as hashes};

/// The operations that are in flight at once.
pub const MANY: usize = 8;

/// A source that counts: nonces need not be secret here.
pub struct Counter(pub u8);

impl millstream::publickey::Random for Counter {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        bytes.fill(self.0);
        self.0 = self.0.wrapping_add(1);
        Ok(())
    }
}

/// Returns our key of RSA.
pub fn rsa_key(features: Features, encoded: &[u8]) -> Result<rsa::PrivateKey, String> {
    let numbers = numbers(encoded).filter(|numbers| numbers.len() == 9).ok_or("the RSA key is no RSA key")?;
    let [_, modulus, public_exponent, private_exponent, p, q, dp, dq, inverse] = &numbers[..] else {
        return Err("the RSA key has too many numbers".to_owned());
    };
    let components = Components { modulus, public_exponent, private_exponent, p, q, dp, dq, inverse };
    rsa::PrivateKey::new(features, &components).map_err(|e| e.to_string())
}

/// Makes the signature that is verified, or the ciphertext that is decapsulated.
pub fn signature(features: Features, algorithm: Algorithm, material: &Material) -> Result<Vec<u8>, String> {
    let text = |e: Error| e.to_string();
    Ok(match algorithm {
        Algorithm::X25519 => Vec::new(),
        Algorithm::Ed25519 => {
            ed25519::PrivateKey::new(features, &material.private).map_err(text)?.sign(MESSAGE).to_vec()
        }
        Algorithm::Ec(curve) => {
            let key = ecdsa::PrivateKey::new(features, curve, &material.private).map_err(text)?;
            key.sign_deterministic(&ecdsa::Message::hashed(features, Hash::Sha256, MESSAGE)).to_vec()
        }
        Algorithm::Rsa(bits) => {
            let mut signature = vec![0; bits / 8];
            let key = rsa_key(features, &material.private)?;
            key.sign_pkcs1(Hash::Sha256, MESSAGE, &mut signature).map_err(text)?;
            signature
        }
        Algorithm::MlKem(set) => {
            let key = mlkem::PrivateKey::new(features, set, &material.private).map_err(text)?;
            key.public_key().encapsulate_message(&[0x7b; mlkem::MESSAGE]).0
        }
        Algorithm::MlDsa(set) => {
            let key = mldsa::PrivateKey::new(features, set, &material.private).map_err(text)?;
            key.sign(MESSAGE, &mut Counter(9)).map_err(text)?
        }
        Algorithm::SlhDsa(set) => {
            let key = slhdsa::PrivateKey::new(features, set, &material.private).map_err(text)?;
            key.sign(MESSAGE, &mut Counter(9)).map_err(text)?
        }
    })
}

/// Returns our rows of a case.
pub fn rows(features: Features, case: &Case, material: &Material) -> Result<Vec<Row>, String> {
    match case.algorithm {
        Algorithm::X25519 => x25519_rows(features, material),
        Algorithm::Ed25519 => ed25519_rows(features, case, material),
        Algorithm::Ec(curve) => ec_rows(features, curve, case, material),
        Algorithm::Rsa(_) => rsa_rows(features, case, material),
        Algorithm::MlKem(set) => lattice::kem_rows(features, set, case, material),
        Algorithm::MlDsa(set) => lattice::dsa_rows(features, set, case, material),
        Algorithm::SlhDsa(set) => hashes::rows(features, set, case, material),
    }
    .map_err(|e| e.to_string())
}

pub fn verdict<E>(result: &Result<(), E>) -> [u8; 1] {
    [u8::from(result.is_ok())]
}

fn x25519_rows(features: Features, material: &Material) -> Result<Vec<Row>, Error> {
    let key = x25519::PrivateKey::new(features, &material.private)?;
    let peer = x25519::PrivateKey::new(features, &material.peer)?.public_key();
    let (many, other, lanes) = (key.clone(), peer, x25519::Lanes::new(features));
    Ok(vec![
        Row::new("millstream", key.kernel().name, 1, move |out| {
            out.extend(key.agree(&peer).expect("a large order").as_bytes());
        }),
        Row::new("millstream", lanes.kernel().name, MANY, move |out| {
            let mut jobs: [_; MANY] = std::array::from_fn(|_| x25519::Job::new(&many, &other));
            lanes.run(&mut jobs);
            for job in jobs {
                out.extend(job.secret.expect("it has run").expect("a large order").as_bytes());
            }
        }),
    ])
}

fn ed25519_rows(features: Features, case: &Case, material: &Material) -> Result<Vec<Row>, Error> {
    let key = ed25519::PrivateKey::new(features, &material.private)?;
    let (public, signature) = (key.public_key(), material.signature.clone());
    let lanes = ed25519::Lanes::new(features);
    let (one, many) = (key.kernel().name, lanes.kernel().name);
    if case.operation == Operation::Sign {
        let again = key.clone();
        return Ok(vec![
            Row::new("millstream", one, 1, move |out| out.extend(key.sign(MESSAGE))),
            Row::new("millstream", many, MANY, move |out| {
                let mut jobs: [_; MANY] = std::array::from_fn(|_| ed25519::SignJob::new(&again, MESSAGE));
                lanes.sign(&mut jobs);
                for job in jobs {
                    out.extend(job.signature.expect("it has run").expect("no context"));
                }
            }),
        ]);
    }
    let (again, same) = (public.clone(), signature.clone());
    Ok(vec![
        Row::new("millstream", one, 1, move |out| out.extend(verdict(&public.verify(MESSAGE, &signature)))),
        Row::new("millstream", many, MANY, move |out| {
            let mut jobs: [_; MANY] =
                std::array::from_fn(|_| ed25519::VerifyJob::new(&again, MESSAGE, &same));
            lanes.verify(&mut jobs);
            jobs.iter().for_each(|job| out.extend(verdict(job.verdict.as_ref().expect("it has run"))));
        }),
    ])
}

fn ec_rows(
    features: Features,
    curve: ecdsa::Curve,
    case: &Case,
    material: &Material,
) -> Result<Vec<Row>, Error> {
    let key = ecdsa::PrivateKey::new(features, curve, &material.private)?;
    let (public, signature) = (key.public(), material.signature.clone());
    let peer = ecdsa::PrivateKey::new(features, curve, &material.peer)?.public();
    let (one, hashed) = (key.kernel().name, move || ecdsa::Message::hashed(features, Hash::Sha256, MESSAGE));
    let mut rows = vec![{
        let (key, public, peer, signature) = (key.clone(), public.clone(), peer.clone(), signature.clone());
        let mut random = Counter(1);
        match case.operation {
            Operation::Sign => Row::new("millstream", one, 1, move |out| {
                out.extend(&*key.sign(&hashed(), &mut random).expect("a signature"));
            }),
            Operation::Verify => Row::new("millstream", one, 1, move |out| {
                out.extend(verdict(&public.verify(&hashed(), &signature)));
            }),
            _ => Row::new("millstream", one, 1, move |out| {
                out.extend(&*key.agree(&peer).expect("one curve"));
            }),
        }
    }];
    let lanes = ecdsa::Lanes::new(features);
    let (many, mut random) = (lanes.kernel_of(curve).name, Counter(1));
    rows.push(match case.operation {
        Operation::Sign => Row::new("millstream", many, MANY, move |out| {
            let messages: [_; MANY] = std::array::from_fn(|_| hashed());
            let mut jobs = messages.each_ref().map(|message| ecdsa::SignJob::new(&key, message));
            lanes.sign(&mut jobs, &mut random);
            jobs.iter().for_each(|job| out.extend(&**job.result.as_ref().expect("a signature")));
        }),
        Operation::Verify => Row::new("millstream", many, MANY, move |out| {
            let messages: [_; MANY] = std::array::from_fn(|_| hashed());
            let mut jobs =
                messages.each_ref().map(|message| ecdsa::VerifyJob::new(&public, message, &signature));
            lanes.verify(&mut jobs);
            jobs.iter().for_each(|job| out.extend(verdict(&job.result)));
        }),
        _ => Row::new("millstream", many, MANY, move |out| {
            let mut jobs: [_; MANY] = std::array::from_fn(|_| ecdh::AgreeJob::new(&key, &peer));
            lanes.agree(&mut jobs);
            jobs.iter().for_each(|job| out.extend(&**job.result.as_ref().expect("one curve")));
        }),
    });
    Ok(rows)
}

fn rsa_rows(features: Features, case: &Case, material: &Material) -> Result<Vec<Row>, Error> {
    let key = || rsa_key(features, &material.private).map_err(|_| Error::Modulus);
    let (one, many, lanes) = (key()?, key()?, rsa::Lanes::new(features));
    let (direct, side_by_side) = (one.kernel().name, lanes.kernel().name);
    let (size, signature) = (one.size(), material.signature.clone());
    if case.operation == Operation::Sign {
        let mut signatures = vec![0; MANY * size];
        return Ok(vec![
            Row::new("millstream", direct, 1, move |out| {
                out.resize(size, 0);
                one.sign_pkcs1(Hash::Sha256, MESSAGE, out).expect("a signature");
            }),
            Row::new("millstream", side_by_side, MANY, move |out| {
                let room = signatures.chunks_mut(size);
                let mut jobs: Vec<_> =
                    room.map(|room| Job::sign_pkcs1(&many, Hash::Sha256, MESSAGE, room)).collect();
                lanes.run(&mut jobs);
                jobs.iter().for_each(|job| assert_eq!(job.result, Ok(size)));
                drop(jobs);
                out.extend(&signatures);
            }),
        ]);
    }
    let again = signature.clone();
    Ok(vec![
        Row::new("millstream", direct, 1, move |out| {
            let public = one.public_key();
            out.extend(verdict(&public.verify_pkcs1_vartime(Hash::Sha256, MESSAGE, &signature)));
        }),
        Row::new("millstream", side_by_side, MANY, move |out| {
            let public = many.public_key();
            let mut jobs: [_; MANY] =
                std::array::from_fn(|_| PublicJob::verify_pkcs1(public, Hash::Sha256, MESSAGE, &again));
            lanes.run_public(&mut jobs);
            jobs.iter().for_each(|job| out.extend(verdict(&job.result)));
        }),
    ])
}
