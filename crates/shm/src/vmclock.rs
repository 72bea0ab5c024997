//! The generation of a virtual machine, in the page that its VMClock device shows.
//!
//! A hypervisor changes the number before a machine that was restored from a snapshot goes on. The page is the only way in which Linux
//! tells a program of that: the driver of the older device, `vmgenid`, only seeds the kernel's random generator, and its uevent, of Linux 6.8,
//! was taken back.
//!
//! Ref. Linux, `include/uapi/linux/vmclock-abi.h`; UAPI Group, "VMClock".

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::mapping::{Mapping, Words};

const PATH: &str = "/dev/vmclock0";
/// The first four bytes, "VCLK".
const MAGIC: u32 = 0x4b4c_4356;
/// The bytes up to the end of the counter.
const SIZE: u32 = 112;
/// The flag of pages that have the counter.
const HAS_COUNTER: u64 = 1 << 8;
/// The byte at which the flags lie, and the one at which the counter does.
const FLAGS_AT: usize = 24;
const COUNTER_AT: usize = 104;

/// The generation of the virtual machine that this process runs in.
///
/// ```
/// // Machines without the device have none.
/// if let Some(generation) = millstream_shm::VmGeneration::open() {
///     assert_eq!(generation.get(), generation.get(), "unless the machine was restored in between");
/// }
/// ```
#[derive(Debug)]
pub struct VmGeneration(Words);

impl VmGeneration {
    /// Maps the page of `/dev/vmclock0`; none where there is no such device, this process may not read it, or it counts no generations.
    pub fn open() -> Option<Self> {
        VmGeneration::of(&Mapping::of_device(&File::open(PATH).ok()?).ok()?)
    }

    fn of(page: &Arc<Mapping>) -> Option<Self> {
        let word = |at| Some(u64::from_le(page.words(at, 1)?[0].load(Ordering::Relaxed)));
        let (begin, version) = (word(0)?, word(8)? as u16);
        let (magic, size) = (begin as u32, (begin >> 32) as u32);
        let known = magic == MAGIC && size >= SIZE && version == 1 && word(FLAGS_AT)? & HAS_COUNTER != 0;
        page.words(COUNTER_AT, 1).filter(|_| known).map(VmGeneration)
    }

    /// Returns the number. It takes a load, and no system call.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0[0].load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_with_a_counter_is_read_and_no_other() {
        let page = Mapping::private(4096).unwrap();
        let set = |at: usize, word: u64| page.words(at, 1).unwrap()[0].store(word.to_le(), Ordering::Relaxed);
        assert!(VmGeneration::of(&page).is_none(), "nothing but zeros");
        let (begin, version, flags) =
            (u64::from(SIZE) << 32 | u64::from(MAGIC), 1 | 5 << 16, HAS_COUNTER | 3);
        for (at, word, other) in
            [(0, begin, u64::from(MAGIC)), (8, version, 2), (FLAGS_AT, flags, flags & !HAS_COUNTER)]
        {
            [(0, begin), (8, version), (FLAGS_AT, flags)].into_iter().for_each(|(at, word)| set(at, word));
            assert!(VmGeneration::of(&page).is_some());
            set(at, other);
            assert!(VmGeneration::of(&page).is_none(), "another word at {at}");
            set(at, word);
        }
        let generation = VmGeneration::of(&page).unwrap();
        let before = generation.get();
        set(COUNTER_AT, 9);
        assert_ne!(generation.get(), before);
    }
}
