//! Points of edwards25519: -x^2 + y^2 = 1 + d x^2 y^2.
//!
//! The additions are complete: they hold for every pair of points, so no case needs a branch.
//!
//! Ref. RFC 8032 §5.1.3 and §5.1.4; Hisil, Wong, Carter and Dawson, "Twisted Edwards Curves Revisited" (2008), §3.1 and §3.3.

use super::field::Fe;

/// d = -121665 / 121666.
pub(crate) const D: Fe = Fe::small(121_665).neg().mul(Fe::small(121_666).power_for_inverse());
/// 2 d.
pub(crate) const D2: Fe = D.mul(Fe::small(2));
/// A root of -1, the power of (p - 1) / 4 of 2: RFC 8032 §5.1.3, step 3.
pub(crate) const ROOT_OF_MINUS_ONE: Fe = {
    // (p - 1) / 4 = 2 (2^252 - 3) + 1.
    let two = Fe::small(2);
    two.power_for_root().square().mul(two)
};
/// The base point: y = 4/5, and x is even (RFC 8032 §5.1).
pub(crate) const BASE: Extended = {
    let y = Fe::small(4).mul(Fe::small(5).power_for_inverse());
    match root_vartime(y, 0) {
        Some(x) => Extended::from_affine(x, y),
        None => panic!("the base point is on the curve"),
    }
};

/// A point x = X/Z, y = Y/Z, with T = XY/Z. All four are tight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extended {
    pub(crate) x: Fe,
    pub(crate) y: Fe,
    pub(crate) z: Fe,
    pub(crate) t: Fe,
}

/// A point to be added more than once: Y + X, Y - X, 2Z and 2dT, with limbs below 2^54.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cached {
    plus: Fe,
    minus: Fe,
    z2: Fe,
    t2d: Fe,
}

/// A point of a table: y + x, y - x and 2dxy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Niels {
    pub(crate) plus: Fe,
    pub(crate) minus: Fe,
    pub(crate) xy2d: Fe,
}

impl Extended {
    /// The neutral point.
    pub(crate) const IDENTITY: Extended = Extended { x: Fe::ZERO, y: Fe::ONE, z: Fe::ONE, t: Fe::ZERO };

    /// Makes a point of its tight coordinates.
    #[inline]
    pub(crate) const fn from_affine(x: Fe, y: Fe) -> Extended {
        Extended { x, y, z: Fe::ONE, t: x.mul(y) }
    }

    /// Twice the point.
    #[inline(always)]
    pub(crate) const fn double(&self) -> Extended {
        let xx = self.x.square();
        let yy = self.y.square();
        let zz = self.z.square();
        let h = xx.add(yy);
        let e = self.x.add(self.y).square().sub(h);
        let g = yy.sub(xx);
        let f = zz.add(zz).add(xx).sub(yy);
        Extended { x: e.mul(f), y: g.mul(h), z: f.mul(g), t: e.mul(h) }
    }

    /// Twice the point, `times` times.
    #[inline(always)]
    pub(crate) const fn double_times(&self, times: usize) -> Extended {
        let mut point = *self;
        let mut i = 0;
        while i < times {
            point = point.double();
            i += 1;
        }
        point
    }

    /// The point in the form of an addend.
    #[inline(always)]
    pub(crate) const fn cached(&self) -> Cached {
        Cached {
            plus: self.y.add(self.x),
            minus: self.y.sub(self.x),
            z2: self.z.add(self.z),
            t2d: self.t.mul(D2),
        }
    }

    /// The sum of two points.
    #[inline(always)]
    pub(crate) const fn add(&self, other: &Cached) -> Extended {
        let a = self.y.sub(self.x).mul(other.minus);
        let b = self.y.add(self.x).mul(other.plus);
        let c = self.t.mul(other.t2d);
        let d = self.z.mul(other.z2);
        Extended::of_sum(a, b, c, d)
    }

    /// The sum with a point of a table.
    #[inline(always)]
    pub(crate) const fn add_niels(&self, other: &Niels) -> Extended {
        let a = self.y.sub(self.x).mul(other.minus);
        let b = self.y.add(self.x).mul(other.plus);
        let c = self.t.mul(other.xy2d);
        Extended::of_sum(a, b, c, self.z.add(self.z))
    }

