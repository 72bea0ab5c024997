//! P-256 with MULX and two carry chains.
//!
//! The instructions stand here by themselves because a compiler has one carry flag: each row of a product is added in two chains
//! at once, one for the low and one for the high halves.
//!
//! Ref. E. Ozturk, J. Guilford, V. Gopal, W. Feghali, "New instructions supporting large integer arithmetic on Intel
//! architecture processors", 2012; SP 800-186 §G.1.2 (the form of the prime).
//!
//! # Safety
//! The processor has AVX2, BMI2 and ADX. The types here are named by nothing but [`OPS`] and the row of AVX-512 IFMA, both of which require them. The instructions
//! read the operands' arrays, and touch nothing but registers otherwise.
#![allow(unsafe_code)]

use core::arch::asm;
use core::arch::x86_64::*;

use millstream_cpu::FeatureSet;

use super::super::curve::{self, BaseTable, Params};
use super::super::field::{Element, Modulus};
use super::super::inversion;
use super::super::named::Curve;
use super::super::ops::{Ops, ops};
use super::super::primes::{P256Field, P256Order};
use super::super::products::Products;

/// The features that this file's instructions need.
pub(crate) const REQUIRES: FeatureSet = FeatureSet::parse("avx2,bmi2,adx");

/// The functions of the row.
pub(crate) const OPS: Ops = ops::<P256Adx, 4>(Curve::P256);

/// Curve P-256 with these instructions.
#[derive(Clone, Copy)]
pub(super) struct P256Adx;

impl Params<4> for P256Adx {
    type Field = Field;
    type Order = P256Order;
    const BITS: usize = 256;
    const B: Element<Field, 4> = curve::form(curve::P256_B);
    const BASE: BaseTable = curve::P256_TABLE;

    #[inline(always)]
    fn choose(block: &[[u8; 8]], size: u64) -> [[u64; 4]; 2] {
        // SAFETY: see the head of this file.
        unsafe { choose(block, size) }
    }
}

impl Products<4> for P256Adx {}

