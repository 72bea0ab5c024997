//! Tests `millstream run --without`, `compare` and `trace` under restrictions: without privileges, in
//! namespaces of their own, and where ptrace is forbidden.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use millstream_testkit::{copy_program, skip};
use millstream_tests::observe::{Findings, here, speed, under};
use millstream_tests::{Ended, Place, built, hard, program, run, subject};

/// A user without any rights.
const NOBODY: &str = "65534";

/// A folder that everybody can enter, with copies of programs. The originals may lie where others can't go.
struct Open {
    place: Place,
}

impl Open {
    fn new() -> Open {
        let place = Place::new();
        std::fs::set_permissions(place.folder(), std::fs::Permissions::from_mode(0o777)).unwrap();
        Open { place }
    }

    fn copy(&self, program: &Path) -> PathBuf {
        let copy = self.place.folder().join(program.file_name().expect("a program has a name"));
        copy_program(program, &copy);
        std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o755)).unwrap();
        copy
    }

    /// Copies the command and a program, and puts these words before both.
    fn under(&self, words: &[&str], command: &Command) -> Command {
        let mut inner = Command::new(self.copy(Path::new(command.get_program())));
        inner.args(command.get_args());
        let copied = under(words, &inner);
        let mut whole = Command::new(self.copy(&built().millstream));
        whole.args(copied.get_args()).current_dir(self.place.folder());
        whole
    }
}

/// Returns a command with a launcher's words before it.
fn launched(launcher: &[&str], command: &Command) -> Command {
    let mut whole = Command::new(launcher[0]);
    whole.args(&launcher[1..]).arg(command.get_program()).args(command.get_args());
    whole.current_dir("/");
    whole
}

/// Returns the words that take all privileges away, as far as there are any.
fn unprivileged() -> Vec<&'static str> {
    let _ = program("setpriv");
    let mut words = vec!["setpriv", "--no-new-privs"];
    if rustix::process::geteuid().is_root() {
        words.extend(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--bounding-set=-all"]);
        words.extend(["--inh-caps=-all"]);
    }
    words
}

/// Returns the same words, within namespaces of users, mounts and processes.
fn contained() -> Vec<&'static str> {
    let _ = program("unshare");
    let mut words = unprivileged();
    words.extend(["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"]);
    words
}

#[track_caller]
fn good(mut command: Command) -> Ended {
    let ended = run(&mut command, b"");
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.shown, ended.err);
    ended
}

/// Checks the core of the commands: speed falls, results stay, traces see.
#[track_caller]
fn core(launcher: &[&str]) {
    let open = Open::new();
    let mut ring = subject("ring");
    ring.args(["aes-gcm", "0.2"]);
    let plain = run(&mut ring, b"");
    let masked = good(launched(launcher, &open.under(&["run", "--quiet", "--without", "aes"], &ring)));
    assert_eq!(plain.out, masked.out);
    let (with, without) = (speed(&plain), speed(&masked));
    assert!(with / without > 3.0, "{with} MB/s with, {without} MB/s without");
    let report = open.place.folder().join("report");
    let words = ["trace", "--quiet", "--json", "--report", report.to_str().expect("a plain name")];
    for (mode, features, seen) in
        [("--once", None, true), ("--count", None, true), ("--once", Some("aes"), false)]
    {
        let mut words = [&words[..], &[mode]].concat();
        words.extend(features.iter().flat_map(|features| ["--without", features]));
        let mut few = subject("ring");
        few.args(["aes-gcm", "0.05"]);
        let traced = good(launched(launcher, &open.under(&words, &few)));
        assert_eq!(traced.out, plain.out);
        let found = Findings::read(&report);
        assert_eq!(!found.ran(&["aes", "vaes"]).is_empty(), seen, "{mode} {features:?}: {}", found.0);
        std::fs::remove_file(&report).unwrap();
    }
    for name in ["execs", "spawns"] {
        let wanted = run(&mut hard(name), b"");
        for words in [&["run", "--quiet", "--without", "aes"][..], &["trace", "--quiet"]] {
            let ended = run(&mut launched(launcher, &open.under(words, &hard(name))), b"");
            assert_eq!(
                (ended.code, ended.out),
                (wanted.code, wanted.out.clone()),
                "{name} {words:?}: {}",
                ended.err
            );
        }
    }
}

#[test]
fn without_privileges() {
    if !here("without_privileges", &["cpuid", "aes"]) {
        return;
    }
    core(&unprivileged());
}

#[test]
fn in_namespaces() {
    if !here("in_namespaces", &["cpuid", "aes"]) {
        return;
    }
    let mut probe = contained();
    probe.push("true");
    let ended = run(&mut launched(&probe[..probe.len() - 1], &Command::new("/bin/true")), b"");
    if ended.code != Some(0) {
        skip(&format!("a sandbox within this one: unshare can't make it here: {}", ended.err.trim()));
        return;
    }
    core(&contained());
}

/// If ptrace is forbidden, the command says what to change, and variables still act.
#[test]
fn where_ptrace_is_forbidden() {
    if !here("where_ptrace_is_forbidden", &["aes"]) {
        return;
    }
    let forbid = hard("forbid");
    let launcher = [forbid.get_program().to_str().expect("a plain name")];
    let mut command = subject("aws-lc");
    command.args(["aes-gcm", "0.1"]);
    let traced = run(&mut launched(&launcher, &under(&["trace"], &command)), b"");
    assert_eq!(traced.code, Some(1), "{}", traced.err);
    assert!(traced.out.is_empty(), "the program ran, and nobody saw it");
    for part in ["seccomp", "SYS_PTRACE"] {
        assert!(traced.err.contains(part), "no {part} in: {}", traced.err);
    }
    let plain = good(command_of("aws-lc"));
    let masked = good(launched(&launcher, &under(&["run", "--without", "aes"], &command)));
    assert_eq!(masked.out, plain.out);
    assert!(speed(&plain) / speed(&masked) > 3.0, "variables did not act: {}", masked.err);
    // If CPUID can't fault, the command reports that instead.
    if here("where_ptrace_is_forbidden, the reason told", &["cpuid"]) {
        assert!(masked.err.contains("ptrace"), "why not more acted is not told: {}", masked.err);
    }
}

fn command_of(name: &str) -> Command {
    let mut command = subject(name);
    command.args(["aes-gcm", "0.1"]);
    command
}

/// A process of another user, and one that does not exist, can't be attached to.
#[test]
fn what_may_not_be_attached_to() {
    let open = Open::new();
    let millstream = open.copy(&built().millstream);
    let attach = |pid: &str| {
        let mut command = Command::new(&millstream);
        command.args(["trace", "--quiet", "--seconds", "0.1", "--pid", pid]);
        run(&mut launched(&unprivileged(), &command), b"")
    };
    let gone = attach("999999999");
    assert_eq!(gone.code, Some(1), "{}", gone.err);
    assert!(gone.err.contains("no such process"), "{}", gone.err);
    if !rustix::process::geteuid().is_root() {
        skip("a process of another user: all those of this test are this user's");
    } else {
        let other = attach(&std::process::id().to_string());
        assert_eq!(other.code, Some(1), "{}", other.err);
        assert!(other.err.contains("belongs to user 0"), "{}", other.err);
    }
    if !Path::new("/proc/sys/kernel/yama/ptrace_scope").exists() {
        skip("what Yama forbids: this kernel is without it");
    }
}
