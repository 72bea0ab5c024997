//! The newest OpenSSL of each series, built once. The tests run these versions beside the system's own, and for SPARC.
//!
//! The sources come from the crate `openssl-src`, which cargo downloads and checks. Each version is built in a folder
//! of its own and moved to its place when it is complete, so a build that is in place can be used.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use crate::run::{command, root};

/// Versions of the crate: its own, then OpenSSL's.
const CRATES: &[&str] = &["300.6.1+3.6.3", "400.0.2+4.0.3"];

/// The variable that names the folder for builds that several work trees share.
const CACHE: &str = "MILLSTREAM_OPENSSL_CACHE";

/// The script that writes a shared library's version script. The crate lacks it, because it is made for static
/// libraries.
const MKDEF: &str = include_str!("openssl/mkdef.pl");
/// The one symbol that OpenSSL's own modules export.
const PROVIDERS_NUM: &str = "OSSL_provider_init 1 * EXIST::FUNCTION:\n";

/// The form in which a version is built.
struct Form {
    /// The text before the version in the name of its folder.
    prefix: &'static str,
    configure: &'static [&'static str],
    /// The targets of make, after the generated files. There are no more of them, because the static libraries would
    /// double the time.
    targets: &'static [&'static str],
    /// The files that are kept: patterns in the work tree, and the folder each is copied to.
    keep: &'static [(&'static str, &'static str)],
    /// Another program that is made of the same tree, and kept too.
    variant: Option<Variant>,
}

/// Another program of the same tree.
struct Variant {
    name: &'static str,
    /// The objects that are compiled again, as a pattern.
    objects: &'static str,
    flags: &'static str,
}

/// The form in which distributions build it: shared, with modules and the legacy provider, but without protocols that
/// the tests don't need. The path of the libraries is relative to the program, so that a copy elsewhere works.
const HOST: Form = Form {
    prefix: "",
    configure: &[
        "--libdir=lib",
        "shared",
        "no-docs",
        "no-tests",
        "no-quic",
        "no-cmp",
        "no-cms",
        "no-ct",
        "no-ts",
        "no-srp",
        "-Wl,-rpath,'$$ORIGIN/../lib'",
    ],
    targets: &["libcrypto.so", "libssl.so", "apps/openssl", "providers/legacy.so"],
    keep: &[
        ("apps/openssl", "bin"),
        ("lib*.so*", "lib"),
        ("providers/legacy.so", "lib/ossl-modules"),
        ("include/openssl/*.h", "include/openssl"),
    ],
    variant: None,
};

/// One static program for UltraSPARC with OpenSSL's own assembly, unmodified. The parts that are left out are neither
/// tested nor measured, and leaving them out saves half of the time.
const SPARC: Form = Form {
    prefix: "sparc64-",
    configure: &[
        "linux64-sparcv9",
        "--cross-compile-prefix=sparc64-linux-gnu-",
        "-static",
        "-O2",
        "no-shared",
        "no-threads",
        "no-dso",
        "no-async",
        "no-tests",
        "no-docs",
        "no-quic",
        "no-cmp",
        "no-cms",
        "no-ct",
        "no-ts",
        "no-srp",
        "no-ml-dsa",
        "no-ml-kem",
        "no-slh-dsa",
        "no-aria",
        "no-bf",
        "no-blake2",
        "no-cast",
        "no-dsa",
        "no-dtls",
        "no-ec2m",
        "no-engine",
        "no-gost",
        "no-idea",
        "no-legacy",
        "no-lms",
        "no-md4",
        "no-mdc2",
        "no-ocsp",
        "no-psk",
        "no-rc2",
        "no-rfc3779",
        "no-rmd160",
        "no-scrypt",
        "no-seed",
        "no-siphash",
        "no-siv",
        "no-sm2",
        "no-sm3",
        "no-sm4",
        "no-whirlpool",
    ],
    targets: &["apps/openssl"],
    keep: &[("apps/openssl", "bin")],
    // OpenSSL 3 has the T4's DES and Camellia and never calls them: its providers are compiled without these two.
    variant: Some(Variant {
        name: "openssl-all-t4",
        objects: "providers/implementations/ciphers/*camellia*_hw.o providers/implementations/ciphers/*des*_hw.o",
        flags: "-DDES_ASM -DCMLL_ASM",
    }),
};

