"""The steps of ``cluster.py`` on Ray Data: tokens by Millstream, and by a loop over the package cryptography, because Ray has none of its own."""

import os

import pyarrow as pa
import ray
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from millstream.ray import Columns

ACTORS = 2
LOOP = "a loop over cryptography"


class Loop:
    """Replaces one column of each table, value by value."""

    def __init__(self, function, key, column, aad):
        cipher = AESSIV(key)
        if function == "siv_seal":
            self._one = lambda value: cipher.encrypt(value.encode(), [aad])
        else:
            self._one = lambda value: cipher.decrypt(value, [aad]).decode()
        self._column, self._kind = column, pa.binary() if function == "siv_seal" else pa.string()

    def __call__(self, table):
        made = pa.array([self._one(value) for value in table[self._column].to_pylist()], self._kind)
        return table.set_column(table.schema.get_field_index(self._column), self._column, made)


class Ray:
    NAME = "Ray"
    WAYS = ["millstream", LOOP, "no tokens"]

    def __init__(self, keys, _master, aad):
        # Two for the actors, and two for what reads and writes; these are Ray's counts, whatever the machine has.
        ray.init(num_cpus=2 * ACTORS, include_dashboard=False, runtime_env={"env_vars": {"MILLSTREAM_KEYS": keys}}, log_to_driver=False)
        context = ray.data.DataContext.get_current()
        # The newer source reads the ends of files by 32 processes, however few files there are.
        context.enable_progress_bars, context.use_datasource_v2 = False, False
        self._aad, self._key = aad, os.urandom(64)

    def seal(self, way, source, column, target):
        self._replaced("siv_seal", way, source, column, target)

    def open(self, way, source, column, target):
        self._replaced("siv_open", way, source, column, target)

    def _replaced(self, function, way, source, column, target):
        dataset = ray.data.read_parquet(source)
        named = {"batch_format": "pyarrow", "batch_size": None, "compute": ray.data.ActorPoolStrategy(size=ACTORS)}
        if way == "millstream":
            given = (function, "Siv", "ssn", column)
            dataset = dataset.map_batches(Columns, fn_constructor_args=given, fn_constructor_kwargs={"aad": self._aad}, **named)
        elif way == LOOP:
            dataset = dataset.map_batches(Loop, fn_constructor_args=(function, self._key, column, self._aad), **named)
        dataset.write_parquet(target)

    def join(self, customers, orders, target):
        left, right = ray.data.read_parquet(customers), ray.data.read_parquet(orders)
        joined = left.join(right, join_type="inner", num_partitions=4, on=("ssn",), right_on=("customer",))
        joined.write_parquet(target)

    def stop(self):
        ray.shutdown()
