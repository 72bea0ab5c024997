//! `millstream run` and `millstream openssl-conf`: real programs, real configurations, OpenSSL's own `legacy.so` as module.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Ended, MILLSTREAM, Place, ended};
use millstream::tally::{Place as Where, Tally};

/// Returns a foreign provider that can be loaded as ours is. Programs that ask for it by name get it.
fn module() -> PathBuf {
    let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];
    let found = folders.iter().map(|folder| Path::new(folder).join("ossl-modules/legacy.so"));
    found.into_iter().find(|path| path.exists()).expect("OpenSSL 3 with its modules is installed")
}

/// Runs `millstream run` with that module.
fn run(place: &Place, options: &[&str], command: &[&str]) -> Ended {
    ended(&mut command_line(place, options, command), b"")
}

fn command_line(place: &Place, options: &[&str], command: &[&str]) -> Command {
    // Signals that the parent of this test ignores (nohup, a job in the background) would be ignored here
    // too.
    let mut line = Command::new("env");
    line.args(["--default-signal", MILLSTREAM, "run", "--module"])
        .arg(module())
        .args(options)
        .arg("--")
        .args(command);
    line.env("TMPDIR", place.path("")).env_remove("MILLSTREAM_SOCKET").current_dir(place.path(""));
    line
}

/// Adds to the counters as a provider would. A script runs this very program by another name for that.
fn counts(place: &Place, number: u64) {
    let path = std::env::var_os("MILLSTREAM_TALLY").map(PathBuf::from);
    let tally = Tally::open(&path.unwrap_or_else(|| place.path("tally"))).unwrap();
    tally.row(Where::InProcess, "AES-256-GCM", "portable").add(number, 1000 * number);
}

/// Does nothing unless `run` starts it.
#[test]
fn counts_where_it_is_told_to() {
    if let Some(number) = std::env::var("COUNT").ok().and_then(|number| number.parse().ok()) {
        counts(&Place::new(), number);
    }
}

fn counting(program: &str) -> [&str; 4] {
    [program, "--exact", "counts_where_it_is_told_to", "--quiet"]
}

fn this_program() -> String {
    std::env::current_exe().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn what_was_counted_is_told_in_a_table_as_json_and_in_a_file() {
    let (place, program) = (Place::new(), this_program());
    let with = |options: &[&str]| {
        let mut line = command_line(&place, options, &counting(&program));
        ended(line.env("COUNT", "7"), b"")
    };
    let shown = with(&[]);
    assert_eq!(shown.code, Some(0));
    let row = "AES-256-GCM  portable  in-process           7  7.00 kB\n";
    assert!(shown.err.starts_with("millstream run: accelerated\nALGORITHM"), "{}", shown.err);
    assert!(shown.err.ends_with(row), "{}", shown.err);
    let json = with(&["--json"]).err;
    for part in ["\"operations\": 7", "\"bytes\": 7000", "\"nothing\": null", "\"version\": 1"] {
        assert!(json.contains(part), "{part} in {json}");
    }
    let quiet = with(&["--report", "table"]);
    assert_eq!(quiet.err, "");
    assert!(String::from_utf8(place.read("table")).unwrap().ends_with(row));
    assert_eq!(with(&["--quiet"]).err, "");
    assert_eq!(place.names(), ["table"]);
}

#[test]
fn the_programs_end_is_the_commands() {
    let place = Place::new();
    let code = |command: &[&str]| run(&place, &["-q"], command).code;
    assert_eq!(code(&["true"]), Some(0));
    assert_eq!(code(&["sh", "-c", "exit 77"]), Some(77));
    assert_eq!(code(&["sh", "-c", "kill -TERM $$"]), Some(143));
    assert_eq!(code(&["sh", "-c", "kill -KILL $$"]), Some(137));
    let missing = run(&place, &[], &["./missing"]);
    missing.bad(127, &["millstream run: error: ./missing: No such file"]);
    place.write("data", "no program");
    run(&place, &[], &["./data"]).bad(126, &["./data"]);
    run(&place, &["--base", "missing"], &["true"]).bad(1, &["missing"]);
    assert_eq!(place.names(), ["data"], "nothing is left behind");
}

#[test]
fn input_and_output_are_the_programs() {
    let place = Place::new();
    let shown = ended(&mut command_line(&place, &["-q"], &["tr", "a-z", "A-Z"]), b"words");
    assert_eq!(shown.good(), b"WORDS");
    // The two dashes may be left out. Options after the program's name are the program's.
    let words = format!("run -q --module {} printf %s -q", module().display());
    assert_eq!(place.words(&words).text(), "-q");
}

/// Waits until a program has made the file `ready`.
fn ready(place: &Place, child: &mut Child) {
    let until = Instant::now() + Duration::from_secs(20);
    while !common::exists(&place.path("ready")) {
        assert!(child.try_wait().unwrap().is_none() && Instant::now() < until, "it never was ready");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn signals_are_passed_on_and_awaited() {
    for signal in ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2"] {
        let place = Place::new();
        let script =
            format!("trap 'echo got {signal}; exit 9' {signal}; touch ready; while :; do sleep 0.02; done");
        let mut line = command_line(&place, &["-q"], &["sh", "-c", &script]);
        let mut child = line.stdout(Stdio::piped()).spawn().unwrap();
        ready(&place, &mut child);
        let pid = child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(9), "{signal}");
        assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("got {signal}\n"));
        assert_eq!(place.names(), ["ready"], "{signal}");
    }
}

