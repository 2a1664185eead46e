"""Random rows for the packer, over every combination of formats and steps."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from random import Random

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.tensix.convert.formats import INTEGERS
from bitpath.golden.tensix.convert.pack import LARGEST_DESCALE_SHIFT, NARROWED_OUTPUTS
from bitpath.golden.tensix.declarations.formats import BLOCK, COLUMNS, Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.exact.conversions import fp32_to_fp16
from bitpath.verif.tensix.dot.words import float_code, integer
from bitpath.verif.tensix.pack.pack import ALL_COLUMNS, ALL_PACKINGS, Packing, PackRow


@dataclass(frozen=True)
class Combination:
    """A packing with a random exponent threshold unless it is 0, with or without masked columns."""

    packing: Packing
    masked: bool

    @property
    def bin(self) -> str:
        return self.packing.bin + "/masked" * self.masked


def _to_10_bits() -> Iterator[Packing]:
    """Return the packings with rounding to 10 bits: all that may become TF32, and raw ones, which it must not change."""
    for packing in ALL_PACKINGS:
        to_fp16 = packing.out_format is Format.FP16
        if packing.mid_format is Format.TF32:
            yield replace(packing, mid_format=Format.FP32, round_10b=True)
            if to_fp16:
                yield replace(packing, mid_format=Format.BF16, round_10b=True)
        elif packing.raw and (packing.mid_format is Format.FP32 or (packing.mid_format is Format.BF16 and to_fp16)):
            yield replace(packing, round_10b=True)


def _wide_int16() -> Iterator[Packing]:
    """Return INT16 from the upper half of a 32-bit Dst."""
    for relu in range(2):
        yield Packing(Format.INT16, Format.INT16, dst32=True, relu=relu)


def _fp16_to_10_bits() -> Iterator[Packing]:
    """Return FP16 from FP32 or BF16 in Dst, Blackhole's rounding to 10 bits."""
    for packing in ALL_PACKINGS:
        if packing.mid_format is Format.FP16 and not packing.raw:
            yield replace(packing, round_10b=True)
            if packing.out_format in NARROWED_OUTPUTS:
                yield replace(packing, round_10b=True, dst32=True)


def _combinations(packings: Iterable[Packing]) -> Iterator[Combination]:
    for packing in packings:
        if packing.mid_format in INTEGERS:
            shifts = packing.mid_format is Format.INT8 and not packing.raw
            variants = [replace(packing, descale_shift=shift) for shift in range(1 + shifts * LARGEST_DESCALE_SHIFT)]
        else:
            variants = [replace(packing, exponent_threshold=threshold) for threshold in (0, 1)]
        for each in variants:
            yield Combination(each, masked=False)
            yield Combination(each, masked=True)
            if packing.mid_format not in INTEGERS:
                yield Combination(replace(each, edge_minus_infinity=True), masked=True)


COMBINATIONS = tuple(_combinations((*ALL_PACKINGS, *_to_10_bits(), *_wide_int16())))
"""Every combination that golden accepts on both chips, with one packing for each shift."""


@cache
def combinations(numerics: TensixNumerics) -> tuple[Combination, ...]:
    """Return every combination that golden accepts."""
    further = tuple(_fp16_to_10_bits()) if numerics.round_10b_fp16 else ()
    if numerics.fp8_e4m3:
        further += tuple(
            replace(each, e4m3=True) for each in (*ALL_PACKINGS, *further) if each.out_format is Format.FP8
        )
    return COMBINATIONS + tuple(_combinations(further))


def random_row(combination: Combination, rng: Random) -> PackRow:
    """Return a row by class of its word format; with thresholds near a word, and old datums that often nearly cancel."""
    packing = combination.packing
    mask = _mask(rng) if combination.masked else ALL_COLUMNS
    mid = packing.mid_format
    if mid in INTEGERS:
        words = tuple(_integer(rng, packing) for _ in range(BLOCK))
        return PackRow(packing, words, edge_mask=mask)
    source = packing.source
    near = _near(rng, packing)
    words = [float_code(rng, FP32 if source is BF16 else source, near=near) for _ in range(BLOCK)]
    if source is BF16:
        words = [word >> FP32.width - BF16.width for word in words]
    compared = words
    if packing.narrows:
        source, compared = FP16, [fp32_to_fp16(word << FP32.width - BF16.width) for word in words]
    if packing.relu > 1:
        drop = 16 if packing.dst32 else 0
        threshold = (rng.choice(compared) >> drop) + rng.randint(-1, 1)
        packing = replace(packing, relu_threshold=threshold & 0x7FFF)
    if packing.exponent_threshold:
        exponent = rng.choice(compared) >> source.fraction_bits & source.exponent_mask
        threshold = rng.choice((exponent, exponent + 1, rng.getrandbits(8)))
        packing = replace(packing, exponent_threshold=min(max(threshold, 1), 255))
    old = tuple(_old(rng, packing, word) for word in words) if packing.accumulate else (0,) * BLOCK
    return PackRow(packing, tuple(words), old, mask)


def _near(rng: Random, packing: Packing) -> int:
    """Return an exponent for most words; one that is narrowed mostly has the range of FP16."""
    if packing.round_10b and packing.mid_format is Format.FP16 and rng.random() < 0.8:
        return rng.randrange(FP32.bias - FP16.bias - 2, FP32.bias + FP16.bias + 4)
    return rng.getrandbits(packing.source.exponent_bits)


def _mask(rng: Random) -> int:
    """Return random columns, the first ones, or all but one; never all."""
    column = rng.randrange(COLUMNS)
    return rng.choice((rng.getrandbits(COLUMNS), (1 << column) - 1, ALL_COLUMNS)) & ~(1 << column)


def _integer(rng: Random, packing: Packing) -> int:
    """Return an integer of Dst; with a shift, often a near tie at the clamps."""
    width = 32 if packing.dst32 else 16
    shift = packing.descale_shift
    if not shift or rng.getrandbits(1):
        return integer(rng, width)
    whole = rng.choice((rng.randint(0, 5), rng.randint(125, 129), rng.randint(253, 257)))
    magnitude = (whole << shift) + (1 << shift - 1) + rng.randint(-1, 1)
    return rng.getrandbits(1) << width - 1 | magnitude & (1 << width - 1) - 1


def _old(rng: Random, packing: Packing, word: int) -> int:
    """Return a datum of L1: random, or nearly the negative of a word in the same format."""
    code = float_code(rng, FP16 if packing.out_format is Format.FP16 else FP32)
    if packing.out_format is Format.BF16:
        code >>= 16
    width = packing.datum_bits
    if rng.getrandbits(1) or (32 if packing.dst32 else 16) < width:
        return code
    same = word >> 32 - width if packing.dst32 else word
    return same + rng.randint(-1, 1) & (1 << width) - 1 ^ 1 << width - 1
