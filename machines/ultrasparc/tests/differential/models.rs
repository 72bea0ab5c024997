//! What instructions do, written once more from the manuals and as plainly as can be: for those that QEMU 7.2 has not or
//! has wrong.
//! Ref. Oracle SPARC Architecture 2011, chapter 7; Sun's VIS Instruction Set User's Manual, chapter 4.

use millstream_ultrasparc::isa::Instruction;

use crate::cases::Case;

/// The fields of a case's first word, and what they name.
struct Operands<'a> {
    case: &'a Case,
    word: u32,
}

impl Operands<'_> {
    fn field(&self, low: u32) -> usize {
        (self.word >> low & 31) as usize
    }
    fn r(&self, low: u32) -> u64 {
        self.case.r[self.field(low)]
    }
    fn s(&self, low: u32) -> u32 {
        let field = self.field(low);
        (self.case.d[field / 2] >> if field.is_multiple_of(2) { 32 } else { 0 }) as u32
    }
    fn d(&self, low: u32) -> u64 {
        self.case.d[place(self.field(low))]
    }
}

/// Where a double register is, by its field.
fn place(field: usize) -> usize {
    field / 2 + field % 2 * 16
}

const RS1: u32 = 14;
const RS2: u32 = 0;
const RS3: u32 = 9;
const RD: u32 = 25;

fn halves(long: u64) -> [i64; 4] {
    [48, 32, 16, 0].map(|shift| i64::from((long >> shift) as i16))
}

fn words(long: u64) -> [i64; 2] {
    [32, 0].map(|shift| i64::from((long >> shift) as i32))
}

fn from_halves(lanes: impl IntoIterator<Item = i64>) -> u64 {
    lanes.into_iter().fold(0, |long, lane| long << 16 | lane as u64 & 0xffff)
}

fn from_words(lanes: impl IntoIterator<Item = i64>) -> u64 {
    lanes.into_iter().fold(0, |long, lane| long << 32 | lane as u64 & 0xffff_ffff)
}

fn each_half(a: u64, b: u64, f: impl Fn(i64, i64) -> i64) -> u64 {
    from_halves(halves(a).into_iter().zip(halves(b)).map(|(a, b)| f(a, b)))
}

fn each_word(a: u64, b: u64, f: impl Fn(i64, i64) -> i64) -> u64 {
    from_words(words(a).into_iter().zip(words(b)).map(|(a, b)| f(a, b)))
}

/// The first lane's answer is the highest bit.
fn mask<T>(a: impl IntoIterator<Item = T>, b: impl IntoIterator<Item = T>, f: impl Fn(T, T) -> bool) -> u64 {
    a.into_iter().zip(b).fold(0, |mask, (a, b)| mask << 1 | u64::from(f(a, b)))
}

fn clamp(value: i64, bits: u32) -> i64 {
    let end = 1i64 << (bits - 1);
    value.clamp(-end, end - 1)
}

/// What a case leaves, if there is a model of the row.
pub fn expected(row: &Instruction, case: &Case) -> Option<Case> {
    let operands = Operands { case, word: case.words[0] };
    let mut left = case.clone();
    if let Some(value) = integer(row.name, &operands, &mut left) {
        if operands.field(RD) != 0 {
            left.r[operands.field(RD)] = value;
        }
    } else if let Some(value) = double(row.name, &operands) {
        left.d[place(operands.field(RD))] = value;
    } else if let Some(value) = single(row.name, &operands) {
        let pair = &mut left.d[operands.field(RD) / 2];
        let shift = if operands.field(RD).is_multiple_of(2) { 32 } else { 0 };
        *pair = *pair & !(0xffff_ffff << shift) | u64::from(value) << shift;
    } else if !other(row.name, &operands, &mut left) {
        return None;
    }
    Some(left)
}

