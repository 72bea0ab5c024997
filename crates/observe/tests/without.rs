//! Hides features from real programs, which notice nothing else: their output and their end are as without a
//! tracer.
//!
//! The programs are in `programs/hard.c`, compiled when the tests begin. This test's own binary is the
//! command that traces: with `--without LIST PROGRAM ...` it runs the program.

use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use millstream_observe::capability::Withheld;
use millstream_observe::process::{Launch, Thread, Tracer, Watcher};
use millstream_observe::without::{Masker, supported};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, waitpid};

#[path = "without_support/attached.rs"]
mod attached;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    if arguments.nth(1).is_some_and(|first| first == "--without") {
        return trace(arguments);
    }
    if let Err(why) = supported() {
        println!("SKIPPED all tests of masked programs: {why}");
        return ExitCode::SUCCESS;
    }
    let features = std::fs::read_to_string("/proc/cpuinfo").unwrap();
    if !cfg!(target_arch = "x86_64") || !features.split_whitespace().any(|word| word == "aes") {
        println!(
            "SKIPPED all tests of masked programs: they need an x86-64 processor with AES rounds to withhold"
        );
        return ExitCode::SUCCESS;
    }
    let mut arguments = Arguments::from_args();
    // Some tests are sensitive to how long they wait for a processor.
    arguments.test_threads.get_or_insert(2);
    libtest_mimic::run(&arguments, trials()).exit_code()
}

/// The tracing command: runs a program without features, ends as it does, and reports on standard error.
fn trace(mut arguments: impl Iterator<Item = std::ffi::OsString>) -> ExitCode {
    let list = arguments.next().unwrap().into_string().unwrap();
    let mut masker = Masker::new(Withheld::without(&list).unwrap());
    let mut command = Command::new(arguments.next().unwrap());
    command.args(arguments);
    let how = Launch { kill_with_us: true, stop_with_it: true, ..Launch::default() };
    let mut tracer = match Tracer::launch(&mut command, how) {
        Ok(tracer) => tracer,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 });
        }
    };
    let status = tracer.run(&mut masker).unwrap();
    tracer.outlast(&mut masker).unwrap();
    let report = masker.report();
    eprintln!("{} CPUIDs in {} programs: {}", report.answers(), report.programs, report.hidden);
    report.notes.iter().for_each(|note| eprintln!("{note}"));
    if status.core_dumped() {
        eprintln!("core dumped");
    }
    ExitCode::from(status.code().or(status.signal().map(|signal| 128 + signal)).unwrap() as u8)
}

/// Returns the program of `programs/hard.c`.
fn hard() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| compile("hard.c", "hard", &["-pthread"]).expect("a C compiler is there"))
}

/// Compiles a program, if the compiler here can make it.
fn compile(source: &str, name: &str, options: &[&str]) -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
    let output =
        Command::new("cc").arg("-O1").arg(source).arg("-o").arg(&program).args(options).output().ok()?;
    output.status.success().then_some(program)
}

/// Returns a command that runs a program without features.
fn without(list: &str, program: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--without", list]).arg(program);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_owned()).unwrap()
}

/// Returns an exit status as a shell reports it.
fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap())
}

/// Runs a hard program both ways, and returns the output of the masked run. The test fails unless both
/// outputs are equal, but for AES.
fn alike(program: &Path, arguments: &[&str]) -> Output {
    let plain = Command::new(program).args(arguments).output().unwrap();
    let masked = without("aes", program).args(arguments).output().unwrap();
    let expected = text(&plain.stdout).replace("aes 1", "aes 0");
    assert_eq!(text(&masked.stdout), expected, "{}", text(&masked.stderr));
    assert_eq!(expected.matches("aes 0").count(), text(&plain.stdout).matches("aes 1").count());
    masked
}

/// Checks the same as [`alike`], and that both ends are the same.
fn same(arguments: &[&str]) -> Result<(), Failed> {
    let masked = alike(hard(), arguments);
    let plain = Command::new(hard()).args(arguments).output().unwrap().status;
    assert_eq!(code(masked.status), code(plain), "{}", text(&masked.stderr));
    assert!(text(&masked.stderr).contains("aes"), "{}", text(&masked.stderr));
    Ok(())
}

