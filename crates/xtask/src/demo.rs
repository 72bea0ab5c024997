//! The main job on a real file.

use std::path::Path;

use crate::run::{command, root, run};

/// Builds the command, then encrypts, decrypts, digests and MACs a real file and prints `caps`.
///
/// # Errors
/// When a step fails or the decrypted file differs from the original.
pub fn demo() -> Result<(), String> {
    run(command("cargo", &["build", "--release", "--package", "millstream-cli"]))?;
    let place = root().join("target/demo");
    std::fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
    // The command itself is a real file of a few megabytes.
    let original = "target/release/millstream";
    let (key, sealed, opened) = ("target/demo/key", "target/demo/sealed", "target/demo/opened");
    write_key(&root().join(key))?;
    let millstream = |arguments: &[&str]| run(command(original, arguments));
    millstream(&["encrypt", "-k", key, "-i", original, "-o", sealed])?;
    millstream(&["decrypt", "-k", key, "-i", sealed, "-o", opened])?;
    millstream(&["digest", "-v", "-a", "sha256", original, opened])?;
    millstream(&["mac", "-v", "-a", "sha256_hmac", "-k", key, original])?;
    millstream(&["caps"])?;
    let read = |path: &str| std::fs::read(root().join(path)).map_err(|e| format!("{path}: {e}"));
    if read(original)? != read(opened)? {
        return Err(format!("{opened} differs from {original}"));
    }
    println!("\n{original}: encrypted to {sealed}, decrypted to {opened}, and they are the same.");
    Ok(())
}

/// Writes a fresh 32-byte key that only its owner can read.
fn write_key(path: &Path) -> Result<(), String> {
    use std::io::{Read, Write};
    use std::os::unix::fs::OpenOptionsExt;
    let fail = |e: std::io::Error| format!("{}: {e}", path.display());
    let mut key = [0; 32];
    std::fs::File::open("/dev/urandom").and_then(|mut f| f.read_exact(&mut key)).map_err(fail)?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path).and_then(|mut f| f.write_all(&key)).map_err(fail)
}
