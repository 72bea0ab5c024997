//! Arithmetic in software: every rounding, every exception, and quad precision.
//!
//! SPARC's own rules are here: which NaN a result is (V9 §B.2), that a result is tiny if it is so before rounding (V9
//! §B.5 leaves the choice, UltraSPARC made this one), and what an integer is when the number has none (V9 §B.5). The
//! rest is `rustc_apfloat`, except for square roots, which it lacks.

use rustc_apfloat::ieee::{Double, Quad, Single};
use rustc_apfloat::{Float, FloatConvert, Round, Status, StatusAnd};

use super::state::{DIVISION, INEXACT, INVALID, OVERFLOW, UNDERFLOW};

/// A format of IEEE 754. Numbers travel as their bits in a `u128`.
pub trait Format: Float {
    /// Bits of the whole.
    const WIDTH: u32;
    /// Bits of the fraction.
    const FRACTION: u32;
    /// All bits but the sign.
    const MAGNITUDE: u128 = (1 << (Self::WIDTH - 1)) - 1;
    /// Positive infinity.
    const INFINITE: u128 = Self::MAGNITUDE >> Self::FRACTION << Self::FRACTION;
    /// The smallest normal number.
    const NORMAL: u128 = 1 << Self::FRACTION;
    /// The bit that makes a NaN quiet.
    const QUIET: u128 = 1 << (Self::FRACTION - 1);
}

impl Format for Single {
    const WIDTH: u32 = 32;
    const FRACTION: u32 = 23;
}

impl Format for Double {
    const WIDTH: u32 = 64;
    const FRACTION: u32 = 52;
}

impl Format for Quad {
    const WIDTH: u32 = 128;
    const FRACTION: u32 = 112;
}

/// A result's bits, and the exceptions that it raises.
pub type Outcome = (u128, u8);

/// True if the bits are a NaN.
pub fn is_nan<F: Format>(bits: u128) -> bool {
    bits & F::MAGNITUDE > F::INFINITE
}

/// True if the bits are a signalling NaN.
pub fn is_signalling<F: Format>(bits: u128) -> bool {
    is_nan::<F>(bits) && bits & F::QUIET == 0
}

/// The NaN that results from these operands, in the order in which they win. V9 table 27.
pub fn propagate<F: Format>(operands: &[u128]) -> Option<Outcome> {
    if let Some(bits) = operands.iter().find(|bits| is_signalling::<F>(**bits)) {
        return Some((bits | F::QUIET, INVALID));
    }
    operands.iter().find(|bits| is_nan::<F>(**bits)).map(|bits| (*bits, 0))
}

/// Executes an operation that rounds once, none of whose operands is a NaN. `half` is half of its result, toward
/// zero.
pub fn operate<F: Format>(
    round: Round,
    operation: impl Fn(Round) -> StatusAnd<F>,
    half: impl Fn() -> F,
) -> Outcome {
    let StatusAnd { status, value } = operation(round);
    if status.contains(Status::INVALID_OP) {
        return (F::MAGNITUDE, INVALID);
    }
    let bits = value.to_bits();
    let magnitude = bits & F::MAGNITUDE;
    let is_inexact = status.contains(Status::INEXACT);
    let mut flags = if is_inexact { INEXACT } else { 0 };
    if status.contains(Status::DIV_BY_ZERO) {
        flags |= DIVISION;
    }
    // The largest number may be the remainder of one too large; the library does not say so.
    let is_cut = magnitude == F::INFINITE - 1
        && is_inexact
        && half().to_bits() & F::MAGNITUDE >= F::INFINITE - F::NORMAL;
    if status.contains(Status::OVERFLOW) || is_cut {
        flags |= OVERFLOW;
    }
    let is_tiny = if magnitude == 0 || magnitude == F::NORMAL {
        // This finds a result that was rounded up to the smallest normal number.
        is_inexact && operation(Round::TowardZero).value.to_bits() & F::MAGNITUDE < F::NORMAL
    } else {
        magnitude < F::NORMAL
    };
    (bits, flags | if is_tiny { UNDERFLOW } else { 0 })
}

/// Half of an operand whose result is far above the subnormal numbers, so that those only matter by not being zero.
pub fn halve<F: Format>(value: F) -> F {
    if value.is_denormal() { value } else { value.scalbn(-1) }
}

