//! `millstream run`: programs that get the provider in no other way.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use millstream_tests::built;

/// A program that was run, and the report on it.
struct Ran {
    out: Vec<u8>,
    report: String,
}

fn run(options: &[&str], command: &[&str]) -> Ran {
    run_with(&built().provider, options, command)
}

fn run_with(module: &Path, options: &[&str], command: &[&str]) -> Ran {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let report: PathBuf = folder.path().join("report");
    let mut line = Command::new(&built().millstream);
    line.args(["run", "--json", "--module"]).arg(module).arg("--report").arg(&report);
    line.args(options).arg("--").args(command);
    // The program must find no service except that of the run.
    line.env_remove("MILLSTREAM_SOCKET").env_remove("OPENSSL_CONF").env("XDG_RUNTIME_DIR", folder.path());
    let Output { status, stdout, stderr } = line.output().unwrap();
    assert!(status.success(), "{command:?}: {status}: {}", String::from_utf8_lossy(&stderr));
    Ran { out: stdout, report: std::fs::read_to_string(report).unwrap() }
}

impl Ran {
    #[track_caller]
    fn says(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.report.contains(part), "no {part} in {}", self.report);
        }
    }
}

const KEY: &str = "000102030405060708090a0b0c0d0e0f";

fn encrypting() -> Vec<&'static str> {
    vec!["openssl", "enc", "-aes-128-cbc", "-K", KEY, "-iv", KEY, "-in", "/bin/sh"]
}

fn plainly() -> Vec<u8> {
    let command = encrypting();
    let mut line = Command::new(command[0]);
    line.args(&command[1..]).env_remove("OPENSSL_CONF").output().unwrap().stdout
}

#[test]
fn a_program_computes_the_same_and_it_is_told_by_whom() {
    let ran = run(&[], &encrypting());
    assert!(ran.out == plainly(), "another ciphertext");
    ran.says(&["\"algorithm\": \"aes-128-cbc\"", "\"place\": \"in-process\"", "\"nothing\": null"]);
    assert!(!ran.report.contains("\"isolated\""), "{}", ran.report);
}

/// stunnel asks for providers like this in all that it does, and other programs ask for FIPS or its absence.
#[test]
fn who_demands_another_provider_only_is_reached() {
    let dgst = |query| run(&[], &["openssl", "dgst", "-sha256", "-propquery", query, "/bin/sh"]).report;
    for query in ["provider!=fips", "?fips=yes"] {
        assert!(dgst(query).contains("\"algorithm\": \"sha256\""), "{query}: {}", dgst(query));
    }
    for query in ["provider=default", "provider!=millstream", "-millstream.accelerated,provider!=millstream"]
    {
        assert!(!dgst(query).contains("\"algorithm\": \"sha256\""), "{query}: {}", dgst(query));
    }
}

#[test]
fn its_key_can_be_out_of_its_reach() {
    let ran = run(&["--isolated"], &encrypting());
    assert!(ran.out == plainly(), "another ciphertext");
    ran.says(&["\"algorithm\": \"aes-128-cbc\"", "\"place\": \"isolated\"", "\"own\": true"]);
    assert!(!ran.report.contains("\"in-process\""), "{}", ran.report);
}

#[test]
fn what_it_starts_as_another_user_counts_too() {
    if !rustix::process::geteuid().is_root() {
        millstream_testkit::skip("a program that changes its user: this user is not root");
        return;
    }
    // If the build lies in a folder that others can't enter, the module has to be elsewhere.
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).unwrap();
    let module = folder.path().join("millstream.so");
    std::fs::copy(&built().provider, &module).unwrap();
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let command: Vec<&str> = nobody.into_iter().chain(encrypting()).collect();
    for (options, place) in [(&[][..], "in-process"), (&["--isolated"][..], "isolated")] {
        let ran = run_with(&module, options, &command);
        assert!(ran.out == plainly(), "another ciphertext");
        ran.says(&[&format!("\"place\": \"{place}\"")]);
    }
}

#[test]
fn processes_at_once_count_together() {
    let script = "for i in 1 2 3 4 5 6; do openssl dgst -sha256 /bin/sh > /dev/null & done; wait";
    let bytes = 6 * std::fs::metadata("/bin/sh").unwrap().len();
    run(&[], &["sh", "-c", script]).says(&["\"operations\": 6", &format!("\"bytes\": {bytes}")]);
}

/// Node.js has its own names for the configuration, and some builds have their own OpenSSL.
#[test]
fn node_is_reached() {
    if Command::new("node").arg("--version").output().is_err() {
        millstream_testkit::skip("Node.js: it is not installed");
        return;
    }
    let script =
        "const h = require('crypto').createHash('sha256'); console.log(h.update('abc').digest('hex'))";
    let ran = run(&[], &["node", "-e", script]);
    assert!(ran.out.starts_with(b"ba7816bf8f01cfea"), "{}", String::from_utf8_lossy(&ran.out));
    ran.says(&["\"algorithm\": \"sha256\""]);
}
