#!/usr/bin/env bash
# Measures dpdk-test-crypto-perf on crypto_millstream and on Debian's drivers, in turns: bursts of 32, packets of 64 to 1408 bytes. Prints
# millions of operations a second (the median of the rounds), and how many times as fast Millstream is as each of the others.
#
#     bench/dpdk.sh [ROUNDS]
#     bench/dpdk.sh [ROUNDS] isolated
#
# The second one compares a device whose keys are in a worker with a local one and with the bare copy of such packets to another process and back. It
# starts a service of its own on processor 1; the thread that gives and takes packets has processor 0, and the program's first thread, which only
# waits, runs where nobody else wants to.
#
# Run `cargo xtask dpdk` once before; for the second one also `cargo build --release -p millstream-cli -p millstream-bench`.
set -euo pipefail
cd "$(dirname "$0")/.."
built=$PWD/target/release
library=$built/libmillstream-dpdk.so
rounds=${1:-3}
what=${2:-}
needed=("$library")
[ -z "$what" ] || needed+=("$built/millstream" "$built/millstream-bench")
for file in "${needed[@]}"; do
    if [ ! -e "$file" ]; then
        echo "$0: $file is not built: see the head of this script" >&2
        exit 1
    fi
done
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
service=
end() {
    [ -z "$service" ] || { kill "$service" && wait "$service"; } || true
    rm -r "$results"
}
trap end EXIT

# Runs one kind on one driver: measure DRIVER DEVICE OPTIONS FILE
measure() {
    # Some drivers take a millisecond for a packet of KASUMI or 3DES.
    local count=400000 waiting
    [ -z "$service" ] || count=1000000
    case $3 in *kasumi* | *3des*) count=8192 ;; esac
    # A driver that doesn't have the algorithm leaves an empty file.
    # shellcheck disable=SC2086 # the options are words
    dpdk-test-crypto-perf --no-huge -m 512 --no-pci --no-telemetry --no-shconf --lcores "$lcores" -d "$library" --vdev "$2" -- \
        --devtype "$1" --ptest throughput --silent --csv-friendly --buffer-sz $sizes --burst-sz 32 --desc-nb 512 \
        --total-ops $count $3 > "$4" 2> /dev/null &
    waiting=$!
    if [ -n "$service" ]; then
        # Its threads are made by then, and this changes the first alone.
        sleep 0.3
        chrt --idle --pid 0 "$waiting" 2> /dev/null || true
    fi
    wait "$waiting" || true
}

# Starts a service whose worker has processor 1.
serve() {
    "$built/millstream" serve --quiet --socket "$results/socket" --accelerators 1 --pin 1 < /dev/null > /dev/null &
    service=$!
    for _ in $(seq 100); do
        "$built/millstream" status --socket "$results/socket" > /dev/null 2>&1 && return
        sleep 0.1
    done
    echo "$0: the service does not answer" >&2
    exit 1
}

lcores=0-1
if [ -n "$what" ]; then
    lcores=0@1,1@0
    serve
    kinds=("${kinds[0]}" "${kinds[2]}")
fi
for round in $(seq "$rounds"); do
    for i in "${!kinds[@]}"; do
        IFS='|' read -r name peer options <<< "${kinds[$i]}"
        if [ -n "$what" ]; then
            measure crypto_millstream crypto_millstream "$options" "$results/$i.local.$round"
            measure crypto_millstream "crypto_millstream,isolated=$results/socket,max_nb_queue_pairs=1" "$options" "$results/$i.isolated.$round"
            continue
        fi
        for driver in crypto_millstream "$peer" crypto_openssl; do
            measure "$driver" "$driver" "$options" "$results/$i.$driver.$round"
        done
    done
    [ -z "$what" ] || "$built/millstream-bench" isolated --command "$built/millstream" --algorithms aes-128-gcm --sizes $sizes --rounds 5 \
        > "$results/bare.$round" 2> /dev/null
done
printf '%s\n' "${kinds[@]}" > "$results/kinds"
python3 - "$results" "$rounds" ${what:+"$what"} <<'PYTHON'
import re
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


def bare():
    """Returns millions of bare copies there and back a second, by size: the median of the rounds."""
    found = {}
    for number in range(1, rounds + 1):
        for size, time in re.findall(r"aes-128-gcm of (\d+), .*bare copy (\d+) \(", open(f"{folder}/bare.{number}").read()):
            found.setdefault(int(size), []).append(1000 / float(time))
    return {size: statistics.median(rates) for size, rates in found.items()}


isolated = len(sys.argv) > 3
columns = ("local", "isolated", "bare copy") if isolated else ("Millstream", "ipsec-mb", "openssl")
first, *others = columns
print(f"{'':28} {'bytes':>5} {first:>10}" + "".join(f" {other:>9} {'times':>6}" for other in others))
for kind, line in enumerate(open(f"{folder}/kinds")):
    name, peer, _ = line.split("|")
    if isolated:
        ours, theirs, more = read(kind, "local"), read(kind, "isolated"), bare()
    else:
        ours, theirs, more = (read(kind, driver) for driver in ("crypto_millstream", peer, "crypto_openssl"))
    for size, rate in ours.items():
        cells = [f"{name:28} {size:5} {rate:10.3f}"]
        for there, times in (
            (theirs.get(size), lambda other: other / rate if isolated else rate / other),
            (more.get(size), lambda other: theirs[size] / other if isolated else rate / other),
        ):
            cells.append(f"{there:9.3f} {times(there):6.2f}" if there else f"{'-':>9} {'-':>6}")
        print(" ".join(cells))
PYTHON
