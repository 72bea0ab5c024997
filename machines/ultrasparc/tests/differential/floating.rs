//! Floating point that QEMU 7.2 has not, against the host's; and what exceptions that trap leave.
//! Ref. Oracle SPARC Architecture 2011, chapter 7 and §5.4.

use millstream_ultrasparc::isa::{self, Instruction};

use crate::cases::{self, Case};
use crate::machines::Ours;
use crate::random::Random;
use crate::{describe, seed};

/// FSR.RD and FSR.TEM.
const MODES: u64 = 3 << 30 | 0x1f << 23;

/// The fields of the first word: three operands, as doubles.
fn operands(case: &Case, is_single: bool) -> [f64; 3] {
    [14, 0, 9].map(|low| read(case, low, is_single))
}

fn read(case: &Case, low: u32, is_single: bool) -> f64 {
    let field = (case.words[0] >> low & 31) as usize;
    if is_single {
        let pair = case.d[field / 2];
        f32::from_bits(if field.is_multiple_of(2) { (pair >> 32) as u32 } else { pair as u32 }).into()
    } else {
        f64::from_bits(case.d[field / 2 + field % 2 * 16])
    }
}

/// Half of a sum with one rounding, of numbers that are not near both ends of the range at once.
fn half_sum(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if sum.is_infinite() { a / 2.0 + b / 2.0 } else { sum / 2.0 }
}

/// A row's operation to nearest, of operands that are no NaNs.
fn nearest(name: &str, [a, b, c]: [f64; 3]) -> Option<f64> {
    let stem = &name[..name.len() - 1];
    if name.ends_with('s') {
        return nearest_single(stem, [a, b, c].map(|value| value as f32)).map(f64::from);
    }
    Some(match stem {
        "fmadd" => a.mul_add(b, c),
        "fmsub" => a.mul_add(b, -c),
        "fnmadd" => -a.mul_add(b, c),
        "fnmsub" => -a.mul_add(b, -c),
        "fnadd" => -(a + b),
        "fnmul" => -(a * b),
        "fhadd" => half_sum(a, b),
        "fhsub" => half_sum(a, -b),
        "fnhadd" => -half_sum(a, b),
        // Of singles, exact.
        "fnsmul" => -(a * b),
        _ => return None,
    })
}

fn nearest_single(stem: &str, [a, b, c]: [f32; 3]) -> Option<f32> {
    // A double has more than twice a single's digits: a sum that is rounded twice is as if it were rounded once.
    let half = |b: f32| ((f64::from(a) + f64::from(b)) / 2.0) as f32;
    Some(match stem {
        "fmadd" => a.mul_add(b, c),
        "fmsub" => a.mul_add(b, -c),
        "fnmadd" => -a.mul_add(b, c),
        "fnmsub" => -a.mul_add(b, -c),
        "fnadd" => -(a + b),
        "fnmul" => -(a * b),
        "fhadd" => half(b),
        "fhsub" => half(-b),
        "fnhadd" => -half(b),
        _ => return None,
    })
}

/// Whether the row's results are compared with the host's.
pub fn has_model(row: &Instruction) -> bool {
    cases::reason_to_leave_out(row).is_some() && nearest(row.name, [1.0; 3]).is_some()
}

/// A case's result, as bits, and its FSR, under these modes.
fn run(ours: &mut Ours, case: &Case, is_single: bool, modes: u64) -> (u64, u64) {
    let case = Case { fsr: case.fsr & !MODES | modes, ..case.clone() };
    let left = ours.execute(&case).expect("nothing traps");
    let field = (case.words[0] >> 25 & 31) as usize;
    let bits = if is_single {
        let pair = left.d[field / 2];
        if field.is_multiple_of(2) { pair >> 32 } else { pair & 0xffff_ffff }
    } else {
        left.d[field / 2 + field % 2 * 16]
    };
    (bits, left.fsr)
}

