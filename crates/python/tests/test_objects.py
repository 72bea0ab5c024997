"""Messages in pieces beside hashlib and hmac, encrypted files, and the queue of an asyncio program."""

import asyncio
import base64
import hashlib
import hmac
import json
import os

import pytest
from conftest import WORDS

import millstream

KEY = bytes(range(32))
DATA = bytes(i * 7 & 255 for i in range(40_000))


@pytest.mark.parametrize("name", [name for name in millstream.hashes()])
def test_messages_are_those_of_hashlib(name):
    theirs = hashlib.new(name.replace("-", "_"), DATA)
    ours = millstream.new(name)
    assert (ours.digest_size, ours.block_size) == (theirs.digest_size, theirs.block_size)
    for piece in (DATA[:1], bytearray(DATA[1:130]), memoryview(DATA)[130:20_000], DATA[20_000:]):
        ours.update(piece)
    assert ours.name == name and ours.hexdigest() == theirs.hexdigest() and ours.digest() == theirs.digest()
    other = ours.copy()
    other.update(b"more")
    theirs.update(b"more")
    assert other.digest() == theirs.digest() != ours.digest()
    tag = hmac.new(KEY, DATA, name.replace("-", "_"))
    assert millstream.new_hmac(KEY, DATA, name).digest() == tag.digest()


def test_wide_and_strided_buffers():
    import array

    numbers = array.array("I", range(1000))
    assert millstream.new("sha256", numbers).digest() == hashlib.sha256(numbers).digest()
    with pytest.raises(TypeError):
        millstream.new("sha256", memoryview(DATA)[::2])
    with pytest.raises(TypeError):
        millstream.new("sha256", "text")
    with pytest.raises(ValueError, match="no hash is called"):
        millstream.new("sha0")


def test_files(tmp_path):
    plain, sealed, back = (tmp_path / name for name in ("plain", "sealed", "back"))
    plain.write_bytes(DATA * 60)  # Segments have a megabyte.
    millstream.encrypt_file(plain, sealed, KEY, aad=b"name")
    assert os.stat(sealed).st_size > os.stat(plain).st_size and os.stat(sealed).st_mode & 0o077 == 0
    millstream.decrypt_file(sealed, str(back), KEY, aad=b"name")
    assert back.read_bytes() == plain.read_bytes()
    millstream.encrypt_file(back, back, KEY)
    millstream.decrypt_file(back, back, KEY)
    assert back.read_bytes() == plain.read_bytes()
    whole = sealed.read_bytes()
    names = sorted(os.listdir(tmp_path))
    for bad, key, aad in [
        (whole[:-1], KEY, b"name"),
        (whole[: 1 << 20], KEY, b"name"),
        (whole[:1_500_000] + b"x" + whole[1_500_001:], KEY, b"name"),
        (whole, bytes(32), b"name"),
        (whole, KEY, b"other"),
        (whole[:5], KEY, b"name"),
    ]:
        sealed.write_bytes(bad)
        with pytest.raises(millstream.AuthenticationError):
            millstream.decrypt_file(sealed, back, key, aad=aad)
        assert sorted(os.listdir(tmp_path)) == names and back.read_bytes() == plain.read_bytes()
    with pytest.raises(ValueError, match="32 bytes"):
        millstream.encrypt_file(plain, back, b"short")
    with pytest.raises(FileNotFoundError):
        millstream.encrypt_file(tmp_path / "none", back, KEY)


def test_files_with_keysets(tmp_path):
    def keyset(primary, *ids):
        # AesGcmHkdfStreamingKey: segments of 4 KiB, derived keys of 32 bytes, SHA-256.
        messages = {id: bytes([18, 7, 8, 128, 32, 16, 32, 24, 3, 26, 32]) + bytes([id]) * 32 for id in ids}
        url = "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey"
        keys = [
            {"keyId": id, "status": "ENABLED", "outputPrefixType": "RAW", "keyData": {"typeUrl": url, "value": base64.b64encode(m).decode()}}
            for id, m in messages.items()
        ]
        return json.dumps({"primaryKeyId": primary, "key": keys}).encode()

    plain, sealed, back = (tmp_path / name for name in ("plain", "sealed", "back"))
    plain.write_bytes(DATA)
    millstream.encrypt_file(plain, sealed, keyset(1, 1))
    millstream.decrypt_file(sealed, back, keyset(2, 2, 1))
    assert back.read_bytes() == DATA
    with pytest.raises(millstream.AuthenticationError):
        millstream.decrypt_file(sealed, back, keyset(2, 2))