/// Chooses in vectors of four points, which are compared with the number of the wanted one.
#[target_feature(enable = "avx2")]
fn choose(block: &[[u8; 8]], size: u64) -> [[u64; 4]; 2] {
    const VECTORS: usize = (1 << (curve::P256_TABLE.window - 1)) / 4;
    let size = _mm256_set1_epi64x(size as i64);
    let mut masks = [size; VECTORS];
    let mut numbers = _mm256_set_epi64x(4, 3, 2, 1);
    for mask in &mut masks {
        *mask = _mm256_cmpeq_epi64(numbers, size);
        numbers = _mm256_add_epi64(numbers, _mm256_set1_epi64x(4));
    }
    let mut chosen = [[0; 4]; 2];
    let (rows, _) = block.as_chunks::<{ 4 * VECTORS }>();
    for (limb, row) in chosen.as_flattened_mut().iter_mut().zip(rows) {
        let mut sum = _mm256_setzero_si256();
        for i in 0..VECTORS {
            // SAFETY: these are four of the row's words.
            let words = unsafe { _mm256_loadu_si256(row[4 * i..4 * i + 4].as_ptr().cast()) };
            sum = _mm256_or_si256(sum, _mm256_and_si256(words, masks[i]));
        }
        let half = _mm_or_si128(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
        *limb = (_mm_cvtsi128_si64(half) | _mm_extract_epi64::<1>(half)) as u64;
    }
    chosen
}

/// The prime of the coordinates.
#[derive(Clone, Copy)]
pub(super) struct Field;

/// The highest limb of the prime.
const HIGHEST: u64 = P256Field::MODULUS[3];

impl Modulus<4> for Field {
    const MODULUS: [u64; 4] = P256Field::MODULUS;

    #[inline(always)]
    fn multiply(a: &[u64; 4], b: &[u64; 4]) -> [u64; 4] {
        multiply(a, b)
    }

    #[inline(always)]
    fn square(a: &[u64; 4]) -> [u64; 4] {
        square(a)
    }

    #[inline(always)]
    fn add(a: &[u64; 4], b: &[u64; 4]) -> [u64; 4] {
        add(a, b)
    }

    #[inline(always)]
    fn subtract(a: &[u64; 4], b: &[u64; 4]) -> [u64; 4] {
        subtract(a, b)
    }

    fn invert(a: &[u64; 4]) -> [u64; 4] {
        inversion::invert::<4, 5>(a, &Self::MODULUS, 256)
    }
}

/// Adds `a` times the limb of `b` at an offset to five registers, and leaves the carry in a sixth.
macro_rules! row {
    ($offset:literal, $r0:literal, $r1:literal, $r2:literal, $r3:literal, $r4:literal, $top:literal) => {
        concat!(
            "mov rdx, qword ptr [{b} + ",
            $offset,
            "]\n",
            // This clears both carries, too.
            "xor {",
            $top,
            ":e}, {",
            $top,
            ":e}\n",
            "mulx {high}, {low}, qword ptr [{a}]\n",
            "adcx {",
            $r0,
            "}, {low}\n",
            "adox {",
            $r1,
            "}, {high}\n",
            "mulx {high}, {low}, qword ptr [{a} + 8]\n",
            "adcx {",
            $r1,
            "}, {low}\n",
            "adox {",
            $r2,
            "}, {high}\n",
            "mulx {high}, {low}, qword ptr [{a} + 16]\n",
            "adcx {",
            $r2,
            "}, {low}\n",
            "adox {",
            $r3,
            "}, {high}\n",
            "mulx {high}, {low}, qword ptr [{a} + 24]\n",
            "adcx {",
            $r3,
            "}, {low}\n",
            "adox {",
            $r4,
            "}, {high}\n",
            "adcx {",
            $r4,
            "}, {",
            $top,
            "}\n",
            "adox {",
            $top,
            "}, {",
            $top,
            "}\n",
            "adc {",
            $top,
            "}, 0\n",
        )
    };
}

/// Adds the prime as often as the lowest register says, which makes that one zero: 2^96 times the register, and 2^192
/// times the highest limb times the register.
macro_rules! reduce {
    ($r0:literal, $r1:literal, $r2:literal, $r3:literal) => {
        concat!(
            "mov rdx, {",
            $r0,
            "}\n",
            "mov {low}, {",
            $r0,
            "}\n",
            "shl {low}, 32\n",
            "shr {",
            $r0,
            "}, 32\n",
            "add {",
            $r1,
            "}, {low}\n",
            "adc {",
            $r2,
            "}, {",
            $r0,
            "}\n",
            "mulx {",
            $r0,
            "}, {low}, {p3}\n",
            "adc {",
            $r3,
            "}, {low}\n",
        )
    };
}

/// Returns `a * b / 2^256` modulo the prime.
#[inline(always)]
fn multiply(a: &[u64; 4], b: &[u64; 4]) -> [u64; 4] {
    let (r0, r1, r2, r3);
    // SAFETY: see the head of this file.
    unsafe {
        asm!(
            "mov rdx, qword ptr [{b}]",
            "mulx {x1}, {x0}, qword ptr [{a}]",
            "mulx {x2}, {low}, qword ptr [{a} + 8]",
            "add {x1}, {low}",
            "mulx {x3}, {low}, qword ptr [{a} + 16]",
            "adc {x2}, {low}",
            "mulx {x4}, {low}, qword ptr [{a} + 24]",
            "adc {x3}, {low}",
            "adc {x4}, 0",
            "xor {x5:e}, {x5:e}",
            reduce!("x0", "x1", "x2", "x3"),
            "adc {x4}, {x0}",
            "adc {x5}, 0",
            row!("8", "x1", "x2", "x3", "x4", "x5", "x0"),
            reduce!("x1", "x2", "x3", "x4"),
            "adc {x5}, {x1}",
            "adc {x0}, 0",
            row!("16", "x2", "x3", "x4", "x5", "x0", "x1"),
            reduce!("x2", "x3", "x4", "x5"),
            "adc {x0}, {x2}",
            "adc {x1}, 0",
            row!("24", "x3", "x4", "x5", "x0", "x1", "x2"),
            reduce!("x3", "x4", "x5", "x0"),
            "adc {x1}, {x3}",
            "adc {x2}, 0",
            // The prime is taken away if the result is not below it.
            "mov {low}, {x4}",
            "mov {high}, {x5}",
            "mov {x3}, {x0}",
            "mov rdx, {x1}",
            "mov {a:e}, 0xffffffff",
            "sub {low}, -1",
            "sbb {high}, {a}",
            "sbb {x3}, 0",
            "sbb rdx, {p3}",
            "sbb {x2}, 0",
            "cmovc {low}, {x4}",
            "cmovc {high}, {x5}",
            "cmovc {x3}, {x0}",
            "cmovc rdx, {x1}",
            a = inout(reg) a.as_ptr() => _,
            b = in(reg) b.as_ptr(),
            p3 = in(reg) HIGHEST,
            low = out(reg) r0,
            high = out(reg) r1,
            x0 = out(reg) _,
            x1 = out(reg) _,
            x2 = out(reg) _,
            x3 = out(reg) r2,
            x4 = out(reg) _,
            x5 = out(reg) _,
            out("rdx") r3,
            options(pure, readonly, nostack),
        );
    }
    [r0, r1, r2, r3]
}

/// Returns `a * a / 2^256` modulo the prime.
#[inline(always)]
fn square(a: &[u64; 4]) -> [u64; 4] {
    let (r0, r1, r2, r3);
    // SAFETY: see the head of this file.
    unsafe {
        asm!(
            // The products of different limbs.
            "mov rdx, qword ptr [{a}]",
            "mulx {x2}, {x1}, qword ptr [{a} + 8]",
            "mulx {x3}, {low}, qword ptr [{a} + 16]",
            "add {x2}, {low}",
            "mulx {x4}, {low}, qword ptr [{a} + 24]",
            "adc {x3}, {low}",
            "adc {x4}, 0",
            "mov rdx, qword ptr [{a} + 8]",
            "xor {p3:e}, {p3:e}",
            "mulx {high}, {low}, qword ptr [{a} + 16]",
            "adcx {x3}, {low}",
            "adox {x4}, {high}",
            "mulx {x5}, {low}, qword ptr [{a} + 24]",
            "adcx {x4}, {low}",
            "adox {x5}, {p3}",
            "adcx {x5}, {p3}",
            "mov rdx, qword ptr [{a} + 16]",
            "mulx {x6}, {low}, qword ptr [{a} + 24]",
            "add {x5}, {low}",
            "adc {x6}, 0",
            // Twice these in one chain, and the squares of the limbs in the other.
            "xor {x7:e}, {x7:e}",
            "mov rdx, qword ptr [{a}]",
            "mulx {high}, {x0}, rdx",
            "adcx {x1}, {x1}",
            "adox {x1}, {high}",
            "mov rdx, qword ptr [{a} + 8]",
            "mulx {high}, {low}, rdx",
            "adcx {x2}, {x2}",
            "adox {x2}, {low}",
            "adcx {x3}, {x3}",
            "adox {x3}, {high}",
            "mov rdx, qword ptr [{a} + 16]",
            "mulx {high}, {low}, rdx",
            "adcx {x4}, {x4}",
            "adox {x4}, {low}",
            "adcx {x5}, {x5}",
            "adox {x5}, {high}",
            "mov rdx, qword ptr [{a} + 24]",
            "mulx {high}, {low}, rdx",
            "adcx {x6}, {x6}",
            "adox {x6}, {low}",
            "adcx {x7}, {p3}",
            "adox {x7}, {high}",
            "mov {p3}, {prime}",
            // The lower half, divided by 2^256.
            reduce!("x0", "x1", "x2", "x3"),
            "adc {x0}, 0",
            reduce!("x1", "x2", "x3", "x0"),
            "adc {x1}, 0",
            reduce!("x2", "x3", "x0", "x1"),
            "adc {x2}, 0",
            reduce!("x3", "x0", "x1", "x2"),
            "adc {x3}, 0",
            "add {x0}, {x4}",
            "adc {x1}, {x5}",
            "adc {x2}, {x6}",
            "adc {x3}, {x7}",
            "mov {x4:e}, 0",
            "adc {x4}, 0",
            // The prime is taken away if the result is not below it.
            "mov {low}, {x0}",
            "mov {high}, {x1}",
            "mov {x5}, {x2}",
            "mov {x6}, {x3}",
            "mov {x7:e}, 0xffffffff",
            "sub {low}, -1",
            "sbb {high}, {x7}",
            "sbb {x5}, 0",
            "sbb {x6}, {p3}",
            "sbb {x4}, 0",
            "cmovc {low}, {x0}",
            "cmovc {high}, {x1}",
            "cmovc {x5}, {x2}",
            "cmovc {x6}, {x3}",
            a = in(reg) a.as_ptr(),
            prime = const HIGHEST,
            p3 = out(reg) _,
            low = out(reg) r0,
            high = out(reg) r1,
            x0 = out(reg) _,
            x1 = out(reg) _,
            x2 = out(reg) _,
            x3 = out(reg) _,
            x4 = out(reg) _,
            x5 = out(reg) r2,
            x6 = out(reg) r3,
            x7 = out(reg) _,
            out("rdx") _,
            options(pure, readonly, nostack),
        );
    }
    [r0, r1, r2, r3]
}

/// Returns `a + b` modulo the prime.
#[inline(always)]
fn add(a: &[u64; 4], b: &[u64; 4]) -> [u64; 4] {
    let [mut r0, mut r1, mut r2, mut r3] = *a;
    // SAFETY: see the head of this file.
    unsafe {
        asm!(
            "add {r0}, qword ptr [{b}]",
            "adc {r1}, qword ptr [{b} + 8]",
            "adc {r2}, qword ptr [{b} + 16]",
            "adc {r3}, qword ptr [{b} + 24]",
            "mov {top:e}, 0",
            "adc {top}, 0",
            "mov {x0}, {r0}",
            "mov {x1}, {r1}",
            "mov {x2}, {r2}",
            "mov {x3}, {r3}",
            "sub {x0}, -1",
            "sbb {x1}, {p1}",
            "sbb {x2}, 0",
            "sbb {x3}, {p3}",
            "sbb {top}, 0",
            "cmovnc {r0}, {x0}",
            "cmovnc {r1}, {x1}",
            "cmovnc {r2}, {x2}",
            "cmovnc {r3}, {x3}",
            b = in(reg) b.as_ptr(),
            p1 = in(reg) P256Field::MODULUS[1],
            p3 = in(reg) HIGHEST,
            r0 = inout(reg) r0,
            r1 = inout(reg) r1,
            r2 = inout(reg) r2,
            r3 = inout(reg) r3,
            x0 = out(reg) _,
            x1 = out(reg) _,
            x2 = out(reg) _,
            x3 = out(reg) _,
            top = out(reg) _,
            options(pure, readonly, nostack),
        );
    }
    [r0, r1, r2, r3]
}

/// Returns `a - b` modulo the prime.
#[inline(always)]
fn subtract(a: &[u64; 4], b: &[u64; 4]) -> [u64; 4] {
    let [mut r0, mut r1, mut r2, mut r3] = *a;
    // SAFETY: see the head of this file.
    unsafe {
        asm!(
            "sub {r0}, qword ptr [{b}]",
            "sbb {r1}, qword ptr [{b} + 8]",
            "sbb {r2}, qword ptr [{b} + 16]",
            "sbb {r3}, qword ptr [{b} + 24]",
            // The prime is added if there is a borrow.
            "sbb {mask}, {mask}",
            "mov {low:e}, {mask:e}",
            "and {p3}, {mask}",
            "add {r0}, {mask}",
            "adc {r1}, {low}",
            "adc {r2}, 0",
            "adc {r3}, {p3}",
            b = in(reg) b.as_ptr(),
            p3 = inout(reg) HIGHEST => _,
            r0 = inout(reg) r0,
            r1 = inout(reg) r1,
            r2 = inout(reg) r2,
            r3 = inout(reg) r3,
            low = out(reg) _,
            mask = out(reg) _,
            options(pure, readonly, nostack),
        );
    }
    [r0, r1, r2, r3]
}

#[cfg(test)]
mod tests {
    use millstream_cpu::Features;

    use super::*;

    #[test]
    fn like_the_portable_ones() {
        if !Features::hardware().contains(REQUIRES) {
            return millstream_testkit::skip("p256: multiplication of x86_64-adx");
        }
        let mut random = millstream_testkit::Random::new(9);
        // Limbs at their edges make the longest carries.
        let edges =
            [0, 1, u64::MAX, u64::MAX - 1, 1 << 32, u64::from(u32::MAX), 1 << 63, HIGHEST, HIGHEST - 1];
        let mut number = || {
            let mut number = [0; 4].map(|_: u64| match random.below(3) {
                0 => random.next_u64(),
                _ => edges[random.below(edges.len())],
            });
            number[3] = number[3].min(HIGHEST);
            super::super::super::limbs::reduce_once(&number, 0, &P256Field::MODULUS)
        };
        for _ in 0..100_000 {
            let (a, b) = (number(), number());
            assert_eq!(multiply(&a, &b), P256Field::multiply(&a, &b), "{a:x?} {b:x?}");
            assert_eq!(square(&a), P256Field::square(&a), "{a:x?}");
            assert_eq!(add(&a, &b), P256Field::add(&a, &b), "{a:x?} {b:x?}");
            assert_eq!(subtract(&a, &b), P256Field::subtract(&a, &b), "{a:x?} {b:x?}");
        }
    }
}
