//! The tables of algorithms that the provider offers, under OpenSSL's names.
//!
//! Ref. OSSL_PROVIDER-default(7), OSSL_PROVIDER-legacy(7): names and aliases are theirs.

mod aeads;
mod ciphers;
mod decoders;
mod digests;
mod files;
mod kdfs;
mod kems;
mod macs;
mod mldsa;
mod objects;
mod pkeys;
mod secrets;
mod slhdsa;
mod stores;

use std::ffi::CStr;

use crate::abi::OsslAlgorithm;

pub use decoders::DECODERS;
pub use digests::{DIGESTS, DIGESTS_WITH_DEFAULTS, digest_name, digest_named};
pub use files::{ENCODERS, FILE_DECODERS, ISOLATED_FILE_DECODERS};
pub use kdfs::KDFS;
pub use kems::KEMS;
pub use macs::{ISOLATED_MACS, MACS};
pub use objects::introduce;
pub use pkeys::{
    CIPHERS_WITH_KEY_PAIRS, EXCHANGES, ISOLATED_CIPHERS_WITH_KEY_PAIRS, ISOLATED_EXCHANGES, ISOLATED_KEYS,
    ISOLATED_SIGNATURES, ISOLATED_SIGNATURES_BEFORE_3_4, KEYS, SIGNATURES, SIGNATURES_BEFORE_3_4,
};
pub use secrets::{ISOLATED_SECRETS, SECRETS};
pub use stores::STORES;

/// The ciphers, with their keys in this process.
pub static CIPHERS: &[OsslAlgorithm] =
    &joined::<{ ciphers::LOCAL.len() + aeads::LOCAL.len() + 1 }>(&[ciphers::LOCAL, aeads::LOCAL]);

/// The table where a service is configured: the ciphers whose keys may be in the service, and then all ciphers with
/// their keys in this process.
pub static ISOLATED_CIPHERS: &[OsslAlgorithm] = &joined::<
    { ciphers::REMOTE.len() + aeads::REMOTE.len() + ciphers::LOCAL.len() + aeads::LOCAL.len() + 1 },
>(&[
    ciphers::REMOTE,
    aeads::REMOTE,
    ciphers::LOCAL,
    aeads::LOCAL,
]);

/// The provider of OpenSSL that has an algorithm.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Current,
    /// OpenSSL has the algorithm in its legacy provider. OpenSSL rejects a property without a dot that it does not
    /// know, and it does not know `legacy`: hence `millstream.legacy=yes`.
    Legacy,
}

/// Returns the properties of an algorithm. A query that names `provider` replaces what the defaults say about it, so
/// programs are led here by a property of our own.
const fn properties(standing: Standing, isolated: bool) -> &'static CStr {
    match (standing, isolated) {
        (Standing::Current, false) => {
            c"provider=millstream,millstream.accelerated=yes,millstream.isolated=no"
        }
        (Standing::Current, true) => {
            c"provider=millstream,millstream.accelerated=yes,millstream.isolated=yes"
        }
        (Standing::Legacy, false) => {
            c"provider=millstream,millstream.accelerated=yes,millstream.isolated=no,millstream.legacy=yes"
        }
        (Standing::Legacy, true) => {
            c"provider=millstream,millstream.accelerated=yes,millstream.isolated=yes,millstream.legacy=yes"
        }
    }
}

/// Tells whether a name is among `names`, which are separated by colons.
pub fn is_named(names: &str, name: &str) -> bool {
    names.split(':').any(|known| known.eq_ignore_ascii_case(name))
}

/// Joins tables into one, and ends it.
const fn joined<const N: usize>(lists: &[&[OsslAlgorithm]]) -> [OsslAlgorithm; N] {
    let mut all = [OsslAlgorithm::END; N];
    let (mut filled, mut list) = (0, 0);
    while list < lists.len() {
        let mut i = 0;
        while i < lists[list].len() {
            all[filled] = lists[list][i];
            (filled, i) = (filled + 1, i + 1);
        }
        list += 1;
    }
    assert!(filled + 1 == N, "room for all, and for the end");
    all
}

/// Offers ciphers: `name: context = standing, names, info, spec;`, and after `=>` those without a form in the service.
macro_rules! offer_ciphers {
    ($($name:ident: $context:ty = $standing:ident, $names:literal, $info:expr, $spec:expr;)*
     $(=> in this process only:
       $($only:ident: $own_context:ty = $own_standing:ident, $own_names:literal, $own_info:expr, $own_spec:expr;)*)?) => {
        $($crate::algorithms::cipher!($name, $context, $names, $info, $spec);)*
        $($($crate::algorithms::cipher!($only, $own_context, $own_names, $own_info, $own_spec);)*)?

        /// The ciphers with their keys in this process.
        pub const LOCAL: &[$crate::abi::OsslAlgorithm] = &[
            $($crate::algorithms::offered!($name, false, $standing),)*
            $($($crate::algorithms::offered!($only, false, $own_standing),)*)?
        ];

        /// The ciphers with their keys in the service.
        pub const REMOTE: &[$crate::abi::OsslAlgorithm] = &[
            $($crate::algorithms::offered!($name, true, $standing),)*
        ];
    };
}

/// Defines the type that stands for a cipher.
macro_rules! cipher {
    ($name:ident, $context:ty, $names:literal, $info:expr, $spec:expr) => {
        struct $name;

        impl $crate::cipher::Cipher for $name {
            type Context = $context;
            const NAMES: &'static std::ffi::CStr = $names;
            const INFO: $crate::cipher::CipherInfo = $info;
            const SPEC: &'static <$context as $crate::cipher::Context>::Spec = &$spec;

            fn rows() -> &'static $crate::count::Rows {
                static ROWS: $crate::count::Rows = $crate::count::Rows::new();
                &ROWS
            }
        }
    };
}

/// Builds a cipher's entry in a table.
macro_rules! offered {
    ($name:ident, $isolated:literal, $standing:ident) => {
        $crate::abi::OsslAlgorithm::new(
            <$name as $crate::cipher::Cipher>::NAMES,
            $crate::algorithms::properties($crate::algorithms::Standing::$standing, $isolated),
            $crate::ffi::cipher_functions::<$name, $isolated>(),
        )
    };
}
use {cipher, offer_ciphers, offered};
