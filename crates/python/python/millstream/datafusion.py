"""Functions in DataFusion's SQL: ``millstream.datafusion.register(ctx, key=millstream.Siv(key))``."""

from __future__ import annotations

from typing import Any, List

from ._tables import RANDOM, calling, functions

__all__ = ["register"]


def register(ctx: Any, key: Any = None, *, prefix: str = "ms_") -> List[str]:
    """Register the functions of :func:`millstream.duckdb.register` with a session context; return their names."""
    from datafusion import udf

    names = []
    for name, (function, given, kind) in functions(key).items():
        volatility = "volatile" if name in RANDOM else "immutable"
        ctx.register_udf(udf(calling(function, kind), [given], kind, volatility, name=prefix + name))
        names.append(prefix + name)
    return names