def test_a_queue_gathers_what_tasks_ask_for(monkeypatch):
    values = [word.encode() for word in WORDS if word]
    calls = []
    monkeypatch.setattr(millstream.queue, "aead_seal", lambda *a, **k: calls.append(len(a[0])) or millstream.seal(*a, **k))

    async def main():
        queue = millstream.Queue(millstream.Aead(KEY), most=100)
        aads = [str(i).encode() for i in range(len(values))]
        sealed = await asyncio.gather(*map(queue.seal, values, aads))
        assert await asyncio.gather(*map(queue.open, sealed, aads)) == values
        # One that does not open disturbs no other.
        forged = [sealed[0][:-1] + bytes([sealed[0][-1] ^ 1]), *sealed[1:]]
        opened = await asyncio.gather(*map(queue.open, forged, aads), return_exceptions=True)
        assert isinstance(opened[0], millstream.AuthenticationError) and opened[1:] == values[1:]
        return sealed

    sealed = asyncio.run(main())
    assert calls == [100] * (len(values) // 100) + [len(values) % 100]
    assert millstream.open(sealed, KEY, aad=[str(i).encode() for i in range(len(values))]).to_list() == values


def test_a_queue_of_other_keys():
    async def main():
        siv = millstream.Queue(millstream.Siv(bytes(64)))
        first, again = await asyncio.gather(siv.seal(b"Ada", b"name"), siv.seal(b"Ada", b"name"))
        assert first == again == millstream.siv_seal([b"Ada"], bytes(64), aad=b"name").to_list()[0]
        assert await siv.open(first, b"name") == b"Ada"
        signing = millstream.Queue(millstream.Hmac(KEY))
        assert await signing.sign(b"Ada") == hmac.digest(KEY, b"Ada", "sha256")
        with pytest.raises(TypeError, match="seal is not for a key of the class Hmac"):
            await signing.seal(b"Ada")
        with pytest.raises(TypeError, match="sign is not for a key of the class Siv"):
            await siv.sign(b"Ada")
        # Long values go to another thread, and a task that is cancelled disturbs no other.
        queue = millstream.Queue(millstream.Aead(KEY))
        long = [bytes([i]) * 100_000 for i in range(4)]
        tasks = [asyncio.ensure_future(queue.seal(value)) for value in long]
        await asyncio.sleep(0)
        tasks[1].cancel()
        sealed = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(sealed[1], asyncio.CancelledError)
        assert [await queue.open(one) for one in (sealed[0], *sealed[2:])] == [long[0], *long[2:]]

    asyncio.run(main())
    with pytest.raises(TypeError, match="bytes is no key for a queue"):
        millstream.Queue(KEY)


def test_values_under_any_key_that_seals():
    keyset = json.dumps({"primaryKeyId": 7, "key": [{
        "keyData": {
            "typeUrl": "type.googleapis.com/google.crypto.tink.AesGcmKey",
            "value": base64.b64encode(bytes([26, 32]) + KEY).decode(),
            "keyMaterialType": "SYMMETRIC",
        },
        "status": "ENABLED", "keyId": 7, "outputPrefixType": "TINK",
    }]})
    for key in (millstream.Aead(KEY), millstream.Siv(KEY), millstream.Keyset(keyset)):
        values = [b"", b"Ada", None, DATA]
        sealed = key.seal_many(values, [b"0", b"1", b"2", b"3"])
        assert key.open_many(sealed, [b"0", b"1", b"2", b"3"]) == values
        assert key.open_many(sealed, b"1", on_error="null") == [None, b"Ada", None, None]
        assert key.open(key.seal(b"Ada", b"name"), b"name") == b"Ada"
        with pytest.raises(millstream.AuthenticationError):
            key.open(key.seal(b"Ada", b"name"))
        assert (key.seal(b"Ada") == key.seal(b"Ada")) == isinstance(key, millstream.Siv)
    assert millstream.siv_open([millstream.Siv(KEY).seal(b"Ada", b"name")], KEY, aad=b"name").to_list() == [b"Ada"]
    assert millstream.seal([None], millstream.Keyset(keyset)).to_list() == [None]


def test_keys_and_parameters_are_any_bytes():
    for form in (bytearray, memoryview):
        assert millstream.Hmac(form(KEY)).sign([b"Ada"]).to_list() == millstream.Hmac(KEY).sign([b"Ada"]).to_list()
        assert millstream.new_hmac(form(KEY), b"Ada").digest() == millstream.new_hmac(KEY, b"Ada").digest()
        sealed = millstream.seal([b"Ada"], form(KEY), aad=form(b"name"))
        assert millstream.open(sealed, KEY, aad=b"name").to_list() == [b"Ada"]
        assert millstream.siv_seal([b"Ada"], form(KEY), aad=form(b"name")).to_list() == [millstream.Siv(KEY).seal(b"Ada", b"name")]
        encrypted = millstream.fpe_encrypt(["123456"], form(KEY), tweak=form(b"t"))
        assert millstream.fpe_decrypt(encrypted, KEY, tweak=b"t").to_list() == ["123456"]
        nonce = form(bytes(12))
        assert millstream.gcm_siv_seal(["a"], form(KEY), nonce=nonce).to_list() == millstream.gcm_siv_seal(["a"], KEY, nonce=bytes(12)).to_list()
    token = millstream.fernet_encrypt(["a"], bytearray(base64.urlsafe_b64encode(KEY)))
    assert millstream.fernet_decrypt(token, base64.urlsafe_b64encode(KEY), text=True).to_list() == ["a"]
    with pytest.raises(TypeError):
        millstream.Aead("text")
