//! Eight points of edwards25519. The formulas are those of the points one at a time.
//!
//! Ref. RFC 8032 §5.1.3 and §5.1.4; Hisil, Wong, Carter and Dawson, "Twisted Edwards Curves Revisited" (2008), §3.1 and §3.3.

use std::arch::x86_64::*;

use super::super::edwards::{D, D2, ROOT_OF_MINUS_ONE};
use super::field::{Factor8, Product8};
use super::words::{Words, splat};

/// Points x = X/Z, y = Y/Z, with T = XY/Z.
#[derive(Clone, Copy)]
pub(crate) struct Extended8 {
    pub(crate) x: Product8,
    pub(crate) y: Product8,
    pub(crate) z: Product8,
    pub(crate) t: Product8,
}

/// Points of tables: y + x, y - x and 2dxy, or their negatives.
#[derive(Clone, Copy)]
pub(crate) struct Niels8 {
    pub(crate) plus: Factor8,
    pub(crate) minus: Factor8,
    pub(crate) xy2d: Factor8,
    /// The lanes in which the negative of 2dxy is meant. The other two are exchanged already.
    pub(crate) negative: __mmask8,
}

/// Points to be added more than once: Y + X, Y - X, 2Z and 2dT, or their negatives.
#[derive(Clone, Copy)]
pub(crate) struct Cached8 {
    pub(crate) plus: Factor8,
    pub(crate) minus: Factor8,
    pub(crate) z2: Factor8,
    pub(crate) t2d: Factor8,
    /// The lanes in which the negative of 2dT is meant. The first two are exchanged already.
    pub(crate) negative: __mmask8,
}

impl Extended8 {
    /// The neutral point in every lane.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn identity() -> Extended8 {
        let (zero, one) = (Product8::small(0), Product8::small(1));
        Extended8 { x: zero, y: one, z: one, t: zero }
    }

    /// Makes points of their coordinates.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn from_affine(x: Factor8, y: Factor8) -> Extended8 {
        Extended8 { x: x.number(), y: y.number(), z: Product8::small(1), t: x.mul(y) }
    }

    /// Twice the points. Without `T` the result may only be doubled again: the additions use T.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn double<const T: bool>(&self) -> Extended8 {
        let xx = self.x.factor().square();
        let yy = self.y.factor().square();
        let zz = self.z.factor().square();
        let e = self.x.add(self.y).square().sub_both(xx, yy);
        let (g, h) = (yy.sub(xx), xx.add(yy));
        let f = zz.twice_plus_less(xx, yy);
        let t = if T { e.mul(h) } else { self.t };
        Extended8 { x: e.mul(f), y: g.mul(h), z: f.mul(g), t }
    }

    /// The points in the form of addends.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn cached(&self) -> Cached8 {
        Cached8 {
            plus: self.y.add(self.x),
            minus: self.y.sub(self.x),
            z2: self.z.add(self.z),
            t2d: self.t.factor().mul(Factor8::all(&D2)).factor(),
            negative: 0,
        }
    }

    /// The sums with other points.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn add(&self, other: &Cached8) -> Extended8 {
        let a = self.y.sub(self.x).mul(other.minus);
        let b = self.y.add(self.x).mul(other.plus);
        let c = self.t.factor().mul(other.t2d);
        let d = self.z.factor().mul(other.z2);
        of_sum(a, b, d.sub(c), d.add(c), other.negative)
    }

    /// The sums with points of tables.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn add_niels(&self, other: &Niels8) -> Extended8 {
        let a = self.y.sub(self.x).mul(other.minus);
        let b = self.y.add(self.x).mul(other.plus);
        let c = self.t.factor().mul(other.xy2d);
        of_sum(a, b, self.z.twice_less(c), self.z.twice_plus(c), other.negative)
    }

    /// The negatives of the points.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn negate(&self) -> Extended8 {
        let zero = Product8::small(0);
        Extended8 { x: zero.sub(self.x).number(), y: self.y, z: self.z, t: zero.sub(self.t).number() }
    }

    /// The encodings: y with the sign of x in the top bit (RFC 8032 §5.1.2).
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn encode(&self) -> [[u8; 32]; 8] {
        let inverse = self.z.factor().invert();
        let mut y = self.y.factor().mul(inverse).factor().to_words();
        let sign = self.x.factor().mul(inverse).factor().signs();
        y.0[3] = _mm512_mask_or_epi64(y.0[3], sign, y.0[3], splat(1 << 63));
        y.to_bytes()
    }

    /// The mask of the lanes with the neutral point.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn identities(&self) -> __mmask8 {
        self.x.factor().zeros() & self.y.sub(self.z).zeros()
    }

    /// Decodes points as ZIP 215 does, and returns the mask of the lanes in which the curve has such a point.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn decode_vartime(bytes: &[[u8; 32]; 8]) -> (Extended8, __mmask8) {
        let words = Words::load_bytes(bytes);
        let sign = words.bit(255);
        let y = Factor8::from_words(&words);
        let (zero, one) = (Product8::small(0), Product8::small(1));
        let yy = y.square();
        let u = yy.sub(one);
        let v = yy.factor().mul(Factor8::all(&D)).add(one);
        // RFC 8032 §5.1.3, step 2: x = u v^3 (u v^7)^((p - 5) / 8).
        let v3 = v.square().factor().mul(v).factor();
        let v7 = v3.square().factor().mul(v).factor();
        let x = u.mul(v3).factor().mul(u.mul(v7).factor().power_for_root()).factor();
        // Step 3.
        let (vxx, u) = (x.square().factor().mul(v), u.number());
        let (root, other) = (vxx.sub(u).zeros(), vxx.add(u).zeros());
        let x = x.mul(Factor8::all(&ROOT_OF_MINUS_ONE)).factor().select(root, x);
        // Step 4.
        let negative = zero.sub(x.number());
        let x = x.select(x.signs() ^ sign, negative);
        (Extended8::from_affine(x, y), root | other)
    }
}

/// The second half of an addition: `less` and `more` are 2 Z1 Z2 less and plus the product of the T. In the lanes of the
/// mask the negative of that product is meant, which exchanges the two.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn of_sum(a: Product8, b: Product8, less: Factor8, more: Factor8, negative: __mmask8) -> Extended8 {
    let (e, h) = (b.sub(a), b.add(a));
    let (f, g) = (less.select(negative, more), more.select(negative, less));
    Extended8 { x: e.mul(f), y: g.mul(h), z: f.mul(g), t: e.mul(h) }
}
