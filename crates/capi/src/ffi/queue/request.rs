//! Submission of C's requests: each kind's buffers are taken, and its request is built and put in flight, in one place.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc)]

use millstream::cwq::{Algorithm, Opcode};
use millstream::is_long_result;
use millstream::queue::{Buffer, Refusal, Request as Inner};

use super::structures::Request;
use crate::failure::Failure;
use crate::ffi::In;
use crate::ffi::batch::Kind;
use crate::ffi::lent::Lent;
use crate::key::{of_pair, rsa_decryption, rsa_scheme};
use crate::queue::{Flight, Queue, key};

/// Puts an operation in flight, and returns its ticket's number.
///
/// # Safety
/// What the request points to is valid, and its buffers are handles.
#[inline(always)]
pub(super) unsafe fn submit(queue: &mut Queue, of: &Request) -> Result<u64, Failure> {
    let kind = check(of)?;
    // SAFETY: as the caller says; nothing of it is written.
    let (iv, aad, tag) = unsafe {
        (
            In::new("iv", of.iv, of.iv_length)?.get(),
            In::new("aad", of.aad, of.aad_length)?.get(),
            In::new("tag", of.tag, of.tag_length)?.get(),
        )
    };
    let before = (!aad.is_empty()).then_some(aad);
    let to = To { queue, of };
    // SAFETY: as the caller says.
    unsafe {
        match kind {
            Kind::Null => to.none(Inner::null()),
            Kind::Copy => to.two(Inner::copy),
            Kind::Encrypt => {
                let key = key(of.key)?;
                if key.algorithm() == Algorithm::AesFf1 {
                    let radix = of.scheme;
                    return to.two_rarely(|source, destination| {
                        Inner::encrypt_digits(key, radix, iv, source, destination)
                    });
                }
                to.two(|source, destination| Inner::encrypt(key, iv, source, destination))
            }
            Kind::Decrypt => {
                let key = key(of.key)?;
                if key.algorithm() == Algorithm::AesFf1 {
                    let radix = of.scheme;
                    return to.two_rarely(|source, destination| {
                        Inner::decrypt_digits(key, radix, iv, source, destination)
                    });
                }
                to.two(|source, destination| Inner::decrypt(key, iv, source, destination))
            }
            Kind::Seal => {
                let key = key(of.key)?;
                to.two(|source, destination| Inner::seal(key, iv, aad, source, destination))
            }
            Kind::Open => {
                let key = key(of.key)?;
                let whole = match key.algorithm() {
                    Algorithm::Fernet => 32,
                    Algorithm::AesKw | Algorithm::AesKwp => 8,
                    _ => 16,
                };
                to.two(|source, destination| Inner::open_cut(key, iv, aad, source, destination, tag, whole))
            }
            Kind::Digest => {
                let hash = of.algorithm.hash()?;
                to.one(|source| Inner::digest(hash, source))
            }
            Kind::Mac => {
                let key = key(of.key)?;
                to.one(|source| Inner::mac(key, source).with_iv(iv))
            }
            Kind::CopyChecksum => {
                let checksum = of.algorithm.checksum()?;
                to.two_rarely(|source, destination| Inner::copy_checksum(checksum, source, destination))
            }
            Kind::Checksum => {
                let checksum = of.algorithm.checksum()?;
                to.one_rarely(|source| Inner::checksum(checksum, source))
            }
            Kind::SealWithMadeNonce => {
                // A given nonce would not be the one that is used.
                if of.iv_length > 0 {
                    return Err(Failure::Reserved("iv"));
                }
                let key = key(of.key)?;
                to.two_rarely(|source, destination| {
                    Inner::seal_with_made_nonce(key, aad, source, destination)
                })
            }
            Kind::Verify => {
                let key = key(of.key)?;
                to.one_rarely(|source| Inner::verify(key, source, tag).with_iv(iv))
            }
            Kind::EncryptThenMac => {
                let (key, mac, clear) = (key(of.key)?, key(of.mac_key)?, of.clear_length);
                to.two_rarely(|source, destination| {
                    Inner::encrypt_then_mac(key, iv, mac, clear, source, destination)
                })
            }
            Kind::MacThenDecrypt => {
                let (key, mac, clear) = (key(of.key)?, key(of.mac_key)?, of.clear_length);
                to.two_rarely(|source, destination| {
                    Inner::mac_then_decrypt(key, iv, mac, clear, source, destination, tag)
                })
            }
            Kind::PartialDigest => {
                let hash = of.algorithm.hash()?;
                to.one_rarely(|source| Inner::partial_hash(hash, before, source))
            }
            Kind::LastDigest => {
                let hash = of.algorithm.hash()?;
                to.one_rarely(|source| Inner::last_hash(hash, before, source))
            }
            Kind::Sign => {
                let key = key(of.key)?;
                let scheme = of_pair(key.algorithm(), of.algorithm, of.scheme)?;
                to.one_rarely(|source| Inner::sign_with(key, scheme, source))
            }
            Kind::Agree => {
                let key = key(of.key)?;
                to.one_rarely(|source| Inner::agree(key, source))
            }
            Kind::PublicKey => {
                let key = key(of.key)?;
                // A public key of RSA is refused as a tag, and has a kind of its own.
                let is_long = is_long_result(key.algorithm(), Opcode::PublicKey);
                if is_long && key.algorithm() != Algorithm::Rsa {
                    return to.output(|destination| Inner::public_key_to(key, destination));
                }
                to.none(Inner::public_key(key))
            }
            Kind::SignRsa => {
                let (key, scheme) = (key(of.key)?, rsa_scheme(of.algorithm, of.scheme)?);
                to.two_rarely(|source, destination| Inner::sign_rsa(key, scheme, source, destination))
            }
            Kind::DecryptRsa => {
                let (key, scheme) = (key(of.key)?, rsa_decryption(of.algorithm, of.scheme, aad)?);
                to.two_rarely(|source, destination| Inner::decrypt_rsa(key, scheme, source, destination))
            }
            Kind::PublicKeyRsa => {
                let key = key(of.key)?;
                to.output(|destination| Inner::public_key_rsa(key, destination))
            }
            Kind::Random => to.output(Inner::random),
            Kind::SignMlDsa | Kind::SignSlhDsa => {
                let key = key(of.key)?;
                let scheme = of_pair(key.algorithm(), of.algorithm, of.scheme)?;
                to.two_rarely(|source, destination| Inner::sign_ml_dsa(key, scheme, iv, source, destination))
            }
            Kind::Encapsulate => {
                let algorithm = of.algorithm.get()?;
                to.output(|destination| Inner::encapsulate(algorithm, aad, destination))
            }
            Kind::Decapsulate => {
                let key = key(of.key)?;
                to.one_rarely(|source| Inner::decapsulate(key, source))
            }
        }
    }
}

