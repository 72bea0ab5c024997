//! Tokens of any keys as bytes, as they come from queues: what is around the base64 and the padding is the caller's.
//!
//! Ref. the Fernet specification, "Token Format" and "Verifying".

use std::fmt;

use millstream_cpu::Features;

use super::{HEAD, NAME, VERSION};
use crate::aead::{by_key, in_arrays};
use crate::aes::{Block, Cbc, CbcJob, CbcLanes};
use crate::compare::begins;
use crate::hash::Hash;
use crate::hmac::{HmacJob, HmacKey, HmacLanes};
use crate::modes::BlockMode;
use crate::{Error, InOut, Kernel};

/// Bytes of the HMAC.
pub const TAG: usize = 32;

/// Bytes of a token's time, big-endian, and of its initialisation vector, which follows the time.
pub const NONCE: usize = 8 + 16;

/// The longest ciphertext that stands beside others while its HMAC is computed.
const LONGEST: usize = 256;

/// A Fernet key for tokens as bytes: 16 bytes for signing and 16 for encryption. Zeroised on drop.
///
/// The lanes are not a part of it: who expands a key for one word does nothing else.
pub struct FernetKey {
    pub(super) signing: HmacKey,
    pub(super) cbc: Cbc,
}

impl FernetKey {
    /// A key of 32 bytes on the best kernels that `features` allow.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn new(features: Features, key: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; 32] = key.try_into().map_err(|_| Error::KeyLength {
            algorithm: NAME,
            given: key.len(),
            takes: "32 bytes",
        })?;
        Ok(FernetKey::from_bytes(features, bytes))
    }

    #[inline(always)]
    pub(super) fn from_bytes(features: Features, key: &[u8; 32]) -> Self {
        let (signing, encryption) = key.split_at(16);
        FernetKey {
            signing: HmacKey::new(features, Hash::Sha256, signing),
            cbc: Cbc::new(features, encryption).expect("16 bytes are a key's length"),
        }
    }

    /// The kernel that encrypts.
    pub fn kernel(&self) -> &'static Kernel {
        self.cbc.kernel()
    }

    /// Returns the HMAC of a token (Fernet specification, "Token Format").
    fn tag(&self, nonce: &[u8], ciphertext: &[u8]) -> [u8; TAG] {
        let mut hmac = self.signing.start();
        hmac.update(&[VERSION]);
        hmac.update(nonce);
        hmac.update(ciphertext);
        let mut tag = [0; TAG];
        tag.copy_from_slice(&hmac.finish());
        tag
    }
}

impl fmt::Debug for FernetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME}({})", self.kernel().name)
    }
}

/// One token with its key, for [`FernetLanes`]. The data is the value with its padding (PKCS #7): whole blocks of 16 bytes.
pub struct KeyedFernetJob<'a> {
    /// The key.
    pub key: &'a FernetKey,
    /// The time in seconds since 1970, big-endian, and a random initialisation vector: [`NONCE`] bytes.
    pub nonce: &'a [u8],
    /// The data to encrypt or decrypt.
    pub data: InOut<'a>,
    /// The tag: sealing writes it, unless the result is an error; opening reads it.
    pub tag: [u8; TAG],
    /// [`Error::NonceLength`] and [`Error::DataLength`], with nothing written; of an opened token [`Error::Authentication`] when it was
    /// not made under the key. A separate output is then zero, and a buffer in place holds what it held before.
    pub result: Result<(), Error>,
}

impl<'a> KeyedFernetJob<'a> {
    /// A token with a tag of zeros.
    pub const fn new(key: &'a FernetKey, nonce: &'a [u8], data: InOut<'a>) -> Self {
        KeyedFernetJob { key, nonce, data, tag: [0; TAG], result: Ok(()) }
    }

    fn check(&self) -> Result<(), Error> {
        let (nonce, data) = (self.nonce.len(), self.data.len());
        if nonce != NONCE {
            let takes = "24 bytes: a time of 8 and an initialisation vector of 16";
            return Err(Error::NonceLength { algorithm: NAME, given: nonce, takes });
        }
        if data == 0 || !data.is_multiple_of(16) {
            let takes = "whole blocks of 16 bytes, one at least";
            return Err(Error::DataLength { algorithm: NAME, given: data as u64, takes });
        }
        Ok(())
    }

    fn iv(&self) -> Block {
        self.nonce.last_chunk().copied().unwrap_or_default()
    }

    /// Ends a token that was not made under the key.
    #[cold]
    fn forged(&mut self) {
        self.result = Err(Error::Authentication);
        if !self.data.is_in_place() {
            self.data.output().fill(0);
        }
    }
}

