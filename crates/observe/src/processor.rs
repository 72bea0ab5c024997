//! The features that this processor announces, among those that can be withheld.
//!
//! These are the answers that this process gets. Under `millstream run --without`, withheld features are
//! missing.

use crate::capability::{Capabilities, HERE, Place};

/// Returns the features of [`HERE`] that the processor has.
///
/// ```
/// use millstream_observe::processor;
///
/// # #[cfg(target_arch = "x86_64")]
/// assert_eq!(processor::capabilities().has("aes"), std::arch::is_x86_feature_detected!("aes"));
/// ```
pub fn capabilities() -> Capabilities {
    HERE.iter()
        .filter(|capability| capability.places.iter().any(|place| is_set(*place)))
        .map(|capability| Capabilities::named(capability.name))
        .fold(Capabilities::NONE, Capabilities::union)
}

/// Returns the maker's name, such as `GenuineIntel`, or nothing where the processor does not tell.
#[cfg(target_arch = "x86_64")]
pub fn vendor() -> String {
    let answer = std::arch::x86_64::__cpuid(0);
    let bytes = [answer.ebx, answer.edx, answer.ecx].map(u32::to_le_bytes).concat();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the maker's name, such as `GenuineIntel`, or nothing where the processor does not tell.
#[cfg(not(target_arch = "x86_64"))]
pub fn vendor() -> String {
    String::new()
}

#[cfg(target_arch = "x86_64")]
fn is_set(place: Place) -> bool {
    use std::arch::x86_64::{__cpuid, __cpuid_count};

    use crate::capability::Register;

    let Place::Cpuid { leaf, subleaf, register, bit } = place else { return false };
    // A leaf above the last is answered like the last, and so is the first leaf of a missing range.
    let last = __cpuid(leaf & 0xC000_0000).eax;
    let is_there = last >> 16 == leaf >> 16 && leaf <= last;
    if !is_there || subleaf > 0 && subleaf > __cpuid_count(leaf, 0).eax {
        return false;
    }
    let answer = __cpuid_count(leaf, subleaf);
    let word = match register {
        Register::Eax => answer.eax,
        Register::Ebx => answer.ebx,
        Register::Ecx => answer.ecx,
        Register::Edx => answer.edx,
    };
    word >> bit & 1 == 1
}

#[cfg(not(target_arch = "x86_64"))]
fn is_set(place: Place) -> bool {
    let Place::Hwcap { word, bit } = place else { return false };
    let (first, second) = rustix::param::linux_hwcap();
    (if word == 1 { first } else { second }) >> bit & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_the_one_that_the_kernels_are_chosen_for() {
        let features = millstream_cpu::Features::hardware().set();
        let here = capabilities();
        // The kernels require more than the processor's bit: the operating system must save the registers
        // too.
        for feature in features.iter().filter(|feature| feature.name() != "neon") {
            assert!(here.has(feature.name()), "{} is missing in {here}", feature.name());
        }
    }
}
