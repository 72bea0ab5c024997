"""Functions for Spark 4.1 and later, which carry names of keys and no keys: see :mod:`millstream.keys`.

``frame.select(millstream.spark.siv_seal("customers")("name"))``. Each executor reads its own key file, once. The package has to be
installed on the executors.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Iterator, Optional

from ._tables import RANDOM

__all__ = ["call", "fpe_decrypt", "fpe_encrypt", "hmac_sha256", "map_in_arrow", "open", "seal", "siv_open", "siv_seal"]


@functools.lru_cache(maxsize=None)
def _key(kind: str, name: str, alphabet: Optional[str] = None) -> Any:
    from millstream import keys

    return keys.made(kind, name, alphabet)


def call(function: str, kind: str, name: str, result: str, column: Any, beside: Any = None, alphabet: Optional[str] = None) -> Any:
    """Return ``millstream.function`` of a PyArrow array, under the key of that name, as a PyArrow array of a type.

    ``beside`` is associated data, or FF1's tweak: bytes for all rows, or an array.
    """
    import millstream
    import pyarrow as pa

    named: dict = {"text": True} if "open" in function else {}
    if beside is not None:
        named["tweak" if function.startswith("fpe") else "aad"] = beside
    made = getattr(millstream, function)(column, _key(kind, name, alphabet), **named)
    return pa.array(made).cast(pa.type_for_alias(result))


def _udf(function: str, kind: str, name: str, result: str, beside: Optional[bytes] = None, alphabet: Optional[str] = None) -> Any:
    """A function of a column, or of a column and one with associated data or a tweak for each row."""
    import pyarrow as pa
    from pyspark.sql.functions import arrow_udf

    def over(column: Any) -> Any:
        from millstream import spark

        return spark.call(function, kind, name, result, column, beside, alphabet)

    def over_both(column: Any, others: Any) -> Any:
        from millstream import spark

        return spark.call(function, kind, name, result, column, others, alphabet)

    over.__annotations__ = {"column": pa.Array, "return": pa.Array}
    over_both.__annotations__ = {"column": pa.Array, "others": pa.Array, "return": pa.Array}
    one, two = arrow_udf(over, result), arrow_udf(over_both, result)
    if function in RANDOM:
        # Spark would compute a column twice that is used twice, and the two would differ.
        one, two = one.asNondeterministic(), two.asNondeterministic()

    def of(column: Any, others: Any = None) -> Any:
        if others is None:
            return one(column)
        if beside is not None:
            raise ValueError("the function has associated data, or a tweak, that is constant: give no column of it")
        return two(column, others)

    return of


def seal(name: str, *, aad: Optional[bytes] = None, isolated: bool = False, keyset: bool = False) -> Any:
    """A function of a column that seals under the AES-GCM key of that name; ``isolated`` is of the service of each executor's machine,
    and with ``keyset`` the file is a keyset of Tink. Associated data is ``aad``, or a second column: ``seal("customers")("name", "id")``."""
    return _udf("seal", _sealing("Aead", isolated, keyset), name, "binary", aad)


def open(name: str, *, aad: Optional[bytes] = None, isolated: bool = False, keyset: bool = False) -> Any:
    """A function of a column that opens to text."""
    return _udf("open", _sealing("Aead", isolated, keyset), name, "string", aad)


def siv_seal(name: str, *, aad: Optional[bytes] = None, isolated: bool = False, keyset: bool = False) -> Any:
    """A function of a column that seals deterministically under the AES-SIV key of that name; parameters as of :func:`seal`."""
    return _udf("siv_seal", _sealing("Siv", isolated, keyset), name, "binary", aad)


def siv_open(name: str, *, aad: Optional[bytes] = None, isolated: bool = False, keyset: bool = False) -> Any:
    """A function of a column that opens to text."""
    return _udf("siv_open", _sealing("Siv", isolated, keyset), name, "string", aad)


def fpe_encrypt(name: str, alphabet: str = "0123456789", *, tweak: Optional[bytes] = None, isolated: bool = False) -> Any:
    """A function of a column of text that encrypts it with its alphabet and length kept. The tweak is ``tweak``, or a second column; with
    ``isolated`` the key is one of kind ``aes`` of the service of each executor's machine."""
    return _udf("fpe_encrypt", "Isolated" if isolated else "Fpe", name, "string", tweak, alphabet)


def fpe_decrypt(name: str, alphabet: str = "0123456789", *, tweak: Optional[bytes] = None, isolated: bool = False) -> Any:
    """A function of a column that :func:`fpe_encrypt` has made."""
    return _udf("fpe_decrypt", "Isolated" if isolated else "Fpe", name, "string", tweak, alphabet)


def hmac_sha256(name: str, *, isolated: bool = False) -> Any:
    """A function of a column that returns HMACs under the key of that name."""
    return _udf("hmac", "Isolated" if isolated else "Hmac", name, "binary")


def _sealing(kind: str, isolated: bool, keyset: bool) -> str:
    if isolated and keyset:
        raise ValueError("a key is in the service or in a keyset: give one of isolated and keyset")
    return "Isolated" if isolated else "Keyset" if keyset else kind


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
