//! The traces of copying a key: its bytes in vector registers, which whoever saves registers writes to the stack, and the stack
//! of the functions that passed it on.
//!
//! # Safety
//! The one unsafe block writes to registers that it names, in a function that has them.
#![allow(unsafe_code)]

use zeroize::Zeroize;

/// Bytes of stack that are wiped: more than bringing a key to the service takes, and little enough for the stack of an ASYNC_JOB.
const STACK: usize = 8 << 10;

/// Wipes both, once a private key has left this process.
#[inline(never)]
pub fn wipe() {
    wipe_stack();
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has the registers.
        unsafe { wipe_registers() }
    }
}

/// Writes over the stack below the caller's.
#[inline(never)]
fn wipe_stack() {
    let mut stack = [0xff_u8; STACK];
    std::hint::black_box(&mut stack);
    stack.zeroize();
}

/// Zeroes those registers that the C library copies with where there is AVX-512; elsewhere it copies with the lower sixteen, which
/// the next copy overwrites.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn wipe_registers() {
    // SAFETY: each register is among the outputs.
    unsafe {
        std::arch::asm!(
            "vzeroall",
            "vpxord zmm16, zmm16, zmm16",
            "vpxord zmm17, zmm17, zmm17",
            "vpxord zmm18, zmm18, zmm18",
            "vpxord zmm19, zmm19, zmm19",
            "vpxord zmm20, zmm20, zmm20",
            "vpxord zmm21, zmm21, zmm21",
            "vpxord zmm22, zmm22, zmm22",
            "vpxord zmm23, zmm23, zmm23",
            "vpxord zmm24, zmm24, zmm24",
            "vpxord zmm25, zmm25, zmm25",
            "vpxord zmm26, zmm26, zmm26",
            "vpxord zmm27, zmm27, zmm27",
            "vpxord zmm28, zmm28, zmm28",
            "vpxord zmm29, zmm29, zmm29",
            "vpxord zmm30, zmm30, zmm30",
            "vpxord zmm31, zmm31, zmm31",
            out("zmm0") _, out("zmm1") _, out("zmm2") _, out("zmm3") _,
            out("zmm4") _, out("zmm5") _, out("zmm6") _, out("zmm7") _,
            out("zmm8") _, out("zmm9") _, out("zmm10") _, out("zmm11") _,
            out("zmm12") _, out("zmm13") _, out("zmm14") _, out("zmm15") _,
            out("zmm16") _, out("zmm17") _, out("zmm18") _, out("zmm19") _,
            out("zmm20") _, out("zmm21") _, out("zmm22") _, out("zmm23") _,
            out("zmm24") _, out("zmm25") _, out("zmm26") _, out("zmm27") _,
            out("zmm28") _, out("zmm29") _, out("zmm30") _, out("zmm31") _,
            options(nomem, nostack, preserves_flags),
        );
    }
}
