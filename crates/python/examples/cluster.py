"""Tokenises two tables on a cluster, joins them on the tokens, and opens one column of what was found.

    python crates/python/examples/cluster.py spark|ray [CUSTOMERS] [--data FOLDER] [--figures FILE]

``spark`` is Spark with two executors, as ``local-cluster`` starts them unless ``--master`` names a cluster; ``ray`` is Ray Data with two
actors. A script makes the data (``made.py``): 10 million customers by default. The job names its key, which each executor and actor reads from a
file. Beside it runs the same job with the engine's own functions, which get the key with the job, and with nothing at all; each has to find the same. ``--figures`` adds
the times to a file, of which ``picture.py`` makes a picture.
"""

import argparse
import json
import os
import shutil
import tempfile
import time

import pyarrow.parquet as pq
from made import amounts, customers, in_parts, orders

AAD = b"ssn"
PARTS = 4


def data(folder, count):
    """Make the two tables below a folder, unless an earlier run has."""
    whole = os.path.join(folder, f"{count} customers")
    if not os.path.isdir(whole):
        made = tempfile.mkdtemp(dir=folder)
        in_parts(customers(count), os.path.join(made, "customers"), PARTS)
        in_parts(orders(count), os.path.join(made, "orders"), PARTS)
        os.rename(made, whole)
    return whole


def keys(folder):
    """Write the key of AES-SIV that the jobs name, as an administrator does on each machine."""
    os.makedirs(folder, exist_ok=True)
    with open(os.open(os.path.join(folder, "ssn"), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(os.urandom(64))
    return folder


def run(engine, way, source, count):
    """Run the job in one way; return the seconds of its steps."""
    work = tempfile.mkdtemp()
    path = lambda name: os.path.join(work, name)
    steps = [
        ("tokenise", lambda: [
            engine.seal(way, os.path.join(source, table), column, path(table)) for table, column in (("customers", "ssn"), ("orders", "customer"))
        ]),
        ("join", lambda: engine.join(path("customers"), path("orders"), path("joined"))),
        ("open", lambda: engine.open(way, path("joined"), "ssn", path("opened"))),
    ]
    try:
        seconds = {}
        for step, function in steps:
            begin = time.perf_counter()
            function()
            seconds[step] = round(time.perf_counter() - begin, 3)
        found = pq.read_table(path("opened"), columns=["ssn", "amount"])
        assert dict(zip(found["ssn"].to_pylist(), found["amount"].to_pylist())) == amounts(count), way
        return seconds
    finally:
        shutil.rmtree(work)


def main(given, folder):
    if given.engine == "spark":
        from on_spark import Spark as Engine
    else:
        from on_ray import Ray as Engine
    source = data(given.data or folder, given.customers)
    engine = Engine(keys(os.path.join(folder, "keys")), given.master, AAD)
    try:
        # The first job of all waits for processes to start, and for compilers.
        run(engine, "millstream", data(folder, 1000), 1000)
        title, figures = f"{engine.NAME}, {given.customers:,} customers", {}
        for way in engine.WAYS:
            figures[way] = run(engine, way, source, given.customers)
            times = ", ".join(f"{step} {seconds:.2f} s" for step, seconds in figures[way].items())
            print(f"{title}, {way}: {times}", flush=True)
            # After each of them, so that a run that is interrupted leaves what it has measured.
            add(given.figures, title, figures)
    finally:
        engine.stop()


def add(path, title, figures):
    """Put the figures into a file beside others that it has."""
    if path is None:
        return
    together = {}
    if os.path.exists(path):
        with open(path) as file:
            together = json.load(file)
    together[title] = figures
    with open(path, "w") as file:
        json.dump(together, file, indent=1)
        file.write("\n")


def arguments(given=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engine", choices=["spark", "ray"])
    parser.add_argument("customers", nargs="?", type=int, default=10_000_000)
    parser.add_argument("--data", help="a folder that keeps the data that were made")
    parser.add_argument("--figures", help="a file of JSON to which the times are added")
    parser.add_argument("--master", default="local-cluster[2,1,2048]", help="Spark's cluster, whose machines have the keys and the data")
    return parser.parse_args(given)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(arguments(), temporary)
