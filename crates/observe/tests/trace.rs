//! Traces real programs: checks the findings, and that no program computes a wrong byte.
#![cfg(target_arch = "x86_64")]

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use millstream_observe::capability::Withheld;
use millstream_observe::code::{Class, Classes};
use millstream_observe::process::{Launch, Tracer};
use millstream_observe::trace::findings::{Note, Origin};
use millstream_observe::trace::{Findings, Mode, Options, Question, Trace, Verdict};
use millstream_observe::without::{Masker, supported};

#[path = "trace_support/attached.rs"]
mod attached;

const MODES: [Mode; 3] = [Mode::Once, Mode::Count, Mode::Rate];

fn has_aes() -> bool {
    std::arch::is_x86_feature_detected!("aes")
}

/// Returns the program of `trace_support/subject.c`, compiled once.
fn subject() -> Option<PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace_support/subject.c");
        let program =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("trace-subject-{}", std::process::id()));
        let arguments = ["-O1", "-Wall", "-Werror", "-pthread", "-o"];
        let built = Command::new("cc").args(arguments).arg(&program).arg(source).arg("-ldl").status();
        built.is_ok_and(|status| status.success()).then_some(program)
    };
    let built = BUILT.get_or_init(build).clone();
    if built.is_none() {
        println!("SKIPPED: no C compiler that makes AES instructions");
    }
    built.filter(|_| {
        if !has_aes() {
            println!("SKIPPED: this processor has no AES");
        }
        has_aes()
    })
}

/// Returns the path of a program.
fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.exists())
}

struct Run {
    status: ExitStatus,
    output: String,
    findings: Findings,
}

fn options(mode: Mode) -> Options {
    Options { mode, announced: true, ..Options::default() }
}

fn launched(mode: Mode, program: &str, arguments: &[&str]) -> Run {
    traced(mode, None, program, arguments)
}

/// Traces a program to its end.
fn traced(mode: Mode, without: Option<&str>, program: &str, arguments: &[&str]) -> Run {
    traced_as(options(mode), without, program, arguments)
}

fn traced_as(options: Options, without: Option<&str>, program: &str, arguments: &[&str]) -> Run {
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut trace = Trace::new(options).unwrap();
    let launch = Launch { filter: true, kill_with_us: true, ..Launch::default() };
    let mut tracer = Tracer::launch(&mut command, launch).unwrap();
    let mut pipe = tracer.child().and_then(|child| child.stdout.take()).unwrap();
    let reader = std::thread::spawn(move || {
        let mut output = String::new();
        pipe.read_to_string(&mut output).map(|_| output)
    });
    let status = match without {
        None => tracer.run(&mut trace).unwrap(),
        Some(list) => {
            let mut both = (Masker::new(Withheld::without(list).unwrap()), &mut trace);
            tracer.run(&mut both).unwrap()
        }
    };
    let output = reader.join().unwrap().unwrap();
    Run { status, output, findings: trace.finish() }
}

impl Run {
    /// Returns a number that the subject printed.
    fn number(&self, name: &str) -> u64 {
        let mut words = self.output.split_whitespace();
        let found = words.find(|word| *word == name).and_then(|_| words.next());
        found
            .and_then(|number| number.parse().ok())
            .unwrap_or_else(|| panic!("no {name} in {:?}", self.output))
    }

    /// Asserts that the program worked as if it had not been traced.
    fn assert_right(&self) {
        assert!(self.status.success(), "{} {:?} {:?}", self.status, self.output, self.findings.notes);
        // Java's memory for code is writable, and not every processor has counters.
        let usual = |note: &&Note| matches!(note, Note::NoCounters { .. } | Note::Rewritable { .. });
        let troubles = self.findings.notes.iter().filter(|note| !usual(note));
        assert_eq!(troubles.count(), 0, "{:?}", self.findings.notes);
    }

    fn entries(&self, name: &str) -> u64 {
        let functions = self.findings.modules.iter().flat_map(|module| &module.functions);
        functions.filter(|function| function.name == name).filter_map(|function| function.entries).sum()
    }

    fn ran(&self) -> Classes {
        let functions = self.findings.modules.iter().flat_map(|module| &module.functions);
        functions.fold(Classes::NONE, |set, function| set.union(function.ran))
    }
}

