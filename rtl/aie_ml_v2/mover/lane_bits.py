"""Bits at the bytes of a 32-bit group whose lanes have 8, 16 or 32 bits."""

from collections.abc import Callable

from amaranth import Cat, Mux, Value

from bitpath.rtl.aie_ml_v2.mover.layouts import LaneWidth

GROUP_BYTES = 4
"""Bytes of a group, as many as the widest lane has."""


def bytes_of(side: Value, function: Callable[[Value], Value]) -> Value:
    """Return a function's bit of each byte."""
    return Cat(function(side.word_select(k, 8)) for k in range(GROUP_BYTES))


def of_lanes(width: Value, bits: Value) -> Value:
    """Return at each byte the bit of its lane's highest byte."""
    pairs = bits[1].replicate(2), bits[3].replicate(2)
    return by_width(width, bits, Cat(pairs), bits[-1].replicate(GROUP_BYTES))


def whole_lanes(width: Value, bits: Value) -> Value:
    """Return at each byte 1 if all bits of its lane are."""
    pairs = bits[:2].all().replicate(2), bits[2:].all().replicate(2)
    return by_width(width, bits, Cat(pairs), bits.all().replicate(GROUP_BYTES))


def by_width(width: Value, of_8: Value, of_16: Value, of_32: Value) -> Value:
    """Return the value that belongs to the lanes' width."""
    return Mux(width == LaneWidth.W8, of_8, Mux(width == LaneWidth.W16, of_16, of_32))


def spread(bits: Value) -> Value:
    """Return eight copies of each bit."""
    return Cat(bit.replicate(8) for bit in bits)
