"""Arrays that are one word in Verilog and in waves if they are long."""

from typing import Any

from amaranth import Format, Value
from amaranth.lib import data

NAMED_ELEMENTS = 16
"""Longest array whose elements are separate wires, which a wave shows in their number format."""


class _Unnamed(data.ArrayLayout):
    """An array without named elements in Verilog, where 128 by 128 names would outweigh the logic."""

    def format(self, value: Any, format_spec: str) -> Format:
        return Format("{}", Value.cast(value))


def wide_array(shape: Any, length: int) -> data.ArrayLayout:
    """Return ``ArrayLayout(shape, length)`` whose elements have names in Verilog up to NAMED_ELEMENTS."""
    return (data.ArrayLayout if length <= NAMED_ELEMENTS else _Unnamed)(shape, length)
