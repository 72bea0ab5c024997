//! An instruction's word, taken apart into its fields.

/// An instruction's 32 bits, and its fields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Word(pub u32);

impl Word {
    /// Bits 29:25.
    #[must_use]
    pub const fn rd(self) -> u8 {
        (self.0 >> 25 & 31) as u8
    }
    /// Bits 18:14.
    #[must_use]
    pub const fn rs1(self) -> u8 {
        (self.0 >> 14 & 31) as u8
    }
    /// Bits 4:0.
    #[must_use]
    pub const fn rs2(self) -> u8 {
        (self.0 & 31) as u8
    }
    /// Bits 13:9.
    #[must_use]
    pub const fn rs3(self) -> u8 {
        (self.0 >> 9 & 31) as u8
    }
    /// Bit 13: the second operand is an immediate.
    #[must_use]
    pub const fn i(self) -> bool {
        self.0 >> 13 & 1 != 0
    }
    /// The low `bits` bits, sign-extended.
    #[must_use]
    pub const fn signed(self, bits: u32) -> u64 {
        ((self.0 << (32 - bits)) as i32 >> (32 - bits)) as i64 as u64
    }
    /// Bits 12:5.
    #[must_use]
    pub const fn asi(self) -> u8 {
        (self.0 >> 5) as u8
    }
}

/// The index, in [`crate::cpu::Cpu::d`], of the double register that a five-bit field names. V9 §5.1.4.1.
#[must_use]
pub const fn double(field: u8) -> u8 {
    (field >> 1) | (field & 1) << 4
}
