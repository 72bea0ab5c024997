//! Proves that an instruction begins at an address, by following the program's own flow of control from its
//! entries.
//!
//! A breakpoint inside an instruction, or on a table among the code, changes what the program computes. So an
//! instruction counts as proven only in these ways:
//!
//! 1. Flow reaches it from the entry of a function, over direct jumps and from each instruction to the next.
//! 2. The instruction follows a call. Calls that never return may be followed by anything. So the code reached from there
//!    counts only if all of it decodes, ends in jumps or returns, and shares no byte with other proven code.
//! 3. The function jumps through a table, so that some parts can't be seen to be reached. They count only if
//!    the function decodes from start to end, if all otherwise proven instructions appear in that, if every
//!    jump hits an instruction, and if nothing takes the address of a part of the function or loads from it.
//!
//! Code that decodes to something impossible, or overlaps other code, discredits everything that was reached
//! together with it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};

use super::region::Region;

/// References from a region to code outside it.
pub(super) struct References {
    /// Targets of its jumps outside.
    pub leaves_to: Vec<u64>,
    /// Addresses outside that it takes.
    pub points_to: Vec<u64>,
    /// Addresses outside that it loads from or stores to.
    pub loads_from: Vec<u64>,
    /// The address behind the last byte of the region that this depends on.
    pub needs: u64,
}

// Marks of a byte.
pub(super) const STARTS: u8 = 1;
pub(super) const INSIDE: u8 = 2;
pub(super) const PROVEN: u8 = STARTS | INSIDE;
const MAYBE_STARTS: u8 = 4;
const MAYBE_INSIDE: u8 = 8;
pub(super) const TARGET: u8 = 16;
const MAYBE_TARGET: u8 = 32;
/// The byte is proven by the second or third rule only.
const WEAK: u8 = 64;

pub(super) struct Search<'a> {
    pub region: &'a Region<'a>,
    /// One decoder for all instructions, because making one takes longer than decoding an instruction.
    decoder: RefCell<Decoder<'a>>,
    pub bytes: Vec<u8>,
    /// Addresses behind calls, which are followed after everything that is more certain.
    after_calls: Vec<u64>,
    /// Places in the region whose address is taken, or that are loaded from.
    data: BTreeSet<u64>,
    /// Addresses of jumps through a table or a register.
    indirect: BTreeSet<u64>,
    leaves_to: Vec<u64>,
    points_to: Vec<u64>,
    loads_from: Vec<u64>,
    /// The offset behind the last byte that was decoded or referred to.
    needs: usize,
    /// The number of instructions that may still be decoded.
    budget: usize,
    /// An empty group, kept so that its memory is used again.
    group: Group,
    todo: Vec<u64>,
}

/// Everything reached from one place, until all of it is accepted or rejected.
#[derive(Default)]
struct Group {
    starts: Vec<(usize, usize)>,
    targets: Vec<usize>,
    after_calls: Vec<u64>,
    data: Vec<u64>,
    indirect: Vec<u64>,
    leaves_to: Vec<u64>,
    points_to: Vec<u64>,
    loads_from: Vec<u64>,
}

impl Group {
    fn clear(&mut self) {
        let Group { starts, targets, after_calls, data, indirect, leaves_to, points_to, loads_from } = self;
        starts.clear();
        for list in [after_calls, data, indirect, leaves_to, points_to, loads_from] {
            list.clear();
        }
        targets.clear();
    }
}

/// Searches a region for its references to others.
pub(super) fn references(region: &Region<'_>) -> References {
    let Search { leaves_to, points_to, loads_from, needs, .. } = search(region);
    References { leaves_to, points_to, loads_from, needs: region.start + needs as u64 }
}

/// Follows every entry into a region.
pub(super) fn search<'a>(region: &'a Region<'a>) -> Search<'a> {
    let mut search = Search {
        region,
        decoder: RefCell::new(Decoder::new(64, region.code, DecoderOptions::NONE)),
        bytes: vec![0; region.code.len()],
        after_calls: Vec::new(),
        data: BTreeSet::new(),
        indirect: BTreeSet::new(),
        leaves_to: Vec::new(),
        points_to: Vec::new(),
        loads_from: Vec::new(),
        needs: 0,
        budget: region.code.len().saturating_mul(4).saturating_add(4096),
        group: Group::default(),
        todo: Vec::new(),
    };
    for (function, _) in region.functions {
        search.follow(function.start);
    }
    for entry in region.entries {
        search.follow(*entry);
    }
    search.follow_calls();
    for (function, may_be_swept) in region.functions {
        if *may_be_swept && search.indirect.range(function.clone()).next().is_some() {
            search.sweep(function);
        }
    }
    search.doubt_data();
    search
}

