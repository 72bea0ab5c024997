//! Vectors of words, in which word `i` belongs to the message in lane `i`.
//!
//! The compression functions are written once over [`Words`]. A tier brings a type for each width of
//! word, and [`Two`] makes a type of twice as many lanes from any such type: while one chain of
//! operations waits for its own results, a second fills the gaps.
//!
//! # Safety
//! The functions of [`Words`] may need processor features: whoever names a type that implements it
//! calls from a function that has them.
#![allow(unsafe_code)]

/// A word of a hash, 32 or 64 bits.
pub(crate) trait Word: Copy + Default + Eq + 'static {
    /// The byte that ends a message, in front of zeros, in a word that is read big-endian.
    const END: Self;
    /// All bits.
    const MAX: Self;

    /// Returns a number of bytes counted in bits, as the low word and the high word.
    fn bits(bytes: u64) -> (Self, Self);
}

impl Word for u32 {
    const END: Self = 1 << 31;
    const MAX: Self = u32::MAX;

    #[inline(always)]
    fn bits(bytes: u64) -> (Self, Self) {
        ((bytes << 3) as u32, (bytes >> 29) as u32)
    }
}

impl Word for u64 {
    const END: Self = 1 << 63;
    const MAX: Self = u64::MAX;

    #[inline(always)]
    fn bits(bytes: u64) -> (Self, Self) {
        (bytes << 3, bytes >> 61)
    }
}

/// `N` words, one of each lane. In memory they lie in the order of the lanes.
///
/// # Safety
/// Every function: the processor has the features of the type.
pub(crate) trait Words<const N: usize>: Copy {
    type Word: Word;

    unsafe fn splat(word: Self::Word) -> Self;

    unsafe fn from_array(words: &[Self::Word; N]) -> Self;

    unsafe fn add(self, other: Self) -> Self;

    /// Returns the same words, as a sum that the compiler does not take apart. The compiler would
    /// otherwise add early terms last, at the end of the path that everything waits for.
    unsafe fn settled(self) -> Self;

    unsafe fn rotate_right<const BITS: i32>(self) -> Self;

    unsafe fn shift_right<const BITS: i32>(self) -> Self;

    unsafe fn xor(self, other: Self) -> Self;

    unsafe fn xor3(self, y: Self, z: Self) -> Self;

    /// Bits of `y` where those of `self` are set, of `z` elsewhere.
    unsafe fn choose(self, y: Self, z: Self) -> Self;

    unsafe fn majority(self, y: Self, z: Self) -> Self;

    /// `y ^ (self | !z)`, the function I of MD5.
    unsafe fn md5_i(self, y: Self, z: Self) -> Self;

    /// `self ^ (!y & z)`, the step chi of SHA-3.
    unsafe fn chi(self, y: Self, z: Self) -> Self;

    /// Every word with its bytes turned round.
    unsafe fn swap_bytes(self) -> Self;

    /// The sixteen words of a block of each lane.
    ///
    /// # Safety
    /// From each of `from` a block can be read.
    unsafe fn load_block(from: &[*const u8; N]) -> [Self; 16];

    /// Does the same as [`Words::load_block`], but takes only `len` bytes of each lane, at most a
    /// block, and the rest from the block at `pad`.
    ///
    /// # Safety
    /// From each of `from` as many bytes can be read as its `len` says, and a block from each of
    /// `pad`. That block has zeros where there are bytes.
    unsafe fn load_part(from: &[*const u8; N], len: &[usize; N], pad: &[*const u8; N]) -> [Self; 16];

    /// Writes 64 bytes of each lane, the words `words` and zeros after them.
    ///
    /// # Safety
    /// To each of `to` 64 bytes can be written.
    unsafe fn store_rows(words: &[Self; 8], to: &[*mut u8; N]);
}

/// Twice as many lanes in two vectors. Each operation works on one and then on the other.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Two<V>([V; 2]);

