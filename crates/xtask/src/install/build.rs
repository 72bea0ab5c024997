//! The build of everything that is installed, and the libraries that its static library needs.
//!
//! The shared C library is linked from the static one by the C compiler, because rustc can't give symbols versions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::run::{command, run};

/// The name of the shared library for the linker, and the name that programs ask the loader for.
pub const SHARED: &str = "libmillstream.so";
pub const SONAME: &str = "libmillstream.so.0";

/// The symbols that are visible from outside: the functions of the header, under a version that stays theirs.
const SYMBOLS: &str = "MILLSTREAM_0.1 {\n    global: millstream_*;\n    local: *;\n};\n";

/// The features that a release has, and that most tests have no use for: stores in the network, and tables.
pub const RELEASED: &str = "millstream-cli/cloud,millstream-cli/tables";

/// The extent of what the command can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All but what takes minutes of processor time to compile: backups in the network's stores, and tables.
    Small,
    /// All.
    Full,
}

/// The feature of stores in the network, in the crate of backups.
pub const CLOUD_OF_BACKUP: &str = "cloud";

/// The files that the build has made.
pub struct Built {
    pub cli: PathBuf,
    pub library: PathBuf,
    pub shared: PathBuf,
    pub provider: PathBuf,
    pub pkcs11: PathBuf,
    pub srtp: PathBuf,
    native: String,
}

impl Built {
    /// Builds everything that is installed, in one profile.
    ///
    /// # Errors
    /// Names the step that failed.
    pub fn make(profile: &str, extent: Extent) -> Result<Self, String> {
        let mut build = vec!["build", "--package", "millstream-cli", "--bin", "millstream"];
        if extent == Extent::Full {
            build.extend(["--features", RELEASED]);
        }
        let cli = cargo(profile, &build, &[])?;
        const STATIC: &[&str] =
            &["rustc", "--package", "millstream-capi", "--lib", "--crate-type", "staticlib"];
        let capi = cargo(profile, STATIC, &["--print", "native-static-libs"])?;
        let library = artifact(&capi, "millstream_c", ".a")?;
        let native = native_libraries(&capi)?;
        let shared = link(&library, &native)?;
        let provider = cargo(profile, &["build", "--package", "millstream-provider", "--lib"], &[])?;
        let provider = artifact(&provider, "millstream_provider", ".so")?;
        let pkcs11 = cargo(profile, &["build", "--package", "millstream-pkcs11", "--lib"], &[])?;
        let pkcs11 = artifact(&pkcs11, "millstream_pkcs11", ".so")?;
        let srtp = cargo(profile, &["build", "--package", "millstream-srtp", "--lib"], &[])?;
        let srtp = artifact(&srtp, "millstream_srtp", ".so")?;
        Ok(Built { cli: artifact(&cli, "millstream", "")?, library, shared, provider, pkcs11, srtp, native })
    }

    /// Returns the libraries with which a program is linked beside the static library. The unwinder is GCC's static one:
    /// the shared one, which rustc names, can't be in a program that is static as a whole.
    pub fn private_libraries(&self) -> String {
        let libraries = self.native.split_whitespace();
        libraries.map(|flag| if flag == "-lgcc_s" { "-lgcc_eh" } else { flag }).collect::<Vec<_>>().join(" ")
    }
}

/// Runs cargo, and returns its messages about artifacts.
///
/// # Errors
/// When it can't be run, or fails.
pub fn cargo(profile: &str, arguments: &[&str], of_rustc: &[&str]) -> Result<Vec<Value>, String> {
    let mut cargo = command("cargo", arguments);
    cargo.args(["--profile", profile, "--message-format=json"]);
    if !of_rustc.is_empty() {
        cargo.arg("--").args(of_rustc);
    }
    let output = cargo.stderr(Stdio::inherit()).output().map_err(|e| format!("cargo: {e}"))?;
    let lines = output.stdout.split(|byte| *byte == b'\n');
    let messages: Vec<Value> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    if !output.status.success() {
        let said = messages.iter().filter_map(|message| message["message"]["rendered"].as_str());
        said.for_each(|text| eprint!("{text}"));
        return Err(format!("cargo {}: {}", arguments.join(" "), output.status));
    }
    Ok(messages)
}

/// Links the shared library from the static one.
fn link(library: &Path, native: &str) -> Result<PathBuf, String> {
    let folder = library.parent().ok_or("the static library has no folder")?.join("shared");
    let fail = |e: std::io::Error| format!("{}: {e}", folder.display());
    fs::create_dir_all(&folder).map_err(fail)?;
    // Another installation may be linking or copying the library meanwhile.
    let own = |name: &str| folder.join(format!("{name}.{}", std::process::id()));
    let (script, fresh, shared) = (own("millstream.map"), own(SHARED), folder.join(SHARED));
    fs::write(&script, SYMBOLS).map_err(fail)?;
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(["-shared", "-o"]).arg(&fresh);
    cc.arg(format!("-Wl,-soname,{SONAME},--version-script={}", script.display()));
    // The library can't be unloaded, because threads may be in its code at any time.
    cc.arg("-Wl,--gc-sections,-z,relro,-z,now,-z,defs,-z,nodelete");
    cc.arg("-Wl,--whole-archive").arg(library).arg("-Wl,--no-whole-archive");
    cc.args(native.split_whitespace());
    run(cc)?;
    fs::remove_file(&script).and_then(|()| fs::rename(&fresh, &shared)).map_err(fail)?;
    Ok(shared)
}

/// Returns the file of that ending that the build made for a target.
///
/// # Errors
/// When it made none.
pub fn artifact(messages: &[Value], target: &str, ending: &str) -> Result<PathBuf, String> {
    let made =
        messages.iter().filter(|m| m["reason"] == "compiler-artifact" && m["target"]["name"] == target);
    let mut names =
        made.flat_map(|m| m["filenames"].as_array().into_iter().flatten().filter_map(Value::as_str));
    // A program has no ending. An rlib has one, and is not wanted here.
    let fits = |name: &&str| match ending {
        "" => Path::new(name).extension().is_none(),
        ending => name.ends_with(ending),
    };
    let name = names.rfind(fits).ok_or_else(|| format!("the build made no {target}{ending}"))?;
    Ok(PathBuf::from(name))
}

/// Returns the libraries with which a program has to be linked beside the static library. Cargo repeats the compiler's
/// messages if there was nothing to compile.
fn native_libraries(messages: &[Value]) -> Result<String, String> {
    const MARK: &str = "native-static-libs: ";
    let said = messages.iter().filter_map(|m| m["message"]["message"].as_str());
    let native = said.filter_map(|text| text.strip_prefix(MARK)).next_back();
    native.map(str::to_owned).ok_or_else(|| "rustc did not name the native libraries".to_owned())
}
