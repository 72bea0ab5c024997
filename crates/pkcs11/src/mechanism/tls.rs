//! The parameters of the mechanisms of TLS 1.2, read from the program's structures and checked.
//!
//! Ref. PKCS #11 v3.2 §6, "TLS 1.2 mechanisms".
//!
//! # Safety
//! As in [`parameters`](super::parameters).
#![allow(unsafe_code)]

use cryptoki_sys::*;
use millstream::hash::Hash;

use super::hash_of;
use crate::abi::{Mechanism, pointed, put, structure};
use crate::refusal::{Outcome, demand, refuse};

/// The bytes of a master secret, and of a premaster secret of RSA (RFC 5246 §8.1).
pub const MASTER: usize = 48;

/// The most bytes of a label, a seed or a context.
const MOST_BYTES: usize = 1 << 16;

/// The parameters of a master secret.
pub struct Master {
    /// The hash in the pseudorandom function.
    pub hash: Hash,
    /// The label.
    pub label: &'static [u8],
    /// The seed: both randoms, or the hash of the session.
    pub seed: Vec<u8>,
    version: *mut CK_VERSION,
}

/// The parameters of a connection's keys.
pub struct Keys {
    /// The hash in the pseudorandom function.
    pub hash: Hash,
    /// The seed: the server's random and the client's.
    pub seed: Vec<u8>,
    /// The bytes of a MAC's key; 0 for none.
    pub mac: usize,
    /// The bytes of a cipher's key; 0 for none.
    pub key: usize,
    /// The bytes of an initialisation vector.
    pub vector: usize,
    places: *mut CK_SSL3_KEY_MAT_OUT,
}

/// The parameters of the general derivation.
pub struct Kdf {
    /// The hash in the pseudorandom function.
    pub hash: Hash,
    /// The label.
    pub label: Vec<u8>,
    /// The seed: both randoms, and the context if there is one.
    pub seed: Vec<u8>,
}

/// The parameters of the MAC of a `Finished` message.
#[derive(Clone, Copy, Debug)]
pub struct Mac {
    /// The hash in the pseudorandom function.
    pub hash: Hash,
    /// The bytes of the tag.
    pub len: usize,
    /// True for the server's, false for the client's.
    pub server: bool,
}

/// Returns the client's and the server's random.
fn randoms<'a>(given: &CK_SSL3_RANDOM_DATA) -> Outcome<(&'a [u8], &'a [u8])> {
    // SAFETY: the head of the file.
    let (client, server) = unsafe {
        (
            pointed(given.pClientRandom, given.ulClientRandomLen)?,
            pointed(given.pServerRandom, given.ulServerRandomLen)?,
        )
    };
    let fits = [client, server].iter().all(|random| (1..=MOST_BYTES).contains(&random.len()));
    demand(fits, CKR_MECHANISM_PARAM_INVALID)?;
    Ok((client, server))
}

impl Master {
    /// Reads the parameters of a master secret from both randoms. `of_rsa` says that the premaster secret begins with a version, which the
    /// program may want to know.
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID`.
    pub fn plain(mechanism: &Mechanism<'_>, of_rsa: bool) -> Outcome<Self> {
        // SAFETY: the head of the file.
        let given = unsafe { mechanism.parameter::<CK_TLS12_MASTER_KEY_DERIVE_PARAMS>()? };
        demand(of_rsa || given.pVersion.is_null(), CKR_MECHANISM_PARAM_INVALID)?;
        let (client, server) = randoms(&given.RandomInfo)?;
        Ok(Master {
            hash: hash_of(given.prfHashMechanism)?,
            label: b"master secret",
            seed: [client, server].concat(),
            version: given.pVersion,
        })
    }

    /// Reads the parameters of an extended master secret (RFC 7627 §4).
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID`.
    pub fn extended(mechanism: &Mechanism<'_>, of_rsa: bool) -> Outcome<Self> {
        // SAFETY: the head of the file.
        let given = unsafe { mechanism.parameter::<CK_TLS12_EXTENDED_MASTER_KEY_DERIVE_PARAMS>()? };
        demand(of_rsa || given.pVersion.is_null(), CKR_MECHANISM_PARAM_INVALID)?;
        // SAFETY: the head of the file.
        let seed = unsafe { pointed(given.pSessionHash, given.ulSessionHashLen)? };
        demand((1..=MOST_BYTES).contains(&seed.len()), CKR_MECHANISM_PARAM_INVALID)?;
        Ok(Master {
            hash: hash_of(given.prfHashMechanism)?,
            label: b"extended master secret",
            seed: seed.to_vec(),
            version: given.pVersion,
        })
    }

    /// Tells the program the version in a premaster secret, if it asked.
    ///
    /// # Errors
    /// `CKR_KEY_SIZE_RANGE` for a premaster secret that has none.
    pub fn give_version(&self, premaster: &[u8]) -> Outcome {
        let ([major, minor, ..], false) = (premaster, self.version.is_null()) else {
            return demand(self.version.is_null(), CKR_KEY_SIZE_RANGE);
        };
        // SAFETY: the program's promise.
        unsafe { put(self.version, CK_VERSION { major: *major, minor: *minor }) }
    }
}

