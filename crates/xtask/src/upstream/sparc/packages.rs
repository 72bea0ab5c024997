//! The packages whose test programs run on `millstream sparc`: the build of each for sparc64, and its programs.
//!
//! Packages that choose their instructions at configuration are configured for a T4, so that their own assembly for one
//! runs. GMP is configured as `ultrasparct4`, which its `config.guess` says on such a machine, and for which it takes
//! the T3's routines. OpenSSL looks at the processor as it runs. Nettle and libgcrypt have assembly for sparc64 that is
//! older, or none; mbedtls is plain C.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::process::{logged, processors};
use super::run::{Kind, Program};

/// The compiler's tools.
const CROSS: &str = "sparc64-linux-gnu-";
/// The machine that builds. It only has to differ from the one that is built for.
const BUILDS: &str = "--build=x86_64-pc-linux-gnu";

/// A source package.
pub struct Package {
    /// Debian's name of the package.
    pub name: &'static str,
    /// True if qemu can run it. Qemu has no T4, and takes code that is compiled for one for other instructions.
    pub on_qemu: bool,
    /// Builds the package and its tests.
    pub build: fn(&Place) -> Result<(), String>,
    /// Returns its test programs.
    pub programs: fn(&Place) -> Result<Vec<Program>, String>,
}

/// The folders of a package.
pub struct Place {
    pub source: PathBuf,
    /// The folder with the installed packages that others need.
    pub installed: PathBuf,
    pub log: PathBuf,
}

/// All packages, each behind those that it needs.
pub const PACKAGES: &[Package] = &[
    Package { name: "gmp", on_qemu: false, build: gmp, programs: gmp_programs },
    Package { name: "nettle", on_qemu: true, build: nettle, programs: nettle_programs },
    Package {
        name: "libgpg-error",
        on_qemu: true,
        build: gpg_error,
        programs: |place| automake(place, "tests", &[]),
    },
    Package { name: "libgcrypt20", on_qemu: true, build: gcrypt, programs: gcrypt_programs },
    Package { name: "mbedtls", on_qemu: true, build: mbedtls, programs: mbedtls_programs },
    Package { name: "openssl", on_qemu: true, build: openssl, programs: openssl_programs },
];

impl Place {
    /// Runs a step of a build in a folder of the source.
    fn step(&self, folder: &str, program: &str, arguments: &[&str]) -> Result<(), String> {
        logged(Command::new(program).args(arguments).current_dir(self.source.join(folder)), &self.log)
    }

    /// Runs make, on all processors.
    fn make(&self, folder: &str, arguments: &[&str]) -> Result<(), String> {
        let jobs = format!("-j{}", processors());
        self.step(folder, "make", &[&[&*jobs], arguments].concat())
    }

    /// Configures the package to be installed with the others, without shared libraries.
    fn configure(&self, host: &str, more: &[&str]) -> Result<(), String> {
        let (host, prefix) = (format!("--host={host}"), format!("--prefix={}", self.installed.display()));
        let usual = [BUILDS, &*host, &*prefix, "--disable-shared", "--enable-static"];
        self.step(".", "./configure", &[&usual, more].concat())
    }

    /// Returns a value of a Makefile, in words.
    fn words(&self, folder: &str, variable: &str) -> Result<Vec<String>, String> {
        let rule = format!("print-{variable}: ; @echo $({variable})");
        let folder = self.source.join(folder);
        let mut make = Command::new("make");
        make.args(["-s", "--no-print-directory", "--eval", &rule, &format!("print-{variable}")]);
        let output = make.env_remove("MAKEFLAGS").current_dir(&folder).output();
        let output = output.map_err(|e| format!("make: {e}"))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let words: Vec<String> = said.split_whitespace().map(str::to_owned).collect();
        if words.is_empty() {
            Err(format!("{}: make knows no {variable}", folder.display()))
        } else {
            Ok(words)
        }
    }
}

/// Returns the tests of a folder as automake names them, to be run as automake does.
fn automake(
    place: &Place,
    folder: &str,
    environment: &[(&'static str, &'static str)],
) -> Result<Vec<Program>, String> {
    named(place, folder, "TESTS", environment)
}

/// Returns the programs that a variable of a Makefile names, without the scripts among them.
fn named(
    place: &Place,
    folder: &str,
    variable: &str,
    environment: &[(&'static str, &'static str)],
) -> Result<Vec<Program>, String> {
    let at = place.source.join(folder);
    let names = place.words(folder, variable)?.into_iter().filter(|name| is_program(&at.join(name)));
    let programs = names.map(|name| Program {
        file: at.join(&name),
        name,
        folder: at.clone(),
        environment: environment.iter().copied().chain([("srcdir", ".")]).collect(),
        kind: Kind::Plain,
    });
    Ok(programs.collect())
}

fn is_program(file: &Path) -> bool {
    let mut start = [0; 4];
    File::open(file).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"\x7fELF"
}

/// Returns the names of the cross tools, for a package whose machine has another name than the compiler.
fn tools() -> Vec<String> {
    let tools = [("CC", "gcc"), ("AR", "ar"), ("NM", "nm"), ("RANLIB", "ranlib"), ("STRIP", "strip")];
    tools.iter().map(|(name, tool)| format!("{name}={CROSS}{tool}")).collect()
}

