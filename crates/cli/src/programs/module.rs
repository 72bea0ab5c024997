//! The search for the modules: the OpenSSL provider, that of PKCS #11, and the library behind libsrtp2.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::shown;

/// The environment variable that names another module than the one beside this program.
pub const VARIABLE: &str = "MILLSTREAM_PROVIDER";

/// A module: its path below a folder of libraries, and its name in a build.
struct Module {
    installed: &'static str,
    built: &'static str,
}

const PROVIDER: Module =
    Module { installed: "ossl-modules/millstream.so", built: "libmillstream_provider.so" };
const PKCS11: Module =
    Module { installed: "pkcs11/libmillstream-pkcs11.so", built: "libmillstream_pkcs11.so" };

const SRTP: Module = Module { installed: "millstream/libmillstream-srtp.so", built: "libmillstream_srtp.so" };

/// libsrtp2, as the loader knows it.
const LIBSRTP: &str = "libsrtp2.so.1";

/// Returns the absolute path of the module: the one that is named, else the installed one, else the one of
/// this build.
///
/// # Errors
/// Fails when it is not there, or when its path can't be written into a configuration.
pub fn find(named: Option<&Path>) -> Result<PathBuf, Error> {
    let variable = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let path = match named.map(Path::to_owned).or(variable) {
        Some(path) => path.canonicalize().map_err(|source| missing(&path, &crate::error::plain(&source)))?,
        None => PROVIDER
            .beside()
            .ok_or_else(|| missing(Path::new("millstream.so"), "no OpenSSL provider is installed"))?,
    };
    if !path.is_file() {
        return Err(missing(&path, "it is not a file"));
    }
    writable(&path)?;
    Ok(path)
}

/// Checks that a path can be written into a configuration, which has lines of text.
///
/// # Errors
/// Names the path that can't be.
pub fn writable(path: &Path) -> Result<(), Error> {
    match path.to_str().filter(|text| !text.contains(['\n', '\r', '\0'])) {
        Some(_) => Ok(()),
        None => {
            let what = "its name can't be written into OpenSSL's configuration; rename it";
            Err(Error::Usage(format!("{}: {what}", shown::path(path))))
        }
    }
}

/// Returns true when the module lies in the folder of a build, which the next `cargo clean` removes.
pub fn is_of_a_build(module: &Path) -> bool {
    module.file_name().is_some_and(|name| name == PROVIDER.built)
}

fn missing(path: &Path, why: &str) -> Error {
    let remedy = "build it with 'cargo build --release -p millstream-provider', install it with \
                  'cargo xtask install', or name it with --module";
    Error::Library { path: path.into(), why: why.to_owned(), remedy }
}

/// Returns the absolute path of the PKCS #11 module: the one that is named, else the installed one, else the one of this build.
///
/// # Errors
/// Fails when it is not there.
pub fn find_pkcs11(named: Option<&Path>) -> Result<PathBuf, Error> {
    let missing = |path: &Path, why: &str| Error::Library {
        path: path.into(),
        why: why.to_owned(),
        remedy: "install it with 'cargo xtask install' or the package millstream-pkcs11, or name it with --module",
    };
    match named {
        Some(path) => path.canonicalize().map_err(|source| missing(path, &crate::error::plain(&source))),
        None => PKCS11
            .beside()
            .ok_or_else(|| missing(Path::new("libmillstream-pkcs11.so"), "no PKCS #11 module is installed")),
    }
}

/// Returns the library that is preloaded to put Millstream behind libsrtp2: none where either of them is missing, or where the path
/// can't be written into the variable.
pub fn find_srtp() -> Option<PathBuf> {
    let ours = SRTP.beside()?;
    let named = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let usual = ["/usr/local", "/usr", "/"].map(Path::new).into_iter().flat_map(libraries);
    std::env::split_paths(&named).chain(usual).find(|folder| folder.join(LIBSRTP).exists())?;
    let separates = |byte: &u8| b" :".contains(byte);
    Some(ours).filter(|path| !path.as_os_str().as_encoded_bytes().iter().any(separates))
}

impl Module {
    /// Finds the module in the libraries' folders of the installation that this program belongs to, or in its
    /// build.
    fn beside(&self) -> Option<PathBuf> {
        let program = std::env::current_exe().ok()?.canonicalize().ok()?;
        let folder = program.parent()?;
        let built = || Some(folder.join(self.built)).filter(|path| path.is_file());
        folder.parent().and_then(|prefix| self.installed(prefix)).or_else(built)
    }

    /// Finds the module in `PREFIX/lib*` or a folder in it. Debian has one for each architecture.
    fn installed(&self, prefix: &Path) -> Option<PathBuf> {
        libraries(prefix).map(|folder| folder.join(self.installed)).find(|path| path.is_file())
    }
}

/// Returns `PREFIX/lib*`, and the folders in each.
fn libraries(prefix: &Path) -> impl Iterator<Item = PathBuf> {
    let is_library =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"lib"));
    folders(prefix).into_iter().filter(is_library).flat_map(|library| {
        let nested = folders(&library);
        std::iter::once(library).chain(nested)
    })
}

/// Returns the folders in a folder, in an order that does not depend on the file system.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_where_distributions_have_modules() {
        for (place, module) in ["lib64", "lib/x86_64-linux-gnu", "lib"]
            .into_iter()
            .flat_map(|place| [(place, PROVIDER), (place, PKCS11)])
        {
            let prefix = tempfile::tempdir().unwrap();
            assert_eq!(module.installed(prefix.path()), None);
            let path = prefix.path().join(place).join(module.installed);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            assert_eq!(module.installed(prefix.path()), Some(path), "{place}");
        }
    }

    #[test]
    fn what_is_missing_is_named_with_the_remedy() {
        let error = find(Some(Path::new("/nowhere/millstream.so"))).unwrap_err().to_string();
        assert!(error.contains("/nowhere/millstream.so") && error.contains("--module"), "{error}");
        assert!(writable(Path::new("/a\nb")).is_err());
    }
}
