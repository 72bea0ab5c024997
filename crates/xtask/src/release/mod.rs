//! `cargo xtask release`: Debian packages, archives, an image for containers, the list of components, sizes and checksums.
//!
//! Two runs on one build and one commit give the same bytes: times are the commit's, owners are root, and files are sorted.

mod build;
mod check;
mod components;
mod debian;
mod image;
mod make;
mod sizes;
pub mod system;

pub use check::{build_again, check, clean_root};
pub use make::Release;
