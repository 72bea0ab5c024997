//! What `millstream sparc` tells about SPARC programs: their instructions, and what they executed.

pub mod count;
pub mod disassemble;
pub mod mix;
pub mod report;
