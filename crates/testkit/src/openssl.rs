//! The OpenSSLs that `cargo xtask openssl` built.

use std::path::{Path, PathBuf};

/// Returns the newest OpenSSL's folder in `folder` whose name begins with `prefix`, such as `3.` or
/// `sparc64-4.`, and that has its command. The error says what to do.
///
/// # Errors
/// Fails when there is none.
pub fn newest_openssl(folder: &Path, prefix: &str) -> Result<PathBuf, String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let versions = entries.filter_map(|entry| {
        let name = entry.file_name().to_str()?.to_owned();
        let built = name.starts_with(prefix) && entry.path().join("bin/openssl").exists();
        let numbers: Vec<u32> = name.split(['.', '-']).filter_map(|n| n.parse().ok()).collect();
        built.then(|| (numbers, entry.path()))
    });
    let newest = versions.max().map(|(_, path)| path);
    newest.ok_or_else(|| format!("no OpenSSL {prefix}x in {}: run `cargo xtask openssl`", folder.display()))
}

/// Fails for a file, as `bin/openssl` or `lib/libcrypto.so`, of an OpenSSL that the pipeline built with little optimisation, for
/// its tests alone. The file `for-tests` marks its folder.
///
/// # Errors
/// The error says what to do.
pub fn refuse_built_for_tests(file: &Path) -> Result<(), String> {
    let folder = file.parent().and_then(Path::parent);
    match folder.filter(|folder| folder.join("for-tests").exists()) {
        Some(folder) => Err(format!(
            "{} was built for tests only: `cargo xtask openssl` builds it as it is released",
            folder.display()
        )),
        None => Ok(()),
    }
}
