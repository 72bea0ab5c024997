//! Numbers of many words, and arithmetic modulo an odd number in Montgomery's representation.
//!
//! Numbers are slices of 64-bit words, the least significant first. No branch and no address depends on a number's value, only on
//! how many words it has. Functions that leak more have `_vartime` in their names.
//!
//! Ref. P. L. Montgomery, "Modular multiplication without trial division" (1985); Koç, Acar and Kaliski, "Analyzing and
//! comparing Montgomery multiplication algorithms" (1996).

#[cfg(target_arch = "x86_64")]
pub(crate) mod arch;
pub(crate) mod euclid;
mod modulus;
mod power;
mod prime;
#[cfg(target_arch = "x86_64")]
pub(crate) mod radix52;
pub(crate) mod words;

pub(crate) use modulus::Modulus;
pub(crate) use power::{PublicPower, SecretPower, power, power_public, power_short};
pub(crate) use prime::{is_probable_prime, passes_sieve};

/// Words of the longest modulus, which has 4096 bits.
pub(crate) const WORDS: usize = 64;
/// Words of the longest prime factor.
pub(crate) const HALF: usize = WORDS / 2;

/// The size of a modulus for kernels with lanes, by its words: powers whose moduli have the same size go together.
pub(crate) fn lanes_size(words: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    return radix52::limbs_lanes(words);
    #[cfg(not(target_arch = "x86_64"))]
    words
}
