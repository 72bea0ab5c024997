//! The stand-in for a TPM where the program was built without the feature `tpm`.

use super::blob::Blob;
use super::{Pcrs, Tpm, TpmFault};
use crate::Error;
use crate::secret::DeviceSecret;

/// Says that this program can't seal.
///
/// # Errors
/// [`TpmFault::NotBuilt`], always.
pub(super) fn seal(tpm: &Tpm, _: &DeviceSecret, _: Pcrs) -> Result<Blob, Error> {
    Err(Error::Tpm { place: tpm.to_string(), why: TpmFault::NotBuilt })
}

/// Says that this program can't open what a TPM sealed.
///
/// # Errors
/// [`TpmFault::NotBuilt`], always.
pub(super) fn unseal(_: &Tpm, _: &Blob) -> Result<DeviceSecret, TpmFault> {
    Err(TpmFault::NotBuilt)
}
