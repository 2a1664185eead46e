"""Arrays of which the wide ones are one word in Verilog and in waves."""

from typing import Any

from amaranth import Format, Value
from amaranth.lib import data

NAMED_ELEMENTS = 16
"""Elements of an array whose names are written out: each is a wire of its own, which a wave shows in its number format."""


class _Unnamed(data.ArrayLayout):
    """An array whose elements Verilog does not name. Of 128 columns by 128 rows their names would be most of it."""

    def format(self, value: Any, format_spec: str) -> Format:
        return Format("{}", Value.cast(value))


def wide_array(shape: Any, length: int) -> data.ArrayLayout:
    """``ArrayLayout(shape, length)``; Verilog names its elements where they are few."""
    return (data.ArrayLayout if length <= NAMED_ELEMENTS else _Unnamed)(shape, length)
