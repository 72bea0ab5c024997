//! Images that were looked at, as all programs share a few libraries.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use super::image::{Image, ImageError};

/// More are not kept: whoever makes thousands of programs runs each of them once.
const MOST: usize = 1024;

/// What makes a file the same file with the same contents.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Key {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

/// Images by their files.
#[derive(Debug, Default)]
pub struct Images(HashMap<Key, Arc<Image>>);

impl Images {
    /// What is in a file: looked at once for as long as it stays as it is.
    ///
    /// # Errors
    /// Those of [`Image::of_file`].
    pub fn of_file(&mut self, file: &File) -> Result<Arc<Image>, ImageError> {
        let metadata = file.metadata().map_err(ImageError::Read)?;
        let key = Key {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        };
        if let Some(image) = self.0.get(&key) {
            return Ok(image.clone());
        }
        let image = Arc::new(Image::of_file(file)?);
        if self.0.len() >= MOST {
            self.0.clear();
        }
        self.0.insert(key, image.clone());
        Ok(image)
    }
}
