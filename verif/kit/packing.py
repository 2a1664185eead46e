"""Payloads to and from the integers that ports carry. Amaranth's layouts do it; nothing is packed by hand."""

from typing import Any

from amaranth.hdl import Shape
from amaranth.lib import data


def width(shape: Any) -> int:
    """Bits of a port of this shape."""
    return Shape.cast(shape).width


def pack(shape: Any, fields: Any) -> int:
    """The integer of a layout's fields (a dict, or a list for an array); an integer, for a plain shape, is checked."""
    if _has_fields(shape):
        return shape.const(fields).as_bits()
    if not 0 <= fields < 1 << width(shape):
        raise ValueError(f"payload is {fields}, allowed are 0 to {(1 << width(shape)) - 1}")
    return fields


def unpack(shape: Any, bits: int) -> Any:
    """The fields in an integer: a ``data.Const`` for a layout, the integer itself for a plain shape."""
    return shape.from_bits(bits) if _has_fields(shape) else bits


def _has_fields(shape: Any) -> bool:
    """Whether the shape is a layout, or a class of ``data.Struct`` or ``data.Union``, which is as good."""
    return isinstance(shape, data.Layout) or (isinstance(shape, type) and issubclass(shape, data.View))
