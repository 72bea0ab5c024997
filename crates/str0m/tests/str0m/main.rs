//! The provider by itself, with published vectors and beside str0m's own, and two peers of str0m with one of the two each.

mod counted;
mod media;
mod peer;
mod profile;
mod vectors;