/// Checks a request's kind and its numbers.
#[inline(always)]
pub(super) fn check(of: &Request) -> Result<Kind, Failure> {
    let kind = of.kind.get()?;
    if of.reserved != [0; 2] || of.reserved_too != 0 {
        return Err(Failure::Reserved("reserved"));
    }
    if of.unused_bits > 7 || of.direction > 1 {
        let number = u64::from(of.unused_bits) << 8 | u64::from(of.direction);
        return Err(Failure::Argument("number of unused bits and direction", number));
    }
    Ok(kind)
}

/// The way of a request into its queue.
struct To<'a> {
    queue: &'a mut Queue,
    of: &'a Request,
}

/// Buffers of more input on their way into a request.
#[derive(Default)]
struct More {
    lent: Vec<Lent>,
    bytes: Vec<Buffer>,
}

/// `one` and `two` are for frequent kinds: all of them is compiled once a kind, so that the compiler knows the operation and keeps
/// its control word in registers.
///
/// # Safety
/// For each of these functions, the buffers of the request are handles, and the list is as long as it says.
impl To<'_> {
    /// Submits an operation without buffers.
    #[inline(always)]
    unsafe fn none(self, request: Inner<'_>) -> Result<u64, Failure> {
        self.no_source()?;
        self.no_destination()?;
        self.queue.submit(request, Flight { user: self.of.user, ..Flight::default() })
    }

    /// Submits an operation that has a source only.
    #[inline(always)]
    unsafe fn one<'a>(self, make: impl FnOnce(Buffer) -> Inner<'a>) -> Result<u64, Failure> {
        if self.of.more_count > 0 {
            // SAFETY: as the caller says.
            return unsafe { self.one_rarely(make) };
        }
        self.no_destination()?;
        // SAFETY: as the caller says.
        let (lent, bytes) = unsafe { Lent::take("source", self.of.source) }?;
        let flight = Flight { source: Some(lent), destination: None, more: None, user: self.of.user };
        self.queue.submit(make(bytes).with_parameter(self.of.unused_bits, self.of.direction), flight)
    }

    /// Submits an operation that has a source and a destination.
    #[inline(always)]
    unsafe fn two<'a>(self, make: impl FnOnce(Buffer, Buffer) -> Inner<'a>) -> Result<u64, Failure> {
        if self.of.more_count > 0 {
            // SAFETY: as the caller says.
            return unsafe { self.two_rarely(make) };
        }
        // SAFETY: as the caller says.
        let ((source, from), (destination, to)) = unsafe { self.pair() }?;
        let (source, destination) = (Some(source), Some(destination));
        let flight = Flight { source, destination, more: None, user: self.of.user };
        self.queue.submit(make(from, to).with_parameter(self.of.unused_bits, self.of.direction), flight)
    }

    /// Submits an operation that has a destination only.
    #[inline(never)]
    unsafe fn output<'a>(self, make: impl FnOnce(Buffer) -> Inner<'a>) -> Result<u64, Failure> {
        self.no_source()?;
        // SAFETY: as the caller says.
        let (lent, bytes) = unsafe { Lent::take("destination", self.of.destination) }?;
        self.put(make(bytes), None, Some(lent), More::default())
    }

    /// Submits an operation that has a source only, with all the more input that there may be.
    #[inline(never)]
    unsafe fn one_rarely<'a>(self, make: impl FnOnce(Buffer) -> Inner<'a>) -> Result<u64, Failure> {
        self.no_destination()?;
        // SAFETY: as the caller says.
        let (lent, bytes) = unsafe { Lent::take("source", self.of.source) }?;
        // SAFETY: as the caller says.
        match unsafe { more(self.of) } {
            Ok(more) => self.put(make(bytes), Some(lent), None, more),
            Err(failure) => {
                lent.give_back(Some(bytes));
                Err(failure)
            }
        }
    }

    /// Submits an operation that has a source and a destination, with all the more input that there may be.
    #[inline(never)]
    unsafe fn two_rarely<'a>(self, make: impl FnOnce(Buffer, Buffer) -> Inner<'a>) -> Result<u64, Failure> {
        // SAFETY: as the caller says.
        let ((source, from), (destination, to)) = unsafe { self.pair() }?;
        // SAFETY: as the caller says.
        match unsafe { more(self.of) } {
            Ok(more) => self.put(make(from, to), Some(source), Some(destination), more),
            Err(failure) => {
                source.give_back(Some(from));
                destination.give_back(Some(to));
                Err(failure)
            }
        }
    }

    /// Takes source and destination.
    #[inline(always)]
    unsafe fn pair(&self) -> Result<(Taken, Taken), Failure> {
        if self.of.source == self.of.destination && !self.of.source.is_null() {
            return Err(Failure::Overlap("source", "destination"));
        }
        // SAFETY: as the caller says.
        let source = unsafe { Lent::take("source", self.of.source) }?;
        // SAFETY: as the caller says.
        match unsafe { Lent::take("destination", self.of.destination) } {
            Ok(destination) => Ok((source, destination)),
            Err(failure) => {
                source.0.give_back(Some(source.1));
                Err(failure)
            }
        }
    }

    #[inline(always)]
    fn no_source(&self) -> Result<(), Failure> {
        let none = self.of.source.is_null() && self.of.more_count == 0;
        if none { Ok(()) } else { Err(Failure::Reserved("source")) }
    }

    #[inline(always)]
    fn no_destination(&self) -> Result<(), Failure> {
        if self.of.destination.is_null() { Ok(()) } else { Err(Failure::Reserved("destination")) }
    }

    /// Finishes a request of a kind that few callers need, and submits it.
    #[inline(never)]
    fn put(
        self,
        mut request: Inner<'_>,
        source: Option<Lent>,
        destination: Option<Lent>,
        more: More,
    ) -> Result<u64, Failure> {
        let of = self.of;
        if (of.unused_bits, of.direction) != (0, 0) {
            request = request.with_parameter(of.unused_bits, of.direction);
        }
        let mut flight = Flight { source, destination, more: None, user: of.user };
        if !more.lent.is_empty() {
            flight.more = Some(more.lent.into());
            request = request.and_then(more.bytes);
        }
        self.queue.submit(request, flight)
    }
}

/// A buffer that was taken, and its bytes.
type Taken = (Lent, Buffer);

/// Takes the buffers of more input. If one can't be had, C has the others back.
///
/// # Safety
/// The list is as long as the request says, and holds handles.
unsafe fn more(of: &Request) -> Result<More, Failure> {
    let mut more = More::default();
    if of.more_count > 0 && of.more.is_null() {
        return Err(Failure::Null("more"));
    }
    // A longer list is refused, so it is not read either.
    if of.more_count > 63 {
        return Err(Refusal::TooLong.into());
    }
    for i in 0..of.more_count {
        // SAFETY: as the caller says.
        match unsafe { Lent::take("more", *of.more.add(i)) } {
            Ok((lent, bytes)) => {
                more.lent.push(lent);
                more.bytes.push(bytes);
            }
            Err(failure) => {
                for (lent, bytes) in more.lent.into_iter().zip(more.bytes) {
                    lent.give_back(Some(bytes));
                }
                return Err(failure);
            }
        }
    }
    Ok(more)
}
