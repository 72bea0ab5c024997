//! Presignatures of P-256: the part of a signature that needs neither the key nor the message, computed before there is either.
//!
//! With the inverse of a nonce k and the number r of its point at hand, s = (e + d r) / k takes two multiplications. The price is that
//! nothing hedges the nonce: it comes from a source of random bytes alone. Whoever learns a presignature learns the key that it
//! serves, and so does whoever sees one serve two messages. So a presignature can't be cloned, [`Presignature::take`] leaves zeros
//! where it was, and to sign takes it by value. They are for the accelerator in a worker, and no part of the public interface.
//!
//! Ref. FIPS 186-5 §6.4.1 (steps 3 to 6 need no message); J. Groth and V. Shoup, "On the security of ECDSA with additive key
//! derivation and presignatures", 2022.
//!
//! # Safety
//! Each call through a kernel's functions is covered by the [`Bound`](crate::Bound) in the manager, or in the row that was picked.
#![allow(unsafe_code)]

use millstream_cpu::Features;
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::{Curve, Lanes, Message, PrivateKey, Signature};
use crate::weierstrass::field::{Element, Modulus};
use crate::weierstrass::key::random_scalar;
use crate::weierstrass::lanes::{MOST, SignLane};
use crate::weierstrass::limbs;
use crate::weierstrass::ops::{LIMBS, Pair, Secret, narrow, widened};
use crate::weierstrass::primes::P256Order;
use crate::{Error, Random};

type Scalar = Element<P256Order, 4>;

/// The number one as a message, and zero as a private key.
const ONE: [u64; LIMBS] = widened(&[1, 0, 0, 0]);
static ZERO: Secret = Secret([0; LIMBS]);

/// The inverse of a nonce and the number r, or zeros where there is none.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Presignature {
    /// The inverse of the nonce, in the form of the field.
    inverse: [u64; 4],
    /// The number r in the form of the field.
    form: [u64; 4],
    /// The number r.
    r: [u64; 4],
    /// 1 where there is a presignature.
    there: u8,
}

impl Presignature {
    /// The place of a presignature that is not there.
    pub const NONE: Presignature = Presignature { inverse: [0; 4], form: [0; 4], r: [0; 4], there: 0 };

    /// Takes it out of its place, where zeros are left; none if the place was empty.
    #[inline]
    pub fn take(&mut self) -> Option<Presignature> {
        if self.is_none() {
            return None;
        }
        let taken = Presignature { inverse: self.inverse, form: self.form, r: self.r, there: self.there };
        self.zeroize();
        Some(taken)
    }

    /// Returns true where there is none.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.there == 0
    }

    /// Takes what signing the number one under the key zero has given: s is the inverse of the nonce then.
    fn put(&mut self, pair: &mut Pair) {
        let (r, inverse) = (narrow(&pair.r), narrow(&pair.s));
        // Zeros, which nobody has ever seen, make no presignature.
        if limbs::zero_mask(r) | limbs::zero_mask(inverse) == 0 {
            let (inverse, form) = (Scalar::new(inverse).0, Scalar::new(r).0);
            *self = Presignature { inverse, form, r: *r, there: 1 };
        }
        pair.s.zeroize();
        pair.r.zeroize();
    }
}

impl Lanes {
    /// Returns how many presignatures are made in one go.
    #[doc(hidden)]
    pub fn presignatures(&self) -> usize {
        let ops = self.ops(Curve::P256);
        if ops.width < ops.crossover.objects(0) { 1 } else { ops.width }
    }

    /// Makes presignatures for the first [`Lanes::presignatures`] of the places, side by side.
    ///
    /// # Errors
    /// [`Error::Random`], or what the source says, if it fails. No place has changed then.
    #[doc(hidden)]
    pub fn presign(
        &self,
        features: Features,
        random: &mut dyn Random,
        places: &mut [Presignature],
    ) -> Result<(), Error> {
        let count = self.presignatures().min(places.len());
        let mut nonces = [const { None }; MOST];
        for nonce in &mut nonces[..count] {
            *nonce = Some(random_scalar(Curve::P256, random)?);
        }
        let nonces = nonces.into_iter().flatten();
        if self.presignatures() == 1 {
            let kernel = Curve::P256.table().best(features);
            for (place, nonce) in places.iter_mut().zip(nonces) {
                // SAFETY: `kernel` is bound.
                let mut pair = unsafe { (kernel.ops().sign)(&ZERO, &ONE, &nonce) };
                place.put(&mut pair);
            }
            return Ok(());
        }
        let none = Pair { r: [0; LIMBS], s: [0; LIMBS] };
        let lane = |nonce| SignLane { private: &ZERO, message: ONE, nonce, result: none };
        let mut lanes: Vec<_> = nonces.map(lane).collect();
        // SAFETY: the curve's kernel is bound, and there are no more jobs than it has lanes.
        unsafe { (self.ops(Curve::P256).sign)(&mut lanes) };
        lanes.iter_mut().zip(places).for_each(|(lane, place)| place.put(&mut lane.result));
        Ok(())
    }
}

