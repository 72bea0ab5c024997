"""Nanoseconds a value, beside what Python and the engines of tables have: in turns, and every result compared.

    target/python/bin/python crates/python/benches/columns.py [VALUES] [--turns N] [--stream ROWS] [--record FILE]

The ways of a group take turns, and the least time of each counts: that of the clock, and that of the processors, which others
who are busy on the machine disturb less. The ratio is of the latter, except where two threads stand beside one. Ways of Python's own libraries
work on a tenth or a hundredth of the values. Within one thread everything runs that does not say otherwise. ``--stream`` tells the memory that a stream of so many rows
takes in a process of its own. With the variables of an isolated key (``MILLSTREAM_SOCKET``, ``MILLSTREAM_PIN_FILE``) and its name in
``MILLSTREAM_BENCH_KEY`` that key is measured, too, beside a loop over SoftHSM (packages python-pkcs11 and softhsm2); a wheel of the profile that ships is what counts (``cargo xtask python --release``).
"""

import argparse
import contextlib
import hashlib
import hmac
import os
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("MILLSTREAM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import datafusion
import duckdb
import polars as pl
import pyarrow as pa
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.ciphers import Cipher, aead, algorithms, modes

import millstream
import millstream.datafusion
import millstream.duckdb
import millstream.polars  # noqa: F401  (it registers the namespace)
from millstream import streams

KEY = bytes(range(32))
LINES = []


def say(line):
    print(line, flush=True)
    LINES.append(line)


class Bench:
    """Values of 16 to 32 bytes, and groups of ways on them."""

    def __init__(self, values, turns):
        self.turns, self.values = turns, values
        words = [f"{i:016d}" + "x" * (i % 17) for i in range(values)]
        self.column = pa.array(words)
        self.digits = pa.array([word[:16] for word in words])
        self.few = [word.encode() for word in words[: values // 10]]

    def group(self, title, ways, by_clock=False):
        """Each way is a name, its number of values and a function. They are compared by what the first values became."""
        least, results = [(float("inf"), float("inf"))] * len(ways), [None] * len(ways)
        for turn in range(self.turns):
            for i in sorted(range(len(ways)), key=lambda i: (i + turn) % len(ways)):
                _, count, way = ways[i]
                begin, used = time.perf_counter(), time.process_time()
                results[i] = way()
                taken = (time.perf_counter() - begin) / count * 1e9, (time.process_time() - used) / count * 1e9
                least[i] = min(least[i][0], taken[0]), min(least[i][1], taken[1])
        at = 0 if by_clock else 1
        for (name, _, _), times in zip(ways, least):
            ratio = times[at] / least[0][at] if least[0][at] else 0
            say(f"{title:38} {name:20} {times[0]:9.1f} ns a value, {times[1]:9.1f} of processors {ratio:7.2f} times  load {os.getloadavg()[0]:.1f}")
        return results


def listed(result, count=1000):
    array = pa.chunked_array(result) if hasattr(result, "__arrow_c_stream__") else pa.array(result)
    return array.slice(0, count).to_pylist()


def same(ours, theirs):
    count = min(1000, len(theirs))
    assert count and listed(ours, count) == theirs[:count]


def hashes(bench):
    for name in ("sha256", "md5"):
        theirs_of = getattr(hashlib, name)
        ours, theirs = bench.group(name, [
            ("millstream", bench.values, lambda: millstream.digest(bench.column, name)),
            ("hashlib", len(bench.few), lambda: [theirs_of(value).digest() for value in bench.few]),
        ])
        same(ours, theirs)
    ours, theirs = bench.group("hmac-sha256", [
        ("millstream", bench.values, lambda: millstream.hmac_sha256(bench.column, KEY)),
        ("hmac.digest", len(bench.few), lambda: [hmac.digest(KEY, value, "sha256") for value in bench.few]),
    ])
    same(ours, theirs)


def engines(bench):
    """Functions inside of engines, each with its transport; ``max`` keeps results from being made into a table."""
    key = millstream.Hmac(KEY)
    con = duckdb.connect(config={"threads": 1})
    millstream.duckdb.register(con, key=key)
    con.register("t", pa.table({"x": bench.column}))
    con.execute("CREATE TABLE s AS SELECT x FROM t")
    ctx = datafusion.SessionContext(datafusion.SessionConfig({"datafusion.execution.target_partitions": "1"}))
    millstream.datafusion.register(ctx, key=key)
    ctx.from_arrow(pa.table({"x": bench.column}), name="s")
    frame = pl.DataFrame({"x": pl.Series(bench.column)})
    duck = lambda text: con.execute(f"SELECT max({text}) FROM s").fetchone()[0]
    fusion = lambda text: list(ctx.sql(f"SELECT max({text}) AS m FROM s").to_pydict()["m"])[0]
    polars = lambda: frame.select(pl.col("x").millstream.hmac(key, encoding="hex").max()).item()
    expected = max(hmac.digest(KEY, value.encode(), "sha256").hex() for value in bench.column.to_pylist())
    python = ("hmac.digest", len(bench.few), lambda: [hmac.digest(KEY, value, "sha256") for value in bench.few])
    for name, way in [("DuckDB", lambda: duck("ms_hmac(x)")), ("DataFusion", lambda: fusion("ms_hmac(x)")), ("Polars", polars)]:
        assert bench.group(f"hmac-sha256 in {name}", [("millstream", bench.values, way), python])[0] == expected
    for name in ("sha256", "md5"):
        ours, theirs = bench.group(f"{name} in DuckDB", [
            ("millstream", bench.values, lambda: duck(f"ms_{name}(x)")),
            ("DuckDB's own", bench.values, lambda: duck(f"{name}(x)")),
        ])
        assert ours == theirs
        own = {"sha256": "encode(sha256(x), 'hex')", "md5": "md5(x)"}[name]
        ours, theirs = bench.group(f"{name} in DataFusion", [
            ("millstream", bench.values, lambda: fusion(f"ms_{name}(x)")),
            ("DataFusion's own", bench.values, lambda: fusion(own)),
        ])
        assert ours == theirs


def sealed(bench):
    few, values = bench.few, bench.values
    cipher = aead.AESGCM(KEY)

    def each():
        made = []
        for value in few:
            nonce = os.urandom(12)
            made.append(nonce + cipher.encrypt(nonce, value, None))
        return made

    ours, theirs = bench.group("AES-256-GCM seal, random nonces", [
        ("millstream", values, lambda: millstream.seal(bench.column, KEY)),
        ("pyca AESGCM", len(few), each),
    ])
    same([cipher.decrypt(value[:12], value[12:], None) for value in listed(ours)], few)
    assert millstream.open(theirs, KEY).to_list() == few
    table = pa.array(ours)
    opened, _ = bench.group("AES-256-GCM open", [
        ("millstream", values, lambda: millstream.open(table, KEY)),
        ("pyca AESGCM", len(few), lambda: [cipher.decrypt(value[:12], value[12:], None) for value in theirs]),
    ])
    same(opened, few)
    siv = aead.AESSIV(bytes(64))
    ours, theirs = bench.group("AES-256-SIV seal", [
        ("millstream", values, lambda: millstream.siv_seal(bench.column, bytes(64), aad=b"c")),
        ("pyca AESSIV", len(few), lambda: [siv.encrypt(value, [b"c"]) for value in few]),
    ])
    same(ours, theirs)
    gcm_siv, nonce = aead.AESGCMSIV(KEY), bytes(12)
    ours, theirs = bench.group("AES-256-GCM-SIV, fixed nonce", [
        ("millstream", values, lambda: millstream.gcm_siv_seal(bench.column, KEY, nonce=nonce)),
        ("pyca AESGCMSIV", len(few), lambda: [nonce + gcm_siv.encrypt(nonce, value, None) for value in few]),
    ])
    same(ours, theirs)
    token = Fernet.generate_key()
    fernet, fewer = Fernet(token), few[: max(len(few) // 10, 1)]
    ours, theirs = bench.group("Fernet", [
        ("millstream", values, lambda: millstream.fernet_encrypt(bench.column, token)),
        ("pyca Fernet", len(fewer), lambda: [fernet.encrypt(value) for value in fewer]),
    ])
    same([fernet.decrypt(value) for value in listed(ours, 100)], few[:100])
    assert millstream.fernet_decrypt([value.decode() for value in theirs], token).to_list() == fewer


def ff1(digits, encryptor):
    """FF1 of decimal digits without a tweak, in Python: SP 800-38G, section 5.1, Algorithm 7."""
    n = len(digits)
    u, v = n // 2, n - n // 2
    b = (((10**v - 1).bit_length()) + 7) // 8
    d = 4 * ((b + 3) // 4) + 4
    a_half, b_half = int(digits[:u]), int(digits[u:])
    p = bytes([1, 2, 1]) + (10).to_bytes(3, "big") + bytes([10, u & 255]) + n.to_bytes(4, "big") + bytes(4)
    for i in range(10):
        q = bytes((-b - 1) % 16) + bytes([i]) + b_half.to_bytes(b, "big")
        block = bytes(16)
        message = p + q
        for at in range(0, len(message), 16):
            block = encryptor.update(bytes(x ^ y for x, y in zip(block, message[at : at + 16])))
        length = u if i % 2 == 0 else v
        a_half, b_half = b_half, (a_half + int.from_bytes(block[:d], "big")) % 10**length
    return f"{a_half:0{u}d}{b_half:0{v}d}"


def digits(bench):
    fewer = bench.digits.slice(0, max(bench.values // 100, 1)).to_pylist()
    encryptor = Cipher(algorithms.AES(KEY), modes.ECB()).encryptor()
    ours, theirs = bench.group("FF1, 16 digits", [
        ("millstream", bench.values, lambda: millstream.fpe_encrypt(bench.digits, KEY)),
        ("in Python, on pyca", len(fewer), lambda: [ff1(value, encryptor) for value in fewer]),
    ])
    same(ours, theirs)
    assert listed(millstream.fpe_decrypt(ours, KEY)) == bench.digits.slice(0, 1000).to_pylist()


def threads(bench):
    def with_threads(count):
        os.environ["MILLSTREAM_THREADS"] = str(count)
        made = millstream.siv_seal(bench.column, bytes(64), aad=b"c")
        os.environ["MILLSTREAM_THREADS"] = "1"
        return made

    two, one = bench.group("AES-256-SIV seal, two threads", [
        ("two threads", bench.values, lambda: with_threads(2)),
        ("one thread", bench.values, lambda: with_threads(1)),
    ], by_clock=True)
    assert listed(two) == listed(one)


def isolated(bench):
    name = os.environ.get("MILLSTREAM_BENCH_KEY")
    if name is None:
        say("SKIPPED isolated: MILLSTREAM_BENCH_KEY names no key of a service")
        return
    # Needed here alone: the package python-pkcs11, and Debian's softhsm2.
    import pkcs11
    from pkcs11.mechanisms import GCMParams

    key, fewer = millstream.Isolated(name), bench.few[: max(len(bench.few) // 10, 1)]
    with tempfile.TemporaryDirectory() as folder, softhsm(folder, pkcs11.lib) as session:
        theirs = session.create_object({
            pkcs11.Attribute.CLASS: pkcs11.ObjectClass.SECRET_KEY, pkcs11.Attribute.KEY_TYPE: pkcs11.KeyType.AES,
            pkcs11.Attribute.VALUE: KEY, pkcs11.Attribute.ENCRYPT: True,
        })

        def each():
            made = []
            for value in fewer:
                nonce = os.urandom(12)
                made.append(nonce + theirs.encrypt(value, mechanism=pkcs11.Mechanism.AES_GCM, mechanism_param=GCMParams(nonce)))
            return made

        ours, _, loop = bench.group("AES-GCM seal, isolated", [
            ("a key in the service", bench.values, lambda: millstream.seal(bench.column, key)),
            ("a key here", bench.values, lambda: millstream.seal(bench.column, KEY)),
            ("SoftHSM, a loop", len(fewer), each),
        ], by_clock=True)
    same(millstream.open(ours, key), bench.few)
    assert millstream.open(loop, KEY).to_list() == fewer


@contextlib.contextmanager
def softhsm(folder, load):
    """A session with a token of SoftHSM below a folder, by python-pkcs11."""
    os.mkdir(os.path.join(folder, "tokens"))
    with open(os.path.join(folder, "softhsm2.conf"), "w") as file:
        file.write(f"directories.tokendir = {folder}/tokens\nlog.level = ERROR\n")
    os.environ["SOFTHSM2_CONF"] = file.name
    pin = "31415926"
    make = ["softhsm2-util", "--init-token", "--free", "--label", "bench", "--so-pin", pin, "--pin", pin]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    with load("/usr/lib/softhsm/libsofthsm2.so").get_token(token_label="bench").open(user_pin=pin) as session:
        yield session


def most_kib():
    """The most memory that this process has had; ``getrusage`` tells of the time before it was this program, too."""
    with open("/proc/self/status") as file:
        return int(next(line.split()[1] for line in file if line.startswith("VmHWM:")))


def stream(rows):
    """Seal so many rows in a stream, and tell the memory that this took."""
    size = 1 << 16
    batch = pa.record_batch([pa.array([f"{i:016d}" + "x" * (i % 17) for i in range(size)])], names=["x"])
    reader = pa.RecordBatchReader.from_batches(batch.schema, (batch.slice(0, min(size, rows - at)) for at in range(0, rows, size)))
    sealed = streams.replace(reader, "x", millstream.seal, KEY)
    before, begin, done = most_kib(), time.perf_counter(), 0
    for made in sealed:
        done += len(made)
    taken, after = time.perf_counter() - begin, most_kib()
    assert done == rows
    print(f"{rows} rows sealed in a stream in {taken:.1f} s; {after / 1024:.0f} MiB at most, {(after - before) / 1024:.0f} of them for the stream")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("values", nargs="?", type=int, default=1_000_000)
    arguments.add_argument("--turns", type=int, default=5)
    arguments.add_argument("--stream", type=int)
    arguments.add_argument("--only-stream", type=int, help=argparse.SUPPRESS)
    arguments.add_argument("--record", help="a file for the figures, in Markdown")
    given = arguments.parse_args()
    if given.only_stream:
        return stream(given.only_stream)
    versions = [f"{module.__name__} {module.__version__}" for module in (pa, duckdb, datafusion, pl)]
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "unknown")
    say(f"{model}, {os.cpu_count()} processors; {given.values} values of 16 to 32 bytes, {given.turns} turns, {millstream.threads()} thread")
    say(f"Python {sys.version.split()[0]}, {', '.join(versions)}")
    bench = Bench(given.values, given.turns)
    for part in (hashes, engines, sealed, digits, threads, isolated):
        part(bench)
    if given.stream:
        command = [sys.executable, __file__, "--only-stream", str(given.stream)]
        say(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
    if given.record:
        with open(given.record, "w") as file:
            file.write("# Columns in Python, beside others in turns\n\n```text\n" + "\n".join(LINES) + "\n```\n")


if __name__ == "__main__":
    main()
