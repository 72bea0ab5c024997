//! Where QEMU 7.2 is known to be wrong, and the section that says so.

use millstream_ultrasparc::isa::Instruction;

use crate::cases::Case;

/// Why this difference is QEMU's fault.
pub fn excuse(_row: &Instruction, _before: &Case, _ours: &Case, _qemu: &Case) -> Option<&'static str> {
    None
}
