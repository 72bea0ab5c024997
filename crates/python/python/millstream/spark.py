"""Functions for Spark 4.1 and later, which carry names of keys and no keys: see :mod:`millstream.keys`.

``frame.select(millstream.spark.siv_seal("customers")("name"))``. Each executor reads its own key file, once. The package has to be
installed on the executors.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Iterator

__all__ = ["call", "hmac_sha256", "map_in_arrow", "open", "seal", "siv_open", "siv_seal"]


@functools.lru_cache(maxsize=None)
def _key(kind: str, name: str) -> Any:
    from millstream import keys

    return keys.made(kind, name)


def call(function: str, kind: str, name: str, result: str, column: Any) -> Any:
    """Return ``millstream.function`` of a PyArrow array, under the key of that name, as a PyArrow array of a type."""
    import millstream
    import pyarrow as pa

    made = getattr(millstream, function)(column, _key(kind, name), **({"text": True} if "open" in function else {}))
    return pa.array(made).cast(pa.type_for_alias(result))


def _udf(function: str, kind: str, name: str, result: str) -> Any:
    from pyspark.sql.functions import arrow_udf

    spark_type = {"binary": "binary", "string": "string"}[result]

    def over(column: Any) -> Any:
        from millstream import spark

        return spark.call(function, kind, name, result, column)

    import pyarrow as pa

    over.__annotations__ = {"column": pa.Array, "return": pa.Array}
    return arrow_udf(over, spark_type)


def seal(name: str, *, isolated: bool = False) -> Any:
    """A function of a column that seals under the AES-GCM key of that name; ``isolated`` is of the service of each executor's machine."""
    return _udf("seal", "Isolated" if isolated else "Aead", name, "binary")


def open(name: str, *, isolated: bool = False) -> Any:
    """A function of a column that opens to text."""
    return _udf("open", "Isolated" if isolated else "Aead", name, "string")


def siv_seal(name: str) -> Any:
    """A function of a column that seals deterministically under the AES-SIV key of that name."""
    return _udf("siv_seal", "Siv", name, "binary")


def siv_open(name: str) -> Any:
    """A function of a column that opens to text."""
    return _udf("siv_open", "Siv", name, "string")


def hmac_sha256(name: str, *, isolated: bool = False) -> Any:
    """A function of a column that returns HMACs under the key of that name."""
    return _udf("hmac", "Isolated" if isolated else "Hmac", name, "binary")


def map_in_arrow(function: str, kind: str, name: str, column: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function for ``frame.mapInArrow`` that replaces one column, for Spark before 4.1.

    ``map_in_arrow("siv_seal", "Siv", "customers", "name")`` gives a binary column.
    """
    def over(batches: Iterator[Any]) -> Iterator[Any]:
        from millstream import spark

        result = "string" if "open" in function else "binary"
        for batch in batches:
            made = spark.call(function, kind, name, result, batch.column(column))
            yield batch.set_column(batch.schema.get_field_index(column), column, made)

    return over
