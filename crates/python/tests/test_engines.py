"""DuckDB, Polars, DataFusion, pandas and Parquet end to end; Spark and Ray behind their markers."""

import base64
import hashlib
import hmac
import json
import os
import sys

import pyarrow as pa
import pytest
from conftest import WORDS

import millstream

KEY = bytes(range(32))
BYTES = [None if word is None else word.encode() for word in WORDS]
TABLE = pa.table({"id": list(range(1000)), "name": WORDS})
ALL = [millstream.Hmac(KEY), millstream.Aead(KEY), millstream.Siv(bytes(64)), millstream.Fpe(KEY)]


def each(function):
    return [None if value is None else function(value) for value in BYTES]


def test_duckdb():
    import duckdb
    import millstream.duckdb

    con = duckdb.connect()
    names = millstream.duckdb.register(con, key=ALL)
    assert "ms_sha256" in names and "ms_siv_open" in names
    con.register("customers", TABLE)
    rows = con.execute("SELECT name, ms_sha256(name), sha256(name), ms_hmac(name) FROM customers ORDER BY id").fetchall()
    assert [row[1] for row in rows] == [row[2] for row in rows] == each(lambda v: hashlib.sha256(v).hexdigest())
    assert [row[3] for row in rows] == each(lambda v: hmac.new(KEY, v, "sha256").hexdigest())
    joined = con.execute(
        "SELECT count(*), count(DISTINCT a.token) FROM (SELECT ms_siv_seal(name) AS token FROM customers) a "
        "JOIN (SELECT DISTINCT ms_siv_seal(name) AS token FROM customers) b ON a.token = b.token"
    ).fetchone()
    assert joined == (len([w for w in WORDS if w]), len({w for w in WORDS if w}))
    rows = con.execute("SELECT name, ms_open(ms_seal(name)), ms_siv_open(ms_siv_seal(name)) FROM customers").fetchall()
    assert all(row[0] == row[1] == row[2] for row in rows)
    assert con.execute("SELECT ms_fpe_decrypt(ms_fpe_encrypt('123456789'))").fetchone() == ("123456789",)
    with pytest.raises(Exception, match="authentication failed"):
        con.execute("SELECT ms_open('no sealed value, but long enough'::BLOB)").fetchall()


def test_polars():
    import polars as pl
    import millstream.polars  # noqa: F401

    frame = pl.DataFrame({"name": WORDS})
    key = millstream.Siv(bytes(64))
    made = frame.select(
        pl.col("name"),
        pl.col("name").millstream.sha256().alias("digest"),
        pl.col("name").millstream.hmac_sha256(KEY, encoding="hex").alias("tag"),
        pl.col("name").millstream.siv_seal(key).alias("token"),
        pl.col("name").millstream.seal(KEY).alias("sealed"),
    )
    assert made["digest"].to_list() == each(lambda v: hashlib.sha256(v).digest())
    assert made["tag"].to_list() == each(lambda v: hmac.new(KEY, v, "sha256").hexdigest())
    assert made["digest"].dtype == pl.Binary and made["tag"].dtype == pl.String
    opened = made.lazy().select(
        pl.col("token").millstream.siv_open(key, text=True), pl.col("sealed").millstream.open(KEY, text=True)
    ).collect()
    assert opened["token"].to_list() == opened["sealed"].to_list() == WORDS
    assert pl.Series(millstream.sha256(frame["name"])).to_list() == made["digest"].to_list()


def test_datafusion():
    import datafusion
    import millstream.datafusion

    ctx = datafusion.SessionContext()
    millstream.datafusion.register(ctx, key=ALL)
    ctx.from_arrow(TABLE, name="customers")
    rows = ctx.sql(
        "SELECT name, ms_sha256(name) AS digest, ms_hmac(name) AS tag, ms_siv_open(ms_siv_seal(name)) AS same, "
        "ms_open(ms_seal(name)) AS other FROM customers ORDER BY id"
    ).to_pydict()
    assert rows["digest"] == each(lambda v: hashlib.sha256(v).hexdigest())
    assert rows["tag"] == each(lambda v: hmac.new(KEY, v, "sha256").hexdigest())
    assert rows["same"] == rows["other"] == WORDS


def test_pandas():
    import pandas as pd
    import millstream.pandas

    series = pd.Series(WORDS, name="name", index=range(5, 1005))
    sealed = millstream.pandas.apply(series, millstream.siv_seal, bytes(64))
    assert list(sealed.index) == list(series.index) and sealed.name == "name"
    opened = millstream.pandas.apply(sealed, millstream.siv_open, bytes(64), text=True)
    assert [None if value is pd.NA or value != value else value for value in opened] == WORDS


@pytest.fixture
def key_files(tmp_path, monkeypatch):
    for name, key in [("siv", bytes(64)), ("gcm", KEY), ("open", KEY)]:
        (tmp_path / name).write_bytes(key)
        os.chmod(tmp_path / name, 0o644 if name == "open" else 0o600)
    value = base64.b64encode(bytes([18, 64]) + bytes(64)).decode()
    data = {"typeUrl": "type.googleapis.com/google.crypto.tink.AesSivKey", "value": value, "keyMaterialType": "SYMMETRIC"}
    entry = {"keyData": data, "status": "ENABLED", "keyId": 1, "outputPrefixType": "TINK"}
    (tmp_path / "keyset").write_text(json.dumps({"primaryKeyId": 1, "key": [entry]}))
    os.chmod(tmp_path / "keyset", 0o600)
    monkeypatch.setenv("MILLSTREAM_KEYS", str(tmp_path))
    return tmp_path


