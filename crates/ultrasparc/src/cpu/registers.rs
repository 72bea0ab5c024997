//! Condition codes, computed when asked for, and the ancillary state registers.
//! Ref. The SPARC Architecture Manual, Version 9, §5.1 and §5.2.

use crate::cpu::Cpu;
use crate::processor::{Feature, Features};

/// `%fprs` as Linux leaves it: FEF.
pub const FPRS_ENABLED: u64 = 4;

/// What the condition codes come from: the last instruction that set them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Codes {
    pub kind: Kind,
    pub a: u64,
    pub b: u64,
}

/// How [`Codes`] are computed.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// `a` is the codes.
    #[default]
    Known,
    /// Of `a - b`; of a logical result `a` with `b` zero.
    Sub,
    /// Of `a + b`.
    Add,
}

impl Codes {
    /// `%ccr`: xcc in bits 7:4, icc in bits 3:0; each N, Z, V, C from above.
    pub fn ccr(self) -> u8 {
        let (Codes { kind, a, b }, result) = (self, self.result());
        let (carry, overflow) = match kind {
            Kind::Known => return a as u8,
            Kind::Sub => ((!a & b) | ((!a | b) & result), (a ^ b) & (a ^ result)),
            Kind::Add => ((a & b) | ((a | b) & !result), (a ^ result) & (b ^ result)),
        };
        let half = |top: u32, zero: bool| {
            let bit = |value: u64| (value >> top & 1) as u8;
            bit(result) << 3 | u8::from(zero) << 2 | bit(overflow) << 1 | bit(carry)
        };
        half(63, result == 0) << 4 | half(31, result as u32 == 0)
    }

    /// The result whose codes they are.
    pub fn result(self) -> u64 {
        match self.kind {
            Kind::Known => self.a,
            Kind::Sub => self.a.wrapping_sub(self.b),
            Kind::Add => self.a.wrapping_add(self.b),
        }
    }
}

impl Cpu {
    /// `%ccr`: xcc in bits 7:4, icc in bits 3:0; each N, Z, V, C from above.
    #[must_use]
    pub fn ccr(&self) -> u8 {
        self.codes.ccr()
    }

    /// Sets `%ccr`.
    pub fn set_ccr(&mut self, ccr: u8) {
        self.codes = Codes { kind: Kind::Known, a: u64::from(ccr), b: 0 };
    }

    /// `xcc.C`, as `addxc` adds it.
    #[must_use]
    #[inline(always)]
    pub fn carry(&self) -> bool {
        match self.codes {
            Codes { kind: Kind::Known, a, .. } => a & 0x10 != 0,
            Codes { kind: Kind::Sub, a, b } => a < b,
            Codes { kind: Kind::Add, a, b } => a.overflowing_add(b).1,
        }
    }

    /// The condition codes are those of `a + b`.
    #[inline(always)]
    pub fn set_codes_add(&mut self, a: u64, b: u64) {
        self.codes = Codes { kind: Kind::Add, a, b };
    }

    /// The condition codes are those of `a - b`; of a logical result if `b` is zero.
    #[inline(always)]
    pub fn set_codes_sub(&mut self, a: u64, b: u64) {
        self.codes = Codes { kind: Kind::Sub, a, b };
    }

    /// The condition codes are those of `a + b + carry`, where `result` is that sum.
    #[inline]
    pub fn set_codes_add_carry(&mut self, a: u64, b: u64, result: u64) {
        let carry = (a & b) | ((a | b) & !result);
        let overflow = (a ^ result) & (b ^ result);
        self.set_ccr(known(result, carry, overflow));
    }

    /// The condition codes are those of `a - b - carry`, where `result` is that difference.
    #[inline]
    pub fn set_codes_sub_carry(&mut self, a: u64, b: u64, result: u64) {
        let carry = (!a & b) | ((!a | b) & result);
        let overflow = (a ^ b) & (a ^ result);
        self.set_ccr(known(result, carry, overflow));
    }
}

/// Codes from a result, and from vectors whose bits 63 and 31 are the carries and overflows.
fn known(result: u64, carry: u64, overflow: u64) -> u8 {
    let half = |top: u32, zero: bool| {
        let bit = |value: u64| (value >> top & 1) as u8;
        bit(result) << 3 | u8::from(zero) << 2 | bit(overflow) << 1 | bit(carry)
    };
    half(63, result == 0) << 4 | half(31, result as u32 == 0)
}

/// `%cfr` of a processor with these features.
pub fn cfr(features: Features) -> u64 {
    use Feature as F;
    let bits = [
        F::Aes,
        F::Des,
        F::Kasumi,
        F::Camellia,
        F::Md5,
        F::Sha1,
        F::Sha256,
        F::Sha512,
        F::Mpmul,
        F::Montmul,
        F::Montsqr,
        F::Crc32c,
    ];
    bits.iter().enumerate().fold(0, |cfr, (bit, feature)| cfr | u64::from(features.has(*feature)) << bit)
}
