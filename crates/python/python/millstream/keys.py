"""Keys by name, so that a job carries names and each machine of a cluster reads its own file.

A name is a file below the folder that the environment variable ``MILLSTREAM_KEYS`` names, ``/etc/millstream/keys`` by default. The file
holds the key's bytes and nothing else, and only its owner may read it.
"""

from __future__ import annotations

import os
import re
from typing import Any, Optional

__all__ = ["load", "made"]


def made(kind: str, name: str, alphabet: Optional[str] = None) -> Any:
    """Return the key of a class of :mod:`millstream`, from its file; an ``Isolated`` is attached to, and has no file. ``alphabet`` is for
    the class ``Fpe``, and makes an ``Isolated`` one of FF1."""
    import millstream

    if kind == "Isolated" and alphabet is not None:
        return millstream.Isolated(name, algorithm="aes-ff1", alphabet=alphabet)
    if kind == "Isolated":
        return millstream.Isolated(name)
    return getattr(millstream, kind)(load(name), *([] if alphabet is None else [alphabet]))


def load(name: str) -> bytes:
    """Return the key of that name on this machine.

    Raise ``ValueError`` for a name that is no plain file name and for a file that others may read, and ``OSError`` without a file.
    """
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name):
        raise ValueError(f"{name!r} is no name of a key: letters, digits, '_', '.' and '-' are")
    path = os.path.join(os.environ.get("MILLSTREAM_KEYS", "/etc/millstream/keys"), name)
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_mode & 0o077:
            raise ValueError(f"others than its owner may use the key file {path}: chmod 600 {path}")
        return file.read()
