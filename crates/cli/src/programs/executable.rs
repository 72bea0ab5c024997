//! Facts about a program from its file, without running it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The longest table that is read.
const MOST_BYTES: u64 = 1 << 20;

/// A program, or the interpreter of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executable {
    /// The path of the file.
    pub path: PathBuf,
    /// True when it runs with the rights of its file, so that the system hides the environment from it.
    pub is_privileged: bool,
    /// The libraries that it is linked to; none for a static program.
    pub libraries: Option<Vec<String>>,
}

impl Executable {
    /// Returns the program that a name stands for, as `execvp` finds it; for a script it is the interpreter.
    /// Returns none where the file can't be understood.
    pub fn find(name: &OsStr) -> Option<Executable> {
        let path = match name.as_bytes().contains(&b'/') {
            true => PathBuf::from(name),
            false => std::env::split_paths(&std::env::var_os("PATH")?)
                .map(|folder| folder.join(name))
                .find(|path| path.is_file())?,
        };
        Executable::at(&path, 4)
    }

    /// Reads a file. `depth` limits scripts that are interpreted by scripts.
    fn at(path: &Path, depth: u32) -> Option<Executable> {
        let mut file = File::open(path).ok()?;
        let mut head = Vec::new();
        (&mut file).take(256).read_to_end(&mut head).ok()?;
        if let Some(line) = head.strip_prefix(b"#!") {
            let line = line.split(|byte| *byte == b'\n').next()?;
            let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
            let interpreter = Path::new(OsStr::from_bytes(words.next()?));
            // `/usr/bin/env` starts the program that its last word names.
            return match (interpreter.ends_with("env"), words.next_back(), depth) {
                (_, _, 0) => None,
                (true, Some(name), _) => Executable::find(OsStr::from_bytes(name)),
                _ => Executable::at(interpreter, depth - 1),
            };
        }
        let mode = file.metadata().ok()?.mode();
        let is_privileged = mode & 0o6000 != 0;
        let libraries = elf_libraries(&file)?;
        Some(Executable { path: path.to_owned(), is_privileged, libraries })
    }

    /// Returns a description of the library that it is linked to instead of OpenSSL 3's.
    pub fn other_library(&self) -> Option<&'static str> {
        const OTHERS: [(&str, &str); 6] = [
            ("libcrypto.so.1", "OpenSSL 1, which knows no providers"),
            ("libgnutls.so", "GnuTLS"),
            ("libnss3.so", "NSS"),
            ("libmbedcrypto.so", "Mbed TLS"),
            ("libwolfssl.so", "wolfSSL"),
            ("libgcrypt.so", "libgcrypt"),
        ];
        let named = self.libraries.as_deref().unwrap_or_default();
        let names = |prefix: &str| named.iter().any(|library| library.starts_with(prefix));
        if names("libcrypto.so.3") || names("libcrypto.so.4") {
            return None;
        }
        OTHERS.into_iter().find(|(prefix, _)| names(prefix)).map(|(_, what)| what)
    }
}

/// Returns the libraries that the dynamic section names, for a 64-bit program of this machine's byte order.
/// The inner value is none where there is no such section, the outer one where the file is something else.
fn elf_libraries(file: &File) -> Option<Option<Vec<String>>> {
    const LOAD: u32 = 1;
    const DYNAMIC: u32 = 2;
    const NEEDED: u64 = 1;
    const STRING_TABLE: u64 = 5;
    let head = bytes(file, 0, 64)?;
    let order = if cfg!(target_endian = "little") { 1 } else { 2 };
    if head.get(..6)? != [0x7f, b'E', b'L', b'F', 2, order] {
        return None;
    }
    let (entry, count) = (number16(&head, 54)?, number16(&head, 56)?);
    let table = bytes(file, number64(&head, 32)?, u64::from(entry) * u64::from(count))?;
    let segments: Vec<&[u8]> = table.chunks_exact(usize::from(entry.max(56))).collect();
    let of_type = |kind| segments.iter().filter(move |segment| number32(segment, 0) == Some(kind));
    let Some(dynamic) = of_type(DYNAMIC).next() else { return Some(None) };
    let dynamic = bytes(file, number64(dynamic, 8)?, number64(dynamic, 32)?)?;
    let entries: Vec<(u64, u64)> =
        dynamic.chunks_exact(16).filter_map(|pair| Some((number64(pair, 0)?, number64(pair, 8)?))).collect();
    let strings = entries.iter().find(|(tag, _)| *tag == STRING_TABLE)?.1;
    // The table's address is turned into an offset in the file by the segment that holds it.
    let place = |address: u64| {
        of_type(LOAD).find_map(|segment| {
            let (at, start, len) = (number64(segment, 8)?, number64(segment, 16)?, number64(segment, 32)?);
            let inside = address.checked_sub(start).filter(|inside| *inside < len)?;
            at.checked_add(inside)
        })
    };
    let name = |offset: u64| {
        let mut text = vec![0; 128];
        let read = file.read_at(&mut text, place(strings.checked_add(offset)?)?).ok()?;
        let text = text[..read].split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(text).into_owned())
    };
    let needed: Vec<String> =
        entries.iter().filter(|(tag, _)| *tag == NEEDED).filter_map(|(_, offset)| name(*offset)).collect();
    // A static position-independent program has such a section too, which names nothing.
    Some(Some(needed).filter(|needed| !needed.is_empty()))
}

fn bytes(file: &File, at: u64, len: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(len).ok().filter(|_| len <= MOST_BYTES)?];
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

fn number16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

fn number32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

fn number64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_libraries_are_told() {
        let shell = Executable::find(OsStr::new("sh")).unwrap();
        assert!(!shell.is_privileged);
        let libraries = shell.libraries.clone().unwrap();
        assert!(libraries.iter().any(|name| name.starts_with("libc.so")), "{libraries:?}");
        assert_eq!(shell.other_library(), None);
        let other = Executable { libraries: Some(vec!["libgnutls.so.30".into()]), ..shell };
        assert_eq!(other.other_library(), Some("GnuTLS"));
    }

    #[test]
    fn of_a_script_it_is_the_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        for (line, name) in [("#!/bin/sh -e", "sh"), ("#! /usr/bin/env sh", "sh")] {
            let path = folder.path().join("script");
            std::fs::write(&path, format!("{line}\nexit\n")).unwrap();
            let found = Executable::find(path.as_os_str()).unwrap();
            assert_eq!(found.path.file_name().unwrap(), name, "{line}");
        }
        let path = folder.path().join("self");
        std::fs::write(&path, format!("#!{}\n", path.display())).unwrap();
        assert_eq!(Executable::find(path.as_os_str()), None);
    }

    #[test]
    fn what_is_no_program_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let program = std::fs::read("/bin/sh").unwrap();
        for len in [0, 4, 63, 64, 300] {
            std::fs::write(&path, &program[..len]).unwrap();
            assert_eq!(Executable::find(path.as_os_str()), None, "{len}");
        }
    }
}
