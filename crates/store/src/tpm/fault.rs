//! The reasons why a TPM does not give a device secret.

use std::fmt;

use super::names::{MOST_SECRET_BYTES, VARIABLE};
use super::pcrs::Pcrs;

/// The reason why a TPM did not seal a secret, or did not give it back. The text has the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TpmFault {
    /// This program can't speak to a TPM.
    NotBuilt,
    /// The variable names no TPM.
    Name,
    /// There is no such device.
    Missing,
    /// This user may not use the device.
    Denied,
    /// Nobody answers there, in the words of the system.
    Silent(String),
    /// Another TPM sealed the secret.
    OtherMachine,
    /// The TPM was cleared since it sealed the secret.
    Cleared,
    /// The registers have other values than when the secret was sealed.
    Measured(Pcrs),
    /// The TPM's owner has a password.
    Owned,
    /// The sealed bytes are not what was written.
    Changed,
    /// A newer version wrote the file.
    Newer(u8),
    /// The secret is too long to be sealed.
    TooLong,
    /// The TPM refused, in the words of its library.
    Failed(String),
}

impl TpmFault {
    /// Returns true where the sealed secret is the reason, and not the TPM.
    pub(super) fn is_of_file(&self) -> bool {
        use TpmFault::*;
        matches!(self, NotBuilt | OtherMachine | Cleared | Measured(_) | Changed | Newer(_) | TooLong)
    }
}

/// The remedy for a secret that the TPM does not give.
const FROM_COPY: &str = "'millstream token seal --from COPY' seals it anew from its copy";

impl fmt::Display for TpmFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TpmFault::NotBuilt => f.write_str(
                "this program was built without the feature tpm, and can't use a TPM; use one that has it",
            ),
            TpmFault::Name => write!(
                f,
                "not a TPM; {VARIABLE} takes a device's path from the root, or swtpm:host=127.0.0.1,port=2321"
            ),
            TpmFault::Missing => write!(
                f,
                "no such TPM; switch it on in the machine's firmware, or name its device in {VARIABLE}"
            ),
            TpmFault::Denied => f.write_str(
                "this user may not use the TPM; add the user to the group of the device, which is tss on most systems",
            ),
            TpmFault::Silent(why) => write!(f, "the TPM does not answer ({why}); try again"),
            TpmFault::OtherMachine => {
                write!(f, "the TPM of another machine sealed this device secret; {FROM_COPY}")
            }
            TpmFault::Cleared => {
                write!(f, "this machine's TPM was cleared since it sealed this device secret; {FROM_COPY}")
            }
            TpmFault::Measured(pcrs) => write!(
                f,
                "the TPM has other values of PCR {pcrs} than when it sealed this device secret, as after a change of firmware, boot loader or \
                 kernel; boot what was there before, or {FROM_COPY}"
            ),
            TpmFault::Owned => f.write_str(
                "the owner of this TPM has a password, which is not asked for; use a systemd credential, which can be bound to the TPM too",
            ),
            TpmFault::Changed => {
                write!(f, "this is not what the TPM sealed; restore the file from a backup, or {FROM_COPY}")
            }
            TpmFault::Newer(version) => {
                write!(f, "version {version} of the format, which a newer millstream wrote; use that one")
            }
            TpmFault::TooLong => write!(f, "a TPM seals a device secret of at most {MOST_SECRET_BYTES} bytes"),
            TpmFault::Failed(why) => write!(f, "the TPM refused: {why}"),
        }
    }
}
