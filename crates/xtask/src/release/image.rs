//! An image for containers in OCI's form: the C library's package, and the package `millstream` unpacked on it.
//!
//! Ref. OCI Image Format Specification 1.0, `image-layout.md`, `manifest.md` and `config.md`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::build::{Build, OF_ROOT};
use super::system::bootstrap;
use super::{components, debian};
use crate::install::items::{VERSION, files};
use crate::run::{at, command, output, root, run};

/// The folder with the image's files, once it was made.
pub const ROOT: &str = "target/packaging/image/root";

/// The packages of the libraries that the command is linked with.
const BASE: &str = "libc6,libgcc-s1";

/// The users of the image, and the one who runs the service and owns the folder of its socket.
const PASSWD: &str = "root:x:0:0:root:/:/nonexistent\nmillstream:x:65532:65532:Millstream:/:/nonexistent\n";
const GROUP: &str = "root:x:0:\nmillstream:x:65532:\n";

/// The number of that user, and of its group.
pub const USER: &str = "65532:65532";

/// The command that a container runs, as `dist/Containerfile` has it.
pub const ENTRY: &[&str] = &["/usr/bin/millstream"];
pub const ARGUMENTS: &[&str] =
    &["serve", "--policy", "/etc/millstream/policy.toml", "--socket", "/run/millstream/millstream.sock"];

/// Makes the image from the package in `out`, and puts it there. Returns false if what it takes is not on this machine.
///
/// # Errors
/// Names the step or the file that failed.
pub fn make(build: &Build, out: &Path) -> Result<bool, String> {
    let Some(base) = bootstrap("base", "extract", BASE)? else { return Ok(false) };
    let work = root().join("target/packaging/image");
    let tree = filled(&base, &work, out)?;
    let layout = work.join("layout");
    let blobs = layout.join("blobs/sha256");
    fs::create_dir_all(&blobs).map_err(at(&blobs))?;
    let layer = work.join("layer.tar");
    build.archive(&tree, &layer, &[])?;
    let id = digest(&layer)?;
    let level = format!("-{}", build.level);
    run(command("gzip", &[&level, "--no-name", "--force", &layer.to_string_lossy()]))?;
    let layer = blob(&blobs, &layer.with_extension("tar.gz"), "layer.v1.tar+gzip")?;

    let config = work.join("config.json");
    write(&config, &configuration(&id, build)?)?;
    let config = blob(&blobs, &config, "config.v1+json")?;
    let manifest = work.join("manifest.json");
    write(
        &manifest,
        &json!({ "schemaVersion": 2, "mediaType": media("manifest.v1+json"), "config": config, "layers": [layer] }),
    )?;
    let mut manifest = blob(&blobs, &manifest, "manifest.v1+json")?;
    manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": VERSION });
    write(&layout.join("index.json"), &json!({ "schemaVersion": 2, "manifests": [manifest] }))?;
    write(&layout.join("oci-layout"), &json!({ "imageLayoutVersion": "1.0.0" }))?;
    build.archive(&layout, &out.join(format!("millstream-{VERSION}-oci.tar")), OF_ROOT)?;
    Ok(true)
}

/// Makes the folder with the files of the image.
fn filled(base: &Path, work: &Path, out: &Path) -> Result<PathBuf, String> {
    let _ = fs::remove_dir_all(work);
    let tree = work.join("root");
    fs::create_dir_all(&tree).map_err(at(&tree))?;
    let mut copy = command("cp", &["--archive"]);
    for entry in files(base)?.iter().filter(|entry| !entry.ends_with("dev") && !entry.ends_with("var")) {
        copy.arg(entry);
    }
    copy.arg(&tree);
    run(copy)?;
    let package = files(out)?.into_iter().find(|file| {
        file.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(&format!("{}_", debian::PACKAGES[0].0)))
    });
    let mut unpack = Command::new("dpkg-deb");
    unpack.arg("--extract").arg(package.ok_or("the package millstream was not made")?).arg(&tree);
    run(unpack)?;
    for folder in ["run/millstream", "tmp", "proc", "sys", "dev"] {
        let folder = tree.join(folder);
        fs::create_dir_all(&folder).map_err(at(&folder))?;
    }
    for (name, text) in
        [("etc/passwd", PASSWD), ("etc/group", GROUP), ("etc/hostname", ""), ("etc/resolv.conf", "")]
    {
        let place = tree.join(name);
        fs::write(&place, text).map_err(at(&place))?;
    }
    let mut own = command("chown", &[USER]);
    own.arg(tree.join("run/millstream"));
    run(own)?;
    Ok(tree)
}

fn configuration(id: &str, build: &Build) -> Result<Value, String> {
    let architecture = output(command("dpkg", &["--print-architecture"]))?;
    Ok(json!({
        "architecture": architecture.trim(),
        "os": "linux",
        "created": components::time(&build.epoch)?,
        "config": {
            "User": USER,
            "Entrypoint": ENTRY,
            "Cmd": ARGUMENTS,
            "Volumes": { "/run/millstream": {} },
            "Labels": {
                "org.opencontainers.image.title": "Millstream",
                "org.opencontainers.image.version": VERSION,
                "org.opencontainers.image.licenses": env!("CARGO_PKG_LICENSE"),
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{id}")] },
    }))
}

/// Puts a file among the blobs, under its digest, and returns the descriptor of it.
fn blob(blobs: &Path, file: &Path, kind: &str) -> Result<Value, String> {
    let digest = digest(file)?;
    let size = fs::metadata(file).map_err(at(file))?.len();
    fs::rename(file, blobs.join(&digest)).map_err(at(file))?;
    Ok(json!({ "mediaType": media(kind), "digest": format!("sha256:{digest}"), "size": size }))
}

fn media(kind: &str) -> String {
    format!("application/vnd.oci.image.{kind}")
}

fn digest(file: &Path) -> Result<String, String> {
    let mut sum = Command::new("sha256sum");
    sum.arg(file);
    Ok(output(sum)?.split_whitespace().next().unwrap_or_default().to_owned())
}

fn write(place: &Path, value: &Value) -> Result<(), String> {
    fs::write(place, value.to_string()).map_err(at(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_images_run_the_same_command() {
        let text = fs::read_to_string(root().join("dist/Containerfile")).unwrap();
        let value = |word: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(word)).expect("the line is there");
            serde_json::from_str::<Vec<String>>(line).expect("a list")
        };
        assert!(text.lines().any(|line| line == format!("USER {USER}")));
        assert_eq!(value("ENTRYPOINT"), ENTRY);
        assert_eq!(value("CMD"), ARGUMENTS);
    }
}