/// Many tokens of any keys.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::InOut;
/// use millstream_engines::fernet::{Fernet, FernetKey, FernetLanes, KeyedFernetJob};
///
/// let features = Features::hardware();
/// let key = FernetKey::new(features, &[7; 32])?;
/// let (time, iv) = (1_000_000_u64, [9; 16]);
/// let nonce = [&time.to_be_bytes()[..], &iv].concat();
/// let mut padded = *b"a value\x09\x09\x09\x09\x09\x09\x09\x09\x09";
/// let mut job = KeyedFernetJob::new(&key, &nonce, InOut::in_place(&mut padded));
/// FernetLanes::new(features).seal(&mut [&mut job]);
/// assert_eq!(job.result, Ok(()));
/// FernetLanes::new(features).open(&mut [&mut job]);
/// assert_eq!((job.result, &padded[..7]), (Ok(()), &b"a value"[..]));
/// # Ok::<(), millstream_engines::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FernetLanes {
    pub(super) cbc: CbcLanes,
    pub(super) hmac: HmacLanes,
}

impl FernetLanes {
    /// Lanes with the best kernels that `features` allow, for keys that are bound to any kernels.
    pub fn new(features: Features) -> Self {
        FernetLanes { cbc: CbcLanes::new(features), hmac: HmacLanes::new(features, Hash::Sha256) }
    }

    /// Seals many tokens, those of one key side by side, and may reorder `jobs`. Each job has a result of its own.
    pub fn seal(&self, jobs: &mut [&mut KeyedFernetJob<'_>]) {
        self.run::<false>(jobs);
    }

    /// Opens many tokens, those of one key side by side, and may reorder `jobs`. Each job has a result of its own.
    pub fn open(&self, jobs: &mut [&mut KeyedFernetJob<'_>]) {
        self.run::<true>(jobs);
    }

    fn run<const OPEN: bool>(&self, jobs: &mut [&mut KeyedFernetJob<'_>]) {
        by_key(
            jobs,
            |job| (std::ptr::from_ref(job.key), job.check().is_ok()),
            |jobs| {
                if jobs[0].check().is_ok() {
                    in_arrays!(jobs, |array| self.of_one_key::<OPEN, _>(array));
                } else {
                    jobs.iter_mut().for_each(|job| job.result = job.check());
                }
            },
        );
    }

    /// Works on tokens of one key whose lengths were checked.
    fn of_one_key<const OPEN: bool, const COUNT: usize>(&self, jobs: &mut [&mut KeyedFernetJob<'_>; COUNT]) {
        let key = jobs[0].key;
        if OPEN {
            let tags = self.tags(key, jobs.each_ref().map(|job| (job.nonce, job.data.input())));
            for (job, tag) in jobs.iter_mut().zip(tags) {
                if begins(&tag, &job.tag).into() {
                    job.result = Ok(());
                    key.cbc.decrypt(&mut job.iv(), job.data.reborrow());
                } else {
                    job.forged();
                }
            }
            return;
        }
        let mut texts =
            jobs.each_mut().map(|job| CbcJob { key: &key.cbc, iv: job.iv(), data: job.data.reborrow() });
        self.cbc.encrypt(&mut texts.each_mut());
        let tags = self.tags(key, jobs.each_mut().map(|job| (job.nonce, &*job.data.output())));
        for (job, tag) in jobs.iter_mut().zip(tags) {
            (job.tag, job.result) = (tag, Ok(()));
        }
    }

    /// The HMACs of tokens, of which the nonce and the ciphertext are given. Ciphertexts are public, so the copies are left as they are.
    fn tags<const COUNT: usize>(
        &self,
        key: &FernetKey,
        parts: [(&[u8], &[u8]); COUNT],
    ) -> [[u8; TAG]; COUNT] {
        let mut tags = [[0; TAG]; COUNT];
        if COUNT == 1 || parts.iter().any(|(_, text)| text.len() > LONGEST) {
            for (tag, (nonce, text)) in tags.iter_mut().zip(parts) {
                *tag = key.tag(nonce, text);
            }
            return tags;
        }
        let mut messages = [[0; HEAD + LONGEST]; COUNT];
        for (message, (nonce, text)) in messages.iter_mut().zip(parts) {
            message[0] = VERSION;
            message[1..HEAD].copy_from_slice(nonce);
            message[HEAD..HEAD + text.len()].copy_from_slice(text);
        }
        let mut lengths = parts.iter().map(|(_, text)| HEAD + text.len());
        let mut jobs = messages.each_ref().map(|message| {
            let len = lengths.next().expect("a length of each message");
            HmacJob::new(&key.signing, &message[..len])
        });
        self.hmac.sign(&mut jobs.each_mut());
        for (tag, job) in tags.iter_mut().zip(&jobs) {
            tag.copy_from_slice(&job.tag);
        }
        tags
    }
}
