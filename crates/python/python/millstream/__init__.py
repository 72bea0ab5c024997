"""Columns and objects hashed, sealed and opened, many of them side by side.

A *column* is anything with the Arrow PyCapsule interface (an array of PyArrow, Polars, DuckDB, DataFusion or pandas) of text,
binary, fixed-size binary, or a dictionary of them; or a list of ``bytes`` or ``str`` with ``None`` for nulls. A column of one array
gives an :class:`Array`, one in chunks a :class:`ChunkedArray`; ``pyarrow.array``, ``pyarrow.chunked_array`` and ``polars.Series`` take
them without a copy. Nulls stay null. Python's lock is not held during the work, which is spread over all processors, or as
many as ``MILLSTREAM_THREADS`` says.

Errors: :class:`TypeError` for what is no column or no key; :class:`ValueError` for the rest, with the number of the first wrong row
as its attribute ``row``; :class:`AuthenticationError`, a ``ValueError``, for a value that does not authenticate; :class:`ServiceError`,
a ``RuntimeError``, from the service of an :class:`Isolated` key. No plaintext of a value that does not authenticate is ever returned.
"""

from __future__ import annotations

import builtins
import os
from typing import Any, Iterable, List, Optional, TypeVar, Union

from . import _millstream
from ._millstream import Array, AuthenticationError, ChunkedArray, ServiceError, caps, hashes, threads
from .objects import Message, decrypt_file, encrypt_file, new, new_hmac, plain as _plain

__all__ = [
    "Aead", "Array", "AuthenticationError", "ChunkedArray", "Fernet", "Fpe", "Hmac", "Isolated", "Keyset", "Message", "Queue", "ServiceError",
    "Siv", "caps", "crc32c", "decrypt_file", "digest", "encrypt_file",
    "fernet_decrypt", "fernet_encrypt", "fpe_decrypt", "fpe_encrypt", "gcm_siv_open", "gcm_siv_seal", "hashes", "hmac", "hmac_many",
    "hmac_md5", "hmac_sha1", "hmac_sha224", "hmac_sha256", "hmac_sha384", "hmac_sha512", "md5", "new", "new_hmac", "open", "seal", "sha1", "sha224",
    "sha256", "sha384", "sha3_224", "sha3_256", "sha3_384", "sha3_512", "sha512", "sha512_256", "siv_open", "siv_seal", "threads",
]

Column = Any
"""A column: see the module."""

Result = Union[Array, ChunkedArray]
"""A column that is returned."""

Parameter = Union[bytes, Column, None]
"""Nothing, the same bytes for every row, or a column with a value for every row. Bytes may be a ``bytearray`` or a ``memoryview``; so may keys."""


class Hmac:
    """A key of HMAC, prepared once. ``hash`` is one of :func:`hashes`.

    >>> Hmac(b"Jefe").sign(["what do ya want for nothing?"], encoding="hex").to_list()[0][:8]
    '5bdcc146'
    """

    def __init__(self, key: bytes, hash: str = "sha256") -> None:
        self._key = _millstream.HmacKey(_plain(key), hash)

    def sign(self, column: Column, *, encoding: str = "binary") -> Result:
        """Return the tag of every value: fixed-size binary, or text where ``encoding`` is ``"hex"`` or ``"base64"``."""
        return self._key.sign(column, encoding)


