//! Keys and accelerators in another process, with real processes: `millstream serve`, clients, and accidents
//! of either.

mod holders;
mod hostile;
mod large;
#[path = "../../../accelerator/tests/accelerator/needles.rs"]
mod needles;
mod operations;
mod presignatures;
mod private_keys;
mod recovery;
mod secrets;
mod service;
mod tokens;
mod tries;