/// The body of a test.
type Test = fn() -> Result<(), Failed>;

fn trials() -> Vec<Trial> {
    let mut trials: Vec<Trial> =
        ["threads", "forks", "thread_exec", "storm", "segv", "trap", "stop", "killed", "bound", "abort"]
            .map(|mode| Trial::test(format!("{mode}_notices_nothing"), move || same(&[mode])))
            .into();
    let others: [(&str, Test); 20] = [
        ("chain_of_vfork_and_exec", chain_of_vfork_and_exec),
        ("ends_are_passed_on", ends_are_passed_on),
        ("what_can_not_be_started_says_so", what_can_not_be_started_says_so),
        ("signals_are_as_they_were", signals_are_as_they_were),
        ("a_static_program", a_static_program),
        ("a_32_bit_program", a_32_bit_program),
        ("openssl_is_slower_without_aes", openssl_is_slower_without_aes),
        ("nobody_may_do_it", nobody_may_do_it),
        ("it_dies_with_its_tracer", it_dies_with_its_tracer),
        ("it_stops_and_continues_as_a_job", it_stops_and_continues_as_a_job),
        ("what_it_leaves_works_on", what_it_leaves_works_on),
        ("what_is_let_go_is_told_the_truth", what_is_let_go_is_told_the_truth),
        ("pipes_belong_to_whoever_launches", pipes_belong_to_whoever_launches),
        ("attached_and_let_go", attached::attached_and_let_go),
        ("looked_at_all_the_time", attached::looked_at_all_the_time),
        ("attached_and_let_go_amid_signals", attached::attached_and_let_go_amid_signals),
        ("who_can_not_be_traced", attached::who_can_not_be_traced),
        ("executable_memory_is_told", executable_memory_is_told),
        ("in_a_library_with_threads", in_a_library_with_threads),
        ("running_programs_are_noted", attached::running_programs_are_noted),
    ];
    trials.extend(others.map(|(name, test)| Trial::test(name, test)));
    trials
}

fn chain_of_vfork_and_exec() -> Result<(), Failed> {
    let masked = alike(hard(), &["execs", "30", "print"]);
    let report = text(&masked.stderr);
    assert!(report.contains("in 31 programs"), "{report}");
    Ok(())
}

fn ends_are_passed_on() -> Result<(), Failed> {
    for status in ["0", "1", "42", "255"] {
        assert_eq!(
            without("aes", hard()).args(["exit", status]).output()?.status.code(),
            Some(status.parse()?)
        );
    }
    for signal in [libc::SIGHUP, libc::SIGKILL, libc::SIGSEGV, libc::SIGTRAP, libc::SIGTERM, libc::SIGALRM] {
        let masked = without("aes", hard()).args(["raise", &signal.to_string()]).output()?;
        assert_eq!(masked.status.code(), Some(128 + signal));
    }
    Ok(())
}

fn what_can_not_be_started_says_so() -> Result<(), Failed> {
    for (program, expected) in [("/nonexistent", 127), ("/etc/passwd", 126), ("/", 126)] {
        let masked = without("aes", Path::new(program)).output()?;
        assert_eq!(masked.status.code(), Some(expected), "{}", text(&masked.stderr));
    }
    Ok(())
}

fn signals_are_as_they_were() -> Result<(), Failed> {
    /// The bits of two signals that the C library takes for itself when a process has a second thread.
    const RESERVED: u64 = 0b11 << 31;
    for prelude in ["", "trap '' CHLD HUP;", "trap '' SEGV;"] {
        let run = |tracer: &str| -> Vec<(String, u64)> {
            let script =
                format!("{prelude} exec {tracer} grep -E '^S(ig|hd)(Pnd|Blk|Ign|Cgt)' /proc/self/status");
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            let stdout = text(&output.stdout);
            let lines = stdout.lines().map(|line| line.split_once(":\t").unwrap());
            lines
                .map(|(name, set)| (name.into(), u64::from_str_radix(set, 16).unwrap() & !RESERVED))
                .collect()
        };
        let plain = run("env");
        assert_eq!(plain.len(), 5);
        assert_eq!(run(&format!("{} --without aes", std::env::current_exe()?.display())), plain, "{prelude}");
    }
    Ok(())
}

