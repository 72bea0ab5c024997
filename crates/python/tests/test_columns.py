"""Every function over every layout, compared with hashlib, hmac and cryptography, both ways."""

import base64
import hashlib
import hmac
import os
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pytest
from conftest import WORDS, listed
from cryptography import fernet
from cryptography.hazmat.primitives.ciphers import aead

import millstream

KEY = bytes(range(32))
BYTES = [None if word is None else word.encode() for word in WORDS]


def each(function, values=BYTES):
    return [None if value is None else function(value) for value in values]


@pytest.mark.parametrize("name", millstream.hashes())
def test_digests_are_those_of_hashlib(column, name):
    try:
        theirs = hashlib.new(name.replace("sha512-256", "sha512_256"))
    except ValueError:
        pytest.fail(f"hashlib has no {name}")
    expected = each(lambda value: hashlib.new(theirs.name, value).digest())
    assert listed(millstream.digest(column, name)) == expected
    named = getattr(millstream, name.replace("-", "_"))
    assert listed(named(column, encoding="hex")) == each(bytes.hex, expected)
    assert listed(named(column, encoding="base64")) == each(lambda d: base64.b64encode(d).decode(), expected)


def test_tags_are_those_of_hmac(column):
    for name in ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"]:
        expected = each(lambda value: hmac.digest(KEY, value, name))
        assert listed(getattr(millstream, f"hmac_{name}")(column, KEY)) == expected
        assert listed(millstream.hmac(column, millstream.Hmac(KEY, name))) == expected


AEADS = [("aes-gcm", aead.AESGCM), ("chacha20-poly1305", aead.ChaCha20Poly1305), ("aes-gcm-siv", aead.AESGCMSIV)]


@pytest.mark.parametrize("algorithm, theirs", AEADS)
def test_sealed_values_are_opened_by_cryptography_and_the_other_way_round(column, algorithm, theirs):
    key, theirs = millstream.Aead(KEY, algorithm), theirs(KEY)
    sealed = listed(millstream.seal(column, key, aad=b"column"))
    assert each(lambda value: theirs.decrypt(value[:12], value[12:], b"column"), sealed) == BYTES
    nonces = [value[:12] for value in sealed if value is not None]
    assert len(set(nonces)) == len(nonces)

    def seal(value):
        nonce = os.urandom(12)
        return nonce + theirs.encrypt(nonce, value, b"column")

    array = pa.array(each(seal), pa.binary())
    assert listed(millstream.open(array, key, aad=b"column")) == BYTES
    assert listed(millstream.open(array, key, aad=b"column", text=True)) == WORDS


def test_deterministic_values_are_those_of_cryptography(column):
    theirs = aead.AESSIV(bytes(64))
    for given, components in [(b"column", [b"column"]), (None, None), (b"", [b""])]:
        expected = each(lambda value: theirs.encrypt(value, components))
        sealed = millstream.siv_seal(column, bytes(64), aad=given)
        assert listed(sealed) == expected
        assert listed(millstream.siv_open(sealed, bytes(64), aad=given, text=True)) == WORDS
    nonce = bytes(12)
    expected = each(lambda value: nonce + aead.AESGCMSIV(KEY).encrypt(nonce, value, None))
    sealed = millstream.gcm_siv_seal(column, KEY, nonce=nonce)
    assert listed(sealed) == expected
    assert listed(millstream.gcm_siv_open(sealed, KEY)) == BYTES


def test_tokens_are_opened_by_cryptography_and_the_other_way_round(column):
    key = fernet.Fernet.generate_key()
    theirs = fernet.Fernet(key)
    tokens = listed(millstream.fernet_encrypt(column, key))
    assert each(theirs.decrypt, tokens) == BYTES
    made = pa.array(each(lambda value: theirs.encrypt(value).decode()))
    assert listed(millstream.fernet_decrypt(made, key, ttl=600, text=True)) == WORDS


def test_formats_are_kept():
    digits = [None, "4000123456789010", "123456", "999999999999"]
    encrypted = millstream.fpe_encrypt(pa.array(digits), KEY, tweak=b"card")
    found = listed(encrypted)
    assert [value and len(value) for value in found] == [value and len(value) for value in digits]
    assert found != digits and all(value is None or value.isdigit() for value in found)
    assert listed(millstream.fpe_decrypt(encrypted, KEY, tweak=b"card")) == digits
    with pytest.raises(ValueError, match="row 1: aes-ff1: the alphabet"):
        millstream.fpe_encrypt(pa.array(["123456", "12-456"]), KEY)
    # Sample 1 of NIST SP 800-38G.
    key = bytes.fromhex("2B7E151628AED2A6ABF7158809CF4F3C")
    assert listed(millstream.fpe_encrypt(["0123456789"], key)) == ["2433477484"]


