//! The rounds of FF1 with VAES at 512 bits: the integers of eight values in a register, and their blocks in two. Digits become integers,
//! and the other way round, with all places of an integer in a register.
//!
//! Ref. NIST SP 800-38G §4.5, §5.1 step 6; Intel SDM volume 2, VPMULUDQ, VPMINUQ.
//!
//! # Safety
//! The intrinsics are in functions that have their features, or are inlined into one that has. Loads and stores are of whole arrays, or of
//! as many digits as a slice has.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::x86_64_aesni::Instructions;
use super::x86_64_zmm::Zmm;
use crate::aes::feistel::{BothPlaces, DIGITS, Digits, Feistel, FeistelRounds, Integers, Places, VALUES};
use crate::aes::vector::{Alone, Keys, Vector};
use crate::aes::{Block, Schedule};

/// The functions of this file.
pub(super) const FEISTEL: Feistel = Feistel { read, rounds, write };

/// The values whose integers are in a register.
const EACH: usize = 8;

/// The rounds on as many registers as the values need.
#[target_feature(enable = "aes,pclmulqdq,vaes,vpclmulqdq,avx512f,avx512bw,avx512vl")]
fn rounds(schedule: &Schedule, rounds: &FeistelRounds<'_>, first: &mut Integers, second: &mut Integers) {
    // SAFETY: the features are those of this function.
    unsafe {
        match rounds.values {
            0..=8 => of_registers::<1, 2>(schedule, rounds, first, second),
            9..=16 => of_registers::<2, 4>(schedule, rounds, first, second),
            _ => of_registers::<4, 8>(schedule, rounds, first, second),
        }
    }
}

/// A modulus below 2^32 in all places, and the halves of its reciprocal.
#[derive(Clone, Copy)]
struct Modulus {
    value: __m512i,
    twice: __m512i,
    low: __m512i,
    high: __m512i,
}

impl Modulus {
    #[inline(always)]
    unsafe fn new((value, reciprocal): (u32, u64)) -> Self {
        // SAFETY: the caller has the features; so below.
        unsafe {
            Modulus {
                value: _mm512_set1_epi64(value.into()),
                twice: _mm512_set1_epi64(i64::from(value) << 1),
                low: _mm512_set1_epi64(reciprocal as i64),
                high: _mm512_set1_epi64((reciprocal >> 32) as i64),
            }
        }
    }

    /// Reduces 64 bits. The product with the reciprocal, less the carries of its lower half, is a quotient that is at most three too
    /// small: those carries are at most two, and the reciprocal is rounded down.
    #[inline(always)]
    unsafe fn reduce(self, y: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe {
            let above = _mm512_srli_epi64::<32>(y);
            let middle = _mm512_srli_epi64::<32>(_mm512_mul_epu32(y, self.high));
            let other = _mm512_srli_epi64::<32>(_mm512_mul_epu32(above, self.low));
            let sum = _mm512_add_epi64(middle, other);
            let quotient = _mm512_add_epi64(sum, _mm512_mul_epu32(above, self.high));
            let upper = _mm512_mul_epu32(_mm512_srli_epi64::<32>(quotient), self.value);
            let lower = _mm512_mul_epu32(quotient, self.value);
            let rest = _mm512_sub_epi64(_mm512_sub_epi64(y, lower), _mm512_slli_epi64::<32>(upper));
            subtract(subtract(rest, self.twice), self.value)
        }
    }
}

/// Takes `value` off where it fits. A difference that is negative is the larger number.
#[inline(always)]
unsafe fn subtract(x: __m512i, value: __m512i) -> __m512i {
    // SAFETY: as above.
    unsafe { _mm512_min_epu64(x, _mm512_sub_epi64(x, value)) }
}

/// The rounds on `N` registers of integers and `BLOCKS` of blocks, twice as many.
#[inline(always)]
unsafe fn of_registers<const N: usize, const BLOCKS: usize>(
    schedule: &Schedule,
    rounds: &FeistelRounds<'_>,
    first: &mut Integers,
    second: &mut Integers,
) {
    // SAFETY: as above; each array has as many registers.
    unsafe {
        // The byte order of each integer is reversed.
        let reversal = _mm512_broadcast_i32x4(_mm_set_epi64x(0x0809_0a0b_0c0d_0e0f, 0x0001_0203_0405_0607));
        let zero = _mm512_setzero_si512();
        let keys = Keys::<Zmm<Instructions>>::new(schedule);
        let moduli = [Modulus::new(rounds.moduli[0]), Modulus::new(rounds.moduli[1])];
        let mut before = [zero; BLOCKS];
        let (mut a, mut b) = ([zero; N], [zero; N]);
        for k in 0..N {
            [before[2 * k], before[2 * k + 1]] = load_blocks(rounds.before, EACH * k);
            a[k] = _mm512_loadu_si512(first[EACH * k..][..EACH].as_ptr().cast());
            b[k] = _mm512_loadu_si512(second[EACH * k..][..EACH].as_ptr().cast());
        }
        for i in 0..rounds.count {
            let round = if rounds.decrypt { rounds.count - 1 - i } else { i };
            let number = _mm512_set1_epi64((u64::from(round) << rounds.shift) as i64);
            let modulus = moduli[usize::from(round % 2)];
            let (known, changed) = if rounds.decrypt { (a, b) } else { (b, a) };
            let mut blocks = [Zmm::of(zero); BLOCKS];
            for k in 0..N {
                let last = _mm512_shuffle_epi8(_mm512_or_si512(known[k], number), reversal);
                let (even, odd) = (_mm512_unpacklo_epi64(zero, last), _mm512_unpackhi_epi64(zero, last));
                blocks[2 * k] = Zmm::of(_mm512_xor_si512(before[2 * k], even));
                blocks[2 * k + 1] = Zmm::of(_mm512_xor_si512(before[2 * k + 1], odd));
            }
            let blocks = Zmm::encrypt(&keys, blocks, &mut Alone);
            let mut sums = [zero; N];
            for k in 0..N {
                let y = _mm512_shuffle_epi8(
                    _mm512_unpacklo_epi64(blocks[2 * k].register(), blocks[2 * k + 1].register()),
                    reversal,
                );
                let y = modulus.reduce(y);
                let y = if rounds.decrypt { _mm512_sub_epi64(modulus.value, y) } else { y };
                sums[k] = subtract(_mm512_add_epi64(changed[k], y), modulus.value);
            }
            (a, b) = if rounds.decrypt { (sums, known) } else { (known, sums) };
        }
        for k in 0..N {
            _mm512_storeu_si512(first[EACH * k..][..EACH].as_mut_ptr().cast(), a[k]);
            _mm512_storeu_si512(second[EACH * k..][..EACH].as_mut_ptr().cast(), b[k]);
        }
    }
}

