//! Putting files in place: all are staged beside their places first, so that a failure leaves nothing.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::items::{Item, What};

/// The folder that files go below, and their form.
pub struct Placing<'a> {
    /// The folder below which all paths lie, if it is not the root.
    pub destdir: Option<&'a Path>,
    /// True if symbols and line tables go along.
    pub unstripped: bool,
}

/// The files that were put in place.
pub struct Placed {
    /// The paths from which programs use the files, with those of configuration files that were there already.
    pub files: Vec<PathBuf>,
    /// The folders that were not there before, outermost first.
    pub folders: Vec<PathBuf>,
}

impl Placing<'_> {
    /// Returns the place of a file that will be used from `at`.
    pub fn below(&self, at: &Path) -> PathBuf {
        match self.destdir {
            Some(destdir) => destdir.join(at.strip_prefix("/").unwrap_or(at)),
            None => at.to_owned(),
        }
    }

    /// Puts all items in place, and has `told` hear of each.
    ///
    /// # Errors
    /// Names the file that failed. The installation has then left nothing but perhaps folders. A failed rename is the
    /// exception, and the message then names it.
    pub fn place<'i>(
        &self,
        items: impl Iterator<Item = &'i Item>,
        told: fn(&str, &Path),
    ) -> Result<Placed, String> {
        let mut staged = Vec::new();
        let mut placed = Placed { files: Vec::new(), folders: Vec::new() };
        for item in items {
            let staging = self.folder_of(&item.at, &mut placed.folders).and_then(|()| self.stage(item));
            match staging {
                Ok(None) => told("kept", &self.below(&item.at)),
                Ok(Some(temporary)) => staged.push((temporary, self.below(&item.at))),
                Err(why) => {
                    discard(&staged);
                    return Err(why);
                }
            }
            placed.files.push(item.at.clone());
        }
        for (i, (temporary, place)) in staged.iter().enumerate() {
            if let Err(why) = fs::rename(temporary, place) {
                discard(&staged[i..]);
                return Err(format!("{}: {why}", place.display()));
            }
            told("installed", place);
        }
        Ok(placed)
    }

    /// Makes the folder that a file will be in, and notes those that were not there.
    fn folder_of(&self, at: &Path, made: &mut Vec<PathBuf>) -> Result<(), String> {
        let absent = |folder: &&Path| !self.below(folder).exists();
        let absent: Vec<PathBuf> = at.ancestors().skip(1).take_while(absent).map(Path::to_owned).collect();
        for folder in absent.into_iter().rev() {
            let place = self.below(&folder);
            // Folders are open to all, whatever the umask of the person who installs.
            fs::create_dir_all(&place)
                .and_then(|()| mode(&place, 0o755))
                .map_err(|e| format!("{}: {e}", self.below(at).display()))?;
            made.push(folder);
        }
        Ok(())
    }

    /// Puts a file beside its place, under another name, which it returns. Returns nothing if a file that stays is
    /// there already.
    fn stage(&self, item: &Item) -> Result<Option<PathBuf>, String> {
        let place = self.below(&item.at);
        let folder = place.parent().ok_or_else(|| format!("{}: no file", place.display()))?;
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        let temporary = folder.join(format!(".{name}.{}", std::process::id()));
        // A killed install may have left this file.
        let _ = fs::remove_file(&temporary);
        let made = match &item.what {
            What::Configuration(_) if place.exists() => return Ok(None),
            What::Program(from) => self.stripped(from, &temporary, "--strip-all", 0o755),
            // Debian's policy has libraries without the right to be executed.
            What::Library(from) => self.stripped(from, &temporary, "--strip-unneeded", 0o644),
            What::Archive(from) => self.stripped(from, &temporary, "--strip-debug", 0o644),
            What::Data(from) | What::Configuration(from) => copy(from, &temporary, 0o644),
            What::Text(text) => fs::write(&temporary, text).and_then(|()| mode(&temporary, 0o644)),
            What::Link(to) => symlink(to, &temporary),
        };
        if let Err(why) = made {
            let _ = fs::remove_file(&temporary);
            return Err(format!("{}: {why}", place.display()));
        }
        Ok(Some(temporary))
    }

    /// Copies a file that was compiled, without what only a debugger needs.
    fn stripped(&self, from: &Path, to: &Path, symbols: &str, permissions: u32) -> std::io::Result<()> {
        if self.unstripped {
            return copy(from, to, permissions);
        }
        let program = std::env::var_os("STRIP").unwrap_or_else(|| "strip".into());
        let mut strip = Command::new(&program);
        let status = strip.arg(symbols).arg("-o").arg(to).arg(from).status().map_err(|e| {
            let what = format!("{}: {e}; install binutils, or give --unstripped", program.display());
            std::io::Error::new(e.kind(), what)
        })?;
        if !status.success() {
            return Err(std::io::Error::other(format!("strip {}: {status}", from.display())));
        }
        mode(to, permissions)
    }
}

/// Removes staged files that will not be used.
fn discard(staged: &[(PathBuf, PathBuf)]) {
    for (temporary, _) in staged {
        let _ = fs::remove_file(temporary);
    }
}

fn copy(from: &Path, to: &Path, permissions: u32) -> std::io::Result<()> {
    fs::copy(from, to)?;
    mode(to, permissions)
}

/// Sets the permissions of a file or a folder.
///
/// # Errors
/// When the system refuses.
pub fn mode(path: &Path, permissions: u32) -> std::io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(permissions))
}
