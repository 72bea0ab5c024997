//! The unwinding tables: the stretches of code that they describe, and how to leave a function from any place
//! in it.
//!
//! Ref. System V ABI, AMD64 supplement, §3.7 and §4.2.4; LSB Core, chapter 10.6; DWARF 5, §6.4.

use std::collections::HashMap;
use std::ops::Range;

use gimli::{
    BaseAddresses, CieOrFde, CommonInformationEntry, EhFrame, EhFrameOffset, EndianSlice,
    FrameDescriptionEntry, LittleEndian, UnwindSection,
};

use super::elf::Elf;

pub(super) type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The tables of one image.
#[derive(Debug, Default)]
pub(super) struct Frames {
    table: Vec<u8>,
    bases: BaseAddresses,
    /// The range that each entry describes, and the entry's place in the table; ordered.
    entries: Vec<(Range<u64>, usize)>,
}

impl Frames {
    /// Finds the tables by their section, or by the header that the program itself uses.
    pub fn read(elf: &Elf<'_>) -> Frames {
        let by_name = elf.section(".eh_frame").and_then(|section| {
            let bytes = elf.section_bytes(section)?;
            Some((section.address, bytes))
        });
        let Some((address, table)) = by_name.or_else(|| by_header(elf)) else { return Frames::default() };
        let text = elf.executable().first().map_or(0, |code| code.start);
        let bases = BaseAddresses::default().set_eh_frame(address).set_text(text);
        let mut frames = Frames { table, bases, entries: Vec::new() };
        frames.entries = frames.index();
        frames
    }

    fn index(&self) -> Vec<(Range<u64>, usize)> {
        let section = EhFrame::new(&self.table, LittleEndian);
        let mut known: HashMap<usize, CommonInformationEntry<Bytes<'_>>> = HashMap::new();
        let mut entries = section.entries(&self.bases);
        let mut found = Vec::new();
        // An entry that can't be parsed ends the list. The entries before it stay valid.
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else { continue };
            let parsed = partial.parse(|section, bases, offset| {
                if let Some(cie) = known.get(&offset.0) {
                    return Ok(cie.clone());
                }
                let cie = section.cie_from_offset(bases, offset)?;
                known.insert(offset.0, cie.clone());
                Ok(cie)
            });
            let Ok(entry) = parsed else { continue };
            let (start, length) = (entry.initial_address(), entry.len());
            // Functions that the linker discarded begin at zero.
            if let Some(end) = start.checked_add(length).filter(|_| start != 0 && length != 0) {
                found.push((start..end, entry.offset()));
            }
        }
        found.sort_by_key(|(range, _)| (range.start, range.end));
        found
    }

    /// Returns the ranges that are described, ordered by their start.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.entries.iter().map(|(range, _)| range.clone())
    }

    /// Returns true when an entry describes `address`.
    pub fn describe(&self, address: u64) -> bool {
        self.find(address).is_some()
    }

    fn find(&self, address: u64) -> Option<usize> {
        let next = self.entries.partition_point(|(range, _)| range.start <= address);
        let (range, offset) = self.entries[..next].last()?;
        range.contains(&address).then_some(*offset)
    }

    /// Calls `with` with the entry that describes the code at an address.
    pub fn entry<T>(
        &self,
        address: u64,
        with: impl FnOnce(&EhFrame<Bytes<'_>>, &BaseAddresses, &FrameDescriptionEntry<Bytes<'_>>) -> Option<T>,
    ) -> Option<T> {
        let offset = self.find(address)?;
        let section = EhFrame::new(&self.table, LittleEndian);
        let entry = section
            .fde_from_offset(&self.bases, EhFrameOffset(offset), |section, bases, offset| {
                section.cie_from_offset(bases, offset)
            })
            .ok()?;
        with(&section, &self.bases, &entry)
    }
}

fn by_header(elf: &Elf<'_>) -> Option<(u64, Vec<u8>)> {
    let header = elf.frame_header?;
    let bytes = elf.at_address(header, 16)?;
    let bases = BaseAddresses::default().set_eh_frame_hdr(header);
    let parsed = gimli::EhFrameHdr::new(&bytes, LittleEndian).parse(&bases, 8).ok()?;
    let gimli::Pointer::Direct(address) = parsed.eh_frame_ptr() else { return None };
    Some((address, elf.at_address(address, u64::MAX)?))
}
