//! Making a file that has its name only when it is whole.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, OFlags, linkat};
use rustix::io::Errno;

/// Makes a file that its owner alone can read, fills it by `write`, and gives it its name when all of it is on the disk. Returns
/// false when the name is taken, by a file that stays as it is.
///
/// The file has no name until then, so that nothing is left by a `kill -9`. Where the file system has no such files, it has a hidden
/// name.
pub(crate) fn make_whole(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<bool> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let taken = match nameless(folder) {
        Ok(mut file) => {
            write(&mut file)?;
            file.sync_all()?;
            let own = format!("/proc/self/fd/{}", file.as_raw_fd());
            linkat(CWD, own, CWD, path, AtFlags::SYMLINK_FOLLOW)
        }
        Err(error) if is_unsupported(&error) => {
            let hidden = folder.join(format!(".{:016x}.new", getrandom::u64().map_err(io::Error::other)?));
            let mut file = options().create_new(true).open(&hidden)?;
            let linked = write(&mut file)
                .and_then(|()| file.sync_all())
                .map(|()| linkat(CWD, &hidden, CWD, path, AtFlags::empty()));
            std::fs::remove_file(&hidden)?;
            linked?
        }
        Err(error) => return Err(error),
    };
    match taken {
        Ok(()) => File::open(folder)?.sync_all().map(|()| true),
        Err(Errno::EXIST) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

fn nameless(folder: &Path) -> io::Result<File> {
    options().custom_flags(OFlags::TMPFILE.bits() as i32).open(folder)
}

/// Returns true for the errors by which a file system says that it has no files without a name.
fn is_unsupported(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| [Errno::OPNOTSUPP, Errno::ISDIR, Errno::NOENT].contains(&errno))
}
