//! The list of what an installation has put where. `cargo xtask uninstall` removes what is on it, and nothing else.
//!
//! The list has a line for each file, `file PATH` or `configuration PATH`, and `folder PATH` for each folder that was made. The
//! list's own file and folder are not on it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::build::SHARED;
use super::items::{Item, Part, What};
use super::place::{Placed, Placing};

/// The list's place below the prefix.
const PLACE: &str = "share/millstream/installed";

/// A list of what an installation has put where.
#[derive(Default)]
pub struct Manifest {
    files: Vec<PathBuf>,
    configuration: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Manifest {
    /// Reads the list of a prefix. Without one the list is empty.
    ///
    /// # Errors
    /// Names the list if it can't be read, or a line of it that is not understood.
    pub fn read(placing: &Placing, prefix: &Path) -> Result<Self, String> {
        let place = placing.below(&prefix.join(PLACE));
        let text = match fs::read_to_string(&place) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Manifest::default()),
            Err(e) => return Err(format!("{}: {e}", place.display())),
            Ok(text) => text,
        };
        let mut manifest = Manifest::default();
        for line in text.lines() {
            let (kind, path) = line.split_once(' ').unwrap_or_default();
            let list = match kind {
                "file" => &mut manifest.files,
                "configuration" => &mut manifest.configuration,
                "folder" => &mut manifest.folders,
                _ => return Err(format!("{}: not understood: {line}", place.display())),
            };
            if !Path::new(path).is_absolute() {
                return Err(format!("{}: not an absolute path: {line}", place.display()));
            }
            list.push(PathBuf::from(path));
        }
        Ok(manifest)
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Lists what was installed now. Files of an older version stay listed until [`Manifest::forget`].
    pub fn add(&mut self, items: &[Item], placed: Placed) {
        for (item, at) in items.iter().zip(placed.files) {
            let list = match item.what {
                What::Configuration(_) => &mut self.configuration,
                _ => &mut self.files,
            };
            list.push(at);
        }
        self.folders.extend(placed.folders);
        for list in [&mut self.files, &mut self.configuration, &mut self.folders] {
            list.sort();
            list.dedup();
        }
    }

    /// Removes the files that an older version has left and this one does not have. Returns true if there were any.
    ///
    /// # Errors
    /// Names the file that can't be removed.
    pub fn forget(&mut self, items: &[Item], placing: &Placing) -> Result<bool, String> {
        let is_current = |at: &PathBuf| items.iter().any(|item| item.at == *at);
        let (current, old): (Vec<PathBuf>, Vec<PathBuf>) =
            std::mem::take(&mut self.files).into_iter().partition(is_current);
        self.files = current;
        old.iter().try_for_each(|at| remove(&placing.below(at)))?;
        Ok(!old.is_empty())
    }

    /// Returns the folder of the C library.
    pub fn libraries(&self) -> Option<&Path> {
        self.files.iter().find(|at| at.ends_with(SHARED)).and_then(|at| at.parent())
    }

    /// Makes the list an item of the installation.
    pub fn item(&self, prefix: &Path) -> Item {
        let at = prefix.join(PLACE);
        let mut text = String::new();
        let lists =
            [("file", &self.files), ("configuration", &self.configuration), ("folder", &self.folders)];
        for (kind, list) in lists {
            list.iter().for_each(|path| text += &format!("{kind} {}\n", path.display()));
        }
        Item { at, what: What::Text(text), part: Part::Command }
    }

    /// Removes what is on the list, and the list. Configuration files stay unless they are to be purged, and folders if
    /// there is something in them.
    ///
    /// # Errors
    /// Names the file that can't be removed. The list stays then.
    pub fn remove(&self, placing: &Placing, prefix: &Path, purge: bool) -> Result<(), String> {
        self.files.iter().try_for_each(|at| remove(&placing.below(at)))?;
        for place in self.configuration.iter().map(|at| placing.below(at)) {
            if purge {
                remove(&place)?;
                // An earlier installation may have made the folder, whose list is gone.
                let _ = place.parent().map(fs::remove_dir);
            } else if place.exists() {
                println!("kept      {}", place.display());
            }
        }
        let list = prefix.join(PLACE);
        remove(&placing.below(&list))?;
        // The folders are sorted, so what lies in a folder comes behind it.
        for folder in list.parent().into_iter().chain(self.folders.iter().rev().map(PathBuf::as_path)) {
            let place = placing.below(folder);
            if fs::remove_dir(&place).is_ok() {
                println!("removed   {}", place.display());
            }
        }
        Ok(())
    }
}

/// Removes a file that may be gone already.
fn remove(place: &Path) -> Result<(), String> {
    match fs::remove_file(place) {
        Ok(()) => println!("removed   {}", place.display()),
        Err(e) if e.kind() == ErrorKind::NotFound => println!("was gone  {}", place.display()),
        Err(e) => return Err(format!("{}: {e}", place.display())),
    }
    Ok(())
}
