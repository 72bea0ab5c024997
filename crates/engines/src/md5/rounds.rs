//! The order of the 64 steps of MD5, with the word, the rotation and the constant of each.
//!
//! Ref. RFC 1321 §3.4.

/// RFC 1321 §3.4, table T: the integer part of 2^32 |sin(i)|, i from 1.
#[rustfmt::skip]
pub(crate) const T: [u32; 64] = [
    0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
    0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be, 0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
    0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
    0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
    0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c, 0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
    0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
    0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
    0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1, 0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
];

/// Sixteen steps with one function: word `first + i * stride`, four rotations in turn.
macro_rules! round {
    ($step:ident $f:ident $w:ident $first:literal $stride:literal $t:literal [$s0:literal $s1:literal $s2:literal $s3:literal]
     $a:ident $b:ident $c:ident $d:ident) => {
        round!(@four $step $f $w $first $stride $t 0 [$s0 $s1 $s2 $s3] $a $b $c $d);
        round!(@four $step $f $w $first $stride $t 4 [$s0 $s1 $s2 $s3] $a $b $c $d);
        round!(@four $step $f $w $first $stride $t 8 [$s0 $s1 $s2 $s3] $a $b $c $d);
        round!(@four $step $f $w $first $stride $t 12 [$s0 $s1 $s2 $s3] $a $b $c $d);
    };
    (@four $step:ident $f:ident $w:ident $first:literal $stride:literal $t:literal $i:literal
     [$s0:literal $s1:literal $s2:literal $s3:literal] $a:ident $b:ident $c:ident $d:ident) => {
        $step!($f $a $b $c $d $w[($first + $i * $stride) % 16], $s0, $t + $i);
        $step!($f $d $a $b $c $w[($first + ($i + 1) * $stride) % 16], $s1, $t + $i + 1);
        $step!($f $c $d $a $b $w[($first + ($i + 2) * $stride) % 16], $s2, $t + $i + 2);
        $step!($f $b $c $d $a $w[($first + ($i + 3) * $stride) % 16], $s3, $t + $i + 3);
    };
}

/// Folds `$blocks` and `$last` into `$state` with the step that a kernel defines: `$step!(F a b c
/// d word, rotation, place in T)`.
macro_rules! sixty_four_steps {
    ($step:ident $state:ident $blocks:ident $last:ident) => {
        let [mut a, mut b, mut c, mut d] = *$state;
        for block in $blocks.iter().chain($last) {
            let mut w = [0u32; 16];
            for (word, bytes) in w.iter_mut().zip(block.as_chunks().0) {
                *word = u32::from_le_bytes(*bytes);
            }
            let before = [a, b, c, d];
            round!($step F w 0 1 0 [7 12 17 22] a b c d);
            round!($step G w 1 5 16 [5 9 14 20] a b c d);
            round!($step H w 5 3 32 [4 11 16 23] a b c d);
            round!($step I w 0 7 48 [6 10 15 21] a b c d);
            a = a.wrapping_add(before[0]);
            b = b.wrapping_add(before[1]);
            c = c.wrapping_add(before[2]);
            d = d.wrapping_add(before[3]);
        }
        *$state = [a, b, c, d];
    };
}

pub(crate) use {round, sixty_four_steps};
