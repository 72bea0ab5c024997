//! The headers of an ELF file or of its image in memory: segments, sections, symbols. Every number in them is
//! doubted.
//!
//! Ref. System V ABI, chapters 4 and 5; its AMD64 supplement.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use super::error::ImageError;
use crate::memory::Memory;

/// The place that an image is read from.
pub(super) enum Source<'a> {
    Bytes(&'a [u8]),
    File(&'a File, u64),
    /// A memory, and the address in it at which the file's first byte is mapped.
    Memory(&'a dyn Memory, u64),
}

/// The largest number of program headers or sections that is read. No program has as many.
const MOST_HEADERS: usize = 4096;
/// The largest single read, whatever a header asks for.
const MOST_BYTES: u64 = 1 << 31;
/// The bytes that may be read in all, as a multiple of the file's length.
const TIMES_READ: u64 = 8;
/// The size of one read from memory, where the next chunk may be missing.
const CHUNK: usize = 1 << 16;

pub(super) const EXECUTABLE: u32 = 1;
const WRITABLE: u32 = 2;
const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;

// Tags of entries for the dynamic linker.
const NEEDED: u64 = 1;
const STRTAB: u64 = 5;
const SYMTAB: u64 = 6;
const STRSZ: u64 = 10;
const NOTE: u32 = 4;
const GNU_EH_FRAME: u32 = 0x6474_E550;
const MACHINE_X86_64: u16 = 62;

/// A part of the file that is mapped.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub flags: u32,
    pub offset: u64,
    pub address: u64,
    pub file_size: u64,
    pub memory_size: u64,
}

impl Segment {
    pub fn is_executable(&self) -> bool {
        self.flags & EXECUTABLE != 0
    }

    pub fn is_writable(&self) -> bool {
        self.flags & WRITABLE != 0
    }

    pub fn addresses(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.memory_size)
    }
}

/// A part of the file with a name.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub name: Box<str>,
    pub kind: u32,
    pub flags: u64,
    pub address: u64,
    pub offset: u64,
    pub size: u64,
    link: u32,
}

impl Section {
    /// Returns true for a mapped section that holds bytes but no code.
    pub fn is_data(&self) -> bool {
        self.flags & 6 == 2 && self.kind != 8
    }

    pub fn is_executable(&self) -> bool {
        // ALLOC and EXECINSTR are set, and the type is not NOBITS.
        self.flags & 6 == 6 && self.kind != 8
    }
}

/// A symbol that is defined here and has an address.
#[derive(Clone, Debug)]
pub(super) struct Symbol {
    pub address: u64,
    pub size: u64,
    pub kind: u8,
    /// True for a symbol with local binding.
    pub is_local: bool,
    pub name: Box<str>,
}

impl Symbol {
    /// True for FUNC and GNU_IFUNC.
    pub fn is_function(&self) -> bool {
        matches!(self.kind, 2 | 10)
    }

    /// True for OBJECT, which is data.
    pub fn is_data(&self) -> bool {
        self.kind == 1
    }

    /// True for NOTYPE, which may be anything.
    pub fn is_label(&self) -> bool {
        self.kind == 0
    }
}

/// The headers of an image.
pub(super) struct Elf<'a> {
    source: Source<'a>,
    pub segments: Vec<Segment>,
    pub sections: Vec<Section>,
    pub frame_header: Option<u64>,
    /// True for a program that was linked for fixed addresses.
    pub is_absolute: bool,
    /// The address at which the program starts.
    pub entry: u64,
    dynamic: Option<Range<u64>>,
    notes: Vec<Range<u64>>,
    /// The bytes that may still be read. Without a bound, headers could name the same bytes many times.
    budget: Cell<u64>,
    /// The number to add to an address to find it in memory, for an image in memory; 0 for a file.
    bias: u64,
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// Returns the text up to the next zero byte.
pub(super) fn text_at(bytes: &[u8], at: usize) -> Option<&str> {
    let rest = bytes.get(at..)?;
    let end = rest.iter().take(4096).position(|byte| *byte == 0)?;
    std::str::from_utf8(&rest[..end]).ok()
}