/// Keys typed at a terminal reach the whole group, so the program must get the signal once.
#[test]
fn an_interrupt_from_the_terminal_comes_once() {
    let place = Place::new();
    let script =
        "trap 'echo once >> log' INT; touch ready; i=0; while [ $i -lt 60 ]; do sleep 0.01; i=$((i+1)); done";
    let run = format!(
        "{MILLSTREAM} run -q --module {} -- sh -c \"{}\"",
        module().display(),
        script.replace('$', "\\$")
    );
    let typed = "while [ ! -e ready ]; do sleep 0.01; done; sleep 0.1; printf '\\003'; sleep 0.2";
    let line = format!("({typed}) | script -qec '{}' /dev/null", run.replace('\'', "'\\''"));
    let shown = place.run("env", ["--default-signal", "sh", "-c", &line], b"");
    assert_eq!(String::from_utf8(place.read("log")).unwrap(), "once\n", "{shown:?}");
}

#[test]
fn a_parent_that_ignores_its_children_does_not_make_it_wait_for_ever() {
    let place = Place::new();
    let line =
        format!("trap '' CHLD; exec {MILLSTREAM} run -q --module {} -- sh -c 'exit 3'", module().display());
    let mut command = Command::new("timeout");
    command.args(["20", "sh", "-c", &line]);
    assert_eq!(ended(&mut command, b"").code, Some(3));
    drop(place);
}

