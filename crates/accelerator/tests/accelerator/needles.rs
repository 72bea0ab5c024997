//! Bytes that may not be found in memory: those of keys, of expanded keys and of objects; and the places to look for them.
//!
//! # Safety
//! [`Seen`] gives out memory of the system's allocator, all zero, and takes it back with the layout it was asked for.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use millstream_accelerator::{KeyMemory, PreparedKey, SharedKeyMemory};
use millstream_cpu::{FeatureSet, Features};
use millstream_cwq::Algorithm;
use millstream_engines::engines;

/// Eight bytes that may not be found, and what they are.
#[derive(Default)]
pub struct Needles {
    all: HashMap<u64, (usize, usize)>,
    /// The names of what needles are of. Each needle has the number of its name, and its first byte there.
    names: Vec<String>,
    /// A bit for each needle, so that other bytes are passed over quickly.
    bits: Vec<u64>,
}

const BITS: usize = 1 << 22;

fn bit(window: u64) -> usize {
    (window.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 42) as usize % BITS
}

impl Needles {
    fn insert(&mut self, window: u64, from: usize) {
        if self.bits.is_empty() {
            self.bits = vec![0; BITS / 64];
        }
        self.bits[bit(window) / 64] |= 1 << (bit(window) % 64);
        self.all.insert(window, (self.names.len() - 1, from));
    }

    /// Every eight bytes at multiples of four, as they are and with the bytes of each half or of all reversed.
    pub fn add(&mut self, what: &str, secret: &[u8]) {
        self.names.push(what.to_owned());
        for at in (0..(secret.len() + 1).saturating_sub(8)).step_by(4) {
            let bytes: [u8; 8] = secret[at..at + 8].try_into().expect("eight bytes");
            let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
            let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
            let (a, b, whole) = (half(0), half(4), u64::from_le_bytes(bytes));
            for needle in [whole, whole.swap_bytes(), pair(a.swap_bytes(), b.swap_bytes()), pair(b, a)] {
                self.insert(needle, at);
            }
        }
    }

    /// A key, and all that it is expanded to where these features are there: round keys, hash keys and their powers,
    /// states after the padded key. What another key is expanded to as well is nobody's secret.
    pub fn add_key(&mut self, features: Features, algorithm: Algorithm, key: &[u8]) {
        let what = format!("{algorithm:?}, {} bytes", key.len());
        for part in secret_parts(algorithm, key) {
            self.add(&format!("{what}: key"), part);
        }
        // A key of RSA is made of nothing but its numbers, of which some are public; those on lattices and on hashes lie elsewhere, and their places
        // tell where.
        let elsewhere = ["ml-", "slh-"].iter().any(|begin| algorithm.name().starts_with(begin));
        if algorithm == Algorithm::Rsa || elsewhere {
            return;
        }
        self.names.push(format!("{what}: expanded"));
        let other = other_key(algorithm, key);
        let place = expanded(features, algorithm, key, 0x11);
        // Bytes that differ between two expansions of one key are no part of it, but unused bytes with leftovers of the stack.
        let again = expanded(features, algorithm, key, 0x22);
        let other = expanded(features, algorithm, &other, 0x11);
        let windows = |place: &[u8]| -> Vec<u64> {
            let words = place.windows(8).step_by(4);
            words.map(|window| u64::from_ne_bytes(window.try_into().expect("eight bytes"))).collect()
        };
        let other = windows(&other);
        let common: BTreeSet<u64> = other.iter().copied().collect();
        let (place, again) = (windows(&place), windows(&again));
        for (index, ((window, again), other)) in place.into_iter().zip(again).zip(other).enumerate() {
            if window == again && !common.contains(&window) && is_like_no_other(window, other) {
                self.insert(window, 4 * index);
            }
        }
    }

    /// Returns the needles that are in memory, each with the first place.
    pub fn scan(&self, memory: &[u8]) -> BTreeMap<String, usize> {
        let mut found = BTreeMap::new();
        // Most of it is zero.
        for (block, at) in memory.chunks(64).zip((0..).step_by(64)) {
            if block == &[0; 64][..block.len()] {
                continue;
            }
            for at in at..(at + 64).min(memory.len().saturating_sub(7)) {
                let window = u64::from_le_bytes(memory[at..at + 8].try_into().expect("eight bytes"));
                if self.bits[bit(window) / 64] >> (bit(window) % 64) & 1 == 1
                    && let Some((name, from)) = self.all.get(&window)
                {
                    found.entry(format!("{} from byte {from}", self.names[*name])).or_insert(at);
                }
            }
        }
        found
    }
}