/// Results in an integer register.
fn integer(name: &str, operands: &Operands, left: &mut Case) -> Option<u64> {
    let (a, b, x, y) = (operands.r(RS1), operands.r(RS2), operands.d(RS1), operands.d(RS2));
    let carry = u128::from(operands.case.ccr >> 4 & 1);
    let sum = u128::from(a) + u128::from(b) + carry;
    if let Some(size) = name.strip_prefix("edge") {
        return Some(edge(size, a, b, left));
    }
    Some(match name {
        "addxc" => sum as u64,
        "addxccc" => {
            left.ccr = add_codes(a, b, carry as u64);
            sum as u64
        }
        "umulxhi" => ((u128::from(a) * u128::from(b)) >> 64) as u64,
        "lzcnt" => (0..64).rev().take_while(|bit| b >> bit & 1 == 0).count() as u64,
        "xmulx" => carryless(a, b) as u64,
        "xmulxhi" => (carryless(a, b) >> 64) as u64,
        "movdtox" => y,
        "movstouw" => u64::from(operands.s(RS2)),
        "movstosw" => i64::from(operands.s(RS2) as i32) as u64,
        "fucmple8" => mask(x.to_be_bytes(), y.to_be_bytes(), |a, b| a <= b),
        "fucmpne8" => mask(x.to_be_bytes(), y.to_be_bytes(), |a, b| a != b),
        "fucmpgt8" => mask(x.to_be_bytes(), y.to_be_bytes(), |a, b| a > b),
        "fucmpeq8" => mask(x.to_be_bytes(), y.to_be_bytes(), |a, b| a == b),
        "fcmple16" => mask(halves(x), halves(y), |a, b| a <= b),
        "fcmpgt16" => mask(halves(x), halves(y), |a, b| a > b),
        "fcmple32" => mask(words(x), words(y), |a, b| a <= b),
        "fcmpgt32" => mask(words(x), words(y), |a, b| a > b),
        "pdistn" => {
            let pairs = x.to_be_bytes().into_iter().zip(y.to_be_bytes());
            pairs.map(|(a, b)| (i64::from(a) - i64::from(b)).unsigned_abs()).sum()
        }
        "array8" => array(a, b),
        "array16" => array(a, b) * 2,
        "array32" => array(a, b) * 4,
        _ => return None,
    })
}

/// Results in a double register.
fn double(name: &str, operands: &Operands) -> Option<u64> {
    let (a, b) = (operands.d(RS1), operands.d(RS2));
    let (s, t) = (operands.s(RS1), operands.s(RS2));
    let bytes = s.to_be_bytes().map(i64::from);
    let pair = |s: u32| [(s >> 16) as i16, s as i16].map(i64::from);
    let top = |half: i64| half >> 8;
    let low = |half: i64| half & 0xff;
    let by = |factor: i64| from_halves(bytes.map(|byte| (byte * factor + 0x80) >> 8));
    let unsigned = |a: i64, bits: u32| a & ((1 << bits) - 1);
    Some(match name {
        "movxtod" => operands.r(RS2),
        "fsll16" => each_half(a, b, |a, b| a << (b & 15)),
        "fsrl16" => each_half(a, b, |a, b| unsigned(a, 16) >> (b & 15)),
        "fsll32" => each_word(a, b, |a, b| a << (b & 31)),
        "fsrl32" => each_word(a, b, |a, b| unsigned(a, 32) >> (b & 31)),
        "fslas16" => each_half(a, b, |a, b| clamp(a << (b & 15), 16)),
        "fsra16" => each_half(a, b, |a, b| a >> (b & 15)),
        "fslas32" => each_word(a, b, |a, b| clamp(a << (b & 31), 32)),
        "fsra32" => each_word(a, b, |a, b| a >> (b & 31)),
        "fmean16" => each_half(a, b, |a, b| (a + b + 1).div_euclid(2)),
        "fpadd64" => (u128::from(a) + u128::from(b)) as u64,
        "fpsub64" => (i128::from(a) - i128::from(b)) as u64,
        "fchksm16" => each_half(a, b, |a, b| {
            let sum = unsigned(a, 16) + unsigned(b, 16);
            if sum > 0xffff { sum - 0xffff } else { sum }
        }),
        "fpadds16" => each_half(a, b, |a, b| clamp(a + b, 16)),
        "fpadds32" => each_word(a, b, |a, b| clamp(a + b, 32)),
        "fpsubs16" => each_half(a, b, |a, b| clamp(a - b, 16)),
        "fpsubs32" => each_word(a, b, |a, b| clamp(a - b, 32)),
        "fpsub16" => each_half(a, b, |a, b| a - b),
        "fpsub32" => each_word(a, b, |a, b| a - b),
        "fmul8x16" => from_halves(bytes.into_iter().zip(halves(b)).map(|(a, b)| (a * b + 0x80) >> 8)),
        "fmul8x16au" => by(pair(t)[0]),
        "fmul8x16al" => by(pair(t)[1]),
        "fmul8ulx16" => each_half(a, b, |a, b| (low(a) * b + 0x8000) >> 16),
        "fmuld8sux16" => from_words(pair(s).into_iter().zip(pair(t)).map(|(a, b)| top(a) * b * 256)),
        "fmuld8ulx16" => from_words(pair(s).into_iter().zip(pair(t)).map(|(a, b)| low(a) * b)),
        "fexpand" => from_halves(t.to_be_bytes().map(|byte| i64::from(byte) * 16)),
        "fpmerge" => {
            let pairs = s.to_be_bytes().into_iter().zip(t.to_be_bytes());
            pairs.fold(0, |long, (a, b)| long << 16 | u64::from(a) << 8 | u64::from(b))
        }
        "bshuffle" => {
            let both = [a.to_be_bytes(), b.to_be_bytes()].concat();
            let choice = |n: u32| both[(operands.case.gsr >> (60 - 4 * n) & 15) as usize];
            (0..8).fold(0, |long, n| long << 8 | u64::from(choice(n)))
        }
        "fpmaddx" => wide_product(operands) as u64,
        "fpmaddxhi" => (wide_product(operands) >> 64) as u64,
        _ => return None,
    })
}

