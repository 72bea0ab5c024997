//! Reads executable memory: its functions, the instructions of interest in them, and the places for
//! breakpoints.
//!
//! An [`Image`] is a program's file or a library. Its functions come from symbols, unwinding tables and Go's
//! table (`bounds`, `frames`, `go`). Where these are silent, they come from the code that calls them
//! (`reach`) and from the first bytes of known functions (`signatures`). A search over the bytes finds the
//! functions that may hold an instruction of a [`Class`] (`find`). Only these are decoded, along the
//! program's flow of control, which proves where instructions begin (`flow`). Instructions that run together
//! become one [`Site`].
//!
//! [`generated`] does the same for code that virtual machines make. [`unwind`] names the callers, [`known`]
//! the library, and [`CarryLess`] the purpose of some arithmetic. A [`cache`] keeps what was found in large
//! files. All of it reads code for x86-64, on any machine.

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
