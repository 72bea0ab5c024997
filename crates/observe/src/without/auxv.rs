//! AArch64's way to say what there is: two words of the auxiliary vector, which the kernel writes to a new program's stack.
//!
//! Where anything is withheld, HWCAP_CPUID goes as well: it says that a program may read the identification registers,
//! which the kernel answers for it and nobody can change. `/proc/PID/auxv` is the kernel's copy and stays as it is.
//!
//! Ref. Linux `arch/arm64/include/uapi/asm/hwcap.h`, `fs/binfmt_elf.c` (`create_elf_tables`).

use std::io;

use crate::capability::{Capability, Place};
use crate::memory::Memory;

const AT_NULL: u64 = 0;
const AT_HWCAP: u64 = 16;
const AT_HWCAP2: u64 = 26;

/// The bit of AT_HWCAP that says that identification registers may be read.
const HWCAP_CPUID: u64 = 1 << 11;

/// What the smallest page has: what is mapped at an address is mapped to the end of its page.
const PAGE: u64 = 4096;

/// Bits of AT_HWCAP and AT_HWCAP2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Bits([u64; 2]);

impl Bits {
    /// Those by which a program sees these features, and the way around them.
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

/// A word of the stack that is to be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Where it is.
    pub address: u64,
    /// 1 for AT_HWCAP, 2 for AT_HWCAP2.
    pub word: u8,
    /// What it is.
    pub before: u64,
    /// What it is to be.
    pub after: u64,
}

/// The words of a new program's stack that have any of these bits. `sp` is where its stack pointer is at its first instruction.
///
/// # Errors
/// When the stack can't be read.
pub fn edits(stack: &dyn Memory, sp: u64, withheld: Bits) -> io::Result<Vec<Edit>> {
    let mut words = Words { stack, next: sp, page: Vec::new() };
    let arguments = words.take()?;
    words.next = words.next.saturating_add(arguments.saturating_add(1).saturating_mul(8));
    words.page.clear();
    // The environment, to the null pointer after it.
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

/// The words of a stack, a page at a time.
struct Words<'a> {
    stack: &'a dyn Memory,
    next: u64,
    /// What of the page is still to come, the next byte last.
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

    /// What the kernel writes for a program with so many arguments and variables.
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
