//! A folder for a test.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use millstream_testkit::Random;
use tempfile::TempDir;

/// A folder that is gone when the test ends.
pub struct Place(TempDir);

impl Place {
    /// Makes an empty one.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Place {
        Place(tempfile::tempdir().expect("there is room for a temporary folder"))
    }

    /// Returns the folder itself.
    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    /// Returns the path of a name in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file that only its owner can read.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    /// Makes a folder.
    pub fn make(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        path
    }

    /// Reads a file.
    #[track_caller]
    pub fn read(&self, name: &str) -> Vec<u8> {
        let path = self.path(name);
        std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }
}

/// Returns `len` bytes that look random and are the same in every run.
pub fn bytes(len: usize) -> Vec<u8> {
    Random::new(len as u64).bytes(len)
}
