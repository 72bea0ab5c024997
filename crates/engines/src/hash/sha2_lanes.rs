//! The rounds of SHA-2 for vectors of words, of 32 or of 64 bits.
//!
//! Ref. FIPS 180-4 §6.2.2 and §6.4.2; the numbers of bits are those of §4.1.2 and §4.1.3.

/// One round; the caller rotates the names instead of the words.
macro_rules! round {
    ($w:ident $k:ident $i:literal [$a0:literal $a1:literal $a2:literal] [$e0:literal $e1:literal $e2:literal]
     $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident) => {
        $h = $h.add($w[$i].add(V::splat($k[$i])));
        $h = $h.add($e.choose($f, $g));
        let sum1 = $e.rotate_right::<$e0>().xor3($e.rotate_right::<$e1>(), $e.rotate_right::<$e2>());
        $h = $h.add(sum1);
        $d = $d.add($h);
        let sum0 = $a.rotate_right::<$a0>().xor3($a.rotate_right::<$a1>(), $a.rotate_right::<$a2>());
        $h = $h.add($a.majority($b, $c)).add(sum0);
    };
}

/// Sixteen rounds, whose names end where they began.
macro_rules! sixteen_rounds {
    ($w:ident $k:ident $sum0:tt $sum1:tt
     $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident) => {
        round!($w $k 0 $sum0 $sum1 $a $b $c $d $e $f $g $h);
        round!($w $k 1 $sum0 $sum1 $h $a $b $c $d $e $f $g);
        round!($w $k 2 $sum0 $sum1 $g $h $a $b $c $d $e $f);
        round!($w $k 3 $sum0 $sum1 $f $g $h $a $b $c $d $e);
        round!($w $k 4 $sum0 $sum1 $e $f $g $h $a $b $c $d);
        round!($w $k 5 $sum0 $sum1 $d $e $f $g $h $a $b $c);
        round!($w $k 6 $sum0 $sum1 $c $d $e $f $g $h $a $b);
        round!($w $k 7 $sum0 $sum1 $b $c $d $e $f $g $h $a);
        round!($w $k 8 $sum0 $sum1 $a $b $c $d $e $f $g $h);
        round!($w $k 9 $sum0 $sum1 $h $a $b $c $d $e $f $g);
        round!($w $k 10 $sum0 $sum1 $g $h $a $b $c $d $e $f);
        round!($w $k 11 $sum0 $sum1 $f $g $h $a $b $c $d $e);
        round!($w $k 12 $sum0 $sum1 $e $f $g $h $a $b $c $d);
        round!($w $k 13 $sum0 $sum1 $d $e $f $g $h $a $b $c);
        round!($w $k 14 $sum0 $sum1 $c $d $e $f $g $h $a $b);
        round!($w $k 15 $sum0 $sum1 $b $c $d $e $f $g $h $a);
    };
}

/// The sixteen words of the schedule that follow these sixteen.
macro_rules! next_words {
    ($w:ident [$x0:literal $x1:literal $x2:literal] [$y0:literal $y1:literal $y2:literal]) => {
        for i in 0..16 {
            let (x, y) = ($w[(i + 1) % 16], $w[(i + 14) % 16]);
            let sigma0 = x.rotate_right::<$x0>().xor3(x.rotate_right::<$x1>(), x.shift_right::<$x2>());
            let sigma1 = y.rotate_right::<$y0>().xor3(y.rotate_right::<$y1>(), y.shift_right::<$y2>());
            $w[i] = $w[i].add(sigma0).add($w[(i + 9) % 16].add(sigma1));
        }
    };
}

pub(crate) use {next_words, round, sixteen_rounds};
