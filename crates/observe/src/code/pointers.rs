//! Addresses of code in an image's data: the functions that the loader calls, and the targets of function
//! pointers and method tables.
//!
//! Ref. System V ABI, chapter 5, *Dynamic Section* and *Relocation*; RELR as in the same chapter's newest draft.

use std::ops::Range;

use super::elf::{Elf, Segment, u64_at, value};

// Tags of entries for the dynamic linker.
const INIT: u64 = 12;
const FINI: u64 = 13;
/// Arrays of functions that are called at start and end: the tags of address and size.
const ARRAYS: [(u64, u64); 3] = [(25, 27), (26, 28), (32, 33)];
const RELA: (u64, u64) = (7, 8);
const RELR: (u64, u64) = (36, 35);

/// The relocation that adds the base to a number: R_X86_64_RELATIVE.
const RELATIVE: u64 = 8;

/// The most data that is searched for addresses.
const MOST: u64 = 256 << 20;
/// The largest number of packed relocations that is read.
const MOST_PLACES: usize = 16 << 20;

/// The addresses of code that data holds.
#[derive(Debug, Default)]
pub(super) struct Pointers {
    /// Addresses that the loader calls, which are functions for certain.
    pub called: Vec<u64>,
    /// Targets of pointers, in order. They may be functions, places within them, or tables among the code.
    pub pointed_to: Vec<u64>,
}

impl Pointers {
    /// Collects the addresses that lie in `code`.
    pub fn read(elf: &Elf<'_>, code: &[Range<u64>]) -> Pointers {
        let dynamic = elf.dynamic().unwrap_or_default();
        let table = |(at, size): (u64, u64)| {
            let start = elf.dynamic_address(&dynamic, at)?;
            Some(start..start.checked_add(value(&dynamic, size)?.min(MOST))?)
        };
        let arrays: Vec<Range<u64>> = ARRAYS.into_iter().filter_map(table).collect();
        let mut found = match elf.is_absolute {
            true => words(elf),
            false => relocated(elf, table(RELA), table(RELR)),
        };
        let is_code = |address: &u64| {
            let next = code.partition_point(|range| range.start <= *address);
            code[..next].last().is_some_and(|range| range.contains(address))
        };
        found.retain(|(_, target)| is_code(target));
        let (called, pointed_to): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|(place, _)| arrays.iter().any(|array| array.contains(place)));
        let targets = |found: Vec<(u64, u64)>| found.into_iter().map(|(_, target)| target);
        let named = [INIT, FINI].into_iter().filter_map(|tag| elf.dynamic_address(&dynamic, tag));
        let called = targets(called).chain(named).chain([elf.entry]).filter(is_code).collect();
        let mut pointed_to: Vec<u64> = targets(pointed_to).collect();
        pointed_to.sort_unstable();
        pointed_to.dedup();
        Pointers { called, pointed_to }
    }
}

/// Returns each word in data that may be an address of a program linked for fixed addresses: its place and
/// its value.
fn words(elf: &Elf<'_>) -> Vec<(u64, u64)> {
    let first = elf.segments.first().map_or(0, |first| first.address);
    let last = elf.segments.last().map_or(0, |last| last.addresses().end);
    let mut found = Vec::new();
    for (start, bytes) in data(elf, |segment| !segment.is_executable()) {
        let skipped = start.wrapping_neg() % 8;
        let words = bytes.get(skipped as usize..).unwrap_or_default().chunks_exact(8);
        let numbers = words.filter_map(|word| u64_at(word, 0));
        let places = (start.saturating_add(skipped)..).step_by(8);
        found.extend(places.zip(numbers).filter(|(_, number)| (first..last).contains(number)));
    }
    found
}

/// Returns each word that the dynamic linker relocates by the base: its place and its value.
fn relocated(elf: &Elf<'_>, rela: Option<Range<u64>>, relr: Option<Range<u64>>) -> Vec<(u64, u64)> {
    let bytes = |range: Range<u64>| elf.at_address(range.start, range.end - range.start);
    let mut found = Vec::new();
    for entry in rela.and_then(bytes).unwrap_or_default().chunks_exact(24) {
        if let [Some(place), Some(RELATIVE), Some(target)] = [0, 8, 16].map(|at| u64_at(entry, at)) {
            found.push((place, target));
        }
    }
    let packed = relr.and_then(bytes).unwrap_or_default();
    if packed.is_empty() {
        return found;
    }
    let data = data(elf, |segment| segment.is_writable());
    let number_at = |place: u64| {
        let next = data.partition_point(|(start, _)| *start <= place);
        let (start, bytes) = data[..next].last()?;
        u64_at(bytes, usize::try_from(place - start).ok()?)
    };
    let places = places_of(packed.chunks_exact(8).filter_map(|word| u64_at(word, 0)));
    found.extend(places.filter_map(|place| Some((place, elf.as_linked(number_at(place)?)))));
    found
}

/// Returns the bytes of the `wanted` segments with their addresses.
fn data(elf: &Elf<'_>, wanted: impl Fn(&Segment) -> bool) -> Vec<(u64, Vec<u8>)> {
    let segments = elf.segments.iter().filter(|segment| wanted(segment));
    let bytes = |segment: &Segment| {
        Some((segment.address, elf.at_address(segment.address, segment.file_size.min(MOST))?))
    };
    segments.filter_map(bytes).collect()
}

/// Expands RELR. An even word is a place; an odd one has a bit for each of the 63 words behind the last
/// place.
fn places_of(words: impl Iterator<Item = u64>) -> impl Iterator<Item = u64> {
    let mut next = 0_u64;
    let places = words.flat_map(move |word| {
        let (first, bits, count) = if word & 1 == 0 { (word, 1, 1) } else { (next, word >> 1, 63) };
        next = first.wrapping_add(8 * count);
        (0..count).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| first.wrapping_add(8 * bit))
    });
    places.take(MOST_PLACES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_places_are_unpacked() {
        // The words stand for 0x1000, the second and the last word behind it, the first word behind those,
        // then 0x4000 and the word behind it.
        let words = [0x1000, 1 | 1 << 2 | 1 << 63, 1 | 1 << 1, 0x4000, 1 | 1 << 1];
        let places: Vec<u64> = places_of(words.into_iter()).collect();
        assert_eq!(places, [0x1000, 0x1010, 0x11F8, 0x1200, 0x4000, 0x4008]);
    }
}