/// Converts from one format to another.
pub fn convert<F: Format + FloatConvert<T>, T: Format>(bits: u128, round: Round) -> Outcome {
    if is_nan::<F>(bits) {
        let sign = if bits >> (F::WIDTH - 1) != 0 { T::MAGNITUDE + 1 } else { 0 };
        let fraction = bits & (F::NORMAL - 1);
        let fraction = if F::FRACTION > T::FRACTION {
            fraction >> (F::FRACTION - T::FRACTION)
        } else {
            fraction << (T::FRACTION - F::FRACTION)
        };
        let invalid = if is_signalling::<F>(bits) { INVALID } else { 0 };
        return (sign | T::INFINITE | fraction | T::QUIET, invalid);
    }
    let number = F::from_bits(bits);
    let half = || halve(number).convert_r(Round::TowardZero, &mut false).value;
    operate(round, |round| number.convert_r(round, &mut false), half)
}

/// Converts an integer.
pub fn from_integer<F: Format>(value: i64, round: Round) -> Outcome {
    // Every integer is in the range of every format.
    operate(round, |round| F::from_i128_r(value.into(), round), || F::ZERO)
}

/// Converts to an integer of `width` bits, cutting off the fraction. A number out of range becomes the farthest
/// integer of its sign.
pub fn to_integer<F: Format>(bits: u128, width: u32) -> (i64, u8) {
    let mut is_exact = true;
    let number = F::from_bits(bits).to_i128_r(width as usize, Round::TowardZero, &mut is_exact);
    if is_nan::<F>(bits) || number.status.contains(Status::INVALID_OP) {
        let least = i64::MIN >> (64 - width);
        return (if bits >> (F::WIDTH - 1) != 0 { least } else { !least }, INVALID);
    }
    (number.value as i64, if is_exact { 0 } else { INEXACT })
}

/// Compares two numbers: 0 equal, 1 less, 2 greater, 3 unordered.
pub fn compare<F: Format>(a: u128, b: u128) -> u8 {
    if is_nan::<F>(a) || is_nan::<F>(b) {
        return 3;
    }
    // Sign and magnitude make both zeros one.
    let (high, low) = (order::<F>(a), order::<F>(b));
    if high == low { 0 } else { 1 + u8::from(high > low) }
}

/// An integer that orders as the numbers do.
fn order<F: Format>(bits: u128) -> i128 {
    let magnitude = (bits & F::MAGNITUDE) as i128;
    if bits >> (F::WIDTH - 1) != 0 { -magnitude } else { magnitude }
}

/// The square root, digit by digit.
pub fn square_root<F: Format>(bits: u128, round: Round) -> Outcome {
    if let Some(nan) = propagate::<F>(&[bits]) {
        return nan;
    }
    let magnitude = bits & F::MAGNITUDE;
    if magnitude == 0 || bits == F::INFINITE {
        return (bits, 0);
    }
    if bits != magnitude {
        return (F::MAGNITUDE, INVALID);
    }
    let (significand, exponent) = unpack::<F>(bits);
    let (root, remains) = integer_root(significand, F::FRACTION + 2);
    // The root has one bit more than the fraction has room for.
    let (half, odd) = (root & 1 != 0, root & 2 != 0);
    let up = match round {
        Round::TowardPositive => half || remains,
        Round::NearestTiesToEven => half && (remains || odd),
        _ => false,
    };
    let bias = (1 << (F::WIDTH - F::FRACTION - 2)) - 1;
    let biased = ((exponent >> 1) + bias) as u128;
    // The leading bit adds one to the exponent, as does a carry out of rounding.
    let packed = ((biased - 1) << F::FRACTION) + (root >> 1) + u128::from(up);
    (packed, if half || remains { INEXACT } else { 0 })
}

/// A positive number as `significand / 2^FRACTION * 2^exponent`, with an even exponent and a significand from one to
/// less than four.
fn unpack<F: Format>(bits: u128) -> (u128, i32) {
    let bias = (1 << (F::WIDTH - F::FRACTION - 2)) - 1;
    let biased = (bits >> F::FRACTION) as i32;
    let fraction = bits & (F::NORMAL - 1);
    let (significand, exponent) = if biased == 0 {
        let shift = fraction.leading_zeros() - F::NORMAL.leading_zeros();
        (fraction << shift, 1 - bias - shift as i32)
    } else {
        (fraction | F::NORMAL, biased - bias)
    };
    if exponent & 1 == 0 { (significand, exponent) } else { (significand << 1, exponent - 1) }
}

/// The square root of `value << shift`, which has at most `2 * shift` bits, and whether there is a remainder.
fn integer_root(value: u128, shift: u32) -> (u128, bool) {
    let (mut root, mut rest) = (0u128, 0u128);
    for place in (0..=shift).rev() {
        let low = 2 * place;
        let pair = if low >= shift {
            value.checked_shr(low - shift).unwrap_or(0) & 3
        } else if low + 1 == shift {
            (value & 1) << 1
        } else {
            0
        };
        rest = rest << 2 | pair;
        let trial = root << 2 | 1;
        root <<= 1;
        if rest >= trial {
            rest -= trial;
            root |= 1;
        }
    }
    (root, rest != 0)
}
