//! CRC32c: `crc32c`.
//! Ref. RFC 3720 §B.4 (the polynomial); Oracle SPARC Architecture 2011, "CRC32C Operation".
//!
//! Eight bytes of a message, the first at the left, into a CRC that is in the low half of its register with its bytes
//! reversed. What the high half becomes is not public: here it stays that of `rs1`.

use std::sync::LazyLock;

use millstream_engines::crc::Crc32c;

use crate::cpu::{Cpu, Op, Step};
use crate::isa::{Class, Instruction};
use crate::processor::Feature;
use crate::t4::{Kind, d, doubles};

const CRC: Kind = Kind { needs: Feature::Crc32c, class: Class::Crc32c };

/// The rows.
pub const INSTRUCTIONS: &[Instruction] = &[CRC.three("crc32c", 0x147, |word, _| doubles(step, word))];

/// `crc32c`: the register `crc` after the eight bytes of `data`.
#[must_use]
pub fn crc32c(crc: u64, data: u64) -> u64 {
    static EMPTY: LazyLock<Crc32c> = LazyLock::new(|| Crc32c::new(millstream_cpu::Features::hardware()));
    // An engine's value is what a message ends with: the register inverted.
    let mut engine = EMPTY.resume(!(crc as u32).swap_bytes());
    engine.update(&data.to_be_bytes());
    crc >> 32 << 32 | u64::from((!engine.value()).swap_bytes())
}

fn step(cpu: &mut Cpu, op: &Op) -> Step {
    d!(cpu, op.rd) = crc32c(d!(cpu, op.rs1), d!(cpu, op.rs2));
    Step::Next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        let step = crc32c(0xffff_ffff, u64::from_be_bytes(*b"12345678"));
        assert_eq!(step, 0x657f_789f);
        // The last byte of "123456789" would need a shorter step; 32 zero bytes are four: RFC 3720 §B.4, its bytes
        // 0xaa36918a in the order of memory.
        let crc = (0..4).fold(0xffff_ffff, |crc, _| crc32c(crc, 0));
        assert_eq!(!(crc as u32), 0xaa36_918a);
        assert_eq!((!(crc as u32)).swap_bytes(), 0x8a91_36aa);
    }

    #[test]
    fn the_high_half_stays() {
        let high = 0x0123_4567_0000_0000;
        assert_eq!(crc32c(high | 0xffff_ffff, u64::from_be_bytes(*b"12345678")), high | 0x657f_789f);
    }
}
