//! `cargo xtask install`: builds everything first, then puts all files in place, each whole or not at all.
//!
//! The shared C library is linked from the static one by the C compiler, because rustc can't give symbols versions.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use serde_json::Value;

use crate::generate::HEADER;
use crate::run::{command, root, run};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const SHARED: &str = "libmillstream.so";
const SONAME: &str = "libmillstream.so.0";

/// The symbols that are visible from outside: the functions of the header, under a version that stays theirs.
const SYMBOLS: &str = "MILLSTREAM_0.1 {\n    global: millstream_*;\n    local: *;\n};\n";

/// Where to install.
#[derive(Args)]
pub struct Install {
    /// Where the files will be used from: an absolute path.
    #[arg(long, value_name = "DIR")]
    prefix: PathBuf,
    /// Put them below this folder all the same, as packages are made.
    #[arg(long, value_name = "DIR")]
    destdir: Option<PathBuf>,
    /// The folder for libraries: below the prefix, or absolute.
    #[arg(long, value_name = "DIR", default_value = "lib")]
    libdir: PathBuf,
    /// The profile that is built.
    #[arg(long, default_value = "release", hide = true)]
    profile: String,
}

/// Something to be installed.
struct Item {
    /// The path from which programs will use the file.
    at: PathBuf,
    what: What,
}

enum What {
    Program(PathBuf),
    Data(PathBuf),
    Text(String),
    Link(&'static str),
    /// A file that belongs to the machine's administrator, and is never replaced.
    Configuration(PathBuf),
}

/// The files that the build has made.
struct Built {
    cli: PathBuf,
    library: PathBuf,
    shared: PathBuf,
    native: String,
    provider: Option<PathBuf>,
}

impl Install {
    /// Builds and installs.
    ///
    /// # Errors
    /// Names the step or the file that failed. If it is a file, the install has left nothing but perhaps folders. A
    /// failed rename is the exception, and the message then names it.
    pub fn run(&self) -> Result<(), String> {
        if !self.prefix.is_absolute() {
            return Err(format!("--prefix {}: give an absolute path", self.prefix.display()));
        }
        let built = self.build()?;
        let items = self.items(&built)?;
        let mut staged = Vec::new();
        for item in &items {
            match self.stage(item) {
                Ok(None) => println!("kept      {}", self.below(&item.at).display()),
                Ok(Some(temporary)) => staged.push((temporary, self.below(&item.at))),
                Err(why) => {
                    discard(&staged);
                    return Err(why);
                }
            }
        }
        for (i, (temporary, place)) in staged.iter().enumerate() {
            if let Err(why) = fs::rename(temporary, place) {
                discard(&staged[i..]);
                return Err(format!("{}: {why}", place.display()));
            }
            println!("installed {}", place.display());
        }
        match built.provider {
            Some(_) => {}
            None => println!("left out  the OpenSSL provider: this workspace has none"),
        }
        Ok(())
    }

    fn libdir(&self) -> PathBuf {
        self.prefix.join(&self.libdir)
    }

    /// Returns the folder in which a program below this prefix looks for its configuration.
    fn configuration(&self) -> PathBuf {
        if self.prefix == Path::new("/usr") { PathBuf::from("/etc") } else { self.prefix.join("etc") }
    }

    /// Returns the place of a file that will be used from `at`.
    fn below(&self, at: &Path) -> PathBuf {
        match &self.destdir {
            Some(destdir) => destdir.join(at.strip_prefix("/").unwrap_or(at)),
            None => at.to_owned(),
        }
    }

    fn build(&self) -> Result<Built, String> {
        let cli = self.cargo(&["build", "--package", "millstream-cli", "--bin", "millstream"], &[])?;
        const STATIC: &[&str] =
            &["rustc", "--package", "millstream-capi", "--lib", "--crate-type", "staticlib"];
        let capi = self.cargo(STATIC, &["--print", "native-static-libs"])?;
        let library = artifact(&capi, "millstream_c", ".a")?;
        let native = native_libraries(&capi)?;
        let shared = self.link(&library, &native)?;
        let provider = if has_package("millstream-provider")? {
            let made = self.cargo(&["build", "--package", "millstream-provider", "--lib"], &[])?;
            Some(artifact(&made, "millstream_provider", ".so")?)
        } else {
            None
        };
        Ok(Built { cli: artifact(&cli, "millstream", "")?, library, shared, native, provider })
    }

