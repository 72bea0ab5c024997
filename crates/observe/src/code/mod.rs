//! What is in executable memory: functions, the instructions of interest in them, and where a breakpoint may stand.

mod bounds;
mod cache;
mod classes;
mod elf;
mod find;
mod flow;
mod frames;
pub mod generated;
mod go;
mod image;
pub mod known;
mod names;
mod reach;
mod sites;
mod survey;
pub mod unwind;

pub use bounds::{Bounds, Function};
pub use cache::Images;
pub use classes::{Class, Classes, Counts, Meaning};
pub use image::{Image, ImageError};
pub use sites::Site;
