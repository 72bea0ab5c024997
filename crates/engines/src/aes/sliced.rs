//! Four blocks of AES in bit slices, and the S-box as a circuit over them.
//!
//! Bit `i` of the byte at row `r`, column `c` of block `b` is bit `16 r + 4 c + b` of word `i`.
//! So a round's S-boxes are one run of a circuit over eight words.
//!
//! Ref. FIPS 197 §5.1.1; the S-box circuit is that of Boyar and Peralta, "A small depth-16 circuit for
//! the AES S-box" (2012), 113 gates and four inversions.

/// Four blocks, sliced.
pub(super) type Sliced = [u64; 8];

/// SubWord of the key expansion, FIPS 197 §5.2.
pub(super) fn sub_word(word: [u8; 4]) -> [u8; 4] {
    let mut q = [0; 8];
    q[0] = u64::from(u32::from_le_bytes(word));
    transpose(&mut q);
    sub_bytes(&mut q);
    transpose(&mut q);
    (q[0] as u32).to_le_bytes()
}

/// Exchanges the bits of `a` under `mask << shift` with those of `b` under `mask`.
#[inline(always)]
fn swap(q: &mut Sliced, a: usize, b: usize, shift: u32, mask: u64) {
    let t = (q[a] >> shift ^ q[b]) & mask;
    q[b] ^= t;
    q[a] ^= t << shift;
}

/// Exchanges bit `i` of every byte of word `k` with bit `k` of the same byte of word `i`.
#[inline(always)]
fn transpose(q: &mut Sliced) {
    for i in [0, 2, 4, 6] {
        swap(q, i, i + 1, 1, 0x5555_5555_5555_5555);
    }
    for i in [0, 1, 4, 5] {
        swap(q, i, i + 2, 2, 0x3333_3333_3333_3333);
    }
    for i in 0..4 {
        swap(q, i, i + 4, 4, 0x0f0f_0f0f_0f0f_0f0f);
    }
}

/// Byte `i` of `even` to byte `2 i`, and of `odd` to byte `2 i + 1`.
#[inline(always)]
fn interleave(even: u32, odd: u32) -> u64 {
    let spread = |x: u32| {
        let x = u64::from(x);
        let x = (x | x << 16) & 0x0000_ffff_0000_ffff;
        (x | x << 8) & 0x00ff_00ff_00ff_00ff
    };
    spread(even) | spread(odd) << 8
}

/// The inverse of [`interleave`].
#[inline(always)]
fn deinterleave(x: u64) -> (u32, u32) {
    let gather = |x: u64| {
        let x = x & 0x00ff_00ff_00ff_00ff;
        let x = (x | x >> 8) & 0x0000_ffff_0000_ffff;
        (x | x >> 16) as u32
    };
    (gather(x), gather(x >> 8))
}

pub(super) fn slice(blocks: &[[u8; 16]; 4]) -> Sliced {
    let mut q = [0; 8];
    for b in 0..4 {
        let columns = blocks[b].as_chunks::<4>().0;
        let column = |c: usize| u32::from_le_bytes(columns[c]);
        q[b] = interleave(column(0), column(2));
        q[b + 4] = interleave(column(1), column(3));
    }
    transpose(&mut q);
    q
}

pub(super) fn unslice(mut q: Sliced) -> [[u8; 16]; 4] {
    transpose(&mut q);
    let mut blocks = [[0; 16]; 4];
    for b in 0..4 {
        let (c0, c2) = deinterleave(q[b]);
        let (c1, c3) = deinterleave(q[b + 4]);
        for (c, column) in [c0, c1, c2, c3].into_iter().enumerate() {
            blocks[b][4 * c..4 * c + 4].copy_from_slice(&column.to_le_bytes());
        }
    }
    blocks
}

/// A sliced round key has its four bits of each place equal; one of them is kept, which makes it
/// 16 bytes again.
pub(super) fn compress(q: &Sliced) -> [u8; 16] {
    let mut key = [0; 16];
    for half in 0..2 {
        let mut word = 0;
        for i in 0..4 {
            word |= q[4 * half + i] & 0x1111_1111_1111_1111 << i;
        }
        key[8 * half..8 * half + 8].copy_from_slice(&word.to_le_bytes());
    }
    key
}

