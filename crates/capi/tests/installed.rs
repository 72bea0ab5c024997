//! The output of `cargo xtask install`: real C programs are compiled with it, and must do what they should.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use millstream_testkit::install::{install, install_command, root, uninstall};

/// The programs of docs/c, and a line that each prints: known answers of the standards where there are any.
const PROGRAMS: &[(&str, &[&str])] = &[
    (
        "direct",
        &[
            "sha256 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "hmac-sha256 5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            "refused: authentication failed",
            "opened: one small object",
            "encrypted to 32 bytes",
            "decrypted: in pieces of any length",
            "sha512 ddaf35a193617abacc417349ae204131",
        ],
    ),
    (
        "batch",
        &["sealed 32 packets of 100 bytes", "sha256 ba7816bf", "crc32c e3069283", "operation 5: authent"],
    ),
    ("queue", &["inline: 16 of 16 right", "on a thread: 16 of 16 right", "through a queue of 4: 64 of 64"]),
    (
        "isolated",
        &[
            "isolated: 1, state 0",
            "export: the key was refused",
            "opened: out of reach",
            "tag ed9e6fe0",
            "other key: authentication failed",
            "destroyed: there is no such key",
            "made nonce: 12 bytes after the tag's 16",
            "given nonce: the accelerator makes the nonces of this key",
            "opening: the key was not made for this",
        ],
    ),
];

const STRICT: &[&str] = &["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// Returns the folder of the installation, which is made once for all tests.
fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("installed");
        let _ = std::fs::remove_dir_all(&prefix);
        let output = install(&["--prefix", prefix.to_str().unwrap()]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        prefix
    })
}

fn said(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{}\n{out}{err}", output.status)
}

fn pkg_config(arguments: &[&str]) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig")).args(arguments).arg("millstream");
    let output = command.output().expect("pkg-config is installed: see `cargo xtask setup`");
    assert!(output.status.success(), "{}", said(&output));
    String::from_utf8(output.stdout).unwrap().split_whitespace().map(str::to_owned).collect()
}

/// Compiles a program of docs/c; what it is called.
fn compile(name: &str, kind: &str, more: &[String]) -> PathBuf {
    let program = prefix().join(format!("{name}-{kind}"));
    let mut cc = Command::new("cc");
    cc.args(STRICT).arg("-g").arg(root().join(format!("docs/c/{name}.c"))).args(more);
    let output = cc.arg("-o").arg(&program).output().unwrap();
    assert!(output.status.success(), "{name}: {}", said(&output));
    program
}

/// Static linking, as the pkg-config file says it, with nothing shared to fall back to.
fn static_flags() -> Vec<String> {
    let mut flags = pkg_config(&["--cflags"]);
    let libraries = pkg_config(&["--static", "--libs"]);
    let archive = prefix().join("lib/libmillstream.a").display().to_string();
    flags.extend(
        libraries.into_iter().map(|flag| if flag == "-lmillstream" { archive.clone() } else { flag }),
    );
    flags
}

fn shared_flags() -> Vec<String> {
    let mut flags = pkg_config(&["--cflags", "--libs"]);
    flags.push(format!("-Wl,-rpath,{}", prefix().join("lib").display()));
    flags
}

/// The service, as it is installed. It ends with this value.
struct Service {
    child: Child,
    folder: tempfile::TempDir,
}