impl Keys {
    /// Reads the parameters of a connection's keys.
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID`.
    pub fn read(mechanism: &Mechanism<'_>, with_vectors: bool) -> Outcome<Self> {
        // SAFETY: the head of the file.
        let given = unsafe { mechanism.parameter::<CK_TLS12_KEY_MAT_PARAMS>()? };
        let (client, server) = randoms(&given.RandomInfo)?;
        let bytes = |bits: CK_ULONG| -> Outcome<usize> {
            demand(bits.is_multiple_of(8) && bits <= 512, CKR_MECHANISM_PARAM_INVALID)?;
            Ok(bits as usize / 8)
        };
        let vector = if with_vectors { bytes(given.ulIVSizeInBits)? } else { 0 };
        let sound = given.bIsExport == CK_FALSE && !given.pReturnedKeyMaterial.is_null();
        demand(sound, CKR_MECHANISM_PARAM_INVALID)?;
        // SAFETY: the program's promise.
        let places = unsafe { structure(given.pReturnedKeyMaterial)? };
        let has_places = vector == 0 || !places.pIVClient.is_null() && !places.pIVServer.is_null();
        demand(has_places, CKR_MECHANISM_PARAM_INVALID)?;
        Ok(Keys {
            hash: hash_of(given.prfHashMechanism)?,
            seed: [server, client].concat(),
            mac: bytes(given.ulMacSizeInBits)?,
            key: bytes(given.ulKeySizeInBits)?,
            vector,
            places: given.pReturnedKeyMaterial,
        })
    }

    /// Gives the program the keys and the initialisation vectors: the client's before the server's.
    ///
    /// # Errors
    /// None for the parameters that [`Keys::read`] accepted.
    pub fn give(
        &self,
        macs: [CK_OBJECT_HANDLE; 2],
        keys: [CK_OBJECT_HANDLE; 2],
        vectors: [&[u8]; 2],
    ) -> Outcome {
        // SAFETY: the program's promise.
        let mut places = unsafe { structure(self.places)? };
        [places.hClientMacSecret, places.hServerMacSecret] = macs;
        [places.hClientKey, places.hServerKey] = keys;
        for (place, vector) in [places.pIVClient, places.pIVServer].into_iter().zip(vectors) {
            demand(vector.is_empty() || !place.is_null(), CKR_MECHANISM_PARAM_INVALID)?;
            // SAFETY: the program's promise; as many bytes as it asked for.
            unsafe { std::ptr::copy_nonoverlapping(vector.as_ptr(), place, vector.len()) };
        }
        // SAFETY: as above.
        unsafe { put(self.places, places) }
    }
}

impl Kdf {
    /// Reads the parameters of the general derivation, which is that of exported keys (RFC 5705 §4).
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID`.
    pub fn read(mechanism: &Mechanism<'_>) -> Outcome<Self> {
        // SAFETY: the head of the file.
        let given = unsafe { mechanism.parameter::<CK_TLS_KDF_PARAMS>()? };
        let (client, server) = randoms(&given.RandomInfo)?;
        // SAFETY: the head of the file.
        let (label, context) = unsafe {
            (
                pointed(given.pLabel, given.ulLabelLength)?,
                pointed(given.pContextData, given.ulContextDataLength)?,
            )
        };
        demand(label.len() <= MOST_BYTES, CKR_MECHANISM_PARAM_INVALID)?;
        let mut seed = [client, server].concat();
        if !given.pContextData.is_null() {
            let Ok(len) = u16::try_from(context.len()) else { return refuse(CKR_MECHANISM_PARAM_INVALID) };
            seed.extend(len.to_be_bytes());
            seed.extend_from_slice(context);
        }
        Ok(Kdf { hash: hash_of(given.prfMechanism)?, label: label.to_vec(), seed })
    }
}

impl Mac {
    /// Reads the parameters of the MAC of a `Finished` message.
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID`.
    pub fn read(mechanism: &Mechanism<'_>) -> Outcome<Self> {
        // SAFETY: the head of the file.
        let given = unsafe { mechanism.parameter::<CK_TLS_MAC_PARAMS>()? };
        let server = match given.ulServerOrClient {
            1 => true,
            2 => false,
            _ => return refuse(CKR_MECHANISM_PARAM_INVALID),
        };
        // RFC 5246 §7.4.9: at least 12 bytes.
        demand((12..=64).contains(&given.ulMacLength), CKR_MECHANISM_PARAM_INVALID)?;
        Ok(Mac { hash: hash_of(given.prfHashMechanism)?, len: given.ulMacLength as usize, server })
    }

    /// Returns the label of that side.
    pub fn label(&self) -> &'static [u8] {
        if self.server { b"server finished" } else { b"client finished" }
    }
}
