"""Streams with bounded memory, and the example that stands on them."""

import pathlib
import sys

import pyarrow as pa
import pytest
from conftest import WORDS

import millstream
from millstream import streams

KEY = bytes(range(32))
TABLE = pa.table({"id": [f"row {i}" for i in range(1000)], "name": WORDS})


def stream(size=300):
    return pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(max_chunksize=size))


def test_a_column_is_replaced_batch_by_batch():
    siv = millstream.Siv(bytes(64))
    tokens = streams.replace(stream(), "name", millstream.siv_seal, siv).read_all()
    assert tokens["id"] == TABLE["id"]
    assert tokens["name"].to_pylist() == millstream.siv_seal(WORDS, siv).to_list()
    assert streams.replace(tokens, "name", millstream.siv_open, siv, text=True).read_all() == TABLE


def test_associated_data_may_be_a_column_of_the_batch():
    aad = lambda batch: batch.column("id")  # noqa: E731
    sealed = streams.replace(stream(), "name", millstream.seal, KEY, aad=aad).read_all()
    again = streams.replace(sealed, "name", millstream.open, KEY, aad=aad, text=True)
    assert again.read_all() == TABLE


def test_no_batch_is_read_before_it_is_asked_for():
    read = []

    def batches():
        for batch in TABLE.to_batches(max_chunksize=100):
            read.append(len(batch))
            yield batch

    made = streams.replace(pa.RecordBatchReader.from_batches(TABLE.schema, batches()), "name", millstream.sha256)
    assert read == []
    made.read_next_batch()
    assert read == [100]


def test_rows_are_counted_from_the_beginning_of_the_stream():
    sealed = millstream.seal(WORDS, KEY).to_list()
    sealed[712] = bytes(40)
    table = pa.table({"name": sealed})
    source = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=300))
    made = streams.replace(source, "name", millstream.open, KEY)
    with pytest.raises(Exception, match="row 712: authentication failed"):
        made.read_all()


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(KeyError, match="no column 'nothing'"):
        streams.replace(stream(), "nothing", millstream.sha256)
    assert streams.replace(stream().schema.empty_table(), "name", millstream.sha256).read_all().num_rows == 0


def test_the_example_runs(tmp_path, capsys):
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "examples"))
    import tokens

    tokens.main(20_000, str(tmp_path))
    assert "2000 identifiers opened" in capsys.readouterr().out
