//! The file with a sealed secret.
//!
//! | bytes | meaning |
//! | --- | --- |
//! | 14 | `millstream tpm` |
//! | 1 | version of the format: 1 |
//! | 4 | a bit for each PCR of the bank of SHA-256 that the secret depends on, big-endian |
//! | 2 + n | name of the key under which the secret is sealed: the primary key of the storage hierarchy |
//! | 2 + n | name of the same key in the endorsement hierarchy, whose seed stays when a TPM is cleared |
//! | 2 + n | public area of the sealed object, as TPMT_PUBLIC |
//! | 2 + n | private area, as the buffer of TPM2B_PRIVATE |
//!
//! Lengths are big-endian. Nothing follows. What is sealed is a word of four bytes, zero, and the secret.

use super::fault::TpmFault;
use super::pcrs::Pcrs;

const MAGIC: &[u8; 14] = b"millstream tpm";

/// The version of the format that this crate writes.
const FORMAT: u8 = 1;

/// The most bytes of such a file.
pub const MOST_BYTES: usize = 4096;

/// A sealed secret, and what tells by which TPM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Blob {
    pub(super) pcrs: Pcrs,
    pub(super) storage: Vec<u8>,
    pub(super) endorsement: Vec<u8>,
    pub(super) public: Vec<u8>,
    pub(super) private: Vec<u8>,
}

impl Blob {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = [&MAGIC[..], &[FORMAT], &self.pcrs.to_bits().to_be_bytes()].concat();
        for part in [&self.storage, &self.endorsement, &self.public, &self.private] {
            bytes.extend((part.len() as u16).to_be_bytes());
            bytes.extend(part);
        }
        bytes
    }

    /// Reads such a file.
    ///
    /// # Errors
    /// [`TpmFault::Changed`] and [`TpmFault::Newer`].
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, TpmFault> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(TpmFault::Changed)?;
        let (version, rest) = rest.split_first().ok_or(TpmFault::Changed)?;
        match *version {
            FORMAT => Blob::parts(rest).ok_or(TpmFault::Changed),
            0 => Err(TpmFault::Changed),
            version => Err(TpmFault::Newer(version)),
        }
    }

    fn parts(bytes: &[u8]) -> Option<Self> {
        let (pcrs, mut rest) = bytes.split_first_chunk()?;
        let pcrs = Pcrs::from_bits(u32::from_be_bytes(*pcrs))?;
        let mut part = || -> Option<Vec<u8>> {
            let (len, after) = rest.split_first_chunk()?;
            let (part, after) = after.split_at_checked(u16::from_be_bytes(*len).into())?;
            rest = after;
            Some(part.to_vec())
        };
        let blob = Blob { pcrs, storage: part()?, endorsement: part()?, public: part()?, private: part()? };
        rest.is_empty().then_some(blob)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_encoding_and_no_part_of_one_is_a_file() {
        let pcrs = "0,7".parse().unwrap();
        let blob = Blob {
            pcrs,
            storage: vec![1; 34],
            endorsement: vec![2; 34],
            public: vec![3; 70],
            private: Vec::new(),
        };
        let bytes = blob.encode();
        assert_eq!(Blob::decode(&bytes), Ok(blob));
        for len in 0..bytes.len() {
            assert_eq!(Blob::decode(&bytes[..len]), Err(TpmFault::Changed), "{len} bytes");
        }
        assert_eq!(Blob::decode(&[&bytes[..], &[0]].concat()), Err(TpmFault::Changed));
        let version = |version| [&bytes[..14], &[version], &bytes[15..]].concat();
        assert_eq!(Blob::decode(&version(2)), Err(TpmFault::Newer(2)));
        assert_eq!(Blob::decode(&version(0)), Err(TpmFault::Changed));
        let no_register = [&bytes[..15], &[1], &bytes[16..]].concat();
        assert_eq!(Blob::decode(&no_register), Err(TpmFault::Changed));
    }
}
