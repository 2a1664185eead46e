"""Widths of the FIFOs, masks of their lowest bytes, and moves by any number of bytes."""

from amaranth import Cat, Module, Mux, Signal, Value

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


def moved(m: Module, name: str, data: Value, count: Value, *, up: bool = False) -> Signal:
    """``data`` moved down by ``count`` bytes, or up within its width: a multiplexer for each bit of the count.

    One shift by an unknown number would connect every bit of the result with every bit of the data, and Amaranth follows each
    of these connections when it looks for combinational loops.
    """
    for place, bit in enumerate(count):
        bits = 8 << place
        step = Signal(len(data), name=f"{name}_{1 << place}")
        m.d.comb += step.eq(Mux(bit, data.shift_left(bits) if up else data.shift_right(bits), data))
        data = step
    return data
