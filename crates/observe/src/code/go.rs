//! Go's table of functions. Stripped programs keep it, as the runtime needs it to unwind.
//!
//! Ref. Go's `runtime/symtab.go` and `debug/gosym/pclntab.go`; the headers of Go 1.2, 1.16, 1.18 and 1.20.

use std::ops::Range;

use memchr::memmem;

use super::bounds::{Bounds, Found};
use super::elf::{Elf, Section, Segment, text_at, u32_at, u64_at};

/// The layout of a version's table.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// The width of a number in the list of functions, which is an address or a distance from the start of
    /// the code.
    entry: usize,
    /// Offsets in the header of the distances to the names, the position tables and the list of functions.
    names: Option<usize>,
    positions: Option<usize>,
    functions: Option<usize>,
}

/// The table of one image.
#[derive(Debug)]
pub(super) struct GoTable {
    bytes: Vec<u8>,
    layout: Layout,
    count: usize,
    text: u64,
}

/// The number of places that are tried, where bytes look like the start of a table.
const MOST_TRIES: usize = 16;
/// The largest number of functions in a table.
const MOST_FUNCTIONS: u64 = 1 << 24;

impl GoTable {
    /// Finds the table by its section, or by its first bytes.
    pub fn read(elf: &Elf<'_>) -> Option<GoTable> {
        let named = elf.sections.iter().find(|section| section.name.ends_with(".gopclntab"));
        if let Some(section) = named {
            let bytes = elf.section_bytes(section)?;
            return GoTable::parse(elf, section.address, bytes);
        }
        // Other linkers than Go's put the table among other data.
        data(elf).into_iter().find_map(|range| {
            let bytes = elf.at_address(range.start, range.end - range.start)?;
            starts(&bytes)
                .take(MOST_TRIES)
                .find_map(|at| GoTable::parse(elf, range.start + at as u64, bytes[at..].to_vec()))
        })
    }

    fn parse(elf: &Elf<'_>, address: u64, bytes: Vec<u8>) -> Option<GoTable> {
        let layout = layout(&bytes)?;
        let count = u64_at(&bytes, 8).filter(|count| (1..MOST_FUNCTIONS).contains(count))?;
        let mut table = GoTable { bytes, layout, count: usize::try_from(count).ok()?, text: 0 };
        if layout.entry == 4 {
            let first = table.list_entry(0)?.0;
            table.text = text(elf, address, &table.bytes, first)?;
        }
        // The last entry is the end of the last function. Both ends must lie in the code.
        let (start, end) = (table.list_entry(0)?.0, table.list_end()?);
        let code = elf.executable();
        let inside = code.iter().any(|code| code.contains(&start))
            && code.iter().any(|code| code.contains(&end.saturating_sub(1)));
        inside.then_some(table)
    }

    fn header(&self, at: Option<usize>) -> Option<usize> {
        at.map_or(Some(0), |at| usize::try_from(u64_at(&self.bytes, at)?).ok())
    }

    fn list(&self) -> Option<usize> {
        match self.layout.functions {
            Some(_) => self.header(self.layout.functions),
            // The list follows the header of Go 1.2.
            None => Some(16),
        }
    }

    fn number(&self, at: usize) -> Option<u64> {
        match self.layout.entry {
            4 => u32_at(&self.bytes, at).map(u64::from),
            _ => u64_at(&self.bytes, at),
        }
    }

    /// Returns a function's start, and the place of its description.
    fn list_entry(&self, index: usize) -> Option<(u64, usize)> {
        let width = self.layout.entry;
        let at = self.list()?.checked_add(index.checked_mul(2 * width)?)?;
        let more = usize::try_from(self.number(at + width)?).ok()?;
        // Distances count from the list's start, or in Go 1.2 from the table's.
        let base = if self.layout.functions.is_some() { self.list()? } else { 0 };
        Some((self.text.checked_add(self.number(at)?)?, base.checked_add(more)?))
    }

    fn list_end(&self) -> Option<u64> {
        let at = self.list()?.checked_add(self.count.checked_mul(2 * self.layout.entry)?)?;
        self.text.checked_add(self.number(at)?)
    }

    fn name(&self, function: usize) -> Option<&str> {
        let name = u32_at(&self.bytes, function.checked_add(self.layout.entry)?)? as usize;
        text_at(&self.bytes, self.header(self.layout.names)?.checked_add(name)?)
    }

