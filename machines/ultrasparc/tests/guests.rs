//! Guest programs: the same operations over the framework, over the fast path, with the T4's instructions and in plain C, on
//! the emulator, against the engines; and the instructions of them that the timing model counts.
//!
//! A program writes to the file descriptors of the process that emulates it, so each runs in a process of its own: this
//! one again, in which only [`emulator`] does anything.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use millstream_cpu::Features;
use millstream_engines::InOut;
use millstream_engines::aead::Aead;
use millstream_engines::aes::Cbc;
use millstream_engines::gcm::Gcm;
use millstream_engines::hash::Hash;
use millstream_engines::hmac::HmacKey;
use millstream_engines::modes::BlockMode;
use millstream_ultrasparc::arithmetic::{montgomery_multiply, montgomery_square, negative_inverse};
use millstream_ultrasparc::kernel::Units;
use millstream_ultrasparc::linux::{Ended, Process, Settings};
use millstream_ultrasparc::processor::Processor;
use millstream_ultrasparc::timing::counts::{Counts, RECORDED};

/// What tells this program to emulate: processor, whether privileged, and where to write how many instructions it took.
const EMULATE: &str = "MILLSTREAM_TEST_GUEST";
/// What the emulated program's output begins after.
const BEGIN: &str = "\u{1}";

#[test]
fn emulator() {
    let Ok(what) = std::env::var(EMULATE) else { return };
    let words: Vec<&str> = what.split('\t').collect();
    let [processor, privileged, counts, program, arguments @ ..] = &*words else { panic!("{what}") };
    let processor: Processor = processor.parse().unwrap();
    let mut command = vec![OsString::from(program)];
    command.extend(arguments.iter().map(OsString::from));
    let mut process = Process::new(Settings::of(processor), Path::new(program), &command, &[]).unwrap();
    if let Some(units) = Units::of(processor, *privileged == "true") {
        units.attach(&mut process.cpu);
        process.driver = Some(Box::new(units));
    }
    print!("{BEGIN}");
    use std::io::Write;
    std::io::stdout().flush().unwrap();
    let ended = process.run();
    let executed = |block: millstream_ultrasparc::cpu::block::Executed<'_>| {
        block.executions * block.words.len() as u64 - block.annulled
    };
    let instructions: u64 = process.cpu.blocks().map(executed).sum();
    std::fs::write(counts, instructions.to_string()).unwrap();
    std::process::exit(match ended {
        Ended::Exited(status) => status.into(),
        Ended::Killed(signal) => 128 + signal,
    });
}

/// What a program wrote, and how it ended.
#[derive(Debug)]
struct Ran {
    output: String,
    errors: String,
    status: Option<i32>,
    instructions: u64,
}

fn run(processor: Processor, privileged: bool, program: &Path, arguments: &str) -> Ran {
    let counts = tempfile::NamedTempFile::new().unwrap();
    let mut what = format!("{processor}\t{privileged}\t{}\t{}", counts.path().display(), program.display());
    for argument in arguments.split_whitespace() {
        what += &format!("\t{argument}");
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "emulator", "--nocapture", "--test-threads=1"])
        .env(EMULATE, what)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let output_of_guest = text.split_once(BEGIN).map_or("", |(_, own)| own).to_owned();
    let instructions = std::fs::read_to_string(counts.path()).unwrap().parse().unwrap_or(0);
    Ran { output: output_of_guest, errors, status: output.status.code(), instructions }
}

/// What it wrote, where it has to succeed.
fn output(processor: Processor, program: &Path, arguments: &str) -> String {
    let ran = run(processor, false, program, arguments);
    assert_eq!(ran.status, Some(0), "{processor} {} {arguments}: {ran:?}", program.display());
    ran.output.trim_end().to_owned()
}

