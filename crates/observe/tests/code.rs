//! Tests of the search in real programs, in programs made to mislead, and in broken files. The code is for
//! x86-64, and so are the tools that make it.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "code_support/mod.rs"]
mod support;

#[path = "code_support/cached.rs"]
mod cached;
#[path = "code_support/hostile.rs"]
mod hostile;
#[path = "code_support/machines.rs"]
mod machines;
#[path = "code_support/misleading.rs"]
mod misleading;
#[path = "code_support/real.rs"]
mod real;
#[path = "code_support/stacks.rs"]
mod stacks;
