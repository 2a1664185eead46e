"""Permutations of Dst's rows that Blackhole's configuration asks for::

      bits of a row      9 8 7 6 5 4 3     2      1 0
      remapped           9 8 7 6 3 5 4     2      1 0
      swizzled, 32 bits  9 8 7 6 5 4 4 ^ 2 3      1 0       behind the first one

Ref: tt-isa-documentation 4b35ad1, Dst of Blackhole.
"""

from amaranth import Cat, Mux, Value
from amaranth.lib import data

from bitpath.rtl.tensix.core.config_file import field_of


class RowOrder(data.Struct):
    """The permutations that apply to rows of Dst; ``swizzles`` concerns 32-bit rows alone."""

    remaps: 1
    swizzles: 1


def row_order(shared: data.View) -> Value:
    """Return the `RowOrder` of a configuration; none on Wormhole."""
    return Cat(field_of(shared, "remap_addrs"), field_of(shared, "swizzle_32b"))[: RowOrder.as_shape().size]


def ordered(row: Value, order: data.View, dst32: Value) -> Value:
    """Return a row in the order of the storage; blocks of 8 rows stay together, and blocks of 4 if swizzled."""
    remapped = Mux(order.remaps, Cat(row[:3], row[4], row[5], row[3], row[6:]), row)
    swizzled = Cat(remapped[:2], remapped[3], remapped[4] ^ remapped[2], remapped[4:])
    return Mux(order.swizzles & dst32, swizzled, remapped)