    /// Runs cargo, and returns its messages about artifacts.
    fn cargo(&self, arguments: &[&str], of_rustc: &[&str]) -> Result<Vec<Value>, String> {
        let mut cargo = command("cargo", arguments);
        cargo.args(["--profile", &self.profile, "--message-format=json"]);
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
    fn link(&self, library: &Path, native: &str) -> Result<PathBuf, String> {
        let folder = library.parent().ok_or("the static library has no folder")?.join("shared");
        let fail = |e: std::io::Error| format!("{}: {e}", folder.display());
        fs::create_dir_all(&folder).map_err(fail)?;
        let (script, shared) = (folder.join("millstream.map"), folder.join(SHARED));
        fs::write(&script, SYMBOLS).map_err(fail)?;
        let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
        cc.args(["-shared", "-o"]).arg(&shared);
        cc.arg(format!("-Wl,-soname,{SONAME},--version-script={}", script.display()));
        // The library can't be unloaded, because threads may be in its code at any time.
        cc.arg("-Wl,--gc-sections,-z,relro,-z,now,-z,defs,-z,nodelete");
        cc.arg("-Wl,--whole-archive").arg(library).arg("-Wl,--no-whole-archive");
        cc.args(native.split_whitespace());
        run(cc)?;
        Ok(shared)
    }

    fn items(&self, built: &Built) -> Result<Vec<Item>, String> {
        let (prefix, libdir) = (&self.prefix, self.libdir());
        let mut items = vec![
            Item { at: prefix.join("bin/millstream"), what: What::Program(built.cli.clone()) },
            Item { at: libdir.join("libmillstream.a"), what: What::Data(built.library.clone()) },
            Item {
                at: libdir.join(format!("{SHARED}.{VERSION}")),
                what: What::Program(built.shared.clone()),
            },
            Item {
                at: libdir.join(SONAME),
                what: What::Link(concat!("libmillstream.so.", env!("CARGO_PKG_VERSION"))),
            },
            Item { at: libdir.join(SHARED), what: What::Link(SONAME) },
            Item {
                at: libdir.join("pkgconfig/millstream.pc"),
                what: What::Text(self.pkg_config(&built.native)),
            },
            Item { at: prefix.join("include/millstream.h"), what: What::Data(root().join(HEADER)) },
        ];
        if let Some(provider) = &built.provider {
            let at = libdir.join("ossl-modules/millstream.so");
            items.push(Item { at, what: What::Program(provider.clone()) });
        }
        for page in files(&root().join("docs/man"))? {
            let name = page.file_name().unwrap_or_default();
            items.push(Item { at: prefix.join("share/man/man1").join(name), what: What::Data(page) });
        }
        for (from, at) in [
            ("millstream.bash", "share/bash-completion/completions/millstream"),
            ("millstream.fish", "share/fish/vendor_completions.d/millstream.fish"),
            ("millstream.zsh", "share/zsh/site-functions/_millstream"),
        ] {
            let from = root().join("docs/completions").join(from);
            items.push(Item { at: prefix.join(at), what: What::Data(from) });
        }
        self.service(&mut items)?;
        Ok(items)
    }

    /// Adds the units of systemd, with the paths of this prefix, and the policy that they name.
    fn service(&self, items: &mut Vec<Item>) -> Result<(), String> {
        let policy = self.configuration().join("millstream/policy.toml");
        for name in ["millstream.service", "millstream.socket"] {
            let path = root().join("dist").join(name);
            let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let program = self.prefix.join("bin/millstream").display().to_string();
            let text = text.replace("/usr/bin/millstream", &program);
            let text = text.replace("/etc/millstream/policy.toml", &policy.display().to_string());
            let at = self.prefix.join("lib/systemd/system").join(name);
            items.push(Item { at, what: What::Text(text) });
        }
        items.push(Item { at: policy, what: What::Configuration(root().join("dist/policy.toml")) });
        Ok(())
    }

    fn pkg_config(&self, native: &str) -> String {
        let libdir = if self.libdir.is_absolute() {
            self.libdir.display().to_string()
        } else {
            format!("${{prefix}}/{}", self.libdir.display())
        };
        format!(
            "prefix={}\n\
             libdir={libdir}\n\
             includedir=${{prefix}}/include\n\
             \n\
             Name: millstream\n\
             Description: Cryptographic acceleration for Linux\n\
             Version: {VERSION}\n\
             Libs: -L${{libdir}} -lmillstream\n\
             Libs.private: {native}\n\
             Cflags: -I${{includedir}}\n",
            self.prefix.display()
        )
    }

    /// Puts a file beside its place, under another name, which it returns. Returns nothing if a file that stays is
    /// there already.
    fn stage(&self, item: &Item) -> Result<Option<PathBuf>, String> {
        let place = self.below(&item.at);
        let fail = |e: std::io::Error| format!("{}: {e}", place.display());
        let folder = place.parent().ok_or_else(|| format!("{}: no file", place.display()))?;
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        fs::create_dir_all(folder).map_err(fail)?;
        let temporary = folder.join(format!(".{name}.{}", std::process::id()));
        // A killed install may have left this file.
        let _ = fs::remove_file(&temporary);
        let made = match &item.what {
            What::Configuration(_) if place.exists() => return Ok(None),
            What::Program(from) => copy(from, &temporary, 0o755),
            What::Data(from) | What::Configuration(from) => copy(from, &temporary, 0o644),
            What::Text(text) => fs::write(&temporary, text).and_then(|()| mode(&temporary, 0o644)),
            What::Link(to) => symlink(to, &temporary),
        };
        if let Err(why) = made {
            let _ = fs::remove_file(&temporary);
            return Err(fail(why));
        }
        Ok(Some(temporary))
    }
}

/// Removes staged files that will not be used.
fn discard(staged: &[(PathBuf, PathBuf)]) {
    for (temporary, _) in staged {
        let _ = fs::remove_file(temporary);
    }
}

fn copy(from: &Path, to: &Path, permissions: u32) -> std::io::Result<()> {
    fs::copy(from, to)?;
    mode(to, permissions)
}

fn mode(path: &Path, permissions: u32) -> std::io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(permissions))
}

