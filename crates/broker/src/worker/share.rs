//! A grant's part of the memory for keys: a reserve of its own, made when it is served, which nobody else's keys use.
//!
//! A reserve is pieces of one size, which all grants share out among them, so that none leaves holes in which another's piece does not fit.
//! Inside its pieces a grant's keys lie in blocks of a power of two, each on a multiple of its size. So as long as no key takes more
//! than [`SLOT`] bytes, each key touches one block of so many bytes, and with fewer keys than slots there is always a block that none
//! touches: as many keys as slots were granted fit, whatever the order in which they came and went. A larger key takes
//! the room of several. What keys on lattices have on the heap is charged to the reserve, too: so many pieces less are for places.
//!
//! # Safety
//! A [`Share`] hands out places of pieces that it has, each to one at a time, and gives the pieces back when nobody has any place.
#![allow(unsafe_code)]

use std::alloc::Layout;
use std::collections::{BTreeMap, BTreeSet};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use millstream_accelerator::KeyMemory;
use millstream_protocol::KEY_SLOT_BYTES;

use super::memory::KeyRegions;

/// Bytes for the key of a slot: more than any takes but those of Camellia, DES and 3DES, if it is made from 256 bytes or fewer.
/// A key of DES or 3DES has some 10 KB, most of them the masks of its rounds, and so takes a block of 16 KiB: eight slots.
const SLOT: usize = KEY_SLOT_BYTES as usize;

/// Bytes of a piece: as many as the largest key takes.
const PIECE: usize = millstream_protocol::KEY_PIECE_BYTES as usize;

const UNIT: usize = 64;
const WORDS: usize = PIECE / UNIT / 64;

/// A piece, and which of its units are taken.
struct Piece {
    base: NonNull<u8>,
    taken: [u64; WORDS],
}

impl Piece {
    /// The first run of so many free units, a power of two, on a multiple of that.
    fn find(&self, units: usize) -> Option<usize> {
        if units >= 64 {
            let (words, all) = (units / 64, WORDS);
            return (0..all)
                .step_by(words)
                .find(|at| self.taken[*at..at + words].iter().all(|word| *word == 0))
                .map(|at| at * 64);
        }
        let run = (1 << units) - 1;
        (0..PIECE / UNIT).step_by(units).find(|at| self.taken[at / 64] >> (at % 64) & run == 0)
    }

    fn mark(&mut self, at: usize, units: usize, taken: bool) {
        for unit in at..at + units {
            let bit = 1 << (unit % 64);
            match taken {
                true => self.taken[unit / 64] |= bit,
                false => self.taken[unit / 64] &= !bit,
            }
        }
    }

    fn is_full(&self) -> bool {
        self.taken == [u64::MAX; WORDS]
    }

    fn is_empty(&self) -> bool {
        self.taken == [0; WORDS]
    }
}

// SAFETY: it says where memory is that its share alone has.
unsafe impl Send for Piece {}

#[derive(Default)]
struct Pieces {
    /// All pieces, by their addresses.
    all: BTreeMap<usize, Piece>,
    /// The pieces that have something free.
    open: BTreeSet<usize>,
    /// The bytes that keys have on the heap.
    beside: usize,
}

/// The reserve of one grant.
pub(super) struct Share {
    regions: Arc<KeyRegions>,
    /// The number of pieces that are reserved.
    most: usize,
    pieces: Mutex<Pieces>,
}

/// The bytes that so many slots are charged.
fn reserve(slots: usize) -> usize {
    (slots * SLOT).next_multiple_of(PIECE)
}

impl Share {
    /// Room for so many keys; none where there is none left.
    pub(super) fn new(regions: Arc<KeyRegions>, slots: usize) -> Option<Arc<Self>> {
        let bytes = reserve(slots);
        regions
            .reserve(bytes)
            .then(|| Arc::new(Share { regions, most: bytes / PIECE, pieces: Mutex::default() }))
    }

    fn layout() -> Layout {
        // Both are constants that make a layout.
        Layout::from_size_align(PIECE, UNIT).unwrap_or(Layout::new::<[u64; PIECE / 8]>())
    }
}

/// Returns the units that a layout takes; none where it is larger than a piece.
fn units(layout: Layout) -> Option<usize> {
    let bytes = layout.size().max(layout.align()).max(1);
    let units = bytes.div_ceil(UNIT).next_power_of_two();
    (units * UNIT <= PIECE && layout.align() <= UNIT).then_some(units)
}

