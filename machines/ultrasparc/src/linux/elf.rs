//! Programs as files: which of them can be run, and how they come into memory.
//! Ref. System V ABI, chapters 4 and 5; SPARC Compliance Definition 2.4.1, chapter 4.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use object::BigEndian;
use object::elf::{
    self, ELFCLASS32, ELFDATA2MSB, EM_SPARCV9, ET_DYN, ET_EXEC, FileHeader64, PT_INTERP, PT_LOAD, PT_PHDR,
    ProgramHeader64,
};
use object::read::elf::{FileHeader, ProgramHeader};

use crate::memory::{Memory, PAGE_BYTES, Protection, SPAN_BYTES};

/// The reason why a program can't be run.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// The file can't be read.
    Read {
        /// The program.
        path: PathBuf,
        /// The host's error.
        source: io::Error,
    },
    /// The file is no ELF file.
    NotElf(PathBuf),
    /// The program is for another machine.
    Machine {
        /// The program.
        path: PathBuf,
        /// The machine.
        machine: String,
    },
    /// The program's headers contradict themselves or the file.
    Damaged {
        /// The program.
        path: PathBuf,
        /// The contradiction.
        why: String,
    },
    /// The program is dynamic, and the interpreter that loads its libraries is missing.
    NoInterpreter {
        /// The program.
        path: PathBuf,
        /// The path of its interpreter.
        interpreter: PathBuf,
        /// The directory in which that was looked up, if any.
        sysroot: Option<PathBuf>,
    },
    /// The arguments and environment take more than a quarter of the stack.
    Arguments(u64),
    /// The host has no memory left.
    Memory(io::Error),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Read { path, source } => {
                let why = source.to_string();
                // The library's "(os error N)" is cut off.
                write!(f, "{}: {}", path.display(), why.split(" (os error").next().unwrap_or(&why))
            }
            LoadError::NotElf(path) => write!(f, "{}: this is no ELF program", path.display()),
            LoadError::Machine { path, machine } => {
                write!(
                    f,
                    "{}: this is {machine}, and only programs for 64-bit SPARC are run here",
                    path.display()
                )
            }
            LoadError::Damaged { path, why } => write!(f, "{}: {why}", path.display()),
            LoadError::NoInterpreter { path, interpreter, sysroot } => {
                let (path, interpreter) = (path.display(), interpreter.display());
                match sysroot {
                    Some(sysroot) => write!(
                        f,
                        "{path}: its interpreter {interpreter} is not in {}: name the directory in which a sparc64 system's \
                         /lib64 is",
                        sysroot.display()
                    ),
                    None => write!(
                        f,
                        "{path}: it needs {interpreter} and libraries: name a sparc64 system's files with --sysroot, such as \
                         --sysroot /usr/sparc64-linux-gnu of Debian's package libc6-sparc64-cross"
                    ),
                }
            }
            LoadError::Arguments(bytes) => {
                write!(
                    f,
                    "the arguments and the environment are {bytes} bytes, more than a quarter of the stack"
                )
            }
            LoadError::Memory(source) => write!(f, "no memory for the program: {source}"),
        }
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            LoadError::Read { source, .. } | LoadError::Memory(source) => Some(source),
            _ => None,
        }
    }
}

/// A program or library that was read.
pub struct Image {
    path: PathBuf,
    bytes: Vec<u8>,
    header: FileHeader64<BigEndian>,
    segments: Vec<ProgramHeader64<BigEndian>>,
}

/// The places of a file's class and byte order in its first bytes.
const EI_CLASS: usize = 4;
const EI_DATA: usize = 5;

/// The place of an [`Image`] in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The number that was added to its addresses.
    pub base: u64,
    /// The address of its first instruction.
    pub entry: u64,
    /// The address of its program headers.
    pub headers: u64,
    /// The number of its program headers.
    pub header_count: u64,
    /// The first address after it.
    pub end: u64,
}

/// Bytes of a program header.
pub const HEADER_BYTES: u64 = 56;

/// The names of the most common machines.
fn machine(bytes: &[u8]) -> String {
    let little = bytes[EI_DATA] != ELFDATA2MSB;
    let pair = [bytes[18], bytes[19]];
    let number = if little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) };
    let name = match number {
        elf::EM_X86_64 => "x86-64",
        elf::EM_386 => "x86, 32 bits",
        elf::EM_AARCH64 => "AArch64",
        elf::EM_ARM => "ARM, 32 bits",
        elf::EM_RISCV => "RISC-V",
        elf::EM_PPC64 => "64-bit PowerPC",
        elf::EM_S390 => "S/390",
        elf::EM_MIPS => "MIPS",
        elf::EM_SPARC | elf::EM_SPARC32PLUS => "32-bit SPARC",
        elf::EM_SPARCV9 => "SPARC V9 of another class or byte order",
        _ => return format!("for machine {number}"),
    };
    name.to_owned()
}

