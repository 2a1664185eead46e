"""Payloads to and from the integers that ports carry. Amaranth's layouts say where each field is."""

from collections.abc import Mapping
from enum import Enum
from numbers import Integral
from typing import Any

from amaranth.hdl import Shape
from amaranth.lib import data


def width(shape: Any) -> int:
    """Bits of a port of this shape."""
    return Shape.cast(shape).width


def pack(shape: Any, fields: Any) -> int:
    """The integer of a layout's fields (a dict, or a sequence for an array; what is left out is 0), or of a plain shape.

    A field, and the whole, may be given packed already.

    Raises
    ------
    ValueError : a field that the layout does not have, or a value that its field does not hold.
    """
    # Amaranth's own `const` takes milliseconds for a payload of many fields, and drops bits that do not fit.
    if isinstance(fields, Integral) or not _has_fields(shape):
        return _leaf(shape, fields)
    if isinstance(fields, data.Const):
        return fields.as_bits()
    places = _places(shape)
    word = 0
    for name, value in fields.items() if isinstance(fields, Mapping) else enumerate(fields):
        if name not in places:
            raise ValueError(f"payload has a field {name!r}, known are {', '.join(map(str, places))}")
        inner, offset = places[name]
        word |= pack(inner, value) << offset
    return word


_Places = dict[str | int, tuple[Any, int]]
_KNOWN: dict[int, tuple[Any, _Places]] = {}
"""Layouts with the places of their fields, by identity: to hash or compare a layout Amaranth walks through all of it."""
KNOWN_LAYOUTS = 1024


def _places(shape: Any) -> _Places:
    """Shape and lowest bit of each field of a layout; of a plain shape its cast one."""
    known = _KNOWN.get(id(shape))
    if known is None:
        if len(_KNOWN) == KNOWN_LAYOUTS:
            _KNOWN.clear()
        # The layout is kept too, so that no other one can get its identity.
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
    value = int(value.value if isinstance(value, Enum) else value)
    lowest, end = (-1 << shape.width - 1, 1 << shape.width - 1) if shape.signed else (0, 1 << shape.width)
    if not lowest <= value < end:
        raise ValueError(f"payload is {value}, allowed are {lowest} to {end - 1}")
    return value & (1 << shape.width) - 1


def unpack(shape: Any, bits: int) -> Any:
    """The fields in an integer: a ``data.Const`` for a layout, the integer itself for a plain shape."""
    return shape.from_bits(bits) if _has_fields(shape) else bits


def _has_fields(shape: Any) -> bool:
    """Whether the shape is a layout, or a class of ``data.Struct`` or ``data.Union``, which is as good."""
    return isinstance(shape, data.Layout) or (isinstance(shape, type) and issubclass(shape, data.View))
