//! The bits of eight words in planes, in constant time on any processor.
//!
//! Plane `i` has bit `i` of each byte of the words: bit `8p + j` of a plane belongs to byte `p` of word `j`. S-boxes are
//! computed in the field GF((2^4)^2) of [`field`](super::field).

use super::field::Linear;

/// The bits of eight bytes in each of eight words.
pub(crate) type Planes = [u64; 8];

/// A bit of each byte.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Transposes the bits in each byte position: eight words of eight bytes become the planes of their
/// bits, and planes become words.
#[inline(always)]
pub(crate) fn transpose(x: &mut Planes) {
    for (distance, mask) in
        [(1, 0x5555_5555_5555_5555u64), (2, 0x3333_3333_3333_3333), (4, 0x0f0f_0f0f_0f0f_0f0f)]
    {
        for i in 0..8 {
            if i & distance == 0 {
                let swap = (x[i] >> distance ^ x[i + distance]) & mask;
                x[i] ^= swap << distance;
                x[i + distance] ^= swap;
            }
        }
    }
}

/// The planes of eight bytes that are the same in all words.
#[inline(always)]
pub(crate) fn same_planes(bytes: [u8; 8]) -> Planes {
    let bytes = u64::from_le_bytes(bytes);
    let mut planes = [0; 8];
    for bit in 0..8 {
        planes[bit] = (bytes >> bit & ONES) * 0xff;
    }
    planes
}

/// Applies a linear map to every byte.
#[inline(always)]
pub(crate) fn linear(map: Linear, x: Planes) -> Planes {
    let mut y = [0; 8];
    for row in 0..8 {
        for bit in 0..8 {
            if map.0[bit] >> row & 1 == 1 {
                y[row] ^= x[bit];
            }
        }
    }
    y
}

/// Adds a constant to every byte.
#[inline(always)]
pub(crate) fn add_constant(constant: u8, mut x: Planes) -> Planes {
    for bit in 0..8 {
        if constant >> bit & 1 == 1 {
            x[bit] = !x[bit];
        }
    }
    x
}

/// A product in GF(2^4), modulo α^4 + α + 1.
#[inline(always)]
fn multiply_4(a: [u64; 4], b: [u64; 4]) -> [u64; 4] {
    let d4 = a[1] & b[3] ^ a[2] & b[2] ^ a[3] & b[1];
    let d5 = a[2] & b[3] ^ a[3] & b[2];
    let d6 = a[3] & b[3];
    [
        a[0] & b[0] ^ d4,
        a[0] & b[1] ^ a[1] & b[0] ^ d4 ^ d5,
        a[0] & b[2] ^ a[1] & b[1] ^ a[2] & b[0] ^ d5 ^ d6,
        a[0] & b[3] ^ a[1] & b[2] ^ a[2] & b[1] ^ a[3] & b[0] ^ d6,
    ]
}

/// The inverse in GF(2^4), 0 for 0.
#[inline(always)]
fn invert_4([a, b, c, d]: [u64; 4]) -> [u64; 4] {
    let (ab, ac, bc) = (a & b, a & c, b & c);
    let (ad, bd, cd) = (a & d, b & d, c & d);
    let (abc, bcd) = (a & bc, b & cd);
    [
        a ^ b ^ c ^ d ^ ac ^ bc ^ abc ^ bcd,
        ab ^ ac ^ bc ^ bd ^ d ^ a & bd,
        ab ^ ac ^ ad ^ c ^ d ^ a & cd,
        ad ^ bd ^ cd ^ b ^ c ^ d ^ bcd,
    ]
}

/// The inverse of x + yβ: its conjugate x + y + yβ over its norm x² + xy + y²(1 + α³), because
/// β² = β + 1 + α³.
#[inline(always)]
pub(crate) fn invert_8(a: Planes) -> Planes {
    let (x, y) = ([a[0], a[1], a[2], a[3]], [a[4], a[5], a[6], a[7]]);
    let xy = multiply_4(x, y);
    let norm = [
        x[0] ^ x[2] ^ xy[0] ^ y[0],
        x[2] ^ xy[1] ^ y[1] ^ y[3],
        x[1] ^ x[3] ^ xy[2] ^ y[3],
        x[3] ^ xy[3] ^ y[0] ^ y[2],
    ];
    let scale = invert_4(norm);
    let low = multiply_4([x[0] ^ y[0], x[1] ^ y[1], x[2] ^ y[2], x[3] ^ y[3]], scale);
    let high = multiply_4(y, scale);
    [low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]]
}