class _Sealing:
    """What keys that seal have in common: values at hand, without a column."""

    _key: Any

    def _seal(self, column: Column, aad: Parameter, nonce: Parameter, encoding: str) -> Result:
        return self._key.seal(column, aad, nonce, encoding)

    def _open(self, column: Column, aad: Parameter, on_error: str, text: bool) -> Result:
        return self._key.open(column, aad, on_error, text)

    def seal(self, data: bytes, aad: bytes = b"") -> bytes:
        """Return one value sealed, with a random nonce if the key is not deterministic."""
        return self.seal_many([data], aad)[0]

    def open(self, data: bytes, aad: bytes = b"") -> bytes:
        """Return one value opened. Raise :class:`AuthenticationError` if it was not sealed so."""
        return self.open_many([data], aad)[0]

    def seal_many(self, values: Iterable[Optional[bytes]], aad: Parameter = b"") -> List[Optional[bytes]]:
        """Return each value sealed, with a nonce of its own if the key is not deterministic. ``aad`` is for all, or a list with one for each."""
        return self._seal(_list(values), aad, None, "binary").to_list()

    def open_many(
        self, values: Iterable[Optional[bytes]], aad: Parameter = b"", *, on_error: str = "raise"
    ) -> List[Optional[bytes]]:
        """Return each value opened; with ``on_error="null"`` those that do not authenticate are ``None``."""
        return self._open(_list(values), aad, on_error, False).to_list()


class Aead(_Sealing):
    """A key of an AEAD, prepared once.

    ``algorithm`` is ``"aes-gcm"`` (keys of 16 or 32 bytes), ``"chacha20-poly1305"`` (32), ``"xaes-256-gcm"`` (32), or
    ``"aes-gcm-siv"`` (16 or 32). Under one key of the first two, seal at most 2**32 values with random nonces.

    A sealed value is nonce, ciphertext and a tag of 16 bytes; the nonce has 12 bytes, or 24 with ``"xaes-256-gcm"``. Spark's
    ``aes_encrypt`` in mode GCM has the same layout.

    >>> key = Aead(bytes(32))
    >>> key.open(key.seal(b"a value", aad=b"row 7"), aad=b"row 7")
    b'a value'
    """

    def __init__(self, key: bytes, algorithm: str = "aes-gcm") -> None:
        self.algorithm = algorithm
        self._key = _millstream.AeadKey(_plain(key), algorithm)


class Isolated(_Sealing):
    """A key of a token of the running service, which stays there: this process only names it.

    ``name`` is ``"TOKEN/LABEL"``, or the key's label where one token alone has such a key. The token's user PIN is ``pin``, or the first
    line of the file ``pin_file``, by default the one that the environment variable ``MILLSTREAM_PIN_FILE`` names. A key of kind ``aes``
    (AES-GCM) or ``chacha20-poly1305`` takes the place of an :class:`Aead` in :func:`seal` and :func:`open`, under nonces that the
    service makes; one of kind ``aes-siv`` that of a :class:`Siv` in :func:`siv_seal` and :func:`siv_open`, with associated data; one of
    kind ``hmac`` that of an :class:`Hmac` in :func:`hmac`, with ``hash``; one of kind ``fernet`` that of a :class:`Fernet`. With ``algorithm``
    ``"aes-gcm-siv"`` a key of kind ``aes`` is for :func:`gcm_siv_seal` and :func:`gcm_siv_open`, and with ``"aes-ff1"`` for
    :func:`fpe_encrypt` and :func:`fpe_decrypt`: values of ``alphabet``, of at most 256 characters, and tweaks of at most 255 bytes.

    Raise :class:`ServiceError` when the service can't be reached, has no such key, or refuses. In a forked child, make another one.
    """

    def __init__(
        self,
        name: str,
        *,
        pin: Union[str, bytes, None] = None,
        pin_file: Optional[str] = None,
        socket: Optional[str] = None,
        hash: str = "sha256",
        algorithm: Optional[str] = None,
        alphabet: str = "0123456789",
    ) -> None:
        if pin is None:
            path = pin_file or os.environ.get("MILLSTREAM_PIN_FILE")
            if path is None:
                raise ValueError("the token's PIN is needed: give pin or pin_file, or set MILLSTREAM_PIN_FILE")
            with builtins.open(path, "rb") as file:
                pin = file.readline().rstrip(b"\r\n")
        pin = pin.encode() if isinstance(pin, str) else _plain(pin)
        self._key = _millstream.IsolatedKey(name, pin, socket, hash, algorithm)
        self.algorithm = self._key.algorithm
        self.alphabet = alphabet
        self.deterministic = self.algorithm == "aes-siv"

    def sign(self, column: Column, *, encoding: str = "binary") -> Result:
        """Return the HMAC of every value, as :meth:`Hmac.sign` does."""
        return self._key.sign(column, encoding)