#[test]
fn fused_negated_and_halved_results_are_the_hosts() {
    let mut random = Random::new(seed());
    let mut ours = Ours::new();
    let (mut rows, mut compared) = (0, 0);
    for row in isa::rows().iter().filter(|row| has_model(row)) {
        rows += 1;
        let sources_single = row.name.ends_with('s') || row.name == "fnsmuld";
        for _ in 0..400 {
            let case = cases::make(row, &mut random);
            let operands = operands(&case, sources_single);
            let used = if row.name.contains("madd") || row.name.contains("msub") { 3 } else { 2 };
            if operands[..used].iter().any(|operand| operand.is_nan()) {
                continue;
            }
            compared += 1;
            check(row, &case, operands, &mut ours);
        }
    }
    eprintln!("{rows} rows, {compared} cases against the host");
    assert_eq!(rows, 19, "rows with results of the host's");
    assert!(compared > 5000, "{compared} cases of numbers");
}

fn check(row: &Instruction, case: &Case, operands: [f64; 3], ours: &mut Ours) {
    let is_single = row.name.ends_with('s');
    let expected = nearest(row.name, operands).expect("a model");
    let (bits, fsr) = run(ours, case, is_single, 0);
    let text = || {
        format!("{}, seed {}\n{}", row.name, seed(), describe(case, &format!("{operands:?}, ours {bits:#x}")))
    };
    let wanted = match (expected.is_nan(), is_single) {
        (true, true) => 0x7fff_ffff,
        (true, false) => 0x7fff_ffff_ffff_ffff,
        (false, true) => u64::from((expected as f32).to_bits()),
        (false, false) => expected.to_bits(),
    };
    assert_eq!(bits, wanted, "{}", text());
    assert_eq!(fsr >> 4 & 1 != 0, expected.is_nan(), "FSR.nvc: {}", text());
    if expected.is_nan() {
        return;
    }
    let (down, up) = (run(ours, case, is_single, 3 << 30).0, run(ours, case, is_single, 2 << 30).0);
    let is_inexact = fsr & 1 != 0;
    let zeros = (down | up) << if is_single { 33 } else { 1 } == 0;
    assert_eq!(is_inexact, down != up && !zeros, "FSR.nxc: {down:#x} to {up:#x}: {}", text());
    assert!(bits == down || bits == up, "{down:#x} to {up:#x}: {}", text());
    let cut = run(ours, case, is_single, 1 << 30).0;
    let least = if bits >> (if is_single { 31 } else { 63 }) != 0 { up } else { down };
    assert!(cut == least || zeros, "{down:#x} to {up:#x}, toward zero {cut:#x}: {}", text());
}

/// `faddd %f0, %f2, %f4` and the like, by `opf`.
fn word(opf: u32) -> u32 {
    2 << 30 | 0x34 << 19 | opf << 5 | 4 << 25 | 2
}

