//! What is offered, under OpenSSL's names.
//!
//! Ref. OSSL_PROVIDER-default(7), OSSL_PROVIDER-legacy(7): names and aliases are theirs.

mod aeads;
mod ciphers;
mod digests;
mod kdfs;
mod macs;
mod secrets;

use std::ffi::CStr;

use crate::abi::OsslAlgorithm;

pub use digests::{DIGESTS, digest_name, digest_named};
pub use kdfs::KDFS;
pub use macs::{ISOLATED_MACS, MACS};
pub use secrets::{ISOLATED_SECRETS, SECRETS};

/// The ciphers, with their keys in this process.
pub static CIPHERS: &[OsslAlgorithm] =
    &joined::<{ ciphers::LOCAL.len() + aeads::LOCAL.len() + 1 }>(&[ciphers::LOCAL, aeads::LOCAL]);

/// Those whose keys may be in the service, and then all in this process: what is offered where a service is configured.
pub static ISOLATED_CIPHERS: &[OsslAlgorithm] = &joined::<
    { ciphers::REMOTE.len() + aeads::REMOTE.len() + ciphers::LOCAL.len() + aeads::LOCAL.len() + 1 },
>(&[
    ciphers::REMOTE,
    aeads::REMOTE,
    ciphers::LOCAL,
    aeads::LOCAL,
]);

/// Who should use an algorithm.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Current,
    /// OpenSSL has it in its legacy provider. OpenSSL parses no property without a dot that it does not know itself, and it does
    /// not know `legacy`: hence `millstream.legacy=yes`.
    Legacy,
}

/// The properties of an algorithm, for who asks for them. A query that names `provider` takes the place of what the defaults say of
/// it, so programs are led here by a name of our own.
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

/// Whether a name is among `names`, which have colons between.
pub fn is_named(names: &str, name: &str) -> bool {
    names.split(':').any(|known| known.eq_ignore_ascii_case(name))
}

/// One table of several, with its end.
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

/// Offers ciphers: `name: context = standing, names, traits, spec;`, and after `=>` those without a form in the service.
macro_rules! offer_ciphers {
    ($($name:ident: $context:ty = $standing:ident, $names:literal, $traits:expr, $spec:expr;)*
     $(=> in this process only:
       $($only:ident: $own_context:ty = $own_standing:ident, $own_names:literal, $own_traits:expr, $own_spec:expr;)*)?) => {
        $($crate::algorithms::cipher!($name, $context, $names, $traits, $spec);)*
        $($($crate::algorithms::cipher!($only, $own_context, $own_names, $own_traits, $own_spec);)*)?

        /// With their keys in this process.
        pub const LOCAL: &[$crate::abi::OsslAlgorithm] = &[
            $($crate::algorithms::offered!($name, false, $standing),)*
            $($($crate::algorithms::offered!($only, false, $own_standing),)*)?
        ];

        /// With their keys in the service.
        pub const REMOTE: &[$crate::abi::OsslAlgorithm] = &[
            $($crate::algorithms::offered!($name, true, $standing),)*
        ];
    };
}

/// What a cipher is.
macro_rules! cipher {
    ($name:ident, $context:ty, $names:literal, $traits:expr, $spec:expr) => {
        struct $name;

        impl $crate::cipher::Cipher for $name {
            type Context = $context;
            const NAMES: &'static std::ffi::CStr = $names;
            const TRAITS: $crate::cipher::Traits = $traits;
            const SPEC: &'static <$context as $crate::cipher::Context>::Spec = &$spec;

            fn rows() -> &'static $crate::count::Rows {
                static ROWS: $crate::count::Rows = $crate::count::Rows::new();
                &ROWS
            }
        }
    };
}

/// Its entry in a table.
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
