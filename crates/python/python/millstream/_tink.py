"""Tink's keysets in the clear, as JSON: the keys that columns have a use for.

Ref. Tink's tink.proto, aes_gcm.proto, aes_gcm_siv.proto, aes_siv.proto, chacha20_poly1305.proto.
"""

from __future__ import annotations

import base64
import json
from typing import Any, Dict, List, Tuple, Union

Key = Tuple[str, int, str, bytes]
"""The prefix, the identifier, the algorithm and the bytes."""

TYPES = {"AesGcmKey": ("aes-gcm", 3), "AesGcmSivKey": ("aes-gcm-siv", 3), "AesSivKey": ("aes-siv", 2), "ChaCha20Poly1305Key": ("chacha20-poly1305", 2)}
"""The algorithm of each type of key, and the number of the field that has the bytes."""


def read(text: Union[str, bytes]) -> Tuple[List[Key], int]:
    """Return the keys that are enabled, and the place of the primary one. Raise ``ValueError`` for anything else."""
    keyset = json.loads(text)
    if not isinstance(keyset, dict) or "key" not in keyset or "primaryKeyId" not in keyset:
        raise ValueError("this is no keyset of Tink in the clear: it has no key, or no primaryKeyId")
    enabled = [key for key in keyset["key"] if key.get("status") == "ENABLED"]
    primary = [i for i, key in enumerate(enabled) if key.get("keyId") == keyset["primaryKeyId"]]
    if len(primary) != 1:
        raise ValueError(f"the keyset has no enabled key {keyset['primaryKeyId']}, or several: its primary key")
    return [_key(key) for key in enabled], primary[0]


def _key(key: Dict[str, Any]) -> Key:
    url = key["keyData"]["typeUrl"]
    name = url.rsplit(".", 1)[-1]
    if name not in TYPES:
        raise ValueError(f"the key {key['keyId']} is of type {url}; columns take {', '.join(sorted(TYPES))}")
    algorithm, field = TYPES[name]
    return key["outputPrefixType"], key["keyId"], algorithm, _field(base64.b64decode(key["keyData"]["value"]), field)


def _field(message: bytes, wanted: int) -> bytes:
    """Return a field of bytes of a protocol buffer."""
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    try:
        while at < len(message):
            tag = number()
            if tag & 7 == 0:
                number()
            elif tag & 7 == 2:
                length = number()
                at += length
                if at > len(message):
                    break
                if tag >> 3 == wanted:
                    return message[at - length : at]
            else:
                break
    except IndexError:
        pass
    raise ValueError("a key of the keyset can not be understood")
