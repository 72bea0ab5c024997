"""The steps of ``cluster.py`` on Spark: tokens by Millstream, and by Spark's own ``aes_encrypt``."""

import os
import sys
import time

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from millstream import spark

# Of Spark's own, ECB alone gives equal values equal tokens without a fixed nonce. It does not authenticate.
OWN = "Spark's own aes_encrypt"


class Spark:
    NAME = "Spark"
    WAYS = ["millstream", OWN, "no tokens"]

    def __init__(self, keys, master, aad):
        # The executors' Python is else the first of the path, which lacks this environment's packages.
        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master(master).appName("tokens").config("spark.executorEnv.MILLSTREAM_KEYS", keys)
        builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").config("spark.sql.shuffle.partitions", "4")
        self._session, self._aad = builder.getOrCreate(), aad
        self._session.sparkContext.setLogLevel("ERROR")
        if master.startswith("local-cluster[2,"):
            self._wait_for_executors(2)
        key = F.lit(os.urandom(32))
        self._seal = {
            "millstream": lambda column: spark.siv_seal("ssn", aad=aad)(column),
            OWN: lambda column: F.aes_encrypt(column, key, F.lit("ECB")),
            "no tokens": lambda column: column,
        }
        self._open = {
            "millstream": lambda column: spark.siv_open("ssn", aad=aad)(column),
            OWN: lambda column: F.aes_decrypt(column, key, F.lit("ECB")).cast("string"),
            "no tokens": lambda column: column,
        }

    def _wait_for_executors(self, count):
        """Wait until so many processes work, beside the driver."""
        status = self._session.sparkContext._jsc.sc().getExecutorMemoryStatus
        for _ in range(600):
            if status().size() > count:
                return
            time.sleep(0.1)
        raise TimeoutError(f"Spark has {status().size() - 1} executors, not {count}")

    def seal(self, way, source, column, target):
        self._replaced(self._seal[way], source, column, target)

    def open(self, way, source, column, target):
        self._replaced(self._open[way], source, column, target)

    def _replaced(self, function, source, column, target):
        frame = self._session.read.parquet(source)
        frame.withColumn(column, function(frame[column])).write.parquet(target)

    def join(self, customers, orders, target):
        left, right = self._session.read.parquet(customers), self._session.read.parquet(orders)
        # Without the hint Spark would send all orders to each executor, which ends well with few of them only.
        joined = left.join(right.hint("merge"), left["ssn"] == right["customer"]).groupBy("ssn", "city").agg(F.sum("amount").alias("amount"))
        joined.write.parquet(target)

    def stop(self):
        self._session.stop()
