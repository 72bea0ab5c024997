//! What `millstream sparc` tells about SPARC programs: their instructions, and what they executed; and what the machines
//! took.

pub mod costs;
pub mod count;
pub mod disassemble;
pub mod history;
pub mod images;
pub mod mix;
pub mod report;