/// A guest program, compiled once.
fn program(name: &str, sources: &[&str], options: &[&str]) -> PathBuf {
    static COMPILING: Mutex<()> = Mutex::new(());
    let _alone = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("guest");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("guest-{name}"));
    let changed = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    let newest =
        std::fs::read_dir(&folder).unwrap().filter_map(|entry| changed(&entry.unwrap().path())).max();
    if changed(&program) > newest {
        return program;
    }
    let status = Command::new("sparc64-linux-gnu-gcc")
        .args(["-O3", "-fno-pie", "-no-pie", "-Wall", "-Wextra", "-Werror", "-static", "-o"])
        .arg(&program)
        .args(options)
        .args(sources.iter().map(|source| folder.join(source)))
        .status();
    let status = status.expect("sparc64-linux-gnu-gcc runs: install gcc-sparc64-linux-gnu");
    assert!(status.success(), "{name} does not compile: {status}");
    program
}

fn software() -> PathBuf {
    program("software", &["main.c", "software.c"], &[])
}

fn instructions() -> PathBuf {
    program("t4", &["main.c", "t4.c", "t4.S"], &["-mcpu=niagara4"])
}

fn framework() -> PathBuf {
    program("framework", &["main.c", "framework.c"], &[])
}

fn fast() -> PathBuf {
    program("fast", &["main.c", "fast.c"], &[])
}

fn submit() -> PathBuf {
    program("submit", &["submit.c"], &[])
}

fn gcm() -> PathBuf {
    program("gcm", &["gcm.c"], &["-mcpu=niagara3", "-DXMULX"])
}

/// Every way, with the processors that have it.
fn ways() -> Vec<(Processor, PathBuf)> {
    vec![
        (Processor::UltraSparc2, software()),
        (Processor::T2, framework()),
        (Processor::T3, framework()),
        (Processor::T3, fast()),
        (Processor::T4, instructions()),
        (Processor::T4, software()),
    ]
}

fn message(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 7 + (i >> 8)) as u8).collect()
}

fn key<const N: usize>() -> [u8; N] {
    std::array::from_fn(|i| i as u8)
}

fn vector<const N: usize>() -> [u8; N] {
    std::array::from_fn(|i| 0xf0 + i as u8)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn aes_cbc(bytes: usize) -> Vec<u8> {
    let mut data = message(bytes);
    let cbc = Cbc::new(Features::hardware(), &key::<16>()).unwrap();
    cbc.encrypt(&mut vector::<16>(), InOut::in_place(&mut data));
    data
}

#[test]
fn a_thread_that_ends_the_program_has_its_emulator_answer() {
    let threads = program("threads", &["../tests/guest/threads.c"], &["-w"]);
    // The first thread waits for what nobody sends, and another computes until a third ends all.
    for (arguments, status) in [("end 0", 42), ("end 1", 128 + 11), ("end 0 exits", 42)] {
        let ran = run(Processor::T4, false, &threads, arguments);
        assert_eq!(ran.status, Some(status), "{arguments}: {ran:?}");
        // What it computed in 50 ms is counted, too.
        assert!(ran.instructions > 200_000, "{arguments}: {ran:?}");
    }
}

#[test]
fn aes_cbc_is_the_same_every_way() {
    for (processor, program) in ways() {
        for bytes in [16, 256, 1024, 65536] {
            let made = output(processor, &program, &format!("aes {bytes}"));
            assert_eq!(made, hex(&aes_cbc(bytes)), "{processor} {} {bytes}", program.display());
        }
    }
}

#[test]
fn macs_are_the_same_every_way() {
    let hashes =
        [("hmac-md5", Hash::Md5, 16), ("hmac-sha1", Hash::Sha1, 20), ("hmac-sha256", Hash::Sha256, 32)];
    for (processor, program) in ways() {
        for (name, hash, length) in hashes {
            for bytes in [1, 55, 64, 1000] {
                let made = output(processor, &program, &format!("{name} {bytes}"));
                let mac =
                    HmacKey::new(Features::hardware(), hash, &key::<32>()[..length]).sign(&message(bytes));
                assert_eq!(made, hex(&mac), "{processor} {} {name} {bytes}", program.display());
            }
        }
    }
}

/// The modulus of that name in `rsa.h`.
fn modulus(bits: usize) -> Vec<u64> {
    let text = include_str!("../guest/rsa.h");
    let begin = text.find(&format!("rsa{bits}_modulus")).unwrap();
    let body = text[begin..].split(['{', '}']).nth(1).unwrap();
    let words = body.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap()).collect()
}

