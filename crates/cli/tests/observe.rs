//! `millstream run --without`, `compare` and `trace`: the commands, on programs that every machine has.
//!
//! Each limit of the processor or the kernel is reported in a line that begins with `SKIPPED`.
#![cfg(target_arch = "x86_64")]

mod common;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Ended, MILLSTREAM, Place, Terminal, ended};
use millstream_observe::{processor, without};
use millstream_testkit::{copy_program, skip};
use serde_json::Value;

/// Makes a command from the words of `options` and a program whose words may have blanks.
fn command(place: &Place, options: &str, program: &[&str]) -> Command {
    // Signals that the parent of this test ignores would be ignored here too.
    let mut line = Command::new("env");
    line.args(["--default-signal", MILLSTREAM]).args(options.split_whitespace()).arg("--").args(program);
    for variable in ["OPENSSL_ia32cap", "GODEBUG", "JAVA_TOOL_OPTIONS", "GLIBC_TUNABLES"] {
        line.env_remove(variable);
    }
    line.current_dir(place.path("")).env("XDG_CACHE_HOME", place.path("cache"));
    line
}

fn run(place: &Place, options: &str, program: &[&str]) -> Ended {
    ended(&mut command(place, options, program), b"")
}

/// Returns whether the processor has a feature, and prints a line if not.
fn has(feature: &str, test: &str) -> bool {
    let has = processor::capabilities().has(feature);
    if !has {
        skip(&format!("{test}: this processor has no {feature}"));
    }
    has
}

