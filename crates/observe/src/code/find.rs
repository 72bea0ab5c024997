//! Where bytes may hold an instruction of a [`Class`](super::Class): what is not found here need not be decoded.
//!
//! An instruction has prefixes, then an escape (0F, VEX's C4, EVEX's 62), then its opcode at a fixed distance. The search is
//! for escapes with such an opcode, wherever they stand. It finds every instruction, and a few things that are none.

/// Calls `found` with the place of each escape that may belong to an instruction of a class, in order.
pub(super) fn candidates(code: &[u8], mut found: impl FnMut(usize)) {
    for (place, bytes) in code.windows(3).enumerate() {
        // One of the three escapes, in the fewest instructions: most bytes end here.
        if ESCAPES[usize::from(bytes[0])] && is_candidate(&code[place..]) {
            found(place);
        }
    }
}

const ESCAPES: [bool; 256] = {
    let mut escapes = [false; 256];
    escapes[0x0F] = true;
    escapes[0xC4] = true;
    escapes[0x62] = true;
    escapes
};

fn is_candidate(bytes: &[u8]) -> bool {
    match *bytes {
        [0x0F, 0x38, opcode, ..] => legacy_38(opcode),
        [0x0F, 0x3A, opcode, ..] => legacy_3a(opcode),
        // PadLock, with a register operand only; RDRAND and RDSEED likewise.
        [0x0F, 0xA6 | 0xA7, 0xC0..=0xFF, ..] | [0x0F, 0xC7, 0xF0..=0xFF, ..] => true,
        // VEX: three inverted bits, then the map.
        [0xC4, map, _, opcode, ..] => match map & 0x1F {
            2 => vector_38(opcode),
            3 => vector_3a(opcode),
            _ => false,
        },
        // EVEX: four inverted bits, one that is 0, then the map.
        [0x62, map, _, _, opcode, ..] => match map & 0x07 {
            2 => vector_38(opcode),
            3 => vector_3a(opcode),
            _ => false,
        },
        _ => false,
    }
}

/// SHA, GF2P8MULB, Key Locker, AES, CRC32, ADCX and ADOX.
const fn legacy_38(opcode: u8) -> bool {
    matches!(opcode, 0xC8..=0xCD | 0xCF | 0xD8 | 0xDB..=0xDF | 0xF0 | 0xF1 | 0xF6 | 0xFA | 0xFB)
}

/// PCLMULQDQ, SHA1RNDS4, GF2P8AFFINE, AESKEYGENASSIST.
const fn legacy_3a(opcode: u8) -> bool {
    matches!(opcode, 0x44 | 0xCC | 0xCE | 0xCF | 0xDF)
}

/// IFMA, SHA-512, GF2P8MULB, SM3 and SM4, AES, MULX.
const fn vector_38(opcode: u8) -> bool {
    matches!(opcode, 0xB4 | 0xB5 | 0xCB..=0xCD | 0xCF | 0xD2 | 0xD3 | 0xDA..=0xDF | 0xF6)
}

/// VPCLMULQDQ, GF2P8AFFINE, SM3RNDS2, AESKEYGENASSIST.
const fn vector_3a(opcode: u8) -> bool {
    matches!(opcode, 0x44 | 0xCE | 0xCF | 0xDE | 0xDF)
}