/// Loads eight blocks, those at even places into the first register and the others into the second, as the unpacking of their integers
/// has them.
#[inline(always)]
unsafe fn load_blocks(blocks: &[Block; VALUES], at: usize) -> [__m512i; 2] {
    let blocks = &blocks[at..][..EACH];
    // SAFETY: as above; there are eight blocks.
    unsafe {
        let four = _mm512_loadu_si512(blocks.as_ptr().cast());
        let others = _mm512_loadu_si512(blocks[EACH / 2..].as_ptr().cast());
        [
            _mm512_shuffle_i64x2::<0b10_00_10_00>(four, others),
            _mm512_shuffle_i64x2::<0b11_01_11_01>(four, others),
        ]
    }
}

/// Reads the integers that digits stand for.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn read(places: &BothPlaces, digits: &[Digits<'_>], first: &mut Integers, second: &mut Integers) {
    let [before, behind] = [&places[0], &places[1]];
    for lane in 0..digits.len().min(VALUES) {
        if digits[lane].len() == before.len + behind.len {
            let (a, b) = digits[lane].split_at(before.len);
            // SAFETY: the features are those of this function.
            let sums = unsafe {
                let (a, b) = (products(before, a), products(behind, b));
                let sums = _mm512_add_epi64(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
                let sums =
                    _mm256_add_epi64(_mm512_castsi512_si256(sums), _mm512_extracti64x4_epi64::<1>(sums));
                _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums))
            };
            first[lane] = _mm_cvtsi128_si64(sums) as u64;
            second[lane] = _mm_extract_epi64::<1>(sums) as u64;
        }
    }
}

/// Returns each digit times the weight of its place.
#[inline(always)]
unsafe fn products(places: &Places, digits: &[[u8; 2]]) -> __m512i {
    let from = digits.as_ptr().cast::<i16>();
    // SAFETY: the caller has the features; as many digits are loaded as there are.
    unsafe {
        let digits = match digits.len() {
            DIGITS => _mm_loadu_si128(from.cast()),
            len => _mm_maskz_loadu_epi16(mask(len), from),
        };
        _mm512_mul_epu32(_mm512_cvtepu16_epi64(digits), all(&places.weights))
    }
}

/// Writes integers as digits.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn write(places: &BothPlaces, first: &Integers, second: &Integers, digits: &mut [Digits<'_>]) {
    let [before, behind] = [&places[0], &places[1]];
    for lane in 0..digits.len().min(VALUES) {
        if digits[lane].len() == before.len + behind.len {
            let (a, b) = digits[lane].split_at_mut(before.len);
            // SAFETY: the features are those of this function.
            unsafe {
                write_one(before, first[lane], a);
                write_one(behind, second[lane], b);
            }
        }
    }
}

/// Writes the digits of an integer: each is the quotient by the weight of its place, less the multiple of the radix that the quotient of the
/// place before it stands for.
#[inline(always)]
unsafe fn write_one(places: &Places, number: u64, digits: &mut [[u8; 2]]) {
    // SAFETY: the caller has the features; as many digits are stored as there are.
    unsafe {
        let (number, reciprocals) = (_mm512_set1_epi64(number as i64), all(&places.reciprocals));
        let lower = _mm512_srli_epi64::<32>(_mm512_mul_epu32(number, reciprocals));
        let upper = _mm512_mul_epu32(number, _mm512_srli_epi64::<32>(reciprocals));
        let quotients = _mm512_srli_epi64::<32>(_mm512_add_epi64(upper, lower));
        // The weight of the last place is 1.
        let last = mask(places.len) ^ mask(places.len - 1);
        let quotients = _mm512_mask_mov_epi64(quotients, last, number);
        let before = _mm512_alignr_epi64::<7>(quotients, _mm512_setzero_si512());
        let above = _mm512_mul_epu32(before, _mm512_set1_epi64(places.radix.into()));
        let found = _mm512_cvtepi64_epi16(_mm512_sub_epi64(quotients, above));
        let to = digits.as_mut_ptr().cast::<i16>();
        match digits.len() {
            DIGITS => _mm_storeu_si128(to.cast(), found),
            len => _mm_mask_storeu_epi16(to, mask(len), found),
        }
    }
}

/// The mask of the first `len` places.
#[inline(always)]
fn mask(len: usize) -> __mmask8 {
    ((1u32 << (len & 15)) - 1) as __mmask8
}

#[inline(always)]
unsafe fn all(numbers: &[u64; DIGITS]) -> __m512i {
    // SAFETY: the caller has the features, and eight numbers fill a register.
    unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) }
}
