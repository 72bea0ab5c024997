//! What is found in real programs, in programs made to mislead, and in broken files.
#![cfg(target_os = "linux")]

#[path = "code_support/mod.rs"]
mod support;

#[path = "code_support/misleading.rs"]
mod misleading;

#[path = "code_support/machines.rs"]
mod machines;
