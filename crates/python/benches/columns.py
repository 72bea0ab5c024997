"""Nanoseconds a value, beside what Python and DuckDB have: interleaved, and every result compared.

    target/python/bin/python crates/python/benches/columns.py [VALUES]

The ways of a group take turns, and the least time of each counts: that of the clock, and that of the processors, which others
who are busy on the machine disturb less. The ratio is of the latter. Ways of Python's libraries work on a tenth of the values. For one thread
set MILLSTREAM_THREADS=1.
"""

import hashlib
import hmac
import os
import sys
import time

import duckdb
import pyarrow as pa
from cryptography.hazmat.primitives.ciphers import aead

import millstream
import millstream.duckdb

VALUES = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
KEY = bytes(range(32))
WORDS = [f"{i:016d}" + "x" * (i % 17) for i in range(VALUES)]
COLUMN = pa.array(WORDS)
BYTES = [word.encode() for word in WORDS[: VALUES // 10]]


def group(title, ways):
    """Each way is a function and its number of values. They are compared by what the first values became."""
    least, results = [(float("inf"), float("inf"))] * len(ways), [None] * len(ways)
    for _ in range(5):
        for i, (name, count, way) in enumerate(ways):
            begin, used = time.perf_counter(), time.process_time()
            results[i] = way()
            taken = (time.perf_counter() - begin) / count * 1e9, (time.process_time() - used) / count * 1e9
            least[i] = min(least[i][0], taken[0]), min(least[i][1], taken[1])
    load = os.getloadavg()[0]
    for (name, _, _), (ns, processor) in zip(ways, least):
        times = processor / least[0][1] if least[0][1] else 0
        print(f"{title:34} {name:16} {ns:8.1f} ns a value, {processor:8.1f} of processors {times:6.1f} times  load {load:.1f}")
    return results


def listed(result, count=1000):
    return pa.array(result).slice(0, count).to_pylist()


def main():
    print(f"{VALUES} values of 16 to 32 bytes, {millstream.threads()} threads")
    few = len(BYTES)
    con = duckdb.connect(config={"threads": millstream.threads()})
    millstream.duckdb.register(con, key=millstream.Hmac(KEY))
    con.register("t", pa.table({"x": COLUMN}))
    con.execute("CREATE TABLE s AS SELECT x FROM t")

    ours, theirs = group("sha256", [
        ("millstream", VALUES, lambda: millstream.sha256(COLUMN)),
        ("hashlib", few, lambda: [hashlib.sha256(value).digest() for value in BYTES]),
    ])
    assert listed(ours) == theirs[:1000]
    ours, theirs = group("sha256 in DuckDB, hex, max()", [
        ("millstream", VALUES, lambda: con.execute("SELECT max(ms_sha256(x)) FROM s").fetchone()),
        ("DuckDB's sha256", VALUES, lambda: con.execute("SELECT max(sha256(x)) FROM s").fetchone()),
    ])
    assert ours == theirs
    ours, theirs = group("hmac-sha256", [
        ("millstream", VALUES, lambda: millstream.hmac_sha256(COLUMN, KEY)),
        ("hmac.digest", few, lambda: [hmac.digest(KEY, value, "sha256") for value in BYTES]),
    ])
    assert listed(ours) == theirs[:1000]
    ours, theirs = group("hmac-sha256 in DuckDB, hex, max()", [
        ("millstream", VALUES, lambda: con.execute("SELECT max(ms_hmac(x)) FROM s").fetchone()),
        ("hmac.digest", few, lambda: [hmac.digest(KEY, value, "sha256") for value in BYTES]),
    ])
    assert ours[0] >= max(theirs).hex()
    cipher = aead.AESGCM(KEY)

    def sealed():
        made = []
        for value in BYTES:
            nonce = os.urandom(12)
            made.append(nonce + cipher.encrypt(nonce, value, None))
        return made

    ours, theirs = group("AES-256-GCM seal, random nonces", [
        ("millstream", VALUES, lambda: millstream.seal(COLUMN, KEY)),
        ("pyca AESGCM", few, sealed),
    ])
    assert [cipher.decrypt(value[:12], value[12:], None) for value in listed(ours)] == BYTES[:1000]
    assert millstream.open(theirs, KEY).to_list() == BYTES
    table = pa.array(ours)
    opened, _ = group("AES-256-GCM open", [
        ("millstream", VALUES, lambda: millstream.open(table, KEY)),
        ("pyca AESGCM", few, lambda: [cipher.decrypt(value[:12], value[12:], None) for value in theirs]),
    ])
    assert listed(opened) == BYTES[:1000]
    siv = aead.AESSIV(bytes(64))
    ours, theirs = group("AES-256-SIV seal", [
        ("millstream", VALUES, lambda: millstream.siv_seal(COLUMN, bytes(64), aad=b"c")),
        ("pyca AESSIV", few, lambda: [siv.encrypt(value, [b"c"]) for value in BYTES]),
    ])
    assert listed(ours) == theirs[:1000]
    gcm_siv, nonce = aead.AESGCMSIV(KEY), bytes(12)
    ours, theirs = group("AES-256-GCM-SIV, fixed nonce", [
        ("millstream", VALUES, lambda: millstream.gcm_siv_seal(COLUMN, KEY, nonce=nonce)),
        ("pyca AESGCMSIV", few, lambda: [nonce + gcm_siv.encrypt(nonce, value, None) for value in BYTES]),
    ])
    assert listed(ours) == theirs[:1000]
    digits = pa.array([word[:16] for word in WORDS])
    (encrypted,) = group("FF1, 16 digits", [("millstream", VALUES, lambda: millstream.fpe_encrypt(digits, KEY))])
    assert listed(millstream.fpe_decrypt(encrypted, KEY)) == digits.slice(0, 1000).to_pylist()


if __name__ == "__main__":
    main()
