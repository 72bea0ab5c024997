//! The driver for DPDK 24.11, which Debian 13 has: compiled and linked in a small Debian 13, whose own `dpdk-test` runs its cryptodev suite on it.

use std::fs;

use crate::install::build::{artifact, cargo};
use crate::release::system::{Inside, bootstrap_of, try_out};
use crate::run::{RELEASE, at, root};

/// The packages of the system.
const NEEDED: &str = "dpdk-dev,libdpdk-dev,gcc,libc6-dev,pkgconf";

/// The script that runs in the system. All of the cases that are not skipped have to pass, and these are as many as there were when this was written.
const SUITE: &str = r#"
# DPDK asks there for the processors.
mount -t sysfs sysfs /sys
mkdir /opt/driver
cp /from/* /opt/driver
cd /opt/driver
case $(pkg-config --modversion libdpdk) in 24.11.*) ;; *) pkg-config --modversion libdpdk; exit 1 ;; esac
sh ./link.sh libmillstream_dpdk.a /opt/driver/libcrypto_mvsam.so crypto_mvsam
fail() { head -n 8 said; tail -n 40 said; exit 1; }
export DPDK_TEST=cryptodev_sw_mvsam_autotest
dpdk-test --no-huge -m 768 --no-pci --no-telemetry --no-shconf -l 0 -d /opt/driver/libcrypto_mvsam.so --vdev crypto_mvsam \
    < /dev/null > said 2>&1 || fail
grep -q '^Test OK' said && grep -q 'Tests Failed : *0$' said || fail
passed=$(sed -n 's/.*Tests Passed : *//p' said | tail -n 1)
[ "$passed" -ge 353 ] || fail
echo "DPDK 24.11: $passed cases passed"
"#;

/// Runs the suite. It needs root, and a mirror of Debian the first time.
///
/// # Errors
/// When a step fails.
pub fn next() -> Result<(), String> {
    let Some(system) = bootstrap_of("trixie", "dpdk", "minbase", NEEDED)? else {
        println!("SKIPPED dpdk-24.11: mmdebstrap is missing or found no mirror, or this user may not mount");
        return Ok(());
    };
    let messages = cargo(RELEASE, &["build", "--package", "millstream-dpdk", "--lib"], &[])?;
    let archive = artifact(&messages, "millstream_dpdk", ".a")?;
    let from = root().join("target/dpdk/next");
    let _ = fs::remove_dir_all(&from);
    fs::create_dir_all(&from).map_err(at(&from))?;
    let driver = root().join("crates/dpdk/driver");
    let sources = fs::read_dir(&driver).map_err(at(&driver))?.map_while(Result::ok).map(|entry| entry.path());
    for file in sources.chain([archive]) {
        fs::copy(&file, from.join(file.file_name().unwrap_or_default())).map_err(at(&file))?;
    }
    try_out(&system, &from, &Inside::Script(SUITE))
}
