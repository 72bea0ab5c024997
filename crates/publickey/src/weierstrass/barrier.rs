//! Values whose origin the compiler does not know.
//!
//! A compiler that sees how a mask came about may make a branch of what the mask selects.
//!
//! # Safety
//! The assembly has no instruction.
#![allow(unsafe_code)]

/// Returns the value, of which the compiler knows nothing from here on.
#[inline(always)]
pub(crate) fn hidden(value: u64) -> u64 {
    #[cfg(all(not(miri), any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let mut value = value;
        // SAFETY: see the head of this file.
        unsafe {
            core::arch::asm!("/* {0} */", inout(reg) value, options(pure, nomem, nostack, preserves_flags));
        }
        value
    }
    #[cfg(not(all(not(miri), any(target_arch = "x86_64", target_arch = "aarch64"))))]
    core::hint::black_box(value)
}
