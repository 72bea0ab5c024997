//! Eight points of edwards25519. The formulas are those of the points one at a time.
//!
//! Ref. RFC 8032 §5.1.3 and §5.1.4; Hisil, Wong, Carter and Dawson, "Twisted Edwards Curves Revisited" (2008), §3.1 and §3.3.

use std::arch::x86_64::*;

use super::super::edwards::{D, D2, ROOT_OF_MINUS_ONE};
use super::field::Fe8;
use super::words::{Words, splat};

/// Points x = X/Z, y = Y/Z, with T = XY/Z. All four are tight.
#[derive(Clone, Copy)]
pub(crate) struct Extended8 {
    pub(crate) x: Fe8,
    pub(crate) y: Fe8,
    pub(crate) z: Fe8,
    pub(crate) t: Fe8,
}

/// Points of tables: y + x, y - x and 2dxy, or their negatives.
#[derive(Clone, Copy)]
pub(crate) struct Niels8 {
    pub(crate) plus: Fe8,
    pub(crate) minus: Fe8,
    pub(crate) xy2d: Fe8,
    /// The lanes in which the negative of 2dxy is meant. The other two are exchanged already.
    pub(crate) negative: __mmask8,
}

/// Points to be added more than once: Y + X, Y - X, 2Z and 2dT, or their negatives.
#[derive(Clone, Copy)]
pub(crate) struct Cached8 {
    pub(crate) plus: Fe8,
    pub(crate) minus: Fe8,
    pub(crate) z2: Fe8,
    pub(crate) t2d: Fe8,
    /// The lanes in which the negative of 2dT is meant. The first two are exchanged already.
    pub(crate) negative: __mmask8,
}

impl Extended8 {
    /// The neutral point in every lane.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn identity() -> Extended8 {
        let (zero, one) = (Fe8::small(0), Fe8::small(1));
        Extended8 { x: zero, y: one, z: one, t: zero }
    }

    /// Makes points of their tight coordinates.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn from_affine(x: Fe8, y: Fe8) -> Extended8 {
        Extended8 { x, y, z: Fe8::small(1), t: x.mul(&y) }
    }

    /// Twice the points. Without `T` the result may only be doubled again: the additions use T.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn double<const T: bool>(&self) -> Extended8 {
        let xx = self.x.square();
        let yy = self.y.square();
        let zz = self.z.square();
        let h = xx.add(yy);
        let e = self.x.add(self.y).square().sub(h);
        let g = yy.sub(xx);
        let f = zz.add(zz).add(xx).sub(yy);
        let t = if T { e.mul(&h) } else { self.t };
        Extended8 { x: e.mul(&f), y: g.mul(&h), z: f.mul(&g), t }
    }

    /// The points in the form of addends.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn cached(&self) -> Cached8 {
        Cached8 {
            plus: self.y.add(self.x),
            minus: self.y.sub(self.x),
            z2: self.z.add(self.z),
            t2d: self.t.mul(&Fe8::all(&D2)),
            negative: 0,
        }
    }

    /// The sums with other points.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn add(&self, other: &Cached8) -> Extended8 {
        let a = self.y.sub(self.x).mul(&other.minus);
        let b = self.y.add(self.x).mul(&other.plus);
        let c = self.t.mul(&other.t2d);
        let d = self.z.mul(&other.z2);
        of_sum(a, b, c, d, other.negative)
    }

    /// The sums with points of tables.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn add_niels(&self, other: &Niels8) -> Extended8 {
        let a = self.y.sub(self.x).mul(&other.minus);
        let b = self.y.add(self.x).mul(&other.plus);
        let c = self.t.mul(&other.xy2d);
        of_sum(a, b, c, self.z.add(self.z), other.negative)
    }

    /// The negatives of the points.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn negate(&self) -> Extended8 {
        let (zero, one) = (Fe8::small(0), Fe8::small(1));
        // Multiplying by one makes the negatives tight.
        let (x, t) = (zero.sub(self.x).mul(&one), zero.sub(self.t).mul(&one));
        Extended8 { x, y: self.y, z: self.z, t }
    }

    /// The encodings: y with the sign of x in the top bit (RFC 8032 §5.1.2).
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn encode(&self) -> [[u8; 32]; 8] {
        let inverse = self.z.invert();
        let mut y = self.y.mul(&inverse).to_words();
        let sign = self.x.mul(&inverse).signs();
        y.0[3] = _mm512_mask_or_epi64(y.0[3], sign, y.0[3], splat(1 << 63));
        y.to_bytes()
    }

    /// The mask of the lanes with the neutral point.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn identities(&self) -> __mmask8 {
        self.x.zeros() & self.y.sub(self.z).zeros()
    }

    /// Decodes points as ZIP 215 does, and returns the mask of the lanes in which the curve has such a point.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn decode_vartime(bytes: &[[u8; 32]; 8]) -> (Extended8, __mmask8) {
        let words = Words::load_bytes(bytes);
        let sign = words.bit(255);
        let y = Fe8::from_words(&words);
        let one = Fe8::small(1);
        let yy = y.square();
        let u = yy.sub(one);
        let v = yy.mul(&Fe8::all(&D)).add(one);
        // RFC 8032 §5.1.3, step 2: x = u v^3 (u v^7)^((p - 5) / 8).
        let v3 = v.square().mul(&v);
        let v7 = v3.square().mul(&v);
        let x = u.mul(&v3).mul(&u.mul(&v7).power_for_root());
        // Step 3. Multiplying by one makes u tight.
        let (vxx, u) = (x.square().mul(&v), u.mul(&one));
        let (root, other) = (vxx.sub(u).zeros(), vxx.add(u).zeros());
        let x = x.mul(&Fe8::all(&ROOT_OF_MINUS_ONE)).select(root, &x);
        // Step 4.
        let negative = Fe8::small(0).sub(x).mul(&one);
        let x = x.select(x.signs() ^ sign, &negative);
        (Extended8::from_affine(x, y), root | other)
    }
}

/// The second half of an addition. In the lanes of the mask the negative of `c` is meant, which exchanges two sums.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn of_sum(a: Fe8, b: Fe8, c: Fe8, d: Fe8, negative: __mmask8) -> Extended8 {
    let (e, h) = (b.sub(a), b.add(a));
    let (less, more) = (d.sub(c), d.add(c));
    let (f, g) = (less.select(negative, &more), more.select(negative, &less));
    Extended8 { x: e.mul(&f), y: g.mul(&h), z: f.mul(&g), t: e.mul(&h) }
}