fn is_yes(findings: &Findings, question: Question) -> bool {
    matches!(findings.verdict(question), Verdict::Yes(_))
}

#[test]
fn openssl_uses_what_the_processor_has() {
    let Some(openssl) = found("openssl").filter(|_| has_aes()) else {
        return println!("SKIPPED openssl_uses_what_the_processor_has: no openssl, or no AES");
    };
    let run = launched(
        Mode::Once,
        openssl.to_str().unwrap(),
        &["speed", "-seconds", "1", "-bytes", "1024", "-evp", "aes-128-gcm"],
    );
    run.assert_right();
    assert!(is_yes(&run.findings, Question::Aes), "{:?}", run.findings.verdict(Question::Aes));
    assert!(is_yes(&run.findings, Question::CarryLess));
    assert_eq!(run.findings.processes.len(), 1);
    assert!(run.findings.cost.fired > 10);
}

#[test]
fn the_random_generator_is_told_from_work() {
    let Some(openssl) = found("openssl").filter(|_| std::arch::is_x86_feature_detected!("sha")) else {
        return println!("SKIPPED the_random_generator_is_told_from_work: no openssl, or no SHA");
    };
    let run = launched(
        Mode::Once,
        openssl.to_str().unwrap(),
        &["speed", "-seconds", "1", "-bytes", "1024", "-evp", "sha256"],
    );
    run.assert_right();
    assert!(is_yes(&run.findings, Question::Sha));
    let aes = run.findings.verdict(Question::Aes);
    // OpenSSL 1.1 does not seed its generator for this, and then there is no noise.
    assert!(matches!(aes, Verdict::OnlyNoise(..) | Verdict::Unused(_)), "{aes:?}");
}

#[test]
fn nothing_fires_in_a_program_that_does_not_see_the_features() {
    let Some(openssl) = found("openssl") else {
        return println!("SKIPPED nothing_fires_in_a_program_that_does_not_see_the_features: no openssl");
    };
    if let Err(reason) = supported() {
        return println!("SKIPPED nothing_fires_in_a_program_that_does_not_see_the_features: {reason}");
    }
    for cipher in ["aes-128-gcm", "aes-128-cbc", "sha256"] {
        let arguments = ["speed", "-seconds", "1", "-bytes", "1024", "-evp", cipher];
        let run = traced(Mode::Once, Some("crypto"), openssl.to_str().unwrap(), &arguments);
        run.assert_right();
        assert!(!run.ran().is_proof(), "{cipher}: {}", run.ran());
        assert!(matches!(run.findings.verdict(Question::Aes), Verdict::Unused(_)), "{cipher}");
    }
}

#[test]
fn threads_that_get_signals_never_compute_a_wrong_byte() {
    let Some(subject) = subject() else { return };
    for mode in MODES {
        let run = launched(mode, subject.to_str().unwrap(), &["work", "1.5", "4", "100"]);
        run.assert_right();
        assert!(run.number("signals") > 100 && run.number("calls") > 1000, "{}", run.output);
        assert!(is_yes(&run.findings, Question::Aes));
        if mode == Mode::Count {
            assert_eq!(run.entries("encrypt"), run.number("calls") / 2, "each entry is counted once");
            assert_eq!(run.entries("decrypt"), run.number("calls") / 2);
        }
        if mode == Mode::Rate {
            assert!(run.findings.samples >= 5, "{}", run.findings.samples);
            let functions = run.findings.modules.iter().flat_map(|module| &module.functions);
            let encrypt = functions.into_iter().find(|function| function.name == "encrypt").unwrap();
            assert!(encrypt.samples > 2 && encrypt.rate.is_some_and(|rate| rate > 100), "{encrypt:?}");
        }
    }
}

#[test]
fn a_program_can_be_left_alone_at_its_start() {
    let Some(subject) = subject() else { return };
    let later = Options { delay: Some(Duration::from_millis(500)), ..options(Mode::Once) };
    let run = traced_as(later, None, subject.to_str().unwrap(), &["work", "1.5", "2", "1000"]);
    run.assert_right();
    assert!(is_yes(&run.findings, Question::Aes));
    let functions = run.findings.modules.iter().flat_map(|module| &module.functions);
    let first = functions.filter_map(|function| function.first).min().unwrap();
    assert!(first >= Duration::from_millis(500), "{first:?}");
}