/// Returns whether CPUID can be answered here, and prints a line if not.
fn can_fault(test: &str) -> bool {
    without::supported().inspect_err(|why| skip(&format!("{test}: {why}"))).is_ok()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns a command that computes AES rounds for some milliseconds: 32 MB.
fn encrypted(place: &Place) -> Vec<String> {
    place.write("zeros", vec![0; 32 << 20]);
    let line = "openssl enc -aes-128-ctr -K 01 -iv 02 -in zeros -out /dev/null";
    line.split(' ').map(str::to_owned).collect()
}

fn words(line: &[String]) -> Vec<&str> {
    line.iter().map(String::as_str).collect()
}

#[test]
fn features_are_listed() {
    let place = Place::new();
    let text = place.words("run --list").text();
    let aes = text.lines().find(|line| line.starts_with("aes ")).unwrap();
    assert!(aes.contains("vaes") && aes.contains("OpenSSL") && aes.contains("Go"), "{aes}");
    let list = parsed(&place.words("run --list --json").text());
    let here = processor::capabilities();
    for feature in list["features"].as_array().unwrap() {
        assert_eq!(feature["here"], here.has(feature["name"].as_str().unwrap()), "{feature}");
    }
    assert_eq!(list["groups"]["avx512"][0], "avx512f");
    assert!(list["without_knob"]["ring"].is_string());
}

#[test]
fn a_wrong_call_says_what_is_wrong() {
    let place = Place::new();
    run(&place, "run --without aes,nonsense", &["true"]).bad(2, &["\"nonsense\"", "run --list"]);
    run(&place, "trace --without aes,nonsense", &["true"]).bad(2, &["\"nonsense\"", "run --list"]);
    run(&place, "run --without", &["true"]).bad(2, &[]);
    run(&place, "run --knobs-only", &["true"]).bad(2, &["--without"]);
    run(&place, "compare", &["true"]).bad(2, &["--without"]);
    place.words("trace").bad(2, &["--pid"]);
    place.words("trace -p 0").bad(2, &["--pid"]);
    run(&place, "trace --once --count", &["true"]).bad(2, &["--count"]);
}

#[test]
fn variables_alone_are_set_where_that_is_wished() {
    if !has("aes", "variables_alone_are_set_where_that_is_wished") {
        return;
    }
    let place = Place::new();
    let mut line = command(&place, "run --knobs-only --without aes", &["env"]);
    let shown = ended(line.env("GODEBUG", "madvdontneed=1"), b"");
    let out = String::from_utf8(shown.out).unwrap();
    for set in [
        "GODEBUG=madvdontneed=1,cpu.aes=off",
        "JAVA_TOOL_OPTIONS=-XX:-UseAES",
        "NSS_DISABLE_HW_AES=1",
        "OPENSSL_ia32cap=~0x2000000",
        "MILLSTREAM_HWCAP=-aes",
    ] {
        assert!(out.lines().any(|line| line.starts_with(set)), "{set} in {out}");
    }
    assert!(shown.err.starts_with("millstream run: without aes"), "{}", shown.err);
    assert!(!shown.err.contains("CPUID answered"), "{}", shown.err);
    let settings = run(&place, "run -q --knobs-only --without aes", &["openssl", "info", "-cpusettings"]);
    assert!(settings.text().contains("env:~0x2000000"));
    let caps =
        parsed(&run(&place, "run -q --knobs-only --without aes", &[MILLSTREAM, "caps", "--json"]).text());
    assert!(caps["features"]["masked"].as_array().unwrap().contains(&"aes".into()), "{caps}");
}

/// Returns the first number that OpenSSL found, whose bits 32 and up are ECX of leaf 1.
fn found_by_openssl(text: &str) -> u64 {
    let (_, number) = text.split_once("OPENSSL_ia32cap=0x").unwrap();
    u64::from_str_radix(number.split([':', ' ', '\n']).next().unwrap(), 16).unwrap()
}

#[test]
fn a_program_does_not_see_what_is_withheld() {
    let name = "a_program_does_not_see_what_is_withheld";
    if !has("aes", name) || !can_fault(name) {
        return;
    }
    let place = Place::new();
    // The variable would show the same, so it is removed.
    let asks = ["env", "-u", "OPENSSL_ia32cap", "openssl", "info", "-cpusettings"];
    let bit = |options: &str| found_by_openssl(&run(&place, options, &asks).text()) >> 57 & 1;
    assert_eq!(found_by_openssl(&run(&place, "run -q --without sm4", &asks).text()) >> 57 & 1, 1);
    assert_eq!(bit("run -q --without aes"), 0);
    assert_eq!(bit("run -q --without crypto"), 0);
    assert_eq!(bit("run -q --with-only pclmul"), 0);
    assert_eq!(bit("run -q --with-only aes"), 1);
    let said = run(&place, "run --without aes", &["true"]).err;
    assert!(said.contains("CPUID answered") && said.contains("in 1 program; OPENSSL_ia32cap"), "{said}");
    assert!(!said.contains("JAVA_TOOL_OPTIONS"), "it makes Java print a line: {said}");
}

#[test]
fn what_was_done_is_told_as_json_and_in_a_file() {
    if !can_fault("what_was_done_is_told_as_json_and_in_a_file") {
        return;
    }
    let place = Place::new();
    let shown = run(&place, "run --json --without aes,sm4", &["sh", "-c", "exit 3"]);
    assert_eq!(shown.code, Some(3));
    // Features that this processor lacks are reported before.
    let report = parsed(&shown.err[shown.err.find("{\n").unwrap()..]);
    assert_eq!((&report["status"], &report["version"]), (&3.into(), &1.into()));
    assert_eq!(report["without"]["asked"], serde_json::json!(["aes", "sm4"]));
    let withheld = report["without"]["withheld"].as_array().unwrap();
    assert_eq!(withheld.contains(&"aes".into()), processor::capabilities().has("aes"));
    let quiet = run(&place, "run --without aes --report told", &["true"]);
    assert_eq!(quiet.good(), b"");
    assert!(String::from_utf8(place.read("told")).unwrap().starts_with("millstream run: "));
    assert_eq!(run(&place, "run -q --without aes", &["true"]).good(), b"");
}

#[test]
fn the_programs_end_is_the_commands() {
    let place = Place::new();
    for options in ["run -q --without aes", "run -q --knobs-only --without aes", "trace -q --report told"] {
        let code = |program: &[&str]| run(&place, options, program).code;
        assert_eq!(code(&["true"]), Some(0), "{options}");
        assert_eq!(code(&["sh", "-c", "exit 77"]), Some(77), "{options}");
        assert_eq!(code(&["sh", "-c", "kill -TERM $$"]), Some(143), "{options}");
        assert_eq!(code(&["sh", "-c", "kill -KILL $$"]), Some(137), "{options}");
        run(&place, options, &["./missing"]).bad(127, &["./missing: No such file"]);
        place.write("data", "no program");
        run(&place, options, &["./data"]).bad(126, &["./data"]);
        let echoed = ended(&mut command(&place, options, &["tr", "a-z", "A-Z"]), b"words");
        assert_eq!(echoed.good(), b"WORDS", "{options}");
    }
}

#[test]
fn signals_are_passed_on_and_awaited() {
    for options in ["run -q --without aes", "trace -q --report told"] {
        for signal in ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2"] {
            let place = Place::new();
            let script = format!(
                "trap 'echo got {signal}; exit 9' {signal}; touch ready; while :; do sleep 0.02; done"
            );
            let mut line = command(&place, options, &["sh", "-c", &script]);
            let mut child = line.stdout(Stdio::piped()).spawn().unwrap();
            ready(&place, &mut child);
            kill(signal, child.id());
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(9), "{options} {signal}");
            assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("got {signal}\n"), "{options}");
        }
    }
}

