//! What is in executable memory: functions, the instructions of interest in them, and where a breakpoint may stand.
//!
//! An [`Image`] is a program's file or a library. Its functions come from symbols, unwinding tables and Go's table (`bounds`,
//! `frames`, `go`), and where these are silent from the code that calls (`reach`) and from known functions' beginnings (`signatures`). A search over the bytes says which of them
//! may hold an instruction of a [`Class`] (`find`); only those are decoded, along the flow of the program, which proves where
//! instructions begin (`flow`). What runs together becomes one [`Site`].
//!
//! [`generated`] does the same for code that virtual machines make, [`unwind`] says who called, [`known`] which
//! library it is, and [`CarryLess`] what some of its arithmetic is for. A [`cache`] keeps what was found in large files. All of it is x86-64's, on whatever machine it is looked at.

mod assemble;
mod bounds;
pub mod cache;
mod carry_less;
mod classes;
mod depth;
mod elf;
mod error;
mod find;
mod flow;
mod frames;
pub mod generated;
mod go;
mod image;
pub mod known;
mod modules;
mod names;
mod outcome;
mod parallel;
mod pointers;
mod reach;
mod region;
mod signatures;
mod sites;
mod survey;
pub mod unwind;
mod walk;

pub use bounds::{Bounds, Function};
pub use carry_less::CarryLess;
pub use classes::{Class, Classes, Counts, Meaning};
pub use error::ImageError;
pub use find::{LONGEST, possible};
pub use image::Image;
pub use sites::Site;
