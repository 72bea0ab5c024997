//! `millstream backup`, `seal` and `open` from outside: in a folder, killed at any moment, and read by another program.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{MILLSTREAM, Place};

/// A stream of some megabytes that does not repeat.
fn stream(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

fn place() -> Place {
    let place = Place::new();
    place.key("key", [7; 32]);
    place.key("other", [8; 32]);
    place
}

#[test]
fn a_stream_goes_and_comes_back_by_each_way() {
    let place = place();
    let bytes = stream(700_000);
    place.write("in", &bytes);
    let put = ["backup", "put", "--segment", "256K", "--memory", "2M", "-k", "key"];
    let with = |more: &[&str]| place.millstream(put.iter().chain(more));
    with(&["store/file", "in"]).good();
    with(&["store/command", "--", "cat", "in"]).good();
    place.run(MILLSTREAM, put.iter().chain(&["store/stdin"]), &bytes).good();
    for name in ["store/file", "store/command", "store/stdin"] {
        let got = place.millstream(["backup", "get", name, "-k", "key"]);
        assert!(got.good() == bytes, "{name}");
        let part = place.millstream(["backup", "get", name, "-k", "key", "--range", "262000-262999"]);
        assert!(part.out == bytes[262_000..263_000], "{name}");
    }
    place.millstream(["backup", "get", "store/file", "-k", "key", "-o", "out"]).good();
    assert!(place.read("out") == bytes);
    let listed = place.millstream(["backup", "list", "store", "--json"]);
    let listed = listed.text();
    assert_eq!(listed.lines().count(), 3);
    assert!(listed.contains("\"name\":\"store/file\""), "{listed}");
    place
        .millstream(["backup", "get", "store/file", "-k", "other", "-o", "none"])
        .bad(1, &["not the one it was sealed for"]);
    assert!(!place.path("none").exists());
    with(&["store/file", "in"]).bad(1, &["there is a backup of this name already"]);
}

#[test]
fn a_command_that_fails_leaves_no_whole_backup() {
    let place = place();
    place
        .millstream(["backup", "put", "store/a", "-k", "key", "--", "sh", "-c", "echo half; exit 3"])
        .bad(1, &["exit status: 3"]);
    place.millstream(["backup", "get", "store/a", "-k", "key", "-o", "-"]).bad(1, &["was interrupted"]);
    place.millstream(["backup", "resume", "store/a", "-k", "key", "--", "echo", "whole"]).good();
    let got = place.millstream(["backup", "get", "store/a", "-k", "key"]);
    assert_eq!(got.out, b"whole\n");
}

/// Kills `put` and `resume` after random times, until the backup is whole, and begins another one until there were enough kills. What is left
/// after each kill is read: a backup that is not whole must not be taken for one.
fn kill_and_go_on(least: u64) {
    let place = place();
    let bytes = stream(24 << 20);
    place.write("in", &bytes);
    let (mut kills, mut partial, mut round) = (0, 0, 0);
    while kills < least || partial == 0 {
        let name = format!("store/{round}");
        let mut verb = "put";
        let mut kills_of_round = 0;
        loop {
            let mut child = Command::new(MILLSTREAM)
                .args(["backup", verb, &name, "-k", "key", "in", "-q"])
                .args(if verb == "put" { &["--segment", "1M"][..] } else { &[] })
                .current_dir(place.path(""))
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            // The waits differ from kill to kill, and grow, so that an end is reached on a slow machine.
            std::thread::sleep(Duration::from_millis(3 + kills * 17 % 60 + kills_of_round * 8));
            let ended = child.try_wait().unwrap();
            child.kill().unwrap();
            let status = child.wait().unwrap();
            if ended.is_some_and(|status| status.success()) {
                break;
            }
            assert!(ended.is_none(), "{verb} ended by itself: {status}");
            kills += 1;
            kills_of_round += 1;
            let manifest = place.path(&name).join("manifest").exists();
            let got = place.millstream(["backup", "get", &name, "-k", "key", "-o", "-"]);
            if manifest {
                assert!(got.out == bytes, "a whole backup is not whole");
            } else {
                partial += 1;
                assert!(got.code == Some(1) && got.out.is_empty(), "a partial backup was read");
            }
            if place.path(&name).join("draft").exists() || manifest {
                verb = "resume";
            }
        }
        let got = place.millstream(["backup", "get", &name, "-k", "key"]);
        assert!(got.out == bytes, "round {round}");
        place.millstream(["backup", "verify", &name, "-k", "key"]).good();
        std::fs::remove_dir_all(place.path("store")).unwrap();
        round += 1;
    }
}

#[test]
fn a_backup_that_is_killed_goes_on() {
    kill_and_go_on(10);
}

#[test]
#[ignore = "takes long, and runs with `cargo xtask ci --deep`"]
fn long_kills_a_hundred_leave_nothing_lost() {
    kill_and_go_on(100);
}

/// Has the disk refuse a segment, by the limit of files that the shell sets.
#[test]
fn a_disk_that_is_full_interrupts_a_backup() {
    let place = place();
    let bytes = stream(3 << 20);
    place.write("in", &bytes);
    let put = format!(
        "trap '' XFSZ; ulimit -f 1024; exec {MILLSTREAM} backup put store/full -k key --segment 1M in"
    );
    place.run("bash", ["-c", &put], b"").bad(1, &["File too large"]);
    place.millstream(["backup", "get", "store/full", "-k", "key"]).bad(1, &["resume"]);
    place.millstream(["backup", "resume", "store/full", "-k", "key", "in"]).good();
    assert!(place.millstream(["backup", "get", "store/full", "-k", "key"]).good() == bytes);
}

#[test]
fn each_kind_of_key_opens_and_keys_are_rotated() {
    let place = place();
    place.key("pass", "correct horse\n");
    place.millstream(["key", "generate", "x25519", "-o", "pair.pem"]).good();
    let public = place.millstream(["key", "public", "pair.pem"]);
    place.write("pair.pub", &public.out);
    place
        .run(
            MILLSTREAM,
            ["backup", "put", "s/a", "-k", "key", "--passphrase-file", "pass", "--recipient", "pair.pub"],
            b"some bytes",
        )
        .good();
    for options in [["-k", "key"], ["--passphrase-file", "pass"], ["--identity", "pair.pem"]] {
        let got = place.millstream(["backup", "get", "s/a"].iter().chain(&options));
        assert_eq!(got.out, b"some bytes", "{options:?}");
    }
    place.millstream(["backup", "rekey", "s/a", "-k", "key", "--new-key", "other"]).good();
    place
        .millstream(["backup", "get", "s/a", "-k", "key", "-o", "-"])
        .bad(1, &["not the one it was sealed for"]);
    let got = place.millstream(["backup", "get", "s/a", "-k", "other"]);
    assert_eq!(got.out, b"some bytes");
    place.millstream(["backup", "get", "s/a", "--recipient", "pair.pub"]).bad(2, &["--recipient"]);
}

#[test]
fn a_pair_safe_from_quantum_computers_opens() {
    let place = place();
    place.millstream(["keygen", "age", "-o", "identity"]).good();
    let recipient = place.millstream(["key", "public", "identity"]).text();
    // A pipe can be read once.
    for file in ["identity", "pair.pem"] {
        if file == "pair.pem" {
            place.millstream(["key", "generate", "x25519", "-o", file]).good();
        }
        let piped = place.run(MILLSTREAM, ["key", "public", "/dev/stdin"], &place.read(file));
        assert_eq!(piped.out, place.millstream(["key", "public", file]).good(), "{file}: {}", piped.err);
    }
    place.write("recipient", &recipient);
    let text = String::from_utf8(place.read("identity")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(recipient.starts_with("age1pq1") && lines[0] == format!("# public key: {}", recipient.trim()));
    assert!(lines[1].starts_with("AGE-SECRET-KEY-PQ-1") && lines.len() == 2, "{}", lines.len());

    place.write("in", b"kept for years");
    place.millstream(["seal", "--recipient", "recipient", "in", "-o", "sealed"]).good();
    let opened = place.millstream(["open", "--identity", "identity", "sealed"]);
    assert_eq!(opened.good(), b"kept for years");
    place.millstream(["keygen", "age", "-o", "another"]).good();
    place.millstream(["open", "--identity", "another", "sealed"]).bad(1, &["sealed"]);
    // Either half of a pair is refused where the other one belongs.
    place
        .millstream(["seal", "--recipient", "identity", "in", "-o", "no"])
        .bad(1, &["millstream key public"]);
    place.millstream(["open", "--identity", "recipient", "sealed"]).bad(1, &["name the private one"]);
    place.write("cut", &recipient[..recipient.len() - 2]);
    place.millstream(["seal", "--recipient", "cut", "in", "-o", "no"]).bad(1, &["cut", "another length"]);
    assert!(!place.path("no").exists());

    place.run(MILLSTREAM, ["backup", "put", "s/q", "--recipient", "recipient"], b"some bytes").good();
    assert_eq!(place.millstream(["backup", "get", "s/q", "--identity", "identity"]).out, b"some bytes");
}

#[test]
fn files_are_sealed_and_opened() {
    let place = place();
    let bytes = stream(3_000_000);
    place.write("in", &bytes);
    place.millstream(["seal", "-k", "key", "in", "-o", "sealed"]).good();
    place.millstream(["open", "-k", "key", "sealed", "-o", "out"]).good();
    assert!(place.read("out") == bytes);
    let piped = place.run(MILLSTREAM, ["open", "-k", "key"], &place.read("sealed"));
    assert!(piped.out == bytes);
    place
        .millstream(["open", "-k", "other", "sealed", "-o", "none"])
        .bad(1, &["not the one it was sealed for"]);
    // Each command tells the files of the other.
    place.millstream(["decrypt", "-k", "key", "-i", "sealed", "-o", "none"]).bad(2, &["millstream open"]);
    place.millstream(["encrypt", "-k", "key", "-i", "in", "-o", "tink"]).good();
    place.millstream(["open", "-k", "key", "tink", "-o", "none"]).bad(1, &["millstream decrypt"]);
    let mut changed = place.read("sealed");
    changed[2_000_000] ^= 1;
    place.write("changed", &changed);
    place.millstream(["open", "-k", "key", "changed", "-o", "none"]).bad(1, &["does not authenticate"]);
    place.write("cut", &changed[..1_000_000]);
    place.millstream(["open", "-k", "key", "cut", "-o", "none"]).bad(1, &["cut"]);
    assert!(!place.path("none").exists());
}

#[test]
fn files_of_age_are_decrypted() {
    let place = place();
    let run = |program: &str, args: &[&str]| {
        let output = Command::new(program)
            .args(args)
            .current_dir(place.path(""))
            .output()
            .unwrap_or_else(|error| panic!("{program} (Debian's package age): {error}"));
        assert!(output.status.success(), "{program} {args:?}");
        output.stdout
    };
    let bytes = stream(300_000);
    place.write("in", &bytes);
    run("age-keygen", &["-o", "id"]);
    let recipient = String::from_utf8(run("age-keygen", &["-y", "id"])).unwrap();
    for form in [
        &["-r", recipient.trim(), "-o", "file.age", "in"][..],
        &["-a", "-r", recipient.trim(), "-o", "file.age", "in"],
    ] {
        run("age", form);
        place.millstream(["decrypt", "-k", "id", "-i", "file.age", "-o", "out"]).good();
        assert!(place.read("out") == bytes);
        place
            .millstream(["decrypt", "-k", "key", "-i", "file.age", "-o", "none"])
            .bad(1, &["an identity of age"]);
    }
}

/// Debian's Python has an older pyca, so a newer one is installed into `target/venv-pyca` when it isn't there.
fn python() -> PathBuf {
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/venv-pyca");
    let python = venv.join("bin/python3");
    let has = || {
        let import = ["-c", "import cryptography.cobblestone"];
        Command::new(&python).args(import).output().is_ok_and(|output| output.status.success())
    };
    if !has() {
        let run = |command: &mut Command| {
            let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
            assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        };
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv));
        run(Command::new(venv.join("bin/pip")).args(["install", "--quiet", "cryptography>=50"]));
        assert!(has(), "pyca/cryptography is installed in {} and can't be imported", venv.display());
    }
    python
}