#[test]
fn exceptions_that_trap_change_nothing_but_fsr() {
    let (one, huge, tiny) = (1f64.to_bits(), f64::MAX.to_bits(), f64::MIN_POSITIVE.to_bits());
    let (nan, infinity) = (0x7ff0_0000_0000_0001, f64::INFINITY.to_bits());
    let (faddd, fsubd, fmuld, fdivd) = (0x42, 0x46, 0x4a, 0x4e);
    let cases = [
        // What is executed, on what; which traps are enabled; which one is taken.
        ("a signalling NaN", faddd, nan, one, 0x1f, 0x10),
        ("infinity less infinity", fsubd, infinity, infinity, 0x10, 0x10),
        ("a division by zero", fdivd, one, 0, 0x02, 0x02),
        ("overflow, which is inexact too", fmuld, huge, huge, 0x09, 0x08),
        ("overflow, where inexact results trap", fmuld, huge, huge, 0x01, 0x01),
        ("underflow, which is inexact too", fmuld, tiny, 0x3fd5_5555_5555_5555, 0x05, 0x04),
        ("underflow that is exact", fmuld, tiny, 0.5f64.to_bits(), 0x04, 0x04),
        ("an inexact quotient", fdivd, one, 3f64.to_bits(), 0x1f, 0x01),
    ];
    let mut ours = Ours::new();
    for (what, opf, a, b, enabled, taken) in cases {
        let mut case = Case::from_bytes(&[0; Case::BYTES]);
        (case.d[0], case.d[1], case.d[2]) = (a, b, 0x1234);
        case.fsr = enabled << 23 | 0x2a0 | 2 << 10;
        case.words[0] = word(opf);
        let trap = ours.execute(&case).err().unwrap_or_else(|| panic!("{what} does not trap"));
        assert!(trap.starts_with("FpException"), "{what}: {trap}");
        let cpu = ours.cpu();
        assert_eq!(cpu.d, case.d, "{what}");
        assert_eq!(cpu.fsr, case.fsr | 1 << 14 | taken, "{what}: FSR");
        // Without traps it is accrued, and there is a result.
        case.fsr = 0;
        let left = ours.execute(&case).expect("no trap");
        let exact = what.ends_with("is exact");
        assert_eq!(left.fsr >> 5 & taken != 0, !exact, "{what}: accrued {:#x}", left.fsr);
        assert_eq!(left.fsr >> 5, left.fsr & 0x1f, "{what}: current and accrued");
    }
}

#[test]
fn graphics_status_may_say_how_to_round() {
    let mut ours = Ours::new();
    let mut case = Case::from_bytes(&[0; Case::BYTES]);
    (case.d[0], case.d[1]) = (1f64.to_bits(), 3f64.to_bits());
    case.words[0] = word(0x4e);
    let mut third = |gsr: u64, fsr: u64| {
        let left = ours.execute(&Case { gsr, fsr, ..case.clone() }).expect("no trap");
        left.d[2]
    };
    let nearest = (1.0f64 / 3.0).to_bits();
    assert_eq!(third(0, 0), nearest);
    assert_eq!(third(0, 2 << 30), nearest + 1, "FSR.RD");
    assert_eq!(third(1 << 27 | 2 << 25, 0), nearest + 1, "GSR.IRND instead of FSR.RD");
    assert_eq!(third(1 << 27, 2 << 30), nearest, "to nearest by GSR.IRND");
}

#[test]
fn of_three_operands_the_signalling_nan_wins_and_then_the_last() {
    let (quiet, signalling, one) = (0x7ff8_0000_0000_0000, 0x7ff0_0000_0000_0000, 1f64.to_bits());
    let cases = [
        ([quiet | 1, quiet | 2, quiet | 3], quiet | 3, 0),
        ([signalling | 1, quiet | 2, quiet | 3], quiet | 1, 0x10),
        ([signalling | 1, signalling | 2, quiet | 3], quiet | 2, 0x10),
        ([signalling | 1, signalling | 2, signalling | 3], quiet | 3, 0x10),
        ([quiet | 1, one, one], quiet | 1, 0),
        // Zero by infinity is invalid beside any NaN.
        ([0, f64::INFINITY.to_bits(), quiet | 3], quiet | 3, 0x10),
        ([0, f64::INFINITY.to_bits(), one], 0x7fff_ffff_ffff_ffff, 0x10),
    ];
    let mut ours = Ours::new();
    for (operands, wanted, flags) in cases {
        let mut case = Case::from_bytes(&[0; Case::BYTES]);
        case.d[..3].copy_from_slice(&operands);
        // fnmaddd %f0, %f2, %f4, %f6: a NaN is not negated.
        case.words[0] = 2 << 30 | 0x37 << 19 | 0xe << 5 | 6 << 25 | 4 << 9 | 2;
        let left = ours.execute(&case).expect("no trap");
        assert_eq!(left.d[3], wanted, "{operands:x?}");
        assert_eq!(left.fsr & 0x1f, flags, "{operands:x?}");
    }
}
