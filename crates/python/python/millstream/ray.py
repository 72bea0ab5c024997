"""An actor for Ray Data that carries the name of a key and no key, and reads it once: see :mod:`millstream.keys`.

``dataset.map_batches(millstream.ray.Columns, fn_constructor_args=("siv_seal", "Siv", "customers", "name"), batch_format="pyarrow",
concurrency=2)``.
"""

from __future__ import annotations

from typing import Any, Optional

__all__ = ["Columns"]


class Columns:
    """Replaces one column of each table: ``function`` and ``kind`` are names in :mod:`millstream`, ``name`` is the key's.

    With the kind ``"Isolated"`` the actor attaches to the service of its machine, once. ``alphabet`` is for the kind ``"Fpe"``, and makes
    an isolated key one of FF1; what else is named, as ``aad`` and ``on_error``, goes to the function: ``fn_constructor_kwargs={"aad": b"customers.name"}``.
    """

    def __init__(self, function: str, kind: str, name: str, column: str, alphabet: Optional[str] = None, **named: Any) -> None:
        import millstream
        from millstream import keys

        self._function = getattr(millstream, function)
        self._named = {**({"text": True} if "open" in function else {}), **named}
        self._key = keys.made(kind, name, alphabet)
        self._column = column

    def __call__(self, table: Any) -> Any:
        import pyarrow as pa

        made = pa.chunked_array(self._function(table[self._column], self._key, **self._named))
        return table.set_column(table.schema.get_field_index(self._column), self._column, made)