impl Search<'_> {
    pub fn offset(&self, address: u64) -> Option<usize> {
        let offset = usize::try_from(address.checked_sub(self.region.start)?).ok()?;
        (offset < self.region.code.len()).then_some(offset)
    }

    fn address(&self, offset: usize) -> u64 {
        self.region.start + offset as u64
    }

    pub fn decode(&self, offset: usize) -> Instruction {
        let mut decoder = self.decoder.borrow_mut();
        decoder.set_position(offset).expect("it is inside the region");
        decoder.set_ip(self.address(offset));
        decoder.decode()
    }

    /// Follows flow from `address`, and accepts all that is reached or nothing.
    fn follow(&mut self, address: u64) {
        let Some(offset) = self.offset(address) else { return };
        // Proven code need not be followed again, but it becomes the start of a block.
        if self.bytes[offset] & PROVEN == STARTS {
            self.bytes[offset] |= TARGET;
            return;
        }
        let mut group = std::mem::take(&mut self.group);
        group.targets.push(offset);
        self.bytes[offset] |= MAYBE_TARGET;
        let accepted = self.reach(&mut group, address);
        self.settle(group, accepted, 0);
    }

    /// Follows the code behind calls. Accepted code may hold more of them.
    fn follow_calls(&mut self) {
        while let Some(address) = self.after_calls.pop() {
            self.follow_on(address);
        }
    }

    fn follow_on(&mut self, address: u64) {
        let Some(offset) = self.offset(address) else { return };
        if self.bytes[offset] & PROVEN != STARTS {
            let mut group = std::mem::take(&mut self.group);
            let mut accepted = self.reach(&mut group, address);
            // A call doesn't return to bytes that other code uses as data.
            let is_data = |(offset, length): &(usize, usize)| {
                let range = self.address(*offset)..self.address(offset + length);
                self.data.range(range.clone()).next().is_some()
                    || group.data.iter().any(|data| range.contains(data))
            };
            let there_is_data = !(self.data.is_empty() && group.data.is_empty());
            accepted = accepted && !(there_is_data && group.starts.iter().any(is_data));
            self.settle(group, accepted, WEAK);
        }
    }

    /// Collects everything that is reached from `first`. Returns `false` if that can't be code.
    fn reach(&mut self, group: &mut Group, first: u64) -> bool {
        let mut todo = std::mem::take(&mut self.todo);
        todo.push(first);
        let is_possible = self.reach_all(group, &mut todo);
        todo.clear();
        self.todo = todo;
        is_possible
    }

    fn reach_all(&mut self, group: &mut Group, todo: &mut Vec<u64>) -> bool {
        while let Some(address) = todo.pop() {
            let Some(offset) = self.offset(address) else {
                // Flow may run past the end only where another function begins.
                if address == self.region.start + self.region.code.len() as u64
                    && !(self.region.starts_at)(address)
                {
                    return false;
                }
                continue;
            };
            let known = self.bytes[offset];
            if known & INSIDE != 0 || known & MAYBE_INSIDE != 0 {
                return false;
            }
            if known & (STARTS | MAYBE_STARTS) != 0 {
                continue;
            }
            let instruction = self.decode(offset);
            if self.budget == 0 || !self.take(group, offset, &instruction) {
                return false;
            }
            self.budget -= 1;
            self.successors(group, &instruction, todo);
        }
        true
    }

    /// Puts an instruction into the group. Returns `false` if it is implausible or shares bytes with another.
    fn take(&mut self, group: &mut Group, offset: usize, instruction: &Instruction) -> bool {
        let length = instruction.len();
        if is_implausible(instruction) {
            return false;
        }
        let rest = &mut self.bytes[offset + 1..offset + length];
        if rest.iter().any(|known| known & (STARTS | MAYBE_STARTS | INSIDE | MAYBE_INSIDE) != 0) {
            return false;
        }
        rest.iter_mut().for_each(|known| *known |= MAYBE_INSIDE);
        self.bytes[offset] |= MAYBE_STARTS;
        group.starts.push((offset, length));
        self.needs = self.needs.max(offset + length);
        for data in self.data_of(instruction).into_iter().flatten() {
            group.data.push(data);
            self.needs = self.needs.max((data - self.region.start) as usize + 1);
        }
        self.note_references(group, instruction);
        true
    }

    /// Collects an instruction's references to other regions.
    fn note_references(&mut self, group: &mut Group, instruction: &Instruction) {
        if instruction.is_ip_rel_memory_operand() {
            let place = instruction.ip_rel_memory_address();
            let is_address = instruction.mnemonic() == Mnemonic::Lea;
            match self.offset(place) {
                None if !(self.region.may_start)(place) => {}
                None if is_address && !self.is_loaded_through(instruction) => group.points_to.push(place),
                None => group.loads_from.push(place),
                Some(_) => {}
            }
        } else if self.region.is_absolute && instruction.op_kinds().any(|kind| kind == OpKind::Immediate32) {
            let place = u64::from(instruction.immediate32());
            group.points_to.extend((self.region.may_start)(place).then_some(place));
        }
    }

    /// Returns true when later instructions load through the address that `taker` has just taken, which is
    /// then one of data.
    fn is_loaded_through(&mut self, taker: &Instruction) -> bool {
        const FAR: usize = 32;
        let register = taker.op0_register();
        let mut address = taker.next_ip();
        for _ in 0..FAR {
            let Some(offset) = self.offset(address) else { return false };
            let instruction = self.decode(offset);
            self.needs = self.needs.max(offset + instruction.len());
            let loads = instruction.memory_base() == register || instruction.memory_index() == register;
            if loads && instruction.mnemonic() != Mnemonic::Lea {
                return true;
            }
            let is_new = matches!(
                instruction.mnemonic(),
                Mnemonic::Mov | Mnemonic::Lea | Mnemonic::Pop | Mnemonic::Xor
            ) && instruction.op0_register().full_register() == register;
            let goes_on =
                matches!(instruction.flow_control(), FlowControl::Next | FlowControl::ConditionalBranch);
            if is_new || !goes_on || instruction.is_invalid() {
                return false;
            }
            address = instruction.next_ip();
        }
        false
    }

    fn successors(&mut self, group: &mut Group, instruction: &Instruction, todo: &mut Vec<u64>) {
        let next = instruction.next_ip();
        match instruction.flow_control() {
            FlowControl::Next => todo.push(next),
            FlowControl::ConditionalBranch | FlowControl::XbeginXabortXend => {
                todo.push(next);
                self.branch(group, instruction, todo);
            }
            FlowControl::UnconditionalBranch => self.branch(group, instruction, todo),
            FlowControl::IndirectBranch => group.indirect.push(instruction.ip()),
            FlowControl::Call | FlowControl::IndirectCall => {
                self.called(group, instruction, todo);
            }
            FlowControl::Return | FlowControl::Interrupt | FlowControl::Exception => {}
        }
    }

    fn called(&mut self, group: &mut Group, instruction: &Instruction, todo: &mut Vec<u64>) {
        if instruction.is_call_near() {
            self.branch(group, instruction, todo);
            let target = instruction.near_branch_target();
            // A call over data only learns where the data lies: its target first takes the return address.
            if self.offset(target).is_some_and(|target| self.takes_return_address(target))
                && !self.is_start(target)
            {
                return;
            }
        }
        group.after_calls.push(instruction.next_ip());
    }

    fn takes_return_address(&self, offset: usize) -> bool {
        let first = self.decode(offset);
        let is_on_stack = first.memory_base() == iced_x86::Register::RSP && first.mnemonic() != Mnemonic::Lea;
        first.mnemonic() == Mnemonic::Pop || is_on_stack
    }

    fn is_start(&self, address: u64) -> bool {
        self.region.functions.binary_search_by_key(&address, |(function, _)| function.start).is_ok()
    }

    fn branch(&mut self, group: &mut Group, instruction: &Instruction, todo: &mut Vec<u64>) {
        if !matches!(instruction.op0_kind(), OpKind::NearBranch64) {
            return;
        }
        let target = instruction.near_branch_target();
        match self.offset(target) {
            Some(offset) => {
                if self.bytes[offset] & (TARGET | MAYBE_TARGET) == 0 {
                    self.bytes[offset] |= MAYBE_TARGET;
                    group.targets.push(offset);
                }
                todo.push(target);
            }
            None => group.leaves_to.push(target),
        }
    }

    /// Returns the places in the region that an instruction names without jumping there.
    fn data_of(&self, instruction: &Instruction) -> [Option<u64>; 2] {
        let mut places = [None, None];
        if !self.region.is_absolute && !instruction.is_ip_rel_memory_operand() {
            return places;
        }
        if instruction.is_ip_rel_memory_operand() {
            places[0] = Some(instruction.ip_rel_memory_address());
        } else if self.region.is_absolute && instruction.op_kinds().any(|kind| kind == OpKind::Memory) {
            places[0] = Some(instruction.memory_displacement64());
        }
        let wide = |kind| matches!(kind, OpKind::Immediate32 | OpKind::Immediate32to64 | OpKind::Immediate64);
        let mut operands = 0..if self.region.is_absolute { instruction.op_count() } else { 0 };
        let immediate = operands.find(|index| wide(instruction.op_kind(*index)));
        places[1] = immediate.map(|index| instruction.immediate(index));
        places.map(|place| place.filter(|place| self.offset(*place).is_some()))
    }

    /// Accepts a group and adds `mark` to its instructions, or forgets it.
    fn settle(&mut self, mut group: Group, accepted: bool, mark: u8) {
        for (offset, length) in &group.starts {
            let bytes = &mut self.bytes[*offset..offset + length];
            bytes.iter_mut().for_each(|byte| *byte &= !(MAYBE_STARTS | MAYBE_INSIDE));
            if accepted {
                bytes[0] |= STARTS | mark;
                bytes[1..].iter_mut().for_each(|byte| *byte |= INSIDE);
            }
        }
        for target in &group.targets {
            self.bytes[*target] &= !MAYBE_TARGET;
            if accepted {
                self.bytes[*target] |= TARGET;
            }
        }
        // Even rejected code may be right about what it uses as data.
        self.data.extend(&group.data);
        if accepted {
            self.after_calls.extend(&group.after_calls);
            self.leaves_to.extend(&group.leaves_to);
            self.points_to.extend(&group.points_to);
            self.loads_from.extend(&group.loads_from);
            self.indirect.extend(&group.indirect);
        }
        group.clear();
        self.group = group;
    }

    /// Accepts the rest of a function that decodes cleanly from start to end.
    fn sweep(&mut self, function: &Range<u64>) {
        let (Some(start), Some(last)) = (self.offset(function.start), self.offset(function.end - 1)) else {
            return;
        };
        if self.data.range(function.clone()).next().is_some() {
            return;
        }
        let mut group = Group::default();
        let accepted = self.sweep_into(&mut group, start, last + 1)
            && group.data.iter().all(|data| !function.contains(data))
            && group.targets.iter().all(|target| self.bytes[*target] & (STARTS | MAYBE_STARTS) != 0);
        self.settle(group, accepted, WEAK);
        self.follow_calls();
    }

    fn sweep_into(&mut self, group: &mut Group, start: usize, end: usize) -> bool {
        let mut at = start;
        let mut last = FlowControl::Return;
        while at < end {
            let instruction = self.decode(at);
            if self.bytes[at] & STARTS == 0 {
                // The sweep must not meet the middle of proven code, nor anything impossible.
                if self.bytes[at] & INSIDE != 0 || !self.take(group, at, &instruction) {
                    return false;
                }
                // The instruction after the end of a block may be a target of the table.
                if last != FlowControl::Next {
                    self.bytes[at] |= MAYBE_TARGET;
                    group.targets.push(at);
                }
                self.successors(group, &instruction, &mut Vec::new());
            }
            last = instruction.flow_control();
            at += instruction.len();
        }
        at == end && !matches!(last, FlowControl::ConditionalBranch)
    }

    /// Rejects weakly proven code that turned out to be used as data, up to the next code with stronger
    /// proof.
    fn doubt_data(&mut self) {
        for data in std::mem::take(&mut self.data) {
            let Some(offset) = self.offset(data) else { continue };
            let Some(mut at) = (0..=offset).rev().find(|at| self.bytes[*at] & INSIDE == 0) else { continue };
            while at < self.bytes.len() && self.bytes[at] & (PROVEN | WEAK) == STARTS | WEAK {
                self.bytes[at] &= !(STARTS | WEAK);
                at += 1;
                while at < self.bytes.len() && self.bytes[at] & PROVEN == INSIDE {
                    self.bytes[at] &= !INSIDE;
                    at += 1;
                }
            }
        }
    }
}

/// Returns true for an instruction that no compiler or programmer writes, so that its bytes are those of a
/// table.
fn is_implausible(instruction: &Instruction) -> bool {
    // 00 00: add %al,(%rax)
    let zeros = instruction.code() == Code::Add_rm8_r8
        && instruction.len() == 2
        && instruction.memory_base() == iced_x86::Register::RAX
        && instruction.memory_index() == iced_x86::Register::None
        && instruction.op1_register() == iced_x86::Register::AL;
    zeros || IMPLAUSIBLE[instruction.code() as usize]
}

/// The verdict on each of the decoder's codes.
static IMPLAUSIBLE: LazyLock<Vec<bool>> = LazyLock::new(|| Code::values().map(is_implausible_code).collect());

fn is_implausible_code(code: Code) -> bool {
    use Mnemonic::{Enter, Into, Iretd, Iretq, Retf, Xlatb};
    code == Code::INVALID
        || code.is_privileged()
        || matches!(code.mnemonic(), Into | Iretd | Iretq | Retf | Xlatb | Enter)
        || code.is_jmp_far()
        || code.is_call_far()
        || code.is_jmp_far_indirect()
        || code.is_call_far_indirect()
}
