//! The base of every engine: tables of kernels, and the binding of one to the processor at hand.
//!
//! A [`Table`] lists the implementations of one algorithm, each with the features it requires. Binding compares them with a
//! [`Features`](millstream_cpu::Features) value and returns a [`Bound`], the witness that the kernel may be called. [`InOut`]
//! is the data of a call, and [`lanes`] schedules many messages on the lanes of one kernel.
//!
//! This crate knows no algorithm. The code that calls kernels is made part of the engines' functions, so everything on
//! that path is inlined.
#![deny(unsafe_code)]

pub mod compare;
pub mod error;
pub mod inout;
pub mod lanes;
pub mod masks;
mod table;

pub use error::Error;
pub use inout::InOut;
pub use lanes::Crossover;
pub use table::{
    AlgorithmInfo, BesideKernel, Bound, Engine, Kernel, LineBesideKernel, Row, Standing, Table, Timing,
};