#[test]
fn another_program_restores_a_backup() {
    let place = place();
    let bytes = stream(700_000);
    let put = ["backup", "put", "store/a b", "-k", "key", "--segment", "256K", "--memory", "2M"];
    place.run(MILLSTREAM, put, &bytes).good();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/restore.py");
    assert!(std::fs::read_to_string(&script).unwrap().lines().count() <= 40);
    let restore = |key: &str| {
        let mut command = Command::new(python());
        command.arg(&script).args(["store/a b", key]).current_dir(place.path(""));
        command.output().unwrap()
    };
    let restored = restore("key");
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    assert!(restored.stdout == bytes);
    assert!(!restore("other").status.success());
}

/// A file system of btrfs in a file, mounted as long as the test runs.
struct Btrfs<'p>(&'p Place);

impl Drop for Btrfs<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path("mounted")).status();
    }
}

#[test]
fn a_snapshot_of_btrfs_comes_back() {
    let place = place();
    let run = |line: &str| {
        let output = Command::new("sh").args(["-ec", line]).current_dir(place.path("")).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (mounted, why) =
        run("truncate -s 200M image; mkfs.btrfs -q image; mkdir mounted; mount -o loop image mounted");
    if !mounted {
        println!("SKIPPED a_snapshot_of_btrfs_comes_back: btrfs can't be mounted here: {}", why.trim());
        return;
    }
    let _btrfs = Btrfs(&place);
    place.write("in", stream(5_000_000));
    let (made, why) =
        run("btrfs subvolume create mounted/a; cp in mounted/a/in; echo two > 'mounted/a/with space'; \
                           btrfs subvolume snapshot -r mounted/a mounted/now; mkdir mounted/back");
    assert!(made, "{why}");
    place.words("backup put store/now -k key --segment 1M --memory 8M -- btrfs send -q mounted/now").good();
    let line = format!("{MILLSTREAM} backup get store/now -k key | btrfs receive -q mounted/back");
    let (received, why) = run(&line);
    assert!(received, "{why}");
    let (same, why) = run("diff -r mounted/now mounted/back/now");
    assert!(same, "{why}");
}
