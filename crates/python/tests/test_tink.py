"""Keysets both ways beside the real Tink: what one seals, the other opens."""

import pytest
import tink
from conftest import WORDS
from tink import aead, daead, secret_key_access

import millstream

BYTES = [None if word is None else word.encode() for word in WORDS]
NAMES = [value for value in BYTES if value is not None][:50]


def keysets(template):
    """A keyset that Tink has made, and the same one here."""
    handle = tink.new_keyset_handle(template)
    return handle, millstream.Keyset(tink.json_proto_keyset_format.serialize(handle, secret_key_access.TOKEN))


def test_deterministic_values():
    daead.register()
    handle, ours = keysets(daead.deterministic_aead_key_templates.AES256_SIV)
    theirs = handle.primitive(daead.DeterministicAead)
    expected = [theirs.encrypt_deterministically(value, b"name") for value in NAMES]
    assert millstream.siv_seal(NAMES, ours, aad=b"name").to_list() == expected
    assert millstream.siv_open(expected, ours, aad=b"name").to_list() == NAMES
    sealed = millstream.siv_seal(NAMES, ours).to_list()
    assert [theirs.decrypt_deterministically(value, b"") for value in sealed] == NAMES


@pytest.mark.parametrize("template", ["AES128_GCM", "AES256_GCM", "AES256_GCM_RAW", "AES128_GCM_SIV", "AES256_GCM_SIV"])
def test_sealed_values(template):
    aead.register()
    handle, ours = keysets(getattr(aead.aead_key_templates, template))
    theirs = handle.primitive(aead.Aead)
    sealed = millstream.seal(NAMES, ours, aad=b"name").to_list()
    assert [theirs.decrypt(value, b"name") for value in sealed] == NAMES
    assert millstream.open([theirs.encrypt(value, b"name") for value in NAMES], ours, aad=b"name").to_list() == NAMES