def test_associated_data_goes_row_by_row_whatever_the_chunks():
    rows = [f"row {i}" for i in range(1000)]
    aads = pa.chunked_array([rows[:123], rows[123:777], rows[777:]])
    nonces = pa.chunked_array([[i.to_bytes(12, "big") for i in range(500)], [i.to_bytes(12, "big") for i in range(500, 1000)]])
    column = pa.chunked_array([WORDS[:300], [], WORDS[300:]], pa.string())
    sealed = millstream.seal(column, KEY, aad=aads, nonce=nonces)
    theirs = aead.AESGCM(KEY)
    for i, value in enumerate(listed(sealed)):
        nonce = i.to_bytes(12, "big")
        assert value == (None if BYTES[i] is None else nonce + theirs.encrypt(nonce, BYTES[i], rows[i].encode()))
    assert listed(millstream.open(sealed, KEY, aad=pa.array(rows), text=True)) == WORDS
    with pytest.raises(millstream.AuthenticationError) as error:
        millstream.open(sealed, KEY, aad=pa.array(rows[:800] + rows[799:999]))
    assert error.value.row == next(i for i in range(800, 1000) if WORDS[i] is not None)


def test_forged_rows_are_named_or_null():
    sealed = listed(millstream.seal(pa.array(WORDS), KEY))
    sealed[700] = sealed[700][:-1] + bytes([sealed[700][-1] ^ 1])
    sealed[900] = b"short"
    forged = pa.chunked_array([pa.array(sealed[:512]), pa.array(sealed[512:])])
    with pytest.raises(millstream.AuthenticationError, match="row 700: authentication failed") as error:
        millstream.open(forged, KEY)
    assert error.value.row == 700 and isinstance(error.value, ValueError)
    opened = listed(millstream.open(forged, KEY, on_error="null", text=True))
    assert opened == [None if i in (700, 900) else word for i, word in enumerate(WORDS)]


def test_a_dictionary_stays_one():
    column = pa.array(WORDS).dictionary_encode()
    digests = pa.array(millstream.sha256(column))
    assert digests.indices == column.indices
    assert len(digests.dictionary) == len(column.dictionary)
    empty = pa.chunked_array([], pa.string())
    assert pa.chunked_array(millstream.sha256(empty)).type == pa.binary(32)


def test_lists_go_without_arrow():
    assert millstream.sha256([b"abc", None]).to_list() == [hashlib.sha256(b"abc").digest(), None]
    assert millstream.sha256(["é"]).to_list() == [hashlib.sha256("é".encode()).digest()]
    assert millstream.sha256([bytearray(b"abc"), memoryview(b"abc")]).to_list() == [hashlib.sha256(b"abc").digest()] * 2
    assert millstream.crc32c([b"123456789"]).to_list() == [0xE3069283]
    key = millstream.Aead(KEY)
    sealed = key.seal(b"a", b"x")
    assert aead.AESGCM(KEY).decrypt(sealed[:12], sealed[12:], b"x") == b"a"
    assert key.open(key.seal(b"value", b"aad"), b"aad") == b"value"
    assert key.open_many(key.seal_many([b"a", None, b"b"], [b"1", b"2", b"3"]), [b"1", b"2", b"3"]) == [b"a", None, b"b"]
    assert millstream.hmac_many(KEY, [b"a"]) == [hmac.digest(KEY, b"a", "sha256")]


def test_what_is_wrong_is_told():
    with pytest.raises(TypeError, match="a column is needed, and int is none"):
        millstream.sha256(7)
    with pytest.raises(ValueError, match="its format is \"i\"; give text or binary"):
        millstream.sha256(pa.array([1], pa.int32()))
    with pytest.raises(ValueError, match="give one column"):
        millstream.sha256(pa.table({"x": ["a"]}))
    with pytest.raises(ValueError, match='no hash is called "sha0"; there are md5'):
        millstream.digest([b""], "sha0")
    with pytest.raises(ValueError, match="no encoding is called"):
        millstream.sha256([b""], encoding="hexa")
    with pytest.raises(ValueError, match="it takes 16, 24 or 32 bytes"):
        millstream.seal([b""], b"short")
    with pytest.raises(ValueError, match="would break the key"):
        millstream.seal([b""], KEY, nonce=bytes(12))
    with pytest.raises(ValueError, match="another column has 2 rows where the column has 1"):
        millstream.seal([b""], KEY, aad=[b"", b""])
    with pytest.raises(TypeError, match="of bytes alone, or of str alone"):
        millstream.sha256([b"a", "b"])
    assert {"algorithm", "kernel", "note"} == set(millstream.caps()[0])


def test_any_number_of_threads_gives_the_same():
    script = (
        "import millstream, hashlib; column = [str(i) * (i % 9) for i in range(50000)]; "
        "sealed = millstream.siv_seal(column, bytes(64)).to_list(); "
        "print(millstream.threads(), hashlib.sha256(b''.join(sealed)).hexdigest())"
    )

    def run(threads):
        environment = dict(os.environ, MILLSTREAM_THREADS=threads)
        return subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)

    one, two = run("1").stdout.split(), run("2").stdout.split()
    assert one[0] == "1" and one[1] == two[1]
    assert "MILLSTREAM_THREADS is 'none'" in run("none").stderr.replace('"', "'")


def test_a_signal_ends_the_work_between_chunks():
    def stop(*_):
        raise KeyboardInterrupt

    # All of it would take minutes.
    chunks = pa.chunked_array([pa.array([bytes(4 << 20)])] * 20_000)
    before = signal.signal(signal.SIGALRM, stop)
    began = time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            millstream.sha512(chunks)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - began < 30
