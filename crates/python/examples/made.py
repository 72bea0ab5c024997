"""The data of the examples: customers with an identifier that must not leave, and orders that name some of them."""

import os

import pyarrow as pa
import pyarrow.parquet as pq

BATCH = 1 << 16


def identifier(i):
    return f"{i * 7919 % 10**9:09d}"


def customers(count):
    """Customers in batches: an identifier, and a city."""
    schema = pa.schema([("ssn", pa.string()), ("city", pa.string())])

    def batches():
        for begin in range(0, count, BATCH):
            rows = range(begin, min(begin + BATCH, count))
            yield pa.record_batch([[identifier(i) for i in rows], [f"city {i % 100}" for i in rows]], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def orders(count):
    """Orders in batches, one for each tenth customer."""
    schema = pa.schema([("customer", pa.string()), ("amount", pa.int64())])

    def batches():
        for begin in range(0, count, 10 * BATCH):
            rows = range(begin, min(begin + 10 * BATCH, count), 10)
            yield pa.record_batch([[identifier(i) for i in rows], [i % 1000 for i in rows]], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def amounts(count):
    """What a join of the customers with their orders has to find: the amount of each identifier."""
    return {identifier(i): i % 1000 for i in range(0, count, 10)}


def written(reader, path):
    """Write a stream to a Parquet file; return its rows."""
    rows = 0
    with pq.ParquetWriter(path, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
            rows += len(batch)
    return rows


def in_parts(reader, folder, parts):
    """Write a stream to that many Parquet files, so that as many tasks read it at once; return its rows."""
    os.mkdir(folder)
    writers = [pq.ParquetWriter(os.path.join(folder, f"{part}.parquet"), reader.schema) for part in range(parts)]
    rows = 0
    for turn, batch in enumerate(reader):
        writers[turn % parts].write_batch(batch)
        rows += len(batch)
    for writer in writers:
        writer.close()
    return rows
