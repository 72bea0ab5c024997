//! Random numbers that are the same for the same seed, and values that arithmetic finds hard.

/// Steele, Lea and Flood's SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// An integer: an edge, a small one, or any.
    pub fn integer(&mut self) -> u64 {
        const EDGES: [u64; 14] = [
            0,
            1,
            u64::MAX,
            1 << 63,
            i64::MAX as u64,
            1 << 31,
            (1 << 31) - 1,
            0xffff_ffff,
            1 << 32,
            0xffff_ffff_8000_0000,
            0xffff_ffff_7fff_ffff,
            7,
            0x8000_0000_7fff_ffff,
            63,
        ];
        match self.below(6) {
            0 => self.of(&EDGES),
            1 => self.below(64),
            2 => self.below(1 << 33).wrapping_neg(),
            3 => self.next() >> self.below(64),
            _ => self.next(),
        }
    }

    /// The bits of a floating-point number whose fraction has `fraction` bits of `width`.
    pub fn float(&mut self, width: u32, fraction: u32) -> u128 {
        let bits = u128::from(self.next()) << 64 | u128::from(self.next());
        let sign = (bits >> 127) << (width - 1);
        let low = bits & ((1 << fraction) - 1);
        let top = (1u128 << (width - 1 - fraction)) - 1;
        let bias = top >> 1;
        let few = low >> (fraction - 4) << (fraction - 4);
        let quiet = 1 << (fraction - 1);
        let with = |exponent: u128, fraction_bits: u128| sign | exponent << fraction | fraction_bits;
        match self.below(24) {
            0 => sign,
            1 => with(top, 0),
            2 => with(top, low | quiet),
            3 => with(top, low & !quiet | 1),
            4 => with(0, low >> self.below(u64::from(fraction))),
            5 => with(0, 1),
            6 => with(1, 0),
            7 => with(1, low),
            8 => with(top - 1, (1 << fraction) - 1),
            9 => with(top - 1, low),
            10 => with(bias, 0),
            11 => with(bias + u128::from(self.below(8)), few),
            12 => with(bias - u128::from(self.below(8)), few),
            // Near each other, so that sums cancel.
            13..=15 => with(bias + u128::from(self.below(3)), low),
            // Near the ends of the integers.
            16 => with(bias + 29 + u128::from(self.below(4)), low),
            17 => with(bias + 61 + u128::from(self.below(4)), low),
            18 => with(bias + 29 + u128::from(self.below(4)), self.of(&[0, (1 << fraction) - 1])),
            19 => with(bias + 61 + u128::from(self.below(4)), self.of(&[0, (1 << fraction) - 1])),
            20 => with(bias / 2 + u128::from(self.below(3)), low),
            21 => with(bias + bias / 2 + u128::from(self.below(3)), low),
            // The ends of the next smaller format.
            22 => with(bias.saturating_sub(self.of(&[126, 127, 149, 150, 1022, 1023, 1074]).min(bias)), low),
            _ => with(u128::from(self.below(top as u64)), low),
        }
    }
}
