//! Executable memory that no image accounts for: made at run time, changed from its file, or mapped from a
//! file that is not ELF.
//!
//! No breakpoint can stand there, as nothing proves where an instruction begins. But if the bytes hold no
//! instruction of a class at any offset, then none was run, as long as nothing else was ever executed there.
//! So such memory is searched when it becomes executable, which the filter announces. If it is writable as
//! well, is shared, or nothing announces changes, it may change unnoticed. Then it counts as rewritable, and
//! nothing is known about it.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use super::made::AsItWas;
use super::modules::{Scanned, file_of};
use super::space::{Space, is_of_the_kernel};
use crate::code::{Classes, LONGEST, possible};
use crate::memory::Memory;
use crate::process::Registers;
use crate::process::maps::Map;

const PAGE: u64 = 4096;

/// The most bytes that are read at once.
const CHUNK: u64 = 1 << 20;

/// A range in which executable memory may be new or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Changed {
    pub range: Range<u64>,
    /// True when all of it must be executable. If some of it isn't, it was, and is gone already.
    pub is_all: bool,
    /// True when the memory may have existed before and been written to meanwhile.
    pub was_there: bool,
}

impl Changed {
    /// The change when everything is new.
    pub const EVERYTHING: Changed = Changed { range: 0..u64::MAX, is_all: false, was_there: false };

    /// Decodes the change that a marked call has made, from the registers at its return.
    #[cfg(target_arch = "x86_64")]
    pub fn by_call(registers: &Registers) -> Option<Changed> {
        const MMAP: u64 = 9;
        const MPROTECT: u64 = 10;
        const MREMAP: u64 = 25;
        const SHMAT: u64 = 30;
        const PKEY_MPROTECT: u64 = 329;
        /// The bit that marks calls of x32 programs.
        const X32: u64 = 0x4000_0000;
        const SHM_EXEC: u64 = 0o100_000;
        /// The flags with which mprotect extends to the end of a growing mapping.
        const GROWS: u64 = 0x0300_0000;
        let pages = |start: u64, length: u64| {
            start & !(PAGE - 1)
                ..start.saturating_add(length).checked_next_multiple_of(PAGE).unwrap_or(u64::MAX)
        };
        let result = registers.result();
        let failed = result > -4096_i64 as u64;
        let (range, is_all) = match registers.orig_rax() & !X32 {
            MPROTECT | PKEY_MPROTECT if registers.rdx() & GROWS != 0 => (0..u64::MAX, false),
            // A call that fails may have changed a part.
            MPROTECT | PKEY_MPROTECT => (pages(registers.rdi(), registers.rsi()), !failed),
            _ if failed => return None,
            MMAP => (pages(result, registers.rsi()), true),
            // Moved memory was searched in its old place.
            MREMAP => (pages(result, registers.rdx()), false),
            SHMAT => (pages(result, 1), registers.rdx() & SHM_EXEC != 0),
            // The calls of 32-bit programs have their arguments elsewhere.
            _ => (0..u64::MAX, true),
        };
        Some(Changed { range, is_all, was_there: true })
    }

    /// Returns the change that a marked call has made, which is unknown here.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn by_call(_: &Registers) -> Option<Changed> {
        Some(Changed::EVERYTHING)
    }

    fn part(&self, map: &Map) -> Range<u64> {
        map.start.max(self.range.start)..map.end.min(self.range.end)
    }
}

/// The results of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// The classes that the memory may hold instructions of.
    pub classes: Classes,
    /// The size of the largest piece that may hold some.
    pub bytes: u64,
    /// The number of bytes that can change unnoticed.
    pub rewritable: u64,
    /// True when executable memory is gone before it was searched.
    pub gone: bool,
}

/// Checks all executable memory for parts that can change unnoticed, and searches changed parts for bytes
/// that may be instructions of a class.
pub(super) fn look(space: &Space, all: &[Map], changed: Option<&Changed>) -> Found {
    let mut found = Found::default();
    let mut executable = 0;
    let pages = Pages::of(space.pid());
    for map in all.iter().filter(|map| map.executable) {
        executable += changed.map_or(0, |changed| size(&changed.part(map)));
        // The kernel's mappings hold its own code, unless the program asked for the same pages.
        let is_asked_for =
            changed.is_some_and(|changed| changed.was_there && changed.range.start == map.start);
        let is_kernel = is_of_the_kernel(map) && !map.writable;
        if is_kernel && !is_asked_for || space.is_scratch(map) {
            continue;
        }
        let image = space.image_of(map);
        if is_rewritable(map, all) || space.unannounced && matches!(image, Some(None)) {
            found.rewritable += map.end - map.start;
            continue;
        }
        let (Some(changed), Some(image)) = (changed, image.or(is_kernel.then_some(None))) else { continue };
        let part = changed.part(map);
        if part.is_empty() {
            continue;
        }
        match search(space, map, image, &part, &pages) {
            Ok(classes) if classes.is_empty() => {}
            Ok(classes) => {
                found.classes = found.classes.union(classes);
                found.bytes = found.bytes.max(size(&part));
            }
            Err(_) => found.gone = true,
        }
    }
    found.gone |= changed.is_some_and(|changed| changed.is_all && executable < size(&changed.range));
    found
}

