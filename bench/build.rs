//! Learns the layout of `intel-ipsec-mb.h` from the C compiler, where the header is installed, and
//! builds OpenSSL 3.6 where the feature `openssl-src` asks for it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(ipsec_mb)");
    match ipsec_mb_layout(&out) {
        Ok(()) => println!("cargo::rustc-cfg=ipsec_mb"),
        Err(why) => println!("cargo::rustc-env=IPSEC_MB_ABSENT={why}"),
    }
    peer_versions();
    compiler();
    #[cfg(feature = "openssl-src")]
    openssl(&out);
}

/// Compiles and runs `ipsec_mb_layout.c`, which prints offsets and constants as Rust.
fn ipsec_mb_layout(out: &Path) -> Result<(), &'static str> {
    const SOURCE: &str = "src/peers/ipsec_mb_layout.c";
    const HEADER: &str = "/usr/include/intel-ipsec-mb.h";
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-changed={HEADER}");
    if !Path::new(HEADER).exists() {
        return Err("intel-ipsec-mb.h was not installed when this was built (libipsec-mb-dev)");
    }
    if env::var("HOST") != env::var("TARGET") {
        return Err("built for another machine");
    }
    let program = out.join("ipsec_mb_layout");
    let compiled = Command::new("cc").arg("-o").arg(&program).arg(SOURCE).status();
    if !compiled.is_ok_and(|status| status.success()) {
        return Err("the C compiler did not accept ipsec_mb_layout.c");
    }
    let printed = Command::new(&program).output().map_err(|_| "its layout program did not run")?;
    fs::write(out.join("ipsec_mb_layout.rs"), printed.stdout).map_err(|_| "could not write its layout")
}

/// Takes the versions of the peers that are crates from the lock file, which names what was built.
fn peer_versions() {
    const LOCK: &str = "../Cargo.lock";
    const RUSTCRYPTO: &[&str] = &[
        "aes",
        "cbc",
        "cfb-mode",
        "ctr",
        "xts-mode",
        "aes-gcm",
        "cmac",
        "chacha20poly1305",
        "md-5",
        "sha1",
        "sha2",
        "hmac",
        "hkdf",
        "camellia",
        "des",
        "rc4",
        "aes-siv",
        "aes-gcm-siv",
        "aes-kw",
        "fpe",
    ];
    const LIBCRUX: &[&str] =
        &["libcrux-curve25519", "libcrux-ed25519", "libcrux-p256", "libcrux-ml-kem", "libcrux-ml-dsa"];
    println!("cargo::rerun-if-changed={LOCK}");
    let lock = fs::read_to_string(LOCK).expect("the workspace's lock file");
    let version = |package: &str| {
        let entry = format!("name = \"{package}\"\nversion = \"");
        let found = lock.split_once(&entry).and_then(|(_, rest)| rest.split_once('"'));
        found.map_or("unknown", |(version, _)| version)
    };
    let list = |names: &[&str]| {
        names.iter().map(|name| format!("{name} {}", version(name))).collect::<Vec<_>>().join(", ")
    };
    println!("cargo::rustc-env=AWS_LC_SYS_VERSION={}", version("aws-lc-sys"));
    println!("cargo::rustc-env=RING_VERSION={}", version("ring"));
    println!("cargo::rustc-env=GRAVIOLA_VERSION={}", version("graviola"));
    println!("cargo::rustc-env=LIBCRUX_VERSIONS={}", list(LIBCRUX));
    println!("cargo::rustc-env=RUSTCRYPTO_VERSIONS={}", list(RUSTCRYPTO));
    println!("cargo::rustc-env=CRC_VERSIONS={}", list(&["crc32fast", "crc32c"]));
}

/// Passes on the compiler and its flags, for records.
fn compiler() {
    let rustc = env::var_os("RUSTC").expect("cargo sets RUSTC");
    let output = Command::new(rustc).arg("--version").output().expect("rustc runs");
    println!("cargo::rustc-env=RUSTC_VERSION={}", String::from_utf8_lossy(&output.stdout).trim());
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default().replace('\x1f', " ");
    println!("cargo::rustc-env=COMPILER_FLAGS={flags}");
}

/// Builds OpenSSL's libcrypto, unless an earlier run of this script has, and links it.
#[cfg(feature = "openssl-src")]
fn openssl(out: &Path) {
    let place = out.join(format!("openssl-{}", openssl_src::version()));
    let library = place.join("install/lib");
    if !library.join("libcrypto.a").exists() {
        openssl_src::Build::new().out_dir(&place).build();
    }
    println!("cargo::rustc-link-search=native={}", library.display());
    println!("cargo::rustc-link-lib=static=crypto");
}
