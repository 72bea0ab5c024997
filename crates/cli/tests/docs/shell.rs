//! A shell that runs the commands of a page, one after another, in a fresh home.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The longest time for the commands of a page.
const PATIENCE: Duration = Duration::from_secs(300);

/// The line behind the output of a command, before its status.
const MARK: &str = "=-=-= this command ended with";

/// A fresh home, which is also the folder that the commands run in.
pub struct Home {
    folder: TempDir,
    prefix: PathBuf,
}

/// The end of a command.
pub struct Ended {
    pub status: i32,
    /// The lines of standard output and standard error.
    pub lines: Vec<String>,
}

impl Home {
    /// Makes a home in which the installation below `prefix` is found.
    pub fn new(prefix: &Path) -> Home {
        Home { folder: tempfile::tempdir().unwrap(), prefix: prefix.to_owned() }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs the commands in one shell, and ends whatever they have started.
    pub fn run<'a>(&self, commands: impl IntoIterator<Item = &'a str>) -> Vec<Ended> {
        let mut script = String::new();
        for command in commands {
            script += &format!("{}\nprintf '\\n%s %d\\n' '{MARK}' $?\n", self.as_run(command));
        }
        let at = |name: &str| self.folder.path().join(name);
        std::fs::write(at(".script"), script).unwrap();
        let output = File::create(at(".output")).unwrap();
        let mut shell = Command::new("sh");
        shell.arg(at(".script")).current_dir(self.path()).process_group(0);
        shell.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
        self.environment(&mut shell);
        let mut child = shell.spawn().unwrap();
        let begin = Instant::now();
        let in_time = loop {
            if child.try_wait().unwrap().is_some() {
                break true;
            }
            if begin.elapsed() > PATIENCE {
                break false;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        end_group(&mut child);
        let output = std::fs::read(at(".output")).unwrap();
        let ended = ended(&String::from_utf8_lossy(&output));
        assert!(in_time, "{} commands ended within {PATIENCE:?}, and the next did not", ended.len());
        ended
    }

    fn environment(&self, shell: &mut Command) {
        let bin = self.prefix.join("bin");
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
        let kept = ["LANG", "TERM", "TMPDIR"].map(|name| (name, std::env::var_os(name)));
        shell.env_clear().envs(kept.into_iter().filter_map(|(name, value)| Some((name, value?))));
        shell.env("PATH", path).env("HOME", self.path());
        // Root's tokens would otherwise be the machine's.
        shell.env("MILLSTREAM_STORE", self.path().join("tokens"));
        // ldconfig and a usual prefix would do the same.
        shell.env("LD_LIBRARY_PATH", self.prefix.join("lib"));
        shell.env("PKG_CONFIG_PATH", self.prefix.join("lib/pkgconfig"));
    }

    /// Returns the command in the form in which a script can run it.
    fn as_run(&self, command: &str) -> String {
        let command = command.replace("/usr/local", &self.prefix.display().to_string());
        let command = command.replace("cargo run", "./program");
        // The usual place of root's socket is the machine's.
        let here = "export MILLSTREAM_SOCKET=\"$HOME/millstream.sock\"";
        let wait = "tries=0; until millstream status >/dev/null 2>&1 || [ $tries = 300 ]; do sleep 0.1; tries=$((tries + 1)); done";
        match command.starts_with("millstream serve") {
            true if command.ends_with('&') => format!("{here}\n{command}\n{wait}"),
            // A reader has another terminal for it.
            true => format!("{here}\n{command} > .service 2>&1 &\n{wait}\ncat .service"),
            false => command,
        }
    }
}

/// Ends the processes of the group that this one leads.
fn end_group(leader: &mut Child) {
    let group = format!("-{}", leader.id());
    let kill = |signal: &str| {
        let mut kill = Command::new("kill");
        kill.args([signal, "--", &group]).stderr(Stdio::null());
        kill.status().is_ok_and(|status| status.success())
    };
    let begin = Instant::now();
    let mut signal = "-TERM";
    while kill(signal) && begin.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
        signal = if begin.elapsed() > Duration::from_secs(10) { "-KILL" } else { "-0" };
        // One that nobody has waited for is still of the group.
        let _ = leader.try_wait();
    }
    let _ = leader.wait();
}

/// Splits the output of a script into those of its commands.
fn ended(output: &str) -> Vec<Ended> {
    // The machine decides whether a signal leaves a core file.
    let output = output.replace(" (core dumped)", "");
    let mut all = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    for line in output.lines() {
        match line.strip_prefix(MARK) {
            Some(status) => {
                // The mark begins with an end of a line, and a page shows no empty lines at an end.
                while lines.last().is_some_and(String::is_empty) {
                    lines.pop();
                }
                let status = status.trim().parse().expect("a status is a number");
                all.push(Ended { status, lines: std::mem::take(&mut lines) });
            }
            None => lines.push(line.to_owned()),
        }
    }
    all
}

#[test]
fn outputs_are_told_apart() {
    let all = ended(&format!("one\n\n{MARK} 0\ntwo\n{MARK} 3\n\n{MARK} 0\n"));
    let all: Vec<(i32, usize)> = all.iter().map(|ended| (ended.status, ended.lines.len())).collect();
    assert_eq!(all, [(0, 1), (3, 1), (0, 0)]);
}
