//! Finds the caller of a function that no table describes: the depth of the stack follows from the code
//! before the place.
//!
//! Functions written in assembly language often have no unwinding entry. At the first instruction, the return
//! address is at the top of the stack. From there on, pushes, pops and additions to rsp tell where it lies,
//! along one path from the entry to the place. They also tell which of the caller's registers the function
//! has saved.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::walk::walk;
use crate::memory::Memory;

/// The callee-saved registers, with their numbers in DWARF's order.
const KEPT: [(Register, usize); 6] = [
    (Register::RBX, 3),
    (Register::RBP, 6),
    (Register::R12, 12),
    (Register::R13, 13),
    (Register::R14, 14),
    (Register::R15, 15),
];

/// The most bytes of a function that are followed.
const LONGEST: u64 = 64 << 10;

/// The changes of a function to the stack since its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Depth {
    /// The distance from rsp up to the return address.
    pub bytes: i64,
    /// For each of [`KEPT`] that was pushed, the distance from the return address down to it.
    saved: [Option<i64>; KEPT.len()],
}

impl Depth {
    /// Returns the caller's registers that are on the stack: their numbers, and the distances below the
    /// return address.
    pub fn saved(&self) -> impl Iterator<Item = (usize, i64)> {
        let with_numbers = KEPT.iter().zip(self.saved);
        with_numbers.filter_map(|((_, number), place)| Some((*number, place?)))
    }

    /// Returns the depth after an instruction, or `None` where rsp may be anything.
    fn after(mut self, instruction: &Instruction) -> Option<Depth> {
        let change = match instruction.mnemonic() {
            Mnemonic::Pop if instruction.op0_register() == Register::RSP => return None,
            Mnemonic::Push | Mnemonic::Pop | Mnemonic::Pushfq | Mnemonic::Popfq => {
                i64::from(instruction.stack_pointer_increment())
            }
            Mnemonic::Add | Mnemonic::Sub if instruction.op0_register() == Register::RSP => {
                let is_number = !matches!(instruction.op1_kind(), OpKind::Register | OpKind::Memory);
                let by = is_number.then(|| instruction.immediate(1).cast_signed())?;
                if instruction.mnemonic() == Mnemonic::Add { by } else { by.checked_neg()? }
            }
            Mnemonic::Lea if instruction.op0_register() == Register::RSP => {
                let is_own = instruction.memory_base() == Register::RSP
                    && instruction.memory_index() == Register::None;
                is_own.then(|| instruction.memory_displacement64().cast_signed())?
            }
            _ if may_move_stack(instruction) => return None,
            // A called function removes its own return address.
            _ => 0,
        };
        self.bytes = self.bytes.checked_sub(change).filter(|bytes| *bytes >= 0)?;
        let pushed = KEPT.iter().position(|(register, _)| *register == instruction.op0_register());
        if let (Mnemonic::Push, Some(index)) = (instruction.mnemonic(), pushed) {
            // The first push has the caller's value, by the calling convention.
            self.saved[index].get_or_insert(self.bytes);
        }
        Some(self)
    }
}

/// Returns true when an instruction writes rsp in a way that is not understood.
fn may_move_stack(instruction: &Instruction) -> bool {
    let only_reads = matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Bt);
    let is_operand = |index| instruction.op_register(index).full_register() == Register::RSP;
    let is_first = instruction.op_count() > 0 && is_operand(0) && !only_reads;
    let is_exchanged = matches!(instruction.mnemonic(), Mnemonic::Xchg | Mnemonic::Xadd) && is_operand(1);
    is_first || is_exchanged || matches!(instruction.mnemonic(), Mnemonic::Leave | Mnemonic::Enter)
}

