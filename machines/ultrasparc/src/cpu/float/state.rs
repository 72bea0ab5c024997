//! The floating-point state register: rounding, exceptions current and accrued, traps, condition codes.
//! Ref. V9 §5.1.7, and Oracle SPARC Architecture 2011 §8 for what a trap leaves behind.

use rustc_apfloat::Round;

use crate::cpu::{Cpu, Step, Trap};

/// FSR.cexc and FSR.ftt.
const CURRENT: u64 = 0x1f | 7 << 14;
/// FSR.ftt of an IEEE 754 exception.
const FTT_IEEE: u64 = 1 << 14;
/// FSR.ftt of a quad register with an odd number.
const FTT_INVALID_REGISTER: u64 = 6 << 14;
/// FSR.RD, and FSR.TEM's bits for inexact results and underflow: a fast path can't serve any of them.
const NOT_PLAIN: u64 = 3 << 30 | ((INEXACT | UNDERFLOW) as u64) << 23;
/// GSR.IM: GSR.IRND says how to round.
const GSR_IM: u64 = 1 << 27;

/// IEEE 754 exceptions, as they stand in FSR.cexc.
pub const INEXACT: u8 = 1;
/// Division by zero.
pub const DIVISION: u8 = 2;
/// The result is tiny. Without [`INEXACT`] it is exact, and an exception only if FSR.TEM asks for that.
pub const UNDERFLOW: u8 = 4;
/// The result is too large.
pub const OVERFLOW: u8 = 8;
/// The operation has no result.
pub const INVALID: u8 = 16;

/// The lowest bits of fcc0 to fcc3.
const FCC: [u32; 4] = [10, 32, 34, 36];

impl Cpu {
    /// True if results are rounded to nearest, and neither inexact nor tiny ones trap: the host's arithmetic will do.
    #[inline(always)]
    pub(super) fn is_plain(&self) -> bool {
        self.fsr & NOT_PLAIN == 0 && self.gsr & GSR_IM == 0
    }

    /// The rounding that FSR or GSR asks for.
    pub(super) fn rounding(&self) -> Round {
        let direction = if self.gsr & GSR_IM == 0 { self.fsr >> 30 } else { self.gsr >> 25 };
        match direction & 3 {
            0 => Round::NearestTiesToEven,
            1 => Round::TowardZero,
            2 => Round::TowardPositive,
            _ => Round::TowardNegative,
        }
    }

    /// Notes an instruction that raised nothing, or only that its result is inexact.
    #[inline(always)]
    pub(super) fn note(&mut self, inexact: bool) {
        let flags = u64::from(inexact);
        self.fsr = self.fsr & !CURRENT | flags | flags << 5;
    }

    /// Notes the exceptions that an instruction raised.
    ///
    /// # Errors
    /// One of them traps. FSR.cexc then has only its bit, and the instruction may change nothing else.
    pub(super) fn raise(&mut self, flags: u8) -> Result<(), Step> {
        let enabled = (self.fsr >> 23) as u8 & 0x1f;
        for exception in [INVALID, DIVISION, OVERFLOW, UNDERFLOW, INEXACT] {
            if flags & enabled & exception != 0 {
                self.fsr = self.fsr & !CURRENT | FTT_IEEE | u64::from(exception);
                return Err(self.stop(Trap::FpException));
            }
        }
        // A tiny result that is exact is no exception unless it traps.
        let exact = flags & (UNDERFLOW | INEXACT) == UNDERFLOW;
        let flags = u64::from(if exact { flags & !UNDERFLOW } else { flags });
        self.fsr = self.fsr & !CURRENT | flags | flags << 5;
        Ok(())
    }

    /// Stops at an instruction that names a quad register by an odd number.
    #[cold]
    pub(super) fn invalid_register(&mut self) -> Step {
        self.fsr = self.fsr & !CURRENT | FTT_INVALID_REGISTER;
        self.stop(Trap::FpException)
    }

    /// Condition code `n`: 0 equal, 1 less, 2 greater, 3 unordered.
    #[must_use]
    #[inline(always)]
    pub fn fcc(&self, n: u8) -> u8 {
        (self.fsr >> FCC[usize::from(n & 3)] & 3) as u8
    }

    /// Sets condition code `n`.
    #[inline(always)]
    pub fn set_fcc(&mut self, n: u8, value: u8) {
        let shift = FCC[usize::from(n & 3)];
        self.fsr = self.fsr & !(3 << shift) | u64::from(value & 3) << shift;
    }
}
