//! Executes an instruction under a standing breakpoint elsewhere: moved to scratch memory, with a jump back
//! behind it.
//!
//! A hit then costs one trap and no single step, and all threads may pass at once. The moved instruction has
//! the same effects as in its place: operands relative to the program counter are encoded anew. Instructions
//! that depend on their place in any other way are emulated or stepped over.

use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, Decoder, DecoderOptions, FlowControl, Instruction,
    InstructionBlock, OpKind, Register,
};

use super::breakpoints::Original;

/// The room for one moved instruction and its jump back.
pub const SLOT: u64 = 32;

/// The way in which a thread passes an instruction under a breakpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The instruction does nothing, so the thread goes on behind it.
    Skip,
    /// The thread goes on at this address.
    Jump(u64),
    /// The tracer pushes this register for the thread.
    Push(Register),
    /// The tracer pops the return address, and the thread goes on there.
    Return,
    /// The thread executes the instruction in scratch memory.
    Move,
    /// The tracer restores the byte, steps the thread once, and writes the byte again.
    Step,
}

/// Returns the way past the instruction at `address`.
pub fn way(original: &Original, address: u64) -> Way {
    let instruction = decode(original, address);
    match instruction.code() {
        Code::Endbr64 | Code::Nopw | Code::Nopd | Code::Nopq => Way::Skip,
        Code::Nop_rm16 | Code::Nop_rm32 | Code::Nop_rm64 => Way::Skip,
        Code::Jmp_rel8_64 | Code::Jmp_rel32_64 => Way::Jump(instruction.near_branch_target()),
        Code::Retnq => Way::Return,
        Code::Push_r64 => Way::Push(instruction.op0_register()),
        _ if movable(&instruction) => Way::Move,
        _ => Way::Step,
    }
}

fn decode(original: &Original, address: u64) -> Instruction {
    Decoder::with_ip(64, original.bytes(), address, DecoderOptions::NONE).decode()
}

/// Returns true when an instruction has the same effects elsewhere. Calls would leave another address on the
/// stack, branches would leave the slot, and others examine system calls.
fn movable(instruction: &Instruction) -> bool {
    let branches = (0..instruction.op_count())
        .any(|operand| matches!(instruction.op_kind(operand), OpKind::NearBranch64 | OpKind::FarBranch32));
    !instruction.is_invalid() && instruction.flow_control() == FlowControl::Next && !branches
}

/// A moved instruction, with the mapping of program counters in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The address of the original.
    pub site: u64,
    /// The address behind the original.
    pub next: u64,
    /// The address of the copy.
    pub slot: u64,
    /// The length of the copy.
    length: u64,
    /// The copy and the jump back.
    pub bytes: Vec<u8>,
}

impl Moved {
    /// Encodes the instruction of `site` for `slot`. Returns `None` if it can't be executed there, because
    /// the slot is too far off or the instruction can't be moved.
    pub fn new(original: &Original, site: u64, slot: u64) -> Option<Moved> {
        let instruction = decode(original, site);
        if !movable(&instruction) {
            return None;
        }
        let block = InstructionBlock::new(std::slice::from_ref(&instruction), slot);
        let mut bytes = BlockEncoder::encode(64, block, BlockEncoderOptions::NONE).ok()?.code_buffer;
        let length = bytes.len() as u64;
        let next = site + instruction.len() as u64;
        let distance = next.wrapping_sub(slot + length + 5).cast_signed();
        bytes.push(0xE9);
        bytes.extend(i32::try_from(distance).ok()?.to_le_bytes());
        (bytes.len() as u64 <= SLOT).then_some(Moved { site, next, slot, length, bytes })
    }

    /// Returns the program counter that the thread would have without the move.
    pub fn real(&self, pc: u64) -> Option<u64> {
        match pc.checked_sub(self.slot)? {
            0 => Some(self.site),
            offset if offset == self.length => Some(self.next),
            _ => None,
        }
    }
}