fn wide_product(operands: &Operands) -> u128 {
    u128::from(operands.d(RS1)) * u128::from(operands.d(RS2)) + u128::from(operands.d(RS3))
}

/// Results in a single register.
fn single(name: &str, operands: &Operands) -> Option<u32> {
    let (s, t) = (operands.s(RS1), operands.s(RS2));
    let halves = |f: &dyn Fn(i64, i64) -> i64| each_half(s.into(), t.into(), f) as u32;
    let (word_a, word_b) = (i64::from(s as i32), i64::from(t as i32));
    Some(match name {
        "movwtos" => operands.r(RS2) as u32,
        "fpadds16s" => halves(&|a, b| clamp(a + b, 16)),
        "fpsubs16s" => halves(&|a, b| clamp(a - b, 16)),
        "fpsub16s" => halves(&|a, b| a - b),
        "fpadds32s" => clamp(word_a + word_b, 32) as u32,
        "fpsubs32s" => clamp(word_a - word_b, 32) as u32,
        _ => return None,
    })
}

/// What sets state, or goes elsewhere.
fn other(name: &str, operands: &Operands, left: &mut Case) -> bool {
    let chosen = operands.r(RS2);
    let mut set_mask = |bytes: u64| {
        let nibble = |n: u64| if chosen >> ((7 - n) / bytes) & 1 == 1 { n } else { n + 8 };
        let mask = (0..8).fold(0, |mask, n| mask << 4 | nibble(n));
        left.gsr = left.gsr & 0xffff_ffff | mask << 32;
    };
    match name {
        "cmask8" => set_mask(1),
        "cmask16" => set_mask(2),
        "cmask32" => set_mask(4),
        "shutdown" | "pause" => {}
        "siam" => left.gsr = left.gsr & !(7 << 25) | u64::from(operands.word & 7) << 25,
        "flcmps" => lexical(
            operands,
            left,
            f32::from_bits(operands.s(RS1)).into(),
            f32::from_bits(operands.s(RS2)).into(),
        ),
        "flcmpd" => lexical(operands, left, f64::from_bits(operands.d(RS1)), f64::from_bits(operands.d(RS2))),
        _ => return compare_and_branch(name, operands, left),
    }
    true
}

fn lexical(operands: &Operands, left: &mut Case, a: f64, b: f64) {
    let order = match (a.is_nan(), b.is_nan()) {
        (_, true) => 3,
        (true, false) => 2,
        _ if a == 0.0 && b == 0.0 => u64::from(a.is_sign_negative() && b.is_sign_positive()),
        _ => u64::from(a < b),
    };
    let shift = [10, 32, 34, 36][operands.field(RD) & 3];
    left.fsr = left.fsr & !(3 << shift) | order << shift;
}

/// `cwb` and `cxb`: a transfer over three words, or none. There is no delay slot.
fn compare_and_branch(name: &str, operands: &Operands, left: &mut Case) -> bool {
    let Some((wide, condition)) =
        name.strip_prefix("cwb").map(|c| (false, c)).or(name.strip_prefix("cxb").map(|c| (true, c)))
    else {
        return false;
    };
    let immediate = operands.word >> 13 & 1 != 0;
    let second =
        if immediate { (i64::from(operands.word as i32) << 59 >> 59) as u64 } else { operands.r(RS2) };
    let (a, b) = (operands.r(RS1), second);
    let signed = |value: u64| if wide { i128::from(value as i64) } else { i128::from(value as i32) };
    let unsigned = |value: u64| if wide { value } else { u64::from(value as u32) };
    let difference = signed(a) - signed(b);
    let fits = if wide { i64::try_from(difference).is_ok() } else { i32::try_from(difference).is_ok() };
    let negative = (difference < 0) == fits;
    let taken = match condition {
        "e" => a == b || unsigned(a) == unsigned(b),
        "ne" => unsigned(a) != unsigned(b),
        "g" => difference > 0,
        "le" => difference <= 0,
        "ge" => difference >= 0,
        "l" => difference < 0,
        "gu" => unsigned(a) > unsigned(b),
        "leu" => unsigned(a) <= unsigned(b),
        "cc" => unsigned(a) >= unsigned(b),
        "cs" => unsigned(a) < unsigned(b),
        "pos" => !negative,
        "neg" => negative,
        "vc" => fits,
        "vs" => !fits,
        _ => return false,
    };
    for place in (1..12).filter(|place| !taken || *place > 3) {
        let register = 16 + place % 8;
        left.r[register] = left.r[register].wrapping_add(1 << place);
    }
    true
}

