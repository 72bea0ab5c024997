"""Streams of tables with one column replaced, a batch at a time: memory holds no more than the batch.

``reader = millstream.streams.replace(reader, "name", millstream.siv_seal, siv)``, for a ``pyarrow.RecordBatchReader`` or anything else with
``__arrow_c_stream__``; the result is a ``RecordBatchReader``, which ``pyarrow.parquet``, ``pyarrow.ipc``, DuckDB and Polars read.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Iterator

import pyarrow as pa

__all__ = ["replace"]


def replace(source: Any, column: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> "pa.RecordBatchReader":
    """Return a reader whose ``column`` is ``function(column, *arguments, **named)`` of each batch; the other columns stay.

    Associated data that is a column of the table is a function of the batch: ``aad=lambda batch: batch.column("id_text")``. Errors come
    from reading; their ``row`` counts from the beginning of the stream. Raise ``KeyError`` for a column that the stream has not.
    """
    reader = source if isinstance(source, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(source)
    at = reader.schema.get_field_index(column)
    if at < 0:
        raise KeyError(f"the stream has no column {column!r}, or several; it has {reader.schema.names}")

    def made(batch: "pa.RecordBatch") -> "pa.Array":
        given = {name: value(batch) if callable(value) else value for name, value in named.items()}
        return pa.array(function(batch.column(at), *arguments, **given))

    kind = made(pa.RecordBatch.from_pylist([], schema=reader.schema)).type
    schema = reader.schema.set(at, reader.schema.field(at).with_type(kind))

    def batches() -> Iterator["pa.RecordBatch"]:
        rows = 0
        for batch in reader:
            try:
                array = made(batch)
            except ValueError as error:
                raise _from_row(error, rows) from None
            rows += len(batch)
            yield pa.RecordBatch.from_arrays([*batch.columns[:at], array, *batch.columns[at + 1 :]], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _from_row(error: ValueError, rows: int) -> ValueError:
    """Return the same error for a batch that ``rows`` rows came before."""
    row = getattr(error, "row", None)
    if row is None:
        return error
    moved = type(error)(re.sub(r"^row \d+", f"row {row + rows}", str(error)))
    moved.row = row + rows  # type: ignore[attr-defined]
    return moved
