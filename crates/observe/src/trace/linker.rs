//! Finds the function that the dynamic linker calls, for debuggers, after mapping or unmapping a library.
//!
//! Ref. `struct r_debug` in glibc's and musl's link.h; System V ABI, DT_DEBUG.

use crate::memory::Memory;

const AT_PHDR: u64 = 3;
const AT_PHNUM: u64 = 5;
const PT_DYNAMIC: u32 = 2;
const PT_PHDR: u32 = 6;
const DT_DEBUG: u64 = 21;
/// The size of a 64-bit program header.
const HEADER: u64 = 56;

/// Returns the address of that function, or `None` in a static program, or before the linker has run.
pub(super) fn breakpoint(auxiliary_vector: &[u8], memory: &dyn Memory) -> Option<u64> {
    let headers = auxiliary(auxiliary_vector, AT_PHDR)?;
    let count = auxiliary(auxiliary_vector, AT_PHNUM)?.min(64);
    let mut bias = 0;
    let mut dynamic = None;
    for index in 0..count {
        let header = headers + index * HEADER;
        let address = memory.word(header + 16).ok()?;
        match memory.word(header).ok()? as u32 {
            PT_PHDR => bias = headers.wrapping_sub(address),
            PT_DYNAMIC => dynamic = Some((address, memory.word(header + 40).ok()?)),
            _ => {}
        }
    }
    let (address, length) = dynamic?;
    let start = address.wrapping_add(bias);
    let entries = (0..(length / 16).min(256)).map(|index| start.wrapping_add(index * 16));
    for entry in entries {
        match memory.word(entry).ok()? {
            DT_DEBUG => {
                let debug = memory.word(entry + 8).ok().filter(|debug| *debug != 0)?;
                return memory.word(debug + 16).ok().filter(|function| *function != 0);
            }
            0 => return None,
            _ => {}
        }
    }
    None
}

fn auxiliary(vector: &[u8], wanted: u64) -> Option<u64> {
    let word = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).ok();
    vector
        .chunks_exact(16)
        .find(|entry| word(&entry[..8]) == Some(wanted))
        .and_then(|entry| word(&entry[8..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_has_a_linker_or_is_static() {
        let memory = super::super::guard::SpaceMemory::open(std::process::id() as i32).unwrap();
        let vector = std::fs::read("/proc/self/auxv").unwrap();
        let dynamic = std::fs::read_to_string("/proc/self/maps").unwrap().contains("/ld-");
        let found = breakpoint(&vector, &memory);
        assert_eq!(found.is_some(), dynamic);
        if let Some(function) = found {
            let mut code = [0; 1];
            memory.read(function, &mut code).unwrap();
        }
    }
}
