//! SHA-512 with scalar rounds beside a schedule in vectors, for two blocks at once.
//!
//! The rounds are bound by the four pipes of the general registers: 22 instructions each, which leaves
//! the vector pipes idle. The schedule runs there during the rounds of the first block, with the words
//! of the second block in the upper half of each register. The second block's rounds then find their
//! schedule ready. A last odd block is scheduled beside itself.
//!
//! The round is written out because the compiler orders its additions otherwise and computes the
//! majority from scratch each time, which together costs a sixth of the speed. The registers have room
//! for three temporaries beside the eight words; with a fourth the compiler spills in every round.
//!
//! Ref. FIPS 180-4 §6.4.2, §4.1.3.

/// One round; the caller rotates the names instead of the words.
///
/// `$wk` points to the words of the schedule, with their constants added; `$i` counts their bytes.
/// `$bc` is `b ^ c` before and `a ^ b` after, which is `b ^ c` of the next round: the majority of
/// a, b and c is `b` unless a and c both differ from it.
macro_rules! round {
    ($wk:ident $i:literal $bc:ident $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident) => {
        let ab: u64;
        // SAFETY: reads eight bytes at `wk + i`, which the caller keeps inside the schedule; the
        // other operands are registers. BMI1 and BMI2 are among the features of the function around.
        unsafe {
            core::arch::asm!(
                "add {h}, qword ptr [{wk} + {i}]",
                "rorx {t0}, {e}, 14",
                "andn {ab}, {e}, {g}",
                "rorx {t1}, {e}, 18",
                "add {h}, {ab}",
                "mov {ab}, {e}",
                "and {ab}, {f}",
                "xor {t0}, {t1}",
                "rorx {t1}, {e}, 41",
                "add {h}, {ab}",
                "xor {t0}, {t1}",
                "mov {ab}, {a}",
                "xor {ab}, {b}",
                "add {h}, {t0}",
                "rorx {t0}, {a}, 28",
                "add {d}, {h}",
                "and {bc}, {ab}",
                "rorx {t1}, {a}, 34",
                "xor {bc}, {b}",
                "xor {t0}, {t1}",
                "rorx {t1}, {a}, 39",
                "add {h}, {bc}",
                "xor {t0}, {t1}",
                "add {h}, {t0}",
                wk = in(reg) $wk,
                i = const $i,
                a = in(reg) $a,
                b = in(reg) $b,
                d = inout(reg) $d,
                e = in(reg) $e,
                f = in(reg) $f,
                g = in(reg) $g,
                h = inout(reg) $h,
                bc = inout(reg) $bc => _,
                ab = out(reg) ab,
                t0 = out(reg) _,
                t1 = out(reg) _,
                options(pure, readonly, nostack),
            );
        }
        $bc = ab;
    };
}

/// Sixteen rounds, whose names end where they began. After every second round `$also` is done, with 0
/// to 7.
macro_rules! sixteen_rounds {
    ($wk:ident $bc:ident $also:ident
     $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident) => {
        round!($wk 0 $bc $a $b $c $d $e $f $g $h);
        round!($wk 8 $bc $h $a $b $c $d $e $f $g);
        $also!(0);
        round!($wk 32 $bc $g $h $a $b $c $d $e $f);
        round!($wk 40 $bc $f $g $h $a $b $c $d $e);
        $also!(1);
        round!($wk 64 $bc $e $f $g $h $a $b $c $d);
        round!($wk 72 $bc $d $e $f $g $h $a $b $c);
        $also!(2);
        round!($wk 96 $bc $c $d $e $f $g $h $a $b);
        round!($wk 104 $bc $b $c $d $e $f $g $h $a);
        $also!(3);
        round!($wk 128 $bc $a $b $c $d $e $f $g $h);
        round!($wk 136 $bc $h $a $b $c $d $e $f $g);
        $also!(4);
        round!($wk 160 $bc $g $h $a $b $c $d $e $f);
        round!($wk 168 $bc $f $g $h $a $b $c $d $e);
        $also!(5);
        round!($wk 192 $bc $e $f $g $h $a $b $c $d);
        round!($wk 200 $bc $d $e $f $g $h $a $b $c);
        $also!(6);
        round!($wk 224 $bc $c $d $e $f $g $h $a $b);
        round!($wk 232 $bc $b $c $d $e $f $g $h $a);
        $also!(7);
    };
}

/// Defines the compression function for a tier with its own sums: `$sigma0` and `$sigma1`, FIPS 180-4
/// (4.12) and (4.13), on four words.
macro_rules! compress {
    ($features:literal, $sigma0:ident, $sigma1:ident) => {
        const REQUIRES: millstream_cpu::FeatureSet = millstream_cpu::FeatureSet::parse($features);

        #[target_feature(enable = $features)]
        pub(super) fn compress(state: &mut State, blocks: &[[u8; BLOCK]], last: &[[u8; BLOCK]]) {
            let mut blocks = blocks.iter().chain(last);
            while let Some(first) = blocks.next() {
                let second = blocks.next();
                // Four words of a line are rounds 2i and 2i + 1 of the first block, then of the second.
                let mut schedule = MaybeUninit::<[[u64; 4]; 40]>::uninit();
                let lines = schedule.as_mut_ptr().cast::<__m256i>();
                let mut k = K.as_ptr().cast::<__m128i>();
                let mut w = load(first, second.unwrap_or(first));
                for i in 0..8 {
                    // SAFETY: the first 8 of 40 lines, and of 40 pairs of constants.
                    unsafe { store(lines.add(i), w[i], k.add(i)) };
                }
                for half in 0..1 + usize::from(second.is_some()) {
                    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
                    let mut bc = b ^ c;
                    let mut wk = lines.cast::<__m128i>().wrapping_add(half);
                    let mut left = 5;
                    if half == 0 {
                        // Rounds 0 to 63 of the first block, and the schedule of rounds 16 to 79.
                        left = 1;
                        for _ in 0..4 {
                            k = k.wrapping_add(8);
                            macro_rules! next_words {
                                ($i:literal) => {
                                    let w1 = _mm256_alignr_epi8::<8>(w[($i + 1) % 8], w[$i]);
                                    let w9 = _mm256_alignr_epi8::<8>(w[($i + 5) % 8], w[($i + 4) % 8]);
                                    w[$i] = _mm256_add_epi64(_mm256_add_epi64(w[$i], w9), $sigma0(w1));
                                    w[$i] = _mm256_add_epi64(w[$i], $sigma1(w[($i + 7) % 8]));
                                    // SAFETY: lines 8 to 39 in four turns, and their constants.
                                    unsafe { store(wk.cast::<__m256i>().add(8 + $i), w[$i], k.add($i)) };
                                };
                            }
                            sixteen_rounds!(wk bc next_words a b c d e f g h);
                            wk = wk.wrapping_add(16);
                        }
                    }
                    macro_rules! nothing {
                        ($i:literal) => {};
                    }
                    for _ in 0..left {
                        sixteen_rounds!(wk bc nothing a b c d e f g h);
                        wk = wk.wrapping_add(16);
                    }
                    for (word, new) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
                        *word = word.wrapping_add(new);
                    }
                }
            }
        }
    };
}

pub(crate) use {compress, round, sixteen_rounds};
