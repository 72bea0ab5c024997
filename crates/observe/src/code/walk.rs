//! A walk over a function's instructions in an order in which they may run.

use std::collections::HashSet;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind};

/// The largest number of instructions that is decoded.
const MOST_STEPS: usize = 20_000;

/// Visits each instruction that is reached from the first byte of `code`, which is at `start`, over direct
/// jumps and past calls. `visit` returns the state for the instructions that may come next, or `None` to end
/// the walk there.
pub(super) fn walk<S: Copy>(
    code: &[u8],
    start: u64,
    first: S,
    mut visit: impl FnMut(&Instruction, S) -> Option<S>,
) {
    let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
    let mut seen = HashSet::new();
    let mut todo = vec![(start, first)];
    while let Some((address, state)) = todo.pop() {
        let place = address.checked_sub(start).and_then(|place| usize::try_from(place).ok());
        let Some(place) = place.filter(|place| *place < code.len()) else { continue };
        if seen.len() > MOST_STEPS || !seen.insert(address) || decoder.set_position(place).is_err() {
            continue;
        }
        decoder.set_ip(address);
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            continue;
        }
        let Some(after) = visit(&instruction, state) else { continue };
        let jumps = matches!(
            instruction.flow_control(),
            FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch
        );
        if jumps && instruction.op0_kind() == OpKind::NearBranch64 {
            todo.push((instruction.near_branch_target(), after));
        }
        if goes_on(&instruction) {
            todo.push((instruction.next_ip(), after));
        }
    }
}

/// Returns true when the next instruction in memory may run next.
fn goes_on(instruction: &Instruction) -> bool {
    !matches!(
        instruction.flow_control(),
        FlowControl::UnconditionalBranch
            | FlowControl::IndirectBranch
            | FlowControl::Return
            | FlowControl::Interrupt
            | FlowControl::Exception
    )
}