impl Service {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("run")).unwrap();
        let mut serve = Command::new(prefix().join("bin/millstream"));
        serve.args(["serve", "--quiet", "--socket"]).arg(folder.path().join("run/socket"));
        let child = serve.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let service = Service { child, folder };
        let begin = Instant::now();
        while !service.answers() {
            assert!(begin.elapsed() < Duration::from_secs(30), "the service does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        service
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("run/socket")
    }

    fn answers(&self) -> bool {
        let mut status = Command::new(prefix().join("bin/millstream"));
        status.args(["status", "--json", "--socket"]).arg(self.socket());
        status.output().is_ok_and(|output| output.status.success())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

/// Runs every program, each in the way that `start` makes of it, and looks at what it prints.
fn run_all(kind: &str, flags: &[String], start: impl Fn(&Path) -> Command) {
    let service = Service::start();
    for (name, lines) in PROGRAMS {
        let program = compile(name, kind, flags);
        let mut command = start(&program);
        command.env_remove("MILLSTREAM_SOCKET");
        if *name == "isolated" {
            command.arg(service.socket());
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{name}, {kind}: {}", said(&output));
        let text = String::from_utf8_lossy(&output.stdout);
        for line in *lines {
            assert!(text.lines().any(|said| said.starts_with(line)), "{name}, {kind}: no {line:?} in {text}");
        }
    }
}

#[test]
fn programs_run_with_the_shared_library() {
    run_all("shared", &shared_flags(), |program| Command::new(program));
    // The program really uses the shared library.
    let output = Command::new("ldd").arg(prefix().join("direct-shared")).output().unwrap();
    assert!(said(&output).contains("libmillstream.so.0 => "), "{}", said(&output));
}

#[test]
fn programs_run_with_the_static_library() {
    run_all("static", &static_flags(), |program| Command::new(program));
    let output = Command::new("ldd").arg(prefix().join("direct-static")).output().unwrap();
    assert!(!said(&output).contains("libmillstream"), "{}", said(&output));
}

/// A program without any shared library, linked as the pkg-config file says it.
#[test]
fn a_program_can_be_static_as_a_whole() {
    let mut flags = vec!["-static".to_owned()];
    flags.extend(pkg_config(&["--cflags", "--static", "--libs"]));
    let program = compile("direct", "whole", &flags);
    let output = Command::new(&program).output().unwrap();
    assert!(said(&output).contains("opened: one small object"), "{}", said(&output));
    let output = Command::new("readelf").arg("--dynamic").arg(&program).output().unwrap();
    assert!(!said(&output).contains("NEEDED"), "{}", said(&output));
}

/// C's side under the address and undefined-behaviour sanitizers; what the library allocates is looked through for leaks with it.
#[test]
fn programs_leak_nothing_under_sanitizers() {
    let mut flags = vec!["-fsanitize=address,undefined".to_owned(), "-fno-sanitize-recover=all".to_owned()];
    flags.extend(static_flags());
    // A program that leaks a key is found out, so those that are not found out leak none.
    let leaky = prefix().join("leaky.c");
    std::fs::write(&leaky, LEAKY).unwrap();
    let program = prefix().join("leaky");
    let mut cc = Command::new("cc");
    let output = cc.arg(&leaky).args(&flags).arg("-o").arg(&program).output().unwrap();
    if !output.status.success() {
        millstream_testkit::skip("sanitizers: this C compiler has none: leaks were not looked for");
        return;
    }
    let output = Command::new(&program).output().unwrap();
    assert!(said(&output).contains("millstream_key_new") && !output.status.success(), "{}", said(&output));
    run_all("sanitized", &flags, |program| Command::new(program));
}

const LEAKY: &str = "#include <millstream.h>\n\
    int main(void) {\n\
        static const uint8_t bytes[16] = {7};\n\
        millstream_key *key;\n\
        if (millstream_key_new(MILLSTREAM_ALGORITHM_AES_GCM, bytes, 16, &key)) return 2;\n\
        key = 0;\n\
        return 0;\n\
    }\n";

/// Valgrind 3.19 knows AVX2 and hides what is newer, so this proves nothing of the newer kernels; it sees memory that is read
/// before it was written, which sanitizers don't.
#[test]
fn programs_are_clean_under_valgrind() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        millstream_testkit::skip("valgrind is not installed: C programs were not run under it");
        return;
    }
    run_all("valgrind", &shared_flags(), |program| {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--quiet", "--error-exitcode=9", "--leak-check=full"]);
        // The one block that is possibly lost is the standard library's handle of the main thread, which points into
        // its own.
        valgrind.args(["--show-leak-kinds=definite", "--errors-for-leak-kinds=definite"]).arg(program);
        valgrind
    });
}

/// The functions that the header declares.
fn declared() -> BTreeSet<String> {
    let header = std::fs::read_to_string(prefix().join("include/millstream.h")).unwrap();
    let names = header.split("millstream_").skip(1).filter_map(|text| text.split_once('('));
    let names = names
        .map(|(name, _)| name)
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
    names.map(|name| format!("millstream_{name}")).collect()
}

#[test]
fn nothing_but_the_header_is_exported_and_all_has_a_version() {
    let library = prefix().join("lib/libmillstream.so");
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(&library).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut exported = BTreeSet::new();
    for line in text.lines() {
        let symbol = line.rsplit(' ').next().unwrap();
        if symbol == "MILLSTREAM_0.1" {
            continue;
        }
        let name = symbol.strip_suffix("@@MILLSTREAM_0.1").unwrap_or_else(|| panic!("{line}"));
        exported.insert(name.to_owned());
    }
    assert_eq!(exported, declared());
    let output = Command::new("readelf").arg("-d").arg(&library).output().unwrap();
    let dynamic = String::from_utf8_lossy(&output.stdout);
    assert!(dynamic.contains("[libmillstream.so.0]"), "{dynamic}");
    assert!(dynamic.contains("NODELETE") && dynamic.contains("BIND_NOW"), "{dynamic}");
}

#[test]
fn the_header_is_cpp_too() {
    let source = prefix().join("header.cpp");
    std::fs::write(
        &source,
        "#include <millstream.h>\n\
         static_assert(sizeof(millstream_operation) == 128, \"\");\n\
         int main() {\n\
             millstream_operation operation = {};\n\
             operation.kind = MILLSTREAM_KIND_NULL;\n\
             return millstream_batch(&operation, 1) == MILLSTREAM_STATUS_OK ? 0 : 1;\n\
         }\n",
    )
    .unwrap();
    let mut compiler = Command::new("c++");
    compiler.args(["-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]).arg(&source);
    let Ok(output) = compiler.args(shared_flags()).arg("-o").arg(prefix().join("header")).output() else {
        millstream_testkit::skip("there is no C++ compiler: the header was not tried in C++");
        return;
    };
    assert!(output.status.success(), "{}", said(&output));
    let output = Command::new(prefix().join("header")).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
}

/// All files below a folder.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().map_while(Result::ok) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files(&entry.path()));
        } else {
            found.insert(entry.path());
        }
    }
    found
}

