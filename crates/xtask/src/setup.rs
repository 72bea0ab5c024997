//! The packages that the pipeline needs beside Rust and a C compiler, on Debian 12 or 13.

use crate::run::{command, root, run, works};
use crate::upstream::apt;

const SOFTHSM: Package = ("softhsm2", "the PKCS #11 module that `millstream speed` measures");
const P11_KIT: Package = ("p11-kit", "the server that puts a PKCS #11 module into another process");
const P11_KIT_MODULES: Package = ("p11-kit-modules", "the module that talks to that server");

/// The packages of the peers with which the demo compares.
pub const PEERS: &[Package] = &[SOFTHSM, P11_KIT, P11_KIT_MODULES];

/// A Debian package, and its purpose.
type Package = (&'static str, &'static str);

/// Debian packages, each with its purpose.
const PACKAGES: &[Package] = &[
    ("libssl-dev", "the OpenSSL that tests compare with"),
    ("openssl", "the command that file formats are checked against"),
    ("pkg-config", "finding OpenSSL"),
    ("libipsec-mb-dev", "the multi-buffer peer, and the oracle for KASUMI"),
    SOFTHSM,
    P11_KIT,
    P11_KIT_MODULES,
    ("binutils", "readelf and nm, which find static tracepoints and exported symbols"),
    ("valgrind", "the C examples under it, and every row with undefined secrets"),
    ("systemd", "socket activation"),
    ("qemu-user-static", "running the AArch64 kernels"),
    ("gcc-aarch64-linux-gnu", "linking the AArch64 kernels"),
    ("libc6-dev-arm64-cross", "linking the AArch64 kernels"),
    ("python3-pip", "published test vectors"),
    ("python3-venv", "the real Tink"),
    ("g++", "libFuzzer"),
    ("perl", "configuring OpenSSL"),
    ("m4", "assembly for SPARC, OpenSSL's, GMP's and nettle's"),
    ("gcc-sparc64-linux-gnu", "programs for SPARC"),
    (
        "binutils-sparc64-linux-gnu",
        "the assembler and disassembler that SPARC instructions are compared with",
    ),
    ("libc6-dev-sparc64-cross", "programs for SPARC"),
    ("qemu-user", "the other emulator of SPARC, to compare with"),
    ("make", "building OpenSSL and others, for their tests"),
    ("nginx-light", "a real server on the OpenSSL provider"),
    ("fcgiwrap", "git's server side behind nginx"),
    ("curl", "a real client on the OpenSSL provider"),
    ("git", "clone and push over https"),
    ("openssh-server", "sshd on the OpenSSL provider"),
    ("openssh-client", "ssh and scp on the OpenSSL provider"),
    ("python3", "hashlib and ssl on the OpenSSL provider"),
    ("libsrtp2-dev", "libsrtp2, behind which the SRTP types are put"),
    ("python3-scapy", "the peer of ESP"),
    ("iproute2", "network namespaces, in which ESP is tried"),
    ("iputils-ping", "packets through tunnels of ESP"),
    ("iperf3", "streams through tunnels of ESP"),
    ("python3-pylibsrtp", "a program of libsrtp2"),
    ("libdpdk-dev", "the headers and drivers of DPDK, with which the driver for it is compiled and compared"),
    ("dpdk-dev", "DPDK's own tests, which run on the driver"),
    ("opensc", "pkcs11-tool on the PKCS #11 module"),
    ("knot", "keymgr, which makes keys of zones by the PKCS #11 module"),
    ("knot-dnssecutils", "kzonesign, which signs with them"),
    ("bind9-utils", "dnssec-verify, which checks those signatures"),
    ("libengine-pkcs11-openssl", "OpenSSL 3.0's and nginx's way to the PKCS #11 module"),
    ("gnutls-bin", "p11tool and GnuTLS on the PKCS #11 module"),
    ("libnss3-tools", "NSS on the PKCS #11 module"),
    (
        "dpkg-dev",
        "unpacking sources of other projects, whose tests are in no package, and what packages depend on",
    ),
    ("procps", "what the tests' servers leave running"),
    ("gnupg", "gpg with and without AES"),
    ("age", "files of the real age, which decrypt reads"),
    ("btrfs-progs", "real snapshots for backups"),
    ("python3-cryptography", "Python's cryptography with and without AES, on Debian's OpenSSL"),
    ("libnss3-dev", "NSS with and without AES"),
    ("libgnutls28-dev", "GnuTLS with and without AES"),
    ("libgcrypt20-dev", "libgcrypt with and without AES"),
    ("libsodium-dev", "libsodium, which refuses to do without AES"),
    ("strace", "a tracer inside of what is traced"),
    ("luajit", "compiled code that is never writable while it is executable"),
    ("sbcl", "a heap that is executable and writable"),
    ("util-linux", "setpriv and unshare, for sandboxes"),
    ("fish", "completions in a real fish"),
    ("zsh", "completions in a real zsh"),
    ("python3-yaml", "the rules for alerts as YAML"),
    ("xz-utils", "archives of the release"),
    ("lintian", "Debian's rules for packages"),
    ("mmdebstrap", "a clean Debian system in which packages are tried, and the base of the image"),
    ("skopeo", "reading the image for containers"),
];

