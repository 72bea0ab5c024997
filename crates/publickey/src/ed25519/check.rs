//! The portable kernel: the base point's multiples, and the equation of a signature one at a time.
//!
//! Verification works on public values. Both scalars are in non-adjacent form, and share their doublings.
//!
//! Ref. RFC 8032 §5.1.7; ZIP 215; Straus, "Addition chains of vectors" (1964), for the shared doublings.

use super::{KEY, Ops};
use crate::curve25519::base;
use crate::curve25519::edwards::{Cached, Extended, Niels, root_vartime};
use crate::curve25519::field::Fe;
use crate::curve25519::scalar::Scalar;
use crate::curve25519::tables::{MULTIPLES, WORDS};

pub(super) const PORTABLE: Ops = Ops { multiply_base, check_vartime };

/// The rules by which a signature verifies: see the [module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// RFC 8032, with canonical encodings and without the cofactor.
    Strict,
    /// ZIP 215, with any encodings and with the cofactor.
    Zip215,
}

/// The equation of a signature: S B = R + k A, all of it public.
pub(crate) struct Check {
    /// The decoded A.
    pub(crate) key: Affine,
    /// R as it is encoded.
    pub(crate) point: [u8; 32],
    /// The digest k, below L.
    pub(crate) k: Scalar,
    /// S, below L.
    pub(crate) s: Scalar,
    pub(crate) rules: Rules,
}

impl Check {
    /// An equation for lanes without a job: 0 B = 0 + 0 A for the neutral point.
    pub(super) const TRUE: Check = {
        let mut point = [0; 32];
        point[0] = 1;
        let key = Affine { x: [0; 4], y: [1, 0, 0, 0] };
        Check { key, point, k: Scalar::ZERO, s: Scalar::ZERO, rules: Rules::Strict }
    };
}

/// A point x, y of numbers below p, in words that every kernel reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Affine {
    pub(crate) x: [u64; 4],
    pub(crate) y: [u64; 4],
}

impl Affine {
    /// Decodes a point as ZIP 215 does. Nothing if the curve has no such point.
    pub(super) fn decode_vartime(bytes: &[u8; 32]) -> Option<Affine> {
        let y = Fe::from_bytes(bytes);
        let x = root_vartime(y, u64::from(bytes[31] >> 7))?;
        Some(Affine { x: x.to_words(), y: y.to_words() })
    }

    pub(super) fn extended(&self) -> Extended {
        Extended::from_affine(Fe::from_words(self.x), Fe::from_words(self.y))
    }
}

/// Returns true if these bytes are the one encoding that RFC 8032 §5.1.3 allows, of a point that is on the curve.
pub(super) fn is_canonical(bytes: &[u8; 32]) -> bool {
    let mut y = *bytes;
    y[31] &= 0x7f;
    // x is zero for y = 1 and y = -1 alone, and then its sign has to be clear.
    let number = Fe::from_bytes(&y);
    let zero_x = number.square().equals(Fe::ONE);
    number.to_bytes() == y && !(zero_x && bytes[31] >> 7 == 1)
}

pub(super) fn multiply_base(scalar: &Scalar) -> [u8; KEY] {
    base::multiply(scalar).encode()
}

fn check_vartime(check: &Check) -> bool {
    holds_vartime(check)
}

/// Returns true if the equation holds under the rules.
#[inline(always)]
pub(super) fn holds_vartime(check: &Check) -> bool {
    let key = check.key.extended().negate();
    let point = combine_vartime(&check.s, &check.k, &key);
    match check.rules {
        // The encoding that is computed is canonical, so R has to be, too.
        Rules::Strict => point.encode() == check.point,
        Rules::Zip215 => Affine::decode_vartime(&check.point).is_some_and(|r| {
            point.add(&r.extended().cached().negate()).double_times(3).is_identity_vartime()
        }),
    }
}

/// Returns s B + k P for scalars below 2^253.
#[inline(always)]
fn combine_vartime(s: &Scalar, k: &Scalar, point: &Extended) -> Extended {
    let (s, k) = (s.non_adjacent_form_vartime(8), k.non_adjacent_form_vartime(5));
    // P, 3 P, 5 P and so on to 15 P.
    let twice = point.double().cached();
    let mut multiple = *point;
    let mut odd = [point.cached(); 8];
    for cached in &mut odd[1..] {
        multiple = multiple.add(&twice);
        *cached = multiple.cached();
    }
    let mut sum = Extended::IDENTITY;
    let Some(top) = (0..256).rev().find(|&i| s[i] != 0 || k[i] != 0) else { return sum };
    for i in (0..=top).rev() {
        sum = sum.double();
        if k[i] != 0 {
            let cached: Cached = odd[usize::from(k[i].unsigned_abs()) / 2];
            sum = sum.add(&if k[i] > 0 { cached } else { cached.negate() });
        }
        if s[i] != 0 {
            let niels = niels(&MULTIPLES.0[usize::from(s[i].unsigned_abs()) - 1]);
            sum = sum.add_niels(&if s[i] > 0 { niels } else { niels.negate() });
        }
    }
    sum
}

#[inline(always)]
fn niels(words: &[u64; WORDS]) -> Niels {
    let [p0, p1, p2, p3, m0, m1, m2, m3, t0, t1, t2, t3] = *words;
    Niels {
        plus: Fe::from_words([p0, p1, p2, p3]),
        minus: Fe::from_words([m0, m1, m2, m3]),
        xy2d: Fe::from_words([t0, t1, t2, t3]),
    }
}