/// The files of a folder, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.map_while(Result::ok).map(|entry| entry.path()).collect();
    files.sort();
    Ok(files)
}

/// Returns the file of that ending that the build made for a target.
fn artifact(messages: &[Value], target: &str, ending: &str) -> Result<PathBuf, String> {
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

/// Returns true if the workspace has a package of that name.
fn has_package(name: &str) -> Result<bool, String> {
    let output = command("cargo", &["metadata", "--no-deps", "--format-version=1"])
        .output()
        .map_err(|e| format!("cargo metadata: {e}"))?;
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
    Ok(metadata["packages"].as_array().into_iter().flatten().any(|package| package["name"] == name))
}

#[cfg(test)]
mod tests {
    use super::root;

    /// An installed program stops at an overflow. The only exceptions are the engines and the code that is inlined into
    /// them, and no other crate of ours may be left out.
    #[test]
    fn what_ships_checks_its_arithmetic() {
        let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
        let section = |name: &str| {
            let (_, rest) = manifest.split_once(&format!("\n[{name}]\n")).expect("the section is there");
            rest.split("\n[").next().unwrap_or_default().to_owned()
        };
        assert!(section("profile.release").lines().any(|line| line == "overflow-checks = true"));
        let section = section("profile.release.package");
        let ours: Vec<&str> = section.lines().filter(|line| line.starts_with("millstream")).collect();
        assert_eq!(
            ours,
            ["millstream-engines.overflow-checks = false", "millstream-kernel.overflow-checks = false"]
        );
    }
}
