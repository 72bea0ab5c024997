//! MD5 of many messages, one in each lane.
//!
//! Ref. RFC 1321 §3.4.
//!
//! # Safety
//! The promise of the vectors of words holds here too: the caller of a kernel has its processor
//! features.
#![allow(unsafe_code)]

use super::rounds::{T, round};
use crate::hash::words::Words;

macro_rules! step {
    ($f:ident $a:ident $b:ident $c:ident $d:ident $x:expr, $s:literal, $t:expr) => {
        $a = $a.add($x.add(V::splat(T[$t]))).settled();
        $a = $a.add(step!(@$f $b $c $d));
        $a = $a.rotate_right::<{ 32 - $s }>().add($b);
    };
    (@F $b:ident $c:ident $d:ident) => { $b.choose($c, $d) };
    (@G $b:ident $c:ident $d:ident) => { $d.choose($b, $c) };
    (@H $b:ident $c:ident $d:ident) => { $b.xor3($c, $d) };
    (@I $b:ident $c:ident $d:ident) => { $b.md5_i($c, $d) };
}

/// Folds a block of every lane in.
///
/// # Safety
/// The processor has the features of `V`.
#[inline(always)]
pub(super) unsafe fn fold<V: Words<N, Word = u32>, const N: usize>(state: &mut [V; 4], w: &mut [V; 16]) {
    // SAFETY: the caller's.
    unsafe {
        let [mut a, mut b, mut c, mut d] = *state;
        round!(step F w 0 1 0 [7 12 17 22] a b c d);
        round!(step G w 1 5 16 [5 9 14 20] a b c d);
        round!(step H w 5 3 32 [4 11 16 23] a b c d);
        round!(step I w 0 7 48 [6 10 15 21] a b c d);
        let end = [a, b, c, d];
        for i in 0..4 {
            state[i] = state[i].add(end[i]);
        }
    }
}
