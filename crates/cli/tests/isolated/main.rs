//! Keys and accelerators in another process, as real processes: `millstream serve`, clients, and what may happen
//! to any of them.

mod hostile;
#[path = "../../../accelerator/tests/accelerator/needles.rs"]
mod needles;
mod operations;
mod recovery;
mod secrets;
mod service;