def test_keys_by_name(key_files):
    from millstream import keys

    assert keys.load("gcm") == KEY
    with pytest.raises(ValueError, match="chmod 600"):
        keys.load("open")
    for name in ["../gcm", "", "a/b", ".hidden"]:
        with pytest.raises(ValueError, match="is no name of a key"):
            keys.load(name)
    with pytest.raises(FileNotFoundError):
        keys.load("absent")


def test_parquet(key_files):
    import pyarrow.parquet as pq
    import pyarrow.parquet.encryption as pe
    import millstream.parquet

    factory = pe.CryptoFactory(millstream.parquet.client)
    config = pe.EncryptionConfiguration(footer_key="gcm", column_keys={"gcm": ["name"]}, internal_key_material=True)
    connection = pe.KmsConnectionConfig()
    path = str(key_files / "customers.parquet")
    with pq.ParquetWriter(path, TABLE.schema, encryption_properties=factory.file_encryption_properties(connection, config)) as writer:
        writer.write_table(TABLE)
    with pytest.raises(OSError):
        pq.read_table(path)
    found = pq.read_table(path, decryption_properties=factory.file_decryption_properties(connection))
    assert found == TABLE
    client = millstream.parquet.client(None)
    wrapped = client.wrap_key(b"a data key", "gcm")
    assert client.unwrap_key(wrapped, "gcm") == b"a data key"
    (key_files / "other").write_bytes(KEY)
    os.chmod(key_files / "other", 0o600)
    # The same bytes under another name are another key.
    with pytest.raises(millstream.AuthenticationError):
        client.unwrap_key(wrapped, "other")


def test_arrow_maps_as_spark_calls_them(key_files):
    from millstream import ray, spark

    batches = TABLE.to_batches(max_chunksize=300)
    sealed = list(spark.map_in_arrow("siv_seal", "Siv", "siv", "name")(iter(batches)))
    opened = spark.map_in_arrow("siv_open", "Siv", "siv", "name")(iter(sealed))
    assert pa.Table.from_batches(opened) == TABLE
    actor = ray.Columns("siv_seal", "Siv", "siv", "name")
    assert actor(TABLE)["name"].to_pylist() == pa.Table.from_batches(sealed)["name"].to_pylist()
    bound = ray.Columns("siv_seal", "Siv", "siv", "name", aad=b"name")(TABLE)
    assert bound["name"].to_pylist() == millstream.siv_seal(WORDS, bytes(64), aad=b"name").to_list()
    assert ray.Columns("siv_open", "Siv", "siv", "name", aad=b"name")(bound) == TABLE
    assert ray.Columns("siv_open", "Siv", "siv", "name", on_error="null")(bound)["name"].null_count == len(TABLE)
    letters = ray.Columns("fpe_encrypt", "Fpe", "gcm", "name", alphabet="abcdef")(pa.table({"name": ["abcdefabcdef"]}))
    assert letters["name"].to_pylist() == millstream.fpe_encrypt(["abcdefabcdef"], millstream.Fpe(KEY, "abcdef")).to_list()


@pytest.mark.spark
def test_spark(key_files, monkeypatch):
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import lpad
    from millstream import spark

    # The executors' Python is else the first of the path, which lacks this environment's packages.
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master("local[2]").getOrCreate()
    frame = session.createDataFrame(TABLE.to_pandas())
    sealed = frame.select("id", "name", spark.siv_seal("siv")("name").alias("token"), spark.seal("gcm")("name").alias("sealed"))
    rows = sealed.select("name", spark.siv_open("siv")("token").alias("same"), spark.open("gcm")("sealed").alias("other")).collect()
    assert all(row["name"] == row["same"] == row["other"] for row in rows)
    text = frame.id.cast("string")
    padded = lpad(text, 9, "0")
    rows = frame.select(
        "name",
        padded.alias("digits"),
        spark.open("gcm", aad=b"name")(spark.seal("gcm", aad=b"name")("name")).alias("constant"),
        spark.siv_open("siv")(spark.siv_seal("siv")("name", text), text).alias("column"),
        spark.siv_open("keyset", keyset=True)(spark.siv_seal("keyset", keyset=True)("name")).alias("rotated"),
        spark.fpe_encrypt("gcm", tweak=b"t")(padded).alias("token"),
        spark.fpe_decrypt("gcm", tweak=b"t")(spark.fpe_encrypt("gcm", tweak=b"t")(padded)).alias("back"),
    ).collect()
    assert len(rows) == len(WORDS)
    assert all(row["name"] == row["constant"] == row["column"] == row["rotated"] for row in rows)
    assert all(row["digits"] == row["back"] != row["token"] and len(row["token"]) == 9 for row in rows)
    key = KEY.hex()
    rows = sealed.selectExpr("name", f"cast(aes_decrypt(sealed, unhex('{key}'), 'GCM') as string) as theirs").collect()
    assert all(row["name"] == row["theirs"] for row in rows)


def test_ray(key_files):
    import ray
    from millstream import ray as columns

    ray.init(num_cpus=2, runtime_env={"env_vars": {"MILLSTREAM_KEYS": str(key_files)}})
    dataset = ray.data.from_arrow(TABLE)
    for function in ["siv_seal", "siv_open"]:
        dataset = dataset.map_batches(
            columns.Columns, fn_constructor_args=(function, "Siv", "siv", "name"), batch_format="pyarrow", concurrency=1
        )
    assert sorted(row["id"] for row in dataset.take_all() if row["name"] != WORDS[row["id"]]) == []
