//! The numbers of a key, in the form that kernels take, and the private operation around a kernel's halves.
//!
//! Ref. RFC 8017 §5.1.
//!
//! # Safety
//! Each call through a kernel's functions is covered by the [`Bound`] it goes through.
#![allow(unsafe_code)]

use millstream_kernel::Bound;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::Ops;
use crate::Error;
use crate::montgomery::{HALF, Modulus, WORDS, words};

/// A number below a modulus of any supported size.
pub(crate) type Number = [u64; WORDS];

/// The numbers of a public key.
#[derive(Clone)]
pub(crate) struct Public {
    pub(crate) modulus: Modulus<WORDS>,
    pub(crate) exponent: u64,
    pub(crate) bits: usize,
}

/// A prime and the exponent that belongs to it.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Half {
    pub(crate) prime: Modulus<HALF>,
    pub(crate) exponent: [u64; HALF],
}

/// The secret numbers of a private key. Both primes have the same number of words.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Private {
    pub(crate) p: Half,
    pub(crate) q: Half,
    /// The inverse of q modulo p.
    pub(crate) inverse: [u64; HALF],
    /// The whole private exponent.
    pub(crate) exponent: Number,
}

/// Powers modulo both primes.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Halves {
    pub(crate) p: [u64; HALF],
    pub(crate) q: [u64; HALF],
}

impl Half {
    /// Reduces a number below the modulus of the key.
    pub(crate) fn reduce(&self, number: &Number, out: &mut [u64; HALF]) {
        let mut wide = Zeroizing::new(*number);
        self.prime.reduce(&mut wide[..2 * self.prime.len()], out);
    }
}

impl Halves {
    pub(crate) fn zero() -> Self {
        Halves { p: [0; HALF], q: [0; HALF] }
    }
}

impl Private {
    /// A key of zeros, to be filled in its place.
    pub(crate) fn empty() -> Self {
        let half = || Half { prime: Modulus::empty(), exponent: [0; HALF] };
        Private { p: half(), q: half(), inverse: [0; HALF], exponent: [0; WORDS] }
    }

    /// Joins the powers modulo the primes to the power modulo their product: RFC 8017 §5.1.2, step 2.
    pub(crate) fn join(&self, halves: &Halves, out: &mut Number) {
        let (p, n) = (&self.p.prime, self.p.prime.len());
        let mut difference = Zeroizing::new([0; HALF]);
        let mut other = Zeroizing::new([0; HALF]);
        p.enter(&halves.p, &mut difference[..]);
        p.enter(&halves.q, &mut other[..]);
        p.subtract(&mut difference[..], &other[..]);
        p.multiply(&difference[..], &self.inverse, &mut other[..]);
        out.fill(0);
        words::multiply(&other[..n], self.q.prime.words(), &mut out[..2 * n]);
        words::add(&mut out[..2 * n], &halves.q[..n], u64::MAX);
    }
}

/// Raises `input`, which is below the modulus, to the private exponent. The result is zero unless the public operation leads back.
pub(crate) fn private(
    kernel: Bound<Ops>,
    public: &Public,
    secret: &Private,
    input: &Number,
    out: &mut Number,
) -> Result<(), Error> {
    let mut halves = Halves::zero();
    // SAFETY: the kernel is bound.
    unsafe { (kernel.ops().halves)(secret, input, &mut halves) };
    secret.join(&halves, out);
    let mut back = Zeroizing::new([0; WORDS]);
    // SAFETY: the kernel is bound.
    unsafe { (kernel.ops().public)(public, out, &mut back) };
    release(input, &back, out)
}

/// Lets the result go if the public operation led back to the input, and wipes it elsewhere.
pub(crate) fn release(input: &Number, back: &Number, out: &mut Number) -> Result<(), Error> {
    if words::equal(input, back) == 0 {
        out.zeroize();
        return Err(Error::Fault);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use millstream_cpu::Features;

    use super::super::{Component, PrivateKey, RSA, example};
    use super::*;

    /// Faults of one bit in each number of a half, one after another.
    #[test]
    fn no_faulty_result_is_released() {
        for kernel in RSA.available(Features::hardware()) {
            let whole = PrivateKey::with_kernel(kernel, Features::hardware(), &example::COMPONENTS).unwrap();
            let mut input = [0; WORDS];
            assert!(words::read(&example::INPUT, &mut input));
            let mut out = [0; WORDS];
            let mut faults = 0;
            for bit in (0..512).step_by(31) {
                for place in 0..4 {
                    let mut secret = whole.rebuilt();
                    let halves = [&mut secret.p.exponent, &mut secret.q.exponent];
                    let word = match place {
                        0 | 1 => &mut halves[place][bit / 64],
                        2 => &mut secret.inverse[bit / 64],
                        _ => &mut input[bit / 64 + 4],
                    };
                    *word ^= 1 << (bit % 64);
                    let result = private(kernel, whole.public_numbers(), &secret, &input, &mut out);
                    if place == 3 {
                        // Another input is no fault.
                        assert_eq!(result, Ok(()));
                        input[bit / 64 + 4] ^= 1 << (bit % 64);
                        continue;
                    }
                    assert_eq!(
                        (result, out),
                        (Err(Error::Fault), [0; WORDS]),
                        "{} bit {bit}",
                        kernel.kernel().name
                    );
                    faults += 1;
                }
            }
            assert_eq!(faults, 51);
            let mut modulus = [0; 128];
            assert_eq!(whole.component(Component::Modulus, &mut modulus), Ok(128));
        }
    }
}
