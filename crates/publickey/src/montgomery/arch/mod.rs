//! Arithmetic modulo an odd number on particular processors.

pub(crate) mod x86_64_ifma_by1;
pub(crate) mod x86_64_ifma_x8;
mod x86_64_ifma_x8_products;
mod x86_64_ifma_x8_registers;
