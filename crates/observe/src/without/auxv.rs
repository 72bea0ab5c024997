//! The features in AArch64's auxiliary vector: two words that the kernel writes to a new program's stack.
//!
//! If any feature is withheld, HWCAP_CPUID is cleared as well. It tells a program that it may read the
//! identification registers, which the kernel emulates and nobody can change. `/proc/PID/auxv` is the
//! kernel's own copy and stays as it is.
//!
//! Ref. Linux `arch/arm64/include/uapi/asm/hwcap.h`, `fs/binfmt_elf.c` (`create_elf_tables`).

use std::io;

use crate::capability::{Capability, Place};
use crate::memory::Memory;

const AT_NULL: u64 = 0;
const AT_HWCAP: u64 = 16;
const AT_HWCAP2: u64 = 26;

/// The bit of AT_HWCAP that allows reading the identification registers.
const HWCAP_CPUID: u64 = 1 << 11;

/// The size of the smallest page. If an address is mapped, so is the rest of its page.
const PAGE: u64 = 4096;

/// Bits of AT_HWCAP and AT_HWCAP2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Bits([u64; 2]);

impl Bits {
    /// Returns the bits that show these features, and the bit of the way around them.
    pub fn of<'a>(capabilities: impl IntoIterator<Item = &'a Capability>) -> Bits {
        let mut bits = Bits::default();
        for place in capabilities.into_iter().flat_map(|capability| capability.places) {
            if let Place::Hwcap { word: word @ (1 | 2), bit } = place {
                bits.0[usize::from(*word) - 1] |= 1 << bit;
                bits.0[0] |= HWCAP_CPUID;
            }
        }
        bits
    }
}

/// A word of the stack that must be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The address.
    pub address: u64,
    /// 1 for AT_HWCAP, 2 for AT_HWCAP2.
    pub word: u8,
    /// The present value.
    pub before: u64,
    /// The new value.
    pub after: u64,
}

/// Returns the words of a new program's stack that have any of these bits. `sp` is the stack pointer at the
/// program's first instruction.
///
/// # Errors
/// Fails when the stack can't be read.
pub fn edits(stack: &dyn Memory, sp: u64, withheld: Bits) -> io::Result<Vec<Edit>> {
    let mut words = Words { stack, next: sp, page: Vec::new() };
    let arguments = words.take()?;
    words.next = words.next.saturating_add(arguments.saturating_add(1).saturating_mul(8));
    words.page.clear();
    // This skips the environment, up to the null pointer after it.
    while words.take()? != 0 {}
    let mut edits = vec![];
    loop {
        let kind = words.take()?;
        let address = words.next;
        let before = words.take()?;
        let word = match kind {
            AT_NULL => return Ok(edits),
            AT_HWCAP => 1,
            AT_HWCAP2 => 2,
            _ => continue,
        };
        let after = before & !withheld.0[usize::from(word) - 1];
        if after != before {
            edits.push(Edit { address, word, before, after });
        }
    }
}

/// An iterator over the words of a stack, which reads a page at a time.
struct Words<'a> {
    stack: &'a dyn Memory,
    next: u64,
    /// The rest of the page in reverse order, so that the next byte is last.
    page: Vec<u8>,
}

impl Words<'_> {
    fn take(&mut self) -> io::Result<u64> {
        if self.page.len() < 8 {
            let length = PAGE - self.next % PAGE;
            self.page = vec![0; length as usize];
            self.stack.read(self.next, &mut self.page)?;
            self.page.reverse();
        }
        self.next += 8;
        let bytes = self.page.split_off(self.page.len() - 8);
        Ok(bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::AARCH64;
    use crate::memory::test::Bytes;

    /// Builds the stack that the kernel writes for so many arguments and variables.
    fn stack(arguments: u64, variables: u64, hwcap: u64, hwcap2: u64) -> (Bytes, u64) {
        let mut words = vec![arguments];
        words.extend((0..arguments).map(|index| 0x7fff_0000 + index));
        words.push(0);
        words.extend((0..variables).map(|index| 0x7fff_8000 + index));
        words.push(0);
        words.extend([33, 0x1_0000, 16, hwcap, 6, 4096, 26, hwcap2, 15, 0x7fff_9000, 0, 0]);
        let sp = 0x7fff_f000_0ff0;
        let mut bytes = vec![0xee; 0xff0];
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.resize(bytes.len().next_multiple_of(PAGE as usize), 0);
        (Bytes::new(0x7fff_f000_0000, bytes), sp)
    }

    fn named(names: &[&str]) -> Bits {
        Bits::of(AARCH64.iter().filter(|capability| names.contains(&capability.name)))
    }

    #[test]
    fn bits_of_features_are_cleared_wherever_they_stand() {
        for (arguments, variables) in [(1, 0), (0, 3), (3, 40), (700, 900)] {
            let (stack, sp) = stack(arguments, variables, 0xffff_ffff, 1 << 16 | 1 << 2);
            let edits = edits(&stack, sp, named(&["aes", "rng"])).unwrap();
            let after = [0xffff_ffff & !(1 << 3 | 1 << 11), 1 << 2];
            assert_eq!(edits.iter().map(|edit| edit.after).collect::<Vec<_>>(), after);
            for (edit, kind) in edits.iter().zip([AT_HWCAP, AT_HWCAP2]) {
                assert_eq!(stack.word(edit.address - 8).unwrap(), kind);
                assert_eq!(stack.word(edit.address).unwrap(), edit.before);
            }
        }
    }

    #[test]
    fn the_identification_registers_go_with_any_feature_and_with_none_stay() {
        let (stack, sp) = stack(1, 1, HWCAP_CPUID, 0);
        assert_eq!(edits(&stack, sp, named(&["sve2"])).unwrap()[0].after, 0);
        assert!(edits(&stack, sp, Bits::default()).unwrap().is_empty());
    }

    #[test]
    fn a_stack_without_end_is_an_error() {
        let stack = Bytes::new(0x1000, vec![1; 4096]);
        assert!(edits(&stack, 0x1000, named(&["aes"])).is_err());
        assert!(edits(&stack, 0x4000, named(&["aes"])).is_err());
    }
}