/// The packages that only `--deep` has a use for.
const DEEP_PACKAGES: &[Package] = &[
    ("libtss2-dev", "the library of the TSS, by which the device secret of tokens is in a TPM"),
    ("apache2-bin", "a server that has its key in a token"),
    ("chromium", "a browser that agrees on keys with ML-KEM"),
    ("janus", "a media server on libsrtp2"),
    ("gstreamer1.0-tools", "pipelines with SRTP, on libsrtp2"),
    ("gstreamer1.0-plugins-good", "RTP in them"),
    ("gstreamer1.0-plugins-bad", "SRTP in them"),
    ("strongswan-charon", "a daemon of IKE, whose data plane is the other end of ESP"),
    ("strongswan-swanctl", "its commands"),
    ("libstrongswan-standard-plugins", "its ciphers"),
    ("libstrongswan-extra-plugins", "more of them"),
    ("libcharon-extra-plugins", "its data plane in user space"),
    ("swtpm", "a TPM for its tests"),
    ("npm", "a server of Azure's storage, which keeps backups"),
    ("tpm2-tools", "commands that clear that TPM and change what it measured"),
];

/// Compilers and runtimes, each with a program of it and the package that has it. One from elsewhere is as good.
const RUNTIMES: &[(&str, &str, Package)] = &[
    ("go", "version", ("golang-go", "static programs in Go with and without AES")),
    ("javac", "-version", ("default-jdk-headless", "Java with and without AES")),
    ("node", "--version", ("nodejs", "Node.js with and without AES")),
];

/// The folder of systems, and of programs of other systems.
pub const SYSTEMS: &str = "target/systems";

/// Installs whatever is missing. Debian packages need root or sudo.
///
/// # Errors
/// When apt fails. Rust components that can't be had only leave their step out: the pipeline
/// says so in a counted line.
pub fn setup() -> Result<(), String> {
    packages(true)?;
    tools(true);
    Ok(())
}

/// Installs what the first steps need: Debian packages, those of Debian 13 that are unpacked and not installed, and Rust's components.
///
/// # Errors
/// When apt fails.
pub fn packages(deep: bool) -> Result<(), String> {
    let absent = RUNTIMES.iter().filter(|(program, version, _)| !works(program, &[version]));
    let of_deep = DEEP_PACKAGES.iter().filter(|_| deep);
    let packages: Vec<Package> =
        PACKAGES.iter().chain(of_deep).copied().chain(absent.map(|(_, _, package)| *package)).collect();
    install(&packages)?;
    apt::openssl_of(apt::DEBIAN_13, &root().join(SYSTEMS))?;
    optional(&["component", "add", "clippy", "rustfmt"]);
    optional(&["target", "add", "aarch64-unknown-linux-gnu"]);
    if works("rustup", &["toolchain", "list", "--verbose"]) {
        if !works("cargo", &["+nightly", "--version"]) {
            optional(&["toolchain", "install", "nightly", "--profile", "minimal"]);
        }
        optional(&["+nightly", "component", "add", "rust-src", "miri"]);
    }
    Ok(())
}

/// Cargo's tools: the package, which is its program too, and the options that leave out what the pipeline has no use for.
type Tool = (&'static str, &'static [&'static str]);

const TOOLS: &[Tool] = &[("cargo-deny", &[])];

/// The tools that only `--deep` has a use for. The book is made without a server, a watcher and the index of words.
const DEEP_TOOLS: &[Tool] = &[("cargo-fuzz", &[]), ("mdbook", &["--no-default-features"])];

/// Compiles those of cargo's tools that are missing. A tool that can't be compiled leaves its step out.
pub fn tools(deep: bool) {
    for (tool, options) in TOOLS.iter().chain(DEEP_TOOLS.iter().filter(|_| deep)) {
        if works(tool, &["--version"]) {
            continue;
        }
        // The tools are not optimised: they run for seconds, and optimising them takes minutes. Nobody debugs them.
        let install = ["install", "--locked", "--quiet", "--debug", tool];
        let mut install = command("cargo", &[&install, *options].concat());
        install.env("CARGO_PROFILE_DEV_DEBUG", "0");
        if let Err(why) = run(install) {
            eprintln!("xtask: {why}; its step will be left out");
        }
    }
}

/// Installs those packages that are missing.
///
/// # Errors
/// When apt fails.
pub fn install(packages: &[Package]) -> Result<(), String> {
    let missing: Vec<&str> =
        packages.iter().map(|(package, _)| *package).filter(|name| !works("dpkg", &["-s", name])).collect();
    if missing.is_empty() {
        return Ok(());
    }
    run(apt(&["update", "-q"]))?;
    let mut arguments = vec!["install", "-y", "-q", "--no-install-recommends"];
    arguments.extend(missing);
    run(apt(&arguments))
}

/// Returns true if packages can be installed without asking anybody.
pub fn may_install() -> bool {
    works("apt-get", &["--version"]) && (is_root() || works("sudo", &["-n", "true"]))
}

fn apt(arguments: &[&str]) -> std::process::Command {
    let root = is_root();
    let mut command = if root { command("apt-get", &[]) } else { command("sudo", &["apt-get"]) };
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    command
}

/// Returns true if this user is root.
pub fn is_root() -> bool {
    std::process::Command::new("id").arg("-u").output().is_ok_and(|out| out.stdout.trim_ascii() == b"0")
}

/// Runs a rustup call that may fail. Without the component a step is left out, and says so.
fn optional(arguments: &[&str]) {
    // A download that hangs must not hang the pipeline.
    let mut bounded = vec!["300", "rustup"];
    bounded.extend(arguments);
    if let Err(why) = run(command("timeout", &bounded)) {
        eprintln!("xtask: {why}; the steps that need it will be left out");
    }
}
