//! The kernels that seal a record: the MAC and the cipher one after the other, or in one pass.

use millstream_cpu::{FeatureSet, Features};

use super::cbc_hmac::CbcHmac;
use super::ops::{HEADER, SealOps};
use crate::aes::Cbc;
use crate::hash::Hash;
use crate::hmac::HmacKey;
use crate::{AlgorithmInfo, Bound, Error, Kernel, Row, Standing, Table, Timing};

/// The kernels of AES-CBC with HMAC for TLS.
pub static SEAL: Table<SealOps> = Table::new(
    AlgorithmInfo {
        name: "tls-aes-cbc-hmac",
        standing: Standing::Current,
        standard: "RFC 5246 §6.2.3.2",
        key_bits: &[128, 192, 256],
    },
    ROWS,
    known_answer,
);

static ROWS: &[Row<SealOps>] = &[
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-aesni-shani-by1",
            requires: FeatureSet::parse("aes,sha,sse4.1"),
            timing: Timing::Constant,
            note: "SHA-1 or SHA-256 beside the cipher, as one waits for its rounds",
        },
        ops: super::arch::x86_64_aesni_shani::OPS,
    },
    Row {
        kernel: Kernel {
            name: "direct-x1",
            requires: FeatureSet::EMPTY,
            timing: Timing::Constant,
            note: "the MAC, then the cipher, each on its best kernel",
        },
        ops: SealOps { sha1: None, sha256: None },
    },
];

impl CbcHmac {
    /// Makes keys on the fastest kernels that `features` allow.
    ///
    /// # Errors
    /// [`Error::KeyLength`] unless the cipher's key has 16, 24 or 32 bytes.
    pub fn new(features: Features, hash: Hash, cipher_key: &[u8], mac_key: &[u8]) -> Result<Self, Error> {
        let (cbc, mac) = (Cbc::new(features, cipher_key)?, HmacKey::new(features, hash, mac_key));
        Ok(CbcHmac::with_kernel(SEAL.best(features), cbc, mac))
    }
}

/// Checks that the records of both passes can be opened, which goes another way.
fn known_answer(kernel: Bound<SealOps>) -> bool {
    [Hash::Sha1, Hash::Sha256].into_iter().all(|hash| {
        let features = Features::none();
        let Ok(cbc) = Cbc::with_kernel(crate::aes::CBC.best(features), &[7; 16]) else { return false };
        let keys = CbcHmac::with_kernel(kernel, cbc, HmacKey::new(features, hash, &[8; 20]));
        let (mut record, header) = ([0x2a; 400], [0; HEADER]);
        let payload = 400 - 16 - hash.output_len() - 5;
        keys.seal(&mut [1; 16], &header, &mut record, true, payload).is_ok()
            && keys.open(&mut [1; 16], &header, &mut record, true) == Ok(16..16 + payload)
            && record[16..16 + payload].iter().all(|byte| *byte == 0x2a)
    })
}
