//! Requests in the library's form, from those of C.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc)]

use super::structures::Request;
use crate::failure::Failure;
use crate::ffi::In;
use crate::ffi::batch::Kind;
use crate::ffi::lent::Lent;
use crate::key::{of_pair, rsa_decryption, rsa_scheme};
use crate::queue::{Loan, Plan, Work, key};

/// Reads the parts of a request beside its buffers.
///
/// # Safety
/// What the request points to is valid for `'a`.
#[inline(always)]
pub(super) unsafe fn plan<'a>(of: &Request, kind: Kind) -> Result<Plan<'a>, Failure> {
    if of.reserved != [0; 2] || of.reserved_too != 0 {
        return Err(Failure::Reserved("reserved"));
    }
    if of.unused_bits > 7 || of.direction > 1 {
        let number = u64::from(of.unused_bits) << 8 | u64::from(of.direction);
        return Err(Failure::Argument("number of unused bits and direction", number));
    }
    let work = match kind {
        Kind::Null => Work::Null,
        Kind::Copy => Work::Copy,
        Kind::CopyChecksum => Work::CopyChecksum(of.algorithm.checksum()?),
        Kind::Checksum => Work::Checksum(of.algorithm.checksum()?),
        Kind::Encrypt => Work::Encrypt(key(of.key)?),
        Kind::Decrypt => Work::Decrypt(key(of.key)?),
        Kind::Seal => Work::Seal(key(of.key)?),
        Kind::SealWithMadeNonce => {
            // A given nonce would not be the one that is used.
            if of.iv_length > 0 {
                return Err(Failure::Reserved("iv"));
            }
            Work::SealWithMadeNonce(key(of.key)?)
        }
        Kind::Open => Work::Open(key(of.key)?),
        Kind::Digest => Work::Digest(of.algorithm.hash()?),
        Kind::Mac => Work::Mac(key(of.key)?),
        Kind::Verify => Work::Verify(key(of.key)?),
        Kind::EncryptThenMac => Work::EncryptThenMac(key(of.key)?, key(of.mac_key)?, of.clear_length),
        Kind::MacThenDecrypt => Work::MacThenDecrypt(key(of.key)?, key(of.mac_key)?, of.clear_length),
        Kind::PartialDigest => Work::PartialDigest(of.algorithm.hash()?),
        Kind::LastDigest => Work::LastDigest(of.algorithm.hash()?),
        Kind::Sign => {
            let key = key(of.key)?;
            Work::Sign(key, of_pair(key.algorithm(), of.algorithm, of.scheme)?)
        }
        Kind::Agree => Work::Agree(key(of.key)?),
        Kind::PublicKey => Work::PublicKey(key(of.key)?),
        Kind::SignRsa => Work::SignRsa(key(of.key)?, rsa_scheme(of.algorithm, of.scheme)?),
        // The label is added when the request is made.
        Kind::DecryptRsa => Work::DecryptRsa(key(of.key)?, rsa_decryption(of.algorithm, of.scheme, &[])?),
        Kind::PublicKeyRsa => Work::PublicKeyRsa(key(of.key)?),
        Kind::Random => Work::Random,
    };
    // SAFETY: as the caller says; nothing of it is written.
    unsafe {
        Ok(Plan {
            work,
            iv: In::new("iv", of.iv, of.iv_length)?.get(),
            aad: In::new("aad", of.aad, of.aad_length)?.get(),
            tag: In::new("tag", of.tag, of.tag_length)?.get(),
            parameter: (of.unused_bits, of.direction),
            user: of.user,
        })
    }
}

/// Takes the buffers of a request. If one can't be had, C has the others back.
///
/// # Safety
/// They are handles, and the list is as long as the request says.
#[inline(always)]
pub(super) unsafe fn loan(of: &Request, kind: Kind) -> Result<Loan, Failure> {
    let (source, destination) = kind.buffers();
    let unused = |name: &'static str| Err(Failure::Reserved(name));
    if !source && (!of.source.is_null() || of.more_count > 0) {
        return unused("source");
    }
    if !destination && !of.destination.is_null() {
        return unused("destination");
    }
    if source && of.source == of.destination {
        return Err(if of.source.is_null() {
            Failure::Null("source")
        } else {
            Failure::Overlap("source", "destination")
        });
    }
    let mut loan = Loan::default();
    // SAFETY: as the caller says.
    let taken = unsafe { take(of, &mut loan, source, destination) };
    match taken {
        Ok(()) => Ok(loan),
        Err(failure) => {
            loan.back();
            Err(failure)
        }
    }
}

/// # Safety
/// As for [`loan`].
#[inline(always)]
unsafe fn take(of: &Request, loan: &mut Loan, source: bool, destination: bool) -> Result<(), Failure> {
    // SAFETY: as the caller says.
    unsafe {
        if source {
            loan.source = Some(Lent::take("source", of.source)?);
        }
        if destination {
            loan.destination = Some(Lent::take("destination", of.destination)?);
        }
        if of.more_count == 0 {
            return Ok(());
        }
        if of.more.is_null() {
            return Err(Failure::Null("more"));
        }
        // A longer list is refused, so it is not read either.
        if of.more_count > 63 {
            return Err(millstream::queue::Refusal::TooLong.into());
        }
        for i in 0..of.more_count {
            loan.more.push(Lent::take("more", *of.more.add(i))?);
        }
    }
    Ok(())
}
