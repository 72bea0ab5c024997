//! The reports of `millstream sparc`: the instructions of programs, what they executed, and the time that the
//! machines took.

pub mod costs;
pub mod count;
pub mod disassemble;
pub mod history;
pub mod images;
pub mod mix;
pub mod report;