// SAFETY: a place is a run of units that was free and is marked as taken, of a piece that this has for as long as anything of it
// is taken. What alignment there may be, that of a unit, all of them have.
unsafe impl KeyMemory for Share {
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        let units = units(layout)?;
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let Pieces { all, open, beside } = &mut *pieces;
        let found = open.iter().find_map(|address| Some((*address, all.get(address)?.find(units)?)));
        let (address, at) = match found {
            Some(found) => found,
            None if all.len() + beside.div_ceil(PIECE) < self.most => {
                let base = self.regions.allocate(Share::layout())?;
                let address = base.as_ptr().addr();
                all.insert(address, Piece { base, taken: [0; WORDS] });
                open.insert(address);
                (address, 0)
            }
            None => return None,
        };
        let piece = all.get_mut(&address)?;
        piece.mark(at, units, true);
        if piece.is_full() {
            open.remove(&address);
        }
        // SAFETY: the run lies in the piece.
        Some(unsafe { piece.base.add(at * UNIT) })
    }

    fn charge(&self, bytes: usize) -> bool {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        // A place goes with it, for which there is a piece or must be one.
        let places = pieces.all.len().max(1);
        let Some(beside) = pieces.beside.checked_add(bytes) else { return false };
        let charged = places + beside.div_ceil(PIECE) <= self.most && self.regions.charge(bytes);
        if charged {
            pieces.beside = beside;
        }
        charged
    }

    fn discharge(&self, bytes: usize) {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.beside = pieces.beside.saturating_sub(bytes);
        self.regions.discharge(bytes);
    }

    unsafe fn free(&self, at: NonNull<u8>, layout: Layout) {
        let Some(units) = units(layout) else { return };
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let place = at.as_ptr().addr();
        let Pieces { all, open, .. } = &mut *pieces;
        let Some((address, piece)) = all.range_mut(..=place).next_back() else { return };
        let address = *address;
        piece.mark((place - address) / UNIT, units, false);
        open.insert(address);
        if piece.is_empty()
            && let Some(piece) = all.remove(&address)
        {
            open.remove(&address);
            // SAFETY: it came from there, and nobody has any of it.
            unsafe { self.regions.free(piece.base, Share::layout()) };
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        // Each key has this, so none is left, nor is any piece.
        self.regions.give_up(self.most * PIECE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, 64).unwrap()
    }

    fn free(share: &Share, place: (NonNull<u8>, Layout)) {
        // SAFETY: from this share, with this layout, used no more.
        unsafe { share.free(place.0, place.1) };
    }

    #[test]
    fn what_was_granted_fits_whatever_came_and_went() {
        let regions = Arc::new(KeyRegions::new(1 << 20).unwrap());
        let slots = 40;
        let share = Share::new(regions, slots).unwrap();
        let mut places: Vec<(NonNull<u8>, Layout)> = Vec::new();
        let mut seed = 0x1234_5678_9abc_def1_u64;
        let mut any = move |below: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed >> 20) as usize % below
        };
        for _ in 0..20_000 {
            if places.len() == slots || (any(2) == 0 && !places.is_empty()) {
                free(&share, places.swap_remove(any(places.len())));
            } else {
                let layout = layout(1 + any(SLOT));
                let place = share.allocate(layout).expect("fewer keys than slots");
                let end = place.as_ptr().addr() + layout.size();
                let apart = |(other, of): &(NonNull<u8>, Layout)| {
                    other.as_ptr().addr() + of.size() <= place.as_ptr().addr() || end <= other.as_ptr().addr()
                };
                assert!(places.iter().all(apart));
                places.push((place, layout));
            }
        }
    }

    #[test]
    fn what_keys_have_on_the_heap_is_of_the_reserve() {
        let regions = Arc::new(KeyRegions::new(64 * PIECE).unwrap().with_beside(10 * PIECE));
        let share = Share::new(regions.clone(), 8 * PIECE / SLOT).unwrap();
        // One piece is for places, and all others may be on the heap.
        assert!(!share.charge(7 * PIECE + 1) && share.charge(7 * PIECE));
        let place = share.allocate(layout(PIECE)).expect("the piece that is left");
        assert!(share.allocate(layout(64)).is_none(), "the rest of the reserve is charged");
        share.discharge(PIECE);
        let next = share.allocate(layout(64)).expect("a piece is free again");
        assert!(!share.charge(1), "and is taken");
        // The heap has a limit of its own, for all grants together.
        let other = Share::new(regions, 8 * PIECE / SLOT).unwrap();
        assert!(!other.charge(4 * PIECE + 1) && other.charge(4 * PIECE));
        share.discharge(6 * PIECE);
        assert!(other.charge(3 * PIECE));
        free(&share, (place, layout(PIECE)));
        free(&share, (next, layout(64)));
    }

    #[test]
    fn one_grant_takes_nothing_of_anothers_reserve() {
        let regions = Arc::new(KeyRegions::new(16 * PIECE).unwrap());
        let greedy = Share::new(regions.clone(), 8 * PIECE / SLOT).unwrap();
        let other = Share::new(regions.clone(), 8 * PIECE / SLOT).unwrap();
        assert!(Share::new(regions.clone(), 1).is_none(), "everything is reserved");
        let mut taken: Vec<_> =
            std::iter::from_fn(|| greedy.allocate(layout(64)).map(|at| (at, layout(64)))).collect();
        assert_eq!(taken.len(), 8 * PIECE / 64);
        // Holes everywhere: what is left of each piece is one key.
        let (left, freed): (Vec<_>, Vec<_>) =
            taken.drain(..).enumerate().partition(|(at, _)| at % (PIECE / 64) == 0);
        freed.into_iter().for_each(|(_, place)| free(&greedy, place));
        taken.extend(left.into_iter().map(|(_, place)| place));
        let large: Vec<_> =
            std::iter::from_fn(|| other.allocate(layout(PIECE)).map(|at| (at, layout(PIECE)))).collect();
        assert_eq!(large.len(), 8);
        taken.into_iter().for_each(|place| free(&greedy, place));
        drop(greedy);
        let next = Share::new(regions, 8 * PIECE / SLOT).unwrap();
        assert!(next.allocate(layout(PIECE)).is_some());
        large.into_iter().for_each(|place| free(&other, place));
    }
}
