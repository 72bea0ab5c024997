//! All families of instructions: the roof over the files that execute them.

use super::row::{Fusion, Instruction};
use crate::cpu::{access, branch, condition, float, integer, registers, space, vis, vis3, window};
use crate::t4;

/// The families, each the list of its file.
pub const FAMILIES: &[&[Instruction]] = &[
    integer::INSTRUCTIONS,
    condition::INTEGER_MOVES,
    condition::FLOAT_CODE_MOVES,
    condition::REGISTER_MOVES,
    condition::TRAP_ROWS,
    branch::INSTRUCTIONS,
    branch::BICC,
    branch::BPCC,
    branch::FBFCC,
    branch::FBPFCC,
    branch::COMPARE_WORD,
    branch::COMPARE_LONG,
    window::INSTRUCTIONS,
    access::INSTRUCTIONS,
    space::INSTRUCTIONS,
    registers::INSTRUCTIONS,
    registers::PRIVILEGED_STATE,
    t4::aes::INSTRUCTIONS,
    t4::des::INSTRUCTIONS,
    t4::camellia::INSTRUCTIONS,
    t4::kasumi::INSTRUCTIONS,
    t4::hash::INSTRUCTIONS,
    t4::crc32c::INSTRUCTIONS,
    t4::montgomery::INSTRUCTIONS,
    float::INSTRUCTIONS,
    float::COMPARISONS,
    float::CONVERSIONS,
    float::MOVES,
    float::CONDITIONAL_MOVES,
    float::REGISTER_MOVES,
    float::FUSED,
    vis::LOGICAL,
    vis::INSTRUCTIONS,
    vis::VIS2,
    vis::STATE,
    vis3::INSTRUCTIONS,
    vis3::MASKS,
    vis3::IMA,
    vis3::FLOAT,
];

/// The families' fusions, tried in this order.
pub const FUSIONS: &[&[Fusion]] =
    &[t4::aes::FUSIONS, t4::des::FUSIONS, t4::camellia::FUSIONS, t4::moves::FUSIONS];
