//! Determines what carry-less multiplication is for, by the constants that a function multiplies by: a
//! checksum's polynomial, or GHASH's.
//!
//! Ref. Gopal et al., *Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction* (Intel,
//! 2009): the folded data is reduced at the end by the polynomial, and by the quotient of a power of x by it.
//! NIST SP 800-38D §6.4: GHASH's field.

use iced_x86::{Instruction, Mnemonic, OpKind};

use super::classes::{Class, Classes};
use super::walk::walk;

/// The purpose of a function's carry-less multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum CarryLess {
    /// The function computes a CRC.
    Checksum,
    /// The function belongs to a cipher: it has AES rounds, or GHASH's polynomial as in GCM.
    Cipher,
    /// Nothing reveals the purpose.
    #[default]
    Unknown,
}

/// The polynomials of checksums without their highest term, and their degrees: Ethernet's and zlib's,
/// Castagnoli's, T10's for disks, that of ECMA-182 and xz, NVMe's.
const POLYNOMIALS: [(u64, u32); 5] = [
    (0x04C1_1DB7, 32),
    (0x1EDC_6F41, 32),
    (0x8BB7, 16),
    (0x42F0_E1EB_A9EA_3693, 64),
    (0xAD93_D235_94C9_3659, 64),
];

/// The upper half of GHASH's polynomial, plain and shifted by one.
const GHASH: [u64; 2] = [0xC2 << 56, 0xE1 << 56];

/// Returns the constants that programs derive from one polynomial: itself and the quotient, in both bit
/// orders. At degree 64 one term is cut off to fit 64 bits, as programs do.
const fn numbers(low: u64, degree: u32) -> [u64; 6] {
    let whole = (1 << degree) | low as u128;
    let quotient = quotient(whole, degree);
    let [reflected, back] =
        [whole.reverse_bits() >> (127 - degree), quotient.reverse_bits() >> (127 - degree)];
    // Intel's code omits the last term in one order, and moves to the upper end of 32 bits in the other.
    let moved = if degree < 32 { whole << (32 - degree) } else { whole };
    [moved as u64, quotient as u64, reflected as u64, back as u64, reflected as u64 & !1, back as u64 & !1]
}

/// Divides x to the power of twice the degree by a polynomial, without carries.
const fn quotient(polynomial: u128, degree: u32) -> u128 {
    let (mut quotient, mut rest) = (0, 1 << degree);
    let mut step = 0;
    while step <= degree {
        quotient <<= 1;
        if rest >> degree & 1 == 1 {
            quotient |= 1;
            rest ^= polynomial;
        }
        rest <<= 1;
        step += 1;
    }
    quotient
}

const CHECKSUMS: [[u64; 6]; POLYNOMIALS.len()] = {
    let mut all = [[0; 6]; POLYNOMIALS.len()];
    let mut index = 0;
    while index < all.len() {
        all[index] = numbers(POLYNOMIALS[index].0, POLYNOMIALS[index].1);
        index += 1;
    }
    all
};

/// Determines the purpose in a function of these classes. Its code begins at `start`, and `read` returns the
/// image's bytes at an address.
pub(super) fn of(
    code: &[u8],
    start: u64,
    classes: Classes,
    read: impl Fn(u64) -> Option<[u8; 16]>,
) -> CarryLess {
    if !classes.intersection(Class::aes_rounds()).is_empty() {
        return CarryLess::Cipher;
    }
    // The CRC32 instruction, for Castagnoli's polynomial, can also end a folding.
    let mut is_checksum = classes.has(Class::Crc32);
    let mut is_ghash = false;
    walk(code, start, (), |instruction, ()| {
        for number in numbers_of(instruction, &read) {
            is_checksum |= CHECKSUMS.iter().flatten().any(|known| *known == number);
            is_ghash |= GHASH.contains(&number);
        }
        Some(())
    });
    match (is_checksum, is_ghash) {
        (_, true) => CarryLess::Cipher,
        (true, false) => CarryLess::Checksum,
        (false, false) => CarryLess::Unknown,
    }
}

/// Returns the 64-bit constants that an instruction takes from the image, as an immediate or from memory.
fn numbers_of(
    instruction: &Instruction,
    read: impl Fn(u64) -> Option<[u8; 16]>,
) -> impl Iterator<Item = u64> {
    let in_code = (instruction.op1_kind() == OpKind::Immediate64).then(|| instruction.immediate64());
    let place = instruction.is_ip_rel_memory_operand().then(|| instruction.ip_rel_memory_address());
    let place = place.filter(|_| instruction.mnemonic() != Mnemonic::Nop);
    let halves = place.and_then(read).map(|bytes| {
        let (low, high) = bytes.split_at(8);
        [low, high].map(|half| u64::from_le_bytes(half.try_into().unwrap_or_default()))
    });
    in_code.into_iter().chain(halves.into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_that_libraries_have() {
        // The constants come from zlib and libdeflate, Intel's paper in both orders, Linux's crc32c, T10, and
        // xz.
        let expected: [&[u64]; 4] = [
            &[0x1_DB71_0641, 0x1_F701_1641, 0x1_DB71_0640, 0x1_F701_1640, 0x1_04D1_01DF, 0x1_04C1_1DB7],
            &[0x1_05EC_76F1, 0xDEA7_13F1],
            &[0x1_8BB7_0000],
            &[0x92D8_AF2B_AF0E_1E85, 0x9C3E_466C_1729_63D5],
        ];
        for (known, expected) in CHECKSUMS.iter().zip(expected) {
            assert!(expected.iter().all(|number| known.contains(number)), "{known:x?} {expected:x?}");
        }
    }

    #[test]
    fn what_is_loaded_or_written_in_the_code_decides() {
        let nothing = |_| None;
        // movabs $0x1db710641,%rax; ret
        let code = [0x48, 0xB8, 0x41, 0x06, 0x71, 0xDB, 1, 0, 0, 0, 0xC3];
        assert_eq!(of(&code, 0, Class::Pclmul.into(), nothing), CarryLess::Checksum);
        let both = Classes::from(Class::Pclmul).union(Class::Aes.into());
        assert_eq!(of(&code, 0, both, nothing), CarryLess::Cipher);
        // movdqa 0x10(%rip),%xmm0; ret
        let code = [0x66, 0x0F, 0x6F, 0x05, 0x10, 0, 0, 0, 0xC3];
        let holds =
            |number: u64| move |address| (address == 0x18).then_some(u128::from(number).to_le_bytes());
        let found = |number| of(&code, 0, Class::Vpclmul.into(), holds(number));
        assert_eq!(found(0x9C3E_466C_1729_63D5), CarryLess::Checksum);
        assert_eq!(found(0xC2 << 56), CarryLess::Cipher);
        assert_eq!(found(0x1_DB71_0642), CarryLess::Unknown);
        let with_steps = Classes::from(Class::Pclmul).union(Class::Crc32.into());
        assert_eq!(of(&code, 0, with_steps, nothing), CarryLess::Checksum);
    }
}
