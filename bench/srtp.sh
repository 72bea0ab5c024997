#!/usr/bin/env bash
# Measures libsrtp's own driver on Debian's library, and with Millstream in front of it, in turns; prints megabits a second
# (the median of the rounds) and their ratio for each kind of session and length.
#
# Run `cargo test --release -p millstream-tests --test srtp` once before: it builds the driver.
set -euo pipefail
cd "$(dirname "$0")/.."
driver=target/srtp/on-debians-library/srtp_driver
library=$PWD/target/release/libmillstream_srtp.so
rounds=${1:-5}
for needed in "$driver" "$library"; do
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


theirs, ours = ([read(side, n + 1) for n in range(rounds)] for side in ("theirs", "ours"))
print(f"{'session':58} {'bytes':>6} {'libsrtp2':>10} {'Millstream':>10} {'ratio':>6}")
for key in theirs[0]:
    before = statistics.median(run[key][1] for run in theirs)
    after = statistics.median(run[key][1] for run in ours)
    print(f"{ours[0][key][0]:58} {key[1]:6} {before:10.0f} {after:10.0f} {after / before:6.2f}")
PYTHON