fn size(range: &Range<u64>) -> u64 {
    range.end.saturating_sub(range.start)
}

/// Returns true when a mapping can change unnoticed while it is executable.
fn is_rewritable(map: &Map, all: &[Map]) -> bool {
    let same = |other: &&Map| map.is_file() && (other.device, other.inode) == (map.device, map.inode);
    map.writable || map.shared || all.iter().filter(same).any(|other| other.shared && other.writable)
}

/// Returns the classes that a part of a mapping may hold instructions of, beyond those that its image knows.
fn search(
    space: &Space,
    map: &Map,
    image: Option<&Scanned>,
    part: &Range<u64>,
    pages: &Pages,
) -> io::Result<Classes> {
    let memory = AsItWas { memory: &space.memory, table: &space.table };
    let known: Vec<Range<u64>> =
        image.map_or_else(Vec::new, |scanned| scanned.image.code_in_file().collect());
    let offset = |address: u64| map.offset + (address - map.start);
    let is_known = |address: u64| known.iter().any(|range| range.contains(&offset(address)));
    let mut classes = Classes::NONE;
    let mut file = None;
    let mut at = part.start;
    while at < part.end {
        let end = part.end.min(at + CHUNK);
        let entries = pages.of_range(&(at..end));
        let way = |page: u64| {
            let entry = entries.as_ref().map(|entries| entries[((page - at) / PAGE) as usize]);
            match entry {
                _ if is_known(page) && entry.is_none_or(is_own) => Way::Compare,
                _ if is_known(page) => Way::Skip,
                // A page that was never touched is empty.
                Some(entry) if !map.is_file() && !is_there(entry) => Way::Skip,
                _ => Way::Search,
            }
        };
        let mut start = at;
        while start < end {
            let how = way(start);
            let stop = (start..end).step_by(PAGE as usize).find(|page| way(*page) != how).unwrap_or(end);
            let stretch = start..stop;
            let original = match how {
                Way::Skip => None,
                Way::Search => Some(Vec::new()),
                Way::Compare => {
                    let file = file.get_or_insert_with(|| file_of(map, space.pid()).map(|(file, _)| file));
                    Some(
                        file.as_ref()
                            .map_or_else(Vec::new, |file| around(file, offset(start), size(&stretch))),
                    )
                }
            };
            if let Some(original) = original {
                classes = classes.union(search_bytes(&memory, map, &stretch, &original)?);
            }
            start = stop;
        }
        at = end;
    }
    Ok(classes)
}

/// The treatment of a page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Skip,
    Search,
    /// Only the bytes that differ from the file are searched.
    Compare,
}

/// The distance that an instruction can reach out of a stretch.
const MARGIN: usize = LONGEST - 1;

/// Returns the classes that a stretch of memory may hold instructions of, including those that cross its
/// ends. Instructions that stand at the same place in `original` don't count; that is the file's stretch with
/// a margin.
fn search_bytes(
    memory: &dyn Memory,
    map: &Map,
    stretch: &Range<u64>,
    original: &[u8],
) -> io::Result<Classes> {
    let margin = MARGIN as u64;
    let wide = stretch.start.saturating_sub(margin)..stretch.end.saturating_add(margin);
    let inner = MARGIN..MARGIN + size(stretch) as usize;
    let mut code = vec![0; inner.end + MARGIN];
    if memory.read(wide.start, &mut code).is_err() {
        code.fill(0);
        // The memory next to the stretch may be unmapped. A page within it that can't be read lies behind the
        // end of its file.
        for side in [wide.start..stretch.start, stretch.end..wide.end] {
            let place = (side.start - wide.start) as usize;
            let _ = memory.read(side.start, &mut code[place..place + size(&side) as usize]);
        }
        for (index, page) in code[inner.clone()].chunks_mut(PAGE as usize).enumerate() {
            let read = memory.read(stretch.start + index as u64 * PAGE, page);
            if !map.is_file() {
                read?;
            }
        }
    }
    let mut classes = Classes::NONE;
    possible(&code, |place, class| {
        let touches = place.end > inner.start && place.start < inner.end;
        if touches && original.get(place.clone()) != Some(&code[place]) {
            classes.insert(class);
        }
    });
    Ok(classes)
}