#[test]
fn a_staged_install_says_where_it_will_be() {
    prefix();
    let folder = tempfile::tempdir().unwrap();
    let destdir = folder.path().to_str().unwrap();
    let arguments = ["--prefix", "/usr", "--libdir", "lib/anywhere", "--destdir", destdir];
    let output = install(&arguments);
    assert!(output.status.success(), "{}", said(&output));
    let text = said(&output);
    let below = |path: &str| folder.path().join(path);
    for path in [
        "usr/bin/millstream",
        "usr/include/millstream.h",
        "usr/lib/anywhere/libmillstream.a",
        "usr/lib/anywhere/libmillstream.so.0.1.0",
        "usr/lib/anywhere/libmillstream.so.0",
        "usr/lib/anywhere/libmillstream.so",
        "usr/share/man/man1/millstream.1",
        "usr/share/bash-completion/completions/millstream",
        "usr/lib/systemd/system/millstream.socket",
        "etc/millstream/policy.toml",
    ] {
        assert!(below(path).exists(), "{path}");
        assert!(text.contains(below(path).to_str().unwrap()), "{path} in {text}");
    }
    let pc = std::fs::read_to_string(below("usr/lib/anywhere/pkgconfig/millstream.pc")).unwrap();
    assert!(pc.contains("prefix=/usr\n") && pc.contains("libdir=${prefix}/lib/anywhere\n"), "{pc}");
    let unit = std::fs::read_to_string(below("usr/lib/systemd/system/millstream.service")).unwrap();
    assert!(unit.contains("ExecStart=/usr/bin/millstream serve --policy /etc/millstream/policy.toml"));

    // Again: what the machine's owner wrote stays, all else is as before, and nothing is left over.
    let before = files(folder.path());
    std::fs::write(below("etc/millstream/policy.toml"), "# mine\n").unwrap();
    let output = install(&arguments);
    assert!(said(&output).contains("kept "), "{}", said(&output));
    assert_eq!(std::fs::read_to_string(below("etc/millstream/policy.toml")).unwrap(), "# mine\n");
    assert_eq!(files(folder.path()), before);

    // The installed files are those that the paths of this prefix name.
    let own = std::fs::read_to_string(prefix().join("lib/systemd/system/millstream.service")).unwrap();
    assert!(own.contains(&format!("ExecStart={}/bin/millstream", prefix().display())), "{own}");
}

