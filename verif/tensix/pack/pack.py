"""Rows for the packer, with the results of golden."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from random import Random
from typing import Any

import numpy as np

from bitpath.golden.formats.catalogue import BF16, FP16, FP32, FloatFormat
from bitpath.golden.tensix import pack as golden_pack
from bitpath.golden.tensix.convert.formats import EARLY_FORMATS, INTEGERS, exponent_stream_bytes
from bitpath.golden.tensix.convert.pack import (
    ACCUMULATING_FORMATS,
    FLOAT_OUTPUTS,
    LARGEST_DESCALE_SHIFT,
    NARROWED_OUTPUTS,
    rounds_floats,
    settled_formats,
)
from bitpath.golden.tensix.convert.unpack import L1_BYTES
from bitpath.golden.tensix.declarations.formats import (
    BLOCK,
    BLOCK_FLOATS,
    COLUMNS,
    EXPONENT5_FORMATS,
    Format,
    Style,
)
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, TensixNumerics
from bitpath.golden.tensix.exact.conversions import fp32_to_fp16
from bitpath.rtl.tensix.pack.layouts import PackedRow, PackRequest
from bitpath.rtl.tensix.sfpu.stochastic_round import RANDOM_BITS
from bitpath.rtl.tensix.unpack.layouts import ROW_BITS, ConversionConfig
from bitpath.verif.kit.batches import WORD_BITS, Batch, Part, fill, places, words_of
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.values import Integer, Word, codes_text
from bitpath.verif.kit.volume import Generator, VolumeTask
from bitpath.verif.tensix.dot.numbers import INT32, dst_number, float_code, integer, l1_number, row_bits

EXPONENT_STREAM = 16
"""Alignment in bytes of block exponents in L1."""
ALL_COLUMNS = (1 << COLUMNS) - 1
"""Edge mask that replaces no column."""
TO_RANDOM = (6, 7, 10, 19, 22)
"""Shifts that bring a word's discarded bits to the top of 23: FP32 to 6, 7 and 10 fraction bits, FP16 to 6, BF16 to 6."""
FLAGS = (
    "dst32",
    "raw",
    "unsigned",
    "accumulate",
    "edge_minus_infinity",
    "exponent_threshold",
    "descale_shift",
    "round_10b",
    "e4m3",
)


@dataclass(frozen=True)
class Packing:
    """Configuration of the packer; the fields are arguments of `golden.tensix.pack`, except ``accumulate``."""

    mid_format: Format
    out_format: Format
    dst32: bool
    raw: bool = False
    unsigned: bool = False
    relu: int = 0
    relu_threshold: int = 0
    accumulate: bool = False
    edge_minus_infinity: bool = False
    exponent_threshold: int = 0
    descale_shift: int = 0
    round_10b: bool = False
    e4m3: bool = False

    @property
    def narrows(self) -> bool:
        """Return whether BF16 words of Dst are narrowed to FP16, Blackhole's rounding to 10 bits."""
        return self.round_10b and not (self.raw or self.dst32) and self.mid_format is Format.FP16

    @property
    def source(self) -> FloatFormat:
        """Format of the words of Dst, floats."""
        if self.mid_format in EXPONENT5_FORMATS and not self.round_10b:
            return FP16
        return FP32 if self.dst32 else BF16

    @property
    def bin(self) -> str:
        """Return the name in coverage, which tells only if there are thresholds and shifts."""
        flags = [name for name in FLAGS if getattr(self, name)]
        return "/".join([self.mid_format.name, self.out_format.name, f"relu{self.relu}", *flags])

    @property
    def arguments(self) -> dict[str, Any]:
        """Return arguments of `golden.tensix.pack` without words, edge mask and L1."""
        return {name: value for name, value in asdict(self).items() if name != "accumulate"}

    @property
    def datum_bits(self) -> int:
        block = BLOCK_FLOATS.get(self.out_format)
        return 8 * L1_BYTES[self.out_format] if block is None else block.datum_bits

    @property
    def row_bytes(self) -> int:
        """Return the bytes of a row in L1, without the exponent."""
        return BLOCK * self.datum_bits // 8


def _all_packings() -> tuple[Packing, ...]:
    packings = []
    for (dst32, raw), mids in EARLY_FORMATS.items():
        for mid in mids:
            outs = (mid,) if mid in INTEGERS else FLOAT_OUTPUTS
            outs = [out for out in outs if (mid, out) != (Format.FP32, Format.TF32)]
            packings += [
                Packing(mid, out, dst32, raw, unsigned, relu, accumulate=accumulate)
                for out in outs
                for unsigned in ((False, True) if mid is Format.INT8 else (False,))
                for relu in range(2 if mid in INTEGERS else 4)
                for accumulate in ((False, True) if out in ACCUMULATING_FORMATS else (False,))
            ]
    return tuple(packings)


