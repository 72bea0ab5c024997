//! The state of a store's file, so that a program's searches need not open it while nobody changes it.
//!
//! Times would not do: a process that opens a store without a change writes to its file, and two changes may be within one tick of the clock.
//!
//! Ref. redb's design document, "Database header" and "Transaction slot".

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// The byte of the header whose lowest bit says which of the two slots is the newest.
const NEWEST: usize = 9;

/// The place of the first slot, and the length of each.
const SLOTS: (usize, usize) = (64, 128);

/// The place of the data's root within a slot.
const ROOT: usize = 8;

/// A state of the file: which file it is, and the root of its data with the checksum of all that is below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    inode: u64,
    root: [u8; 32],
}

impl Stamp {
    /// Returns the state of a file; none when there is no such file, or none that can be a store.
    pub fn of(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let mut header = [0; SLOTS.0 + 2 * SLOTS.1];
        file.read_exact_at(&mut header, 0).ok()?;
        let at = SLOTS.0 + usize::from(header[NEWEST] & 1) * SLOTS.1 + ROOT;
        let root = header[at..].first_chunk().copied()?;
        Some(Stamp { inode: file.metadata().ok()?.ino(), root })
    }
}

#[cfg(test)]
mod tests {
    use millstream_store::vault::{Cost, LocalVault};
    use millstream_store::{DeviceSecret, File as Store, token};

    use super::*;

    #[test]
    fn a_change_is_seen_and_an_opening_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.redb");
        assert_eq!(Stamp::of(&path), None);
        let (device, _) = DeviceSecret::find_or_make(folder.path()).unwrap();
        let cost = Cost { memory_kib: 64, passes: 1, lanes: 1 };
        let vault = LocalVault::with_cost(millstream::features().unwrap(), device, cost);
        let mut file = Store::create(&path).unwrap();
        token::make(&mut file, &vault, "first", b"271828", None).unwrap();
        drop(file);
        let mut before = Stamp::of(&path).unwrap();
        for label in ["second", "third", "fourth", "fifth"] {
            for _ in 0..3 {
                drop(Store::open(&path).unwrap());
                assert_eq!(Stamp::of(&path), Some(before));
            }
            let mut file = Store::open(&path).unwrap();
            token::make(&mut file, &vault, label, b"271828", None).unwrap();
            drop(file);
            let after = Stamp::of(&path).unwrap();
            assert_ne!(after, before);
            before = after;
        }
    }
}
