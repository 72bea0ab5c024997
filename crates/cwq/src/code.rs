//! The numbers that stand for operations and algorithms in a control word. They never change.

/// Declares an enumeration of bytes that can be made from a byte.
macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $code:literal $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum $name {
            $($(#[$variant_doc])* $variant = $code,)+
        }

        impl $name {
            /// Every value, in the order of the numbers.
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// Returns the name, for people.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)+
                }
            }

            /// Returns the value that a name stands for, if any.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|each| each.name() == name)
            }

            /// Returns the value that a byte stands for, if any.
            #[inline(always)]
            pub const fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some($name::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

codes! {
    /// An operation that a control word asks for.
    Opcode {
        /// Does nothing, and completes as any other operation.
        Null = 0 "null",
        /// Copies the source to the destination.
        Copy = 1 "copy",
        /// Copies the source to the destination, and returns its checksum as the completion's value.
        CopyChecksum = 2 "copy-checksum",
        /// Returns the checksum of the source as the completion's value.
        Checksum = 3 "checksum",
        /// Encrypts or decrypts without authentication, from source to destination.
        Cipher = 4 "cipher",
        /// Seals or opens with an AEAD, from source to destination. The tag is written to, or read from, `mac`.
        Aead = 5 "aead",
        /// Writes the digest of the source to `mac`.
        Hash = 6 "hash",
        /// Hashes a piece of a message. Unless the message begins, the `aad_len` bytes at `aad` are the mid-state
        /// before it. Unless the message ends, the mid-state after it goes to `state`, where 256 bytes are free; a
        /// message that ends has its digest written to `mac`.
        PartialHash = 7 "partial-hash",
        /// Writes the HMAC of the source to `mac`, or compares it with that.
        Hmac = 8 "hmac",
        /// Writes another MAC of the source to `mac`, or compares it with that: CMAC, the MAC of DES, KASUMI F9.
        Mac = 9 "mac",
        /// Copies the first `aad_len` bytes of the source to the destination and encrypts the rest, then writes the
        /// HMAC of all of the destination to `mac`.
        EncryptThenMac = 10 "encrypt-then-mac",
        /// Compares the HMAC of all of the source with `mac`, then copies the first `aad_len` bytes to the
        /// destination and decrypts the rest.
        MacThenDecrypt = 11 "mac-then-decrypt",
        /// Takes back the operation of this queue whose tag is `key` (low half) and `mac_key` (high half), if it
        /// has not begun. That operation completes as cancelled, and this one's value is 1 if it was found.
        Cancel = 12 "cancel",
        /// Authenticates a piece of a message by HMAC or CMAC. It works like [`Opcode::PartialHash`], but the mid-state is
        /// sealed under the key, which must be in a slot: its client keeps it and can neither read nor change it. The MAC
        /// goes to `mac`, or is compared with it, where the message ends.
        PartialMac = 13 "partial-mac",
        /// Seals or opens a piece of an object with an AEAD: associated data, then data from source to destination. `iv` is
        /// the nonce where the object begins, and else the sealed mid-state before it. Unless the object ends, the mid-state
        /// after it goes to `state`, where 256 bytes are free. Where the object ends, its tag goes to `mac`, or is compared
        /// with it. The plaintext of a piece is not verified, so the key must be one that may encrypt, too.
        PartialAead = 14 "partial-aead",
        /// Signs the source with a private key: under Ed25519, ML-DSA and SLH-DSA a message of at most
        /// [`ControlWord::MOST_SIGNED_BYTES`](crate::ControlWord::MOST_SIGNED_BYTES), else a digest. `hash` made the digest, and
        /// `parameter` is the [`Scheme`](crate::Scheme). Under ML-DSA and SLH-DSA the `iv_len` bytes at `iv` are the context. The
        /// signature is written to `mac`, that of RSA, ML-DSA and SLH-DSA to the destination.
        Sign = 15 "sign",
        /// Agrees with the peer whose public key is the source. The shared secret is written to `mac`.
        Agree = 16 "agree",
        /// Writes the public key that belongs to a private key to `mac`, that of RSA, ML-DSA and ML-KEM to the destination.
        PublicKey = 17 "public-key",
        /// Verifies the signature of `aad_len` bytes at `aad` over the source, which is what was signed. The word brings the public key
        /// with it; `hash`, `parameter` and the context are those of [`Opcode::Sign`].
        Verify = 18 "verify",
        /// Decrypts the source with a private key of RSA to the destination. `parameter` is the
        /// [`Scheme`](crate::Scheme); of OAEP `hash` is the label's, and the `aad_len` bytes at `aad` are the label.
        Decrypt = 19 "decrypt",
        /// Fills the destination with random bytes, of which `source_len` says how many: at most
        /// [`ControlWord::MOST_RANDOM_BYTES`](crate::ControlWord::MOST_RANDOM_BYTES). There is no source.
        Random = 20 "random",
        /// Makes a shared secret of 32 random bytes, and the ciphertext from which the private key of ML-KEM gets it (FIPS 203 §7.2). The
        /// word brings the public key with it. The secret is written to `mac`, the ciphertext to the destination.
        Encapsulate = 21 "encapsulate",
        /// Gets the shared secret from a ciphertext, the source, with a private key of ML-KEM (FIPS 203 §7.3), and writes it to `mac`. A
        /// ciphertext that was not made for the key gives a secret that nobody else knows, and no error.
        Decapsulate = 22 "decapsulate",
    }
}

codes! {
    /// An algorithm: a cipher with its mode, a hash, a MAC, a checksum, or one with key pairs.
    Algorithm {
        /// No algorithm: the field is not used.
        None = 0 "none",
        /// AES in ECB mode.
        AesEcb = 0x10 "aes-ecb",
        /// AES in CBC mode; whole blocks.
        AesCbc = 0x11 "aes-cbc",
        /// AES in counter mode.
        AesCtr = 0x12 "aes-ctr",
        /// AES in 128-bit CFB mode.
        AesCfb = 0x13 "aes-cfb",
        /// AES in XTS mode; the initialisation vector is the tweak of the data unit.
        AesXts = 0x14 "aes-xts",
        /// AES-GCM.
        AesGcm = 0x15 "aes-gcm",
        /// AES-CMAC.
        AesCmac = 0x16 "aes-cmac",
        /// AES-SIV. The associated data is one component, also where it has no bytes; `iv`, which may be empty, is the nonce, the last
        /// component. A word has at most [`ControlWord::MOST_WHOLE_BYTES`](crate::ControlWord::MOST_WHOLE_BYTES) of data, and as many of
        /// associated data.
        AesSiv = 0x17 "aes-siv",
        /// AES-GCM-SIV; words are as long as those of [`Algorithm::AesSiv`] at most.
        AesGcmSiv = 0x18 "aes-gcm-siv",
        /// XAES-256-GCM, whose nonce has 24 bytes; words are as long as those of [`Algorithm::AesSiv`] at most.
        Xaes256Gcm = 0x19 "xaes-256-gcm",
        /// Fernet, an AEAD without associated data. The data is the value with its padding (PKCS #7), in whole blocks of 16 bytes; `iv` is the
        /// token's time, eight bytes, big-endian, and its initialisation vector, and the tag has 32 bytes. Words are as long as those of
        /// [`Algorithm::AesSiv`] at most. Base64 and padding are the client's.
        Fernet = 0x1a "fernet",
        /// AES-KW, an AEAD without nonce and associated data. The data is the key that is wrapped, in whole halves of a block, two at
        /// least, and [`ControlWord::MOST_WRAPPED_BYTES`](crate::ControlWord::MOST_WRAPPED_BYTES) at most; the tag is the first half of
        /// the wrapped key.
        AesKw = 0x1b "aes-kw",
        /// AES-KWP. Words are those of [`Algorithm::AesKw`], with one half at least. Where it wraps, `iv` is the key's length in four
        /// bytes, big-endian, and what stands after the key becomes zeros; where it unwraps, the completion's value is the length.
        AesKwp = 0x1c "aes-kwp",
        /// FF1, a cipher that preserves the format. The data is digits, two bytes each, the low one first; `parameter` is the radix, 2 to
        /// 65536, and `iv` the tweak, of 0 to 255 bytes. A word has at most
        /// [`ControlWord::MOST_FORMAT_BYTES`](crate::ControlWord::MOST_FORMAT_BYTES).
        AesFf1 = 0x1d "aes-ff1",
        /// ChaCha20-Poly1305.
        ChaCha20Poly1305 = 0x20 "chacha20-poly1305",
        /// Camellia in ECB mode.
        CamelliaEcb = 0x28 "camellia-ecb",
        /// Camellia in CBC mode.
        CamelliaCbc = 0x29 "camellia-cbc",
        /// Camellia in counter mode.
        CamelliaCtr = 0x2a "camellia-ctr",
        /// SM4 in ECB mode.
        Sm4Ecb = 0x2c "sm4-ecb",
        /// SM4 in CBC mode.
        Sm4Cbc = 0x2d "sm4-cbc",
        /// SM4 in counter mode.
        Sm4Ctr = 0x2e "sm4-ctr",
        /// DES or, by the key's length, 3DES in ECB mode.
        DesEcb = 0x30 "des-ecb",
        /// DES or 3DES in CBC mode.
        DesCbc = 0x31 "des-cbc",
        /// DES or 3DES in 64-bit CFB mode.
        DesCfb = 0x32 "des-cfb",
        /// The MAC of DES or 3DES.
        DesMac = 0x33 "des-mac",
        /// RC4; every operation begins its keystream anew.
        Rc4 = 0x38 "rc4",
        /// KASUMI F8; `iv` is COUNT, BEARER, DIRECTION and zeros: 32, 5, 1 and 26 bits.
        KasumiF8 = 0x40 "kasumi-f8",
        /// KASUMI F9; `iv` is COUNT and FRESH, 32 bits each.
        KasumiF9 = 0x41 "kasumi-f9",
        /// MD5.
        Md5 = 0x50 "md5",
        /// SHA-1.
        Sha1 = 0x51 "sha1",
        /// SHA-224.
        Sha224 = 0x52 "sha224",
        /// SHA-256.
        Sha256 = 0x53 "sha256",
        /// SHA-384.
        Sha384 = 0x54 "sha384",
        /// SHA-512.
        Sha512 = 0x55 "sha512",
        /// SHA-512/256.
        Sha512_256 = 0x56 "sha512-256",
        /// SHA3-224.
        Sha3_224 = 0x57 "sha3-224",
        /// SHA3-256.
        Sha3_256 = 0x58 "sha3-256",
        /// SHA3-384.
        Sha3_384 = 0x59 "sha3-384",
        /// SHA3-512.
        Sha3_512 = 0x5a "sha3-512",
        /// CRC-32 as in Ethernet and gzip.
        Crc32 = 0x60 "crc32",
        /// CRC-32C as in iSCSI and SCTP.
        Crc32c = 0x61 "crc32c",
        /// The checksum of IP.
        IpChecksum = 0x62 "ip-checksum",
        /// SLH-DSA-SHA2-128s; the key is the private one, of 64 bytes.
        SlhDsaSha2_128s = 0x64 "slh-dsa-sha2-128s",
        /// SLH-DSA-SHA2-128f; the key is the private one, of 64 bytes.
        SlhDsaSha2_128f = 0x65 "slh-dsa-sha2-128f",
        /// SLH-DSA-SHA2-192s; the key is the private one, of 96 bytes.
        SlhDsaSha2_192s = 0x66 "slh-dsa-sha2-192s",
        /// SLH-DSA-SHA2-192f; the key is the private one, of 96 bytes.
        SlhDsaSha2_192f = 0x67 "slh-dsa-sha2-192f",
        /// SLH-DSA-SHA2-256s; the key is the private one, of 128 bytes.
        SlhDsaSha2_256s = 0x68 "slh-dsa-sha2-256s",
        /// SLH-DSA-SHA2-256f; the key is the private one, of 128 bytes.
        SlhDsaSha2_256f = 0x69 "slh-dsa-sha2-256f",
        /// SLH-DSA-SHAKE-128s; the key is the private one, of 64 bytes.
        SlhDsaShake128s = 0x6a "slh-dsa-shake-128s",
        /// SLH-DSA-SHAKE-128f; the key is the private one, of 64 bytes.
        SlhDsaShake128f = 0x6b "slh-dsa-shake-128f",
        /// SLH-DSA-SHAKE-192s; the key is the private one, of 96 bytes.
        SlhDsaShake192s = 0x6c "slh-dsa-shake-192s",
        /// SLH-DSA-SHAKE-192f; the key is the private one, of 96 bytes.
        SlhDsaShake192f = 0x6d "slh-dsa-shake-192f",
        /// SLH-DSA-SHAKE-256s; the key is the private one, of 128 bytes.
        SlhDsaShake256s = 0x6e "slh-dsa-shake-256s",
        /// SLH-DSA-SHAKE-256f; the key is the private one, of 128 bytes.
        SlhDsaShake256f = 0x6f "slh-dsa-shake-256f",
        /// Ed25519; the key is the private one.
        Ed25519 = 0x70 "ed25519",
        /// X25519; the key is the private one.
        X25519 = 0x71 "x25519",
        /// ECDSA and ECDH on P-256; the key is the private one.
        P256 = 0x72 "p-256",
        /// ECDSA and ECDH on P-384; the key is the private one.
        P384 = 0x73 "p-384",
        /// ECDSA and ECDH on P-521; the key is the private one.
        P521 = 0x74 "p-521",
        /// RSA; the key is the private one, as DER of PKCS#1.
        Rsa = 0x75 "rsa",
        /// The accelerator's generator of random bytes; it takes no key.
        Random = 0x78 "random",
        /// ML-KEM-512; the key is the private one, as a seed of 64 bytes or expanded.
        MlKem512 = 0x79 "ml-kem-512",
        /// ML-KEM-768; the key is the private one, as a seed of 64 bytes or expanded.
        MlKem768 = 0x7a "ml-kem-768",
        /// ML-KEM-1024; the key is the private one, as a seed of 64 bytes or expanded.
        MlKem1024 = 0x7b "ml-kem-1024",
        /// ML-DSA-44; the key is the private one, as a seed of 32 bytes or expanded.
        MlDsa44 = 0x7c "ml-dsa-44",
        /// ML-DSA-65; the key is the private one, as a seed of 32 bytes or expanded.
        MlDsa65 = 0x7d "ml-dsa-65",
        /// ML-DSA-87; the key is the private one, as a seed of 32 bytes or expanded.
        MlDsa87 = 0x7e "ml-dsa-87",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_its_own() {
        for code in 0..=u8::MAX {
            assert_eq!(Opcode::from_code(code).is_some(), code <= 22);
            if let Some(algorithm) = Algorithm::from_code(code) {
                assert_eq!(algorithm as u8, code);
                assert_eq!(Algorithm::from_name(algorithm.name()), Some(algorithm));
            }
        }
        assert_eq!(Algorithm::ALL.len(), 68);
    }
}
