//! The digests.

use crate::abi::OsslAlgorithm;
use crate::algorithms::{Standing, properties};
use crate::digest::{self, Bound, Digest};
use crate::ffi::digest_functions;
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
            $(OsslAlgorithm::new($name::NAMES, properties(Standing::Current, false), digest_functions::<$name>()),)*
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
