//! SHA-1 on any processor.
//!
//! Ref. FIPS 180-4 §6.1.3 (the schedule in sixteen words), §4.1.1 (functions).

use super::{BLOCK, K, State};

/// Folds `blocks` into `state`, and then those of `last`.
pub(crate) fn compress(state: &mut State, blocks: &[[u8; BLOCK]], last: &[[u8; BLOCK]]) {
    for block in blocks.iter().chain(last) {
        compress_block(state, block);
    }
}

/// One round; the caller rotates the names instead of the words.
macro_rules! round {
    ($w:ident $t:expr, $f:ident, $a:ident $b:ident $c:ident $d:ident $e:ident) => {
        let x = word(&mut $w, $t);
        $e = $e.wrapping_add(K[($t) / 20]).wrapping_add(x).wrapping_add($f($b, $c, $d));
        $e = $e.wrapping_add($a.rotate_left(5));
        $b = $b.rotate_left(30);
    };
}

/// Twenty rounds. The names are back in their places after each five. The rounds are written out,
/// so that every place in the schedule is known at compile time.
macro_rules! twenty {
    ($w:ident $t:literal $f:ident $a:ident $b:ident $c:ident $d:ident $e:ident) => {
        twenty!(@five $w $t, $f $a $b $c $d $e);
        twenty!(@five $w $t + 5, $f $a $b $c $d $e);
        twenty!(@five $w $t + 10, $f $a $b $c $d $e);
        twenty!(@five $w $t + 15, $f $a $b $c $d $e);
    };
    (@five $w:ident $t:expr, $f:ident $a:ident $b:ident $c:ident $d:ident $e:ident) => {
        round!($w $t, $f, $a $b $c $d $e);
        round!($w $t + 1, $f, $e $a $b $c $d);
        round!($w $t + 2, $f, $d $e $a $b $c);
        round!($w $t + 3, $f, $c $d $e $a $b);
        round!($w $t + 4, $f, $b $c $d $e $a);
    };
}

fn compress_block(state: &mut State, block: &[u8; BLOCK]) {
    let mut w = [0u32; 16];
    for i in 0..16 {
        w[i] = u32::from_be_bytes([block[4 * i], block[4 * i + 1], block[4 * i + 2], block[4 * i + 3]]);
    }
    let [mut a, mut b, mut c, mut d, mut e] = *state;
    twenty!(w 0 choose a b c d e);
    twenty!(w 20 parity a b c d e);
    twenty!(w 40 majority a b c d e);
    twenty!(w 60 parity a b c d e);
    for (word, new) in state.iter_mut().zip([a, b, c, d, e]) {
        *word = word.wrapping_add(new);
    }
}

/// Word `t` of the schedule, which takes the place of word `t - 16`.
#[inline(always)]
fn word(w: &mut [u32; 16], t: usize) -> u32 {
    if t >= 16 {
        let x = w[(t - 3) % 16] ^ w[(t - 8) % 16] ^ w[(t - 14) % 16] ^ w[t % 16];
        w[t % 16] = x.rotate_left(1);
    }
    w[t % 16]
}

#[inline(always)]
fn choose(x: u32, y: u32, z: u32) -> u32 {
    z ^ (x & (y ^ z))
}

#[inline(always)]
fn parity(x: u32, y: u32, z: u32) -> u32 {
    x ^ y ^ z
}

/// The two halves never have a bit in common, so that they may be added.
#[inline(always)]
fn majority(x: u32, y: u32, z: u32) -> u32 {
    (y & z).wrapping_add(x & (y ^ z))
}