/// Waits until a program has made the file `ready`.
fn ready(place: &Place, child: &mut Child) {
    let until = Instant::now() + Duration::from_secs(20);
    while !common::exists(&place.path("ready")) {
        assert!(child.try_wait().unwrap().is_none() && Instant::now() < until, "it never was ready");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn kill(signal: &str, pid: u32) {
    let status = Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).status();
    assert!(status.unwrap().success());
}

/// A traced process can't have another tracer, so the inner command has only the variables left.
#[test]
fn where_tracing_is_refused_variables_act_alone() {
    let name = "where_tracing_is_refused_variables_act_alone";
    if !has("sha", name) || !can_fault(name) {
        return;
    }
    let place = Place::new();
    let shown = run(
        &place,
        "run -q --without movbe",
        &[MILLSTREAM, "run", "--without", "sha", "--", "printenv", "OPENSSL_ia32cap", "JAVA_TOOL_OPTIONS"],
    );
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    let lines: Vec<&str> = std::str::from_utf8(&shown.out).unwrap().lines().collect();
    assert!(lines[0].contains(":~0x20000000:") && lines[1].ends_with("-UseSHA"), "{lines:?}");
    assert!(shown.err.contains("can't be traced") && shown.err.contains("--knobs-only"), "{}", shown.err);
}

#[test]
fn a_program_that_fails_soon_is_explained() {
    if !has("aes", "a_program_that_fails_soon_is_explained") {
        return;
    }
    let place = Place::new();
    let failed = run(&place, "run --without aes", &["sh", "-c", "exit 101"]);
    assert!(failed.err.contains("exited with 101") && failed.err.contains("--with-only"), "{}", failed.err);
    let aborted = run(&place, "run --without aes", &["sh", "-c", "kill -ABRT $$"]);
    assert!(aborted.err.contains("signal 6") && aborted.err.contains("withheld were aes"), "{}", aborted.err);
    for ordinary in ["exit 0", "exit 1"] {
        assert!(!run(&place, "run --without aes", &["sh", "-c", ordinary]).err.contains("--with-only"));
    }
}

#[test]
fn a_comparison_says_what_a_feature_is_worth() {
    if !can_fault("a_comparison_says_what_a_feature_is_worth") {
        return;
    }
    if !has("aes", "a_comparison_says_what_a_feature_is_worth") {
        return;
    }
    let place = Place::new();
    let line = encrypted(&place);
    for options in ["compare --json -n 3 --without aes", "compare --json -n 3 --knobs-only --without aes"] {
        let value = parsed(&run(&place, options, &words(&line)).text());
        let ratio = &value["wall_ratio"];
        assert!(ratio["median"].as_f64().unwrap() > 1.3 && ratio["differs"] == true, "{value}");
        assert_eq!(value["with"]["wall_s"].as_array().unwrap().len(), 3);
        assert_eq!((&value["output"], &value["runs"]), (&"same".into(), &3.into()));
    }
    let text = run(&place, "compare -n 3 --without aes", &words(&line)).text();
    assert!(text.starts_with("hardware AES makes this program ") && text.contains("3 runs each"), "{text}");
}

#[test]
fn a_comparison_reads_its_input_each_time_and_compares_what_is_written() {
    if !has("aes", "a_comparison_reads_its_input_each_time_and_compares_what_is_written") {
        return;
    }
    let place = Place::new();
    place.write("in", "words\n");
    let output = |options: &str, program: &[&str]| {
        let options = format!("compare --json -n 2 --warmup 0 --knobs-only --without aes {options}");
        parsed(&run(&place, &options, program).text())["output"].clone()
    };
    assert_eq!(output("--input in", &["grep", "words"]), "same");
    assert_eq!(output("", &["printenv", "HOME"]), "same");
    assert_eq!(output("", &["sh", "-c", "echo $OPENSSL_ia32cap"]), "different");
    assert_eq!(output("", &["sh", "-c", "echo $$"]), "varies");
    let shown = run(&place, "compare --show -n 1 --warmup 0 --knobs-only --without aes", &["echo", "hello"]);
    assert!(shown.text().starts_with("hello\nhello\n"));
}

#[test]
fn a_comparison_of_what_fails_says_which_way() {
    if !has("aes", "a_comparison_of_what_fails_says_which_way") {
        return;
    }
    let place = Place::new();
    let options = "compare -q --knobs-only --without aes";
    let script = "test -z \"$OPENSSL_ia32cap\" || { echo wants it >&2; exit 5; }";
    run(&place, options, &["sh", "-c", script]).bad(1, &["failed without aes", "wants it", "status: 5"]);
    run(&place, options, &["sh", "-c", "exit 6"]).bad(1, &["failed with all features", "status: 6"]);
    run(&place, options, &["./missing"]).bad(1, &["./missing: No such file"]);
    run(&place, "compare --without padlock", &["true"]).bad(2, &["no padlock"]);
}

/// Returns the answer to the first question, whether hardware AES is used.
fn aes(report: &Value) -> &str {
    assert!(report["answers"][0]["classes"].as_array().unwrap().contains(&"aes".into()));
    report["answers"][0]["answer"].as_str().unwrap()
}

fn traced(place: &Place, options: &str, program: &[&str]) -> Value {
    let options = format!("trace -q --json --report told {options}");
    assert_eq!(run(place, &options, program).code, Some(0));
    parsed(&String::from_utf8(place.read("told")).unwrap())
}

#[test]
fn a_trace_says_who_used_aes_and_how_often() {
    if !has("aes", "a_trace_says_who_used_aes_and_how_often") {
        return;
    }
    let place = Place::new();
    let line = encrypted(&place);
    let once = traced(&place, "", &words(&line));
    assert_eq!((aes(&once), &once["mode"]), ("yes", &"once".into()));
    let by = once["answers"][0]["functions"][0]["module"].as_str().unwrap();
    assert!(by.contains("crypto") || by.contains("openssl"), "{by}");
    let count = traced(&place, "--count", &words(&line));
    let functions =
        count["modules"].as_array().unwrap().iter().flat_map(|m| m["functions"].as_array().unwrap());
    // openssl encrypts 8 KB at a time.
    let most = functions.filter_map(|f| f["entries"].as_u64()).max().unwrap();
    assert!(most > 1000, "{most}");
    let text = run(&place, "trace", &words(&line)).err;
    assert!(text.contains("\nhardware AES: yes, by ") && text.contains("\nLIBRARY "), "{text}");
}

/// Returns how many files a trace knew from earlier ones.
fn known(told: &Value) -> u64 {
    told["cost"]["known"].as_u64().unwrap()
}

#[test]
fn a_second_trace_knows_what_the_first_found() {
    let place = Place::new();
    let line = encrypted(&place);
    let program = words(&line);
    traced(&place, "--no-cache", &program);
    assert!(!place.path("cache").exists());
    let all =
        [traced(&place, "", &program), traced(&place, "", &program), traced(&place, "--no-cache", &program)];
    // libcrypto is large enough to be kept.
    assert_eq!(all.each_ref().map(|told| known(told).min(1)), [0, 1, 0], "{:#}", all[1]["cost"]);
    let found = |told: &Value| {
        let of_function = |function: &Value| {
            ["name", "address", "bounds", "present", "worked"].map(|key| function[key].clone())
        };
        let modules = told["modules"].as_array().unwrap().iter();
        let of_module = |module: &Value| {
            let functions: Vec<_> = module["functions"].as_array().unwrap().iter().map(of_function).collect();
            (module["path"].clone(), module["library"].clone(), module["watched"].clone(), functions)
        };
        modules.map(of_module).collect::<Vec<_>>()
    };
    assert_eq!(found(&all[0]), found(&all[1]));
    let text = run(&place, "trace -v", &program).err;
    assert!(text.contains("known from before"), "{text}");
}

#[test]
fn traces_at_the_same_time_share_what_they_know() {
    let place = Place::new();
    let start = |name: &str| {
        let options = format!("trace -q --json --report {name}");
        command(&place, &options, &["openssl", "version"]).stdout(Stdio::null()).spawn().unwrap()
    };
    let both = ["one", "two"].map(|name| (start(name), name));
    for (mut child, name) in both {
        assert!(child.wait().unwrap().success());
        assert!(
            parsed(&String::from_utf8(place.read(name)).unwrap())["cost"]["images"].as_u64().unwrap() > 1
        );
    }
    assert!(known(&traced(&place, "", &["openssl", "version"])) > 0);
}

#[test]
fn a_cache_that_others_may_write_to_is_not_used() {
    let place = Place::new();
    traced(&place, "", &["openssl", "version"]);
    let folder = place.path("cache/millstream");
    let entries = || std::fs::read_dir(&folder).unwrap().count();
    assert!(entries() > 0);
    std::fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
    let shown = run(&place, "trace --json --report told", &["openssl", "version"]);
    assert!(shown.err.contains("others may write to it"), "{}", shown.err);
    assert_eq!(known(&parsed(&String::from_utf8(place.read("told")).unwrap())), 0);
    std::fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    // A trace by root with a user's home, as under sudo, neither uses nor makes anything there.
    if !rustix::process::geteuid().is_root() {
        skip("a cache of another user's: this user is not root");
        return;
    }
    std::os::unix::fs::chown(&folder, Some(65534), None).unwrap();
    let shown = run(&place, "trace --json --report told", &["openssl", "version"]);
    assert_eq!(shown.err, "");
    assert_eq!(known(&parsed(&String::from_utf8(place.read("told")).unwrap())), 0);
}

/// Makes a program of 24 MB, in which every eighth byte might begin an AES round, and nothing proves that one
/// does.
fn slow(place: &Place) {
    let text =
        ".globl _start\n_start: mov $60,%eax\nxor %edi,%edi\nsyscall\n.fill 3<<20,8,0x909090c1dc380f66\n";
    place.write("slow.s", text);
    let built = place.run("cc", ["-nostdlib", "-static", "-s", "-o", "slow", "slow.s"], b"");
    assert_eq!(built.code, Some(0), "{}", built.err);
}

#[test]
fn a_terminal_is_told_what_takes_long() {
    let place = Place::new();
    slow(&place);
    let line = format!("{MILLSTREAM} trace --no-cache -- ./slow");
    let mut terminal = Terminal::new(&place, &format!("{line}; echo the end"));
    terminal.see("looking through slow (26 MB)");
    let behind = terminal.see("millstream trace: ./slow");
    assert!(behind.starts_with('\r') && behind.trim().is_empty(), "it is gone before the report: {behind:?}");
    terminal.see("the end");
    // There is no line in a pipe, when it is quick, when it is not wanted, and on a terminal that a program
    // draws on.
    let quiet = [
        format!("{line} 2>&1 | cat"),
        format!("{MILLSTREAM} trace --no-cache -- /bin/true"),
        format!("{MILLSTREAM} trace -q --no-cache -- ./slow"),
        format!("stty -icanon -echo; {line}; stty sane"),
    ];
    for line in quiet {
        let mut terminal = Terminal::new(&place, &format!("{line}; echo the end"));
        let shown = terminal.see("the end");
        assert!(shown.contains("hardware AES") && !shown.contains("looking"), "{line}: {shown}");
    }
}

#[test]
fn a_trace_proves_that_nothing_ran() {
    let name = "a_trace_proves_that_nothing_ran";
    if !has("aes", name) || !can_fault(name) {
        return;
    }
    let place = Place::new();
    let line = encrypted(&place);
    let masked = traced(&place, "--without aes", &words(&line));
    assert!(["unused", "unknown"].contains(&aes(&masked)), "{masked}");
    let nothing = traced(&place, "", &["true"]);
    assert_eq!(aes(&nothing), "absent", "{nothing}");
}

#[test]
fn a_trace_of_a_running_process_leaves_it_as_it_was() {
    if !has("aes", "a_trace_of_a_running_process_leaves_it_as_it_was") {
        return;
    }
    let place = Place::new();
    let mut speed = Command::new("openssl");
    speed.args(["speed", "-seconds", "5", "-bytes", "1024", "-evp", "aes-128-ctr"]);
    let speed = speed.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let options = format!("trace --json --seconds 0.5 -p {}", speed.id());
    let shown = place.words(&options);
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    let report = parsed(&shown.err);
    assert_eq!(aes(&report), "yes");
    assert_eq!(report["processes"][0]["attached"], true);
    // An interrupt ends the trace, and not the process.
    let mut line = Command::new("env");
    line.args(["--default-signal", MILLSTREAM, "trace", "-p", &speed.id().to_string()]);
    let trace = line.stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    kill("INT", trace.id());
    let trace = trace.wait_with_output().unwrap();
    let said = String::from_utf8(trace.stderr).unwrap();
    assert_eq!(trace.status.code(), Some(0), "{said}");
    assert!(said.contains("hardware AES: yes"), "{said}");
    let output = speed.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().contains("AES-128-CTR"));
}

