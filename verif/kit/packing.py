"""Conversion between payload fields and the integers that ports carry, by Amaranth's layouts."""

from collections.abc import Iterable, Mapping
from enum import Enum
from numbers import Integral
from typing import Any

import numpy as np
from amaranth.hdl import Shape
from amaranth.lib import data

# Images of an engine's memories as payloads of its stream ``write``.


def image_words(image: np.ndarray, word_bytes: int) -> list[int]:
    """The words of a uint8 image, the last one filled up with zeros."""
    content = image.tobytes()
    return [int.from_bytes(content[at : at + word_bytes], "little") for at in range(0, len(content), word_bytes)]


def write_payloads(layout: data.StructLayout, memory: Enum, address: int, words: Iterable[int]) -> list[int]:
    """Payloads that write words to a memory from an address on; ``layout`` has data, address and memory."""
    # Amaranth works out a field's place each time it is asked.
    content, at, which = (layout[name].offset for name in ("data", "address", "memory"))
    place = memory.value << which
    return [word << content | address + offset << at | place for offset, word in enumerate(words)]


def width(shape: Any) -> int:
    """Return the bits of a port of this shape."""
    return Shape.cast(shape).width


def array_bits(array: np.ndarray) -> int:
    """Return an array's bytes as an integer, element 0 lowest."""
    return int.from_bytes(array.astype(array.dtype.newbyteorder("<")).tobytes(), "little")


def row_bits(rows: np.ndarray) -> list[int]:
    """Return each row of an array as an integer, element 0 lowest."""
    return [array_bits(row) for row in rows]


def pack(shape: Any, fields: Any) -> int:
    """Return the integer of a layout's fields (a dict, or a sequence for an array; default 0), or of a plain shape.

    Any field, or the whole payload, may also be given as an integer.

    Raises
    ------
    ValueError : an unknown field, or a value that does not fit its field.
    """
    # Amaranth's own `const` takes milliseconds for a payload of many fields, and drops bits that do not fit.
    if type(fields) is int or isinstance(fields, Integral) or not _has_fields(shape):
        return _leaf(shape, fields)
    if isinstance(fields, data.Const):
        return fields.as_bits()
    places = _places(shape)
    word = 0
    for name, value in fields.items() if isinstance(fields, Mapping) else enumerate(fields):
        if name not in places:
            raise ValueError(f"payload has a field {name!r}, known are {', '.join(map(str, places))}")
        inner, offset = places[name]
        # Plain shapes are cast already.
        word |= (_leaf if type(inner) is Shape else pack)(inner, value) << offset
    return word


_Places = dict[str | int, tuple[Any, int]]
_KNOWN: dict[int, tuple[Any, _Places]] = {}
"""Cache of field places by layout identity; hashing or comparing an Amaranth layout walks through all of it."""
KNOWN_LAYOUTS = 1024


def _places(shape: Any) -> _Places:
    """Return shape and lowest bit of each field of a layout, or the cast plain shape."""
    known = _KNOWN.get(id(shape))
    if known is None:
        if len(_KNOWN) == KNOWN_LAYOUTS:
            _KNOWN.clear()
        # Keep a reference to the layout, so that its identity is not reused.
        known = _KNOWN[id(shape)] = (shape, _work_out(shape))
    return known[1]


def _work_out(shape: Any) -> _Places:
    layout = data.Layout.cast(shape)
    fields = {name: (field.shape, field.offset) for name, field in layout}
    return {
        name: (inner if _has_fields(inner) else Shape.cast(inner), offset) for name, (inner, offset) in fields.items()
    }


def _leaf(shape: Any, value: Any) -> int:
    shape = Shape.cast(shape)
    if type(value) is not int:
        value = int(value.value if isinstance(value, Enum) else value)
    count = 1 << shape.width
    lowest, end = (-(count >> 1), count >> 1) if shape.signed else (0, count)
    if not lowest <= value < end:
        raise ValueError(f"payload is {value}, allowed are {lowest} to {end - 1}")
    return value & count - 1


def changed(shape: Any, bits: int, fields: Mapping[Any, Any]) -> int:
    """Return a payload with other values of some fields, which are given as `pack` takes them; those not named stay."""
    for name, value in fields.items():
        inner, offset = _places(shape)[name]
        mask = (1 << width(inner)) - 1
        own = changed(inner, bits >> offset & mask, value) if isinstance(value, Mapping) else pack(inner, value)
        bits = bits & ~(mask << offset) | own << offset
    return bits


def unpack(shape: Any, bits: int) -> Any:
    """Return the fields of an integer: a ``data.Const`` for a layout, the integer itself for a plain shape."""
    return shape.from_bits(bits) if _has_fields(shape) else bits


def _has_fields(shape: Any) -> bool:
    """Return True for a layout and for a class of ``data.Struct`` or ``data.Union``."""
    return isinstance(shape, data.Layout) or (isinstance(shape, type) and issubclass(shape, data.View))