/// Codes of `a + b + carry`.
fn add_codes(a: u64, b: u64, carry: u64) -> u64 {
    let codes = |bits: u32| {
        let all = u64::MAX >> (64 - bits);
        let sum = u128::from(a & all) + u128::from(b & all) + u128::from(carry);
        let signed = |value: u64| i128::from((value << (64 - bits)) as i64 >> (64 - bits));
        let whole = signed(a) + signed(b) + i128::from(carry);
        let result = sum as u64 & all;
        let overflow = whole != signed(result);
        (result >> (bits - 1)) << 3
            | u64::from(result == 0) << 2
            | u64::from(overflow) << 1
            | (sum >> bits) as u64
    };
    codes(64) << 4 | codes(32)
}

fn carryless(a: u64, b: u64) -> u128 {
    (0..64).filter(|bit| b >> bit & 1 == 1).fold(0, |sum, bit| sum ^ u128::from(a) << bit)
}

/// `edge`, by what follows in the name: the bits of a lane, `l` for little-endian, `n` for no codes. VIS manual §4.7.
fn edge(name: &str, a: u64, b: u64, left: &mut Case) -> u64 {
    let bytes = match name.trim_end_matches(['l', 'n']) {
        "8" => 1,
        "16" => 2,
        _ => 4,
    };
    if !name.ends_with('n') {
        // As after `subcc`.
        let xor = add_codes(a, !b, 1);
        left.ccr = xor ^ 0x11;
    }
    let (lanes, is_little) = (8 / bytes, name.contains('l'));
    let same = a / 8 == b / 8;
    let is_in = |lane: u64| lane >= a % 8 / bytes && (!same || lane <= b % 8 / bytes);
    // Lanes in the order of their addresses: the first one's bit is the highest, or the lowest.
    (0..lanes)
        .filter(|lane| is_in(*lane))
        .map(|lane| if is_little { 1 << lane } else { 1 << (lanes - 1 - lane) })
        .sum()
}

/// The address of an element: VIS manual §4.9, whose figure lists the bits from below.
fn array(point: u64, size: u64) -> u64 {
    let size = if size & 7 > 5 { 5 } else { size & 7 };
    let (x, y, z) = (11, 33, 55);
    let fields = [
        (x, 2),
        (y, 2),
        (z, 1),
        (x + 2, 4),
        (y + 2, 4),
        (z + 1, 4),
        (x + 6, size),
        (y + 6, size),
        (z + 5, 4),
    ];
    let (mut address, mut at) = (0, 0);
    for (from, bits) in fields {
        for bit in 0..bits {
            address |= (point >> (from + bit) & 1) << at;
            at += 1;
        }
    }
    address
}

/// Partial stores, which QEMU 7.2 has not: the elements of a double register whose bit in `rs2` is set.
/// Ref. OSA 2011, 7.100. The highest bit is that of the highest element; little-endian, that one is the last in memory.
#[test]
fn partial_stores_store_the_elements_of_their_mask() {
    use crate::machines::{Ours, SCRATCH};
    use crate::random::Random;

    let mut random = Random::new(crate::seed());
    let mut ours = Ours::new();
    for (asi, size) in [(0xc0, 1), (0xc2, 2), (0xc4, 4), (0xc8, 1), (0xca, 2), (0xcc, 4)] {
        for _ in 0..50 {
            let mut case = Case::from_bytes(&[0; Case::BYTES]);
            case.memory.fill_with(|| random.next() as u8);
            (case.d[4], case.r[1], case.r[2]) = (random.next(), SCRATCH + 64, random.next());
            // stda %f8, [ %g1 ] %g2, asi
            case.words[0] = 3 << 30 | 8 << 25 | 0x37 << 19 | 1 << 14 | asi << 5 | 2;
            let mut expected = case.memory;
            let (bytes, lanes, is_little) = (case.d[4].to_be_bytes(), 8 / size, asi & 8 != 0);
            for lane in (0..lanes).filter(|lane| case.r[2] >> (lanes - 1 - lane) & 1 == 1) {
                for byte in 0..size {
                    let from = lane * size + byte;
                    expected[64 + if is_little { 7 - from } else { from }] = bytes[from];
                }
            }
            let left = ours.execute(&case).expect("no trap");
            assert_eq!(left.memory, expected, "ASI {asi:#x}, mask {:#x}", case.r[2]);
        }
    }
}