#[test]
fn several_processes_are_traced_together() {
    if !has("aes", "several_processes_are_traced_together") {
        return;
    }
    let place = Place::new();
    let speed = || {
        let mut line = Command::new("openssl");
        line.args(["speed", "-seconds", "60", "-bytes", "16384", "-evp", "aes-128-ctr"]);
        line.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let sleep = |seconds: &str| Command::new("sleep").arg(seconds).spawn().unwrap();
    let (mut one, mut two, mut short) = (speed(), speed(), sleep("4"));
    std::thread::sleep(Duration::from_millis(300));
    let [a, b, c] = [&one, &two, &short].map(|child| child.id().to_string());
    let traced = |options: &[&str]| {
        let shown = place.millstream(["trace", "--json", "--no-cache"].iter().chain(options.iter()));
        assert_eq!(shown.code, Some(0), "{}", shown.err);
        let told = parsed(&shown.err);
        let processes = told["processes"].as_array().unwrap().iter();
        let pids: Vec<String> = processes.map(|process| process["pid"].to_string()).collect();
        (pids, told)
    };
    // Numbers come as pidof and pgrep print them. A process that is named twice is traced once, and one that
    // ends does not end the trace.
    let (pids, told) = traced(&["--seconds", "5", "-p", &format!("{a} {b}\n"), "-p", &format!("{c},{a}")]);
    assert_eq!(pids, [a.as_str(), &b, &c]);
    assert!(told["seconds"].as_f64().unwrap() > 4.9, "{told}");
    assert_eq!(aes(&told), "yes");
    // Other tests may run the same program meanwhile, but none of these was left out.
    let beside = |note: &serde_json::Value| {
        let (_, pids) = note.as_str()?.split_once("ran unwatched in ")?;
        pids.split(|letter: char| !letter.is_ascii_digit())
            .find(|pid| [&a, &b, &c].iter().any(|own| own == pid))
            .map(str::to_owned)
    };
    assert_eq!(told["notes"].as_array().unwrap().iter().find_map(beside), None, "{told}");
    short.wait().unwrap();
    // The trace ends with the last of them.
    let (mut last, mut first) = (sleep("4"), sleep("2"));
    let (pids, told) = traced(&["-p", &format!("{} {}", first.id(), last.id())]);
    assert_eq!(pids.len(), 2);
    assert!(told["seconds"].as_f64().unwrap() > 1.5, "{told}");
    assert!(first.wait().unwrap().success() && last.wait().unwrap().success());
    // Either all are traced or none, and those that were stopped already go on.
    place.words(&format!("trace --seconds 1 -p {a} -p 4194305")).bad(1, &["4194305", "no such process"]);
    for (child, pid) in [(&mut one, a), (&mut two, b)] {
        assert_eq!(child.try_wait().unwrap(), None);
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        assert!(status.contains("TracerPid:\t0\n") && !status.contains("(stopped)"), "{status}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
    place.words("trace -p 1,x").bad(2, &["--pid"]);
}

#[test]
fn processes_beside_the_traced_one_are_told_of() {
    let place = Place::new();
    let program = place.path("server");
    copy_program("/bin/sleep".as_ref(), &program);
    let mut workers = [(); 2].map(|()| Command::new(&program).arg("60").spawn().unwrap());
    let [one, other] = [workers[0].id(), workers[1].id()];
    let shown = place.words(&format!("trace --seconds 0.2 -p {one}"));
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    let told =
        format!("beside process {one}, and what it started, the same program ran unwatched in {other}\n");
    assert!(shown.err.contains(&told), "{}", shown.err);
    for worker in &mut workers {
        worker.kill().unwrap();
        worker.wait().unwrap();
    }
}

#[test]
fn what_can_not_be_traced_is_told_why() {
    let place = Place::new();
    place.words("trace -p 4194305").bad(1, &["4194305", "no such process"]);
    if place.run("id", ["-u"], b"").text().trim() != "0" {
        skip("a trace of another user's process: this user is not root");
        return;
    }
    let mut other = Command::new("sleep").arg("30").spawn().unwrap();
    let program = tempfile::tempdir_in("/tmp").unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(program.path(), open).unwrap();
    let copy = program.path().join("millstream");
    copy_program(MILLSTREAM.as_ref(), &copy);
    let mut line = Command::new(&copy);
    line.args(["trace", "-p", &other.id().to_string()]).uid(65534).gid(65534).current_dir("/");
    ended(&mut line, b"").bad(1, &["belongs to user 0", "as root"]);
    other.kill().unwrap();
    other.wait().unwrap();
}

/// OpenSSL's own module stands for the provider, as in the tests of `run`.
#[test]
fn the_provider_can_be_there_too() {
    if !can_fault("the_provider_can_be_there_too") {
        return;
    }
    let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"];
    let modules = folders.map(|folder| format!("{folder}/ossl-modules/legacy.so"));
    let module = modules.iter().find(|path| std::path::Path::new(path).exists());
    let module = module.expect("OpenSSL 3 with its modules is installed");
    let place = Place::new();
    let options = format!("run --json --report told --without aes --module {module}");
    let shown = run(&place, &options, &["openssl", "list", "-providers"]);
    assert!(shown.err.is_empty() || shown.err.contains("no aes"), "{}", shown.err);
    assert!(String::from_utf8(shown.out).unwrap().contains("Legacy"));
    let told = parsed(&String::from_utf8(place.read("told")).unwrap());
    assert!(told["nothing"].is_string() && told["without"]["asked"][0] == "aes", "{told}");
}
