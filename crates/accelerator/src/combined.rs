//! Combined operations: a cipher and an HMAC over the same bytes.

use millstream_engines::Error;
use millstream_engines::compare::begins;
use millstream_engines::hash::Digest;
use millstream_engines::hmac::{HmacJob, HmacLanes};
use millstream_engines::modes::Direction;

use crate::operation::Operation;
use crate::unit::{Group, Unit};
use crate::wipe::wipe_list;
use crate::work::{Chained, Work};

impl Unit {
    /// Executes one combined operation.
    pub(crate) fn run_chained(&self, chained: &mut Chained<'_>) -> Result<(), Error> {
        if chained.expected.is_none() {
            self.encrypt_chained(chained)?;
            chained.tag = Some(chained.mac.sign(chained.data.output()));
            return Ok(());
        }
        let tag = chained.mac.sign(chained.data.input());
        verified(chained, &tag)?;
        self.encrypt_chained(chained)
    }

    /// Runs the cipher of a combined operation, in its direction, and copies what is in clear.
    fn encrypt_chained(&self, chained: &mut Chained<'_>) -> Result<(), Error> {
        let mut cipher = cipher_of(chained);
        self.run_one(&mut cipher);
        cipher.result()
    }

    /// Encrypts all objects of one group, side by side where that pays, then authenticates them so.
    pub(crate) fn encrypt_then_mac(
        &self,
        group: Group,
        groups: &[Group],
        operations: &mut [Operation<'_>],
        hmac: &HmacLanes,
    ) {
        self.ciphers(group, groups, operations);
        let mut tags = self.macs(group, groups, operations, hmac);
        let mut next = tags.iter();
        for_group(group, groups, operations, |chained, result| {
            let tag = next.next().cloned();
            chained.tag = if result.is_ok() { tag } else { None };
        });
        wipe_list(&mut tags);
    }

    /// Authenticates all objects of one group, then decrypts those whose tag is right.
    pub(crate) fn mac_then_decrypt(
        &self,
        group: Group,
        groups: &[Group],
        operations: &mut [Operation<'_>],
        hmac: &HmacLanes,
    ) {
        let mut tags = self.macs(group, groups, operations, hmac);
        let mut next = tags.iter();
        for_group(group, groups, operations, |chained, result| {
            if let Some(tag) = next.next() {
                *result = verified(chained, tag);
            }
        });
        wipe_list(&mut tags);
        self.ciphers(group, groups, operations);
    }

    /// The tags of the combined operations of one group: over their outputs, or over their inputs where they
    /// decrypt.
    fn macs(
        &self,
        group: Group,
        groups: &[Group],
        operations: &mut [Operation<'_>],
        lanes: &HmacLanes,
    ) -> Vec<Digest> {
        let mut jobs = Vec::with_capacity(operations.len());
        for (operation, found) in operations.iter_mut().zip(groups) {
            if *found == group
                && let Work::Chained(chained) = &mut operation.work
            {
                let data = match chained.expected {
                    None => chained.data.output(),
                    Some(_) => chained.data.input(),
                };
                jobs.push(HmacJob::new(chained.mac, data));
            }
        }
        lanes.sign(&mut jobs.iter_mut().collect::<Vec<_>>());
        let tags = jobs.iter().map(|job| job.tag).collect();
        wipe_list(&mut jobs);
        tags
    }

    /// The ciphers of those combined operations of one group that have not failed.
    fn ciphers(&self, group: Group, groups: &[Group], operations: &mut [Operation<'_>]) {
        let mut ciphers = Vec::with_capacity(operations.len());
        for (operation, found) in operations.iter_mut().zip(groups) {
            if *found == group
                && operation.result.is_ok()
                && let Work::Chained(chained) = &mut operation.work
            {
                ciphers.push(cipher_of(chained));
            }
        }
        self.run(&mut ciphers);
        let mut results: Vec<_> = ciphers.iter().map(Operation::result).collect();
        wipe_list(&mut ciphers);
        drop(ciphers);
        let mut next = results.iter();
        for_group(group, groups, operations, |_, result| {
            if result.is_ok()
                && let Some(cipher) = next.next()
            {
                *result = *cipher;
            }
        });
        wipe_list(&mut results);
    }
}

/// Calls `f` for each combined operation of one group.
fn for_group(
    group: Group,
    groups: &[Group],
    operations: &mut [Operation<'_>],
    mut f: impl FnMut(&mut Chained<'_>, &mut Result<(), Error>),
) {
    for (operation, found) in operations.iter_mut().zip(groups) {
        if *found == group
            && let Work::Chained(chained) = &mut operation.work
        {
            f(chained, &mut operation.result);
        }
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
fn verified(chained: &mut Chained<'_>, tag: &Digest) -> Result<(), Error> {
    let expected = chained.expected.unwrap_or_default();
    if begins(tag, expected).into() {
        return Ok(());
    }
    if !chained.data.is_in_place() {
        chained.data.output().fill(0);
    }
    Err(Error::Authentication)
}
