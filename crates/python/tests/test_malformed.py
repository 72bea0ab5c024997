"""Structures of the C data interface that are wrong are errors, and never a crash: they are made here by ctypes."""

import ctypes as c
import os
import random

import pytest

import millstream


class Schema(c.Structure):
    pass


class Array(c.Structure):
    pass


Release = c.CFUNCTYPE(None, c.c_void_p)
Schema._fields_ = [
    ("format", c.c_char_p), ("name", c.c_char_p), ("metadata", c.c_char_p), ("flags", c.c_int64), ("n_children", c.c_int64),
    ("children", c.c_void_p), ("dictionary", c.POINTER(Schema)), ("release", Release), ("private_data", c.c_void_p),
]
Array._fields_ = [
    ("length", c.c_int64), ("null_count", c.c_int64), ("offset", c.c_int64), ("n_buffers", c.c_int64), ("n_children", c.c_int64),
    ("buffers", c.POINTER(c.c_void_p)), ("children", c.c_void_p), ("dictionary", c.POINTER(Array)), ("release", Release),
    ("private_data", c.c_void_p),
]


@Release
def release_schema(pointer):
    Schema.from_address(pointer).release = Release()


@Release
def release_array(pointer):
    Array.from_address(pointer).release = Release()


new = c.pythonapi.PyCapsule_New
new.restype, new.argtypes = c.py_object, [c.c_void_p, c.c_char_p, c.c_void_p]


class Column:
    """A column whose structures a test may change. It keeps all memory alive."""

    def __init__(self, format=b"u", length=3, buffers=(None, [0, 1, 3, 6], b"abbccc"), dictionary=None):
        self.schema = Schema(format=format, release=release_schema)
        self.kept = [self.buffer(format, buffer) for buffer in buffers]
        self.list = (c.c_void_p * max(1, len(buffers)))(*[None if kept is None else c.addressof(kept) for kept in self.kept])
        self.array = Array(
            length=length, n_buffers=len(buffers), buffers=c.cast(self.list, c.POINTER(c.c_void_p)), release=release_array
        )
        if dictionary is not None:
            self.dictionary = dictionary
            self.schema.dictionary, self.array.dictionary = c.pointer(dictionary.schema), c.pointer(dictionary.array)

    def buffer(self, format, values):
        if values is None:
            return None
        if isinstance(values, bytes):
            return c.create_string_buffer(values, len(values) + 64)
        kind = c.c_int64 if format in (b"U", b"Z", b"l", b"vu", b"vz") else c.c_int32
        return (kind * (len(values) + 16))(*values)

    def __arrow_c_array__(self, requested_schema=None):
        return new(c.addressof(self.schema), b"arrow_schema", None), new(c.addressof(self.array), b"arrow_array", None)


def test_the_structures_are_right_before_they_are_changed():
    assert millstream.sha256(Column()).to_list() == millstream.sha256([b"a", b"bb", b"ccc"]).to_list()
    places = Column(b"i", 3, (None, [2, 0, 2]), Column())
    assert pa_values(millstream.sha256(places)) == millstream.sha256([b"ccc", b"a", b"ccc"]).to_list()


def pa_values(result):
    import pyarrow as pa

    return pa.array(result).to_pylist()


@pytest.mark.parametrize("field, value", [
    ("length", -1), ("length", -(2**63)), ("length", 2**63 - 1), ("length", 2**61), ("offset", -1), ("offset", 2**63 - 1),
    ("null_count", -2), ("null_count", 4), ("null_count", 1), ("n_buffers", 0), ("n_buffers", -1), ("n_buffers", 2), ("n_buffers", 4),
    ("n_children", 1), ("buffers", None), ("release", Release()),
])
def test_fields_that_are_wrong_are_refused(field, value):
    column = Column()
    setattr(column.array, field, value)
    with pytest.raises(ValueError, match="not well formed"):
        millstream.sha256(column)


