//! Names and limits of TPMs.

/// The name of the file with the sealed secret, beside a store.
pub const FILE: &str = "device-secret.tpm";

/// The device that Linux makes for a TPM, with a resource manager, so that programs don't get in each other's way.
pub const DEVICE: &str = "/dev/tpmrm0";

/// The variable that names another device, or an emulator.
pub const VARIABLE: &str = "MILLSTREAM_TPM";

/// The most bytes of a secret that a TPM seals: it takes 128, and four say which counter belongs to the secret.
pub const MOST_SECRET_BYTES: usize = 124;
