"""Tokenises two tables, joins them on the tokens, and opens one column of what was found.

    python crates/python/examples/tokens.py [CUSTOMERS]

A script makes the data: customers (10 million by default) with an identifier that must not leave, and orders that name some of them.
Both go through streams, so that memory holds a batch of each, and lie in Parquet files with tokens in place of identifiers. Whoever has
the files joins them without a key; whoever has the key opens the identifiers of the result.
"""

import os
import sys
import tempfile
import time

import duckdb
import pyarrow as pa
from made import amounts, customers, orders, written

import millstream
from millstream import streams


def main(count, folder):
    key, aad = millstream.Siv(os.urandom(64)), b"ssn"
    begin = time.perf_counter()
    # The same associated data in both tables, so that the tokens of one identifier are equal.
    paths = [os.path.join(folder, name) for name in ("customers.parquet", "orders.parquet")]
    rows = written(streams.replace(customers(count), "ssn", millstream.siv_seal, key, aad=aad), paths[0])
    rows += written(streams.replace(orders(count), "customer", millstream.siv_seal, key, aad=aad), paths[1])
    sealed = time.perf_counter()
    con = duckdb.connect()
    joined = con.sql(
        "SELECT c.ssn AS token, c.city, sum(o.amount) AS amount FROM read_parquet($1) c JOIN read_parquet($2) o "
        "ON c.ssn = o.customer GROUP BY ALL",
        params=paths,
    ).to_arrow_table()
    found = time.perf_counter()
    opened = pa.chunked_array(millstream.siv_open(joined["token"], key, aad=aad, text=True))
    done = time.perf_counter()
    assert dict(zip(opened.to_pylist(), joined["amount"].to_pylist())) == amounts(count)
    print(f"{rows} rows made, tokenised and written in {sealed - begin:.2f} s, joined on tokens in {found - sealed:.2f} s")
    print(f"{len(opened)} identifiers opened in {done - found:.3f} s, {(done - found) / max(len(opened), 1) * 1e9:.0f} ns each")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000, temporary)
