"""What the helpers for engines of tables have in common: the functions that a key gives, by name."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Tuple

import pyarrow as pa

from . import _millstream
from . import Aead, Fernet, Fpe, Hmac, Isolated, Keyset, Siv, digest, fernet_decrypt, fernet_encrypt, fpe_decrypt, fpe_encrypt
from . import open as aead_open
from . import seal, siv_open, siv_seal

Function = Callable[[Any], Any]


def functions(key: Any = None) -> Dict[str, Tuple[Function, "pa.DataType", "pa.DataType"]]:
    """Return the functions of one column, with the types of the column and of the result.

    The hashes need no key. ``key`` is an object with a key of this package, or several of different classes, and each gives the
    functions of its own class.
    """
    text, binary = pa.large_string(), pa.large_binary()
    found: Dict[str, Tuple[Function, pa.DataType, pa.DataType]] = {}
    for hash in _millstream.hashes():
        found[hash.replace("-", "_")] = (lambda c, h=hash: digest(c, h, encoding="hex"), text, text)
    for one in [] if key is None else list(key) if isinstance(key, (list, tuple)) else [key]:
        signs = isinstance(one, Hmac) or isinstance(one, Isolated) and one.algorithm in _millstream.hashes()
        if signs:
            new = {"hmac": (lambda c, k=one: k.sign(c, encoding="hex"), text, text)}
        elif isinstance(one, Aead) or isinstance(one, (Isolated, Keyset)) and not one.deterministic:
            new = {
                "seal": (lambda c, k=one: seal(c, k), text, binary),
                "open": (lambda c, k=one: aead_open(c, k, text=True), binary, text),
            }
        elif isinstance(one, (Siv, Isolated, Keyset)):
            # A word of a queue has associated data always.
            aad = b"" if isinstance(one, Isolated) else None
            new = {
                "siv_seal": (lambda c, k=one, a=aad: siv_seal(c, k, aad=a), text, binary),
                "siv_open": (lambda c, k=one, a=aad: siv_open(c, k, aad=a, text=True), binary, text),
            }
        elif isinstance(one, Fpe):
            new = {
                "fpe_encrypt": (lambda c, k=one: fpe_encrypt(c, k), text, text),
                "fpe_decrypt": (lambda c, k=one: fpe_decrypt(c, k), text, text),
            }
        elif isinstance(one, Fernet):
            new = {
                "fernet_encrypt": (lambda c, k=one: fernet_encrypt(c, k), text, text),
                "fernet_decrypt": (lambda c, k=one: fernet_decrypt(c, k, text=True), text, text),
            }
        else:
            raise TypeError(f"{type(one).__name__} is no key: give Hmac, Aead, Siv, Fpe, Fernet, Isolated or Keyset of millstream")
        if found.keys() & new.keys():
            raise ValueError(f"two keys of the class {type(one).__name__}: register them with different prefixes")
        found.update(new)
    return found


def arrow(result: Any, kind: Optional["pa.DataType"] = None) -> Any:
    """Return a result as PyArrow's array, of a type if one is given."""
    array = pa.chunked_array(result) if hasattr(result, "__arrow_c_stream__") else pa.array(result)
    return array if kind is None or array.type == kind else array.cast(kind)


def calling(function: Function, kind: Optional["pa.DataType"] = None) -> Function:
    """Return a function of one column alone, as engines want it, whose result is PyArrow's array, of a type if one is given."""

    def call(column: Any) -> Any:
        # An array alone costs less to hand over than a stream of one.
        alone = isinstance(column, pa.ChunkedArray) and column.num_chunks == 1
        return arrow(function(column.chunk(0) if alone else column), kind)

    return call


RANDOM = ("seal", "fernet_encrypt")
"""The functions that return something else on each call."""