ALL_PACKINGS = _all_packings()
"""Every combination of formats, ReLU and accumulation that golden accepts, with all other steps off."""


@dataclass(frozen=True)
class PackRow:
    """A request to the packer: ``old`` are the datums in L1, and ``edge_mask`` has a 1 for each unmasked column.

    ``random`` are the random bits of stochastic rounding; None rounds to nearest.
    """

    packing: Packing
    words: tuple[int, ...]
    old: tuple[int, ...] = (0,) * BLOCK
    edge_mask: int = ALL_COLUMNS
    random: tuple[int, ...] | None = None

    def payload(self, junk: Random) -> int:
        """Return the payload; bits outside the row are random."""
        packing = self.packing
        old = junk.getrandbits(ROW_BITS)
        if packing.accumulate:
            used = 8 * packing.row_bytes
            old = old >> used << used | row_bits(self.old, packing.datum_bits)
        upper = [0 if packing.dst32 else junk.getrandbits(16) << 16 for _ in self.words]
        control = {name: int(value) for name, value in vars(packing).items()}
        words = [word | above for word, above in zip(self.words, upper, strict=True)]
        random = [junk.getrandbits(RANDOM_BITS) for _ in words] if self.random is None else self.random
        return pack(
            PackRequest,
            {
                "row": words,
                "old": old,
                "masked": self.edge_mask ^ ALL_COLUMNS,
                "control": control,
                "stochastic": int(self.random is not None),
                "random": random,
            },
        )

    def shown(self, path: str) -> Shown:
        """Return the datum that differs, or all of a row whose exponent does, and the configuration."""
        packing, (name, _, lane) = self.packing, path.partition(".")
        lanes = slice(int(lane), int(lane) + 1) if lane else slice(None) if name == "exponent" else slice(1)
        numbers = ("relu_threshold", "exponent_threshold", "descale_shift")
        steps = [f"{each} {getattr(packing, each):#x}" for each in numbers if getattr(packing, each)]
        steps += [f"edge mask {self.edge_mask:#06x}"] * (self.edge_mask != ALL_COLUMNS)
        style = Style.FP16 if packing.source is FP16 else Style.BF16
        number = INT32 if packing.mid_format in INTEGERS else dst_number(style, dst32=packing.dst32)
        out = l1_number(packing.out_format, unsigned=packing.unsigned)
        operands = {"conversion": ", ".join([packing.bin, *steps])}
        operands["Dst"] = codes_text(
            number if packing.dst32 else Word(16) if packing.raw else number, self.words[lanes]
        )
        operands |= {"old in L1": codes_text(out, self.old[lanes])} if packing.accumulate else {}
        operands |= {"random": codes_text(Word(RANDOM_BITS), self.random[lanes])} if self.random else {}
        return Shown(operands=operands, formats={"datums": out, "exponent": Integer(8, signed=False)})


@dataclass(frozen=True)
class Packed:
    """Result of a row: 16 datums, and the exponent of a block, else 0."""

    datums: tuple[int, ...]
    exponent: int
    datum_bits: int

    @property
    def bits(self) -> int:
        return pack(PackedRow, {"datums": row_bits(self.datums, self.datum_bits), "exponent": self.exponent})