/// `a ^ 65537 mod n`.
fn verified(a: &[u64], n: &[u64]) -> Vec<u64> {
    let (n0, words) = (negative_inverse(n[0]), n.len());
    // 2^(64 words) mod n and its square, by doubling.
    let mut square = vec![0; words];
    square[0] = 1;
    for _ in 0..128 * words {
        let mut carry = 0;
        for word in &mut square {
            (*word, carry) = (*word << 1 | carry, *word >> 63);
        }
        millstream_ultrasparc::arithmetic::reduce_once(&mut square, carry, n);
    }
    let multiply = |a: &[u64], b: &[u64]| {
        let mut x = vec![0; words];
        montgomery_multiply(&mut x, a, b, n, n0);
        x
    };
    let base = multiply(a, &square);
    let mut power = base.clone();
    for _ in 0..16 {
        let mut x = vec![0; words];
        montgomery_square(&mut x, &power, n, n0);
        power = x;
    }
    let mut one = vec![0; words];
    one[0] = 1;
    multiply(&multiply(&power, &base), &one)
}

#[test]
fn signatures_are_the_same_every_way_and_verify() {
    let more = [(Processor::T1, framework())];
    for bits in [1024, 2048] {
        let mut signatures = Vec::new();
        for (processor, program) in ways().into_iter().chain(more.clone()) {
            // Plain C takes long, and has nothing to do with the processor.
            if processor == Processor::T4 && program == software() {
                continue;
            }
            signatures.push((processor, output(processor, &program, &format!("rsa {bits}"))));
        }
        let first = &signatures[0].1;
        assert!(signatures.iter().all(|(_, signature)| signature == first), "{bits}: {signatures:?}");
        let n = modulus(bits);
        let words: Vec<u64> = first
            .as_bytes()
            .rchunks(16)
            .map(|word| u64::from_str_radix(str::from_utf8(word).unwrap(), 16).unwrap())
            .collect();
        let mut base: Vec<u64> =
            (1..=n.len() as u64).map(|i| i.wrapping_mul(0x0123_4567_89ab_cdef)).collect();
        *base.last_mut().unwrap() >>= 8;
        assert_eq!(verified(&words, &n), base, "{bits}");
    }
}

#[test]
fn a_path_that_the_processor_has_not_fails_and_says_so() {
    let refused = |processor, program: &Path, arguments: &str| {
        let ran = run(processor, false, program, arguments);
        assert!(ran.status != Some(0), "{processor} {}: {ran:?}", program.display());
        ran
    };
    // T1's unit only has modular arithmetic; T2 has no fast path; the T4 has no unit.
    assert!(refused(Processor::T1, &framework(), "aes 16").errors.contains("framework"));
    assert!(refused(Processor::T2, &fast(), "aes 16").errors.contains("no fast path"));
    assert!(refused(Processor::T4, &framework(), "aes 16").errors.contains("framework"));
    // Without its instructions it is an illegal instruction.
    assert_eq!(refused(Processor::T3, &instructions(), "aes 16").status, Some(128 + 4));
}

#[test]
fn gcm_is_split_between_the_unit_and_the_strand() {
    for bytes in [16, 256, 4096] {
        let mut data = message(bytes);
        let mut tag = [0; 16];
        let gcm_key = Gcm::new(Features::hardware(), &key::<16>()).unwrap();
        gcm_key.seal(&vector::<12>(), &[], InOut::in_place(&mut data), &mut tag).unwrap();
        let expected = format!("{} {}", hex(&data[bytes - 16..]), hex(&tag));
        for ghash in ["tables", "bytes", "xmulx"] {
            assert_eq!(
                output(Processor::T3, &gcm(), &format!("{ghash} {bytes}")),
                expected,
                "{ghash} {bytes}"
            );
        }
    }
}

