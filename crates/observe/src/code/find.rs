//! Finds the bytes that may hold an instruction of a [`Class`]. Everything else need not be decoded.
//!
//! An instruction has prefixes, then an escape (0F, VEX's C4, EVEX's 62), then its opcode at a fixed
//! distance. The search looks for escapes with such an opcode, wherever they stand. It finds every
//! instruction, and a few bytes that are none.

use std::ops::Range;

use iced_x86::{Decoder, DecoderOptions};
use memchr::memchr3_iter;

use super::classes::Class;
use super::parallel;

/// Calls `found` with the place of each escape that may belong to an instruction of a class, in order.
pub(super) fn candidates(code: &[u8], found: impl FnMut(usize)) {
    let [two, vex, evex] = ESCAPES;
    memchr3_iter(two, vex, evex, code).filter(|place| is_candidate(&code[*place..])).for_each(found);
}

/// Returns the same places for much code, in order, using all processors.
pub(super) fn all_candidates(code: &[u8]) -> Vec<usize> {
    const BATCH: usize = 4 << 20;
    let starts: Vec<usize> = (0..code.len()).step_by(BATCH).collect();
    let parts = parallel::map(&starts, 1, |start| {
        // An instruction that begins before the end of a part may end behind it.
        let end = start.saturating_add(BATCH);
        let mut places = Vec::new();
        candidates(&code[*start..code.len().min(end + LONGEST)], |place| places.push(start + place));
        places.retain(|place| *place < end);
        places
    });
    parts.concat()
}

const ESCAPES: [u8; 3] = [0x0F, 0xC4, 0x62];

fn is_candidate(bytes: &[u8]) -> bool {
    match *bytes {
        [0x0F, 0x38, opcode, ..] => legacy_38(opcode),
        [0x0F, 0x3A, opcode, ..] => legacy_3a(opcode),
        // PadLock, RDRAND and RDSEED have register operands only.
        [0x0F, 0xA6 | 0xA7, 0xC0..=0xFF, ..] | [0x0F, 0xC7, 0xF0..=0xFF, ..] => true,
        // VEX has three inverted bits, then the map.
        [0xC4, map, _, opcode, ..] => match map & 0x1F {
            2 => vector_38(opcode),
            3 => vector_3a(opcode),
            _ => false,
        },
        // EVEX has four inverted bits, a zero bit, then the map.
        [0x62, map, _, _, opcode, ..] => match map & 0x07 {
            2 => vector_38(opcode),
            3 => vector_3a(opcode),
            _ => false,
        },
        _ => false,
    }
}

/// Selects SHA, GF2P8MULB, Key Locker, AES, CRC32, ADCX and ADOX.
const fn legacy_38(opcode: u8) -> bool {
    matches!(opcode, 0xC8..=0xCD | 0xCF | 0xD8 | 0xDB..=0xDF | 0xF0 | 0xF1 | 0xF6 | 0xFA | 0xFB)
}

/// Selects PCLMULQDQ, SHA1RNDS4, GF2P8AFFINE and AESKEYGENASSIST.
const fn legacy_3a(opcode: u8) -> bool {
    matches!(opcode, 0x44 | 0xCC | 0xCE | 0xCF | 0xDF)
}

/// Selects IFMA, SHA-512, GF2P8MULB, SM3 and SM4, AES and MULX.
const fn vector_38(opcode: u8) -> bool {
    matches!(opcode, 0xB4 | 0xB5 | 0xCB..=0xCD | 0xCF | 0xD2 | 0xD3 | 0xDA..=0xDF | 0xF6)
}

/// Selects VPCLMULQDQ, GF2P8AFFINE, SM3RNDS2 and AESKEYGENASSIST.
const fn vector_3a(opcode: u8) -> bool {
    matches!(opcode, 0x44 | 0xCE | 0xCF | 0xDE | 0xDF)
}

/// Calls `found` with each range that would be an instruction of a class if one began there. Bytes without
/// such a range hold no such instruction, wherever a program jumps.
pub fn possible(code: &[u8], mut found: impl FnMut(Range<usize>, Class)) {
    candidates(code, |place| {
        let prefixes = code[..place].iter().rev().take(LONGEST).take_while(|byte| is_prefix(**byte)).count();
        for start in place - prefixes..=place {
            let bytes = &code[start..code.len().min(start + LONGEST)];
            let instruction = Decoder::new(64, bytes, DecoderOptions::NONE).decode();
            let end = start + instruction.len();
            if let Some(class) = Class::of(&instruction).filter(|_| end > place) {
                found(start..end, class);
            }
        }
    });
}

/// The length of the longest instruction.
pub const LONGEST: usize = 15;

