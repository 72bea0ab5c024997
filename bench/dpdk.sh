#!/usr/bin/env bash
# Measures dpdk-test-crypto-perf on crypto_millstream and on Debian's drivers, in turns: bursts of 32, packets of 64 to 1408 bytes. Prints
# millions of operations a second (the median of the rounds), and how many times as fast Millstream is as each of the others.
#
#     bench/dpdk.sh [ROUNDS] [isolated=SOCKET]
#
# Run `cargo xtask dpdk` once before.
set -euo pipefail
cd "$(dirname "$0")/.."
library=$PWD/target/release/libmillstream-dpdk.so
rounds=${1:-3}
arguments=${2:+,$2}
if [ ! -e "$library" ]; then
    echo "$0: $library is not built: run cargo xtask dpdk" >&2
    exit 1
fi
sizes=64,256,512,1024,1408
key='--cipher-key-sz 16 --cipher-iv-sz 16'
chain="--optype cipher-then-auth --cipher-op encrypt --auth-op generate"
# A name, the peer of Intel's library, and the options of the kind.
kinds=(
    "AES-128-GCM|crypto_aesni_gcm|--optype aead --aead-algo aes-gcm --aead-op encrypt --aead-key-sz 16 --aead-iv-sz 12 --aead-aad-sz 16 --digest-sz 16"
    "AES-128-CTR|crypto_aesni_mb|--optype cipher-only --cipher-algo aes-ctr --cipher-op encrypt $key"
    "AES-128-CBC + HMAC-SHA1|crypto_aesni_mb|$chain --cipher-algo aes-cbc $key --auth-algo sha1-hmac --auth-key-sz 20 --digest-sz 12"
    "AES-128-CBC + HMAC-SHA256|crypto_aesni_mb|$chain --cipher-algo aes-cbc $key --auth-algo sha2-256-hmac --auth-key-sz 32 --digest-sz 16"
    "3DES-CBC + HMAC-SHA1|crypto_aesni_mb|$chain --cipher-algo 3des-cbc --cipher-key-sz 24 --cipher-iv-sz 8 --auth-algo sha1-hmac --auth-key-sz 20 --digest-sz 12"
    "ChaCha20-Poly1305|crypto_chacha20_poly1305|--optype aead --aead-algo chacha20-poly1305 --aead-op encrypt --aead-key-sz 32 --aead-iv-sz 12 --aead-aad-sz 16 --digest-sz 16"
    "KASUMI F8|crypto_kasumi|--optype cipher-only --cipher-algo kasumi-f8 --cipher-op encrypt --cipher-key-sz 16 --cipher-iv-sz 8"
)
results=$(mktemp -d)
trap 'rm -r "$results"' EXIT

# Runs one kind on one driver: measure DRIVER DEVICE OPTIONS FILE
measure() {
    # Some drivers take a millisecond for a packet of KASUMI or 3DES.
    local count=200000
    case $3 in *kasumi* | *3des*) count=8192 ;; esac
    # A driver that doesn't have the algorithm leaves an empty file.
    # shellcheck disable=SC2086 # the options are words
    dpdk-test-crypto-perf --no-huge -m 512 --no-pci --no-telemetry --no-shconf -l 0-1 -d "$library" --vdev "$2" -- \
        --devtype "$1" --ptest throughput --silent --csv-friendly --buffer-sz $sizes --burst-sz 32 --desc-nb 512 \
        --total-ops $count $3 > "$4" 2> /dev/null || true
}

for round in $(seq "$rounds"); do
    for i in "${!kinds[@]}"; do
        IFS='|' read -r name peer options <<< "${kinds[$i]}"
        for driver in crypto_millstream "$peer" crypto_openssl; do
            device=$driver
            [ "$driver" != crypto_millstream ] || device=$driver$arguments
            measure "$driver" "$device" "$options" "$results/$i.$driver.$round"
        done
    done
done
printf '%s\n' "${kinds[@]}" > "$results/kinds"
python3 - "$results" "$rounds" <<'PYTHON'
import statistics
import sys

folder, rounds = sys.argv[1], int(sys.argv[2])


def read(kind, driver):
    """Returns millions of operations a second by size: the median of the rounds."""
    found = {}
    for number in range(1, rounds + 1):
        for line in open(f"{folder}/{kind}.{driver}.{number}"):
            fields = [field.strip() for field in line.replace(";", ",").split(",")]
            # The processor, the size, the burst, enqueued, dequeued, two counts of failures, millions a second, ...
            if len(fields) > 7 and fields[0].isdigit():
                found.setdefault(int(fields[1]), []).append(float(fields[7]))
    return {size: statistics.median(rates) for size, rates in found.items()}


print(f"{'':28} {'bytes':>5} {'Millstream':>10} {'ipsec-mb':>9} {'times':>6} {'openssl':>8} {'times':>6}")
for kind, line in enumerate(open(f"{folder}/kinds")):
    name, peer, _ = line.split("|")
    ours, theirs, openssl = (read(kind, driver) for driver in ("crypto_millstream", peer, "crypto_openssl"))
    for size, rate in ours.items():
        cells = [f"{name:28} {size:5} {rate:10.3f}"]
        for other, width in ((theirs, 9), (openssl, 8)):
            there = other.get(size)
            cells.append(f"{there:{width}.3f} {rate / there:6.2f}" if there else f"{'-':>{width}} {'-':>6}")
        print(" ".join(cells))
PYTHON
