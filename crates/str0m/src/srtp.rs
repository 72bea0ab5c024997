//! The ciphers of SRTP that str0m asks for, and the block cipher from which it derives their keys.
//!
//! Ref. RFC 3711 §4.3, RFC 7714 §11.

use millstream::InOut;
use millstream::aes::Ecb;
use millstream::modes::BlockMode;
use str0m::crypto::{
    AeadAes128GcmCipher, AeadAes256GcmCipher, Aes128CmSha1_80Cipher, SrtpProvider, SupportedAeadAes128Gcm,
    SupportedAeadAes256Gcm, SupportedAes128CmSha1_80,
};
use zeroize::Zeroize;

use crate::Engines;
use crate::cipher::{CounterMode, Sealer};

/// The words for a key whose length str0m's types fix.
const KEY: &str = "AES takes keys of 16 and 32 bytes";

impl SrtpProvider for Engines {
    fn aes_128_cm_sha1_80(&self) -> &'static dyn SupportedAes128CmSha1_80 {
        &Engines
    }

    fn aead_aes_128_gcm(&self) -> &'static dyn SupportedAeadAes128Gcm {
        &Engines
    }

    fn aead_aes_256_gcm(&self) -> &'static dyn SupportedAeadAes256Gcm {
        &Engines
    }

    /// Encrypts one block, `input`, to the beginning of `output`.
    ///
    /// # Panics
    /// Panics when the key or the block is not 16 bytes long, or the output is shorter.
    fn srtp_aes_128_ecb_round(&self, key: &[u8], input: &[u8], output: &mut [u8]) {
        assert_eq!(key.len(), 16, "AES-128 takes keys of 16 bytes");
        self.block(key, input, output);
    }

    /// Encrypts one block, `input`, to the beginning of `output`.
    ///
    /// # Panics
    /// Panics when the key is not 32 bytes long, the block not 16, or the output shorter.
    fn srtp_aes_256_ecb_round(&self, key: &[u8], input: &[u8], output: &mut [u8]) {
        assert_eq!(key.len(), 32, "AES-256 takes keys of 32 bytes");
        self.block(key, input, output);
    }
}

impl Engines {
    fn block(&self, key: &[u8], input: &[u8], output: &mut [u8]) {
        assert_eq!(input.len(), 16, "AES takes blocks of 16 bytes");
        let block = InOut::separate(input, &mut output[..16]).expect("both are a block");
        Ecb::new(self.features(), key).expect(KEY).encrypt(&mut [], block);
    }
}

impl SupportedAes128CmSha1_80 for Engines {
    fn create_cipher(&self, mut key: [u8; 16], _: bool) -> Box<dyn Aes128CmSha1_80Cipher> {
        let cipher = CounterMode::new(self.features(), &key).expect(KEY);
        key.zeroize();
        Box::new(cipher)
    }
}

impl SupportedAeadAes128Gcm for Engines {
    fn create_cipher(&self, mut key: [u8; 16], _: bool) -> Box<dyn AeadAes128GcmCipher> {
        let cipher = Sealer::new(self.features(), &key).expect(KEY);
        key.zeroize();
        Box::new(cipher)
    }
}

impl SupportedAeadAes256Gcm for Engines {
    fn create_cipher(&self, mut key: [u8; 32], _: bool) -> Box<dyn AeadAes256GcmCipher> {
        let cipher = Sealer::new(self.features(), &key).expect(KEY);
        key.zeroize();
        Box::new(cipher)
    }
}
