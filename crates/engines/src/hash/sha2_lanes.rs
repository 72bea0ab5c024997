//! The rounds of SHA-2 for vectors of words, of 32 or of 64 bits.
//!
//! Ref. FIPS 180-4 §6.2.2 and §6.4.2; the numbers of bits are those of §4.1.2 and §4.1.3.

/// One round; the caller rotates the names instead of the words.
macro_rules! round {
    ($word:ident $w:ident $k:ident $i:literal
     ([$a0:literal $a1:literal $a2:literal] [$e0:literal $e1:literal $e2:literal] $sigma0:tt $sigma1:tt)
     $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident) => {
        $h = $h.add($w[$i].add(V::splat($k[$i]))).settled();
        $word!($w $i $sigma0 $sigma1);
        $h = $h.add($e.choose($f, $g)).settled();
        let sum1 = $e.rotate_right::<$e0>().xor3($e.rotate_right::<$e1>(), $e.rotate_right::<$e2>());
        $h = $h.add(sum1);
        $d = $d.add($h);
        let sum0 = $a.rotate_right::<$a0>().xor3($a.rotate_right::<$a1>(), $a.rotate_right::<$a2>());
        $h = $h.add($a.majority($b, $c)).add(sum0);
    };
}

/// Sixteen rounds, whose names end where they began. `$word` is done in each round; with
/// [`next_word`] the words are afterwards those of the next sixteen rounds. They are computed so
/// long before they are needed that they fill the time in which a round waits for its own results.
macro_rules! sixteen_rounds {
    ($word:ident $w:ident $k:ident $bits:tt
     $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident) => {
        round!($word $w $k 0 $bits $a $b $c $d $e $f $g $h);
        round!($word $w $k 1 $bits $h $a $b $c $d $e $f $g);
        round!($word $w $k 2 $bits $g $h $a $b $c $d $e $f);
        round!($word $w $k 3 $bits $f $g $h $a $b $c $d $e);
        round!($word $w $k 4 $bits $e $f $g $h $a $b $c $d);
        round!($word $w $k 5 $bits $d $e $f $g $h $a $b $c);
        round!($word $w $k 6 $bits $c $d $e $f $g $h $a $b);
        round!($word $w $k 7 $bits $b $c $d $e $f $g $h $a);
        round!($word $w $k 8 $bits $a $b $c $d $e $f $g $h);
        round!($word $w $k 9 $bits $h $a $b $c $d $e $f $g);
        round!($word $w $k 10 $bits $g $h $a $b $c $d $e $f);
        round!($word $w $k 11 $bits $f $g $h $a $b $c $d $e);
        round!($word $w $k 12 $bits $e $f $g $h $a $b $c $d);
        round!($word $w $k 13 $bits $d $e $f $g $h $a $b $c);
        round!($word $w $k 14 $bits $c $d $e $f $g $h $a $b);
        round!($word $w $k 15 $bits $b $c $d $e $f $g $h $a);
    };
}

/// Computes the next word of the schedule, in the place of the word sixteen before.
macro_rules! next_word {
    ($w:ident $i:literal [$x0:literal $x1:literal $x2:literal] [$y0:literal $y1:literal $y2:literal]) => {
        let (x, y) = ($w[($i + 1) % 16], $w[($i + 14) % 16]);
        let sigma0 = x.rotate_right::<$x0>().xor3(x.rotate_right::<$x1>(), x.shift_right::<$x2>());
        let sigma1 = y.rotate_right::<$y0>().xor3(y.rotate_right::<$y1>(), y.shift_right::<$y2>());
        $w[$i] = $w[$i].add(sigma0).add($w[($i + 9) % 16].add(sigma1));
    };
}

/// Computes no word, for the last sixteen rounds.
macro_rules! no_word {
    ($w:ident $i:literal $sigma0:tt $sigma1:tt) => {};
}

pub(crate) use {next_word, no_word, round, sixteen_rounds};
