//! Opens files as another process sees them: paths below its root, and the links of `/proc/PID`.
//!
//! The process is not trusted, and may replace a file between two accesses to its path. So a file is first
//! found without opening it (`O_PATH`) and then checked. Only a regular file is opened, by its descriptor and
//! not by its path. No pipe can block, no device is touched, and no link leads out of the process's root.
//!
//! Ref. openat2(2), open(2) under `O_PATH`.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, openat2};

/// The treatment of a link at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Last {
    /// A link is followed, below the root.
    Link,
    /// A link is refused.
    Itself,
}

/// Opens a regular file for reading, at a path as process `pid` sees it. Absolute links begin at its root,
/// and `..` can't leave it.
///
/// # Errors
/// Fails where no such file exists or it may not be read.
pub(crate) fn open_as_seen_by(pid: i32, path: &Path, last: Last) -> io::Result<File> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(format!("/proc/{pid}/root"), flags, Mode::empty())?;
    open_below(&root, path, last)
}

/// Does the work of [`open_as_seen_by`], for a process with this root.
fn open_below(root: impl AsFd, path: &Path, last: Last) -> io::Result<File> {
    let mut flags = OFlags::PATH | OFlags::CLOEXEC;
    flags.set(OFlags::NOFOLLOW, last == Last::Itself);
    let inside = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    open_found(openat2(root, path, flags, Mode::empty(), inside)?)
}

/// Opens the regular file behind a link of `/proc/PID` (`exe`, `map_files/RANGE`), whatever paths exist by
/// now.
///
/// # Errors
/// Fails where it is another kind of file, or may not be read.
pub(crate) fn open_link(link: &Path) -> io::Result<File> {
    open_found(rustix::fs::open(link, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
}

fn open_found(found: OwnedFd) -> io::Result<File> {
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&found)?.st_mode);
    if kind != FileType::RegularFile {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a plain file"));
    }
    // Without NONBLOCK, opening a file with a lease would wait for the lease's holder.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let path = format!("/proc/self/fd/{}", found.as_raw_fd());
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::*;

    fn text(file: io::Result<File>) -> io::Result<String> {
        let mut text = String::new();
        file?.read_to_string(&mut text)?;
        Ok(text)
    }

    /// Makes a directory to be a root, with a file of its own, and links to it and out of it.
    fn root() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("etc")).unwrap();
        std::fs::write(root.path().join("etc/hostname"), "inside").unwrap();
        symlink("/etc/hostname", root.path().join("absolute")).unwrap();
        symlink("../../../../../../../../etc/hostname", root.path().join("up")).unwrap();
        symlink("/etc/passwd", root.path().join("out")).unwrap();
        root
    }

    #[test]
    fn links_lead_nowhere_but_below_the_root() {
        let root = root();
        let below = |path: &str, last| {
            text(open_below(File::open(root.path()).unwrap(), Path::new(path), last))
                .map_err(|why| why.kind())
        };
        for path in ["/etc/hostname", "etc/hostname", "/absolute", "/up", "/../etc/hostname"] {
            assert_eq!(below(path, Last::Link).as_deref(), Ok("inside"), "{path}");
        }
        assert_eq!(below("/out", Last::Link), Err(io::ErrorKind::NotFound));
        assert_eq!(below("/etc/hostname", Last::Itself).as_deref(), Ok("inside"));
        assert_eq!(below("/absolute", Last::Itself), Err(io::ErrorKind::InvalidInput));
    }

    #[test]
    fn nothing_but_a_plain_file_is_opened_and_nothing_is_waited_for() {
        let root = root();
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, root.path().join("pipe"), mode).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.path().join("socket")).unwrap();
        let path = root.path().to_owned();
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let root = File::open(&path).unwrap();
            for name in ["pipe", "socket", "etc"] {
                let below = open_below(&root, Path::new(name), Last::Link).map(drop);
                tell.send((name, below, open_link(&path.join(name)).map(drop))).unwrap();
            }
        });
        for _ in 0..3 {
            let (name, below, link) = told.recv_timeout(Duration::from_secs(20)).expect("it waits");
            assert_eq!(below.unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name}");
            assert_eq!(link.unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name}");
        }
    }

    #[test]
    fn a_process_with_another_root_is_asked_below_that() {
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED a process with another root: only root can make one");
            return;
        }
        let root = root();
        let needs = Command::new("ldd").arg("/bin/cat").output().unwrap();
        let needs = String::from_utf8(needs.stdout).unwrap();
        for path in needs.split_whitespace().filter(|word| word.starts_with('/')).chain(["/bin/cat"]) {
            let copy = root.path().join(&path[1..]);
            std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
            std::fs::copy(path, copy).unwrap();
        }
        // The program answers once it has that root.
        let mut child = Command::new("chroot")
            .arg(root.path())
            .args(["/bin/cat", "/etc/hostname", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut answer = [0; 6];
        child.stdout.as_mut().unwrap().read_exact(&mut answer).unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let seen = |path: &str| text(open_as_seen_by(pid, Path::new(path), Last::Link));
        let found = [seen("/absolute"), seen("/out")];
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(&answer, b"inside");
        assert_eq!(found[0].as_ref().unwrap(), "inside");
        assert_eq!(found[1].as_ref().unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
