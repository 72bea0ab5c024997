//! MD5 with each step written out for x86-64.
//!
//! Each step waits for the one before: `and`, `xor`, `add`, `rol`, `add` in F and I. G, whose halves
//! are added one by one, and H take one instruction less. The compiler joins those halves again, or
//! adds in another order, which puts a sixth more on that path.
//!
//! Ref. RFC 1321 §3.4.
//!
//! # Safety
//! The written instructions work on registers alone, and every x86-64 processor has them.
#![allow(unsafe_code)]

use millstream_cpu::FeatureSet;

use crate::Row;
use crate::hash::chain;
use crate::md5::rounds::{T, round, sixty_four_steps};
use crate::md5::{BLOCK, CompressOps, State};

pub(crate) const ROW: Row<CompressOps> = chain::row(
    "x86_64-scalar",
    FeatureSet::EMPTY,
    compress,
    "steps written out: 4.5 instructions wait for one another in each",
);

/// Ends a step, once everything that does not depend on `b` has been added to `a`: the instructions
/// given, then the rotation, then `b`.
macro_rules! written {
    ($a:ident $b:ident $c:ident $d:ident $s:literal, $($line:literal)+) => {
        // SAFETY: registers only.
        unsafe {
            core::arch::asm!(
                $($line,)+
                "add {a:e}, {t:e}",
                "rol {a:e}, {s}",
                "add {a:e}, {b:e}",
                a = inout(reg) $a,
                b = in(reg) $b,
                c = in(reg) $c,
                d = in(reg) $d,
                t = out(reg) _,
                s = const $s,
                options(pure, nomem, nostack),
            );
        }
    };
}

macro_rules! step {
    (F $a:ident $b:ident $c:ident $d:ident $x:expr, $s:literal, $t:expr) => {
        $a = $a.wrapping_add($x.wrapping_add(T[$t]));
        written!($a $b $c $d $s, "mov {t:e}, {c:e}" "xor {t:e}, {d:e}" "and {t:e}, {b:e}" "xor {t:e}, {d:e}");
    };
    (G $a:ident $b:ident $c:ident $d:ident $x:expr, $s:literal, $t:expr) => {
        $a = $a.wrapping_add($x.wrapping_add(T[$t]));
        written!($a $b $c $d $s, "mov {t:e}, {d:e}" "not {t:e}" "and {t:e}, {c:e}" "add {a:e}, {t:e}"
                                 "mov {t:e}, {d:e}" "and {t:e}, {b:e}");
    };
    (H $a:ident $b:ident $c:ident $d:ident $x:expr, $s:literal, $t:expr) => {
        $a = $a.wrapping_add($x.wrapping_add(T[$t]));
        written!($a $b $c $d $s, "mov {t:e}, {c:e}" "xor {t:e}, {d:e}" "xor {t:e}, {b:e}");
    };
    (I $a:ident $b:ident $c:ident $d:ident $x:expr, $s:literal, $t:expr) => {
        $a = $a.wrapping_add($x.wrapping_add(T[$t]));
        written!($a $b $c $d $s, "mov {t:e}, {d:e}" "not {t:e}" "or {t:e}, {b:e}" "xor {t:e}, {c:e}");
    };
}

fn compress(state: &mut State, blocks: &[[u8; BLOCK]], last: &[[u8; BLOCK]]) {
    sixty_four_steps!(step state blocks last);
}
