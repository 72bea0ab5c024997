//! One round of Camellia on the bit planes of eight blocks, in constant time.
//!
//! A half of eight blocks is eight words, one for each bit of a byte; bit `8p + j` of a word belongs
//! to byte `p` of block `j`'s half. The S-boxes are computed in Camellia's own field GF((2^4)^2),
//! and the byte mixing P is rotations of a word's halves.
//!
//! Ref. RFC 3713 §2.4.1.

use super::sbox::{F_ROWS, H_ROWS, IN_CONSTANT, OUT_CONSTANT};

/// The bits of eight bytes in each of eight blocks.
pub(super) type Planes = [u64; 8];

/// Bytes of a half that go through s2, s3 and s4 (the others through s1).
const S2: u64 = 0x0000_00ff_0000_ff00;
const S3: u64 = 0x0000_ff00_00ff_0000;
const S4: u64 = 0x00ff_0000_ff00_0000;

/// A bit of each byte.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Transposes the bits in each byte position: eight words of eight bytes become the planes of their
/// bits, and planes become words.
#[inline(always)]
pub(super) fn transpose(x: &mut Planes) {
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

/// The planes of a subkey, the same in all blocks.
#[inline(always)]
pub(super) fn key_planes(key: [u8; 8]) -> Planes {
    let key = u64::from_le_bytes(key);
    let mut planes = [0; 8];
    for bit in 0..8 {
        planes[bit] = (key >> bit & ONES) * 0xff;
    }
    planes
}

/// Applies a linear map, each row of which names the planes to sum.
#[inline(always)]
fn linear(rows: [u8; 8], x: Planes) -> Planes {
    let mut y = [0; 8];
    for row in 0..8 {
        for bit in 0..8 {
            if rows[row] >> bit & 1 == 1 {
                y[row] ^= x[bit];
            }
        }
    }
    y
}

/// Adds a constant to every byte.
#[inline(always)]
fn add_constant(constant: u8, mut x: Planes) -> Planes {
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
fn invert_8(a: Planes) -> Planes {
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

/// The S-box of each byte. Ref. RFC 3713 §2.4.1: s4 rotates the input, s2 and s3 the output of s1.
#[inline(always)]
fn substitute(x: Planes) -> Planes {
    let mut rotated = x;
    for bit in 0..8 {
        rotated[bit] = x[bit] & !S4 | x[(bit + 7) % 8] & S4;
    }
    let y = linear(F_ROWS, add_constant(IN_CONSTANT, rotated));
    let y = add_constant(OUT_CONSTANT, linear(H_ROWS, invert_8(y)));
    let mut rotated = y;
    for bit in 0..8 {
        rotated[bit] = y[bit] & !(S2 | S3) | y[(bit + 7) % 8] & S2 | y[(bit + 1) % 8] & S3;
    }
    rotated
}

/// P (RFC 3713 §2.4.1) on one plane: with `a` the first four bytes and `b` the last, each output
/// byte is the sum of three of `b`, and in the first half three of `a`, in the last two.
#[inline(always)]
fn mix(plane: u64) -> u64 {
    let (a, b) = (plane as u32, (plane >> 32) as u32);
    let all = |x: u32| {
        let pairs = x ^ x.rotate_right(16);
        pairs ^ pairs.rotate_right(8)
    };
    let three_of_b = all(b) ^ b;
    let next = a.rotate_right(8);
    (three_of_b ^ all(a) ^ next) as u64 | ((three_of_b ^ a ^ next) as u64) << 32
}

/// `y += F(x, key)`.
#[inline(always)]
pub(super) fn round(x: &Planes, y: &mut Planes, key: [u8; 8]) {
    let mut sum = key_planes(key);
    for bit in 0..8 {
        sum[bit] ^= x[bit];
    }
    let s = substitute(sum);
    for bit in 0..8 {
        y[bit] ^= mix(s[bit]);
    }
}

/// F on one word, for the key schedule.
pub(super) fn f(x: u64, key: u64) -> u64 {
    let mut planes = [x.swap_bytes(), 0, 0, 0, 0, 0, 0, 0];
    let mut sum = [0; 8];
    transpose(&mut planes);
    round(&planes, &mut sum, key.to_be_bytes());
    transpose(&mut sum);
    sum[0].swap_bytes()
}