class Keyset(_Sealing):
    """A keyset of Tink in the clear, as JSON: its primary key seals, and each enabled key opens what it has sealed.

    The first five bytes of a sealed value name its key, as Tink's output prefix does, so that a key can be replaced while values of the
    old one are still there; Tink opens what is sealed here, and the other way round. A keyset of AES-SIV, deterministic, takes the place of
    a :class:`Siv`, and one of AES-GCM, AES-GCM-SIV or ChaCha20-Poly1305 that of an :class:`Aead`.
    """

    def __init__(self, text: Union[str, bytes]) -> None:
        self._key = _millstream.KeysetKey(text.encode() if isinstance(text, str) else _plain(text))
        self.deterministic = self._key.deterministic

    def _seal(self, column: Column, aad: Parameter, nonce: Parameter, encoding: str) -> Result:
        if nonce is not None:
            raise ValueError("a keyset makes its nonces: give none")
        return self._key.seal(column, aad, encoding)


class Siv(_Sealing):
    """A key of AES-SIV of 32, 48 or 64 bytes (64 is what Tink uses), prepared once.

    Equal values become equal results, so that tables can be joined by them. A sealed value is a tag of 16 bytes and the ciphertext,
    as in Tink's deterministic AEAD without a prefix. ``aad=None`` is no component of associated data, and ``b""`` an empty one.

    >>> key = Siv(bytes(64))
    >>> key.seal(b"a value") == key.seal(b"a value")
    True
    """

    def __init__(self, key: bytes) -> None:
        self._key = _millstream.SivKey(_plain(key))

    def _seal(self, column: Column, aad: Parameter, nonce: Parameter, encoding: str) -> Result:
        return self._key.seal(column, aad, encoding)


class Fpe:
    """A key of FF1 (16, 24 or 32 bytes) and the characters that values are of, prepared once.

    Patents may apply to FF1 in some places.
    """

    def __init__(self, key: bytes, alphabet: str = "0123456789") -> None:
        if not hasattr(_millstream, "FpeKey"):
            raise NotImplementedError("this build of millstream leaves FF1 out")
        self._key = _millstream.FpeKey(_plain(key), alphabet)


class Fernet:
    """A Fernet key, 32 bytes in URL-safe base64 as ``cryptography.fernet.Fernet.generate_key`` makes it, prepared once."""

    def __init__(self, key: Union[str, bytes]) -> None:
        key = _plain(key)
        self._key = _millstream.FernetKey(key.decode("ascii") if isinstance(key, bytes) else key)


def digest(column: Column, hash: str, *, encoding: str = "binary") -> Result:
    """Return the digest of every value by the hash of that name, one of :func:`hashes`.

    The result is fixed-size binary, or text where ``encoding`` is ``"hex"`` or ``"base64"``. Of a dictionary only the values are
    hashed, and its indices are kept.

    >>> digest(["abc", None], "sha256", encoding="hex").to_list()[1] is None
    True
    """
    return _millstream.digest(hash, column, encoding)


def crc32c(column: Column) -> Result:
    """Return the CRC32c of every value, as uint32. It guards against accidents only."""
    return _millstream.crc32c(column)


def hmac(
    column: Column, key: Union[bytes, Hmac, Isolated], hash: str = "sha256", *, encoding: str = "binary"
) -> Result:
    """Return the HMAC of every value under ``key``: bytes, or an :class:`Hmac` or :class:`Isolated`, which has its own hash."""
    return (key if isinstance(key, (Hmac, Isolated)) else Hmac(key, hash)).sign(column, encoding=encoding)


def hmac_many(key: Union[bytes, Hmac], values: Iterable[Optional[bytes]], hash: str = "sha256") -> List[Optional[bytes]]:
    """Return the HMACs of a list of bytes."""
    return hmac(_list(values), key, hash).to_list()


