//! The provider and the command, built in the profile of the tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The things that are tested.
pub struct Built {
    /// The provider's shared library.
    pub provider: PathBuf,
    /// The command `millstream`.
    pub millstream: PathBuf,
}

/// Returns the built library that is in front of libsrtp2, or that of the installation which `MILLSTREAM_SRTP` names. The command
/// finds the built one beside itself.
pub fn srtp_library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| match std::env::var_os("MILLSTREAM_SRTP") {
        Some(installed) => installed.into(),
        None => {
            cargo_build(&["millstream-srtp"]);
            profile_folder().join("libmillstream_srtp.so")
        }
    })
}

/// Returns the built archive from which the driver for DPDK is linked.
pub fn dpdk_archive() -> &'static Path {
    static ARCHIVE: OnceLock<PathBuf> = OnceLock::new();
    ARCHIVE.get_or_init(|| {
        cargo_build(&["millstream-dpdk"]);
        profile_folder().join("libmillstream_dpdk.a")
    })
}

/// Builds the provider and the command once per process. Cargo mostly finds nothing to do. If
/// `MILLSTREAM_PROVIDER` and `MILLSTREAM_COMMAND` name both, those of an installation are tested in their
/// place.
pub fn built() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        let installed = |name| std::env::var_os(name).map(PathBuf::from);
        if let (Some(provider), Some(millstream)) =
            (installed("MILLSTREAM_PROVIDER"), installed("MILLSTREAM_COMMAND"))
        {
            return Built { provider, millstream };
        }
        cargo_build(&["millstream-provider", "millstream-cli"]);
        let folder = profile_folder();
        Built { provider: folder.join("libmillstream_provider.so"), millstream: folder.join("millstream") }
    })
}

/// Builds packages of this workspace in the profile of the tests.
///
/// # Panics
/// When that fails.
pub(crate) fn cargo_build(packages: &[&str]) {
    let folder = profile_folder();
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    cargo_build_in(profile, packages);
}

/// Builds packages of this workspace in a profile.
///
/// # Panics
/// When that fails.
pub(crate) fn cargo_build_in(profile: &str, packages: &[&str]) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--profile", profile, "--target-dir"]).arg(target());
    cargo.args(packages.iter().flat_map(|package| ["--package", package]));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    let status = cargo.status().unwrap_or_else(|e| panic!("{cargo:?}: {e}"));
    assert!(status.success(), "{cargo:?}: {status}");
}

/// Returns cargo's target folder, which keeps files between runs.
pub fn target() -> PathBuf {
    profile_folder().parent().expect("a profile's folder is in the target folder").to_owned()
}

/// Returns the folder of the profile. A test is `target/<profile>/deps/<name>`.
pub(crate) fn profile_folder() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let folder = test.parent().and_then(Path::parent);
    folder.expect("cargo puts tests into target/<profile>/deps").to_owned()
}
