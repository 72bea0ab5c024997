# Builds the driver for the DPDK of this system, and runs its cryptodev suites. The workspace is at /from.
version=$(pkg-config --modversion libdpdk)
case $version in 24.11*) ;; *) echo "DPDK $version is not 24.11" >&2; exit 1 ;; esac
# The suites know drivers by their names. This one is of another processor.
name=crypto_mvsam
sh /from/crates/dpdk/driver/link.sh ARCHIVE /usr/local/lib/lib$name.so $name
# Programs find their own device as usual, too.
sh /from/crates/dpdk/driver/link.sh ARCHIVE /usr/local/lib/libmillstream-dpdk.so
plain="--no-huge -m 768 --no-pci --no-telemetry --no-shconf"
DPDK_TEST=cryptodev_sw_mvsam_autotest dpdk-test $plain -l 0 -d /usr/local/lib/lib$name.so --vdev $name > /tmp/suites 2>&1 < /dev/null || true
count() { sed -n "s/.*Tests $1 *: *\([0-9]*\).*/\1/p" /tmp/suites | tail -n 1; }
passed=$(count Passed) failed=$(count Failed) skipped=$(count Skipped)
echo "DPDK $version: ${passed:-no} cases passed, ${failed:-no} failed, ${skipped:-no} were skipped"
if [ "${passed:-0}" -lt LEAST ] || [ "${failed:-1}" -gt 0 ]; then
    grep 'TestCase \[.*failed' /tmp/suites || tail -n 50 /tmp/suites
    exit 1
fi
dpdk-test-crypto-perf $plain -l 0-1 -d /usr/local/lib/libmillstream-dpdk.so --vdev crypto_millstream -- \
    --devtype crypto_millstream --silent --csv-friendly --total-ops 4096 --burst-sz 32 --desc-nb 512 --buffer-sz 64 \
    --ptest throughput --optype aead --aead-algo aes-gcm --aead-op encrypt --aead-key-sz 16 --aead-iv-sz 12 \
    --aead-aad-sz 16 --digest-sz 16 > /tmp/perf 2>&1
grep -q '^1,.*4096,.*4096, *0, *0,' /tmp/perf || { tail -n 30 /tmp/perf; exit 1; }