#[test]
fn kasumi_is_the_same_with_small_tables_merged_ones_and_instructions() {
    let plain = program("kasumi", &["kasumi.c"], &[]);
    let t4 = program("kasumi-t4", &["kasumi.c"], &["-mcpu=niagara4", "-DT4"]);
    // TS 35.203 §4.1, test set 1.
    for (processor, program, how) in [
        (Processor::T2, &plain, "small"),
        (Processor::T2, &plain, "merged"),
        (Processor::T4, &t4, "instructions"),
        (Processor::T4, &t4, "merged"),
    ] {
        assert_eq!(output(processor, program, &format!("{how} 1")), "df1f9b251c0bf45f", "{how}");
    }
    let last = |program: &Path, how: &str| output(Processor::T4, program, &format!("{how} 100"));
    assert_eq!(last(&plain, "small"), last(&t4, "instructions"));
}

#[test]
fn a_privileged_program_plays_the_driver() {
    let program = program("privileged", &["privileged.c"], &[]);
    for processor in [Processor::T2, Processor::T3] {
        let ran = run(processor, true, &program, "256");
        assert_eq!(ran.status, Some(0), "{ran:?}");
        let lines: Vec<&str> = ran.output.lines().collect();
        let expected = hex(&aes_cbc(256));
        let said =
            ["queue type 2, 16 entries", "done", "no source: status 6", "no such tail: status 6", &expected];
        assert_eq!(lines, said, "{processor}");
    }
    // Others may not: an illegal instruction.
    let ran = run(Processor::T2, false, &program, "256");
    assert!(ran.status == Some(128 + 4), "{ran:?}");
}

/// What one more time of an operation takes.
fn each(processor: Processor, program: &Path, arguments: &str, [few, many]: [u64; 2]) -> u64 {
    let instructions = |times| {
        let ran = run(processor, false, program, &format!("{arguments} {times}"));
        assert_eq!(ran.status, Some(0), "{ran:?}");
        ran.instructions
    };
    (instructions(many) - instructions(few)) / (many - few)
}

#[test]
fn instructions_are_those_that_the_timing_model_counts() {
    let counted = Counts {
        fast_submit: each(Processor::T3, &submit(), "64", [8, 40]),
        aes_t4_1kb: each(Processor::T4, &instructions(), "aes 1024", [1, 9]),
        aes_software_1kb: each(Processor::T3, &software(), "aes 1024", [1, 9]),
        ghash_tables_1kb: each(Processor::T3, &gcm(), "tables 1024", [1, 9]),
        ghash_bytes_1kb: each(Processor::T3, &gcm(), "bytes 1024", [1, 9]),
        ghash_xmulx_1kb: each(Processor::T3, &gcm(), "xmulx 1024", [1, 9]),
    };
    // Another compiler makes a few more or fewer of them.
    let near = |a: u64, b: u64| a.abs_diff(b) * 50 <= b;
    let pairs = |counts: Counts| {
        let Counts { fast_submit, aes_t4_1kb, aes_software_1kb, .. } = counts;
        let Counts { ghash_tables_1kb, ghash_bytes_1kb, ghash_xmulx_1kb, .. } = counts;
        [fast_submit, aes_t4_1kb, aes_software_1kb, ghash_tables_1kb, ghash_bytes_1kb, ghash_xmulx_1kb]
    };
    let same = pairs(counted).into_iter().zip(pairs(RECORDED)).all(|(a, b)| near(a, b));
    assert!(same, "counted {counted:?}, recorded {RECORDED:?}");
}

#[test]
fn many_operations_in_the_queue_are_all_done() {
    // As many as the queue holds, and then the last block of one that was waited for.
    let aes = hex(&aes_cbc(256)[240..]);
    for times in [1, 2, 63] {
        assert_eq!(output(Processor::T3, &submit(), &format!("256 {times} wait")), aes, "{times}");
    }
}

#[test]
fn merged_tables_take_fewer_instructions_than_small_ones() {
    let program = program("kasumi", &["kasumi.c"], &[]);
    let block = |how: &str| each(Processor::T2, &program, how, [1000, 3000]);
    let (small, merged) = (block("small"), block("merged"));
    assert!(merged * 10 < small * 9, "small {small}, merged {merged}");
}
