"""The registers' bit orders as wiring. Ref: tt-isa-documentation 3930471, SrcASrcB and Dst."""

from itertools import groupby

from amaranth import Cat, Mux, Value
from amaranth.hdl import ValueLike

from bitpath.golden.spec.tensix import DST16_BF16, DST16_FP16, DST32, Segment, WordLayout

HALF = 16
"""Bits of a row of the 16-bit Dst; a 32-bit word takes one of two rows."""


def to_physical(layout: WordLayout, word: ValueLike) -> Value:
    """A logical word in the register's bit order."""
    return _reorder(word, layout.logical, layout.physical)


def from_physical(layout: WordLayout, word: ValueLike) -> Value:
    """A word in the register's bit order as a logical one."""
    return _reorder(word, layout.physical, layout.logical)


def dst_to_physical(word: ValueLike, *, dst32: ValueLike, fp16: ValueLike) -> tuple[Value, Value]:
    """A logical Dst word as the high and the low half of Dst hold it; a 16-bit word is the same in both."""
    wide = to_physical(DST32, word)
    low = Value.cast(word)[:HALF]
    narrow = Mux(fp16, to_physical(DST16_FP16, low), to_physical(DST16_BF16, low))
    return Mux(dst32, wide[HALF:], narrow), Mux(dst32, wide[:HALF], narrow)


def dst_from_physical(high: Value, low: Value, narrow: Value, *, dst32: ValueLike, fp16: ValueLike) -> Value:
    """A logical Dst word: of 32 bits from both halves, or the 16-bit word ``narrow``."""
    return Mux(
        dst32,
        from_physical(DST32, Cat(low, high)),
        Mux(fp16, from_physical(DST16_FP16, narrow), from_physical(DST16_BF16, narrow)),
    )


def _bits(segments: tuple[Segment, ...]) -> list[tuple[str, int]]:
    """Field and bit at each position of a word, from bit 0 up."""
    return [(each.name, bit) for each in reversed(segments) for bit in range(each.low, each.high + 1)]


def _reorder(word: ValueLike, source: tuple[Segment, ...], target: tuple[Segment, ...]) -> Value:
    word = Value.cast(word)
    position = {bit: index for index, bit in enumerate(_bits(source))}
    positions = [position[bit] for bit in _bits(target)]
    # Neighbours stay together, so that the Verilog has slices and not single bits.
    runs = [list(run) for _, run in groupby(enumerate(positions), key=lambda pair: pair[1] - pair[0])]
    return Cat(word[run[0][1] : run[-1][1] + 1] for run in runs)
