#!/usr/bin/env bash
# Measures libsrtp's own driver on Debian's library, with Millstream in front of it, and on libsrtp with OpenSSL, in turns; prints megabits
# a second (the median of the rounds) for each kind of session and length, and how many times as fast Millstream is as each. Then measures one packet
# for 64 receivers beside a loop over both libraries, with the packets compared (`fanout`).
#
#     bench/srtp.sh [ROUNDS]
#
# Run `cargo test --release -p millstream-tests --test srtp` once before: it builds the driver.
set -euo pipefail
cd "$(dirname "$0")/.."
driver=target/srtp/on-debians-library/srtp_driver
# The one of the same source, with OpenSSL behind it.
with_openssl=target/srtp/libsrtp2
library=$PWD/target/release/libmillstream_srtp.so
rounds=${1:-5}
for needed in "$driver" "$library" "$with_openssl/test/srtp_driver"; do
    if [ ! -e "$needed" ]; then
        echo "$0: $needed is not built: run cargo test --release -p millstream-tests --test srtp" >&2
        exit 1
    fi
done
results=$(mktemp -d)
trap 'rm -r "$results"' EXIT
for round in $(seq "$rounds"); do
    "$driver" -t > "$results/theirs.$round"
    LD_PRELOAD=$library "$driver" -t > "$results/ours.$round"
    "$with_openssl/test/srtp_driver" -t > "$results/openssl.$round"
done
python3 - "$results" "$rounds" <<'PYTHON'
import re
import statistics
import sys

folder, rounds = sys.argv[1], int(sys.argv[2])


def read(side, number):
    """Returns megabits a second by kind of session and length."""
    found, kind, seen = {}, None, 0
    for line in open(f"{folder}/{side}.{number}"):
        if "rtp cipher:" in line and "rtcp" not in line:
            seen += 1
            kind = (seen, re.sub(r".*?:\s*(Millstream )?| using \w+", "", line.strip()))
        elif "rtp auth:" in line and "rtcp" not in line:
            kind = (kind[0], kind[1] + ", " + re.sub(r".*?:\s*", "", line.strip()).replace("Millstream ", ""))
        elif kind and re.match(r"\d+\t", line):
            length, rate = line.split()
            found[kind[0], int(length)] = (kind[1], float(rate))
    return found


def medians(side):
    runs = [read(side, number + 1) for number in range(rounds)]
    return {key: (kind, statistics.median(run[key][1] for run in runs)) for key, (kind, _) in runs[0].items()}


debian, openssl, ours = (medians(side) for side in ("theirs", "openssl", "ours"))
print(f"{'session':58} {'bytes':>6} {'Debian':>8} {'OpenSSL':>8} {'Millstream':>10} {'times':>6} {'times':>6}")
for key, (kind, rate) in ours.items():
    others = [side[key][1] for side in (debian, openssl)]
    ratios = " ".join(f"{rate / other:6.2f}" for other in others)
    print(f"{kind:58} {key[1]:6} {others[0]:8.0f} {others[1]:8.0f} {rate:10.0f} {ratios}")
PYTHON
fanout=target/release/examples/fanout
if [ -e "$fanout" ]; then
    printf '\nOne packet for 64 receivers, Debian'"'"'s library:\n'
    "$fanout"
    # The same source with OpenSSL, as a library.
    cc -shared -Wl,-soname,libsrtp2.so.1 -o "$results/libsrtp2.so.1" -Wl,--whole-archive "$with_openssl/libsrtp2.a" -Wl,--no-whole-archive -lcrypto
    printf '\nThe library with OpenSSL:\n'
    LD_LIBRARY_PATH=$results "$fanout"
else
    echo "$0: $fanout is not built: run cargo build --release -p millstream --example fanout" >&2
fi
