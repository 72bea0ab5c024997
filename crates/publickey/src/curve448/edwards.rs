//! The group edwards448: x^2 + y^2 = 1 + d x^2 y^2, d = -39081.
//!
//! The formulas are complete, since d is no square: they hold for every pair of points.
//!
//! Ref. RFC 8032 §5.2.2 to §5.2.4.

use zeroize::Zeroize;

use super::field::{BYTES, Fe};
use super::scalar::Scalar;

/// -d.
const MINUS_D: u32 = 39_081;

/// Bytes of an encoded point: y, and a byte with the sign of x in its top bit.
pub(crate) const POINT: usize = BYTES + 1;

/// A point in projective coordinates: x = X / Z, y = Y / Z.
#[derive(Clone, Copy, Zeroize)]
pub(crate) struct Point {
    x: Fe,
    y: Fe,
    z: Fe,
}

impl Point {
    const IDENTITY: Point = Point { x: Fe::ZERO, y: Fe::ONE, z: Fe::ONE };

    /// The base point.
    pub(crate) const BASE: Point = Point {
        x: Fe::from_limbs([
            0x0026_a82b_c70c_c05e,
            0x0080_e18b_0093_8e26,
            0x00f7_2ab6_6511_433b,
            0x00a3_d3a4_6412_ae1a,
            0x000f_1767_ea6d_e324,
            0x0036_da9e_1465_7047,
            0x00ed_221d_15a6_22bf,
            0x004f_1970_c66b_ed0d,
        ]),
        y: Fe::from_limbs([
            0x0008_795b_f230_fa14,
            0x0013_2c4e_d7c8_ad98,
            0x001c_e67c_39c4_fdbd,
            0x0005_a0c2_d73a_d3ff,
            0x00a3_9840_8778_9c1e,
            0x00c7_624b_ea73_736c,
            0x0024_8876_2037_56c9,
            0x0069_3f46_716e_b6bc,
        ]),
        z: Fe::ONE,
    };

    pub(crate) fn add(&self, other: &Point) -> Point {
        let a = self.z.mul(other.z);
        let b = a.square();
        let (c, d) = (self.x.mul(other.x), self.y.mul(other.y));
        let minus_e = c.mul(d).times_small(MINUS_D);
        let (f, g) = (b.add(minus_e), b.sub(minus_e));
        let h = self.x.add(self.y).mul(other.x.add(other.y));
        Point { x: a.mul(f).mul(h.sub(c).sub(d)), y: a.mul(g).mul(d.sub(c)), z: f.mul(g) }
    }

    fn double(&self) -> Point {
        let b = self.x.add(self.y).square();
        let (c, d) = (self.x.square(), self.y.square());
        let e = c.add(d);
        let h = self.z.square();
        let j = e.sub(h).sub(h);
        Point { x: b.sub(e).mul(j), y: e.mul(c.sub(d)), z: e.mul(j) }
    }

    pub(crate) fn negate(&self) -> Point {
        Point { x: self.x.negate(), ..*self }
    }

    /// Multiplies by a scalar, four bits at a time. All sixteen multiples are read for each.
    pub(crate) fn multiply(&self, scalar: &Scalar) -> Point {
        let mut multiples = [Point::IDENTITY; 16];
        for i in 1..16 {
            multiples[i] = multiples[i - 1].add(self);
        }
        let mut digits = scalar.digits();
        let (mut product, mut chosen) = (Point::IDENTITY, Point::IDENTITY);
        for digit in digits.iter().rev() {
            for _ in 0..4 {
                product = product.double();
            }
            for (number, multiple) in (0u8..).zip(&multiples) {
                // All ones where the numbers are the same.
                let mask = (u64::from(digit ^ number).wrapping_sub(1) >> 63).wrapping_neg();
                chosen.x.take(mask, &multiple.x);
                chosen.y.take(mask, &multiple.y);
                chosen.z.take(mask, &multiple.z);
            }
            product = product.add(&chosen);
        }
        multiples.zeroize();
        digits.zeroize();
        chosen.zeroize();
        product
    }

    /// Encodes the point: RFC 8032 §5.2.2.
    pub(crate) fn encode(&self) -> [u8; POINT] {
        let inverse = self.z.invert();
        let mut bytes = [0; POINT];
        bytes[..BYTES].copy_from_slice(&self.y.mul(inverse).to_bytes());
        bytes[BYTES] = self.x.mul(inverse).sign() << 7;
        bytes
    }

    /// Decodes a point: RFC 8032 §5.2.3. Returns none where y is not below p, x = 0 has a sign, or there is no such point.
    pub(crate) fn decode_vartime(bytes: &[u8; POINT]) -> Option<Point> {
        let (y_bytes, last) = bytes.split_first_chunk::<BYTES>()?;
        let y = Fe::from_bytes(y_bytes);
        if y.to_bytes() != *y_bytes || last[0] & 0x7f != 0 {
            return None;
        }
        let square = y.square();
        // x^2 = (y^2 - 1) / (d y^2 - 1) = u / v, with both signs changed.
        let u = Fe::ONE.sub(square);
        let v = square.times_small(MINUS_D).add(Fe::ONE);
        let cube = u.square().mul(u);
        let x = cube.mul(v).mul(cube.mul(u.square()).mul(v.square().mul(v)).power_of_root());
        if !bool::from(v.mul(x.square()).equals(u)) {
            return None;
        }
        let sign = last[0] >> 7;
        if sign == 1 && bool::from(x.equals(Fe::ZERO)) {
            return None;
        }
        Some(Point { x: if x.sign() == sign { x } else { x.negate() }, y, z: Fe::ONE })
    }
}
