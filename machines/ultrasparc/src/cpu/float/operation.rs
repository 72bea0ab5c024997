//! Operations that round once, and the sizes of the registers that they work on.

use rustc_apfloat::ieee::{Double, Quad, Single};
use rustc_apfloat::{Round, StatusAnd};

use super::exact::{self, Format};
use super::host;
use crate::cpu::Cpu;
use crate::isa::double;

/// A register's size: how its number is written, and where it is.
pub(super) trait Size {
    type Format: Format;
    /// The index that a field of five bits names.
    fn index(field: u8) -> u8;
    fn load(cpu: &Cpu, index: u8) -> u128;
    fn store(cpu: &mut Cpu, index: u8, bits: u128);
    /// The host's result of an operation, if its arithmetic will do, and true if that is inexact.
    fn host<O: Operation>(a: u128, b: u128) -> Option<(u128, bool)>;
    /// The host's result of `a * b + c`, likewise.
    fn host_fused(a: u128, b: u128, c: u128) -> Option<(u128, bool)>;
}

impl Size for Single {
    type Format = Single;
    fn index(field: u8) -> u8 {
        field
    }
    #[inline(always)]
    fn load(cpu: &Cpu, index: u8) -> u128 {
        cpu.single(index).into()
    }
    #[inline(always)]
    fn store(cpu: &mut Cpu, index: u8, bits: u128) {
        cpu.set_single(index, bits as u32);
    }
    #[inline(always)]
    fn host<O: Operation>(a: u128, b: u128) -> Option<(u128, bool)> {
        let (value, inexact) = O::single(f32::from_bits(a as u32), f32::from_bits(b as u32))?;
        Some((value.to_bits().into(), inexact))
    }
    #[inline(always)]
    fn host_fused(a: u128, b: u128, c: u128) -> Option<(u128, bool)> {
        let [a, b, c] = [a, b, c].map(|bits| f32::from_bits(bits as u32));
        host::fuse_single(a, b, c).map(|(value, inexact)| (value.to_bits().into(), inexact))
    }
}

impl Size for Double {
    type Format = Double;
    fn index(field: u8) -> u8 {
        double(field)
    }
    #[inline(always)]
    fn load(cpu: &Cpu, index: u8) -> u128 {
        cpu.double(index).into()
    }
    #[inline(always)]
    fn store(cpu: &mut Cpu, index: u8, bits: u128) {
        cpu.set_double(index, bits as u64);
    }
    #[inline(always)]
    fn host<O: Operation>(a: u128, b: u128) -> Option<(u128, bool)> {
        let (value, inexact) = O::double(f64::from_bits(a as u64), f64::from_bits(b as u64))?;
        Some((value.to_bits().into(), inexact))
    }
    #[inline(always)]
    fn host_fused(a: u128, b: u128, c: u128) -> Option<(u128, bool)> {
        let [a, b, c] = [a, b, c].map(|bits| f64::from_bits(bits as u64));
        host::fuse(a, b, c).map(|(value, inexact)| (value.to_bits().into(), inexact))
    }
}

impl Size for Quad {
    type Format = Quad;
    fn index(field: u8) -> u8 {
        double(field)
    }
    fn load(cpu: &Cpu, index: u8) -> u128 {
        u128::from(cpu.double(index)) << 64 | u128::from(cpu.double(index + 1))
    }
    fn store(cpu: &mut Cpu, index: u8, bits: u128) {
        cpu.set_double(index, (bits >> 64) as u64);
        cpu.set_double(index + 1, bits as u64);
    }
    fn host<O: Operation>(_: u128, _: u128) -> Option<(u128, bool)> {
        None
    }
    fn host_fused(_: u128, _: u128, _: u128) -> Option<(u128, bool)> {
        None
    }
}

/// An operation of two operands that rounds once.
pub(super) trait Operation {
    /// Computes on the host, rounded to nearest.
    fn single(_: f32, _: f32) -> Option<(f32, bool)> {
        None
    }
    /// Computes on the host in double precision.
    fn double(_: f64, _: f64) -> Option<(f64, bool)> {
        None
    }
    /// Computes exactly; neither operand is a NaN.
    fn exact<F: Format>(a: F, b: F, round: Round) -> StatusAnd<F>;
    /// Half of the result, rounded toward zero, for a result that may be too large.
    fn half<F: Format>(a: F, b: F) -> F {
        Self::exact(exact::halve(a), b, Round::TowardZero).value
    }
}

