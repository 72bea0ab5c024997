"""Expressions of Polars: after ``import millstream.polars``, ``pl.col("x").millstream.hmac_sha256(key)``."""

from __future__ import annotations

from typing import Any, Callable

import polars as pl

import millstream as _ms

__all__ = ["Expressions"]


@pl.api.register_expr_namespace("millstream")
class Expressions:
    """The functions of :mod:`millstream` on an expression of text or binary. Parameters are as there, and are constants."""

    def __init__(self, expression: pl.Expr) -> None:
        self._expression = expression

    def _map(self, kind: Any, function: Callable[..., Any], *given: Any, **named: Any) -> pl.Expr:
        def call(series: pl.Series) -> pl.Series:
            # Fixed-size binary is no type of Polars; its import makes binary of it.
            return pl.Series(series.name, function(series, *given, **named))

        return self._expression.map_batches(call, return_dtype=kind)

    def digest(self, hash: str, *, encoding: str = "binary") -> pl.Expr:
        """The digests: see :func:`millstream.digest`."""
        return self._map(_kind(encoding), _ms.digest, hash, encoding=encoding)

    def sha256(self, *, encoding: str = "binary") -> pl.Expr:
        """The SHA-256 digests."""
        return self.digest("sha256", encoding=encoding)

    def hmac(self, key: Any, hash: str = "sha256", *, encoding: str = "binary") -> pl.Expr:
        """The HMACs: see :func:`millstream.hmac`."""
        return self._map(_kind(encoding), _ms.hmac, key, hash, encoding=encoding)

    def hmac_sha256(self, key: Any, *, encoding: str = "binary") -> pl.Expr:
        """The HMACs with SHA-256."""
        return self.hmac(key, "sha256", encoding=encoding)

    def seal(self, key: Any, *, aad: Any = None, encoding: str = "binary") -> pl.Expr:
        """The values sealed: see :func:`millstream.seal`."""
        return self._map(_kind(encoding), _ms.seal, key, aad=aad, encoding=encoding)

    def open(self, key: Any, *, aad: Any = None, on_error: str = "raise", text: bool = False) -> pl.Expr:
        """The values opened: see :func:`millstream.open`."""
        return self._map(_opened(text), _ms.open, key, aad=aad, on_error=on_error, text=text)

    def siv_seal(self, key: Any, *, aad: Any = None, encoding: str = "binary") -> pl.Expr:
        """The values sealed deterministically: see :func:`millstream.siv_seal`."""
        return self._map(_kind(encoding), _ms.siv_seal, key, aad=aad, encoding=encoding)

    def siv_open(self, key: Any, *, aad: Any = None, on_error: str = "raise", text: bool = False) -> pl.Expr:
        """The values opened: see :func:`millstream.siv_open`."""
        return self._map(_opened(text), _ms.siv_open, key, aad=aad, on_error=on_error, text=text)

    def fpe_encrypt(self, key: Any, *, tweak: Any = None) -> pl.Expr:
        """The texts encrypted with their format kept: see :func:`millstream.fpe_encrypt`."""
        return self._map(pl.String, _ms.fpe_encrypt, key, tweak=tweak)

    def fpe_decrypt(self, key: Any, *, tweak: Any = None) -> pl.Expr:
        """The texts decrypted: see :func:`millstream.fpe_decrypt`."""
        return self._map(pl.String, _ms.fpe_decrypt, key, tweak=tweak)


def _kind(encoding: str) -> Any:
    return pl.Binary if encoding == "binary" else pl.String


def _opened(text: bool) -> Any:
    return pl.String if text else pl.Binary