fn a_static_program() -> Result<(), Failed> {
    let Some(program) = compile("hard.c", "hard-static", &["-pthread", "-static"]) else {
        println!("SKIPPED a_static_program: there is no static C library");
        return Ok(());
    };
    assert!(alike(&program, &["threads"]).status.success());
    Ok(())
}

fn a_32_bit_program() -> Result<(), Failed> {
    let options = ["-m32", "-static", "-nostdlib", "-fno-pie", "-no-pie", "-fno-stack-protector"];
    let Some(program) = compile("small.c", "small-32", &options) else {
        println!("SKIPPED a_32_bit_program: the compiler makes none");
        return Ok(());
    };
    match Command::new(&program).status() {
        Ok(plain) => assert_eq!(plain.code(), Some(1)),
        Err(error) => {
            println!("SKIPPED a_32_bit_program: this kernel runs none ({error})");
            return Ok(());
        }
    }
    let masked = without("aes", &program).output()?;
    assert_eq!(masked.status.code(), Some(0), "{}", text(&masked.stderr));
    Ok(())
}

fn openssl_is_slower_without_aes() -> Result<(), Failed> {
    let arguments = ["speed", "-mr", "-seconds", "1", "-bytes", "8192", "-evp", "aes-128-gcm"];
    let Ok(plain) = Command::new("openssl").args(arguments).output() else {
        println!("SKIPPED openssl_is_slower_without_aes: it is not installed");
        return Ok(());
    };
    let speed = |output: &Output| {
        let text = text(&output.stdout);
        let line = text.lines().find(|line| line.starts_with("+F:")).unwrap();
        line.rsplit(':').next().unwrap().parse::<f64>().unwrap()
    };
    let masked = without("aes", Path::new("openssl")).args(arguments).output()?;
    let ratio = speed(&plain) / speed(&masked);
    println!("openssl speed -evp aes-128-gcm: {ratio:.1} times slower without aes");
    assert!(ratio > 3.0, "{ratio}");
    Ok(())
}

fn nobody_may_do_it() -> Result<(), Failed> {
    let available = Command::new("setpriv").arg("--version").output().is_ok();
    if !available || !rustix::process::geteuid().is_root() {
        println!("SKIPPED nobody_may_do_it: this needs root and setpriv");
        return Ok(());
    }
    // The copies lie where anyone may read them.
    let directory = std::env::temp_dir().join(format!("millstream-without-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    millstream_testkit::copy_program(&std::env::current_exe()?, &directory.join("tracer"));
    millstream_testkit::copy_program(hard(), &directory.join("hard"));
    let mut command = Command::new("setpriv");
    command.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--no-new-privs",
        "--bounding-set=-all",
    ]);
    command
        .arg(directory.join("tracer"))
        .args(["--without", "aes"])
        .arg(directory.join("hard"))
        .arg("threads");
    let output = command.output();
    std::fs::remove_dir_all(&directory)?;
    let output = output?;
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("aes 0"));
    Ok(())
}

/// Starts a program that prints its number and stays.
fn started(mut command: Command) -> (Child, Pid) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    (child, Pid::from_raw(line.trim().parse().unwrap()).unwrap())
}

/// Waits for a condition, for a while.
fn soon(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn state(pid: Pid) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(')').next()?.trim().chars().next()
}

fn it_dies_with_its_tracer() -> Result<(), Failed> {
    let mut command = without("aes", hard());
    command.arg("hang");
    let (mut tracer, program) = started(command);
    tracer.kill()?;
    tracer.wait()?;
    soon("the program lives on", || state(program).is_none_or(|state| state == 'Z'));
    Ok(())
}

fn it_stops_and_continues_as_a_job() -> Result<(), Failed> {
    let mut command = without("aes", hard());
    command.arg("hang").process_group(0);
    let (mut tracer, program) = started(command);
    let group = Pid::from_child(&tracer);
    for _ in 0..3 {
        kill_process_group(group, Signal::TSTP)?;
        let (_, status) = waitpid(Some(group), WaitOptions::UNTRACED)?.unwrap();
        assert!(status.stopped(), "{status:?}");
        assert!(matches!(state(program), Some('t' | 'T')));
        kill_process_group(group, Signal::CONT)?;
        soon("the program did not go on", || state(program) == Some('S'));
    }
    // The program also goes on when only the command is continued.
    kill_process(program, Signal::TSTP)?;
    let (_, status) = waitpid(Some(group), WaitOptions::UNTRACED)?.unwrap();
    assert!(status.stopped());
    kill_process(group, Signal::CONT)?;
    soon("the program did not go on", || state(program) == Some('S'));
    // Signals to the command are passed on.
    kill_process(group, Signal::TERM)?;
    assert_eq!(tracer.wait()?.code(), Some(128 + libc::SIGTERM));
    Ok(())
}