impl PrivateKey {
    /// Signs with a presignature, which is gone after that; none if the key is of another curve or the numbers don't suit each
    /// other, which nobody has ever seen. Another nonce is needed then.
    #[doc(hidden)]
    pub fn sign_presigned(&self, message: &Message<'_>, presignature: Presignature) -> Option<Signature> {
        if self.curve() != Curve::P256 || presignature.is_none() {
            return None;
        }
        // A product of a number and a form is a number: d r, and then s.
        let mut sum = P256Order::multiply(narrow(&self.scalar.0), &presignature.form);
        let message = message.number(Curve::P256);
        sum = P256Order::add(&sum, &limbs::reduce_once(narrow(&message), 0, &P256Order::MODULUS));
        let s = P256Order::multiply(&sum, &presignature.inverse);
        sum.zeroize();
        let pair = Pair { r: widened(&presignature.r), s: widened(&s) };
        drop(presignature);
        Signature::new(Curve::P256, &pair)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use millstream_engines::hash::Hash;
    use millstream_testkit::Random as TestRandom;

    use super::*;
    use crate::weierstrass::P256_LANES;

    struct Source(TestRandom);

    impl Random for Source {
        fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
            bytes.copy_from_slice(&self.0.bytes(bytes.len()));
            Ok(())
        }
    }

    fn places() -> [Presignature; MOST] {
        [const { Presignature::NONE }; MOST]
    }

    /// Every row of the lanes, and where it has none every row for one operation.
    fn ways() -> Vec<(Lanes, Features)> {
        let mut ways = Vec::new();
        for lanes in P256_LANES.available(Features::hardware()) {
            ways.push((Lanes::with_kernel(lanes), Features::hardware()));
        }
        ways.push((Lanes::new(Features::none()), Features::none()));
        ways
    }

    #[test]
    fn a_signature_with_a_presignature_is_that_with_its_nonce() {
        for (lanes, features) in ways() {
            let (mut source, mut again) = (Source(TestRandom::new(7)), Source(TestRandom::new(7)));
            let mut places = places();
            lanes.presign(features, &mut source, &mut places).unwrap();
            let made = lanes.presignatures();
            assert!(places[made..].iter().all(Presignature::is_none));
            for (i, place) in places[..made].iter_mut().enumerate() {
                let nonce = random_scalar(Curve::P256, &mut again).unwrap();
                // The digest of ones is above the order.
                let digest = [if i % 2 == 0 { 0xff } else { i as u8 }; 32];
                let key = PrivateKey::new(features, Curve::P256, &[i as u8 + 1; 32]).unwrap();
                let message = Message::digest(Hash::Sha256, &digest);
                let presigned = key.sign_presigned(&message, place.take().unwrap()).unwrap();
                let pair = key.sign_number(&message.number(Curve::P256), &nonce);
                assert_eq!(Some(presigned), Signature::new(Curve::P256, &pair), "{}", lanes.kernel().name);
                key.public().verify(&message, &presigned).unwrap();
            }
        }
    }

    #[test]
    fn what_is_taken_leaves_zeros_and_serves_once() {
        let (lanes, mut source) = (Lanes::new(Features::hardware()), Source(TestRandom::new(8)));
        let mut places = places();
        lanes.presign(Features::hardware(), &mut source, &mut places).unwrap();
        let numbers = |place: &Presignature| [place.inverse, place.form, place.r].concat();
        assert!(numbers(&places[0]).iter().all(|limb| *limb != 0));
        assert!(places[0].take().is_some());
        assert!(numbers(&places[0]).iter().all(|limb| *limb == 0));
        assert!(places[0].take().is_none(), "nothing is there any more");
    }

    #[test]
    fn presignatures_differ_and_a_source_that_fails_changes_nothing() {
        let (lanes, mut source) = (Lanes::new(Features::hardware()), Source(TestRandom::new(9)));
        let (mut places, mut seen) = (places(), HashSet::new());
        for _ in 0..20 {
            lanes.presign(Features::hardware(), &mut source, &mut places).unwrap();
            for place in &mut places[..lanes.presignatures()] {
                assert!(seen.insert(place.take().unwrap().r));
            }
        }
        struct Fails;
        impl Random for Fails {
            fn fill(&mut self, _: &mut [u8]) -> Result<(), Error> {
                Err(Error::Random)
            }
        }
        assert_eq!(lanes.presign(Features::hardware(), &mut Fails, &mut places), Err(Error::Random));
        assert!(places.iter().all(Presignature::is_none));
    }

    #[test]
    fn other_curves_have_none() {
        let mut places = places();
        let lanes = Lanes::new(Features::hardware());
        lanes.presign(Features::hardware(), &mut Source(TestRandom::new(10)), &mut places).unwrap();
        let message = Message::digest(Hash::Sha256, &[1; 32]);
        for curve in [Curve::P384, Curve::P521] {
            let mut scalar = vec![0; curve.bytes()];
            scalar[curve.bytes() - 1] = 3;
            let key = PrivateKey::new(Features::hardware(), curve, &scalar).unwrap();
            assert!(key.sign_presigned(&message, places[0].take().unwrap_or(Presignature::NONE)).is_none());
        }
    }
}
