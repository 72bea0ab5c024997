//! MD5 on any processor.
//!
//! Ref. RFC 1321 §3.4.

use super::rounds::{T, round, sixty_four_steps};
use super::{BLOCK, State};

/// `a = b + ((a + f(b, c, d) + x + t) <<< s)`, with the halves of `f` added one by one.
macro_rules! step {
    (F $a:ident $b:ident $c:ident $d:ident $x:expr, $s:literal, $t:expr) => {
        $a = $a.wrapping_add($x.wrapping_add(T[$t]));
        $a = $a.wrapping_add($d ^ ($b & ($c ^ $d)));
        $a = $a.rotate_left($s).wrapping_add($b);
    };
    (G $a:ident $b:ident $c:ident $d:ident $x:expr, $s:literal, $t:expr) => {
        $a = $a.wrapping_add($x.wrapping_add(T[$t])).wrapping_add(!$d & $c);
        $a = $a.wrapping_add($d & $b);
        $a = $a.rotate_left($s).wrapping_add($b);
    };
    (H $a:ident $b:ident $c:ident $d:ident $x:expr, $s:literal, $t:expr) => {
        $a = $a.wrapping_add($x.wrapping_add(T[$t]));
        $a = $a.wrapping_add($b ^ ($c ^ $d));
        $a = $a.rotate_left($s).wrapping_add($b);
    };
    (I $a:ident $b:ident $c:ident $d:ident $x:expr, $s:literal, $t:expr) => {
        $a = $a.wrapping_add($x.wrapping_add(T[$t]));
        $a = $a.wrapping_add($c ^ ($b | !$d));
        $a = $a.rotate_left($s).wrapping_add($b);
    };
}

/// Folds blocks into `state`, those of `last` at the end.
pub(crate) fn compress(state: &mut State, blocks: &[[u8; BLOCK]], last: &[[u8; BLOCK]]) {
    sixty_four_steps!(step state blocks last);
}