impl<'a> Elf<'a> {
    pub fn read(source: Source<'a>) -> Result<Elf<'a>, ImageError> {
        let header = source.at_offset(0, 64).map_err(ImageError::Read)?;
        if header.get(..4) != Some(b"\x7FELF") {
            return Err(ImageError::NotElf);
        }
        let machine = u16_at(&header, 18).ok_or(ImageError::Malformed("header"))?;
        // Only 64-bit, little-endian images for x86-64 are accepted.
        if header.get(4..6) != Some(&[2, 1]) || machine != MACHINE_X86_64 {
            return Err(ImageError::Machine(machine));
        }
        let budget = match &source {
            Source::Bytes(bytes) => TIMES_READ.saturating_mul(bytes.len() as u64),
            Source::File(_, length) => TIMES_READ.saturating_mul(*length),
            Source::Memory(..) => MOST_BYTES,
        };
        let mut elf = Elf {
            source,
            segments: Vec::new(),
            sections: Vec::new(),
            frame_header: None,
            is_absolute: u16_at(&header, 16) == Some(2),
            entry: u64_at(&header, 24).unwrap_or(0),
            dynamic: None,
            notes: Vec::new(),
            budget: Cell::new(budget),
            bias: 0,
        };
        elf.read_segments(&header).ok_or(ImageError::Malformed("program headers"))?;
        // Sections are a convenience. Without them the segments suffice.
        if !matches!(elf.source, Source::Memory(..)) && elf.read_sections(&header).is_none() {
            elf.sections.clear();
        }
        Ok(elf)
    }

    pub fn of_file(file: &'a File) -> Result<Elf<'a>, ImageError> {
        let length = file.metadata().map_err(ImageError::Read)?.len();
        Elf::read(Source::File(file, length))
    }

    fn read_segments(&mut self, header: &[u8]) -> Option<()> {
        let count = usize::from(u16_at(header, 56)?);
        let size = usize::from(u16_at(header, 54)?);
        if size < 56 || count > MOST_HEADERS {
            return None;
        }
        let table = self.source.at_offset(u64_at(header, 32)?, size * count).ok()?;
        for entry in table.chunks_exact(size) {
            self.read_segment(entry)?;
        }
        // Linux maps only images whose segments are in order and don't overlap.
        self.segments.sort_by_key(|segment| segment.address);
        let apart = self.segments.windows(2).all(|pair| pair[0].addresses().end <= pair[1].address);
        let first = self.segments.iter().find(|segment| segment.offset == 0);
        if let (Source::Memory(_, base), Some(first)) = (&self.source, first) {
            self.bias = base.wrapping_sub(first.address);
        }
        apart.then_some(())
    }

    fn read_segment(&mut self, entry: &[u8]) -> Option<()> {
        let segment = Segment {
            flags: u32_at(entry, 4)?,
            offset: u64_at(entry, 8)?,
            address: u64_at(entry, 16)?,
            file_size: u64_at(entry, 32)?.min(u64_at(entry, 40)?),
            memory_size: u64_at(entry, 40)?,
        };
        segment.address.checked_add(segment.memory_size)?;
        match u32_at(entry, 0)? {
            LOAD => self.segments.push(segment),
            DYNAMIC => self.dynamic = Some(segment.addresses()),
            NOTE => self.notes.push(segment.addresses()),
            GNU_EH_FRAME => self.frame_header = Some(segment.address),
            _ => {}
        }
        Some(())
    }

    fn read_sections(&mut self, header: &[u8]) -> Option<()> {
        let (size, count) = (usize::from(u16_at(header, 58)?), usize::from(u16_at(header, 60)?));
        if size < 64 || count > MOST_HEADERS || count == 0 {
            return None;
        }
        let table = self.source.at_offset(u64_at(header, 40)?, size * count).ok()?;
        let names = table.chunks_exact(size).nth(usize::from(u16_at(header, 62)?))?;
        let names = self.at_offset(u64_at(names, 24)?, u64_at(names, 32)?)?;
        for entry in table.chunks_exact(size) {
            self.sections.push(Section {
                name: text_at(&names, u32_at(entry, 0)? as usize).unwrap_or_default().into(),
                kind: u32_at(entry, 4)?,
                flags: u64_at(entry, 8)?,
                address: u64_at(entry, 16)?,
                offset: u64_at(entry, 24)?,
                size: u64_at(entry, 32)?,
                link: u32_at(entry, 40)?,
            });
        }
        Some(())
    }

    /// Reads bytes of the file, within the budget.
    fn at_offset(&self, offset: u64, size: u64) -> Option<Vec<u8>> {
        if size > MOST_BYTES {
            return None;
        }
        self.budget.set(self.budget.get().checked_sub(size)?);
        self.source.at_offset(offset, usize::try_from(size).ok()?).ok()
    }

    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| &*section.name == name && section.kind != 8)
    }

    pub fn section_bytes(&self, section: &Section) -> Option<Vec<u8>> {
        self.at_offset(section.offset, section.size)
    }