/// Programs and libraries have no symbols but those that a loader or linker needs, unless they are asked for.
#[test]
fn what_is_installed_is_stripped() {
    for file in
        ["bin/millstream", "lib/libmillstream.so", "lib/ossl-modules/millstream.so", "lib/libmillstream.a"]
    {
        let output =
            Command::new("readelf").args(["--sections", "--wide"]).arg(prefix().join(file)).output().unwrap();
        let sections = String::from_utf8_lossy(&output.stdout);
        assert!(sections.contains(".text") && !sections.contains(".debug_line"), "{file}");
        if !file.ends_with(".a") {
            assert!(!sections.contains(" .symtab"), "{file}");
        }
    }
    // Static tracepoints are in a note, which stays.
    let output =
        Command::new("readelf").arg("--notes").arg(prefix().join("bin/millstream")).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("stapsdt"), "no tracepoints");
}

#[test]
fn an_uninstall_removes_what_was_installed_and_nothing_else() {
    prefix();
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    // What others have there stays, in folders that both use too.
    std::fs::create_dir_all(at("share/man/man1")).unwrap();
    std::fs::create_dir_all(at("share/empty")).unwrap();
    std::fs::write(at("share/man/man1/other.1"), "").unwrap();
    let arguments = ["--prefix", folder.path().to_str().unwrap()];
    let output = install(&arguments);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("the loader does not search"), "{}", said(&output));
    std::fs::write(at("bin/mine"), "").unwrap();
    // A file of an older version, which was on its list.
    let list = at("share/millstream/installed");
    let old = at("lib/libmillstream.so.0.0.9");
    std::fs::write(&old, "").unwrap();
    let text = std::fs::read_to_string(&list).unwrap();
    std::fs::write(&list, format!("{text}file {}\n", old.display())).unwrap();
    assert!(install(&arguments).status.success() && !old.exists());

    let output = uninstall(&arguments);
    assert!(output.status.success(), "{}", said(&output));
    let policy = at("etc/millstream/policy.toml");
    let mine = [at("bin/mine"), at("share/man/man1/other.1")];
    assert_eq!(files(folder.path()), mine.iter().cloned().chain([policy.clone()]).collect());
    assert!(at("share/empty").exists() && !at("lib").exists() && !at("share/fish").exists());
    let again = uninstall(&arguments);
    assert!(
        !again.status.success() && said(&again).contains("has installed nothing here"),
        "{}",
        said(&again)
    );

    assert!(install(&arguments).status.success() && policy.exists());
    assert!(uninstall(&[&arguments[..], &["--purge"]].concat()).status.success());
    assert_eq!(files(folder.path()), mine.into());
    assert!(!at("etc/millstream").exists());
}

#[test]
fn an_install_without_strip_says_so_and_leaves_nothing() {
    prefix();
    let folder = tempfile::tempdir().unwrap();
    let mut install = install_command(&["--prefix", folder.path().to_str().unwrap()]);
    let output = install.env("STRIP", "/nowhere/strip").output().unwrap();
    assert!(!output.status.success() && said(&output).contains("--unstripped"), "{}", said(&output));
    assert!(files(folder.path()).is_empty());
}

#[test]
fn an_install_that_fails_leaves_nothing() {
    prefix();
    let folder = tempfile::tempdir().unwrap();
    let output = install(&["--prefix", "relative"]);
    assert!(said(&output).contains("give an absolute path"), "{}", said(&output));
    // A file lies where the last of the folders should be.
    std::fs::create_dir(folder.path().join("etc")).unwrap();
    std::fs::write(folder.path().join("etc/millstream"), "a file").unwrap();
    let output = install(&["--prefix", folder.path().to_str().unwrap()]);
    assert!(!output.status.success());
    assert!(said(&output).contains("etc/millstream/policy.toml: "), "{}", said(&output));
    assert_eq!(files(folder.path()), BTreeSet::from([folder.path().join("etc/millstream")]));
}
