//! Millstream as another project's tests get it: the command, the provider, and a service for keys.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::run::{CHECKED, command, root};

/// The service's policy, which gives every user all that a suite needs. A suite starts thousands of
/// programs one after another, and some at once.
const POLICY: &str = "[default]\nmax_grants = 4096\ntotal_queues = 65536\ntotal_memory_mib = 1048576\n\
    total_key_slots = 1048576\norders = 4096\nattaches_per_s = 0\nworkers = 0\n[limits]\nreserve_percent = 0\n";

/// The time in which the service has to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Builds the command alone.
///
/// # Errors
/// When it can't be built.
pub fn program() -> Result<PathBuf, String> {
    Ok(built(&["millstream-cli"])?.join("millstream"))
}

/// Builds packages, and returns the folder with the programs.
fn built(packages: &[&str]) -> Result<PathBuf, String> {
    let mut cargo = command("cargo", &["build", "--quiet", "--profile", CHECKED]);
    cargo.args(packages.iter().flat_map(|package| ["--package", package]));
    let status = cargo.status().map_err(|e| format!("cargo build: {e}"))?;
    if !status.success() {
        return Err(format!("cargo build {}: {status}", packages.join(" ")));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    Ok(root().join(target).join(CHECKED))
}

/// The programs that were built.
pub struct Product {
    program: PathBuf,
    module: PathBuf,
}

impl Product {
    /// Builds the command and the provider.
    ///
    /// # Errors
    /// When they can't be built.
    pub fn build() -> Result<Product, String> {
        let folder = built(&["millstream-cli", "millstream-provider"])?;
        Ok(Product { program: folder.join("millstream"), module: folder.join("libmillstream_provider.so") })
    }

    /// Returns `millstream run` for the command that the caller appends, with its report in a file.
    pub fn run(&self, service: Option<&Service>, report: &Path) -> Command {
        let mut run = self.extend(service);
        run.args(["--json", "--report"]).arg(report).arg("--");
        run
    }

    /// Returns the configuration that extends another one, as `millstream run` writes it.
    ///
    /// # Errors
    /// When `millstream run` writes none.
    pub fn configuration(&self, base: &Path, service: Option<&Service>) -> Result<String, String> {
        let mut run = self.extend(service);
        run.arg("--quiet").arg("--base").arg(base).args(["--", "sh", "-c", "cat \"$OPENSSL_CONF\""]);
        let output = run.stderr(Stdio::inherit()).output().map_err(|e| format!("millstream run: {e}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || text.is_empty() {
            return Err(format!("millstream run: {}", output.status));
        }
        // The tallies are removed, because they are those of this run, which is over. MILLSTREAM_TALLY
        // names others.
        Ok(text
            .lines()
            .filter(|line| !line.starts_with("tally = "))
            .map(|line| format!("{line}\n"))
            .collect())
    }

    fn extend(&self, service: Option<&Service>) -> Command {
        let mut run = self.command("run");
        run.arg("--module").arg(&self.module);
        if let Some(service) = service {
            run.arg("--socket").arg(&service.socket);
        }
        run
    }

    /// Returns a subcommand without the variables of the environment in which this task may have been
    /// started.
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(name);
        for variable in ["OPENSSL_CONF", "OPENSSL_MODULES", "MILLSTREAM_SOCKET", "MILLSTREAM_HWCAP"] {
            command.env_remove(variable);
        }
        command
    }
}

/// A service with a socket that no other program knows. The service ends with this value.
pub struct Service {
    child: Child,
    folder: PathBuf,
    socket: PathBuf,
}

impl Service {
    /// Starts it and waits until it is ready.
    ///
    /// # Errors
    /// When it does not become ready; its log is named.
    pub fn start(product: &Product, log: &Path) -> Result<Service, String> {
        // The name of a socket must be short.
        let folder = std::env::temp_dir().join(format!("millstream-upstream-{}", std::process::id()));
        let fail = |e: std::io::Error| format!("{}: {e}", folder.display());
        std::fs::create_dir_all(&folder).map_err(fail)?;
        let (socket, policy) = (folder.join("socket"), folder.join("policy.toml"));
        std::fs::write(&policy, POLICY).map_err(fail)?;
        let errors = File::create(log).map_err(|e| format!("{}: {e}", log.display()))?;
        let mut serve = product.command("serve");
        serve.arg("--socket").arg(&socket).arg("--policy").arg(policy).args(["--quiet", "--ready-fd", "1"]);
        serve.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors);
        let mut child = serve.spawn().map_err(|e| format!("millstream serve: {e}"))?;
        let said = child.stdout.take().expect("stdout is piped");
        let service = Service { child, folder, socket };
        match BufReader::new(said).read_line(&mut String::new()) {
            Ok(bytes) if bytes > 0 => Ok(service),
            _ => Err(format!("millstream serve did not become ready: {}", log.display())),
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // The service ends its workers itself, because they are in groups of their own.
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        let begin = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && begin.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The work that was counted: the sum of a table, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    pub rows: usize,
    pub operations: u64,
    pub bytes: u64,
}

impl Counted {
    /// Reads the table that `millstream run` wrote, and returns its sum.
    ///
    /// # Errors
    /// When there is none, or it is empty. Millstream then had no part in the run.
    pub fn read(report: &Path) -> Result<Counted, String> {
        let fail = |why: &dyn std::fmt::Display| format!("{}: {why}", report.display());
        let text = std::fs::read(report).map_err(|e| fail(&e))?;
        let report: Value = serde_json::from_slice(&text).map_err(|e| fail(&e))?;
        let rows = report["accelerated"].as_array().map(Vec::as_slice).unwrap_or_default();
        let sum = |name: &str| rows.iter().filter_map(|row| row[name].as_u64()).sum();
        if rows.is_empty() {
            return Err(fail(&format!("nothing was counted: {}", report["nothing"])));
        }
        Ok(Counted { rows: rows.len(), operations: sum("operations"), bytes: sum("bytes") })
    }

    /// Returns the sum of both.
    pub fn and(self, other: Counted) -> Counted {
        Counted {
            rows: self.rows + other.rows,
            operations: self.operations + other.operations,
            bytes: self.bytes + other.bytes,
        }
    }

    /// Describes the counts for programs.
    pub fn json(self) -> Value {
        json!({ "rows": self.rows, "operations": self.operations, "bytes": self.bytes })
    }
}