fn what_it_leaves_works_on() -> Result<(), Failed> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("left-{}", std::process::id()));
    std::fs::write(file.with_extension("go"), "")?;
    let masked = without("aes", hard()).arg("leave").arg(&file).output()?;
    assert_eq!(masked.status.code(), Some(9));
    assert_eq!(std::fs::read_to_string(&file)?, "aes 0");
    std::fs::remove_file(file.with_extension("go"))?;
    std::fs::remove_file(file)?;
    Ok(())
}

fn what_is_let_go_is_told_the_truth() -> Result<(), Failed> {
    for mode in ["leave", "leave_threads"] {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{mode}-{}", std::process::id()));
        let (mut tracer, _) = launch(&[mode, file.to_str().unwrap()], Launch::default());
        let mut masker = Masker::new(Withheld::without("aes")?);
        assert_eq!(tracer.run(&mut masker)?.code(), Some(9));
        tracer.detach_all(&mut masker)?;
        assert_eq!(masker.report().notes, []);
        std::fs::write(file.with_extension("go"), "")?;
        soon("what was left does not work on", || {
            std::fs::read_to_string(&file).is_ok_and(|text| text == "aes 1")
        });
        std::fs::remove_file(file.with_extension("go"))?;
        std::fs::remove_file(file)?;
    }
    Ok(())
}

fn launch(arguments: &[&str], how: Launch) -> (Tracer, impl FnOnce(Tracer) -> String) {
    let mut command = Command::new(hard());
    command.args(arguments).stdout(Stdio::piped());
    let tracer = Tracer::launch(&mut command, how).unwrap();
    let read =
        |mut tracer: Tracer| std::io::read_to_string(tracer.child().unwrap().stdout.take().unwrap()).unwrap();
    (tracer, read)
}

fn pipes_belong_to_whoever_launches() -> Result<(), Failed> {
    let (mut tracer, read) = launch(&["say"], Launch::default());
    let mut masker = Masker::new(Withheld::without("aes")?);
    assert!(tracer.run(&mut masker)?.success());
    assert_eq!(read(tracer), "aes 0\n");
    assert_eq!(masker.report().programs, 1);
    assert!(masker.report().hidden.has("aes") && masker.report().notes.is_empty());
    Ok(())
}

/// The tracer shares its process with threads that start programs of their own.
fn in_a_library_with_threads() -> Result<(), Failed> {
    std::thread::scope(|scope| {
        let others: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| (0..30).all(|_| Command::new("true").status().unwrap().success())))
            .collect();
        for _ in 0..5 {
            let (mut tracer, read) = launch(&["forks"], Launch::default());
            let mut masker = Masker::new(Withheld::without("aes").unwrap());
            assert!(tracer.run(&mut masker).unwrap().success());
            assert_eq!(read(tracer), "all agree\naes 0\n");
        }
        assert!(others.into_iter().all(|other| other.join().unwrap()));
    });
    Ok(())
}

/// Counts the filter's reports.
#[derive(Default)]
struct Mappings(usize);

impl Watcher for Mappings {
    fn mapped(&mut self, _: &mut Thread) -> std::io::Result<()> {
        self.0 += 1;
        Ok(())
    }
}

fn executable_memory_is_told() -> Result<(), Failed> {
    let (mut tracer, read) = launch(&["execs", "3", "print"], Launch { filter: true, ..Launch::default() });
    let mut both = (Masker::new(Withheld::without("aes")?), Mappings::default());
    assert!(tracer.run(&mut both)?.success());
    assert_eq!(read(tracer), "aes 0\n");
    // Each of the four programs maps the C library at least.
    assert!(both.1.0 >= 4, "{}", both.1.0);
    Ok(())
}
