//! The digests.

use std::ffi::CStr;

use crate::abi::OsslAlgorithm;
use crate::algorithms::{Standing, is_named, properties};
use crate::digest::{Digest, Md5Sha1, One, Spare, Spec};
use crate::ffi::digest_functions;
use millstream::hash::Hash;

/// Offers a digest: `name: message = names, spec;`
macro_rules! digests {
    ($($name:ident: $message:ty = $names:literal, $spec:expr;)*) => {
        $(
            #[derive(Clone)]
            struct $name;

            impl Digest for $name {
                type Message = $message;
                const SPEC: Spec = $spec;

                fn spare() -> &'static std::thread::LocalKey<Spare<Self>> {
                    thread_local! {
                        static SPARE: Spare<$name> = const { std::cell::Cell::new(None) };
                    }
                    &SPARE
                }
            }
        )*

        /// The digests.
        pub static DIGESTS: &[OsslAlgorithm] = &[
            $(OsslAlgorithm::new($names, properties(Standing::Current, false), digest_functions::<$name>()),)*
            OsslAlgorithm::END,
        ];

        /// The names of each digest.
        const NAMED: &[(&CStr, Spec)] = &[$(($names, $spec),)*];
    };
}

digests! {
    Md5: One = c"MD5:SSL3-MD5:1.2.840.113549.2.5", Spec::of(Hash::Md5).with_null();
    Sha1: One = c"SHA1:SHA-1:SSL3-SHA1:1.3.14.3.2.26", Spec::of(Hash::Sha1);
    Sha224: One = c"SHA2-224:SHA-224:SHA224:2.16.840.1.101.3.4.2.4", Spec::of(Hash::Sha224);
    Sha256: One = c"SHA2-256:SHA-256:SHA256:2.16.840.1.101.3.4.2.1", Spec::of(Hash::Sha256);
    Sha384: One = c"SHA2-384:SHA-384:SHA384:2.16.840.1.101.3.4.2.2", Spec::of(Hash::Sha384);
    Sha512: One = c"SHA2-512:SHA-512:SHA512:2.16.840.1.101.3.4.2.3", Spec::of(Hash::Sha512);
    Sha512_256: One = c"SHA2-512/256:SHA-512/256:SHA512-256:2.16.840.1.101.3.4.2.6", Spec::of(Hash::Sha512_256);
    Sha3_224: One = c"SHA3-224:2.16.840.1.101.3.4.2.7", Spec::of(Hash::Sha3_224);
    Sha3_256: One = c"SHA3-256:2.16.840.1.101.3.4.2.8", Spec::of(Hash::Sha3_256);
    Sha3_384: One = c"SHA3-384:2.16.840.1.101.3.4.2.9", Spec::of(Hash::Sha3_384);
    Sha3_512: One = c"SHA3-512:2.16.840.1.101.3.4.2.10", Spec::of(Hash::Sha3_512);
    Md5WithSha1: Md5Sha1 = c"MD5-SHA1", Spec::MD5_SHA1;
}

/// Returns the hash of that name, for algorithms that are made of a hash.
pub fn digest_named(name: &str) -> Option<Hash> {
    let found = NAMED.iter().find(|(names, _)| names.to_str().is_ok_and(|names| is_named(names, name)));
    found.and_then(|(_, spec)| spec.hash)
}

/// Returns the name that OpenSSL lists first for a hash.
pub fn digest_name(hash: Hash) -> &'static CStr {
    match hash {
        Hash::Md5 => c"MD5",
        Hash::Sha1 => c"SHA1",
        Hash::Sha224 => c"SHA2-224",
        Hash::Sha256 => c"SHA2-256",
        Hash::Sha384 => c"SHA2-384",
        Hash::Sha512 => c"SHA2-512",
        Hash::Sha512_256 => c"SHA2-512/256",
        Hash::Sha3_224 => c"SHA3-224",
        Hash::Sha3_256 => c"SHA3-256",
        Hash::Sha3_384 => c"SHA3-384",
        Hash::Sha3_512 => c"SHA3-512",
    }
}
