//! `millstream doctor` on machines that lack something.

mod common;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use common::{Ended, MILLSTREAM, Place, ended};
use serde_json::Value;

/// Runs it with these variables, where no other names a service or a provider.
fn doctor(place: &Place, line: &str, variables: &[(&str, &str)]) -> Ended {
    let mut command = Command::new("env");
    for name in ["MILLSTREAM_SOCKET", "MILLSTREAM_PROVIDER", "OPENSSL_CONF"] {
        command.args(["-u", name]);
    }
    command.args(variables.iter().map(|(name, value)| format!("{name}={value}")));
    command.args([MILLSTREAM, "doctor"]).args(line.split_whitespace()).current_dir(place.path(""));
    ended(&mut command, b"")
}

/// Returns the state, what was found, and the remedy of each check, by its name.
fn checks(ended: &Ended) -> BTreeMap<String, (String, String, String)> {
    let value: Value = serde_json::from_slice(&ended.out).unwrap();
    assert_eq!(value["version"], 1);
    let text = |check: &Value, field: &str| check[field].as_str().unwrap_or_default().to_owned();
    let all = value["checks"].as_array().unwrap().iter();
    all.map(|check| {
        (text(check, "check"), (text(check, "state"), text(check, "found"), text(check, "remedy")))
    })
    .collect()
}

#[test]
fn the_machine_has_kernels_that_answer_right() {
    let place = Place::new();
    let found = doctor(&place, "--json machine", &[]);
    assert_eq!(found.code, Some(0), "{}", found.err);
    let all = checks(&found);
    assert_eq!(all["answers"].0, "ok", "{all:?}");
    assert!(all["processor"].1.contains("aes-gcm on "), "{all:?}");
    assert!(all.contains_key("Linux") && !all.contains_key("service"), "{all:?}");

    let masked = checks(&doctor(&place, "--json machine", &[("MILLSTREAM_HWCAP", "-crypto")]));
    let (state, what, remedy) = &masked["processor"];
    assert_eq!(state, "warn", "{masked:?}");
    let hardware = millstream_cpu::Features::hardware();
    let best = millstream_engines::gcm::GCM.best(hardware).kernel().name;
    assert!(all["processor"].1.contains(&format!("aes-gcm on {best}")), "{all:?}");
    assert!(!what.contains(best) && remedy.contains("MILLSTREAM_HWCAP"), "{masked:?}");

    let wrong = doctor(&place, "machine", &[("MILLSTREAM_HWCAP", "-nonsense")]);
    let text = String::from_utf8_lossy(&wrong.out).into_owned();
    assert_eq!((wrong.code, wrong.err.as_str()), (Some(1), ""), "{text}");
    assert!(text.contains("fail  processor") && text.contains("nonsense") && text.contains("-> "), "{text}");
}

#[test]
fn a_service_is_missed_where_it_was_asked_for() {
    let place = Place::new();
    let text = |ended: &Ended| String::from_utf8_lossy(&ended.out).into_owned();
    for (line, variables) in [
        ("service --socket nowhere", &[][..]),
        ("--socket nowhere service machine", &[]),
        ("service", &[("MILLSTREAM_SOCKET", "nowhere")]),
    ] {
        let found = doctor(&place, line, variables);
        assert_eq!((found.code, found.err.as_str()), (Some(1), ""), "{line}");
        let said = text(&found);
        assert!(
            said.contains("fail  service") && said.contains("(nothing of that name is there)"),
            "{line}: {said}"
        );
        assert!(said.contains("-> start one with `millstream serve`"), "{line}: {said}");
    }
    place.write("policy", "[default]\nqueues = \"many\"\n");
    let found = doctor(&place, "--json service --socket nowhere --policy policy", &[]);
    let (state, what, _) = &checks(&found)["policy"];
    assert!(state == "fail" && what.contains("line 2"), "{what}");
    place.words("doctor nonsense").bad(2, &["nonsense", "isolation"]);
}

#[test]
fn a_service_that_runs_is_found_and_grants() {
    let place = Place::new();
    place.write("policy", "[default]\nmax_grants = 4\n");
    let mut command = Command::new(MILLSTREAM);
    command.args(["serve", "-q", "--ready-fd", "1", "--socket", "s", "--policy", "policy"]);
    let mut child = command.stdout(Stdio::piped()).current_dir(place.path("")).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let granted = checks(&doctor(&place, "--json service --socket s --policy policy", &[]));
    place.write("policy", "[default]\nmax_grants = 0\n");
    place.words("reload --socket s").good();
    let refused = doctor(&place, "--json service --socket s", &[]);
    child.kill().unwrap();
    child.wait().unwrap();
    for check in ["service", "grant", "policy"] {
        assert_eq!(granted[check].0, "ok", "{granted:?}");
    }
    let told = checks(&refused);
    assert_eq!((refused.code, told["service"].0.as_str()), (Some(1), "ok"), "{told:?}");
    let (state, what, remedy) = &told["grant"];
    assert!(state == "fail" && what.contains("refused") && remedy.contains("policy"), "{told:?}");
}

#[test]
fn a_worker_is_tried() {
    let place = Place::new();
    let found = doctor(&place, "--json isolation", &[]);
    let all = checks(&found);
    assert_eq!(found.code, Some(0), "{all:?}");
    assert!(all["sandbox"].1.contains("seccomp"), "{all:?}");
    assert!(
        all["key memory"].1.contains("memory") || all["key memory"].1.contains("memfd_secret"),
        "{all:?}"
    );
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn a_provider_that_is_none_is_a_fault() {
    let place = Place::new();
    place.write("empty.so", "");
    let found = doctor(&place, "--json openssl --module empty.so", &[]);
    let all = checks(&found);
    assert_eq!((found.code, all["provider"].0.as_str()), (Some(1), "ok"), "{all:?}");
    assert_eq!(all["loading"].0, "fail", "{all:?}");
    assert!(all["libcrypto"].1.contains("OpenSSL 3"), "{all:?}");
    let gone = doctor(&place, "--json openssl --module gone.so", &[]);
    let (state, what, remedy) = &checks(&gone)["provider"];
    assert!(state == "fail" && what.contains("gone.so") && remedy.contains("--module"), "{what} {remedy}");
    // A program that is no OpenSSL.
    place.write("openssl", "#!/bin/sh\necho LibreSSL 3.8\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path("openssl"), mode).unwrap();
    let path = format!("{}:/usr/bin:/bin", place.path("").display());
    let other = checks(&doctor(&place, "--json openssl", &[("PATH", &path)]));
    assert!(other["openssl"].0 == "fail" && other["openssl"].1.contains("LibreSSL"), "{other:?}");
}
