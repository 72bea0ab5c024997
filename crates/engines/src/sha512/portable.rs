//! SHA-512 on any processor.
//!
//! Ref. FIPS 180-4 §6.4.2 (computation), §4.1.3 (functions).

use super::{BLOCK, K, State};

/// Folds `blocks` into `state`, and then those of `last`.
pub(crate) fn compress(state: &mut State, blocks: &[[u8; BLOCK]], last: &[[u8; BLOCK]]) {
    for block in blocks.iter().chain(last) {
        compress_block(state, block);
    }
}

/// One round; the caller rotates the names instead of the words.
macro_rules! round {
    ($wk:expr, $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident) => {
        $h = $h.wrapping_add($wk).wrapping_add($g ^ ($e & ($f ^ $g)));
        $h = $h.wrapping_add($e.rotate_right(14) ^ $e.rotate_right(18) ^ $e.rotate_right(41));
        $d = $d.wrapping_add($h);
        $h = $h.wrapping_add(($a & $b) | ($c & ($a | $b)));
        $h = $h.wrapping_add($a.rotate_right(28) ^ $a.rotate_right(34) ^ $a.rotate_right(39));
    };
}

/// Sixteen rounds, whose names end where they began. `$word` returns a round's word by its place.
macro_rules! sixteen_rounds {
    ($word:ident $w:ident $k:ident $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident) => {
        round!($word(&mut $w, 0).wrapping_add($k[0]), $a $b $c $d $e $f $g $h);
        round!($word(&mut $w, 1).wrapping_add($k[1]), $h $a $b $c $d $e $f $g);
        round!($word(&mut $w, 2).wrapping_add($k[2]), $g $h $a $b $c $d $e $f);
        round!($word(&mut $w, 3).wrapping_add($k[3]), $f $g $h $a $b $c $d $e);
        round!($word(&mut $w, 4).wrapping_add($k[4]), $e $f $g $h $a $b $c $d);
        round!($word(&mut $w, 5).wrapping_add($k[5]), $d $e $f $g $h $a $b $c);
        round!($word(&mut $w, 6).wrapping_add($k[6]), $c $d $e $f $g $h $a $b);
        round!($word(&mut $w, 7).wrapping_add($k[7]), $b $c $d $e $f $g $h $a);
        round!($word(&mut $w, 8).wrapping_add($k[8]), $a $b $c $d $e $f $g $h);
        round!($word(&mut $w, 9).wrapping_add($k[9]), $h $a $b $c $d $e $f $g);
        round!($word(&mut $w, 10).wrapping_add($k[10]), $g $h $a $b $c $d $e $f);
        round!($word(&mut $w, 11).wrapping_add($k[11]), $f $g $h $a $b $c $d $e);
        round!($word(&mut $w, 12).wrapping_add($k[12]), $e $f $g $h $a $b $c $d);
        round!($word(&mut $w, 13).wrapping_add($k[13]), $d $e $f $g $h $a $b $c);
        round!($word(&mut $w, 14).wrapping_add($k[14]), $c $d $e $f $g $h $a $b);
        round!($word(&mut $w, 15).wrapping_add($k[15]), $b $c $d $e $f $g $h $a);
    };
}

fn compress_block(state: &mut State, block: &[u8; BLOCK]) {
    let mut w = [0u64; 16];
    for (word, bytes) in w.iter_mut().zip(block.as_chunks().0) {
        *word = u64::from_be_bytes(*bytes);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    let [k, rest @ ..] = K.as_chunks::<16>().0 else { unreachable!("K has 80 words") };
    sixteen_rounds!(word w k a b c d e f g h);
    for k in rest {
        sixteen_rounds!(next_word w k a b c d e f g h);
    }
    for (word, new) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = word.wrapping_add(new);
    }
}

#[inline(always)]
fn word(w: &mut [u64; 16], i: usize) -> u64 {
    w[i]
}

/// Returns the next word of the schedule, which takes the place of the word sixteen before.
#[inline(always)]
fn next_word(w: &mut [u64; 16], i: usize) -> u64 {
    let (x, y) = (w[(i + 1) % 16], w[(i + 14) % 16]);
    let sigma0 = x.rotate_right(1) ^ x.rotate_right(8) ^ (x >> 7);
    let sigma1 = y.rotate_right(19) ^ y.rotate_right(61) ^ (y >> 6);
    w[i] = w[i].wrapping_add(sigma0).wrapping_add(w[(i + 9) % 16]).wrapping_add(sigma1);
    w[i]
}
