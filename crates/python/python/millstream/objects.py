"""Hashes and HMACs of messages in pieces, with the interface of :mod:`hashlib`, and encrypted files."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Optional, Union

from . import _millstream

__all__ = ["Message", "decrypt_file", "encrypt_file", "new", "new_hmac"]

PIECE_BYTES = 1 << 20
"""Bytes of a buffer other than ``bytes`` that are copied at a time."""

Path = Union[str, "os.PathLike[str]"]


def plain(data: Any) -> Any:
    """Return a ``bytearray`` or a ``memoryview`` as ``bytes``, and anything else as it is."""
    return bytes(data) if isinstance(data, (bytearray, memoryview)) else data


class Message:
    """The hash, or the HMAC, of a message of which more may come: :func:`new` and :func:`new_hmac` make one.

    It has ``name``, ``digest_size``, ``block_size``, ``update``, ``digest``, ``hexdigest`` and ``copy`` as the objects of :mod:`hashlib` do.
    """

    def __init__(self, message: Any) -> None:
        self._message = message
        self.name: str = message.name
        self.digest_size: int = message.digest_size
        self.block_size: int = message.block_size

    def update(self, data: Any) -> None:
        """Take in more of the message: ``bytes``, or any contiguous buffer, as a ``memoryview``, a ``bytearray`` or an ``mmap``."""
        if isinstance(data, bytes):
            self._message.update(data)
            return
        with memoryview(data) as view, view.cast("B") as flat:
            for begin in range(0, len(flat), PIECE_BYTES):
                self._message.update(bytes(flat[begin : begin + PIECE_BYTES]))

    def digest(self) -> bytes:
        """Return the digest of the message so far."""
        return self._message.digest()

    def hexdigest(self) -> str:
        """Return the digest of the message so far in hexadecimal digits."""
        return self.digest().hex()

    def copy(self) -> "Message":
        """Return an object that goes on from here on its own."""
        return Message(self._message.copy())


def new(name: str, data: Any = b"") -> Message:
    """Begin the hash of a message, by one of :func:`millstream.hashes`.

    >>> message = new("sha256", b"a")
    >>> message.update(memoryview(b"bc"))
    >>> message.hexdigest()[:8]
    'ba7816bf'
    """
    message = Message(_millstream.Message(name, None))
    message.update(data)
    return message


def new_hmac(key: bytes, data: Any = b"", hash: str = "sha256") -> Message:
    """Begin the HMAC of a message under ``key``. Compare digests with ``hmac.compare_digest``."""
    message = Message(_millstream.Message(hash, plain(key)))
    message.update(data)
    return message


def encrypt_file(source: Path, target: Path, key: bytes, *, aad: bytes = b"") -> None:
    """Encrypt a file as a stream of Tink (AES-GCM-HKDF, segments of 1 MB), as the command ``millstream encrypt -k`` does.

    ``key`` has 32 bytes, or is a keyset of Tink's in JSON, whose primary key encrypts. ``target`` appears whole or not at all, is its owner's alone
    (0o600), and may be ``source``. Python's lock is not held meanwhile. Raise ``OSError`` when a file can't be read or written, and
    ``ValueError`` for a key of another length.
    """
    _replaced(_millstream.encrypt_file, source, target, key, aad)


def decrypt_file(source: Path, target: Path, key: bytes, *, aad: bytes = b"") -> None:
    """Decrypt a file that :func:`encrypt_file`, Tink or the command ``millstream encrypt -k`` has encrypted.

    Raise :class:`millstream.AuthenticationError` when it was changed, is cut off, or was encrypted with another key or other associated data;
    ``target`` is then as it was before.
    """
    _replaced(_millstream.decrypt_file, source, target, key, aad)


def _replaced(function: Any, source: Path, target: Path, key: bytes, aad: bytes) -> None:
    folder = os.path.dirname(os.fspath(target)) or "."
    descriptor, made = tempfile.mkstemp(prefix=".millstream-", dir=folder)
    kept: Optional[str] = made
    try:
        function(os.fspath(source), made, plain(key), plain(aad))
        os.fsync(descriptor)
        os.replace(made, target)
        kept = None
    finally:
        os.close(descriptor)
        if kept is not None:
            os.unlink(kept)
