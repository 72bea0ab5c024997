//! The real service, asked by the real commands.

mod common;

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Ended, MILLSTREAM, Place, Terminal, ended, exists};
use millstream::cwq::Algorithm;
use millstream::isolated::{Accelerator, Attach, Exportable};
use millstream::queue::{Queue, Request};
use millstream_testkit::skip;
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(20);

/// A running service, in a directory of its own.
struct Service {
    place: Place,
    child: Child,
}

impl Service {
    fn start(args: &str) -> Service {
        Service::start_in(Place::new(), args, |_| {})
    }

    fn start_in(place: Place, args: &str, more: impl FnOnce(&mut Command)) -> Service {
        let mut command = Command::new(MILLSTREAM);
        command
            .args(["serve", "--ready-fd", "1", "--socket"])
            .arg(place.path("s"))
            .args(args.split_whitespace());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .current_dir(place.path(""));
        more(&mut command);
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let service = Service { place, child };
        if line.trim_end() != service.socket().display().to_string() {
            panic!("'{line}': {:?}", service.end("-TERM"));
        }
        service
    }

    fn socket(&self) -> PathBuf {
        self.place.path("s")
    }

    /// Runs a command against it.
    fn command(&self, line: &str) -> Ended {
        let mut command = Command::new(MILLSTREAM);
        command.args(line.split_whitespace()).env("MILLSTREAM_SOCKET", self.socket());
        ended(&mut command, b"")
    }

    fn status(&self) -> Value {
        serde_json::from_str(&self.command("status --json").text()).unwrap()
    }

