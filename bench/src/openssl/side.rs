//! An OpenSSL, its configurations, and the results of its `speed` under each.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use millstream::tally::Tally;
use millstream_testkit::refuse_built_for_tests;

use super::cases::{Case, Kind};

/// The mask that takes the instructions for AES from OpenSSL on x86-64, and nothing else. OpenSSL clears each
/// vector that is not given, so the others are given with nothing to clear.
const WITHOUT_AES: &str = "~0x200000000000000:~0x20000000000:~0x0:~0x0:~0x0";

/// The provider whose algorithms are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    Ours,
    Default,
    /// The default provider's, without the instructions for AES.
    Masked,
}

/// A program `openssl`.
pub struct OpenSsl {
    pub program: PathBuf,
    /// A version like `3.0.19`.
    pub version: String,
    pub about: String,
}

impl OpenSsl {
    pub fn new(program: &Path) -> Result<OpenSsl, String> {
        refuse_built_for_tests(program)?;
        let output = good(Command::new(program).arg("version"))?;
        let about = output.trim().to_owned();
        let version = about.split(' ').nth(1).ok_or_else(|| format!("{}: no version", program.display()))?;
        Ok(OpenSsl { program: program.to_owned(), version: version.to_owned(), about })
    }

    /// Returns the numbers of the version, for comparing.
    pub fn order(&self) -> Vec<u32> {
        self.version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
    }

    /// Returns the folder it was installed to, if it is not the system's.
    pub fn prefix(&self) -> Option<PathBuf> {
        let prefix = self.program.canonicalize().ok()?.parent()?.parent()?.to_owned();
        prefix.join("include/openssl/evp.h").exists().then_some(prefix)
    }
}

/// The folder of a run, with the configurations and counters in it.
pub struct Folder {
    path: PathBuf,
    ours: PathBuf,
    default: PathBuf,
}

impl Folder {
    pub fn new(module: &Path) -> Result<Folder, String> {
        let path = std::env::temp_dir().join(format!("millstream-bench-openssl-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let (ours, default) = (path.join("ours.cnf"), path.join("default.cnf"));
        let module = module.canonicalize().map_err(|e| {
            format!("{}: {e}; build it: cargo build --release -p millstream-provider", module.display())
        })?;
        let providers = "openssl_conf = init\n[init]\nproviders = providers\nalg_section = algorithms\nrandom = random\n\
                         [random]\nproperties = provider=default\n[default_section]\nactivate = 1\n";
        let with = format!(
            "{providers}[algorithms]\ndefault_properties = ?provider=millstream\n[providers]\n\
             default = default_section\nmillstream = ours\n[ours]\nmodule = {}\nactivate = 1\n",
            module.display()
        );
        let without = format!("{providers}[algorithms]\n[providers]\ndefault = default_section\n");
        for (file, text) in [(&ours, with), (&default, without)] {
            std::fs::write(file, text).map_err(|e| format!("{}: {e}", file.display()))?;
        }
        Ok(Folder { path, ours, default })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the command of a program with these settings and no others.
    pub fn command(&self, whose: Whose, program: &Path) -> Command {
        let mut command = Command::new(program);
        for name in ["OPENSSL_MODULES", "OPENSSL_ia32cap", "MILLSTREAM_SOCKET", "MILLSTREAM_TALLY"] {
            command.env_remove(name);
        }
        command.env("OPENSSL_CONF", if whose == Whose::Ours { &self.ours } else { &self.default });
        if whose == Whose::Masked {
            command.env("OPENSSL_ia32cap", WITHOUT_AES);
        }
        command
    }

    /// Returns the bytes per second of processor time that `openssl speed` reports; none where it can't do
    /// that.
    pub fn speed(
        &self,
        whose: Whose,
        openssl: &OpenSsl,
        case: &Case,
        size: usize,
        seconds: u32,
    ) -> Result<Option<f64>, String> {
        let mut command = self.command(whose, &openssl.program);
        command.args(["speed", "-mr", "-seconds", &seconds.to_string(), "-bytes", &size.to_string()]);
        let output = output(command.args(case.options()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().rev().find(|line| line.starts_with("+F:"));
        let figure = line.and_then(|line| line.rsplit(':').next()?.parse().ok());
        Ok(figure.filter(|figure| output.status.success() && *figure > 0.0))
    }

    /// Returns the kernel that computed a case with our provider preferred; none where we don't have it, and
    /// the default provider did.
    pub fn kernel(&self, openssl: &OpenSsl, case: &Case) -> Result<Option<String>, String> {
        let path = self.path("tally");
        let _ = std::fs::remove_file(&path);
        let tally = Tally::create(&path).map_err(|e| e.to_string())?;
        let mut command = self.command(Whose::Ours, &openssl.program);
        command.env("MILLSTREAM_TALLY", &path).args(["speed", "-mr", "-seconds", "1", "-bytes", "8192"]);
        output(command.args(case.options()))?;
        let most = tally.read().into_iter().max_by_key(|row| row.bytes);
        // Fewer bytes come from setting up.
        Ok(most.filter(|row| row.bytes > 1 << 20).map(|row| row.kernel))
    }

    /// Compares the results of both providers for random messages. Returns their number.
    pub fn compare(&self, openssl: &OpenSsl, drive: &Path, case: &Case) -> Result<u32, String> {
        let what = match case.kind {
            Kind::Cipher | Kind::Decrypt => "cipher",
            Kind::Digest => "digest",
            Kind::Hmac | Kind::Cmac => return self.compare_mac(openssl, case),
        };
        let said = good(self.command(Whose::Ours, drive).args(["check", what, case.algorithm]))?;
        said.trim().parse().map_err(|_| format!("{}: {said}", case.name()))
    }

    fn compare_mac(&self, openssl: &OpenSsl, case: &Case) -> Result<u32, String> {
        let input = self.path("input");
        let (mac, option) = match case.kind {
            Kind::Hmac => ("HMAC", format!("digest:{}", case.algorithm)),
            _ => ("CMAC", format!("cipher:{}", case.algorithm)),
        };
        let key = if case.algorithm == "aes-256-cbc" { "5a".repeat(32) } else { "5a".repeat(16) };
        for len in [0, 1, 16, 63, 64, 65, 1000, 17_001] {
            let data: Vec<u8> = (0..len).map(|i: u32| (i.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect();
            std::fs::write(&input, data).map_err(|e| format!("{}: {e}", input.display()))?;
            let by = |whose| {
                let mut command = self.command(whose, &openssl.program);
                command.args(["mac", "-macopt", &option, "-macopt", &format!("hexkey:{key}"), "-in"]);
                good(command.arg(&input).arg(mac))
            };
            if by(Whose::Ours)? != by(Whose::Default)? {
                return Err(format!("{} of {len} bytes: the providers differ", case.name()));
            }
        }
        Ok(8)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Runs a command to its end.
pub fn output(command: &mut Command) -> Result<Output, String> {
    command.output().map_err(|e| format!("{}: {e}", command.get_program().display()))
}

/// Returns the output of a command that must succeed.
pub fn good(command: &mut Command) -> Result<String, String> {
    let output = output(command)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let arguments: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
        let name = command.get_program().display().to_string();
        return Err(format!("{name} {}: {}: {}", arguments.join(" "), output.status, said.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
