//! The common parts of the tests of unmodified programs.
//!
//! A test gives a program its settings (a [`Side`]: OpenSSL's configuration and a file for counters), lets it
//! do real work, compares the results with those of the default provider, and requires that the counters
//! prove Millstream's part. The programs are Debian's, and OpenSSL's own command in three versions.
//!
//! Nothing is skipped: a missing program is a failure that names its package.

mod artifacts;
pub mod certificate;
mod counters;
mod debian;
pub mod memory;
mod nginx;
pub mod observe;
mod openssl;
mod place;
mod process;
mod service;
mod side;
pub mod sparc;
mod sshd;
mod subject;
pub mod tokens;

pub use artifacts::{built, dpdk_archive, srtp_library, target};
pub use counters::Counters;
pub use debian::{OtherOpenSsl, debian_source};
pub use nginx::Nginx;
pub use openssl::OpenSsl;
pub use place::{Place, bytes};
pub use process::{Ended, Running, eventually, free_port, program, run, signal, ticks, tool};
pub use service::Service;
pub use side::{Provider, Side};
pub use sshd::Sshd;
pub use subject::{crypto11, go_tls_client, hard, python_pkcs11, subject};
pub use tokens::Tokens;

/// Runs the named tests once with each OpenSSL: the system's, and the newest of both series. That of series 3 is left to `--deep`.
#[macro_export]
macro_rules! with_each_openssl {
    ($($test:ident),* $(,)?) => {
        $crate::with_each_openssl!(@ system, $crate::OpenSsl::system(), $($test)*);
        $crate::with_each_openssl!(@ long_newest_3, $crate::OpenSsl::newest(3), $($test)*);
        $crate::with_each_openssl!(@ newest_4, $crate::OpenSsl::newest(4), $($test)*);
    };
    (@ $module:ident, $openssl:expr, $($test:ident)*) => {
        mod $module {
            $(
                #[test]
                fn $test() {
                    super::$test(&$openssl);
                }
            )*
        }
    };
}
