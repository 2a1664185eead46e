"""Widths of the FIFOs, and masks of their lowest bytes."""

from amaranth import Cat, Value

from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS, FIFO_BYTES, LINE_BYTES

LINE_BITS, FIFO_BITS = 8 * LINE_BYTES, 8 * FIFO_BYTES
PLACE_BITS = LINE_BYTES.bit_length() - 1
"""Bits of a byte's place in its line."""
COUNT = range(FIFO_BYTES + 1)
"""Bytes that a FIFO holds, and bytes of an element."""


def lowest_bytes(count: Value, width: int = FIFO_BYTES) -> Value:
    """Ones in the lowest ``count`` of ``width`` bytes."""
    return Cat((count > byte).replicate(8) for byte in range(width))


def next_line(pointer: Value) -> Value:
    """The line behind the pointer's."""
    return ((pointer[PLACE_BITS:] + 1) << PLACE_BITS)[:ADDRESS_BITS]
