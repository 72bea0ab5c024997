//! Branches, calls and jumps.

use crate::isa::Instruction;

/// The rows.
pub const INSTRUCTIONS: &[Instruction] = &[];
