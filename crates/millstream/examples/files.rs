//! The SHA-256 of files, as `sha256sum` prints it: small files many at once, side by side, and large ones piece by piece.
//!
//! ```console
//! $ cargo run --example files -- Cargo.toml Cargo.lock
//! ```

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use millstream::Operation;
use millstream::hash::{Hash, Hasher};

/// Files of up to that many bytes are read whole.
const SMALL: u64 = 64 * 1024;

/// Small files that are computed side by side.
const TOGETHER: usize = 32;

/// Prints the digests of the files that are named.
pub fn main() -> io::Result<()> {
    let names: Vec<OsString> = std::env::args_os().skip(1).collect();
    for (name, digest) in names.iter().zip(digests(&names)?) {
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(io::stdout(), "{hex}  {}", name.display())?;
    }
    Ok(())
}

/// Returns the digest of each file, in their order.
pub fn digests<P: AsRef<Path>>(names: &[P]) -> io::Result<Vec<Vec<u8>>> {
    let mut digests = vec![Vec::new(); names.len()];
    let mut small = Vec::new();
    for (name, digest) in names.iter().zip(&mut digests) {
        let file = File::open(name)?;
        if file.metadata()?.len() <= SMALL {
            small.push((file, digest));
        } else {
            *digest = of_large(file)?;
        }
    }
    for group in small.chunks_mut(TOGETHER) {
        let mut contents = Vec::new();
        for (file, _) in group.iter_mut() {
            contents.push(Vec::new());
            file.read_to_end(contents.last_mut().expect("it was pushed"))?;
        }
        let mut operations: Vec<_> =
            contents.iter().map(|data| Operation::digest(Hash::Sha256, data)).collect();
        millstream::batch(&mut operations).map_err(io::Error::other)?;
        for ((_, digest), operation) in group.iter_mut().zip(&operations) {
            **digest = operation.tag().to_vec();
        }
    }
    Ok(digests)
}

/// Reads a file piece by piece.
fn of_large(mut file: File) -> io::Result<Vec<u8>> {
    let mut hasher = Hasher::new(millstream::features().map_err(io::Error::other)?, Hash::Sha256);
    let mut piece = vec![0; 256 * 1024];
    loop {
        let len = file.read(&mut piece)?;
        if len == 0 {
            return Ok(hasher.finish().to_vec());
        }
        hasher.update(&piece[..len]);
    }
}