pub(super) struct Add;
pub(super) struct Subtract;
pub(super) struct Multiply;
pub(super) struct Divide;
/// The sum of two, halved, which can't overflow: VIS 3.
pub(super) struct HalfSum;
/// The difference, halved.
pub(super) struct HalfDifference;
/// The result of another operation with the other sign. OSA 2011 negates before rounding; a NaN is left as it is.
pub(super) struct Negated<O>(O);

impl Operation for Add {
    #[inline(always)]
    fn single(a: f32, b: f32) -> Option<(f32, bool)> {
        host::add_single(a, b)
    }
    #[inline(always)]
    fn double(a: f64, b: f64) -> Option<(f64, bool)> {
        host::add(a, b)
    }
    fn exact<F: Format>(a: F, b: F, round: Round) -> StatusAnd<F> {
        a.add_r(b, round)
    }
    fn half<F: Format>(a: F, b: F) -> F {
        exact::halve(a).add_r(exact::halve(b), Round::TowardZero).value
    }
}

impl Operation for Subtract {
    #[inline(always)]
    fn single(a: f32, b: f32) -> Option<(f32, bool)> {
        host::add_single(a, -b)
    }
    #[inline(always)]
    fn double(a: f64, b: f64) -> Option<(f64, bool)> {
        host::add(a, -b)
    }
    fn exact<F: Format>(a: F, b: F, round: Round) -> StatusAnd<F> {
        a.sub_r(b, round)
    }
    fn half<F: Format>(a: F, b: F) -> F {
        exact::halve(a).sub_r(exact::halve(b), Round::TowardZero).value
    }
}

impl Operation for Multiply {
    #[inline(always)]
    fn single(a: f32, b: f32) -> Option<(f32, bool)> {
        host::multiply_single(a, b)
    }
    #[inline(always)]
    fn double(a: f64, b: f64) -> Option<(f64, bool)> {
        host::multiply(a, b)
    }
    fn exact<F: Format>(a: F, b: F, round: Round) -> StatusAnd<F> {
        a.mul_r(b, round)
    }
}

impl Operation for Divide {
    #[inline(always)]
    fn single(a: f32, b: f32) -> Option<(f32, bool)> {
        host::divide_single(a, b)
    }
    #[inline(always)]
    fn double(a: f64, b: f64) -> Option<(f64, bool)> {
        host::divide(a, b)
    }
    fn exact<F: Format>(a: F, b: F, round: Round) -> StatusAnd<F> {
        a.div_r(b, round)
    }
}

impl Operation for HalfSum {
    fn exact<F: Format>(a: F, b: F, round: Round) -> StatusAnd<F> {
        half_sum(a, b, round)
    }
}

impl Operation for HalfDifference {
    fn exact<F: Format>(a: F, b: F, round: Round) -> StatusAnd<F> {
        half_sum(a, -b, round)
    }
}

impl<O: Operation> Operation for Negated<O> {
    #[inline(always)]
    fn single(a: f32, b: f32) -> Option<(f32, bool)> {
        O::single(a, b).map(|(value, inexact)| (-value, inexact))
    }
    #[inline(always)]
    fn double(a: f64, b: f64) -> Option<(f64, bool)> {
        O::double(a, b).map(|(value, inexact)| (-value, inexact))
    }
    fn exact<F: Format>(a: F, b: F, round: Round) -> StatusAnd<F> {
        O::exact(a, b, -round).map(|value| -value)
    }
    fn half<F: Format>(a: F, b: F) -> F {
        O::half(a, b)
    }
}

/// Half the sum, rounded once.
fn half_sum<F: Format>(a: F, b: F, round: Round) -> StatusAnd<F> {
    if !a.is_finite() || !b.is_finite() {
        return a.add_r(b, round);
    }
    let magnitude = |value: F| value.to_bits() & F::MAGNITUDE;
    if magnitude(a).max(magnitude(b)) >= F::INFINITE - 2 * F::NORMAL {
        // The sum may be too large.
        return exact::halve(a).add_r(exact::halve(b), round);
    }
    let (half, twice) = (F::from_u128(1).value.scalbn(-1), 2 * F::NORMAL);
    let sum = a.add_r(b, round);
    // A sum smaller than twice the smallest normal number is exact, and rounded when it is halved.
    if magnitude(sum.value) < twice {
        sum.value.mul_r(half, round)
    } else {
        sum.map(|value| value.scalbn(-1))
    }
}
