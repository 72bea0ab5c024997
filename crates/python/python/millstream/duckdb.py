"""Functions in DuckDB's SQL: ``millstream.duckdb.register(con, key=millstream.Siv(key))``.

Errors of a function end the query, with the row counted within DuckDB's vector of rows.
"""

from __future__ import annotations

from typing import Any, List

from ._tables import RANDOM, calling, functions

__all__ = ["register"]


def register(con: Any, key: Any = None, *, prefix: str = "ms_") -> List[str]:
    """Register the hashes, and the functions of ``key``, with a connection; return their names.

    The names are ``prefix`` and ``sha256`` and so on; ``hmac`` of an :class:`~millstream.Hmac`; ``seal`` and ``open`` of an
    :class:`~millstream.Aead`; ``siv_seal`` and ``siv_open`` of a :class:`~millstream.Siv`; ``fpe_encrypt`` and ``fpe_decrypt`` of an
    :class:`~millstream.Fpe`; ``fernet_encrypt`` and ``fernet_decrypt`` of a :class:`~millstream.Fernet`. ``key`` may be a list.
    """
    import duckdb
    import pyarrow as pa

    types = {pa.large_string(): duckdb.sqltype("VARCHAR"), pa.large_binary(): duckdb.sqltype("BLOB")}
    names = []
    for name, (function, given, kind) in functions(key).items():
        con.create_function(
            prefix + name,
            # DuckDB takes text and binary with offsets of any size.
            calling(function),
            [types[given]],
            types[kind],
            type="arrow",
            null_handling="special",
            side_effects=name in RANDOM,
        )
        names.append(prefix + name)
    return names
