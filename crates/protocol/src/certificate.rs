//! Certificates that a token keeps. Their bytes are public, and lie where programs with PKCS #11 have them: among the attributes of an object of the kind
//! `certificate`, under the tag 256.
//!
//! | bytes | meaning, for each attribute of PKCS #11 |
//! | ---: | --- |
//! | 8 | the attribute's type, big-endian |
//! | 4 | length of the value, big-endian |
//! | length | value, as PKCS #11 has it |
//!
//! Ref. PKCS #11 v3.2 §4.7.3 (X.509 public key certificate objects).

use crate::attributes::Attributes;

/// The kind of objects that are certificates.
pub const CERTIFICATE: &str = "certificate";

/// The tag of the attributes of PKCS #11.
pub const PKCS11_TAG: u16 = 256;

/// `CKA_VALUE`, which is the certificate.
const VALUE: u64 = 0x11;

/// The parts of a certificate by which programs look for it, each in DER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateParts<'c> {
    /// The whole certificate.
    pub der: &'c [u8],
    /// The serial number, an INTEGER.
    pub serial: &'c [u8],
    /// The issuer's name.
    pub issuer: &'c [u8],
    /// The subject's name.
    pub subject: &'c [u8],
    /// The public key, a `SubjectPublicKeyInfo`.
    pub public_key: &'c [u8],
}

impl Attributes {
    /// Returns the attributes of a certificate of that label and identifier, as a token keeps them.
    ///
    /// ```
    /// use millstream_protocol::{Attributes, CertificateParts};
    ///
    /// let (der, empty) = (&[0x30, 0][..], &[][..]);
    /// let parts = CertificateParts { der, serial: empty, issuer: empty, subject: empty, public_key: empty };
    /// let attributes = Attributes::of_certificate("server", &[1], parts);
    /// assert_eq!(attributes.certificate(), Some(der));
    /// ```
    pub fn of_certificate(label: &str, id: &[u8], parts: CertificateParts<'_>) -> Self {
        let (yes, no, class, x509) = (&[1][..], &[0][..], 1_u64.to_ne_bytes(), 0_u64.to_ne_bytes());
        // CKA_CLASS, TOKEN, PRIVATE, LABEL, VALUE, CERTIFICATE_TYPE, ISSUER, SERIAL_NUMBER, TRUSTED, CERTIFICATE_CATEGORY, SUBJECT, ID,
        // START_DATE, END_DATE, PUBLIC_KEY_INFO, MODIFIABLE, COPYABLE, DESTROYABLE.
        let values: [(u64, &[u8]); 18] = [
            (0x00, &class),
            (0x01, yes),
            (0x02, no),
            (0x03, label.as_bytes()),
            (VALUE, parts.der),
            (0x80, &x509),
            (0x81, parts.issuer),
            (0x82, parts.serial),
            (0x86, no),
            (0x87, &x509),
            (0x101, parts.subject),
            (0x102, id),
            (0x110, &[]),
            (0x111, &[]),
            (0x129, parts.public_key),
            (0x170, yes),
            (0x171, yes),
            (0x172, yes),
        ];
        let mut bytes = Vec::new();
        for (kind, value) in values {
            bytes.extend(kind.to_be_bytes());
            bytes.extend((value.len() as u32).to_be_bytes());
            bytes.extend_from_slice(value);
        }
        Attributes {
            label: label.to_owned(),
            id: id.to_vec(),
            kind: CERTIFICATE.to_owned(),
            exportable: true,
            public_key: parts.public_key.to_vec(),
            others: [(PKCS11_TAG, bytes)].into(),
            ..Attributes::default()
        }
    }

    /// Returns the certificate, in DER; none for objects of other kinds.
    pub fn certificate(&self) -> Option<&[u8]> {
        let mut bytes = self.others.get(&PKCS11_TAG).filter(|_| self.kind == CERTIFICATE)?.as_slice();
        while !bytes.is_empty() {
            let (kind, rest) = bytes.split_first_chunk()?;
            let (len, rest) = rest.split_first_chunk()?;
            let (value, rest) = rest.split_at_checked(u32::from_be_bytes(*len) as usize)?;
            if u64::from_be_bytes(*kind) == VALUE {
                return Some(value);
            }
            bytes = rest;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_objects_and_what_was_cut_have_no_certificate() {
        let parts =
            CertificateParts { der: b"whole", serial: b"1", issuer: b"", subject: b"", public_key: b"" };
        let whole = Attributes::of_certificate("server", &[7], parts);
        assert_eq!(Attributes::decode(&whole.encode().unwrap()).unwrap().certificate(), Some(&b"whole"[..]));
        assert_eq!(Attributes { kind: "data".into(), ..whole.clone() }.certificate(), None);
        let bytes = &whole.others[&PKCS11_TAG];
        let end = bytes.windows(5).position(|part| part == b"whole").unwrap() + 5;
        for len in 0..end {
            let others = [(PKCS11_TAG, bytes[..len].to_vec())].into();
            assert_eq!(Attributes { others, ..whole.clone() }.certificate(), None, "{len}");
        }
    }
}
