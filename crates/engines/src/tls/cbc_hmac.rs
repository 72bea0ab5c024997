//! AES-CBC with HMAC, the MAC inside: whole records sealed and opened.
//!
//! Ref. RFC 5246 §6.2.3.1 (MAC) and §6.2.3.2 (CBC).

use std::fmt;
use std::ops::Range;

use super::ops::{HEADER, SealOps, interleaved};
use super::padding::{pad, padded_len, remove_padding};
use crate::aes::{Block, Cbc};
use crate::compare::begins;
use crate::hash::{Hash, MAX_DIGEST};
use crate::hmac::HmacKey;
use crate::modes::BlockMode;
use crate::{Bound, Error, InOut, Kernel};

const NAME: &str = "tls-aes-cbc-hmac";

const BLOCK: usize = 16;

/// The keys of one direction of a connection: for AES in CBC mode, and for HMAC.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::hash::Hash;
/// use millstream_engines::tls::CbcHmac;
///
/// let keys = CbcHmac::new(Features::hardware(), Hash::Sha256, &[7; 16], &[8; 32])?;
/// // Record 0, application data, TLS 1.2; its vector must be random.
/// let header = [0, 0, 0, 0, 0, 0, 0, 0, 23, 3, 3];
/// let mut record = [0; 64];
/// record[16..29].copy_from_slice(b"of any length");
/// assert_eq!(keys.sealed_len(true, 13), record.len());
/// keys.seal(&mut [0; 16], &header, &mut record, true, 13)?;
///
/// let data = keys.open(&mut [0; 16], &header, &mut record, true)?;
/// assert_eq!(&record[data], b"of any length");
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub struct CbcHmac {
    kernel: Bound<SealOps>,
    pub(super) cbc: Cbc,
    pub(super) mac: HmacKey,
}

/// The place of the data in an opened record.
pub type Opened = Range<usize>;

impl CbcHmac {
    /// Takes keys that exist already, on any kernels, and the given kernel for both together.
    pub fn with_kernel(kernel: Bound<SealOps>, cbc: Cbc, mac: HmacKey) -> Self {
        CbcHmac { kernel, cbc, mac }
    }

    /// The kernel that seals a record.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// The hash of the MAC.
    pub fn hash(&self) -> Hash {
        self.mac.hash()
    }

    /// The cipher's key.
    pub fn cipher(&self) -> &Cbc {
        &self.cbc
    }

    /// The MAC's key.
    pub fn mac(&self) -> &HmacKey {
        &self.mac
    }

    /// Returns the length of a record with `payload` bytes of data. From TLS 1.1 on a record begins
    /// with an explicit vector.
    pub fn sealed_len(&self, vector: bool, payload: usize) -> usize {
        padded_len(vector_len(vector) + payload + self.mac.hash().output_len(), BLOCK)
    }

    /// Seals a record in place: the vector if there is one (random bytes), `payload` bytes of data, and
    /// room for MAC and padding. `iv` holds the chaining value before and after. With an explicit
    /// vector it may be anything, because the vector is encrypted like the rest.
    ///
    /// # Errors
    /// [`Error::OutputLength`] when the record is not of [`CbcHmac::sealed_len`] bytes;
    /// [`Error::DataLength`] when there are more than 65535 bytes of data.
    pub fn seal(
        &self,
        iv: &mut Block,
        header: &[u8; HEADER],
        record: &mut [u8],
        vector: bool,
        payload: usize,
    ) -> Result<(), Error> {
        let end = self.check(record, vector, payload)?;
        let mut mac = self.mac.start();
        mac.update(&pseudo_header(header, payload));
        let done = interleaved(self.kernel, &self.cbc, iv, &mut mac, &mut record[..end], vector_len(vector));
        self.append(record, end, &mac.finish());
        self.cbc.encrypt(iv, InOut::in_place(&mut record[done..]));
        Ok(())
    }

    /// Returns the end of the data, if the record has the right length.
    pub(super) fn check(&self, record: &[u8], vector: bool, payload: usize) -> Result<usize, Error> {
        let (given, needed) = (record.len(), self.sealed_len(vector, payload));
        if payload > usize::from(u16::MAX) {
            let takes = "at most 65535 bytes";
            return Err(Error::DataLength { algorithm: NAME, given: payload as u64, takes });
        }
        if given != needed {
            return Err(Error::OutputLength { given, needed });
        }
        Ok(vector_len(vector) + payload)
    }

    /// Writes MAC and padding behind the data.
    pub(super) fn append(&self, record: &mut [u8], end: usize, mac: &[u8]) {
        let padding = end + mac.len();
        record[end..padding].copy_from_slice(mac);
        pad(record, padding, BLOCK).expect("`check` found the record long enough");
    }

    /// Opens a record in place and returns the place of its data. The time depends on the record's
    /// length only, as long as it is authentic, and likewise when it is not.
    ///
    /// # Errors
    /// [`Error::Authentication`] when padding or MAC are wrong, without telling which: record and `iv`
    /// are then as before. [`Error::DataLength`] when the record is not whole blocks, or too short.
    pub fn open(
        &self,
        iv: &mut Block,
        header: &[u8; HEADER],
        record: &mut [u8],
        vector: bool,
    ) -> Result<Opened, Error> {
        let (start, mac) = (vector_len(vector), self.mac.hash().output_len());
        if !record.len().is_multiple_of(BLOCK) || record.len() <= start + mac {
            let takes = "whole blocks, for the vector, the MAC and a byte of padding at least";
            return Err(Error::DataLength { algorithm: NAME, given: record.len() as u64, takes });
        }
        let before = *iv;
        self.cbc.decrypt(iv, InOut::in_place(record));
        match self.verify(header, &record[start..]) {
            Ok(len) => Ok(start..start + len),
            Err(error) => {
                *iv = before;
                self.cbc.encrypt(&mut { before }, InOut::in_place(record));
                Err(error)
            }
        }
    }

    /// Returns the length of a record's data, if padding and MAC are right.
    fn verify(&self, header: &[u8; HEADER], data: &[u8]) -> Result<usize, Error> {
        let size = self.mac.hash().output_len();
        let unpadded = remove_padding(data, size)?;
        let header = pseudo_header(header, unpadded.len());
        let longest = &data[..data.len() - size];
        let shortest = longest.len().saturating_sub(256);
        let right = self.mac.sign_prefix(&header, longest, shortest, unpadded.len());
        let given = unpadded.mac_or(&[0; MAX_DIGEST]);
        let authentic = begins(&right, &given[..size]) & unpadded.is_valid();
        if authentic.into() { Ok(unpadded.len()) } else { Err(Error::Authentication) }
    }
}

impl fmt::Debug for CbcHmac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AES-CBC on {}, {:?}", self.cbc.kernel().name, self.mac)
    }
}

/// Bytes of the explicit vector.
pub(super) const fn vector_len(vector: bool) -> usize {
    if vector { BLOCK } else { 0 }
}

/// Returns the bytes that the MAC covers before the data, RFC 5246 §6.2.3.1. The length may be a
/// secret.
pub(super) fn pseudo_header(header: &[u8; HEADER], len: usize) -> [u8; HEADER + 2] {
    let mut whole = [0; HEADER + 2];
    whole[..HEADER].copy_from_slice(header);
    whole[HEADER..].copy_from_slice(&(len as u16).to_be_bytes());
    whole
}
