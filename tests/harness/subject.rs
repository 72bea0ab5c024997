//! Subjects: the programs of `tests/subjects`, built when they are first needed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::{program, run, target, tool};

/// The folder of the subjects' sources.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/subjects");

/// The profile of the programs in Rust, whatever that of the tests is. Clippy has AWS-LC compiled in it.
const PROFILE: &str = "checked";

/// Flags of all programs in C.
const C: &[&str] = &["-O2", "-Wall", "-Wextra", "-Werror", "-pthread"];

/// The version that the wheel is pinned to, so that the OpenSSL in it does not change by itself.
const WHEEL: &str = "cryptography==48.0.0";

/// Python's library for PKCS #11, pinned in the same way.
const PYTHON_PKCS11: &str = "python-pkcs11==0.10.1";

/// Returns the program that does the work of `tests/subjects/rust/src/lib.rs` with one of several libraries.
///
/// # Panics
/// When it can't be built, or its name is not known.
#[track_caller]
pub fn subject(name: &str) -> Command {
    let source = |path: &str| Path::new(SOURCES).join(path);
    match name {
        "ring" | "aws-lc" | "rustcrypto" => Command::new(rust(name)),
        "ring-stripped" | "aws-lc-stripped" | "rustcrypto-stripped" => Command::new(stripped(name)),
        "go" => Command::new(go(name, "")),
        "go-stripped" => Command::new(go(name, "-s -w")),
        "java" => java(&source("java/Subject.java")),
        "node" => with(Command::new(tool("node")), &source("node/subject.js")),
        "python" => with(Command::new(program("python3")), &source("python/subject.py")),
        "python-wheel" => with(Command::new(wheel()), &source("python/subject.py")),
        "nss" => Command::new(c(name, &source("c/nss.c"), &["nss"])),
        "gnutls" => Command::new(c(name, &source("c/gnutls.c"), &["gnutls"])),
        "gcrypt" => Command::new(c(name, &source("c/gcrypt.c"), &["libgcrypt"])),
        "sodium" => Command::new(c(name, &source("c/sodium.c"), &["libsodium"])),
        other => panic!("there is no subject {other}"),
    }
}

/// Returns a hard program, of `tests/subjects/hard`.
///
/// # Panics
/// When it can't be built.
#[track_caller]
pub fn hard(name: &str) -> Command {
    let source = Path::new(SOURCES).join("hard").join(name).with_extension("c");
    let source = source.to_str().expect("the workspace's path is UTF-8");
    // The program runs in 32-bit mode, and needs no libraries for that.
    let bits32: &[&str] =
        &["-m32", "-ffreestanding", "-fno-stack-protector", "-fno-pic", "-nostdlib", "-static"];
    let build = |name: &str, flags: &[&str]| {
        made(name, &[&Path::new(SOURCES).join("hard")], |out| {
            let mut cc = Command::new(tool("cc"));
            cc.args(C).args(flags).arg(source).arg("-o").arg(out);
            cc
        })
    };
    match name {
        "bits32" => Command::new(build("hard-bits32", bits32)),
        "loads" => {
            let library = source.replace("loads.c", "library.c");
            let copies = ["hard-library-1.so", "hard-library-2.so"].map(|copy| {
                made(copy, &[&Path::new(SOURCES).join("hard")], |out| {
                    let mut cc = Command::new(tool("cc"));
                    cc.args(C).args(["-shared", "-fPIC", &library]).arg("-o").arg(out);
                    cc
                })
            });
            let mut loads = Command::new(build("hard-loads", &[]));
            loads.args(copies);
            loads
        }
        _ => Command::new(build(&format!("hard-{name}"), &[])),
    }
}

fn with(mut command: Command, script: &Path) -> Command {
    command.arg(script);
    command
}

/// Returns the folder in which built programs are kept between runs.
fn folder() -> PathBuf {
    let folder = target().join("subjects");
    std::fs::create_dir_all(&folder).expect("the target folder can be written to");
    folder
}

/// Locks out others while one thing is built.
fn locked(name: &str) -> File {
    let lock =
        File::create(folder().join(format!("{name}.lock"))).expect("the target folder can be written to");
    lock.lock().expect("locks work");
    lock
}

/// Returns something that a command makes from sources, and makes it unless it is newer than they are.
#[track_caller]
fn made(name: &str, sources: &[&Path], command: impl FnOnce(&Path) -> Command) -> PathBuf {
    let out = folder().join(name);
    let _lock = locked(name);
    let time = |path: &Path| path.metadata().and_then(|file| file.modified()).ok();
    let changed = sources.iter().filter_map(|source| newest(source)).max();
    if time(&out) <= changed {
        // Another process may be executing the existing file.
        let new = folder().join(format!("{name}.new"));
        run(&mut command(&new), b"").good();
        std::fs::rename(&new, &out).expect("it was made");
    }
    out
}