/// True if the first bytes of a file are those of a program for this machine.
#[must_use]
pub fn is_ours(bytes: &[u8]) -> bool {
    bytes.len() >= 20
        && bytes.starts_with(b"\x7fELF")
        && bytes[EI_CLASS] != ELFCLASS32
        && bytes[EI_DATA] == ELFDATA2MSB
        && u16::from_be_bytes([bytes[18], bytes[19]]) == EM_SPARCV9
}

impl Image {
    /// Reads a program.
    ///
    /// # Errors
    /// The file can't be read, or is no program for this machine.
    pub fn read(path: &Path) -> Result<Image, LoadError> {
        let bytes =
            std::fs::read(path).map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
        Image::parse(path, bytes)
    }

    fn parse(path: &Path, bytes: Vec<u8>) -> Result<Image, LoadError> {
        let path = path.to_owned();
        if !bytes.starts_with(b"\x7fELF") || bytes.len() < 20 {
            return Err(LoadError::NotElf(path));
        }
        if !is_ours(&bytes) {
            return Err(LoadError::Machine { path, machine: machine(&bytes) });
        }
        let damaged = |why: &str| LoadError::Damaged { path: path.clone(), why: why.to_owned() };
        let header = *FileHeader64::<BigEndian>::parse(bytes.as_slice())
            .map_err(|error| damaged(&error.to_string()))?;
        if !matches!(header.e_type(BigEndian), ET_EXEC | ET_DYN) {
            return Err(damaged("this is an object file, not a program: it has to be linked"));
        }
        let segments = header
            .program_headers(BigEndian, bytes.as_slice())
            .map_err(|error| damaged(&error.to_string()))?
            .to_vec();
        if !segments.iter().any(|segment| segment.p_type(BigEndian) == PT_LOAD) {
            return Err(damaged("there is nothing in it to load"));
        }
        Ok(Image { path, bytes, header, segments })
    }

    /// True if the program can lie at any address.
    #[must_use]
    pub fn is_movable(&self) -> bool {
        self.header.e_type(BigEndian) == ET_DYN
    }

    /// The program that loads its libraries, if it has any.
    ///
    /// # Errors
    /// The name lies outside the file.
    pub fn interpreter(&self) -> Result<Option<PathBuf>, LoadError> {
        use std::os::unix::ffi::OsStrExt;
        let Some(segment) = self.segments.iter().find(|segment| segment.p_type(BigEndian) == PT_INTERP)
        else {
            return Ok(None);
        };
        let name = segment
            .data(BigEndian, self.bytes.as_slice())
            .map_err(|()| self.damaged("the name of its interpreter lies outside it"))?;
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(Some(PathBuf::from(std::ffi::OsStr::from_bytes(name))))
    }

    /// The addresses that it takes before it is moved, in whole pages.
    ///
    /// # Errors
    /// A segment that is longer in the file than in memory, or reaches beyond the machine's memory.
    pub fn addresses(&self) -> Result<Range<u64>, LoadError> {
        let (mut first, mut last) = (u64::MAX, 0);
        for segment in self.loaded() {
            let (start, length) = (segment.p_vaddr(BigEndian), segment.p_memsz(BigEndian));
            let end = start.checked_add(length).filter(|end| *end <= SPAN_BYTES);
            let end =
                end.ok_or_else(|| self.damaged("it lies beyond the 256 GiB that programs have here"))?;
            if segment.p_filesz(BigEndian) > length {
                return Err(self.damaged("a segment is longer in the file than in memory"));
            }
            first = first.min(start & !(PAGE_BYTES - 1));
            last = last.max(end.next_multiple_of(PAGE_BYTES));
        }
        Ok(first..last)
    }

    fn loaded(&self) -> impl Iterator<Item = &ProgramHeader64<BigEndian>> {
        self.segments.iter().filter(|segment| segment.p_type(BigEndian) == PT_LOAD)
    }