/// Returns true for a byte that may stand before an escape: a legacy prefix or REX.
const fn is_prefix(byte: u8) -> bool {
    matches!(byte, 0x26 | 0x2E | 0x36 | 0x3E | 0x40..=0x4F | 0x64..=0x67 | 0xF0 | 0xF2 | 0xF3)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use iced_x86::{Code, Instruction};

    use super::*;

    /// Decodes the bytes, asserts that the search finds an instruction of a class, and notes its code.
    fn check(bytes: &[u8], seen: &mut HashSet<Code>) {
        let instruction = Decoder::new(64, bytes, DecoderOptions::NONE).decode();
        if Class::of(&instruction).is_none() {
            return;
        }
        let mut found = false;
        candidates(bytes, |place| found |= place < instruction.len());
        assert!(found, "{:?}: {bytes:02x?}", instruction.code());
        let whole = |start: &Range<usize>| *start == (0..instruction.len());
        let mut found = false;
        possible(bytes, |range, class| found |= whole(&range) && Some(class) == Class::of(&instruction));
        assert!(found, "{:?}: {bytes:02x?} is possible", instruction.code());
        seen.insert(instruction.code());
    }

    fn legacy(seen: &mut HashSet<Code>) {
        let prefixes: &[&[u8]] = &[
            &[],
            &[0x66],
            &[0xF2],
            &[0xF3],
            &[0x66, 0xF2],
            &[0x66, 0xF3],
            &[0x2E, 0x66],
            &[0x67],
            &[0x67, 0xF3],
        ];
        for prefix in prefixes {
            for rex in [0, 0x40, 0x41, 0x44, 0x48, 0x4F] {
                for escape in [&[0x0F][..], &[0x0F, 0x38], &[0x0F, 0x3A]] {
                    for (opcode, operands) in (0..=255u8).flat_map(|a| (0..=255u8).map(move |b| (a, b))) {
                        let mut bytes = prefix.to_vec();
                        bytes.extend((rex != 0).then_some(rex));
                        bytes.extend(escape);
                        bytes.extend([opcode, operands, 1, 2, 3, 4, 5, 6]);
                        check(&bytes, seen);
                    }
                }
            }
        }
    }

    fn vector(seen: &mut HashSet<Code>) {
        for (opcode, map) in (0..=255u8).flat_map(|a| (0..=255u8).map(move |b| (a, b))) {
            for second in 0..=255u8 {
                for operands in [0xC1, 0x05] {
                    check(&[0xC4, map, second, opcode, operands, 1, 2, 3, 4, 5, 6], seen);
                }
            }
            for second in [0x05, 0x7D, 0xFD, 0x6D, 0xED, 0x45, 0xC5, 0x7E, 0xFE, 0x7F, 0xFF, 0x7C, 0xFC] {
                for third in [0x00, 0x08, 0x18, 0x28, 0x38, 0x48, 0x58, 0xC8, 0xAF, 0x4F] {
                    check(&[0x62, map, second, third, opcode, 0xC1, 1, 2, 3, 4, 5, 6], seen);
                }
            }
            check(&[0xC5, map, opcode, 0xC1, 1, 2, 3, 4, 5, 6], seen);
        }
    }

    #[test]
    fn parts_are_joined_without_a_gap() {
        // AESENC stands every 7 bytes, so that one lies across each border.
        let code: Vec<u8> =
            [0x66, 0x0F, 0x38, 0xDC, 0xC1, 0x90, 0x90].into_iter().cycle().take((9 << 20) + 3).collect();
        let mut one_by_one = Vec::new();
        candidates(&code, |place| one_by_one.push(place));
        assert_eq!(all_candidates(&code), one_by_one);
        assert!(one_by_one.len() > 1 << 20);
    }

    #[test]
    fn an_instruction_is_possible_wherever_it_begins() {
        let of = |bytes: &[u8]| {
            let mut classes = HashSet::new();
            possible(bytes, |_, class| assert!(classes.insert(class) || class == Class::Aes));
            classes
        };
        // One follows an unfinished instruction, and one has useless prefixes.
        assert_eq!(of(&[0x48, 0xB8, 1, 0x66, 0x0F, 0x38, 0xDC, 0xC1]), [Class::Aes].into());
        assert_eq!(of(&[0x66, 0x2E, 0x66, 0x41, 0x0F, 0x38, 0xDC, 0xC1]), [Class::Aes].into());
        assert!(of(&[0x0F, 0x38, 0xDC, 0xC1]).is_empty(), "that is none without a prefix");
        assert!(of(&[0x0F, 0x38, 0xF0, 0x07]).is_empty(), "MOVBE");
        assert!(of(&[0x66, 0x0F, 0x38, 0xDC]).is_empty(), "it is not whole");
    }

    #[test]
    fn no_instruction_of_a_class_is_missed() {
        let mut seen = HashSet::new();
        legacy(&mut seen);
        vector(&mut seen);
        // All instructions were among them, except one that the decoder takes for impossible.
        seen.insert(Code::Montmul_64);
        for code in Code::values().filter(|code| code.op_code().mode64() && code.op_code().is_instruction()) {
            let mut instruction = Instruction::new();
            instruction.set_code(code);
            assert!(Class::of(&instruction).is_none() || seen.contains(&code), "{code:?} was not generated");
        }
        assert!(seen.len() > 120, "{}", seen.len());
    }
}
