"""Parquet's modular encryption with PyArrow: KMS clients whose key-encryption keys are files of this machine, or stay in the service.

``pyarrow.parquet.encryption.CryptoFactory(millstream.parquet.client)``: the names of master keys are those of :mod:`millstream.keys`. With
``millstream.parquet.isolated_client`` they are those of :class:`millstream.Isolated`, and a worker of the service wraps and unwraps.
"""

from __future__ import annotations

import base64
from typing import Any, Dict, Union

import pyarrow.parquet.encryption as pe

from . import Aead, Isolated, keys

__all__ = ["IsolatedKmsClient", "KmsClient", "client", "isolated_client"]


class KmsClient(pe.KmsClient):
    """Wraps data keys with AES-GCM under a key by name. The name is bound to what is wrapped."""

    def __init__(self, config: Any = None) -> None:
        pe.KmsClient.__init__(self)

    def _master(self, name: str) -> Union[Aead, Isolated]:
        return Aead(keys.load(name))

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> str:
        """Return a data key wrapped, in base64."""
        aad = b"parquet:" + master_key_identifier.encode()
        return base64.b64encode(self._master(master_key_identifier).seal(key_bytes, aad)).decode("ascii")

    def unwrap_key(self, wrapped_key: str, master_key_identifier: str) -> bytes:
        """Return a data key. Raise :class:`millstream.AuthenticationError` if it was not wrapped under this name."""
        aad = b"parquet:" + master_key_identifier.encode()
        return self._master(master_key_identifier).open(base64.b64decode(wrapped_key), aad)


class IsolatedKmsClient(KmsClient):
    """The same under keys of kind ``aes`` of the service's tokens, which this process never has.

    ``kms_instance_url`` of the connection is the service's socket, where it is not the usual one, and ``pin_file`` in
    ``custom_kms_conf`` the file of the PIN, where that is not the one of ``MILLSTREAM_PIN_FILE``.
    """

    def __init__(self, config: Any = None) -> None:
        KmsClient.__init__(self, config)
        conf = dict(getattr(config, "custom_kms_conf", None) or {})
        self._pin_file = conf.get("pin_file")
        self._socket = getattr(config, "kms_instance_url", None) or None
        self._attached: Dict[str, Isolated] = {}

    def _master(self, name: str) -> Union[Aead, Isolated]:
        if name not in self._attached:
            self._attached[name] = Isolated(name, pin_file=self._pin_file, socket=self._socket)
        return self._attached[name]


def client(config: Any) -> KmsClient:
    """Return the client of keys in files, as PyArrow's ``CryptoFactory`` asks for it."""
    return KmsClient(config)


def isolated_client(config: Any) -> IsolatedKmsClient:
    """Return the client of keys in the service, as PyArrow's ``CryptoFactory`` asks for it."""
    return IsolatedKmsClient(config)
