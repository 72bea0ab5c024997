//! The sizes of what ships, with and without symbols and line tables.

use std::fs;
use std::path::Path;

use crate::install::build::Built;
use crate::install::items::files;
use crate::run::at;

/// Writes a table of the sizes of programs and libraries, as they are built and as they ship, and of the packages.
///
/// # Errors
/// Names the file that can't be read.
pub fn write(built: &Built, work: &Path, out: &Path) -> Result<(), String> {
    let tree = work.join("usr-local/usr/local");
    let rows = [
        (&built.cli, "bin/millstream"),
        (&built.shared, concat!("lib/libmillstream.so.", env!("CARGO_PKG_VERSION"))),
        (&built.provider, "lib/ossl-modules/millstream.so"),
        (&built.pkcs11, "lib/pkcs11/libmillstream-pkcs11.so"),
        (&built.srtp, "lib/millstream/libmillstream-srtp.so"),
        (&built.library, "lib/libmillstream.a"),
    ];
    let mut text = String::from("| file | as built, bytes | shipped, bytes |\n|---|---:|---:|\n");
    for (from, name) in rows {
        text += &format!("| {name} | {} | {} |\n", bytes(from)?, bytes(&tree.join(name))?);
    }
    text += "\n| package | bytes |\n|---|---:|\n";
    for package in files(out)? {
        let name = package.file_name().unwrap_or_default().to_string_lossy();
        text += &format!("| {name} | {} |\n", bytes(&package)?);
    }
    let place = out.join("sizes.md");
    fs::write(&place, text).map_err(at(&place))
}

fn bytes(file: &Path) -> Result<u64, String> {
    Ok(fs::metadata(file).map_err(at(file))?.len())
}