/// Returns false for eight bytes that memory may hold by chance: masks and small numbers, and those of which half is no secret, because
/// another key is expanded to it in the same place. Four bytes that are beside zeros are among a program's tables often enough.
fn is_like_no_other(window: u64, other: u64) -> bool {
    let bytes = window.to_ne_bytes();
    let values: BTreeSet<u8> = bytes.into_iter().collect();
    let zeros = bytes.iter().filter(|byte| **byte == 0).count();
    let halves = [0, 32].map(|shift| (window >> shift) as u32 != (other >> shift) as u32);
    values.len() >= 5 && zeros <= 1 && halves == [true; 2]
}

/// Returns the bytes of a key that are secret. Those of RSA come after the public exponent, from where numbers begin at any byte.
fn secret_parts(algorithm: Algorithm, key: &[u8]) -> Vec<&[u8]> {
    // The second half of a key of SLH-DSA is the public one.
    if algorithm.name().starts_with("slh-") {
        return vec![&key[..key.len() / 2]];
    }
    if algorithm != Algorithm::Rsa {
        return vec![key];
    }
    let exponent = key.windows(5).position(|bytes| bytes == [2, 3, 1, 0, 1]).expect("65537");
    (5..9).map(|skip| &key[exponent + skip..]).collect()
}

/// Returns another key of the algorithm.
fn other_key(algorithm: Algorithm, key: &[u8]) -> Vec<u8> {
    let mut other: Vec<u8> = key.iter().map(|byte| byte.wrapping_mul(167) ^ 0x5b).collect();
    if algorithm == Algorithm::P521 {
        // Above it there is no scalar.
        other[0] = 0;
    }
    other
}

/// Memory whose places are looked into.
#[derive(Default)]
struct Seen(Mutex<Vec<(usize, Layout)>>);

// SAFETY: the memory is the system's; a layout is of a key, so it is not empty.
unsafe impl KeyMemory for Seen {
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        // SAFETY: as above.
        let at = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        self.0.lock().unwrap().push((at.as_ptr().expose_provenance(), layout));
        Some(at)
    }

    fn charge(&self, _bytes: usize) -> bool {
        true
    }

    fn discharge(&self, _bytes: usize) {}

    unsafe fn free(&self, at: NonNull<u8>, layout: Layout) {
        // SAFETY: as the caller says.
        unsafe { dealloc(at.as_ptr(), layout) }
    }
}

/// Fills the stack below the caller.
#[inline(never)]
fn fill_stack(byte: u8) {
    std::hint::black_box(&[byte; 64 << 10]);
}

/// The place of a key, as it is in a slot, where that byte lay on the stack.
fn expanded(features: Features, algorithm: Algorithm, key: &[u8], on_stack: u8) -> Vec<u8> {
    fill_stack(on_stack);
    let seen = Arc::new(Seen::default());
    let memory: SharedKeyMemory = seen.clone();
    let _key = PreparedKey::new(features, algorithm, key, false, Some(&memory)).expect("a good key");
    let (at, layout) = seen.0.lock().unwrap()[0];
    // SAFETY: the place is the key's, which nobody changes, and all of it was zero at first.
    unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(at), layout.size()).to_vec() }
}

/// All of this processor's features, and subsets of them: together every kernel is chosen that any subset chooses, by as
/// few as a greedy search finds. Each with the names of the features that are left out.
pub fn subsets() -> Vec<(Features, String)> {
    let hardware = Features::hardware();
    let mut relevant = FeatureSet::EMPTY;
    for kernel in engines().iter().flat_map(|engine| engine.kernels()) {
        relevant = relevant.union(kernel.requires);
    }
    // Each feature is left out of every set found so far, so that all sets that dependencies allow are found once.
    let mut sets = vec![hardware];
    for feature in relevant.intersection(hardware.set()).iter() {
        for at in 0..sets.len() {
            let less = sets[at].without(feature.into());
            if sets.iter().all(|set| set.set() != less.set()) {
                sets.push(less);
            }
        }
    }
    let chosen = |features: Features| -> BTreeSet<(usize, &'static str)> {
        engines().iter().enumerate().map(|(at, engine)| (at, engine.chosen(features).name)).collect()
    };
    let mut offers: Vec<_> = sets.into_iter().map(|set| (set, chosen(set))).collect();
    let mut missing: BTreeSet<_> = offers.iter().flat_map(|(_, chosen)| chosen.iter().copied()).collect();
    missing = missing.difference(&chosen(hardware)).copied().collect();
    let mut picked = vec![(hardware, String::new())];
    while !missing.is_empty() {
        let best = (0..offers.len()).max_by_key(|at| offers[*at].1.intersection(&missing).count());
        let (set, chosen) = offers.swap_remove(best.expect("some set chooses what is missing"));
        missing = missing.difference(&chosen).copied().collect();
        picked.push((set, hardware.set().difference(set.set()).to_string()));
    }
    picked
}