def seal(
    column: Column, key: Union[bytes, Aead, Isolated, Keyset], *, aad: Parameter = None, nonce: Parameter = None, encoding: str = "binary"
) -> Result:
    """Return every value sealed under ``key``, an :class:`Aead`, :class:`Isolated` or :class:`Keyset`, or bytes for AES-GCM.

    Each value gets a random nonce, all from one call of a generator; or give a column of nonces, none of them twice.
    """
    if isinstance(key, Keyset):
        return _of(key, deterministic=False)._seal(column, aad, nonce, encoding)
    return _aead(key)._key.seal(column, aad, nonce, encoding)


def open(
    column: Column, key: Union[bytes, Aead, Isolated, Keyset], *, aad: Parameter = None, on_error: str = "raise", text: bool = False
) -> Result:
    """Return every value of a binary column opened, as binary or, with ``text``, as text.

    Raise :class:`AuthenticationError` with the first row that does not authenticate; with ``on_error="null"`` such rows are null.
    """
    if isinstance(key, Keyset):
        return _of(key, deterministic=False)._open(column, aad, on_error, text)
    return _aead(key)._key.open(column, aad, on_error, text)


def siv_seal(
    column: Column, key: Union[bytes, Siv, Isolated, Keyset], *, aad: Parameter = None, encoding: str = "binary"
) -> Result:
    """Return every value sealed deterministically under ``key``: a :class:`Siv` or its bytes, a :class:`Keyset` of AES-SIV, or an
    :class:`Isolated` key of that kind, for which there must be ``aad``, that may be empty."""
    if isinstance(key, (Keyset, Isolated)):
        return _of(key, deterministic=True)._seal(column, aad, None, encoding)
    return _siv(key)._key.seal(column, aad, encoding)


def siv_open(
    column: Column, key: Union[bytes, Siv, Isolated, Keyset], *, aad: Parameter = None, on_error: str = "raise", text: bool = False
) -> Result:
    """Return every value opened that :func:`siv_seal` has sealed; errors as of :func:`open`."""
    if isinstance(key, (Keyset, Isolated)):
        return _of(key, deterministic=True)._open(column, aad, on_error, text)
    return _siv(key)._key.open(column, aad, on_error, text)


def gcm_siv_seal(
    column: Column,
    key: Union[bytes, Isolated],
    *,
    aad: Parameter = None,
    nonce: Parameter = None,
    encoding: str = "binary",
) -> Result:
    """Return every value sealed with AES-GCM-SIV. One ``nonce`` of 12 bytes for all rows makes it deterministic. An :class:`Isolated` key of
    that algorithm has nonces that the service makes."""
    return _gcm_siv(key).seal(column, aad, nonce, encoding)


def gcm_siv_open(
    column: Column,
    key: Union[bytes, Isolated],
    *,
    aad: Parameter = None,
    on_error: str = "raise",
    text: bool = False,
) -> Result:
    """Return every value opened that :func:`gcm_siv_seal` has sealed; errors as of :func:`open`."""
    return _gcm_siv(key).open(column, aad, on_error, text)


def fpe_encrypt(
    column: Column, key: Union[bytes, Fpe, Isolated], *, tweak: Parameter = None, on_error: str = "raise"
) -> Result:
    """Return every text encrypted with its alphabet and length kept. ``key`` is an :class:`Fpe`, bytes for decimal digits, or an
    :class:`Isolated` key of FF1."""
    if isinstance(key, Isolated):
        return key._key.encrypt_digits(column, key.alphabet, tweak, on_error)
    return (key if isinstance(key, Fpe) else Fpe(key))._key.encrypt(column, tweak, on_error)


def fpe_decrypt(
    column: Column, key: Union[bytes, Fpe, Isolated], *, tweak: Parameter = None, on_error: str = "raise"
) -> Result:
    """Return every text decrypted. Nothing tells if it was encrypted under this key."""
    if isinstance(key, Isolated):
        return key._key.decrypt_digits(column, key.alphabet, tweak, on_error)
    return (key if isinstance(key, Fpe) else Fpe(key))._key.decrypt(column, tweak, on_error)