    /// Returns the bytes at an address of the image's own: `size` of them, or fewer where the segment ends.
    pub fn at_address(&self, address: u64, size: u64) -> Option<Vec<u8>> {
        let segment = self.segments.iter().find(|segment| segment.addresses().contains(&address))?;
        let inside = address - segment.address;
        if let Source::Memory(memory, _) = self.source {
            let size = size.min(segment.memory_size - inside).min(MOST_BYTES);
            self.budget.set(self.budget.get().checked_sub(size)?);
            return Some(read_some(memory, address.wrapping_add(self.bias), usize::try_from(size).ok()?));
        }
        let size = size.min(segment.file_size.checked_sub(inside)?);
        self.at_offset(segment.offset.checked_add(inside)?, size)
    }

    /// Returns the executable ranges: sections, because a segment may hold tables as well, or segments where
    /// there are no sections.
    pub fn executable(&self) -> Vec<Range<u64>> {
        let in_code = |range: &Range<u64>| {
            self.segments.iter().any(|segment| {
                let code = segment.addresses();
                segment.is_executable() && code.start <= range.start && range.end <= code.end
            })
        };
        let sections = self.sections.iter().filter(|section| section.is_executable());
        let mut ranges: Vec<Range<u64>> = sections
            .map(|section| section.address..section.address.saturating_add(section.size))
            .filter(|range| !range.is_empty() && in_code(range))
            .collect();
        ranges.sort_by_key(|range| range.start);
        ranges.dedup();
        // Sections that overlap are not trusted.
        let apart = ranges.windows(2).all(|pair| pair[0].end <= pair[1].start);
        if ranges.is_empty() || !apart {
            let segments = self.segments.iter().filter(|segment| segment.is_executable());
            ranges = segments.map(Segment::addresses).collect();
        }
        ranges
    }

    /// Returns the build id, if the linker left one.
    pub fn build_id(&self) -> Option<Vec<u8>> {
        self.notes.iter().find_map(|range| {
            let notes = self.at_address(range.start, (range.end - range.start).min(1 << 16))?;
            build_id_among(&notes)
        })
    }

    /// Returns the build id from its section, for files without segments that hold nothing but names.
    pub fn build_id_by_section(&self) -> Option<Vec<u8>> {
        build_id_among(&self.section_bytes(self.section(".note.gnu.build-id")?)?)
    }

    /// Returns the data that can't be written to, where texts are.
    pub fn read_only_data(&self) -> Vec<Vec<u8>> {
        let sections = self.sections.iter().filter(|section| section.flags & 7 == 2 && section.kind == 1);
        let texts: Vec<_> = sections.filter_map(|section| self.section_bytes(section)).collect();
        if !texts.is_empty() {
            return texts;
        }
        let segments = self.segments.iter().filter(|segment| !segment.is_writable());
        segments.filter_map(|segment| self.at_address(segment.address, segment.memory_size)).collect()
    }

    /// Returns the symbols that have an address, from the file's own table and from the exported one.
    pub fn symbols(&self) -> Vec<Symbol> {
        // SHT_SYMTAB and SHT_DYNSYM.
        let tables = self.sections.iter().filter(|section| matches!(section.kind, 2 | 11));
        let mut symbols = Vec::new();
        for table in tables {
            let names = self.sections.get(table.link as usize).and_then(|names| self.section_bytes(names));
            if let (Some(table), Some(names)) = (self.section_bytes(table), names) {
                symbols.extend(table.chunks_exact(24).filter_map(|entry| symbol(entry, &names)));
            }
        }
        if self.sections.is_empty() {
            symbols.extend(self.dynamic_symbols().unwrap_or_default());
        }
        symbols
    }

    /// Returns the entries for the dynamic linker: tags and values.
    pub fn dynamic(&self) -> Option<Vec<(u64, u64)>> {
        let range = self.dynamic.clone()?;
        let dynamic = self.at_address(range.start, (range.end - range.start).min(1 << 16))?;
        dynamic.chunks_exact(16).map(|entry| u64_at(entry, 0).zip(u64_at(entry, 8))).collect()
    }

    /// Returns the address that stands under a tag.
    pub fn dynamic_address(&self, dynamic: &[(u64, u64)], tag: u64) -> Option<u64> {
        let address = value(dynamic, tag)?;
        // In memory, the dynamic linker may have replaced the value with a relocated address.
        let known = self.segments.iter().any(|segment| segment.addresses().contains(&address));
        Some(if known { address } else { address.wrapping_sub(self.bias) })
    }

    /// Translates an address from the image's data back to the image's own. In memory, it is relocated
    /// already.
    pub fn as_linked(&self, address: u64) -> u64 {
        if matches!(self.source, Source::Memory(..)) { address.wrapping_sub(self.bias) } else { address }
    }