/// Reads a stretch of a file with a margin, as far as it exists.
fn around(file: &File, offset: u64, length: u64) -> Vec<u8> {
    let mut bytes = vec![0; length as usize + 2 * MARGIN];
    let mut have = MARGIN.saturating_sub(offset as usize);
    while let Ok(more @ 1..) = file.read_at(&mut bytes[have..], offset + have as u64 - MARGIN as u64) {
        have += more;
    }
    bytes
}

/// The kernel's information on pages, from `/proc/PID/pagemap`.
struct Pages(Option<File>);

/// Returns true when a page has any contents.
fn is_there(entry: u64) -> bool {
    const PRESENT: u64 = 1 << 63;
    const SWAPPED: u64 = 1 << 62;
    entry & (PRESENT | SWAPPED) != 0
}

/// Returns true when a page of a private mapping is the process's own copy, because it was written to.
fn is_own(entry: u64) -> bool {
    const OF_FILE: u64 = 1 << 61;
    is_there(entry) && entry & OF_FILE == 0
}

impl Pages {
    fn of(pid: i32) -> Pages {
        Pages(File::open(format!("/proc/{pid}/pagemap")).ok())
    }

    /// Returns an entry for each page, or `None` where the kernel denies access.
    fn of_range(&self, range: &Range<u64>) -> Option<Vec<u64>> {
        let mut bytes = vec![0; size(range).div_ceil(PAGE) as usize * 8];
        self.0.as_ref()?.read_exact_at(&mut bytes, range.start / PAGE * 8).ok()?;
        let (words, _) = bytes.as_chunks();
        Some(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Class;
    use crate::memory::test::Bytes;
    use crate::process::maps;

    /// The bytes of AESENC.
    const ROUND: [u8; 5] = [0x66, 0x0F, 0x38, 0xDC, 0xC1];

    fn map(line: &str) -> Map {
        maps::parse(line.as_bytes()).remove(0)
    }

    fn with(places: &[usize]) -> Vec<u8> {
        let mut code = vec![0x90; 3 * PAGE as usize];
        for place in places {
            code[*place..*place + ROUND.len()].copy_from_slice(&ROUND);
        }
        code
    }

    #[test]
    fn what_crosses_the_edge_of_a_stretch_is_found() {
        let anonymous = map("1000-4000 r-xp 0 00:00 0 ");
        let middle = 0x2000..0x3000;
        let page = PAGE as usize;
        for (place, wanted) in
            [(page - 5, false), (page - 1, true), (page + 7, true), (2 * page - 1, true), (2 * page, false)]
        {
            let memory = Bytes::new(0x1000, with(&[place]));
            let classes = search_bytes(&memory, &anonymous, &middle, &[]).unwrap();
            assert_eq!(classes.has(Class::Aes), wanted, "{place}");
        }
        let alone = Bytes::new(0x1000, with(&[0, 3 * page - 5]));
        let classes = search_bytes(&alone, &anonymous, &(0x1000..0x4000), &[]).unwrap();
        assert!(classes.has(Class::Aes), "there is nothing beside it");
        assert!(search_bytes(&alone, &anonymous, &(0x1000..0x5000), &[]).is_err(), "not all can be read");
    }

    #[test]
    fn what_the_file_has_at_the_same_place_does_not_count() {
        let file = map("2000-3000 r-xp 0 00:00 7 /x");
        let page = PAGE as usize;
        let memory = Bytes::new(0x1000, with(&[page + 20]));
        let stretch = 0x2000..0x3000;
        let same = with(&[MARGIN + 20]);
        assert!(search_bytes(&memory, &file, &stretch, &same).unwrap().is_empty());
        let elsewhere = with(&[MARGIN + 21]);
        assert!(search_bytes(&memory, &file, &stretch, &elsewhere).unwrap().has(Class::Aes));
    }

    #[test]
    fn what_can_change_is_known() {
        let private = map("2000-3000 r-xp 0 00:01 7 /x");
        assert!(!is_rewritable(&private, &[]));
        assert!(is_rewritable(&map("2000-3000 rwxp 0 00:00 0 "), &[]));
        assert!(is_rewritable(&map("2000-3000 r-xs 0 00:01 7 /x"), &[]));
        assert!(is_rewritable(&private, &[map("5000-6000 rw-s 0 00:01 7 /x")]), "by another mapping");
        assert!(!is_rewritable(&private, &[map("5000-6000 rw-s 0 00:01 8 /y")]));
    }
}