/// SubBytes, FIPS 197 §5.1.1, as Boyar's and Peralta's circuit: a linear layer, the inversion in
/// GF(2^8) through GF(2^4), a linear layer with the affine map in it.
#[inline(always)]
pub(super) fn sub_bytes(q: &mut Sliced) {
    // The circuit numbers the bits from the top.
    let [x7, x6, x5, x4, x3, x2, x1, x0] = *q;

    // Top linear layer.
    let y14 = x3 ^ x5;
    let y13 = x0 ^ x6;
    let y9 = x0 ^ x3;
    let y8 = x0 ^ x5;
    let t0 = x1 ^ x2;
    let y1 = t0 ^ x7;
    let y4 = y1 ^ x3;
    let y12 = y13 ^ y14;
    let y2 = y1 ^ x0;
    let y5 = y1 ^ x6;
    let y3 = y5 ^ y8;
    let t1 = x4 ^ y12;
    let y15 = t1 ^ x5;
    let y20 = t1 ^ x1;
    let y6 = y15 ^ x7;
    let y10 = y15 ^ t0;
    let y11 = y20 ^ y9;
    let y7 = x7 ^ y11;
    let y17 = y10 ^ y11;
    let y19 = y10 ^ y8;
    let y16 = t0 ^ y11;
    let y21 = y13 ^ y16;
    let y18 = x0 ^ y16;

    // Inversion.
    let t2 = y12 & y15;
    let t3 = y3 & y6;
    let t4 = t3 ^ t2;
    let t5 = y4 & x7;
    let t6 = t5 ^ t2;
    let t7 = y13 & y16;
    let t8 = y5 & y1;
    let t9 = t8 ^ t7;
    let t10 = y2 & y7;
    let t11 = t10 ^ t7;
    let t12 = y9 & y11;
    let t13 = y14 & y17;
    let t14 = t13 ^ t12;
    let t15 = y8 & y10;
    let t16 = t15 ^ t12;
    let t17 = t4 ^ t14;
    let t18 = t6 ^ t16;
    let t19 = t9 ^ t14;
    let t20 = t11 ^ t16;
    let t21 = t17 ^ y20;
    let t22 = t18 ^ y19;
    let t23 = t19 ^ y21;
    let t24 = t20 ^ y18;

    let t25 = t21 ^ t22;
    let t26 = t21 & t23;
    let t27 = t24 ^ t26;
    let t28 = t25 & t27;
    let t29 = t28 ^ t22;
    let t30 = t23 ^ t24;
    let t31 = t22 ^ t26;
    let t32 = t31 & t30;
    let t33 = t32 ^ t24;
    let t34 = t23 ^ t33;
    let t35 = t27 ^ t33;
    let t36 = t24 & t35;
    let t37 = t36 ^ t34;
    let t38 = t27 ^ t36;
    let t39 = t29 & t38;
    let t40 = t25 ^ t39;

    let t41 = t40 ^ t37;
    let t42 = t29 ^ t33;
    let t43 = t29 ^ t40;
    let t44 = t33 ^ t37;
    let t45 = t42 ^ t41;
    let z0 = t44 & y15;
    let z1 = t37 & y6;
    let z2 = t33 & x7;
    let z3 = t43 & y16;
    let z4 = t40 & y1;
    let z5 = t29 & y7;
    let z6 = t42 & y11;
    let z7 = t45 & y17;
    let z8 = t41 & y10;
    let z9 = t44 & y12;
    let z10 = t37 & y3;
    let z11 = t33 & y4;
    let z12 = t43 & y13;
    let z13 = t40 & y5;
    let z14 = t29 & y2;
    let z15 = t42 & y9;
    let z16 = t45 & y14;
    let z17 = t41 & y8;

    // Bottom linear layer.
    let t46 = z15 ^ z16;
    let t47 = z10 ^ z11;
    let t48 = z5 ^ z13;
    let t49 = z9 ^ z10;
    let t50 = z2 ^ z12;
    let t51 = z2 ^ z5;
    let t52 = z7 ^ z8;
    let t53 = z0 ^ z3;
    let t54 = z6 ^ z7;
    let t55 = z16 ^ z17;
    let t56 = z12 ^ t48;
    let t57 = t50 ^ t53;
    let t58 = z4 ^ t46;
    let t59 = z3 ^ t54;
    let t60 = t46 ^ t57;
    let t61 = z14 ^ t57;
    let t62 = t52 ^ t58;
    let t63 = t49 ^ t58;
    let t64 = z4 ^ t59;
    let t65 = t61 ^ t62;
    let t66 = z1 ^ t63;
    let s0 = t59 ^ t63;
    let s6 = t56 ^ !t62;
    let s7 = t48 ^ !t60;
    let t67 = t64 ^ t65;
    let s3 = t53 ^ t66;
    let s4 = t51 ^ t66;
    let s5 = t47 ^ t65;
    let s1 = t64 ^ !s3;
    let s2 = t55 ^ !t67;

    *q = [s7, s6, s5, s4, s3, s2, s1, s0];
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_testkit::Random;

    /// The S-box from its definition: a^254, then the affine map.
    #[test]
    fn the_circuit_is_the_s_box() {
        let multiply = |a: u8, b: u8| {
            let (mut power, mut product) = (a, 0);
            for i in 0..8 {
                if b >> i & 1 == 1 {
                    product ^= power;
                }
                power = (power << 1) ^ ((power >> 7) * 0x1b);
            }
            product
        };
        for a in 0..=255u8 {
            let b = (0..254).fold(1, |power, _| multiply(power, a));
            let s = b ^ b.rotate_left(1) ^ b.rotate_left(2) ^ b.rotate_left(3) ^ b.rotate_left(4) ^ 0x63;
            assert_eq!(sub_word([a, 0, 255, a]), [s, 0x63, 0x16, s]);
        }
    }

    #[test]
    fn slicing_is_undone() {
        let mut random = Random::new(1);
        let blocks: [[u8; 16]; 4] = std::array::from_fn(|_| random.array());
        assert_eq!(unslice(slice(&blocks)), blocks);
    }
}
