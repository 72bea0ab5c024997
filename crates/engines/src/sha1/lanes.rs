//! SHA-1 of many messages, one in each lane.
//!
//! Ref. FIPS 180-4 §6.1.3 (the schedule in sixteen words), §4.1.1 (functions).
//!
//! # Safety
//! The promise of the vectors of words holds here too: the caller of a kernel has its processor
//! features.
#![allow(unsafe_code)]

use super::K;
use crate::hash::words::Words;

/// One round; the caller rotates the names instead of the words. The next word of the schedule,
/// which takes the place of this round's, is computed at once. That is long before it is needed, so
/// it fills the time in which the round waits for its own results.
macro_rules! round {
    ($w:ident $t:expr, $f:ident, $a:ident $b:ident $c:ident $d:ident $e:ident) => {
        $e = $e.add($w[$t % 16].add(V::splat(K[$t / 20]))).settled();
        if $t < 64 {
            let x = $w[($t + 13) % 16].xor3($w[($t + 8) % 16], $w[($t + 2) % 16]);
            $w[$t % 16] = x.xor($w[$t % 16]).rotate_right::<31>();
        }
        $e = $e.add($b.$f($c, $d)).settled();
        $e = $e.add($a.rotate_right::<27>());
        $b = $b.rotate_right::<2>();
    };
}

/// Twenty rounds of one function. The names are back in their places after each five.
macro_rules! twenty {
    ($w:ident $t:literal $f:ident $a:ident $b:ident $c:ident $d:ident $e:ident) => {
        twenty!(@five $w $t, $f $a $b $c $d $e);
        twenty!(@five $w $t + 5, $f $a $b $c $d $e);
        twenty!(@five $w $t + 10, $f $a $b $c $d $e);
        twenty!(@five $w $t + 15, $f $a $b $c $d $e);
    };
    (@five $w:ident $t:expr, $f:ident $a:ident $b:ident $c:ident $d:ident $e:ident) => {
        round!($w ($t), $f, $a $b $c $d $e);
        round!($w ($t + 1), $f, $e $a $b $c $d);
        round!($w ($t + 2), $f, $d $e $a $b $c);
        round!($w ($t + 3), $f, $c $d $e $a $b);
        round!($w ($t + 4), $f, $b $c $d $e $a);
    };
}

/// Folds a block of every lane in.
///
/// # Safety
/// The processor has the features of `V`.
#[allow(unused_assignments)] // `round` is written out for the last rounds too, which schedule nothing
#[inline(always)]
pub(super) unsafe fn fold<V: Words<N, Word = u32>, const N: usize>(state: &mut [V; 5], w: &mut [V; 16]) {
    // SAFETY: the caller's.
    unsafe {
        let mut w = *w;
        let [mut a, mut b, mut c, mut d, mut e] = *state;
        twenty!(w 0 choose a b c d e);
        twenty!(w 20 xor3 a b c d e);
        twenty!(w 40 majority a b c d e);
        twenty!(w 60 xor3 a b c d e);
        let end = [a, b, c, d, e];
        for i in 0..5 {
            state[i] = state[i].add(end[i]);
        }
    }
}