def expected(rows: list[PackRow], numerics: TensixNumerics) -> list[Packed]:
    """Return the result of each row; golden packs all rows of one configuration together."""
    groups: dict[tuple[Packing, bool], list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        groups[row.packing, row.random is not None].append(index)
    results: dict[int, Packed] = {}
    for (packing, _), indices in groups.items():
        data = _pack(packing, [rows[index] for index in indices], numerics)
        exponents = [0] * len(indices)
        if packing.out_format in BLOCK_FLOATS:
            stream = -(-len(indices) // EXPONENT_STREAM) * EXPONENT_STREAM
            exponents, data = list(data[: len(indices)]), data[stream:]
        size, width = packing.row_bytes, packing.datum_bits
        for k, (index, exponent) in enumerate(zip(indices, exponents, strict=True)):
            row = int.from_bytes(data[k * size : (k + 1) * size], "little")
            datums = tuple(row >> width * lane & (1 << width) - 1 for lane in range(BLOCK))
            results[index] = Packed(datums, exponent, width)
    return [results[index] for index in range(len(rows))]


def _pack(packing: Packing, rows: list[PackRow], numerics: TensixNumerics) -> bytes:
    old = b"".join(row_bits(row.old, packing.datum_bits).to_bytes(packing.row_bytes, "little") for row in rows)
    names = ("dst32", "raw", "round_10b")
    options = {name: getattr(packing, name) for name in names}
    mid, narrows = settled_formats(numerics, packing.mid_format, packing.out_format, **options)
    # Conversions that round no floats take no random bits.
    stochastic = rows[0].random is not None and rounds_floats(mid, raw=packing.raw, narrows=narrows)
    return golden_pack(
        np.array([row.words for row in rows], np.uint32),
        **packing.arguments,
        l1=np.frombuffer(old, np.uint8) if packing.accumulate else None,
        edge_mask=np.array([row.edge_mask for row in rows]),
        stochastic_bits=np.array([row.random for row in rows], np.uint32) if stochastic else None,
        numerics=numerics,
    ).tobytes()


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
    """Return a row by class of its word format; a third rounds stochastically."""
    row = _nearest_row(combination, rng)
    if rng.randrange(3):
        return row
    return replace(row, random=tuple(_random_bits(rng, word) for word in row.words))


def _random_bits(rng: Random, word: int) -> int:
    """Return random bits, half of them next to a word's discarded ones."""
    if rng.getrandbits(1):
        return rng.getrandbits(RANDOM_BITS)
    return (word << rng.choice(TO_RANDOM)) + rng.randint(-1, 1) & (1 << RANDOM_BITS) - 1


def _nearest_row(combination: Combination, rng: Random) -> PackRow:
    """Return a row with thresholds near a word, and old datums that often nearly cancel."""
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


PACK, PACKED = places(PackRequest), places(PackedRow)

PACK_WORDS, PACKED_WORDS = (words_of(sum(width for _, width in layout.values())) for layout in (PACK, PACKED))
ONES = {True: 0x3C00, False: 0x3F80}
"""ReLU's threshold 1, for intermediate formats with 5 exponent bits and others."""


def _packings() -> tuple[Packing, ...]:
    """All packings of 16-bit words without an addend from L1; ReLU's threshold is 1 where it is used."""
    return tuple(
        replace(each, relu_threshold=ONES[each.mid_format in EXPONENT5_FORMATS] if each.relu > 1 else 0)
        for each in ALL_PACKINGS
        if not each.dst32 and not each.accumulate
    )


PACKINGS = _packings()
WORDS = np.arange(1 << 16, dtype=np.uint32).reshape(-1, COLUMNS)
"""Every 16-bit word of Dst."""


def packer(config: ConversionConfig, rng: Generator, block: int) -> Iterator[Batch]:
    """Every 16-bit word: in rows of neighbours, and in rows of words that have nothing to do with each other."""
    packing = PACKINGS[block]
    for name, words in (("neighbours", WORDS), ("mixed", rng.permutation(WORDS.ravel()).reshape(WORDS.shape))):
        yield _packed(config, packing, name, words)


def _packed(config: ConversionConfig, packing: Packing, name: str, words: np.ndarray) -> Batch:
    values = {field: int(value) for field, value in asdict(packing).items()}
    one = fill(1, PACK_WORDS, [(*PACK[f"control.{field}"], value) for field, value in values.items()])
    count = len(words)

    def golden() -> np.ndarray:
        data = golden_pack(words, **packing.arguments, numerics=config.numerics)
        stream = exponent_stream_bytes(words.size) if packing.out_format in BLOCK_FLOATS else 0
        rows = np.zeros((count, PACKED_WORDS), np.uint32)
        rows.view(np.uint8)[:, : packing.row_bytes] = data[stream:].reshape(count, packing.row_bytes)
        if stream:
            rows[:, PACKED["exponent"][0] // WORD_BITS] = data[:count]
        return rows

    parts = (Part(words), Part(one, np.zeros(count, np.uint32)))
    return Batch(f"{packing.bin}, {name}", parts, count, golden)


SWEEPS = (
    VolumeTask(
        name="sweep-packer",
        machine="tensix",
        unit="packer",
        what="every 16-bit Dst word in every pair of formats and ReLU mode, with neighbours and with any; 16 in a vector",
        config=lambda: ConversionConfig(numerics=WORMHOLE.numerics),
        block_vectors=2 * len(WORDS),
        blocks=len(PACKINGS),
        batches=packer,
        layout=lambda: PACK,
    ),
)
