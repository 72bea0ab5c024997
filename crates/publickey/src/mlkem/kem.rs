//! Encapsulation and decapsulation of several operations of one parameter set at once.
//!
//! Ref. FIPS 203 §6.2 and §6.3.

use millstream_kernel::compare::begins;
use subtle::ConditionallySelectable;

use super::kpke;
use super::ops::Engine;
use super::secret::Secret;
use super::set::{MESSAGE, SECRET, Set};
use super::sponge::{self, Message};
use crate::lattice::Work;

/// A secret to encapsulate.
pub(super) struct Encapsulate<'a> {
    pub(super) key: &'a kpke::Expanded,
    pub(super) message: &'a [u8; MESSAGE],
    pub(super) ciphertext: &'a mut [u8],
    pub(super) secret: &'a mut [u8; SECRET],
}

/// Encapsulates secrets: FIPS 203 §6.2, algorithm 17.
pub(super) fn encapsulate(engine: Engine, set: Set, jobs: &mut [Encapsulate<'_>]) {
    let mut digests = Work::new([0; 64], jobs.len());
    let messages: Vec<_> =
        jobs.iter().map(|job| Message { head: job.message, body: &job.key.hash, byte: None }).collect();
    sponge::g(engine.keccak, &messages, &mut digests);
    let mut seeds = Work::new([0; 32], jobs.len());
    for ((job, digest), seed) in jobs.iter_mut().zip(&*digests).zip(&mut *seeds) {
        job.secret.copy_from_slice(&digest[..32]);
        seed.copy_from_slice(&digest[32..]);
    }
    let mut encryptions: Vec<_> = jobs
        .iter_mut()
        .map(|job| kpke::Encrypt { key: job.key, message: job.message, ciphertext: job.ciphertext })
        .collect();
    kpke::encrypt(engine, set, &seeds, &mut encryptions);
}

/// A ciphertext to decapsulate.
pub(super) struct Decapsulate<'a> {
    pub(super) key: &'a kpke::Expanded,
    pub(super) private: &'a Secret,
    pub(super) ciphertext: &'a [u8],
    pub(super) secret: &'a mut [u8; SECRET],
}

/// Decapsulates secrets: FIPS 203 §6.3, algorithm 18. A ciphertext that is not one of the key's gives a secret that nobody knows, and takes
/// the same time.
pub(super) fn decapsulate(engine: Engine, set: Set, jobs: &mut [Decapsulate<'_>]) {
    let mut decrypted = Work::new([0; MESSAGE], jobs.len());
    for (job, message) in jobs.iter().zip(&mut *decrypted) {
        kpke::decrypt(engine, set, &job.private.vector, job.ciphertext, message);
    }
    let mut digests = Work::new([0; 64], jobs.len());
    let messages: Vec<_> = jobs
        .iter()
        .zip(&*decrypted)
        .map(|(job, message)| Message { head: message, body: &job.key.hash, byte: None })
        .collect();
    sponge::g(engine.keccak, &messages, &mut digests);
    let mut rejections = Work::new([0; 64], jobs.len());
    let messages: Vec<_> = jobs
        .iter()
        .map(|job| Message { head: &job.private.rejection, body: job.ciphertext, byte: None })
        .collect();
    sponge::j(engine.keccak, &messages, &mut rejections);
    let mut seeds = Work::new([0; 32], jobs.len());
    for (digest, seed) in digests.iter().zip(&mut *seeds) {
        seed.copy_from_slice(&digest[32..]);
    }
    let length = set.ciphertext_len();
    let mut ciphertexts = Work::new(0, length * jobs.len());
    let mut encryptions: Vec<_> = jobs
        .iter()
        .zip(&*decrypted)
        .zip(ciphertexts.chunks_mut(length))
        .map(|((job, message), ciphertext)| kpke::Encrypt { key: job.key, message, ciphertext })
        .collect();
    kpke::encrypt(engine, set, &seeds, &mut encryptions);
    for (i, job) in jobs.iter_mut().enumerate() {
        let same = begins(&ciphertexts[length * i..length * (i + 1)], job.ciphertext);
        let (rejected, accepted) = (rejections[i].as_chunks::<8>().0, digests[i].as_chunks::<8>().0);
        for (word, out) in job.secret.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let [rejected, accepted] = [rejected[word], accepted[word]].map(u64::from_ne_bytes);
            *out = u64::conditional_select(&rejected, &accepted, same).to_ne_bytes();
        }
    }
}