/// The option for builds that are only tested: they compute the same, by the same assembly, and their C is compiled in a third of
/// the time.
const QUICKLY: &str = "-O0";

/// The file that marks such a build, so that nobody measures it.
const FOR_TESTS: &str = "for-tests";

/// The versions that are built for this machine: the newest, and all if it may take long (`deep`).
fn for_host(deep: bool) -> &'static [&'static str] {
    if deep { CRATES } else { &CRATES[CRATES.len() - 1..] }
}

/// Returns the libcrypto of each version that [`openssl`] builds.
///
/// # Errors
/// When one was not built.
pub fn libraries(deep: bool) -> Result<Vec<PathBuf>, String> {
    let each = for_host(deep).iter().map(|version| {
        let library = root().join("target/openssl").join(openssl_version(version)).join("lib/libcrypto.so");
        if library.exists() {
            Ok(library)
        } else {
            Err(format!("no {}: run `cargo xtask openssl`", library.display()))
        }
    });
    each.collect()
}

/// Returns OpenSSL's version from the crate's.
fn openssl_version(version: &str) -> &str {
    version.split('+').nth(1).unwrap_or(version)
}

/// Builds each version that is missing, and prints the places of all: `target/openssl/<version>`. Unless it may take long
/// (`deep`), it builds the newest for this machine and the oldest for SPARC, to be tested and not measured.
///
/// # Errors
/// When a source can't be had or a build fails; its log is named and shown from near its end.
pub fn openssl(deep: bool) -> Result<(), String> {
    let target = root().join("target/openssl");
    let cache = std::env::var_os(CACHE).map_or_else(|| target.clone(), PathBuf::from);
    for folder in [&target, &cache] {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let cache = cache.canonicalize().map_err(|e| format!("{}: {e}", cache.display()))?;
    let sparc = if deep { CRATES } else { &CRATES[..1] };
    let all = for_host(deep)
        .iter()
        .map(|version| (version, &HOST))
        .chain(sparc.iter().map(|version| (version, &SPARC)));
    for (version, form) in all {
        let name = &format!("{}{}", form.prefix, openssl_version(version));
        let place = cache.join(name);
        let serves = || place.exists() && !(deep && place.join(FOR_TESTS).exists());
        if !serves() {
            let locked = Lock::wait(&cache.join(format!("{name}.lock")))?;
            // The last holder of the lock may have built it.
            if !serves() {
                build(version, form, name, &place, !deep)?;
            }
            drop(locked);
        }
        let link = target.join(name);
        if link != place && !link.exists() {
            // A link whose target is gone would be in the way.
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(&place, &link).map_err(|e| format!("{}: {e}", link.display()))?;
        }
        println!("OpenSSL {name}: {}", link.join("bin/openssl").display());
    }
    Ok(())
}

/// One build of a version at a time, also by other processes.
struct Lock {
    _file: File,
}

impl Lock {
    fn wait(path: &Path) -> Result<Lock, String> {
        let fail = |e: std::io::Error| format!("{}: {e}", path.display());
        let file = File::create(path).map_err(fail)?;
        file.lock().map_err(fail)?;
        Ok(Lock { _file: file })
    }
}

/// Builds one version beside its place, and moves it there in place of what was there.
fn build(version: &str, form: &Form, name: &str, place: &Path, quickly: bool) -> Result<(), String> {
    let begin = Instant::now();
    let work = place.with_file_name(format!("{name}.building"));
    let fail = |e: std::io::Error| format!("{}: {e}", work.display());
    // An interrupted build may have left files.
    let _ = std::fs::remove_dir_all(&work);
    std::fs::create_dir_all(&work).map_err(fail)?;
    let source = work.join("source");
    let log = place.with_file_name(format!("{name}.log"));
    let log = Log { file: File::create(&log).map_err(fail)?, path: log };
    log.run(Command::new("cp").arg("-r").arg(fetch(version, &work)?.join("openssl")).arg(&source))?;
    std::fs::write(source.join("util/mkdef.pl"), MKDEF).map_err(fail)?;
    std::fs::write(source.join("util/providers.num"), PROVIDERS_NUM).map_err(fail)?;

    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    println!(
        "OpenSSL {name}: building, for some minutes, with {jobs} jobs; the log is {}",
        log.path.display()
    );
    let mut configure = Command::new("perl");
    configure.arg("./Configure").args(form.configure).arg(format!("--prefix={}", place.display()));
    configure.arg(format!("--openssldir={}", place.join("ssl").display()));
    configure.args(quickly.then_some(QUICKLY));
    let make = |targets: &[&str]| {
        let mut make = Command::new("make");
        make.arg(format!("-j{jobs}")).args(targets);
        make
    };
    for mut step in [configure, make(&["build_generated"]), make(form.targets)] {
        // The variables of the build that runs this task must not steer that build.
        step.env_remove("MAKEFLAGS").env_remove("MFLAGS").env_remove("CFLAGS").env_remove("LDFLAGS");
        log.run(step.current_dir(&source))?;
    }
    let stage = work.join("stage");
    for (pattern, folder) in form.keep {
        let folder = stage.join(folder);
        std::fs::create_dir_all(&folder).map_err(fail)?;
        // The shell expands the pattern, and links stay links.
        let copy = format!("cp -P {pattern} \"$0\"");
        log.run(Command::new("sh").arg("-c").arg(copy).arg(&folder).current_dir(&source))?;
    }
    if let Some(variant) = &form.variant {
        let again = format!(
            "rm {} && make -j{jobs} CPPFLAGS='{}' apps/openssl && cp apps/openssl \"$0\"",
            variant.objects, variant.flags
        );
        let program = stage.join("bin").join(variant.name);
        log.run(Command::new("sh").args(["-e", "-c", &again]).arg(program).current_dir(&source))?;
    }
    if quickly {
        std::fs::write(stage.join(FOR_TESTS), format!("built with {QUICKLY}\n")).map_err(fail)?;
    }
    if place.exists() {
        std::fs::remove_dir_all(place).map_err(fail)?;
    }
    std::fs::rename(&stage, place).map_err(fail)?;
    std::fs::remove_dir_all(&work).map_err(fail)?;
    println!("OpenSSL {name}: built in {:.0} s", begin.elapsed().as_secs_f64());
    Ok(())
}

/// Has cargo download a version of the crate, and returns the folder it unpacked.
fn fetch(version: &str, work: &Path) -> Result<PathBuf, String> {
    let package = work.join("package");
    let manifest = package.join("Cargo.toml");
    let text = format!(
        "[package]\nname = \"sources\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\nopenssl-src = \"={version}\"\n"
    );
    std::fs::create_dir_all(package.join("src"))
        .and_then(|()| std::fs::write(package.join("src/lib.rs"), ""))
        .and_then(|()| std::fs::write(&manifest, text))
        .map_err(|e| format!("{}: {e}", package.display()))?;
    let mut metadata = command("cargo", &["metadata", "--quiet", "--format-version=1", "--manifest-path"]);
    let output = metadata.arg(&manifest).stderr(Stdio::inherit()).output();
    let output = output.map_err(|e| format!("cargo metadata: {e}"))?;
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("the sources of openssl-src {version}: cargo metadata: {e}"))?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata: no packages")?;
    packages
        .iter()
        .find(|package| package["name"] == "openssl-src")
        .and_then(|package| Path::new(package["manifest_path"].as_str()?).parent())
        .map(Path::to_owned)
        .ok_or_else(|| format!("cargo metadata does not say where openssl-src {version} is"))
}

/// The output of a build, kept in case it fails.
struct Log {
    file: File,
    path: PathBuf,
}

impl Log {
    /// Runs a step to its end.
    fn run(&self, step: &mut Command) -> Result<(), String> {
        let streams = || self.file.try_clone().map_err(|e| format!("{}: {e}", self.path.display()));
        let shown = format!("{step:?}");
        let status = step.stdin(Stdio::null()).stdout(streams()?).stderr(streams()?).status();
        let status = status.map_err(|e| format!("{shown}: {e}"))?;
        if status.success() {
            return Ok(());
        }
        let text = std::fs::read(&self.path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let from = text.lines().count().saturating_sub(20);
        text.lines().skip(from).for_each(|line| eprintln!("{line}"));
        Err(format!("{shown}: {status}; all it said is in {}", self.path.display()))
    }
}