/// Returns a gap of `length` bytes from which all of `near` is within reach of a 32-bit displacement.
/// `mapped` is in the order of addresses.
pub fn gap(mapped: &[(u64, u64)], near: (u64, u64), length: u64) -> Option<u64> {
    const REACH: u64 = 0x7FF0_0000;
    const LOWEST: u64 = 0x1_0000;
    const HIGHEST: u64 = 0x7FFF_FFFF_0000;
    // The margin leaves room for a stack that grows down, and for guard pages.
    const MARGIN: u64 = 0x10_0000;
    let bottom = near.1.saturating_sub(REACH).max(LOWEST);
    let top = near.0.saturating_add(REACH).min(HIGHEST);
    let after = mapped.iter().map(|(_, end)| *end);
    let before = mapped.iter().map(|(start, _)| *start).skip(1).chain([HIGHEST]);
    let gaps = [(LOWEST, mapped.first()?.0)].into_iter().chain(after.zip(before));
    let mut best: Option<u64> = None;
    for (start, end) in gaps {
        let start = start.saturating_add(MARGIN).max(bottom).next_multiple_of(0x1000);
        let end = end.saturating_sub(MARGIN).min(top);
        if start.checked_add(length).is_some_and(|last| last <= end) {
            // The place is at the upper end of its gap, because the heap grows up from below. The nearest gap
            // wins.
            let place = (end - length) & !0xFFF;
            if best.is_none_or(|best| place.abs_diff(near.0) < best.abs_diff(near.0)) {
                best = Some(place);
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn original(bytes: &[u8]) -> Original {
        Original::new(bytes).unwrap()
    }

    #[test]
    fn what_begins_functions_has_a_way() {
        for (bytes, expected) in [
            (&[0xF3, 0x0F, 0x1E, 0xFA][..], Way::Skip),
            (&[0x0F, 0x1F, 0x44, 0x00, 0x00], Way::Skip),
            (&[0x66, 0x90], Way::Skip),
            (&[0xEB, 0x10], Way::Jump(0x1012)),
            (&[0xE9, 0xFB, 0x0F, 0, 0], Way::Jump(0x2000)),
            (&[0x55], Way::Push(Register::RBP)),
            (&[0x41, 0x57], Way::Push(Register::R15)),
            (&[0x48, 0x83, 0xEC, 0x18], Way::Move),
            (&[0x48, 0x8D, 0x05, 1, 0, 0, 0], Way::Move),
            (&[0x66, 0x0F, 0x38, 0xDC, 0xC1], Way::Move),
            (&[0xE8, 0, 0, 0, 0], Way::Step),
            (&[0x74, 0x10], Way::Step),
            (&[0xC3], Way::Return),
            (&[0xC2, 8, 0], Way::Step),
            (&[0x0F, 0x05], Way::Step),
            (&[0xFF, 0xE0], Way::Step),
            (&[0xE3, 0x10], Way::Step),
            (&[0xC7, 0xF8, 0, 0, 0, 0], Way::Step),
        ] {
            assert_eq!(way(&original(bytes), 0x1000), expected, "{bytes:x?}");
        }
    }

    #[test]
    fn an_operand_relative_to_the_program_counter_is_encoded_anew() {
        // The code is vaesenc ymm0, ymm1, [rip + 0x100] in 9 bytes; behind it is 0x40_1009.
        let site = 0x40_1000;
        let bytes = [0xC4, 0xE2, 0x75, 0xDC, 0x05, 0x00, 0x01, 0x00, 0x00];
        let moved = Moved::new(&original(&bytes), site, 0x7000_0000).unwrap();
        let mut decoder = Decoder::with_ip(64, &moved.bytes, 0x7000_0000, DecoderOptions::NONE);
        let there = decoder.decode();
        assert_eq!(there.ip_rel_memory_address(), site + 9 + 0x100);
        let back = decoder.decode();
        assert_eq!((back.code(), back.near_branch_target()), (Code::Jmp_rel32_64, site + 9));
        assert_eq!(moved.real(0x7000_0000), Some(site));
        assert_eq!(moved.real(0x7000_0000 + there.len() as u64), Some(site + 9));
        assert_eq!(moved.real(0x7000_0001), None);
        assert_eq!(moved.real(0x6FFF_FFFF), None);
        assert_eq!(Moved::new(&original(&bytes), site, 0x7F00_0000_0000), None, "out of reach");
    }

    #[test]
    fn scratch_memory_goes_where_nothing_is() {
        let mapped = [(0x40_0000, 0x50_0000), (0x7F00_0000_0000, 0x7F00_1000_0000)];
        let place = gap(&mapped, (0x40_0000, 0x50_0000), 0x1000).unwrap();
        assert!(place + 0x1000 <= 0x40_0000 || (0x50_0000..0x8000_0000).contains(&place), "{place:x}");
        let place = gap(&mapped, (0x7F00_0000_0000, 0x7F00_1000_0000), 0x1000).unwrap();
        assert!(place.abs_diff(0x7F00_1000_0000) < 0x8000_0000, "{place:x}");
        assert!(!mapped.iter().any(|(start, end)| (*start..*end).contains(&place)));
    }
}
