//! What is offered, under OpenSSL's names.
//!
//! Ref. OSSL_PROVIDER-default(7), OSSL_PROVIDER-legacy(7): names and aliases are theirs.

use crate::abi::OsslAlgorithm;
use crate::cipher::block::{self, BlockContext};
use crate::cipher::{Cipher, Mode, Traits};
use crate::count::Rows;
use crate::digest::{self, Bound, Digest};
use crate::ffi::{cipher_functions, digest_functions};
use millstream::hash::Hash;

/// Offers a digest.
macro_rules! digests {
    ($($name:ident = $names:literal, $hash:expr, algid_absent: $absent:literal;)*) => {
        $(
            struct $name;

            impl Digest for $name {
                const NAMES: &'static std::ffi::CStr = $names;
                const SPEC: digest::Spec = digest::Spec { hash: $hash, algid_absent: $absent };

                fn bound() -> &'static Bound {
                    static BOUND: Bound = Bound::new();
                    &BOUND
                }
            }
        )*

        /// The digests.
        pub static DIGESTS: &[OsslAlgorithm] = &[
            $(OsslAlgorithm::new($name::NAMES, c"provider=millstream,millstream.isolated=no", digest_functions::<$name>()),)*
            OsslAlgorithm::END,
        ];
    };
}

digests! {
    Md5 = c"MD5:SSL3-MD5:1.2.840.113549.2.5", Hash::Md5, algid_absent: false;
    Sha1 = c"SHA1:SHA-1:SSL3-SHA1:1.3.14.3.2.26", Hash::Sha1, algid_absent: true;
    Sha224 = c"SHA2-224:SHA-224:SHA224:2.16.840.1.101.3.4.2.4", Hash::Sha224, algid_absent: true;
    Sha256 = c"SHA2-256:SHA-256:SHA256:2.16.840.1.101.3.4.2.1", Hash::Sha256, algid_absent: true;
    Sha384 = c"SHA2-384:SHA-384:SHA384:2.16.840.1.101.3.4.2.2", Hash::Sha384, algid_absent: true;
    Sha512 = c"SHA2-512:SHA-512:SHA512:2.16.840.1.101.3.4.2.3", Hash::Sha512, algid_absent: true;
    Sha512_256 = c"SHA2-512/256:SHA-512/256:SHA512-256:2.16.840.1.101.3.4.2.6", Hash::Sha512_256, algid_absent: true;
}

/// Offers a cipher.
macro_rules! ciphers {
    ($($name:ident: $context:ty = $names:literal, $properties:literal, $traits:expr, $spec:expr;)*) => {
        $(
            struct $name;

            impl Cipher for $name {
                type Context = $context;
                const NAMES: &'static std::ffi::CStr = $names;
                const TRAITS: Traits = $traits;
                const SPEC: &'static <$context as crate::cipher::Context>::Spec = &$spec;

                fn rows() -> &'static Rows {
                    static ROWS: Rows = Rows::new();
                    &ROWS
                }
            }
        )*

        /// The ciphers, with their keys in this process.
        pub static CIPHERS: &[OsslAlgorithm] = &[
            $(OsslAlgorithm::new($name::NAMES, $properties, cipher_functions::<$name, false>()),)*
            OsslAlgorithm::END,
        ];
    };
}

/// A block mode: the mode, and bytes of key, vector and block.
const fn blocks(mode: Mode, key: usize, iv: usize, block: usize) -> Traits {
    Traits { mode, key, iv, block, aead: false, custom_iv: false, tls_mac: false }
}

ciphers! {
    Aes128Cbc: BlockContext = c"AES-128-CBC:AES128:2.16.840.1.101.3.4.1.2", c"provider=millstream,millstream.isolated=no",
        blocks(Mode::Cbc, 16, 16, 16), block::Spec { name: "aes-128-cbc", make: block::local!(millstream::aes::Cbc) };
    Aes256Cbc: BlockContext = c"AES-256-CBC:AES256:2.16.840.1.101.3.4.1.42", c"provider=millstream,millstream.isolated=no",
        blocks(Mode::Cbc, 32, 16, 16), block::Spec { name: "aes-256-cbc", make: block::local!(millstream::aes::Cbc) };
    Aes128Ecb: BlockContext = c"AES-128-ECB:2.16.840.1.101.3.4.1.1", c"provider=millstream,millstream.isolated=no",
        blocks(Mode::Ecb, 16, 0, 16), block::Spec { name: "aes-128-ecb", make: block::local!(millstream::aes::Ecb) };
}