#[test]
fn children_are_traced_too() {
    let Some(subject) = subject() else { return };
    for mode in MODES {
        let run = launched(mode, subject.to_str().unwrap(), &["forks", "60"]);
        run.assert_right();
        // Each program has an entry: 60 children of fork and 60 of vfork, 15 of which became another program.
        assert_eq!(run.findings.processes.len(), 1 + 60 + 60 + 15, "{mode:?}");
        assert!(run.findings.processes.iter().all(|process| process.ended || process.pid > 0));
        assert!(is_yes(&run.findings, Question::Aes));
    }
}

#[test]
fn a_child_that_nobody_may_look_into_lives() {
    let Some(subject) = subject() else { return };
    for mode in MODES {
        let run = launched(mode, subject.to_str().unwrap(), &["hides"]);
        assert!(run.status.success(), "{mode:?} {:?} {:?}", run.output, run.findings.notes);
        assert_eq!(run.findings.processes.len(), 2);
        assert!(is_yes(&run.findings, Question::Aes), "{:?}", run.findings.notes);
    }
}

#[test]
fn a_chain_of_programs_is_followed() {
    let Some(subject) = subject() else { return };
    for mode in MODES {
        let run = launched(mode, subject.to_str().unwrap(), &["execs", "20"]);
        run.assert_right();
        assert_eq!(run.findings.processes.len(), 21);
        if mode == Mode::Count {
            assert_eq!(run.entries("encrypt"), 210);
        }
    }
}

#[test]
fn a_library_that_comes_late_is_watched() {
    let Some(subject) = subject() else { return };
    let run = launched(Mode::Count, subject.to_str().unwrap(), &["loads", "150"]);
    if run.status.code() == Some(77) || !std::arch::is_x86_feature_detected!("sha") {
        return println!("SKIPPED a_library_that_comes_late_is_watched: no libcrypto.so.3, or no SHA");
    }
    run.assert_right();
    assert!(is_yes(&run.findings, Question::Sha), "{:?}", run.findings.verdict(Question::Sha));
}

#[test]
fn the_programs_own_traps_and_faults_are_its_own() {
    let Some(subject) = subject() else { return };
    for mode in MODES {
        let run = launched(mode, subject.to_str().unwrap(), &["traps", "200"]);
        run.assert_right();
        assert_eq!(run.number("strange"), 0);
        if mode == Mode::Count {
            assert_eq!(run.entries("load"), 400);
        }
    }
}

#[test]
fn java_s_own_code_is_watched() {
    let (Some(java), Some(javac)) = (found("java"), found("javac")) else {
        return println!("SKIPPED java_s_own_code_is_watched: no java");
    };
    let folder =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("trace-java-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::copy(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace_support/Rounds.java"),
        folder.join("Rounds.java"),
    )
    .unwrap();
    assert!(Command::new(javac).arg(folder.join("Rounds.java")).status().unwrap().success());
    for mode in MODES {
        let run = launched(mode, java.to_str().unwrap(), &["-cp", folder.to_str().unwrap(), "Rounds", "4"]);
        run.assert_right();
        assert_eq!(run.number("wrong"), 0);
        let made = run
            .findings
            .modules
            .iter()
            .find(|module| module.path.to_string_lossy().contains("HotSpot made"))
            .unwrap();
        assert!(made.present.has(Class::Aes) || !has_aes(), "{}", made.present);
        assert!(
            is_yes(&run.findings, Question::Aes) || !has_aes(),
            "{:?}",
            run.findings.verdict(Question::Aes)
        );
    }
}

