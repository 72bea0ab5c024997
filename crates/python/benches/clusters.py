"""Times of a job on Spark beside Spark's own ``aes_encrypt``, and on Ray Data the part of a stage in which values are sealed.

    python crates/python/benches/clusters.py spark|ray [VALUES] [--turns N] [--master MASTER] [--record FILE]

Spark's jobs read one column of a Parquet file, seal it under AES-256-GCM with random nonces, and give it to no one. They take turns, the
least time of each counts, and what each has sealed is opened by the other. From a job's time that of a job which only reads is subtracted: the
rest is the expression's own. On Ray two actors seal the column, and tell for how long they were in Millstream. ``--record`` adds the output to a file.
"""

import argparse
import os
import sys
import tempfile
import time

import pyarrow as pa
import pyarrow.parquet as pq

import millstream

KEY = bytes(range(32))
BATCH = 1 << 16
LINES = []


def say(line):
    print(line, flush=True)
    LINES.append(line)


def made(folder, values, parts=4):
    """Values of 16 to 32 bytes in that many files."""
    path = os.path.join(folder, "values")
    os.mkdir(path)
    for part in range(parts):
        with pq.ParquetWriter(os.path.join(path, f"{part}.parquet"), pa.schema([("x", pa.string())])) as writer:
            for begin in range(values * part // parts, values * (part + 1) // parts, BATCH):
                rows = range(begin, min(begin + BATCH, values * (part + 1) // parts))
                writer.write_table(pa.table({"x": [f"{i:016d}" + "x" * (i % 17) for i in rows]}))
    return path


def on_spark(given, path):
    import pyspark
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    from millstream import spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master(given.master).config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    frame, key = session.read.parquet(path), F.lit(KEY)
    jobs = {
        "scan": frame.select("x"),
        "millstream": frame.select(spark.seal("gcm")("x").alias("s")),
        "aes_encrypt": frame.select(F.aes_encrypt("x", key, F.lit("GCM")).alias("s")),
        "scan, opening": frame.select("x"),
    }
    few = frame.limit(1000)
    theirs = few.select("x", spark.open("gcm")(F.aes_encrypt("x", key, F.lit("GCM"))).alias("y"))
    ours = few.select("x", F.aes_decrypt(spark.seal("gcm")("x"), key, F.lit("GCM")).cast("string").alias("y"))
    for rows in (theirs.collect(), ours.collect()):
        assert len(rows) == min(1000, given.values) and all(row["x"] == row["y"] for row in rows)
    least = dict.fromkeys(jobs, float("inf"))
    for turn in range(given.turns):
        names = list(jobs)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            begin = time.perf_counter()
            jobs[name].write.format("noop").mode("overwrite").save()
            least[name] = min(least[name], time.perf_counter() - begin)
    scan = min(least.pop("scan, opening"), least["scan"])
    own = {name: taken - scan for name, taken in least.items()}
    say(f"Spark {pyspark.__version__}, {given.master}, {given.values} values, {given.turns} turns, load {os.getloadavg()[0]:.1f}")
    for name, taken in least.items():
        say(f"{name:12} {taken:7.2f} s the job, {own[name] / given.values * 1e9:8.1f} ns a value without the scan")
    job, alone = least["aes_encrypt"] / least["millstream"], own["aes_encrypt"] / own["millstream"]
    say(f"millstream is {alone:.2f} times as fast as aes_encrypt without the scan, {job:.2f} times in the whole job")
    session.stop()


class Timed:
    """A column of Millstream that tells how long it took, in nanoseconds, in a column beside it."""

    def __init__(self, *given):
        from millstream import ray

        self._columns = ray.Columns(*given)
        self._function = self._columns._function
        self._columns._function = self._timed

    def _timed(self, *given, **named):
        begin = time.perf_counter_ns()
        result = self._function(*given, **named)
        self._taken = time.perf_counter_ns() - begin
        return result

    def __call__(self, table):
        sealed = self._columns(table)
        return sealed.append_column("ns", pa.array([self._taken] + [0] * (len(sealed) - 1), pa.int64()))


def on_ray(given, path):
    import ray

    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"MILLSTREAM_KEYS": os.environ["MILLSTREAM_KEYS"]}})
    context = ray.data.DataContext.get_current()
    # The newer source reads the ends of files by 32 processes, however few files there are.
    context.enable_progress_bars, context.use_datasource_v2 = False, False
    say(f"Ray {ray.__version__}, two actors, {given.values} values, {given.turns} turns, load {os.getloadavg()[0]:.1f}")
    for turn in range(given.turns):
        dataset = ray.data.read_parquet(path)
        if turn == 0:
            dataset = dataset.limit(1000)
        begin = time.perf_counter()
        sealed = dataset.map_batches(
            Timed, fn_constructor_args=("seal", "Aead", "gcm", "x"), batch_format="pyarrow", batch_size=None,
            compute=ray.data.ActorPoolStrategy(size=2),
        ).materialize()
        stage = time.perf_counter() - begin
        kernel = sealed.sum("ns") / 1e9
        if turn == 0:
            # The processes have started, and what they have sealed is right.
            opened = millstream.open([row["x"] for row in sealed.take_all()], KEY, text=True).to_list()
            assert sorted(opened) == sorted(row["x"] for row in dataset.take_all())
        else:
            part = kernel / stage
            say(f"the stage {stage:6.2f} s, {stage / given.values * 1e9:7.1f} ns a value; in millstream {kernel:6.3f} s: {part:.3f} of the stage")
    ray.shutdown()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("engine", choices=["spark", "ray"])
    arguments.add_argument("values", nargs="?", type=int, default=10_000_000)
    arguments.add_argument("--turns", type=int, default=5)
    arguments.add_argument("--master", default="local[1]")
    arguments.add_argument("--record", help="a file to which the output is added")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.open(os.path.join(folder, "gcm"), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(KEY)
        os.environ["MILLSTREAM_KEYS"] = folder
        path = made(folder, given.values)
        on_spark(given, path) if given.engine == "spark" else on_ray(given, path)
    if given.record:
        with open(given.record, "a") as file:
            file.write("```text\n" + "\n".join(LINES) + "\n```\n")


if __name__ == "__main__":
    main()
