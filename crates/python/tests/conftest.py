"""Columns for the tests."""

import pyarrow as pa
import pytest

WORDS = [None if i % 7 == 3 else f"value {i % 50}" + "x" * (i % 30) for i in range(1000)]


def kinds():
    """The same words in each of Arrow's layouts, plain, sliced, in chunks and as a dictionary."""
    bytes_ = [None if word is None else word.encode() for word in WORDS]
    for kind in [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()]:
        words = WORDS if "string" in str(kind) else bytes_
        yield str(kind), pa.array(words, kind)
        longer = pa.array(words[:3] + words + words[:2], kind)
        yield f"slice of {kind}", longer.slice(3, len(words))
        yield f"chunks of {kind}", pa.chunked_array([pa.array(words[:400], kind), pa.array(words[400:], kind)])
    yield "dictionary", pa.array(WORDS).dictionary_encode()
    yield "chunks of dictionary", pa.chunked_array([pa.array(WORDS[:400]), pa.array(WORDS[400:])]).dictionary_encode()


@pytest.fixture(params=list(kinds()), ids=lambda pair: pair[0])
def column(request):
    return request.param[1]


def listed(result):
    """The values of a result, as PyArrow reads them."""
    array = pa.chunked_array(result) if hasattr(result, "__arrow_c_stream__") else pa.array(result)
    array.validate(full=True)
    return array.to_pylist()