def fernet_encrypt(
    column: Column, key: Union[str, bytes, Fernet, Isolated], *, time: Optional[int] = None
) -> Result:
    """Return a Fernet token for every value, as text. ``time`` is in seconds since 1970, by default now."""
    if isinstance(key, Isolated):
        return key._key.encrypt_tokens(column, time)
    return (key if isinstance(key, Fernet) else Fernet(key))._key.encrypt(column, time)


def fernet_decrypt(
    column: Column,
    key: Union[str, bytes, Fernet, Isolated],
    *,
    ttl: Optional[int] = None,
    on_error: str = "raise",
    text: bool = False,
) -> Result:
    """Return the value in every token; with ``ttl``, tokens older than so many seconds are refused."""
    if isinstance(key, Isolated):
        return key._key.decrypt_tokens(column, ttl, on_error, text)
    return (key if isinstance(key, Fernet) else Fernet(key))._key.decrypt(column, ttl, on_error, text)


def _gcm_siv(key: Union[bytes, Isolated]):
    if isinstance(key, Isolated):
        if key.algorithm != "aes-gcm-siv":
            raise ValueError('the isolated key is for %s: make it with algorithm="aes-gcm-siv"' % key.algorithm)
        return key._key
    return Aead(key, "aes-gcm-siv")._key


def _aead(key: Union[bytes, Aead, Isolated]) -> Union[Aead, Isolated]:
    if isinstance(key, Isolated):
        return _of(key, deterministic=False)
    return key if isinstance(key, Aead) else Aead(key)


_Either = TypeVar("_Either", Keyset, Isolated)


def _of(key: _Either, deterministic: bool) -> _Either:
    if key.deterministic != deterministic:
        raise ValueError("a key or keyset of AES-SIV is for siv_seal and siv_open, and any other for seal and open")
    return key


def _siv(key: Union[bytes, Siv]) -> Siv:
    return key if isinstance(key, Siv) else Siv(key)


def _list(values: Iterable[Optional[bytes]]) -> List[Optional[bytes]]:
    return values if isinstance(values, list) else list(values)


def _digest_named(name: str, hash: str) -> Any:
    def of(column: Column, *, encoding: str = "binary") -> Result:
        return _millstream.digest(hash, column, encoding)

    of.__name__ = of.__qualname__ = name
    of.__doc__ = f"Return the {hash} digest of every value: see :func:`digest`."
    return of


def _hmac_named(name: str, hash: str) -> Any:
    def of(column: Column, key: bytes, *, encoding: str = "binary") -> Result:
        return Hmac(key, hash).sign(column, encoding=encoding)

    of.__name__ = of.__qualname__ = name
    of.__doc__ = f"Return the HMAC of every value with {hash}: see :func:`hmac`."
    return of


md5 = _digest_named("md5", "md5")
sha1 = _digest_named("sha1", "sha1")
sha224 = _digest_named("sha224", "sha224")
sha256 = _digest_named("sha256", "sha256")
sha384 = _digest_named("sha384", "sha384")
sha512 = _digest_named("sha512", "sha512")
sha512_256 = _digest_named("sha512_256", "sha512-256")
sha3_224 = _digest_named("sha3_224", "sha3-224")
sha3_256 = _digest_named("sha3_256", "sha3-256")
sha3_384 = _digest_named("sha3_384", "sha3-384")
sha3_512 = _digest_named("sha3_512", "sha3-512")
hmac_md5 = _hmac_named("hmac_md5", "md5")
hmac_sha1 = _hmac_named("hmac_sha1", "sha1")
hmac_sha224 = _hmac_named("hmac_sha224", "sha224")
hmac_sha256 = _hmac_named("hmac_sha256", "sha256")
hmac_sha384 = _hmac_named("hmac_sha384", "sha384")
hmac_sha512 = _hmac_named("hmac_sha512", "sha512")

from .queue import Queue  # noqa: E402  (it uses the functions above)