#[test]
fn runs_at_once_count_apart_and_leave_nothing() {
    let (place, program) = (Place::new(), this_program());
    let children: Vec<Child> = (1..=6_u64)
        .map(|number| {
            let mut line = command_line(&place, &[], &counting(&program));
            line.env("COUNT", number.to_string())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for (child, number) in children.into_iter().zip(1..) {
        let shown = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
        assert!(shown.ends_with(&format!("in-process           {number}  {number}.00 kB\n")), "{shown}");
    }
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn children_of_another_user_can_count_and_others_cannot_look() {
    let place = Place::new();
    if place.run("id", ["-u"], b"").text().trim() != "0" {
        millstream_testkit::skip("counters that another user adds to: this user is not root");
        return;
    }
    let shared = tempfile::tempdir_in("/tmp").unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(shared.path(), open).unwrap();
    let script = "cat $OPENSSL_CONF > /dev/null && printf '' >> $MILLSTREAM_TALLY || exit 3; \
                  ls $(dirname $OPENSSL_CONF) && exit 4; ls $(dirname $(dirname $OPENSSL_CONF)) && exit 5; exit 0";
    let mut line =
        command_line(&place, &["-q"], &["setpriv", "--reuid=65534", "--clear-groups", "sh", "-c", script]);
    let shown = ended(line.env("TMPDIR", shared.path()), b"");
    assert_eq!(shown.code, Some(0), "{}", shown.err);
}

#[test]
fn why_nothing_was_accelerated_is_told() {
    let place = Place::new();
    let why = |command: &[&str]| run(&place, &[], command).err;
    assert!(why(&["true"]).contains("read no OpenSSL configuration"), "a program without OpenSSL");
    assert!(why(&["openssl", "version", "-d"]).starts_with("millstream run: nothing was accelerated"));
    assert!(why(&["openssl", "dgst", "/etc/passwd"]).contains("asked for nothing that Millstream computes"));
    let cleared = why(&["env", "-i", "openssl", "dgst", "/etc/passwd"]);
    assert!(cleared.contains("read no OpenSSL configuration"), "{cleared}");
    place.write("fips", "openssl_conf = i\n[i]\nalg_section = a\n[a]\ndefault_properties = fips=yes\n");
    let fips = run(&place, &["--base", "fips"], &["openssl", "list", "-providers"]).err;
    assert!(fips.contains("fips=yes"), "{fips}");
}

#[test]
fn keys_can_be_in_a_service_of_the_run() {
    let place = Place::new();
    let script = "test -S $MILLSTREAM_SOCKET && grep -q 'isolated = yes' $OPENSSL_CONF \
                  && grep -q \"socket = $MILLSTREAM_SOCKET\" $OPENSSL_CONF && MILL status --socket $MILLSTREAM_SOCKET";
    let script = script.replace("MILL ", &format!("{MILLSTREAM} "));
    let mut line = command_line(&place, &["--isolated"], &["sh", "-c", &script]);
    // No other service can be found there.
    line.env("XDG_RUNTIME_DIR", place.path("")).env("HOME", place.path(""));
    let shown = ended(&mut line, b"");
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    let status = String::from_utf8(shown.out).unwrap();
    // One for keys that encrypt, one for private keys.
    assert!(status.contains("2 workers"), "{status}");
    assert!(shown.err.contains("started for this run"), "{}", shown.err);
    assert_eq!(place.names(), [""; 0], "the service is gone, and its folder");
    run(&place, &["--socket", "/nowhere/socket"], &["true"]).bad(1, &["/nowhere/socket"]);
}

/// Returns the providers that `openssl` lists for a configuration that extends `base`.
fn providers(place: &Place, base: &str) -> String {
    place.write("base", base);
    let line = format!("openssl-conf --base base --module {}", module().display());
    place.write("made", place.words(&line).good());
    let mut list = Command::new("openssl");
    list.args(["list", "-providers"]).env("OPENSSL_CONF", place.path("made")).current_dir(place.path(""));
    let mut random = Command::new("openssl");
    random.args(["rand", "-hex", "4"]).env("OPENSSL_CONF", place.path("made"));
    assert_eq!(ended(&mut random, b"").text().len(), 9);
    ended(&mut list, b"").text()
}

#[test]
fn the_configuration_extends_whatever_there_is() {
    let place = Place::new();
    let legacy = module();
    let legacy = legacy.display();
    let shapes = [
        ("nothing", String::new(), vec!["default", "millstream"]),
        ("another name", "openssl_conf = mine\n[mine]\nssl_conf = s\n[s]\nsystem_default = t\n[t]\nMinProtocol = TLSv1.2\n".into(), vec!["default", "millstream"]),
        (
            "providers of its own",
            format!(
                "openssl_conf = i # comment\n[ i ]\nproviders = p\n[p]\ndefault = d\nold = o\n[o]\nmodule = {legacy}\n\
                 activate = 1\n[d]\nactivate=1\n"
            ),
            vec!["default", "old", "millstream"],
        ),
        (
            "the template of distributions, with nothing activated",
            "openssl_conf = i\n[i]\nproviders = p\n[p]\ndefault = d\n[d]\n# activate = 1\n".into(),
            vec!["default", "millstream"],
        ),
        (
            "what was made before",
            "openssl_conf = i\n[i]\nproviders = p\nalg_section = a\n[a]\ndefault_properties = ?provider=millstream\n\
             [p]\nmillstream = m\n[m]\nmodule = /gone\nactivate = 1\n"
                .into(),
            vec!["default", "millstream"],
        ),
        (
            "variables and joined lines",
            "name = mine\nopenssl_conf = ${name}\\\n_init\n[ mine_init ]\nproviders = \"the\"_$name\n[the_mine]\n".into(),
            vec!["default", "millstream"],
        ),
    ];
    for (what, base, mut expected) in shapes {
        let list = providers(&place, &base);
        let is_name = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
        let mut names: Vec<&str> = list.lines().filter(is_name).map(str::trim).collect();
        names.sort();
        expected.sort();
        assert_eq!(names, expected, "{what}: {list}");
    }
}

/// Somebody who activates other providers and not the default one has decided so.
#[test]
fn the_default_provider_is_not_forced_on_anybody() {
    let place = Place::new();
    let base = "openssl_conf = i\n[i]\nproviders = p\n[p]\nbase = b\ndefault = d\n[b]\nactivate = 1\n[d]\n";
    place.write("base", base);
    let line = format!("openssl-conf --append --base base --module {}", module().display());
    let made = place.words(&line).text();
    assert!(made.contains("[p]\nmillstream = millstream_provider\n"), "{made}");
    assert!(made.contains("properties = provider!=millstream\n") && !made.contains("[d]"), "{made}");
}

#[test]
fn properties_of_the_base_stay() {
    let place = Place::new();
    let made = |base: &str, options: &str| {
        place.write("base", base);
        let line = format!("openssl-conf {options} --append --base base --module {}", module().display());
        place.words(&line).text()
    };
    let base = "openssl_conf = i\n[i]\nalg_section = a\nrandom = r\n[r]\nproperties = fips=yes\n[a]\n";
    let demanding = format!("{base}default_properties = fips=yes\n");
    let text = made(&demanding, "");
    assert!(text.contains("[a]\ndefault_properties = fips=yes,?millstream.accelerated=yes\n"), "{text}");
    assert!(!text.contains("[r]") && !text.contains(".include"), "{text}");
    let mode = made(&format!("{base}fips_mode = yes\n"), "");
    assert!(mode.contains("default_properties = fips=yes,?millstream.accelerated=yes\n"), "{mode}");
    let isolated = made("", "--isolated");
    assert!(isolated.contains("= ?millstream.accelerated=yes,?millstream.isolated=yes\n"), "{isolated}");
    let named = made("", "--socket sock --tally counts");
    let lines = [("isolated", "yes".into()), ("socket", place.path("sock")), ("tally", place.path("counts"))];
    for (key, value) in lines.map(|(key, value): (_, PathBuf)| (key, value)) {
        assert!(named.contains(&format!("{key} = {}\n", value.display())), "{named}");
    }
    let node = made("openssl_conf = i\nnodejs_conf = n\n[i]\n[n]\n", "");
    assert!(node.contains("[i]\nproviders") && node.contains("[n]\nproviders"), "{node}");
}

#[test]
fn names_with_special_letters_are_read_as_they_are() {
    let place = Place::new();
    for name in ["a b", "a#b", "a$HOME", "a'b\"c`", "a\\b", " ä "] {
        let module_path = place.path(name);
        std::fs::copy(module(), &module_path).unwrap();
        let args = ["openssl-conf", "--base", "/dev/null", "--module", module_path.to_str().unwrap()];
        place.write("made", place.millstream(args).good());
        let mut list = Command::new("openssl");
        list.args(["list", "-providers"]).env("OPENSSL_CONF", place.path("made"));
        let shown = ended(&mut list, b"").text();
        assert!(shown.contains("Legacy"), "{name}: {shown}");
    }
    let line = place.path("a\nb");
    std::fs::copy(module(), &line).unwrap();
    place
        .millstream(["openssl-conf", "--module", line.to_str().unwrap()])
        .bad(2, &["can't be written", "rename it"]);
    place.words("openssl-conf --module /gone.so").bad(1, &["/gone.so", "--module"]);
}