#[test]
fn a_stripped_static_go_program_is_watched() {
    let Some(go) =
        found("go").or_else(|| Some(PathBuf::from("/usr/local/go/bin/go")).filter(|go| go.exists()))
    else {
        return println!("SKIPPED a_stripped_static_go_program_is_watched: no go");
    };
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("trace-go-{}", std::process::id()));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace_support/rounds.go");
    let built = Command::new(go)
        .args(["build", "-ldflags", "-s -w", "-o"])
        .arg(&program)
        .arg(source)
        .env("CGO_ENABLED", "0")
        .env("GO111MODULE", "off")
        .status();
    assert!(built.unwrap().success());
    for mode in MODES {
        let run = launched(mode, program.to_str().unwrap(), &["1"]);
        run.assert_right();
        assert_eq!(run.number("wrong"), 0);
        assert!(
            is_yes(&run.findings, Question::Aes) || !has_aes(),
            "{:?}",
            run.findings.verdict(Question::Aes)
        );
    }
}

#[test]
fn a_checksum_without_a_name_is_told_from_a_cipher() {
    let name = "a_checksum_without_a_name_is_told_from_a_cipher";
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace_support/checksum.c");
    let program =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("trace-checksum-{}", std::process::id()));
    let compiled = |define: &str| {
        let mut compile = Command::new("cc");
        compile.args(["-O1", "-s", define, "-o"]).arg(&program).arg(source);
        compile.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    if !std::arch::is_x86_feature_detected!("pclmulqdq") || !compiled("-DFOLDS") {
        return println!("SKIPPED {name}: no C compiler, or no carry-less multiplication");
    }
    for mode in MODES {
        let run = launched(mode, program.to_str().unwrap(), &[]);
        run.assert_right();
        let verdict = run.findings.verdict(Question::CarryLess);
        let Verdict::OnlyNoise(by, origins) = &verdict else { panic!("{mode:?}: {verdict:?}") };
        assert_eq!((by.len(), &origins[..]), (2, &[Origin::Checksum][..]));
    }
    assert!(compiled("-DSAYS_NOTHING"));
    let run = launched(Mode::Once, program.to_str().unwrap(), &[]);
    run.assert_right();
    let Verdict::Yes(by) = run.findings.verdict(Question::CarryLess) else { panic!("{:?}", run.findings) };
    assert!(run.findings.is_perhaps_checksum(Question::CarryLess, &by));
}

/// nettle's functions for single instructions are written in assembly language, and no unwinding table
/// describes them.
const NETTLE: &str = r#"
#include <nettle/aes.h>
#include <nettle/sha2.h>
__attribute__((noinline, noipa)) void encrypts(void) {
  struct aes128_ctx context;
  unsigned char key[16] = {1}, block[16] = {2};
  aes128_set_encrypt_key(&context, key);
  aes128_encrypt(&context, 16, block, block);
}
__attribute__((noinline, noipa)) void digests(void) {
  struct sha256_ctx context;
  unsigned char data[200] = {1}, digest[32];
  sha256_init(&context);
  sha256_update(&context, sizeof data, data);
  sha256_digest(&context, sizeof digest, digest);
}
int main(void) { for (int i = 0; i < 3; i++) encrypts(), digests(); }
"#;

#[test]
fn callers_are_found_from_assembly_that_no_table_tells_of() {
    let name = "callers_are_found_from_assembly_that_no_table_tells_of";
    let at = |end: &str| {
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("trace-nettle-{}{end}", std::process::id()))
    };
    fs::write(at(".c"), NETTLE).unwrap();
    let mut compile = Command::new("cc");
    compile.args(["-O1", "-o"]).arg(at("")).arg(at(".c")).arg("-lnettle").stderr(Stdio::null());
    if !has_aes() || !compile.status().is_ok_and(|status| status.success()) {
        return println!("SKIPPED {name}: no nettle with headers, or no AES");
    }
    for mode in MODES {
        let run = launched(mode, at("").to_str().unwrap(), &[]);
        run.assert_right();
        for (question, caller) in [(Question::Aes, "encrypts"), (Question::Sha, "digests")] {
            let Verdict::Yes(by) = run.findings.verdict(question) else {
                assert!(question == Question::Sha && !std::arch::is_x86_feature_detected!("sha"));
                continue;
            };
            for at in by {
                let function = run.findings.function(at);
                let known = |chain: &Vec<String>| chain.iter().any(|name| name == caller);
                let is_known = !function.callers.is_empty() && function.callers.iter().all(known);
                assert!(is_known, "{mode:?}: {function:?}");
            }
        }
    }
}