    /// Returns the names of the libraries that the image is linked to.
    pub fn needed(&self) -> Vec<String> {
        self.needed_libraries().unwrap_or_default()
    }

    fn needed_libraries(&self) -> Option<Vec<String>> {
        const MOST: u64 = 1 << 20;
        let dynamic = self.dynamic()?;
        let size = value(&dynamic, STRSZ)?;
        let names = self.at_address(self.dynamic_address(&dynamic, STRTAB)?, size.min(MOST))?;
        let needed = dynamic.iter().filter(|(tag, _)| *tag == NEEDED);
        let name = |at: u64| text_at(&names, usize::try_from(at).ok()?).map(str::to_owned);
        Some(needed.filter_map(|(_, at)| name(*at)).collect())
    }

    /// Reads the exported symbols from the dynamic linker's tables.
    fn dynamic_symbols(&self) -> Option<Vec<Symbol>> {
        let dynamic = self.dynamic()?;
        // The number of symbols is recorded nowhere, but the names follow the symbols.
        let (names, symbols) =
            (self.dynamic_address(&dynamic, STRTAB)?, self.dynamic_address(&dynamic, SYMTAB)?);
        let names_size = value(&dynamic, STRSZ)?;
        let names_text = self.at_address(names, names_size.min(MOST_BYTES))?;
        let size = names.checked_sub(symbols).filter(|size| *size < 1 << 28)?;
        let table = self.at_address(symbols, size)?;
        Some(table.chunks_exact(24).filter_map(|entry| symbol(entry, &names_text)).collect())
    }
}

/// Returns the first value with a tag.
pub(super) fn value(dynamic: &[(u64, u64)], tag: u64) -> Option<u64> {
    dynamic.iter().find(|(found, _)| *found == tag).map(|(_, value)| *value)
}

fn symbol(entry: &[u8], names: &[u8]) -> Option<Symbol> {
    let (address, size) = (u64_at(entry, 8)?, u64_at(entry, 16)?);
    let kind = entry[4] & 15;
    // Undefined symbols, and those that are no function, data or label, are left out.
    if u16_at(entry, 6)? == 0 || address == 0 || !matches!(kind, 0..=2 | 10) {
        return None;
    }
    let name = text_at(names, u32_at(entry, 0)? as usize).filter(|name| !name.is_empty())?;
    Some(Symbol { address, size, kind, is_local: entry[4] >> 4 == 0, name: name.into() })
}

fn build_id_among(notes: &[u8]) -> Option<Vec<u8>> {
    let mut at = 0usize;
    loop {
        let (name, size) = (u32_at(notes, at)? as usize, u32_at(notes, at + 4)? as usize);
        let text = at + 12;
        let content = text.checked_add(name.checked_next_multiple_of(4)?)?;
        if u32_at(notes, at + 8)? == 3 && notes.get(text..text + 4) == Some(b"GNU\0") {
            return notes.get(content..content.checked_add(size)?).map(<[u8]>::to_vec);
        }
        at = content.checked_add(size.checked_next_multiple_of(4)?)?;
    }
}

impl Source<'_> {
    fn at_offset(&self, offset: u64, size: usize) -> io::Result<Vec<u8>> {
        let short =
            || io::Error::new(io::ErrorKind::UnexpectedEof, "the file is shorter than its headers say");
        match self {
            Source::Bytes(bytes) => {
                let start = usize::try_from(offset).map_err(|_| short())?;
                let end = start.checked_add(size).ok_or_else(short)?;
                bytes.get(start..end).map(<[u8]>::to_vec).ok_or_else(short)
            }
            Source::File(file, length) => {
                if offset.checked_add(size as u64).is_none_or(|end| end > *length) {
                    return Err(short());
                }
                let mut bytes = vec![0; size];
                file.read_exact_at(&mut bytes, offset)?;
                Ok(bytes)
            }
            Source::Memory(memory, base) => {
                // Only headers are read by offset from memory, and they lie at the start.
                if size > CHUNK * 4 {
                    return Err(short());
                }
                let mut bytes = vec![0; size];
                memory.read(base.wrapping_add(offset), &mut bytes)?;
                Ok(bytes)
            }
        }
    }
}

/// Reads memory from `address` on, up to the first chunk that is missing.
fn read_some(memory: &dyn Memory, address: u64, size: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < size {
        let mut chunk = vec![0; CHUNK.min(size - bytes.len())];
        if memory.read(address.wrapping_add(bytes.len() as u64), &mut chunk).is_err() {
            break;
        }
        bytes.append(&mut chunk);
    }
    bytes
}