@pytest.mark.parametrize("offsets", [[-1, 1, 3, 6], [0, 3, 1, 6], [0, 1, 3, -6], [0, 1, 2**31 - 1, 6], [5, 1, 3, 6]])
def test_offsets_that_are_wrong_are_refused(offsets):
    for format in [b"u", b"z", b"U", b"Z"]:
        with pytest.raises(ValueError, match="not well formed"):
            millstream.sha256(Column(format, buffers=(None, offsets, b"abbccc")))


def test_buffers_and_bytes_that_are_wrong_are_refused():
    for buffers in [(None, None, b"abbccc"), (None, [0, 1, 3, 6], None), (None, [0, 1, 3, 6], b"ab\xff\xffcc")]:
        with pytest.raises(ValueError, match="not well formed"):
            millstream.sha256(Column(buffers=buffers))


@pytest.mark.parametrize("format", [b"w:-1", b"w:", b"w:99999999999999", b"w:x", b"", b"n", b"i", b"+s", b"tdD", b"u" * 40, b"\xff", None])
def test_formats_that_are_wrong_are_refused(format):
    column = Column()
    column.schema.format = format
    with pytest.raises(ValueError, match="not well formed"):
        millstream.sha256(column)


def test_dictionaries_that_are_wrong_are_refused():
    for places in [[3, 0, 0], [-1, 0, 0], [0, 2**31 - 1, 0]]:
        with pytest.raises(ValueError, match="not well formed"):
            millstream.sha256(Column(b"i", 3, (None, places), Column()))
    inner = Column()
    inner.array.length = -5
    with pytest.raises(ValueError, match="not well formed"):
        millstream.sha256(Column(b"i", 3, (None, [0, 1, 2]), inner))
    for half in ["schema", "array"]:
        column = Column(b"i", 3, (None, [0, 1, 2]), Column())
        setattr(getattr(column, half), "dictionary", None)
        with pytest.raises(ValueError, match="not well formed"):
            millstream.sha256(column)
    with pytest.raises(ValueError, match="not well formed"):
        millstream.sha256(Column(b"i", 3, (None, [0, 1, 2]), Column(b"i", 3, (None, [0, 1, 2]), Column())))


def test_capsules_that_are_wrong_are_refused():
    class Wrong:
        def __init__(self, pair):
            self.pair = pair

        def __arrow_c_array__(self, requested_schema=None):
            return self.pair

    column = Column()
    schema, array = column.__arrow_c_array__()
    for pair in [(array, schema), (schema, schema), (1, 2), (), None, (schema,)]:
        with pytest.raises((ValueError, TypeError)):
            millstream.sha256(Wrong(pair))


def test_random_small_changes_never_crash():
    """Fields and offsets with small wrong values: each is an error, or a result, and the process lives."""
    rng = random.Random(int(os.environ.get("MILLSTREAM_TEST_SEED", "7")))
    refused = 0
    for _ in range(3000):
        format = rng.choice([b"u", b"z", b"U", b"Z", b"w:2", b"vu", b"vz", b"i"])
        offsets = sorted(rng.randrange(7) for _ in range(4)) if rng.random() < 0.5 else [rng.randrange(-3, 9) for _ in range(4)]
        if format in (b"vu", b"vz"):
            # Views of sixteen bytes: lengths, prefixes, buffers and offsets are small.
            views = b"".join(rng.randrange(-2, 20).to_bytes(4, "little", signed=True) + rng.choice([bytes(12), os.urandom(12)]) for _ in range(3))
            column = Column(format, 3, (None, views, b"x" * 64, [64]))
        elif format == b"i":
            column = Column(b"i", 3, (None, offsets), Column() if rng.random() < 0.9 else None)
        elif format == b"w:2":
            column = Column(format, 3, (None, b"aabbcc"))
        else:
            column = Column(format, 3, (None, offsets, b"abbccc" * 2))
        if rng.random() < 0.5:
            field = rng.choice(["length", "null_count", "offset", "n_buffers", "n_children"])
            setattr(column.array, field, rng.choice([-1, -(2**63), 2**63 - 1, 0, 1]))
        try:
            millstream.siv_seal(column, bytes(64))
        except (ValueError, TypeError):
            refused += 1
    assert 500 < refused < 3000