    fn attach(&self) -> Accelerator {
        let attach = Attach { socket: Some(self.socket()), name: "a test".into(), ..Attach::default() };
        attach.attach().unwrap()
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Sends a signal. Returns the exit code, and the log.
    fn end(mut self, signal: &str) -> (Option<i32>, String) {
        self.signal(signal);
        let until = Instant::now() + PATIENCE;
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > until => panic!("{signal} did not end the service"),
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let mut log = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        assert!(!exists(&self.socket()), "the socket is still there: {log}");
        (status.code(), log)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Digests so many objects.
fn work(queue: &mut Queue, objects: usize) {
    for _ in 0..objects {
        let mut source = queue.buffer(1024).unwrap();
        source.fill(7);
        queue.submit(Request::digest(millstream::hash::Hash::Sha256, source)).unwrap();
        assert_eq!(queue.wait().unwrap().result, Ok(()));
    }
}

#[test]
fn a_grant_is_seen_revoked_and_gone() {
    let service = Service::start("");
    let accelerator = service.attach();
    let _key = accelerator.generate_key(Algorithm::AesGcm, 16, Exportable::No).unwrap();
    let mut queue = accelerator.queue().unwrap();
    work(&mut queue, 100);
    let status = service.status();
    assert_eq!(status["version"], 1, "{status:#}");
    assert_eq!(status["socket"], service.socket().display().to_string());
    let grant = &status["grants"][0];
    assert_eq!(grant["grant"], accelerator.grant().id, "{status:#}");
    assert_eq!((&grant["name"], &grant["pid"]), (&"a test".into(), &std::process::id().into()));
    assert_eq!((&grant["operations"], &grant["bytes"]), (&100.into(), &102_400.into()), "{status:#}");
    assert_eq!((&grant["keys"], &grant["in_flight"]), (&1.into(), &0.into()), "{status:#}");
    assert!(grant["algorithms"].as_array().unwrap().contains(&"aes-gcm".into()), "{status:#}");
    assert_eq!(status["workers"][0]["grants"], 1);
    let text = service.command("status").text();
    assert!(text.contains(": 2 workers, 1 grant\n"), "{text}");
    let program = std::fs::read_to_string("/proc/self/comm").unwrap();
    assert!(text.contains(program.trim()), "{text}");

    let id = accelerator.grant().id;
    assert!(service.command(&format!("revoke {id}")).text().is_empty());
    assert_eq!(accelerator.state(), millstream::isolated::GrantState::Revoked);
    assert!(queue.buffer(16).is_err());
    let after = service.status();
    assert!(after["grants"].as_array().unwrap().iter().all(|grant| grant["grant"] != id), "{after:#}");
    service.command(&format!("revoke {id}")).bad(1, &["no such grant"]);
    let (code, log) = service.end("-TERM");
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("listening at") && !log.contains("ERROR"), "{log}");
    // The log has no times, because whoever reads a pipe adds them.
    assert!(log.lines().all(|line| !line.starts_with("20")), "{log}");
}

#[test]
fn all_grants_are_revoked_and_some_numbers_are_wrong() {
    let service = Service::start("-n 2 --quiet");
    let (one, two) = (service.attach(), service.attach());
    let (good, bad) = (one.grant().id, two.grant().id + 1000);
    let words = [&bad.to_string(), "there is no such grant", "'millstream status'"];
    let told = service.command(&format!("revoke {bad} {good}")).bad(1, &words);
    assert!(told.lines().count() == 1 && !told.contains("log"), "{told}");
    assert_eq!(service.status()["grants"].as_array().unwrap().len(), 1);
    service.command("revoke --all").good();
    assert_eq!(service.status()["grants"].as_array().unwrap().len(), 0);
    service.command("revoke").bad(2, &["GRANT"]);
    service.command("revoke --all 3").bad(2, &["--all"]);
    assert_eq!(service.end("-INT"), (Some(0), String::new()));
}

#[test]
fn another_user_is_told_whose_grants_are_shown() {
    if !rustix::process::geteuid().is_root() {
        return skip("the status that another user sees: only root can start a service for all");
    }
    let place = Place::new();
    std::fs::set_permissions(place.path(""), PermissionsExt::from_mode(0o755)).unwrap();
    place.write("policy", "[default]\n");
    let service = Service::start_in(place, "--quiet --policy policy", |_| {});
    let mut status = Command::new(MILLSTREAM);
    let text =
        status.args(["status", "--socket"]).arg(service.socket()).uid(65534).gid(65534).current_dir("/");
    let text = ended(text, b"").text();
    assert!(text.contains(": 0 grants of user nobody") && text.contains("operators see all"), "{text}");
    let shown: Value = serde_json::from_str(&ended(status.arg("--json"), b"").text()).unwrap();
    assert_eq!((&shown["whole"], &service.status()["whole"]), (&false.into(), &true.into()));
}

#[test]
fn a_grant_moves_to_another_worker() {
    let service = Service::start("-n 2");
    let accelerator = service.attach();
    let mut queue = accelerator.queue().unwrap();
    work(&mut queue, 10);
    let before = service.status()["grants"][0]["worker"].as_u64().unwrap();
    let id = accelerator.grant().id;
    service.command(&format!("move {id} {}", 1 - before)).good();
    work(&mut queue, 10);
    let grant = service.status()["grants"][0].clone();
    assert_eq!((&grant["worker"], &grant["operations"]), (&(1 - before).into(), &20.into()));
    service.command(&format!("move {id} 9")).bad(1, &["no such worker"]);
    service.command("move 999 0").bad(1, &["no such grant"]);
}

#[test]
fn codes_of_many_files_with_the_key_out_of_reach() {
    let service = Service::start("-q");
    let place = &service.place;
    place.key("key", common::bytes(32));
    let files: Vec<String> = (0..200).map(|n| format!("file{n}")).collect();
    for (n, file) in files.iter().enumerate() {
        place.write(file, common::bytes(n * n));
    }
    let files = files.join(" ");
    for algorithm in ["sha256_hmac", "sha512_hmac", "aes_cmac"] {
        let line = format!("-v -a {algorithm} -k key {files}");
        let isolated = place.words(&format!("mac --isolated --socket s {line}")).text();
        assert_eq!(isolated, place.words(&format!("mac {line}")).text());
    }
    let one = place.words_with("mac -I --socket s -a sha256_hmac -k key", b"data").text();
    assert_eq!(one, place.words_with("mac -a sha256_hmac -k key", b"data").text());
    let some = place.words("mac -I --socket s -a sha256_hmac -k key missing file1 file2");
    assert_eq!((some.code, String::from_utf8_lossy(&some.out).lines().count()), (Some(2), 2), "{}", some.err);
    assert!(some.err.contains("missing"), "{}", some.err);
    let long = std::fs::File::create(place.path("long")).unwrap();
    long.set_len(200 << 20).unwrap();
    place.words("mac -I --socket s -a sha256_hmac -k key long").bad(1, &["long", "128 MiB", "--isolated"]);
    place.words("mac -I --socket none -a sha256_hmac -k key file1").bad(1, &["none", "millstream serve"]);
    place.words("mac --socket s -a sha256_hmac -k key file1").bad(2, &["--isolated"]);
    // The algorithm takes no key of this length.
    place.words("mac -I --socket s -a aes_cmac -k file1 file2").bad(1, &["key"]);
}

#[test]
fn a_policy_is_read_again() {
    let place = Place::new();
    place.write("policy", "[default]\nqueues = 1\n");
    let service = Service::start_in(place, "--policy policy", |_| {});
    service.command("reload").good();
    service.place.write("policy", "nonsense = [\n");
    service.command("reload").bad(1, &["policy", "old policy stays"]);
    // The service goes on with the old policy.
    drop(service.attach());
    service.signal("-HUP");
    std::thread::sleep(Duration::from_millis(300));
    let (code, log) = service.end("-TERM");
    assert!(code == Some(0) && log.contains("ERROR"), "{log}");
    let ended = Place::new().words("serve --socket s --policy missing.toml");
    ended.bad(1, &["missing.toml"]);
}

#[test]
fn without_a_service_commands_say_what_to_do() {
    let place = Place::new();
    for line in ["status", "status --watch --json", "revoke 1", "revoke -a", "move 1 0", "reload"] {
        place.words(&format!("{line} --socket nowhere")).bad(1, &["nowhere", "millstream serve"]);
    }
    place.words("speed --isolated --socket nowhere sha256").bad(1, &["nowhere", "millstream serve"]);
    place.words("status --watch 0").bad(2, &["at least 0.1"]);
    place.words("serve -q --socket /dev/null/s").bad(1, &["/dev/null/s"]);
    place.words("serve --accelerators 0").bad(2, &["--accelerators"]);
    place.words("serve --socket s --ready-fd 77 -q").bad(1, &["descriptor 77"]);
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn one_service_a_socket() {
    let service = Service::start("-q");
    let path = service.socket().display().to_string();
    service.place.words(&format!("serve -q --socket {path}")).bad(1, &[&path, "--socket"]);
    service.command("status").good();
}

#[test]
fn a_pipe_gets_a_table_an_interval_and_json_a_line() {
    let service = Service::start("-q");
    for (option, end) in [("", "workers, 0 grants"), ("--json", "\"grants\":[]")] {
        let mut command = Command::new(MILLSTREAM);
        command.args(["status", "--watch", "0.1", "--socket"]).arg(service.socket()).stdout(Stdio::piped());
        let mut child = command.args(option.split_whitespace()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let seen = lines.filter(|line| line.contains(end)).take(3).count();
        let _ = child.kill();
        let _ = child.wait();
        assert_eq!(seen, 3, "{option}");
    }
}

#[test]
fn the_live_view_gives_the_terminal_back() {
    let service = Service::start("-q");
    let accelerator = service.attach();
    let watch = format!("{MILLSTREAM} status --watch 0.1 --socket {}", service.socket().display());
    let shell =
        format!("trap : INT; stty echo icanon rows 30 cols 200; {watch}; echo code $?; stty -a; echo end");
    for (keys, code) in [("xq", "code 0"), ("\x03", "code 130")] {
        let mut terminal = Terminal::new(&service.place, &shell);
        let view = terminal.see("RECENT OPS/S");
        assert!(view.contains("2 workers, 1 grant") && view.contains("\x1b[?25l"), "{view:?}");
        // The view is drawn more than once, at the same place.
        terminal.see("\x1b[J");
        terminal.see("A\r");
        terminal.see("\x1b[J");
        terminal.type_in(keys);
        let rest = terminal.see(code);
        assert!(rest.contains("\x1b[?25h"), "{rest:?}");
        let after = terminal.see("end");
        assert!(
            after.contains(" echo ") && after.contains(" icanon ") && !after.contains("-echo "),
            "{after}"
        );
    }
    drop(accelerator);
}

#[test]
fn systemd_is_told() {
    let place = Place::new();
    let told = UnixDatagram::bind(place.path("notify")).unwrap();
    told.set_read_timeout(Some(PATIENCE)).unwrap();
    let address = place.path("notify");
    let service = Service::start_in(place, "-q", |command| {
        command.env("NOTIFY_SOCKET", address);
    });
    let hear = || {
        let mut bytes = [0; 256];
        let len = told.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..len]).into_owned()
    };
    assert!(hear().contains("READY=1"));
    service.signal("-HUP");
    let reloading = hear();
    assert!(reloading.contains("RELOADING=1") && reloading.contains("MONOTONIC_USEC="), "{reloading}");
    assert!(hear().contains("READY=1"));
    service.signal("-TERM");
    assert!(hear().contains("STOPPING=1"));
}

#[test]
fn a_socket_that_systemd_listens_at_is_taken_over() {
    if Command::new("systemd-socket-activate").arg("--version").output().is_err() {
        return skip("socket activation: there is no systemd-socket-activate (apt-get install systemd)");
    }
    let place = Place::new();
    let socket = place.path("s");
    let mut activate = Command::new("systemd-socket-activate");
    activate.arg("--seqpacket").arg("-l").arg(&socket).arg("--fdname=millstream").args([MILLSTREAM, "serve"]);
    let mut child = activate.stderr(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + PATIENCE;
    while !exists(&socket) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let status = place.words("status --json --socket s");
    // The shell has become the service itself.
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
    let log = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut log = log.inspect(|line| println!("{line}"));
    let place_of_it = format!("listening at {}", socket.display());
    assert!(log.any(|line| line.contains(&place_of_it)));
    assert!(log.any(|line| line.contains("the policy was read again")));
    assert!(Command::new("kill").arg(&pid).status().unwrap().success());
    drop(log);
    let code = child.wait().unwrap().code();
    let status: Value = serde_json::from_str(&status.text()).unwrap();
    assert_eq!(status["workers"].as_array().unwrap().len(), 2);
    assert_eq!(code, Some(0));
    assert!(exists(&socket), "it is systemd's");
}

#[test]
fn root_gives_its_rights_away() {
    if !rustix::process::geteuid().is_root() {
        return skip("serve --user: this is not root");
    }
    let place = Place::new();
    place.words("serve --socket s --user nobody-of-that-name").bad(1, &["no such user"]);
    std::fs::set_permissions(place.path(""), PermissionsExt::from_mode(0o777)).unwrap();
    let service = Service::start_in(place, "-q --user nobody", |_| {});
    let status = std::fs::read_to_string(format!("/proc/{}/status", service.child.id())).unwrap();
    let ids = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(ids("Uid:"), ["65534"; 4]);
    assert_eq!(ids("Gid:"), ["65534"; 4]);
    assert!(!ids("Groups:").contains(&"0".to_owned()));
    assert!(service.command("status").text().contains("2 workers"));
}

/// Runs `speed` with its temporary files in `place`.
fn speed(place: &Place, line: &str) -> Command {
    let seconds = if line.contains("--seconds") { "" } else { "--seconds 0.0001" };
    let line = format!("{seconds} {line}");
    let mut command = Command::new(MILLSTREAM);
    command.arg("speed").args(line.split_whitespace());
    command
        .env("TMPDIR", place.path(""))
        .env("XDG_RUNTIME_DIR", place.path("none"))
        .env_remove("MILLSTREAM_SOCKET");
    command
}

fn ways(report: &Value) -> Vec<String> {
    let mut ways: Vec<String> = Vec::new();
    for cell in report["results"].as_array().unwrap() {
        let way = cell["way"].as_str().unwrap().to_owned();
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    ways
}

#[test]
fn the_isolated_queue_agrees_on_everything_at_every_depth() {
    let service = Service::start("-q");
    for direction in ["", "-d"] {
        let line = format!("--ways direct --isolated --depth 1,33 --bytes 48,imix {direction} --json all");
        let ended = ended(speed(&service.place, &line).env("MILLSTREAM_SOCKET", service.socket()), b"");
        let report: Value = serde_json::from_str(&ended.text()).unwrap();
        assert_eq!(ways(&report), ["direct", "isolated"]);
        let path = service.socket().display().to_string();
        assert!(
            report["libraries"]["isolated"].as_str().unwrap().contains(&path),
            "{:#}",
            report["libraries"]
        );
        let isolated = report["results"].as_array().unwrap().iter().filter(|cell| cell["way"] == "isolated");
        let direct = report["results"].as_array().unwrap().len() - isolated.clone().count();
        assert_eq!(isolated.count(), 2 * direct);
    }
    // The grants of the run end with it.
    assert_eq!(service.status()["grants"].as_array().unwrap().len(), 0);
    assert_eq!(service.end("-TERM").0, Some(0));
}

#[test]
fn where_no_service_runs_one_is_started_and_ended() {
    let place = Place::new();
    let text = ended(&mut speed(&place, "--ways direct,queue,isolated --bytes 64 hmac-sha256"), b"").text();
    assert!(text.contains("isolated") && text.contains("over queue"), "{text}");
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn the_mediated_ways_of_today_are_set_up_for_the_run() {
    if Command::new("softhsm2-util").arg("--version").output().is_err()
        || Command::new("p11-kit").arg("--version").output().is_err()
    {
        return skip("speed --against: SoftHSM or p11-kit is missing (apt-get install softhsm2 p11-kit)");
    }
    let place = Place::new();
    let line = "--ways direct --isolated --against softhsm,p11-kit --bytes 64 aes-128-ecb sha256 hmac-sha256";
    let report = ended(&mut speed(&place, &format!("{line} --json")), b"").text();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(ways(&report), ["direct", "isolated", "softhsm", "p11-kit"]);
    // Each of three algorithms has direct, isolated with 1 and 32 in flight, and two modules.
    assert_eq!(report["results"].as_array().unwrap().len(), 3 * 5);
    let text = ended(&mut speed(&place, &format!("{line} --show times")), b"").text();
    for row in ["over softhsm         1", "over p11-kit        32"] {
        assert!(text.contains(row), "no '{row}' in {text}");
    }
    assert!(place.names().is_empty(), "{:?}", place.names());
    // The message names the package to install.
    let bare = ended(speed(&place, "--against softhsm sha256").env("PATH", "/nonexistent"), b"");
    bare.bad(1, &["softhsm2-util", "apt-get install softhsm2"]);
    assert!(place.names().is_empty(), "{:?}", place.names());
}

/// Counts the processes whose command line names this directory.
fn processes_of(place: &Path) -> usize {
    let name = place.display().to_string();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(&name)).count()
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    let against = match Command::new("p11-kit").arg("--version").output() {
        Ok(_) => "--against softhsm,p11-kit",
        Err(_) => {
            skip("an interrupted speed --against: p11-kit is missing (apt-get install p11-kit)");
            ""
        }
    };
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let place = Place::new();
        let line = format!("--isolated {against} --seconds 60 --bytes 64 sha256");
        let mut child = speed(&place, &line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let until = Instant::now() + PATIENCE;
        while processes_of(&place.path("")) < if against.is_empty() { 1 } else { 2 } {
            assert!(Instant::now() < until && child.try_wait().unwrap().is_none());
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(200));
        let pid = child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert!(place.names().is_empty(), "{:?}", place.names());
        assert_eq!(processes_of(&place.path("")), 0);
    }
}
