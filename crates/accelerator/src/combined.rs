//! Combined operations: a cipher and an HMAC over the same bytes.

use std::mem::discriminant;

use millstream_engines::compare::begins;
use millstream_engines::hash::Digest;
use millstream_engines::hmac::{HmacJob, HmacLanes};
use millstream_engines::modes::Direction;
use millstream_engines::{Error, InOut, aes, des};

use crate::key::CipherKey;
use crate::operation::Operation;
use crate::sink::block;
use crate::unit::Unit;
use crate::wipe::wipe_list;
use crate::work::Chained;

impl Unit {
    /// Executes combined operations of one direction, whose HMACs have one hash: side by side where that pays.
    pub(crate) fn run_chained(&self, chained: &mut [&mut Chained<'_>]) {
        let Some(first) = chained.first() else { return };
        let hmac = &self.hmac[first.mac.hash() as usize];
        if first.expected.is_none() {
            self.ciphers(chained);
            macs(chained, hmac, |chained, tag| {
                if chained.end.is_ok() {
                    chained.end = Ok(Some(*tag));
                }
            });
        } else {
            macs(chained, hmac, verify);
            self.ciphers(chained);
        }
    }

    /// Runs the cipher of one combined operation, in its direction, and copies what is in clear, unless the operation has failed.
    fn cipher_alone(&self, chained: &mut Chained<'_>) {
        if chained.end.is_err() {
            return;
        }
        let mut cipher = cipher_of(chained);
        self.run_one(&mut cipher);
        if let Err(error) = cipher.result() {
            chained.end = Err(error);
        }
    }

    /// Runs the ciphers of those combined operations that have not failed, and copies what is in clear. The jobs of the most frequent ciphers
    /// need not be sorted.
    fn ciphers(&self, chained: &mut [&mut Chained<'_>]) {
        if let [alone] = chained {
            return self.cipher_alone(alone);
        }
        let Some(first) = chained.first() else { return };
        let (cipher, decrypts) = (discriminant(&first.cipher), first.expected.is_some());
        let alike = chained.iter().all(|chained| discriminant(&chained.cipher) == cipher);
        match first.cipher {
            CipherKey::AesCbc(_) if alike => in_lanes(
                chained,
                |cipher, iv, data| match cipher {
                    CipherKey::AesCbc(key) => Some(aes::CbcJob { key, iv: block(iv), data }),
                    _ => None,
                },
                |jobs| if decrypts { self.aes_cbc.decrypt(jobs) } else { self.aes_cbc.encrypt(jobs) },
            ),
            CipherKey::DesCbc(_) if alike => in_lanes(
                chained,
                |cipher, iv, data| match cipher {
                    CipherKey::DesCbc(key) => Some(des::CbcJob { key, iv: block(iv), data }),
                    _ => None,
                },
                |jobs| if decrypts { self.des_cbc.decrypt(jobs) } else { self.des_cbc.encrypt(jobs) },
            ),
            _ => self.other_ciphers(chained),
        }
    }

    fn other_ciphers(&self, chained: &mut [&mut Chained<'_>]) {
        // A list that grew would leave what it held where it was.
        let mut ciphers = Vec::with_capacity(chained.len());
        ciphers.extend(live(chained).map(cipher_of));
        self.run(&mut ciphers);
        let mut results: Vec<_> = ciphers.iter().map(Operation::result).collect();
        wipe_list(&mut ciphers);
        drop(ciphers);
        for (chained, result) in live(chained).zip(&results) {
            if let Err(error) = *result {
                chained.end = Err(error);
            }
        }
        wipe_list(&mut results);
    }
}

/// Runs the ciphers of those combined operations that have not failed in the lanes of one cipher, and copies what is in clear.
fn in_lanes<'c, 'a, J>(
    chained: &'c mut [&mut Chained<'a>],
    job: impl Fn(CipherKey<'a>, &[u8], InOut<'c>) -> Option<J>,
    run: impl FnOnce(&mut [&mut J]),
) {
    let mut jobs = Vec::with_capacity(chained.len());
    for chained in live(chained) {
        let (mut clear, data) = chained.data.reborrow().split_at(chained.clear);
        clear.copy();
        jobs.extend(job(chained.cipher, &chained.iv, data));
    }
    run(&mut jobs.iter_mut().collect::<Vec<_>>());
    wipe_list(&mut jobs);
}

/// Returns the combined operations that have not failed.
fn live<'c, 'a>(chained: &'c mut [&mut Chained<'a>]) -> impl Iterator<Item = &'c mut Chained<'a>> {
    chained.iter_mut().map(|chained| &mut **chained).filter(|chained| chained.end.is_ok())
}

/// Computes the HMACs of combined operations, over their outputs, or over their inputs where they decrypt, and hands each on.
fn macs(
    chained: &mut [&mut Chained<'_>],
    lanes: &HmacLanes,
    mut tell: impl FnMut(&mut Chained<'_>, &Digest),
) {
    if let [alone] = chained {
        let tag = alone.mac.sign(authenticated(alone));
        return tell(alone, &tag);
    }
    let mut jobs = Vec::with_capacity(chained.len());
    jobs.extend(chained.iter_mut().map(|chained| HmacJob::new(chained.mac, authenticated(chained))));
    lanes.sign(&mut jobs.iter_mut().collect::<Vec<_>>());
    let mut tags: Vec<_> = jobs.iter().map(|job| job.tag).collect();
    wipe_list(&mut jobs);
    drop(jobs);
    chained.iter_mut().zip(&tags).for_each(|(chained, tag)| tell(chained, tag));
    wipe_list(&mut tags);
}

/// Returns what an HMAC is about.
fn authenticated<'c>(chained: &'c mut Chained<'_>) -> &'c [u8] {
    match chained.expected {
        None => chained.data.output(),
        Some(_) => chained.data.input(),
    }
}

/// Copies what is in clear; the cipher over the rest.
fn cipher_of<'c>(chained: &'c mut Chained<'_>) -> Operation<'c> {
    let (mut clear, secret) = chained.data.reborrow().split_at(chained.clear);
    clear.copy();
    let direction = if chained.expected.is_some() { Direction::Decrypt } else { Direction::Encrypt };
    let iv = &chained.iv[..chained.cipher.iv_len()];
    Operation::cipher(chained.cipher, direction, iv, secret)
}

/// Checks that the computed tag begins with the expected one. Where it does not, a separate output is zeroed.
fn verify(chained: &mut Chained<'_>, tag: &Digest) {
    let expected = chained.expected.unwrap_or_default();
    if begins(tag, expected).into() {
        return;
    }
    if !chained.data.is_in_place() {
        chained.data.output().fill(0);
    }
    chained.end = Err(Error::Authentication);
}
