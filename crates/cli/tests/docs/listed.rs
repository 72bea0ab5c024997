//! Commands that the test of the documents leaves out or runs otherwise, each with the reason.

/// A page, and the beginning of a command in it.
pub type At = (&'static str, &'static str);

/// Commands that can't run in a test.
pub const NOT_RUN: &[(At, &str)] = &[
    (("README.md", "apt-get "), "needs root and changes the machine; the pipeline's --install does the same"),
    (("README.md", "curl "), "installs Rust"),
    (("README.md", "cargo xtask release"), PACKAGES),
    (("packages.md", "cargo xtask release"), PACKAGES),
    (("packages.md", "apt-get "), PACKAGES),
    (("packages.md", "openssl list "), PACKAGES),
    (("packages.md", "podman "), "needs podman; the step `release` runs the image's command on its files"),
    (("README.md", "cargo xtask demo"), "is minutes long, and its parts are commands that other pages run"),
    (("README.md", "cargo xtask ci"), "is the pipeline that runs this test"),
    (
        ("tokens.md", "millstream token migrate /var/lib/softhsm"),
        "needs a token of SoftHSM2; crates/cli/tests/migrate.rs makes one and brings it",
    ),
    (("c.md", "cargo xtask install "), "is how the test's own installation was made, below another prefix"),
    (
        ("operations.md", "systemctl "),
        "changes the machine; crates/cli/tests/service.rs runs the units' programs",
    ),
    (
        ("operations.md", "millstream doctor "),
        "shows a user without a grant on one machine; crates/cli/tests/doctor.rs runs it",
    ),
    (
        ("tokens.md", "millstream token seal "),
        "needs a TPM; crates/cli/tests/tpm.rs runs it with an emulator",
    ),
    (("tokens.md", "openssl storeutl "), TOKENS_OF_SERVICE),
    (("tokens.md", "openssl req -new "), TOKENS_OF_SERVICE),
    (("tokens.md", "openssl dgst "), TOKENS_OF_SERVICE),
    (("tokens.md", "openssl pkey -pubin -in 'millstream"), TOKENS_OF_SERVICE),
    (("sparc.md", "cp target/openssl"), NO_SPARC_OPENSSL),
    (("sparc.md", "millstream sparc --count '*_t4_*' ./openssl"), NO_SPARC_OPENSSL),
    (("sparc.md", "millstream sparc --hwcap -aes --count '*_t4_*' ./openssl"), NO_SPARC_OPENSSL),
    (("sparc.md", "cmp f.enc f2.enc"), NO_SPARC_OPENSSL),
    (
        ("operations.md", "bpftrace "),
        "needs root and a kernel that lets it; the names of tracepoints are tested with readelf",
    ),
];

const PACKAGES: &str = "needs root and changes the machine; the step `release` of the pipeline makes the packages and tries them";

const TOKENS_OF_SERVICE: &str = "needs a service with tokens; tests/store.rs runs these commands";

const NO_SPARC_OPENSSL: &str =
    "needs OpenSSL for SPARC, which takes minutes to build; tests/sparc.rs runs the same";

/// Commands that run and have to succeed, and whose output is that of one machine.
pub const NOT_COMPARED: &[(At, &str)] = &[
    (
        ("observe.md", "millstream trace "),
        "functions and their addresses are those of one build of libcrypto",
    ),
    (("speed.md", "millstream compare "), "a busy machine may hide the difference"),
    (("c.md", "cc -static "), "the linker's warnings have the paths of one build"),
    (("operations.md", "curl "), "which series there are follows from what ran before"),
];

/// Texts in place of which another machine writes something else.
pub const VARIES: &[(&str, &str)] = &[
    ("x86_64-vaes512-by32", "the kernel is the best of the processor"),
    ("x86_64-vaes512-x4", "the kernel is the best of the processor"),
    ("x86_64-shani", "the kernel is the best of the processor"),
    ("Intel(R) Xeon(R) Processor (family 6 model 207 stepping 2)", "the processor"),
    ("Intel(R) Xeon(R) Processor (family 6 model 167 stepping 1)", "the processor"),
    ("3.0.19 27 Jan 2026", "the version of the distribution's OpenSSL"),
    ("3.0.19", "the version of the distribution's OpenSSL"),
    ("2.2.40", "the version of the distribution's GnuPG"),
    ("12c7c4400712e6fb4d25b5e0fad461507ee42a3d8092521283a7a9ad85d5554c", "follows from a random key"),
    ("2f4d578fe3673b1c", "random bytes"),
    ("seccomp, landlock 7, own network, no privileges", "the sandbox is what the kernel can give"),
    ("memfd_secret", "where keys lie is what the kernel can give"),
];

/// The beginnings of lines that a command may write in addition on a busy machine.
pub const MAY_WARN: &[&str] = &["millstream speed: warning: ", "millstream compare: warning: "];

/// Commands that run before those of a page, which takes them for granted.
pub const BEFORE: &[(&str, &[&str])] =
    &[("isolated.md", MAKE_A_KEY), ("policy.md", SHIPPED_SERVICE), ("operations.md", SHIPPED_SERVICE)];

/// The first block of files.md.
const MAKE_A_KEY: &[&str] = &["head -c 32 /dev/urandom > key && chmod 600 key", "seq 1 100000 > report.txt"];

/// A service as it is shipped.
const SHIPPED_SERVICE: &[&str] = &[
    MAKE_A_KEY[0],
    MAKE_A_KEY[1],
    "cp /usr/local/etc/millstream/policy.toml .",
    "millstream serve -q --policy policy.toml --metrics unix:metrics.sock 2> service.log &",
];

/// Folders of the repository whose files a page's commands find.
pub const FOLDERS: &[(&str, &str)] = &[("c.md", "docs/c"), ("sparc.md", "machines/ultrasparc/guest")];

/// Blocks of other kinds that nothing compiles or runs.
pub const OTHER_BLOCKS: &[(At, &str)] = &[
    (("columns.md", "python"), "needs the Python package; crates/python/tests/test_documents.py runs it"),
    (
        ("columns.md", "text"),
        "needs a token of the service, or tables; crates/python/tests/test_isolated.py and crates/cli/tests/columns.rs do the same",
    ),
    (("srtp.md", "text"), "needs GStreamer and Janus; tests/srtp.rs runs other programs of libsrtp2"),
    (("dpdk.md", "text"), "needs DPDK; tests/dpdk.rs runs the same programs"),
    (("backup.md", "ini"), "is a unit of systemd, for a machine with ZFS or btrfs"),
    (("openssl.md", "ini"), "is for servers and clients of TLS; tests/tls/hybrids.rs has both with it"),
    (("pkcs11.md", "ini"), "needs Debian 13's pkcs11-provider; tests/pkcs11_provider.rs writes the same"),
    (("tokens.md", "ini"), "is a unit of systemd, for a machine with a TPM"),
    (("backup.md", "text"), "needs pyca/cryptography 50; crates/cli/tests/backup.rs runs it"),
    (("backup-format.md", "text"), "is a formula"),
    (("library.md", "toml"), "is a line for Cargo.toml; its path is that of a checkout"),
    (("isolated.md", "text"), "is a picture"),
    (("sparc.md", "text"), "is what another block of the page has printed, or a list"),
];
