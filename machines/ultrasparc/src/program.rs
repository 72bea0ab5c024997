//! A program's file, or a library's: its code, and the places of its functions.
//! Ref. System V ABI, SPARC version 9 supplement.

use std::collections::BTreeMap;

use object::elf;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SectionFlags, SymbolFlags};

use crate::memory::PAGE_BYTES;

/// A program's or library's code, functions and segments.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The sections of code, by address.
    pub sections: Vec<Code>,
    /// The functions, by address. A function with several names is there under each, and the name that people
    /// use comes first.
    pub functions: Vec<Function>,
    /// The parts of the file that are put into memory.
    pub segments: Vec<Segment>,
}

/// A part of the file that is put into memory.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// The offset at which the segment begins in the file.
    pub offset: u64,
    /// The address in memory, relative to the file's own place if the file may be put anywhere.
    pub address: u64,
    /// The length of the segment's part of the file, in bytes.
    pub size: u64,
}

/// A section of code.
#[derive(Clone, Debug)]
pub struct Code {
    /// The name, as in `.text`.
    pub name: String,
    /// The address in memory, relative to the file's own place if the file may be put anywhere.
    pub address: u64,
    /// The words of the code.
    pub words: Vec<u32>,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The symbol.
    pub name: String,
    /// The address at which the function begins.
    pub address: u64,
    /// The length in bytes; 0 if the file does not say.
    pub size: u64,
}

/// The reason why a file can't be read as a program.
#[derive(Debug, PartialEq, Eq)]
pub struct NotAProgram(String);

impl std::fmt::Display for NotAProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not an ELF file for 64-bit SPARC: {}", self.0)
    }
}

impl std::error::Error for NotAProgram {}

impl Program {
    /// Reads a file's bytes.
    ///
    /// # Errors
    /// It is no ELF file for 64-bit SPARC.
    pub fn parse(bytes: &[u8]) -> Result<Program, NotAProgram> {
        let file = object::File::parse(bytes).map_err(|error| NotAProgram(error.to_string()))?;
        if file.architecture() != object::Architecture::Sparc64 {
            return Err(NotAProgram(format!("it is for {:?}", file.architecture())));
        }
        let mut sections = Vec::new();
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags } = section.flags() else { continue };
            if sh_flags & u64::from(elf::SHF_EXECINSTR) == 0 {
                continue;
            }
            let named = |error: object::Error| NotAProgram(format!("{:?}: {error}", section.name()));
            let name = section.name().map_err(named)?.to_owned();
            let words = section.data().map_err(named)?.chunks_exact(4);
            let words = words.map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]])).collect();
            sections.push(Code { name, address: section.address(), words });
        }
        sections.sort_by_key(|section| section.address);
        let segment = |segment: object::Segment<'_, '_>| {
            let (offset, size) = segment.file_range();
            Segment { offset, address: segment.address(), size }
        };
        let segments = file.segments().map(segment).collect();
        Ok(Program { sections, functions: functions(&file), segments })
    }

    /// Returns the number that is added to the file's addresses, if the part of it that begins at an offset lies
    /// at an address.
    #[must_use]
    pub fn bias(&self, offset: u64, address: u64) -> Option<u64> {
        // A mapping begins with a page, while a segment may begin within one.
        let page = |offset: u64| offset - offset % PAGE_BYTES;
        let holds = |part: &&Segment| page(part.offset) <= offset && offset < part.offset + part.size;
        let part = self.segments.iter().find(holds)?;
        Some(address.wrapping_sub(offset).wrapping_sub(part.address.wrapping_sub(part.offset)))
    }

    /// The functions that begin at addresses from `start` up to `end`.
    #[must_use]
    pub fn beginning_in(&self, start: u64, end: u64) -> &[Function] {
        let first = self.functions.partition_point(|function| function.address < start);
        let last = self.functions.partition_point(|function| function.address < end);
        &self.functions[first..last.max(first)]
    }

    /// The function that an address belongs to.
    #[must_use]
    pub fn function_at(&self, address: u64) -> Option<&Function> {
        let after = self.functions.partition_point(|function| function.address <= address);
        let nearest = self.functions[..after].last()?.address;
        let named = self.functions[..after].partition_point(|function| function.address < nearest);
        let mut names = self.functions[named..after].iter();
        names.find(|function| function.size == 0 || address - function.address < function.size)
    }
}

/// The functions of a file's two symbol tables, each name once.
fn functions(file: &object::File<'_>) -> Vec<Function> {
    let mut found = BTreeMap::new();
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        let SymbolFlags::Elf { st_info, .. } = symbol.flags() else { continue };
        let is_function = matches!(st_info & 15, elf::STT_FUNC | elf::STT_GNU_IFUNC);
        if let (true, false, Ok(name)) = (is_function, symbol.is_undefined(), symbol.name())
            && !name.is_empty()
        {
            // A name without underscores before it is the one that people use.
            let hidden = name.bytes().take_while(|&byte| byte == b'_').count();
            found.insert((symbol.address(), hidden, name.to_owned()), symbol.size());
        }
    }
    let function = |((address, _, name), size)| Function { name, address, size };
    found.into_iter().map(function).collect()
}
