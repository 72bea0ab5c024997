//! The published test vectors, which are too large to keep here and are pinned by version and
//! digest.

use crate::run::{command, root, run};

const PACKAGE: &str = "cryptography_vectors==50.0.2";
const SHA256: &str = "51641f03a3eb4edbe9fb68e3a3574d25f86aa502d06391fffa886330d02778a0";

/// Brings the vectors to `target/vectors`, unless they are there.
///
/// # Errors
/// When pip fails, or the package is not the one that is pinned.
pub fn install() -> Result<(), String> {
    let directory = root().join("target/vectors");
    let stamp = directory.join(PACKAGE);
    if stamp.exists() {
        return Ok(());
    }
    let place = directory.to_str().ok_or("the workspace's path is not UTF-8")?;
    std::fs::create_dir_all(&directory).map_err(|e| format!("{place}: {e}"))?;
    let requirements = directory.join("requirements.txt");
    let text = format!("{PACKAGE} --hash=sha256:{SHA256}\n");
    std::fs::write(&requirements, text).map_err(|e| format!("{place}: {e}"))?;
    let file = requirements.to_str().ok_or("the workspace's path is not UTF-8")?;
    run(command(
        "python3",
        &[
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--require-hashes",
            "--upgrade",
            "--target",
            place,
            "-r",
            file,
        ],
    ))?;
    std::fs::write(&stamp, "").map_err(|e| format!("{place}: {e}"))
}
