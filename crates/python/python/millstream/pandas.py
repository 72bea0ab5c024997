"""Series of pandas: ``millstream.pandas.apply(frame["x"], millstream.siv_seal, key)`` gives an Arrow-backed series."""

from __future__ import annotations

from typing import Any, Callable

import pandas as pd
import pyarrow as pa

__all__ = ["apply"]


def apply(series: "pd.Series", function: Callable[..., Any], *given: Any, **named: Any) -> "pd.Series":
    """Return the series that a function of :mod:`millstream` makes of another one, with the same index and name."""
    column = pa.array(series, from_pandas=True)
    result = function(column, *given, **named)
    array = pa.chunked_array(result) if hasattr(result, "__arrow_c_stream__") else pa.array(result)
    return pd.Series(pd.arrays.ArrowExtensionArray(array), index=series.index, name=series.name)