    /// Puts the program into memory, `base` bytes above the addresses in its headers.
    ///
    /// # Errors
    /// The errors of [`Image::addresses`], or a segment that lies outside the file.
    pub fn place(&self, memory: &mut Memory, base: u64) -> Result<Placed, LoadError> {
        let addresses = self.addresses()?;
        if base.checked_add(addresses.end).is_none_or(|end| end > SPAN_BYTES) {
            return Err(self.damaged("there is no room for it in the 256 GiB that programs have here"));
        }
        let mut end = 0;
        for segment in self.loaded() {
            let contents = segment
                .data(BigEndian, self.bytes.as_slice())
                .map_err(|()| self.damaged("a segment lies outside the file"))?;
            let start = base + segment.p_vaddr(BigEndian);
            let length = segment.p_memsz(BigEndian);
            map_segment(memory, start..start + length, protection(segment.p_flags(BigEndian)));
            let written = memory.force_write(start, contents);
            written.map_err(|_| self.damaged("a segment has no place"))?;
            end = end.max(start + length);
        }
        Ok(Placed {
            base,
            entry: base.wrapping_add(self.header.e_entry(BigEndian)),
            headers: base.wrapping_add(self.headers_address()),
            header_count: self.segments.len() as u64,
            end,
        })
    }

    /// The address of its program headers before it is moved.
    fn headers_address(&self) -> u64 {
        let named = self.segments.iter().find(|segment| segment.p_type(BigEndian) == PT_PHDR);
        let offset = self.header.e_phoff(BigEndian);
        let inside = self.loaded().find(|segment| {
            let start = segment.p_offset(BigEndian);
            (start..start.saturating_add(segment.p_filesz(BigEndian))).contains(&offset)
        });
        match (named, inside) {
            (Some(named), _) => named.p_vaddr(BigEndian),
            (None, Some(inside)) => {
                inside.p_vaddr(BigEndian).wrapping_add(offset - inside.p_offset(BigEndian))
            }
            (None, None) => 0,
        }
    }

    fn damaged(&self, why: &str) -> LoadError {
        LoadError::Damaged { path: self.path.clone(), why: why.to_owned() }
    }
}

fn protection(flags: u32) -> Protection {
    let bit = |flag: u32, protection| if flags & flag != 0 { protection } else { Protection::NONE };
    bit(elf::PF_R, Protection::READ) | bit(elf::PF_W, Protection::WRITE) | bit(elf::PF_X, Protection::EXECUTE)
}

/// Maps the pages of a segment. A page that it shares with the segment before permits all that either does.
fn map_segment(memory: &mut Memory, addresses: Range<u64>, protection: Protection) {
    let mut page = addresses.start & !(PAGE_BYTES - 1);
    while page < addresses.end {
        match memory.protection(page) {
            None => memory.map(page, PAGE_BYTES, protection),
            // The page is mapped, as was just checked, so this can't fail.
            Some(before) => drop(memory.protect(page, PAGE_BYTES, before | protection)),
        }
        page += PAGE_BYTES;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header, of that class, byte order and machine.
    fn header(class: u8, order: u8, machine: [u8; 2]) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..4].copy_from_slice(b"\x7fELF");
        (bytes[4], bytes[5], bytes[6]) = (class, order, 1);
        bytes[17] = 2;
        bytes[18..20].copy_from_slice(&machine);
        bytes
    }

    fn refusal(bytes: Vec<u8>) -> String {
        match Image::parse(Path::new("a"), bytes) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_is_not_a_sparc_program_is_named() {
        assert!(refusal(b"#!/bin/sh\n echo this is a script".to_vec()).contains("no ELF"));
        assert!(refusal(header(2, 1, [62, 0])).contains("this is x86-64"));
        assert!(refusal(header(2, 1, [183, 0])).contains("this is AArch64"));
        assert!(refusal(header(1, 2, [0, 2])).contains("this is 32-bit SPARC"));
        assert!(refusal(header(1, 2, [0, 18])).contains("this is 32-bit SPARC"));
        assert!(refusal(header(2, 2, [9, 9])).contains("machine 2313"));
    }

    #[test]
    fn a_damaged_header_is_refused() {
        let mut bytes = header(2, 2, [0, 43]);
        assert!(refusal(bytes.clone()).contains("nothing in it to load"));
        // The program headers lie beyond the end.
        bytes[32..40].copy_from_slice(&0x1000_u64.to_be_bytes());
        (bytes[55], bytes[57]) = (56, 1);
        assert!(!refusal(bytes.clone()).is_empty());
        bytes[17] = 1;
        assert!(refusal(bytes).contains("object file"));
    }
}
