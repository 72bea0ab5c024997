//! Debian's sources, for programs that no package has in the needed form, and its next release's OpenSSL.

use std::path::{Path, PathBuf};

use crate::target;

// The development tasks, which have no library, need the same.
#[path = "../../crates/xtask/src/upstream/apt.rs"]
mod apt;

/// Unpacks a Debian source package below a folder.
///
/// # Panics
/// Panics when it can't be had.
#[track_caller]
pub fn debian_source(work: &Path, package: &str) -> PathBuf {
    let source = apt::Apt::new(work).and_then(|apt| apt.source(package));
    source.unwrap_or_else(|why| panic!("{why}")).1
}

/// OpenSSL's command as another release of Debian has it, with its provider for PKCS #11. Its own loader and libraries run it.
pub struct OtherOpenSsl(PathBuf);

impl OtherOpenSsl {
    /// Returns that of Debian 13, OpenSSL 3.5, which the pipeline's set-up unpacks.
    #[track_caller]
    pub fn debian_13() -> OtherOpenSsl {
        OtherOpenSsl::of(apt::DEBIAN_13)
    }

    /// Returns that of the release which Debian is making now.
    #[track_caller]
    pub fn testing() -> OtherOpenSsl {
        OtherOpenSsl::of("testing")
    }

    #[track_caller]
    fn of(release: &str) -> OtherOpenSsl {
        let folder = apt::openssl_of(release, &target().join("systems"));
        OtherOpenSsl(folder.unwrap_or_else(|why| panic!("{why}")))
    }

    /// Returns the folder of its libraries.
    pub fn libraries(&self) -> PathBuf {
        self.0.join("usr/lib/x86_64-linux-gnu")
    }

    /// Returns the command, and the arguments with which its words begin.
    pub fn command(&self) -> (PathBuf, Vec<PathBuf>) {
        let (loader, mut arguments) = self.loader();
        arguments.push(self.0.join("usr/bin/openssl"));
        (loader, arguments)
    }

    /// Returns the loader that runs programs with these libraries, and the arguments before the program.
    pub fn loader(&self) -> (PathBuf, Vec<PathBuf>) {
        let libraries = self.libraries();
        (libraries.join("ld-linux-x86-64.so.2"), vec!["--library-path".into(), libraries])
    }

    /// Returns a configuration with its default provider and that for PKCS #11, which loads a module and reads the PIN from a file. The
    /// module is loaded at once if `early`, else with the first URI.
    pub fn configuration(&self, module: &Path, pin: &Path, early: bool) -> String {
        let provider = self.libraries().join("ossl-modules/pkcs11.so");
        assert!(provider.exists(), "there is no {}", provider.display());
        let early = if early { "pkcs11-module-load-behavior = early\n" } else { "" };
        format!(
            "openssl_conf = init\n[init]\nproviders = providers\n[providers]\ndefault = usual\npkcs11 = token\n[usual]\nactivate = 1\n\
             [token]\nmodule = {}\npkcs11-module-path = {}\npkcs11-module-token-pin = file:{}\n{early}activate = 1\n\
             [req]\ndistinguished_name = dn\n[dn]\n",
            provider.display(),
            module.display(),
            pin.display()
        )
    }
}