/// [`Words`] for two vectors of half the lanes each.
macro_rules! two {
    ($half:literal, $lanes:literal) => {
        impl<V: Words<$half>> Words<$lanes> for Two<V> {
            type Word = V::Word;

            #[inline(always)]
            unsafe fn splat(word: V::Word) -> Self {
                // SAFETY: the caller's, as in every function here.
                let vector = unsafe { V::splat(word) };
                Two([vector, vector])
            }

            #[inline(always)]
            unsafe fn from_array(words: &[V::Word; $lanes]) -> Self {
                let [low, high] = halves::<_, $half>(words);
                // SAFETY: the caller's.
                unsafe { Two([V::from_array(low), V::from_array(high)]) }
            }

            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { Two([self.0[0].add(other.0[0]), self.0[1].add(other.0[1])]) }
            }

            #[inline(always)]
            unsafe fn xor(self, other: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { Two([self.0[0].xor(other.0[0]), self.0[1].xor(other.0[1])]) }
            }

            #[inline(always)]
            unsafe fn settled(self) -> Self {
                // SAFETY: the caller's.
                unsafe { Two([self.0[0].settled(), self.0[1].settled()]) }
            }

            #[inline(always)]
            unsafe fn rotate_right<const BITS: i32>(self) -> Self {
                // SAFETY: the caller's.
                unsafe { Two([self.0[0].rotate_right::<BITS>(), self.0[1].rotate_right::<BITS>()]) }
            }

            #[inline(always)]
            unsafe fn shift_right<const BITS: i32>(self) -> Self {
                // SAFETY: the caller's.
                unsafe { Two([self.0[0].shift_right::<BITS>(), self.0[1].shift_right::<BITS>()]) }
            }

            two!(@ternary xor3);
            two!(@ternary choose);
            two!(@ternary majority);
            two!(@ternary md5_i);
            two!(@ternary chi);

            #[inline(always)]
            unsafe fn swap_bytes(self) -> Self {
                // SAFETY: the caller's.
                unsafe { Two([self.0[0].swap_bytes(), self.0[1].swap_bytes()]) }
            }

            #[inline(always)]
            unsafe fn load_block(from: &[*const u8; $lanes]) -> [Self; 16] {
                let [low, high] = halves::<_, $half>(from);
                // SAFETY: the caller's.
                unsafe { join(V::load_block(low), V::load_block(high)) }
            }

            #[inline(always)]
            unsafe fn load_part(
                from: &[*const u8; $lanes],
                len: &[usize; $lanes],
                pad: &[*const u8; $lanes],
            ) -> [Self; 16] {
                let (from, len, pad) =
                    (halves::<_, $half>(from), halves::<_, $half>(len), halves::<_, $half>(pad));
                // SAFETY: the caller's.
                unsafe {
                    join(V::load_part(from[0], len[0], pad[0]), V::load_part(from[1], len[1], pad[1]))
                }
            }

            #[inline(always)]
            unsafe fn store_rows(words: &[Self; 8], to: &[*mut u8; $lanes]) {
                let to = halves::<_, $half>(to);
                let mut half = [words[0].0[0]; 8];
                for side in 0..2 {
                    for i in 0..8 {
                        half[i] = words[i].0[side];
                    }
                    // SAFETY: the caller's.
                    unsafe { V::store_rows(&half, to[side]) };
                }
            }
        }
    };
    (@ternary $name:ident) => {
        #[inline(always)]
        unsafe fn $name(self, y: Self, z: Self) -> Self {
            // SAFETY: the caller's.
            unsafe { Two([self.0[0].$name(y.0[0], z.0[0]), self.0[1].$name(y.0[1], z.0[1])]) }
        }
    };
}

two!(8, 16);
two!(16, 32);

#[inline(always)]
fn halves<T, const HALF: usize>(lanes: &[T]) -> [&[T; HALF]; 2] {
    let halves = lanes.as_chunks().0;
    [&halves[0], &halves[1]]
}

#[inline(always)]
fn join<V: Copy>(low: [V; 16], high: [V; 16]) -> [Two<V>; 16] {
    let mut words = [Two([low[0], high[0]]); 16];
    for i in 1..16 {
        words[i] = Two([low[i], high[i]]);
    }
    words
}
