"""Bit orders of the SrcA, SrcB and Dst registers, as wiring.

Ref: tt-isa-documentation 3930471, SrcASrcB and Dst.
"""

from itertools import groupby

from amaranth import Cat, Value
from amaranth.hdl import ValueLike

from bitpath.golden.tensix.declarations.formats import Segment, WordLayout


def to_physical(layout: WordLayout, word: ValueLike) -> Value:
    """Return a logical word in the bit order of the register."""
    return _reorder(word, layout.logical, layout.physical)


def from_physical(layout: WordLayout, word: ValueLike) -> Value:
    """Return the logical word of a word in the bit order of the register."""
    return _reorder(word, layout.physical, layout.logical)


def _bits(segments: tuple[Segment, ...]) -> list[tuple[str, int]]:
    """Return field and bit at each position of a word, from bit 0 up."""
    return [(each.name, bit) for each in reversed(segments) for bit in range(each.low, each.high + 1)]


def _reorder(word: ValueLike, source: tuple[Segment, ...], target: tuple[Segment, ...]) -> Value:
    word = Value.cast(word)
    position = {bit: index for index, bit in enumerate(_bits(source))}
    positions = [position[bit] for bit in _bits(target)]
    # Runs of adjacent bits become slices in Verilog, not single bits.
    runs = [list(run) for _, run in groupby(enumerate(positions), key=lambda pair: pair[1] - pair[0])]
    return Cat(word[run[0][1] : run[-1][1] + 1] for run in runs)
