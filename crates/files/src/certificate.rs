//! X.509 certificates in PEM or DER, as far as a token has to know them: their names, serial number and public key. Nothing is verified.
//!
//! Ref. RFC 5280 §4.1 (fields of a certificate), RFC 7468 §5 (PEM).

use der::{Reader, SliceReader, Tag};

use crate::error::Error;
use crate::key::pem;

/// The label of certificates in PEM.
const LABEL: &str = "CERTIFICATE";

/// A certificate. All parts are in DER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The whole certificate.
    pub der: Vec<u8>,
    /// The serial number, an INTEGER.
    pub serial: Vec<u8>,
    /// The issuer's name.
    pub issuer: Vec<u8>,
    /// The subject's name.
    pub subject: Vec<u8>,
    /// The public key, a `SubjectPublicKeyInfo`.
    pub public_key: Vec<u8>,
}

impl Certificate {
    /// Reads the first certificate of a file; none where the file has something else.
    ///
    /// ```
    /// assert!(millstream_files::certificate::Certificate::read(b"no certificate")?.is_none());
    /// # Ok::<(), millstream_files::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Key`] when it is in PEM, and what stands there is none.
    pub fn read(bytes: &[u8]) -> Result<Option<Self>, Error> {
        let in_pem = pem::block(bytes, LABEL)?;
        let der = in_pem.as_deref().unwrap_or(bytes);
        match parse(der) {
            Ok(certificate) => Ok(Some(certificate)),
            Err(_) if in_pem.is_none() => Ok(None),
            Err(_) => {
                Err(Error::Key("a certificate that can't be understood: it was cut off, or changed".into()))
            }
        }
    }

    /// Writes the certificate as PEM.
    pub fn to_pem(der: &[u8]) -> Vec<u8> {
        pem::write(LABEL, der).to_vec()
    }
}

fn parse(der: &[u8]) -> der::Result<Certificate> {
    let mut outer = SliceReader::new(der)?;
    let certificate = outer.sequence(|signed| {
        let certificate = signed.sequence(|fields| {
            // The version is left out in version 1.
            if fields.peek_byte() == Some(0xa0) {
                fields.tlv_bytes()?;
            }
            if Tag::peek(fields)? != Tag::Integer {
                return Err(fields.error(der::ErrorKind::Failed));
            }
            let mut next = || fields.tlv_bytes().map(<[u8]>::to_vec);
            // After the serial number and the issuer come the algorithm and the validity.
            let (serial, _, issuer, _, subject, public_key) =
                (next()?, next()?, next()?, next()?, next()?, next()?);
            while !fields.is_finished() {
                fields.tlv_bytes()?;
            }
            Ok::<_, der::Error>(Certificate { der: der.to_vec(), serial, issuer, subject, public_key })
        })?;
        // The algorithm again, and the signature.
        signed.tlv_bytes()?;
        signed.tlv_bytes()?;
        Ok::<_, der::Error>(certificate)
    })?;
    outer.finish()?;
    Ok(certificate)
}
