//! What is shipped beside the program can be used.

use std::path::{Path, PathBuf};
use std::process::Command;

use millstream_broker::rules::Policy;

pub const TRIALS: &[(&str, fn())] =
    &[("the example policy can be used", example_policy), ("systemd understands the units", units)];

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist").join(name)
}

fn example_policy() {
    Policy::load(&shipped("policy.toml")).unwrap();
    // What is commented out can be used too, but for its names, which this machine need not know.
    let mut text = std::fs::read_to_string(shipped("policy.toml")).unwrap();
    for name in ["\"www-data\"", "\"users\"", "\"adm\""] {
        assert!(text.contains(name));
        text = text.replace(name, "\"root\"");
    }
    let examples: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("#:")).collect();
    assert!(examples.len() > 5);
    let text = format!("{text}\n{}", examples.join("\n"));
    Policy::parse(&text, Path::new("policy.toml")).unwrap();
}

fn units() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        println!("SKIPPED units: there is no systemd-analyze");
        return;
    }
    // The program need not be installed to see whether the rest is right.
    let directory = tempfile::tempdir().unwrap();
    for name in ["millstream.service", "millstream.socket"] {
        let text = std::fs::read_to_string(shipped(name)).unwrap();
        let text = text.replace("/usr/bin/millstream", "/bin/true");
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    let output = Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .arg(directory.path().join("millstream.service"))
        .arg(directory.path().join("millstream.socket"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let ours: Vec<&str> = said.lines().filter(|line| line.contains("millstream")).collect();
    assert!(output.status.success() && ours.is_empty(), "{said}");
}
