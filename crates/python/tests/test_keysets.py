"""Tink's keysets: the wire format, and rotation."""

import base64
import json

import pytest
from conftest import WORDS
from cryptography.hazmat.primitives.ciphers import aead

import millstream

BYTES = [None if word is None else word.encode() for word in WORDS]


def key(kind, id, secret, prefix="TINK", status="ENABLED"):
    field = {"AesSivKey": 2, "ChaCha20Poly1305Key": 2}.get(kind, 3)
    # Version 0, which is left out as often as it is written, parameters that are empty, and the bytes.
    message = bytes([8, 0]) + (b"" if field == 2 else bytes([18, 0])) + bytes([field << 3 | 2, len(secret)]) + secret
    data = {"typeUrl": f"type.googleapis.com/google.crypto.tink.{kind}", "value": base64.b64encode(message).decode(), "keyMaterialType": "SYMMETRIC"}
    return {"keyData": data, "status": status, "keyId": id, "outputPrefixType": prefix}


def keyset(primary, *keys):
    return json.dumps({"primaryKeyId": primary, "key": keys})


def test_values_are_those_of_tink():
    siv = millstream.Keyset(keyset(1000, key("AesSivKey", 1000, bytes(range(64)))))
    other = aead.AESSIV(bytes(range(64)))
    expected = [None if value is None else bytes([1, 0, 0, 3, 232]) + other.encrypt(value, [b"name"]) for value in BYTES]
    assert millstream.siv_seal(WORDS, siv, aad=b"name").to_list() == expected
    assert millstream.siv_open(expected, siv, aad=b"name").to_list() == BYTES
    # Tink's deterministic AEAD has one component of associated data, which may be empty.
    assert millstream.siv_seal(["a"], siv).to_list() == [bytes([1, 0, 0, 3, 232]) + other.encrypt(b"a", [b""])]
    gcm = millstream.Keyset(keyset(7, key("AesGcmKey", 7, bytes(32), "LEGACY")))
    other = aead.AESGCM(bytes(32))
    for sealed, value in zip(millstream.seal(WORDS, gcm, aad=b"name").to_list(), BYTES):
        assert (sealed is None) == (value is None)
        assert sealed is None or sealed[:5] == bytes([0, 0, 0, 0, 7]) and other.decrypt(sealed[5:17], sealed[17:], b"name") == value


@pytest.mark.parametrize("kind, length", [("AesGcmKey", 16), ("AesGcmSivKey", 32), ("ChaCha20Poly1305Key", 32)])
def test_rotation(kind, length):
    old, new = key(kind, 1, bytes(length)), key(kind, 2, bytes([1]) * length)
    raw = key(kind, 3, bytes([2]) * length, "RAW")
    sets = [millstream.Keyset(keyset(id, old, new, raw)) for id in (1, 2, 3)]
    mixed = [millstream.seal(WORDS, one).to_list()[i] for i, one in ((i, sets[i % 3]) for i in range(30))]
    for one in sets:
        assert millstream.open(mixed, one, text=True).to_list() == WORDS[:30]
    without_old = millstream.Keyset(keyset(2, key(kind, 1, bytes(length), status="DISABLED"), new, raw))
    with pytest.raises(millstream.AuthenticationError) as refused:
        millstream.open(mixed, without_old)
    assert refused.value.row == 0
    opened = millstream.open(mixed, without_old, on_error="null", text=True).to_list()
    assert opened == [None if i % 3 == 0 else WORDS[i] for i in range(30)]


def test_engines_take_keysets():
    import duckdb
    import millstream.duckdb

    con = duckdb.connect()
    keys = [millstream.Keyset(keyset(1, key("AesSivKey", 1, bytes(64)))), millstream.Keyset(keyset(2, key("AesGcmKey", 2, bytes(32))))]
    millstream.duckdb.register(con, key=keys)
    assert con.execute("SELECT ms_siv_open(ms_siv_seal('Ada')), ms_open(ms_seal('Ada'))").fetchone() == ("Ada", "Ada")


def test_what_is_no_keyset_for_columns_is_refused():
    good = key("AesGcmKey", 1, bytes(32))
    siv = key("AesSivKey", 2, bytes(64))
    cut = key("AesGcmKey", 1, bytes(32))
    cut["keyData"]["value"] = base64.b64encode(bytes([26, 40]) + bytes(8)).decode()
    for text, words in [
        ("{}", "without primaryKeyId"),
        ("[]", "not a JSON keyset"),
        (keyset(5, good), "primary key"),
        (keyset(1, good, siv), "keep them in two"),
        (keyset(1, key("HmacKey", 1, bytes(32))), "HmacKey"),
        (keyset(1, cut), "can't be understood"),
        (keyset(1, key("AesGcmKey", 1, bytes(5))), "5 bytes"),
    ]:
        with pytest.raises(ValueError, match=words):
            millstream.Keyset(text)
    with pytest.raises(ValueError, match="siv_seal"):
        millstream.seal(["a"], millstream.Keyset(keyset(2, siv)))
    with pytest.raises(ValueError, match="siv_seal"):
        millstream.siv_seal(["a"], millstream.Keyset(keyset(1, good)))
    with pytest.raises(ValueError, match="give none"):
        millstream.seal(["a"], millstream.Keyset(keyset(1, good)), nonce=[bytes(12)])
