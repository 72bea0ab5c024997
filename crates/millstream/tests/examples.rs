//! The programs of the cookbook do what they say. `service_keys.rs` has a service, and so the one that needs it.

#[allow(dead_code, reason = "the functions that it calls are tested")]
#[path = "../examples/files.rs"]
mod files;
#[path = "../examples/packets.rs"]
mod packets;

use std::process::Command;

#[test]
fn packets_are_sealed_many_at_a_time() {
    packets::main().unwrap();
}

#[test]
fn files_have_the_digests_that_sha256sum_prints() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<_> = [0, 1, 64 * 1024, 64 * 1024 + 1, 1 << 20, 55, 56, 300_000]
        .into_iter()
        .enumerate()
        .map(|(number, bytes): (usize, usize)| {
            let name = folder.path().join(number.to_string());
            std::fs::write(&name, vec![number as u8; bytes]).unwrap();
            name
        })
        .collect();
    let output = Command::new("sha256sum").args(&names).output().unwrap();
    assert!(output.status.success());
    let expected = String::from_utf8(output.stdout).unwrap();
    let expected: Vec<&str> = expected.lines().map(|line| line.split(' ').next().unwrap()).collect();
    let digests: Vec<String> = files::digests(&names)
        .unwrap()
        .iter()
        .map(|digest| digest.iter().map(|byte| format!("{byte:02x}")).collect())
        .collect();
    assert_eq!(digests, expected);
}
