//! The machines that Millstream descends from, runnable: UltraSPARC II, T1, T2, Rainbow Falls (T3) and T4.
//!
//! [`cpu`] executes SPARC V9 with VIS 1 to 3 and the T4's crypto instructions ([`t4`]), out of the tables of [`isa`];
//! [`linux`] runs Linux programs for sparc64 on it. [`spu`] is the stream processing unit beside each core: the
//! control word queue and the modular arithmetic unit; [`hypervisor`] is how software reached it. [`timing`] says what
//! each of this took on the machines.
#![deny(unsafe_code)]

pub mod arithmetic;
pub mod counts;
pub mod cpu;
pub mod hypervisor;
pub mod isa;
pub mod kernel;
pub mod linux;
pub mod memory;
pub mod processor;
pub mod program;
pub mod spu;
pub mod t4;
pub mod timing;