    #[inline(always)]
    const fn of_sum(a: Fe, b: Fe, c: Fe, d: Fe) -> Extended {
        let (e, f, g, h) = (b.sub(a), d.sub(c), d.add(c), b.add(a));
        Extended { x: e.mul(f), y: g.mul(h), z: f.mul(g), t: e.mul(h) }
    }

    /// The negative of the point.
    #[inline]
    pub(crate) const fn negate(&self) -> Extended {
        // Multiplying by one makes the negative tight.
        Extended { x: self.x.neg().mul(Fe::ONE), y: self.y, z: self.z, t: self.t.neg().mul(Fe::ONE) }
    }

    /// The encoding: y with the sign of x in the top bit (RFC 8032 §5.1.2).
    #[inline(always)]
    pub(crate) fn encode(&self) -> [u8; 32] {
        let inverse = self.z.invert();
        let mut bytes = self.y.mul(inverse).to_bytes();
        bytes[31] |= (self.x.mul(inverse).sign() << 7) as u8;
        bytes
    }

    /// Returns true for the neutral point. The answer is public.
    #[inline]
    pub(crate) fn is_identity_vartime(&self) -> bool {
        self.x.equals(Fe::ZERO) && self.y.equals(self.z)
    }

    /// Returns true if both are the same point.
    #[cfg(test)]
    pub(crate) fn equals_vartime(&self, other: &Extended) -> bool {
        self.x.mul(other.z).equals(other.x.mul(self.z)) && self.y.mul(other.z).equals(other.y.mul(self.z))
    }
}

impl Cached {
    /// The negative of the point.
    #[inline(always)]
    pub(crate) const fn negate(&self) -> Cached {
        Cached { plus: self.minus, minus: self.plus, z2: self.z2, t2d: self.t2d.neg() }
    }
}

impl Niels {
    /// The negative of the point.
    #[inline(always)]
    pub(crate) const fn negate(&self) -> Niels {
        Niels { plus: self.minus, minus: self.plus, xy2d: self.xy2d.neg() }
    }
}

/// Finds the x whose least bit is `sign`, for a tight y: RFC 8032 §5.1.3. Nothing if the curve has no such point. For
/// x = 0 the sign is ignored, as ZIP 215 wants; strict decoding refuses that before.
#[inline(always)]
pub(crate) const fn root_vartime(y: Fe, sign: u64) -> Option<Fe> {
    let yy = y.square();
    let u = yy.sub(Fe::ONE);
    let v = yy.mul(D).add(Fe::ONE);
    // Step 2: x = u v^3 (u v^7)^((p - 5) / 8).
    let v3 = v.square().mul(v);
    let v7 = v3.square().mul(v);
    let x = u.mul(v3).mul(u.mul(v7).power_for_root());
    // Step 3.
    let vxx = x.square().mul(v);
    let x = if vxx.equals(u) {
        x
    } else if vxx.add(u).equals(Fe::ZERO) {
        x.mul(ROOT_OF_MINUS_ONE)
    } else {
        return None;
    };
    // Step 4. Multiplying by one makes the negative tight.
    Some(if x.sign() == sign { x } else { x.neg().mul(Fe::ONE) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8032 §5.1 has the base point's coordinates.
    #[test]
    fn miri_long_the_base_point_is_the_standards() {
        let x = "1ad5258f602d56c9b2a7259560c72c695cdcd6fd31e2a4c0fe536ecdd3366921";
        let y = "5866666666666666666666666666666666666666666666666666666666666666";
        assert_eq!(BASE.x.to_bytes().to_vec(), millstream_testkit::hex(x));
        assert_eq!(BASE.y.to_bytes().to_vec(), millstream_testkit::hex(y));
    }

    #[test]
    fn miri_long_additions_are_complete() {
        let mut point = Extended::IDENTITY;
        for _ in 0..10 {
            assert!(point.add(&point.cached()).equals_vartime(&point.double()));
            assert!(point.add(&Extended::IDENTITY.cached()).equals_vartime(&point));
            assert!(point.add(&point.negate().cached()).is_identity_vartime());
            assert!(point.add(&point.cached().negate()).is_identity_vartime());
            point = point.add(&BASE.cached());
        }
        // Eight times the base point's encoding comes back.
        let eight = BASE.double_times(3);
        let bytes = eight.encode();
        let mut y = bytes;
        y[31] &= 0x7f;
        let y = Fe::from_bytes(&y);
        let x = root_vartime(y, u64::from(bytes[31] >> 7)).expect("on the curve");
        assert!(Extended::from_affine(x, y).equals_vartime(&eight));
    }
}