    /// Returns all functions.
    pub fn functions(&self) -> Vec<Found> {
        let mut found = Vec::new();
        for index in 0..self.count {
            let Some((start, function)) = self.list_entry(index) else { break };
            let next = if index + 1 < self.count {
                self.list_entry(index + 1).map(|(next, _)| next)
            } else {
                self.list_end()
            };
            let Some(end) = next.filter(|next| start < *next) else { continue };
            let name = self.name(function).filter(|name| !name.is_empty()).map(Into::into);
            found.push(Found { range: start..end, bounds: Bounds::GoTable, name });
        }
        found
    }

    /// Returns how far the stack pointer has moved down at an address since the function's entry.
    pub fn stack_depth(&self, address: u64) -> Option<i64> {
        let (mut low, mut high) = (0, self.count);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if self.list_entry(middle)?.0 <= address { low = middle } else { high = middle }
        }
        let (start, function) = self.list_entry(low)?;
        // Entry, name, arguments and deferred calls stand before the table of depths.
        let depths = u32_at(&self.bytes, function.checked_add(self.layout.entry + 12)?)? as usize;
        if address < start || address >= self.list_end()? || depths == 0 {
            return None;
        }
        let mut at = self.header(self.layout.positions)?.checked_add(depths)?;
        let (mut position, mut depth) = (start, -1i64);
        while position <= address {
            let change = variable(&self.bytes, &mut at)?;
            if change == 0 && position != start {
                return None;
            }
            depth += i64::from((change >> 1) as i32 ^ -((change & 1) as i32));
            position = position.checked_add(u64::from(variable(&self.bytes, &mut at)?))?;
        }
        Some(depth)
    }
}

