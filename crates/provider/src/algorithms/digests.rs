//! The digests.

use std::ffi::CStr;

use crate::abi::OsslAlgorithm;
use crate::algorithms::{Standing, is_named, properties};
use crate::digest::{Digest, Md5Sha1, One, Spare, Spec};
use crate::ffi::{digest_functions, xof_functions};
use crate::shake::{SIZE_128, SIZE_256, Shake};
use millstream::hash::Hash;
use millstream::sha3::Xof;

/// Offers digests: `name: message = names, spec, functions;`. Those of the last two lists are offered to versions of OpenSSL
/// that differ in what they say of them.
macro_rules! digests {
    (
        all { $($all:ident: $all_message:ty = $all_names:literal, $all_spec:expr;)* }
        before { $($old:ident = $old_names:literal, $old_spec:expr;)* }
        since { $($new:ident = $new_names:literal, $new_spec:expr;)* }
    ) => {
        $(digest!($all: $all_message = $all_spec);)*
        $(digest!($old: Shake = $old_spec);)*
        $(digest!($new: Shake = $new_spec);)*

        /// The digests of OpenSSL up to version 3.3.
        pub static DIGESTS_WITH_DEFAULTS: &[OsslAlgorithm] = &[
            $(OsslAlgorithm::new($all_names, properties(Standing::Current, false), digest_functions::<$all>()),)*
            $(OsslAlgorithm::new($old_names, properties(Standing::Current, false), xof_functions::<$old>()),)*
            OsslAlgorithm::END,
        ];

        /// The digests of OpenSSL from version 3.4 on.
        pub static DIGESTS: &[OsslAlgorithm] = &[
            $(OsslAlgorithm::new($all_names, properties(Standing::Current, false), digest_functions::<$all>()),)*
            $(OsslAlgorithm::new($new_names, properties(Standing::Current, false), xof_functions::<$new>()),)*
            OsslAlgorithm::END,
        ];

        /// The names of each digest of a fixed length.
        const NAMED: &[(&CStr, Spec)] = &[$(($all_names, $all_spec),)*];
    };
}

/// Makes the type of a digest.
macro_rules! digest {
    ($name:ident: $message:ty = $spec:expr) => {
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
    };
}

digests! {
    all {
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
    before {
        Shake128 = c"SHAKE-128:SHAKE128:2.16.840.1.101.3.4.2.11", Spec::of_xof(Xof::Shake128, SIZE_128);
        Shake256 = c"SHAKE-256:SHAKE256:2.16.840.1.101.3.4.2.12", Spec::of_xof(Xof::Shake256, SIZE_256);
    }
    since {
        AnyShake128 = c"SHAKE-128:SHAKE128:2.16.840.1.101.3.4.2.11", Spec::of_xof(Xof::Shake128, 0);
        AnyShake256 = c"SHAKE-256:SHAKE256:2.16.840.1.101.3.4.2.12", Spec::of_xof(Xof::Shake256, 0);
    }
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
