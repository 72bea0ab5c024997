//! An interrupted command leaves nothing behind and says so by its exit code.

mod common;

use std::process::{Command, Stdio};
use std::time::Duration;

use common::{MILLSTREAM, Place, bytes};

/// Starts an encryption that waits for more input, and ends it with a signal.
fn interrupted(place: &Place, signal: &str, output: &str) -> Option<i32> {
    // A signal that the tests' caller ignores (`nohup`) would stay ignored, and the wait below would not end.
    let mut child = Command::new("env")
        .args(["--default-signal", MILLSTREAM, "encrypt", "-k", "key", "-o", output])
        .current_dir(place.path(""))
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, &bytes(4 << 20)).unwrap();
    // The first data is on its way to the disk by now, and there is more to come.
    std::thread::sleep(Duration::from_millis(100));
    assert!(child.try_wait().unwrap().is_none(), "ended before the signal");
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    let status = child.wait().unwrap();
    drop(stdin);
    status.code()
}

#[test]
fn nothing_is_left_behind() {
    let place = Place::new();
    place.key("key", bytes(32));
    place.write("old", "old");
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        for output in ["new", "old"] {
            assert_eq!(interrupted(&place, signal, output), Some(code), "{signal}");
            assert_eq!(place.names(), ["key", "old"], "{signal}");
            assert_eq!(place.read("old"), b"old", "{signal}");
        }
    }
}

#[test]
fn not_even_when_killed() {
    let place = Place::new();
    place.key("key", bytes(32));
    place.write("old", "old");
    assert_eq!(interrupted(&place, "-KILL", "old"), None);
    let names = place.names();
    if names.len() == 3 {
        millstream_testkit::skip("a kill -9 that leaves nothing: this file system has no O_TMPFILE");
    } else {
        assert_eq!(names, ["key", "old"]);
    }
    assert_eq!(place.read("old"), b"old");
}

#[test]
fn a_large_file_in_place_survives_an_interrupt_at_any_time() {
    let place = Place::new();
    place.key("key", bytes(32));
    let data = bytes(64 << 20);
    place.write("data", &data);
    let mut interrupted = 0;
    for milliseconds in [0, 5, 10, 20, 40] {
        let mut child = Command::new(MILLSTREAM)
            .args(["encrypt", "-k", "key", "-i", "data", "-o", "data"])
            .current_dir(place.path(""))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        let status = child.wait().unwrap();
        assert_eq!(place.names(), ["data", "key"]);
        if status.success() {
            place.words("decrypt -k key -i data -o data").good();
        } else {
            // Until the handler is installed, the signal itself ends the process.
            assert!(matches!(status.code(), Some(130) | None), "{status}");
            interrupted += 1;
        }
        assert!(place.read("data") == data, "after {milliseconds} ms");
    }
    println!("{interrupted} of 5 runs were interrupted");
}

#[test]
fn a_signal_that_the_caller_ignores_stays_ignored() {
    let place = Place::new();
    place.key("key", bytes(32));
    let shell = format!("trap '' HUP; {MILLSTREAM} encrypt -k key -o new & sleep 0.2; kill -HUP $!; wait $!");
    let ended = place.run("sh", ["-c", &shell], b"");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(place.names(), ["key", "new"]);
}

#[test]
fn the_terminal_gets_its_echo_back() {
    let place = Place::new();
    place.write("data", "data");
    let shell = format!(
        "stty echo; (sleep 0.4; kill -INT $(cat pid)) & \
         sh -c 'echo $$ > pid; exec {MILLSTREAM} encrypt -i data -o new'; echo code $?; stty -a"
    );
    let ended = place.run("script", ["-qec", &shell, "/dev/null"], b"");
    let shown = String::from_utf8_lossy(&ended.out).into_owned();
    assert!(shown.contains("Enter passphrase: ") && shown.contains("code 130"), "{shown}");
    assert!(shown.contains(" echo ") && !shown.contains("-echo "), "{shown}");
    assert_eq!(place.names(), ["data", "pid"]);
}

/// Without `/proc` a file can't be given its name later, so it has a hidden one from the start.
#[test]
fn a_hidden_name_is_removed_too() {
    let place = Place::new();
    place.key("key", bytes(32));
    let shell = format!(
        "mount -t tmpfs none /proc && mkfifo in || exit 99; sleep 9 > in & sleeper=$!; \
         {MILLSTREAM} encrypt -k key -i in -o new & pid=$!; sleep 0.3; ls -A; \
         kill -TERM $pid; wait $pid; echo code $?; ls -A; kill $sleeper"
    );
    let ended = place.run("unshare", ["-rm", "sh", "-c", &shell], b"");
    let out = String::from_utf8(ended.out).unwrap();
    if ended.code == Some(0) {
        let (before, after) = out.split_once("code 143\n").unwrap_or_else(|| panic!("{out}{}", ended.err));
        assert!(before.starts_with(".millstream-"), "{before}");
        assert_eq!(after, "in\nkey\n");
    } else {
        millstream_testkit::skip(&format!("a hidden name: this user may not mount: {}", ended.err.trim()));
    }
}
