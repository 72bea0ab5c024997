//! A provider's SRTP, whose packets are counted.

use std::sync::atomic::{AtomicUsize, Ordering};

use str0m::crypto::{
    AeadAes128GcmCipher, AeadAes256GcmCipher, Aes128CmSha1_80Cipher, CryptoError, SrtpProvider,
    SupportedAeadAes128Gcm, SupportedAeadAes256Gcm, SupportedAes128CmSha1_80,
};

/// The packets that were encrypted and decrypted, and those that a cipher refused.
#[derive(Debug, Default)]
pub struct Counts {
    pub sealed: AtomicUsize,
    pub opened: AtomicUsize,
    pub refused: AtomicUsize,
}

impl Counts {
    /// Returns the numbers, in the order of the fields.
    pub fn numbers(&self) -> [usize; 3] {
        [&self.sealed, &self.opened, &self.refused].map(|count| count.load(Ordering::Relaxed))
    }

    fn sealed(&self, result: Result<(), CryptoError>) -> Result<(), CryptoError> {
        self.sealed.fetch_add(1, Ordering::Relaxed);
        result
    }

    fn opened<T>(&self, result: Result<T, CryptoError>) -> Result<T, CryptoError> {
        let count = if result.is_ok() { &self.opened } else { &self.refused };
        count.fetch_add(1, Ordering::Relaxed);
        result
    }
}

/// The provider whose packets are counted.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    provider: &'static dyn SrtpProvider,
    pub counts: &'static Counts,
}

impl Counted {
    /// Makes one that lives as long as the process, as str0m asks.
    pub fn new(provider: &'static dyn SrtpProvider) -> &'static Self {
        Counted { provider, counts: Box::leak(Box::default()) }.lasting()
    }

    fn lasting(self) -> &'static Self {
        Box::leak(Box::new(self))
    }
}

impl SrtpProvider for Counted {
    fn aes_128_cm_sha1_80(&self) -> &'static dyn SupportedAes128CmSha1_80 {
        self.lasting()
    }

    fn aead_aes_128_gcm(&self) -> &'static dyn SupportedAeadAes128Gcm {
        self.lasting()
    }

    fn aead_aes_256_gcm(&self) -> &'static dyn SupportedAeadAes256Gcm {
        self.lasting()
    }

    fn srtp_aes_128_ecb_round(&self, key: &[u8], input: &[u8], output: &mut [u8]) {
        self.provider.srtp_aes_128_ecb_round(key, input, output);
    }

    fn srtp_aes_256_ecb_round(&self, key: &[u8], input: &[u8], output: &mut [u8]) {
        self.provider.srtp_aes_256_ecb_round(key, input, output);
    }
}

/// A cipher with the counts of its provider.
#[derive(Debug)]
struct Cipher<T> {
    inner: T,
    counts: &'static Counts,
}

impl SupportedAes128CmSha1_80 for Counted {
    fn create_cipher(&self, key: [u8; 16], encrypt: bool) -> Box<dyn Aes128CmSha1_80Cipher> {
        let inner = self.provider.aes_128_cm_sha1_80().create_cipher(key, encrypt);
        Box::new(Cipher { inner, counts: self.counts })
    }
}

impl Aes128CmSha1_80Cipher for Cipher<Box<dyn Aes128CmSha1_80Cipher>> {
    fn encrypt(&mut self, iv: &[u8; 16], input: &[u8], output: &mut [u8]) -> Result<(), CryptoError> {
        self.counts.sealed(self.inner.encrypt(iv, input, output))
    }

    fn decrypt(&mut self, iv: &[u8; 16], input: &[u8], output: &mut [u8]) -> Result<(), CryptoError> {
        self.counts.opened(self.inner.decrypt(iv, input, output))
    }
}

/// Counts the packets of an AEAD, whose two traits have the same functions.
macro_rules! aead {
    ($supported:ident, $cipher:ident, $factory:ident, $key:literal) => {
        impl $supported for Counted {
            fn create_cipher(&self, key: [u8; $key], encrypt: bool) -> Box<dyn $cipher> {
                let inner = self.provider.$factory().create_cipher(key, encrypt);
                Box::new(Cipher { inner, counts: self.counts })
            }
        }

        impl $cipher for Cipher<Box<dyn $cipher>> {
            fn encrypt(
                &mut self,
                iv: &[u8; 12],
                aad: &[u8],
                input: &[u8],
                output: &mut [u8],
            ) -> Result<(), CryptoError> {
                self.counts.sealed(self.inner.encrypt(iv, aad, input, output))
            }

            fn decrypt(
                &mut self,
                iv: &[u8; 12],
                aads: &[&[u8]],
                input: &[u8],
                output: &mut [u8],
            ) -> Result<usize, CryptoError> {
                self.counts.opened(self.inner.decrypt(iv, aads, input, output))
            }
        }
    };
}

aead!(SupportedAeadAes128Gcm, AeadAes128GcmCipher, aead_aes_128_gcm, 16);
aead!(SupportedAeadAes256Gcm, AeadAes256GcmCipher, aead_aes_256_gcm, 32);
