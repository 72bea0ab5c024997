"""Keys that stay in the service. Those tests that need one run with -m service, and with the program that makes one:

    MILLSTREAM_TEST_SERVICE=target/checked/deps/service-… pytest -m service

The program is `crates/columns/tests/service.rs`. What needs no service runs always.
"""

import hashlib
import os
import subprocess

import pyarrow as pa
import pytest
from conftest import WORDS, listed

import millstream


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    pin = tmp_path_factory.mktemp("pin") / "pin"
    pin.write_text("314159\n")
    program = subprocess.Popen(
        [os.environ["MILLSTREAM_TEST_SERVICE"], "with-tokens"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MILLSTREAM_SOCKET", program.stdout.readline().strip())
        patch.setenv("MILLSTREAM_PIN_FILE", str(pin))
        yield
    program.stdin.close()
    assert program.wait(60) == 0


def test_without_a_service_there_is_no_key(tmp_path, monkeypatch):
    monkeypatch.delenv("MILLSTREAM_PIN_FILE", raising=False)
    with pytest.raises(ValueError, match="MILLSTREAM_PIN_FILE"):
        millstream.Isolated("web/customers")
    with pytest.raises(millstream.ServiceError, match="nowhere"):
        millstream.Isolated("web/customers", pin="314159", socket=str(tmp_path / "nowhere"))


@pytest.mark.service
def test_columns_are_sealed_and_opened(service, column):
    key = millstream.Isolated("web/customers")
    assert key.algorithm == "aes-gcm"
    sealed = millstream.seal(column, key, aad=b"name")
    assert [None if w is None else w.encode() for w in WORDS] == listed(millstream.open(sealed, millstream.Isolated("customers"), aad=b"name"))
    with pytest.raises(millstream.AuthenticationError):
        millstream.open(sealed, millstream.Isolated("web/stream"), aad=b"name")


@pytest.mark.service
def test_values_are_sealed_deterministically(service, column):
    first, again = (millstream.siv_seal(column, millstream.Isolated("web/joins"), aad=b"name") for _ in range(2))
    assert listed(first) == listed(again)
    key = millstream.Isolated("web/joins")
    assert [None if w is None else w.encode() for w in WORDS] == listed(millstream.siv_open(first, key, aad=b"name"))
    with pytest.raises(millstream.AuthenticationError):
        millstream.siv_open(first, key, aad=b"other")
    with pytest.raises(ValueError, match="associated data"):
        millstream.siv_seal(column, key)
    with pytest.raises(ValueError, match="siv_seal and siv_open"):
        millstream.seal(column, key, aad=b"name")
    with pytest.raises(ValueError, match="siv_seal and siv_open"):
        millstream.siv_seal(column, millstream.Isolated("web/customers"), aad=b"name")


@pytest.mark.service
def test_codes_are_of_one_key(service):
    key = millstream.Isolated("web/tokens")
    tags = listed(millstream.hmac(pa.array(WORDS), key))
    assert tags == listed(key.sign(WORDS)) and len({tag for tag in tags if tag}) == len({word for word in WORDS if word})
    assert {len(tag) for tag in tags if tag} == {hashlib.sha256().digest_size}


@pytest.mark.service
def test_names_and_pins_that_are_wrong(service):
    with pytest.raises(millstream.ServiceError, match="no token"):
        millstream.Isolated("web/nothing")
    with pytest.raises(millstream.ServiceError, match="wrong PIN"):
        millstream.Isolated("web/customers", pin=b"000000")


@pytest.mark.service
def test_engines_and_parquet(service):
    import duckdb
    import pyarrow.parquet.encryption as pe
    import millstream.duckdb
    import millstream.parquet
    from millstream import ray

    con = duckdb.connect()
    millstream.duckdb.register(con, key=[millstream.Isolated("web/customers"), millstream.Isolated("web/tokens")])
    assert con.execute("SELECT ms_open(ms_seal('Ada')), length(ms_hmac('Ada'))").fetchone() == ("Ada", 64)
    other = duckdb.connect()
    millstream.duckdb.register(other, key=millstream.Isolated("web/joins"), prefix="j_")
    assert other.execute("SELECT j_siv_open(j_siv_seal('Ada')), j_siv_seal('Ada') = j_siv_seal('Ada')").fetchone() == ("Ada", True)
    table = pa.table({"name": WORDS})
    sealed = ray.Columns("seal", "Isolated", "web/customers", "name")(table)
    assert ray.Columns("open", "Isolated", "web/customers", "name")(sealed) == table
    client = millstream.parquet.isolated_client(pe.KmsConnectionConfig())
    wrapped = client.wrap_key(b"a data key", "web/customers")
    assert client.unwrap_key(wrapped, "web/customers") == b"a data key"
    with pytest.raises(millstream.AuthenticationError):
        client.unwrap_key(wrapped, "web/stream")


@pytest.mark.service
def test_digits_tokens_and_gcm_siv_are_those_of_a_key_here(service):
    from millstream import spark

    cards = [f"{i:016}" for i in range(50)] + [None]
    key = millstream.Isolated("web/customers", algorithm="aes-ff1")
    tokens = millstream.fpe_encrypt(cards, key, tweak=b"card").to_list()
    assert all(len(token) == 16 and token != card for token, card in zip(tokens[:-1], cards)) and tokens[-1] is None
    assert millstream.fpe_decrypt(tokens, key, tweak=b"card").to_list() == cards
    with pytest.raises(ValueError, match="six decimal digits"):
        millstream.fpe_encrypt(["12"], key)
    # As each executor of Spark does.
    called = [pa.array(cards), b"card", "0123456789"]
    assert spark.call("fpe_encrypt", "Isolated", "web/customers", "string", *called).to_pylist() == tokens
    messages = millstream.Isolated("web/messages")
    sealed = millstream.fernet_encrypt(WORDS, messages)
    assert millstream.fernet_decrypt(sealed, messages, ttl=3600, text=True).to_list() == list(WORDS)
    siv = millstream.Isolated("web/customers", algorithm="aes-gcm-siv")
    assert millstream.gcm_siv_open(millstream.gcm_siv_seal(WORDS, siv), siv, text=True).to_list() == list(WORDS)
    with pytest.raises(ValueError, match="aes-gcm-siv"):
        millstream.gcm_siv_seal(WORDS, key)