/// Returns when a file, or any file in a folder, was changed.
fn newest(path: &Path) -> Option<std::time::SystemTime> {
    let inside = std::fs::read_dir(path).into_iter().flatten().flatten();
    let times = inside.filter_map(|entry| newest(&entry.path()));
    times.chain(path.metadata().and_then(|file| file.modified())).max()
}

#[track_caller]
fn rust(name: &str) -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| crate::artifacts::cargo_build_in(PROFILE, &["millstream-subjects"]));
    target().join(PROFILE).join(format!("subject-{name}"))
}

#[track_caller]
fn stripped(name: &str) -> PathBuf {
    let whole = rust(name.trim_end_matches("-stripped"));
    made(name, &[&whole], |out| {
        let mut strip = Command::new(program("strip"));
        strip.arg("-o").arg(out).arg(&whole);
        strip
    })
}

/// Builds a Go program. Like all Go programs without C in them, it is static.
#[track_caller]
fn go(name: &str, linker: &str) -> PathBuf {
    let source = Path::new(SOURCES).join("go");
    made(name, &[&source], |out| {
        let mut go = Command::new(tool("go"));
        go.args(["build", "-ldflags", linker, "-o"]).arg(out).arg(".").current_dir(&source);
        go.env("CGO_ENABLED", "0").env("GOFLAGS", "").env("GOTOOLCHAIN", "local");
        go
    })
}

/// Returns the program of `tests/pkcs11/go`, with Go's library for PKCS #11.
///
/// # Panics
/// When it can't be built.
#[track_caller]
pub fn crypto11() -> Command {
    Command::new(go_module("crypto11", "pkcs11/go", "1"))
}

/// Returns the program of `tests/tls/go`, a client with Go's own TLS.
///
/// # Panics
/// When it can't be built.
#[track_caller]
pub fn go_tls_client() -> Command {
    Command::new(go_module("go-tls-client", "tls/go", "0"))
}

/// Builds the Go program in a folder of this package, with C in it or without.
#[track_caller]
fn go_module(name: &str, folder: &str, cgo: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    made(name, &[&source], |out| {
        let mut go = Command::new(tool("go"));
        go.args(["build", "-o"]).arg(out).arg(".").current_dir(&source);
        go.env("CGO_ENABLED", cgo).env("GOFLAGS", "").env("GOTOOLCHAIN", "local");
        go
    })
}

#[track_caller]
fn java(source: &Path) -> Command {
    let classes = made("java", &[source], |out| {
        let mut javac = Command::new(tool("javac"));
        let _ = std::fs::remove_dir_all(out.with_extension(""));
        javac.arg("-d").arg(out).arg(source);
        javac
    });
    let mut java = Command::new(tool("java"));
    java.arg("-cp").arg(classes).arg("Subject");
    java
}

/// Returns Python with the wheel of `cryptography`, which brings its own OpenSSL.
#[track_caller]
fn wheel() -> PathBuf {
    python_with(WHEEL)
}

/// Returns Python with its library for PKCS #11.
///
/// # Panics
/// When that can't be had.
#[track_caller]
pub fn python_pkcs11() -> Command {
    Command::new(python_with(PYTHON_PKCS11))
}

/// Returns a Python with one package that Debian does not have.
#[track_caller]
fn python_with(package: &str) -> PathBuf {
    let folder = folder().join(package);
    let _lock = locked(package);
    let stamp = folder.join("complete");
    if !stamp.exists() {
        let _ = std::fs::remove_dir_all(&folder);
        run(Command::new(program("python3")).args(["-m", "venv"]).arg(&folder), b"").good();
        let mut pip = Command::new(folder.join("bin/pip"));
        run(pip.args(["install", "--quiet", "--disable-pip-version-check", package]), b"").good();
        File::create(stamp).expect("the folder is ours");
    }
    folder.join("bin/python3")
}

#[track_caller]
fn c(name: &str, source: &Path, packages: &[&str]) -> PathBuf {
    made(name, &[source, &source.with_file_name("subject.h")], |out| {
        let mut config = Command::new(tool("pkg-config"));
        let found = run(config.args(["--cflags", "--libs"]).args(packages), b"");
        assert_eq!(found.code, Some(0), "{}: install the packages of `cargo xtask setup`", found.err);
        let flags = String::from_utf8(found.out).expect("flags are text");
        let mut cc = Command::new(tool("cc"));
        cc.args(C).arg("-Wno-unused-parameter").arg(source).arg("-o").arg(out).args(flags.split_whitespace());
        cc
    })
}
