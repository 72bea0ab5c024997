//! The mappings of a process, from `/proc/PID/maps`.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;

use rustix::process::Pid;

/// One mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// The first address.
    pub start: u64,
    /// The address after its last.
    pub end: u64,
    /// True when it can be read.
    pub readable: bool,
    /// True when it can be written.
    pub writable: bool,
    /// True when it can be executed.
    pub executable: bool,
    /// True when writes reach others that map the same.
    pub shared: bool,
    /// The offset in the file.
    pub offset: u64,
    /// The file's device: major and minor number.
    pub device: (u32, u32),
    /// The file's inode number, or 0 if there is no file.
    pub inode: u64,
    /// The file's path, a name in brackets such as `[vdso]`, or nothing. ` (deleted)` follows the path of a
    /// deleted file.
    pub path: OsString,
}

impl Map {
    /// Returns true when a file is mapped.
    pub fn is_file(&self) -> bool {
        self.inode != 0
    }

    /// Returns true when the address lies within.
    pub fn contains(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

/// Returns the mappings of a process, ordered by address.
///
/// # Errors
/// Fails when the process has ended or is another user's.
pub fn of(pid: Pid) -> io::Result<Vec<Map>> {
    Ok(parse(&std::fs::read(format!("/proc/{pid}/maps"))?))
}

/// Parses the text of the whole file. Malformed lines are left out.
pub fn parse(text: &[u8]) -> Vec<Map> {
    text.split(|byte| *byte == b'\n').filter_map(line).collect()
}

/// `start-end rwxp offset major:minor inode   path`
fn line(line: &[u8]) -> Option<Map> {
    let mut rest = line;
    let mut word = || {
        let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after.strip_prefix(b" ").unwrap_or(after);
        std::str::from_utf8(word).ok()
    };
    let (start, end) = word()?.split_once('-')?;
    let permissions = word()?.as_bytes();
    let offset = u64::from_str_radix(word()?, 16).ok()?;
    let (major, minor) = word()?.split_once(':')?;
    let inode = word()?.parse().ok()?;
    Some(Map {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        readable: permissions.first() == Some(&b'r'),
        writable: permissions.get(1) == Some(&b'w'),
        executable: permissions.get(2) == Some(&b'x'),
        shared: permissions.get(3) == Some(&b's'),
        offset,
        device: (u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?),
        inode,
        path: path(rest),
    })
}

/// Decodes a path, in which the kernel writes a newline as `\012`.
fn path(text: &[u8]) -> OsString {
    let start = text.iter().position(|byte| *byte != b' ').unwrap_or(text.len());
    let mut path = Vec::with_capacity(text.len());
    let mut rest = &text[start..];
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(b"\\012") {
            path.push(b'\n');
            rest = after;
        } else {
            path.push(*first);
            rest = after;
        }
    }
    OsStr::from_bytes(&path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_apart() {
        let text = b"\
7f01a2000000-7f01a2021000 rw-p 00000000 00:00 0 \n\
55d0c0a00000-55d0c0a28000 r-xp 00002000 fe:01 1234567                    /usr/lib/with blanks/a\\012b.so (deleted)\n\
7ffd3a5f2000-7ffd3a5f4000 r-xp 00000000 00:00 0                          [vdso]\n\
nonsense\n\
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";
        let maps = parse(text);
        assert_eq!(maps.len(), 4);
        assert_eq!((maps[0].start, maps[0].end), (0x7f01_a200_0000, 0x7f01_a202_1000));
        assert!(maps[0].readable && maps[0].writable && !maps[0].executable && !maps[0].shared);
        assert!(!maps[0].is_file() && maps[0].path.is_empty());
        assert_eq!((maps[1].offset, maps[1].device, maps[1].inode), (0x2000, (0xfe, 1), 1_234_567));
        assert_eq!(maps[1].path, "/usr/lib/with blanks/a\nb.so (deleted)");
        assert_eq!(maps[2].path, "[vdso]");
        assert_eq!(maps[3].end, 0xffff_ffff_ff60_1000);
        assert!(maps[3].contains(0xffff_ffff_ff60_0fff) && !maps[3].contains(maps[3].end));
    }

    #[test]
    fn this_process_has_its_own_code() {
        let here = this_process_has_its_own_code as fn() as usize as u64;
        let maps = of(rustix::process::getpid()).unwrap();
        let map = maps.iter().find(|map| map.contains(here)).unwrap();
        assert!(map.executable && map.is_file());
        assert_eq!(map.path, std::env::current_exe().unwrap());
    }
}