fn gmp(place: &Place) -> Result<(), String> {
    // Debian leaves out the manual, and a Makefile with it.
    let manual = place.source.join("doc");
    std::fs::create_dir_all(&manual)
        .and_then(|()| std::fs::write(manual.join("Makefile.in"), "all check install:\n"))
        .map_err(|e| format!("{}: {e}", manual.display()))?;
    let tools = tools();
    let mut options: Vec<&str> = tools.iter().map(String::as_str).collect();
    options.extend(["ABI=64", "CC_FOR_BUILD=gcc"]);
    place.configure("ultrasparct4-unknown-linux-gnu", &options)?;
    place.make(".", &[])?;
    place.make(".", &["install"])?;
    place.make("tests", &["check", "TESTS="])
}

fn gmp_programs(place: &Place) -> Result<Vec<Program>, String> {
    let mut all = Vec::new();
    for folder in ["", "misc", "mpn", "mpz", "mpq", "mpf", "rand"] {
        // A tenth of the random trials is enough: an emulated processor does not get through all of them.
        for mut program in automake(place, &format!("tests/{folder}"), &[("GMP_CHECK_REPFACTOR", "0.1")])? {
            if !folder.is_empty() {
                program.name = format!("{folder}/{}", program.name);
            }
            all.push(program);
        }
    }
    Ok(all)
}

fn nettle(place: &Place) -> Result<(), String> {
    let headers = format!("--with-include-path={}", place.installed.join("include").display());
    let libraries = format!("--with-lib-path={}", place.installed.join("lib").display());
    let options = ["--disable-documentation", "--disable-openssl", "CC_FOR_BUILD=gcc", &headers, &libraries];
    place.configure("sparc64-linux-gnu", &options)?;
    place.make(".", &[])?;
    let programs = place.words("testsuite", "TS_C")?;
    place.make("testsuite", &programs.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Returns Nettle's programs without the scripts, which test tools.
fn nettle_programs(place: &Place) -> Result<Vec<Program>, String> {
    named(place, "testsuite", "TS_C", &[])
}

fn gpg_error(place: &Place) -> Result<(), String> {
    place.configure(
        "sparc64-linux-gnu",
        &["--disable-doc", "--disable-nls", "--enable-install-gpg-error-config"],
    )?;
    place.make(".", &["install"])?;
    place.make("tests", &["check", "TESTS="])
}

fn gcrypt(place: &Place) -> Result<(), String> {
    let errors = format!("--with-libgpg-error-prefix={}", place.installed.display());
    place.configure("sparc64-linux-gnu", &["--disable-doc", &errors])?;
    place.make(".", &[])?;
    place.make("tests", &["check", "TESTS="])
}

fn gcrypt_programs(place: &Place) -> Result<Vec<Program>, String> {
    automake(place, "tests", &[("GCRYPT_IN_REGRESSION_TEST", "1")])
}

fn mbedtls(place: &Place) -> Result<(), String> {
    let (compiler, archiver) = (format!("CC={CROSS}gcc"), format!("AR={CROSS}ar"));
    let steps = ["no_test", "tests"];
    steps.iter().try_for_each(|step| place.make(".", &[&compiler, &archiver, "LDFLAGS=-static", step]))
}

/// Returns the programs, each of which has a file of data beside it.
fn mbedtls_programs(place: &Place) -> Result<Vec<Program>, String> {
    let folder = place.source.join("tests");
    let mut names = endings(&folder, ".datax")?;
    names.retain(|name| folder.join(name).exists());
    let program = |name: String| Program {
        file: folder.join(&name),
        name,
        folder: folder.clone(),
        environment: Vec::new(),
        kind: Kind::Lines,
    };
    Ok(names.into_iter().map(program).collect())
}

fn openssl(place: &Place) -> Result<(), String> {
    // Debian keeps files that its patches can't express in an archive.
    if place.source.join("debian/binary.tar").exists() {
        place.step(".", "tar", &["-x", "-f", "debian/binary.tar"])?;
    }
    let cross = format!("--cross-compile-prefix={CROSS}");
    let options = ["./Configure", "linux64-sparcv9", "no-shared", "no-module", "-static", &cross];
    place.step(".", "perl", &options)?;
    place.make(".", &["build_sw"])
}

/// Returns the recipes, which start programs under the emulator that they are given.
fn openssl_programs(place: &Place) -> Result<Vec<Program>, String> {
    let names = endings(&place.source.join("test/recipes"), ".t")?;
    // The harness itself runs these before all others.
    let names = names.into_iter().filter(|name| !name.starts_with("00-prep"));
    let program = |name: String| Program {
        file: place.source.join("test/run_tests.pl"),
        name,
        folder: place.source.clone(),
        environment: vec![("SRCTOP", "."), ("BLDTOP", "."), ("PERL", "perl"), ("EXE_EXT", "")],
        kind: Kind::Recipe,
    };
    Ok(names.map(program).collect())
}

/// Returns the files of a folder that end so, without that end, in order.
fn endings(folder: &Path, end: &str) -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let names = entries.map_while(Result::ok).map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter_map(|name| Some(name.strip_suffix(end)?.to_owned())).collect();
    names.sort();
    Ok(names)
}