/// Returns the depth at `place`, in the function that begins at `start` and ends at `end` at the latest. All
/// of them are addresses in `memory`. Returns `None` if no path leads there, or if rsp is lost on it.
pub(super) fn at(memory: &dyn Memory, start: u64, end: u64, place: u64) -> Option<Depth> {
    if place == start {
        return Some(Depth::default());
    }
    let length = end.checked_sub(start)?.min(LONGEST);
    let mut code = vec![0; usize::try_from(length).ok()?];
    memory.read(start, &mut code).ok()?;
    let mut found = None;
    walk(&code, start, Depth::default(), |instruction, depth| {
        if instruction.ip() == place {
            found = Some(depth);
        }
        let after = depth.after(instruction).filter(|_| found.is_none())?;
        // Behind a call that never returns, another function may begin.
        if instruction.next_ip() == place && instruction.flow_control() != FlowControl::UnconditionalBranch {
            found = Some(after);
        }
        Some(after)
    });
    found
}

/// Returns true when the instruction before an address is a call, as it is before every return address.
pub(super) fn is_behind_call(memory: &dyn Memory, address: u64) -> bool {
    const LONGEST_CALL: u64 = 8;
    (2..=LONGEST_CALL).any(|length| {
        let mut code = [0; LONGEST_CALL as usize];
        let code = &mut code[..length as usize];
        let Some(start) = address.checked_sub(length) else { return false };
        if memory.read(start, code).is_err() {
            return false;
        }
        let call = Decoder::with_ip(64, code, start, DecoderOptions::NONE).decode();
        call.next_ip() == address && (call.is_call_near() || call.is_call_near_indirect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A memory that begins at 0x1000.
    struct Bytes(Vec<u8>);

    impl Memory for Bytes {
        fn read(&self, address: u64, buffer: &mut [u8]) -> std::io::Result<()> {
            let start = address.checked_sub(0x1000).ok_or(std::io::ErrorKind::InvalidInput)? as usize;
            let found = self.0.get(start..start + buffer.len()).ok_or(std::io::ErrorKind::InvalidInput)?;
            buffer.copy_from_slice(found);
            Ok(())
        }
    }

    fn depth(code: &[u8], place: u64) -> Option<(i64, Vec<(usize, i64)>)> {
        let memory = Bytes(code.to_vec());
        let found = at(&memory, 0x1000, 0x1000 + code.len() as u64, 0x1000 + place)?;
        Some((found.bytes, found.saved().collect()))
    }

    #[test]
    fn pushes_and_additions_are_followed() {
        // push %rbx; push %rbp; sub $0x28,%rsp; nop; add $0x28,%rsp; pop %rbp; pop %rbx; ret
        let code = [0x53, 0x55, 0x48, 0x83, 0xEC, 0x28, 0x90, 0x48, 0x83, 0xC4, 0x28, 0x5D, 0x5B, 0xC3];
        assert_eq!(depth(&code, 0), Some((0, vec![])));
        assert_eq!(depth(&code, 1), Some((8, vec![(3, 8)])));
        assert_eq!(depth(&code, 6), Some((56, vec![(3, 8), (6, 16)])));
        assert_eq!(depth(&code, 13).unwrap().0, 0);
        // No path leads into the middle of an instruction.
        assert_eq!(depth(&code, 3), None);
    }

    #[test]
    fn other_ways_are_taken_where_rsp_is_lost() {
        // test %edi,%edi; je 1f; mov %rsp,%rbp; and $-64,%rsp; nop; jmp 2f; 1: push %r12; 2: nop; ret
        let code = [
            0x85, 0xFF, 0x74, 0x0A, 0x48, 0x89, 0xE5, 0x48, 0x83, 0xE4, 0xC0, 0x90, 0xEB, 0x02, 0x41, 0x54,
            0x90, 0xC3,
        ];
        assert_eq!(depth(&code, 7).unwrap().0, 0);
        assert_eq!(depth(&code, 11), None);
        assert_eq!(depth(&code, 16), Some((8, vec![(12, 8)])));
    }

    #[test]
    fn a_call_is_known_from_behind() {
        let memory = Bytes(vec![0xE8, 1, 2, 3, 4, 0xFF, 0xD0, 0x41, 0xFF, 0x54, 0x24, 0x10, 0x90]);
        let behind: Vec<u64> = (0..13).filter(|at| is_behind_call(&memory, 0x1000 + at)).collect();
        assert!([5, 7, 12].iter().all(|at| behind.contains(at)) && !behind.contains(&0), "{behind:?}");
        assert!(!is_behind_call(&memory, 0x100C + 1));
    }
}