/// Reads a number in groups of seven bits.
fn variable(bytes: &[u8], at: &mut usize) -> Option<u32> {
    let mut value = 0u32;
    for shift in (0..35).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u32::from(byte & 0x7F).checked_shl(shift).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Returns the ranges where a table may be: sections with data, or all segments where there are no sections.
/// Read-only ones come first.
fn data(elf: &Elf<'_>) -> Vec<Range<u64>> {
    if elf.sections.is_empty() {
        let mut segments: Vec<_> = elf.segments.iter().collect();
        segments.sort_by_key(|segment| segment.flags & 3);
        return segments.into_iter().map(Segment::addresses).collect();
    }
    let mut sections: Vec<_> = elf.sections.iter().filter(|section| section.is_data()).collect();
    sections.sort_by_key(|section| section.flags & 1);
    let addresses = |section: &Section| section.address..section.address.saturating_add(section.size);
    sections.into_iter().map(addresses).collect()
}

/// Returns the places where a table may begin.
fn starts(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let heads = memmem::find_iter(bytes, &BEHIND_MAGIC).filter_map(|at| at.checked_sub(4));
    heads.filter(|at| at.is_multiple_of(8) && layout(&bytes[*at..]).is_some())
}

/// Two zeros, the size of the smallest instruction, and the size of an address.
const BEHIND_MAGIC: [u8; 4] = [0, 0, 1, 8];

fn layout(bytes: &[u8]) -> Option<Layout> {
    if bytes.get(4..8) != Some(&BEHIND_MAGIC) {
        return None;
    }
    Some(match u32_at(bytes, 0)? {
        0xFFFF_FFFB => Layout { entry: 8, names: None, positions: None, functions: None },
        0xFFFF_FFFA => Layout { entry: 8, names: Some(24), positions: Some(48), functions: Some(56) },
        0xFFFF_FFF0 | 0xFFFF_FFF1 => {
            Layout { entry: 4, names: Some(32), positions: Some(56), functions: Some(64) }
        }
        _ => return None,
    })
}

/// Returns the start of the code, from the header, the runtime's description of the module, or the section.
fn text(elf: &Elf<'_>, table: u64, bytes: &[u8], first: u64) -> Option<u64> {
    let said = u64_at(bytes, 24)?;
    let code = elf.executable();
    let is_code = |address: u64| code.iter().any(|code: &Range<u64>| code.contains(&address));
    if said != 0 && is_code(said) {
        return Some(said);
    }
    let section = || elf.section(".text").map(|section| section.address);
    of_module(elf, table, first).filter(|text| is_code(*text)).or_else(section)
}

/// Finds the module's description, which begins with the table's address. The lowest address of a function
/// and the start of the code stand further on.
fn of_module(elf: &Elf<'_>, table: u64, first: u64) -> Option<u64> {
    const LOWEST: usize = 160;
    const TEXT: usize = 176;
    let writable = elf.segments.iter().filter(|segment| segment.flags & 2 != 0);
    writable.into_iter().find_map(|segment| {
        let bytes = elf.at_address(segment.address, segment.memory_size)?;
        (0..bytes.len().saturating_sub(TEXT + 8)).step_by(8).find_map(|at| {
            let text = u64_at(&bytes, at + TEXT)?;
            (u64_at(&bytes, at)? == table && u64_at(&bytes, at + LOWEST)? == text.checked_add(first)?)
                .then_some(text)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::elf::Source;

    const CODE: u64 = 0x40_1000;
    const TABLE: u64 = 0x50_0000;

    fn put(bytes: &mut Vec<u8>, at: usize, value: u64, width: usize) {
        bytes.resize(bytes.len().max(at + width), 0);
        bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
    }

    /// Builds a table with two functions of 0x20 and 0x30 bytes, `main.a` and `main.b`. The second has a
    /// frame of 0x18 bytes from its fourth byte on.
    fn table(magic: u32, layout: Layout) -> Vec<u8> {
        let (list, names, positions, functions) = (0x100, 0x200, 0x240, 0x300);
        let mut bytes = Vec::new();
        put(&mut bytes, 0, u64::from(magic), 4);
        put(&mut bytes, 4, 0x0801_0000, 4);
        put(&mut bytes, 8, 2, 8);
        let list = layout.functions.map_or(16, |_| list);
        for (place, at) in [(layout.names, names), (layout.positions, positions), (layout.functions, list)] {
            if let Some(place) = place {
                put(&mut bytes, place, at as u64, 8);
            }
        }
        // Wide entries hold addresses, narrow ones distances.
        let base = if layout.entry == 4 { 0 } else { CODE };
        if layout.entry == 4 {
            put(&mut bytes, 24, CODE, 8);
        }
        let from_list = if layout.functions.is_some() { list } else { 0 };
        let name_base = if layout.names.is_some() { 0 } else { names };
        let position_base = if layout.positions.is_some() { 1 } else { positions + 1 };
        for (index, start) in [0u64, 0x20].into_iter().enumerate() {
            let (entry, more) = (list + index * 2 * layout.entry, functions + index * 0x40);
            put(&mut bytes, entry, base + start, layout.entry);
            put(&mut bytes, entry + layout.entry, (more - from_list) as u64, layout.entry);
            put(&mut bytes, more, base + start, layout.entry);
            put(&mut bytes, more + layout.entry, (name_base + index * 8) as u64, 4);
            put(&mut bytes, more + layout.entry + 12, position_base as u64, 4);
        }
        put(&mut bytes, list + 4 * layout.entry, base + 0x50, layout.entry);
        bytes[names..names + 14].copy_from_slice(b"main.a\0\0main.b");
        // The depth starts at -1, rises by 1 for 4 bytes, and by 0x18 for 0x2c bytes.
        bytes[positions + 1..positions + 6].copy_from_slice(&[2, 4, 0x30, 0x2C, 0]);
        bytes
    }

    /// Builds a file with code and the table, each in a segment.
    fn file(table: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 0x2000];
        bytes[..8].copy_from_slice(b"\x7FELF\x02\x01\x01\0");
        for (at, value, width) in [(16, 2, 2), (18, 62, 2), (32, 64, 8), (54, 56, 2), (56, 2, 2)] {
            put(&mut bytes, at, value, width);
        }
        let segments = [(5, 0x1000, CODE, 0x100), (4, 0x2000, TABLE, table.len() as u64)];
        for (index, (flags, offset, address, size)) in segments.into_iter().enumerate() {
            let at = 64 + index * 56;
            for (place, value, width) in
                [(0, 1, 4), (4, flags, 4), (8, offset, 8), (16, address, 8), (32, size, 8), (40, size, 8)]
            {
                put(&mut bytes, at + place, value, width);
            }
        }
        bytes.extend(table);
        bytes
    }

    #[test]
    fn tables_of_all_versions_are_read() {
        for magic in [0xFFFF_FFFB, 0xFFFF_FFFA, 0xFFFF_FFF0, 0xFFFF_FFF1u32] {
            let mut head = vec![0, 0, 0, 0, 0, 0, 1, 8];
            head[..4].copy_from_slice(&magic.to_le_bytes());
            let file = file(&table(magic, layout(&head).unwrap()));
            let found = GoTable::read(&Elf::read(Source::Bytes(&file)).unwrap()).expect("a table");
            let functions: Vec<_> = found
                .functions()
                .into_iter()
                .map(|found| (found.range, found.name.unwrap().into_string()))
                .collect();
            let expected =
                [(CODE..CODE + 0x20, "main.a".to_owned()), (CODE + 0x20..CODE + 0x50, "main.b".to_owned())];
            assert_eq!(functions, expected, "{magic:x}");
            let depths = [0x20, 0x23, 0x24, 0x4F, 0x50].map(|at| found.stack_depth(CODE + at));
            assert_eq!(depths, [Some(0), Some(0), Some(0x18), Some(0x18), None], "{magic:x}");
        }
    }
}
