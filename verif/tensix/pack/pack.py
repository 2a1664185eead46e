"""Rows for the packer, with the results of golden."""

from collections import defaultdict
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

import numpy as np

from bitpath.golden.formats.catalogue import BF16, FP16, FP32, FloatFormat
from bitpath.golden.tensix import pack as golden_pack
from bitpath.golden.tensix.convert.formats import EARLY_FORMATS, INTEGERS
from bitpath.golden.tensix.convert.pack import ACCUMULATING_FORMATS, FLOAT_OUTPUTS
from bitpath.golden.tensix.convert.unpack import L1_BYTES
from bitpath.golden.tensix.declarations.formats import (
    BLOCK,
    BLOCK_FLOATS,
    COLUMNS,
    EXPONENT5_FORMATS,
    Format,
    Style,
)
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.tensix.pack.layouts import PackedRow, PackRequest
from bitpath.rtl.tensix.unpack.layouts import ROW_BITS
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.values import Integer, Word, codes_text
from bitpath.verif.tensix.dot.numbers import INT32, dst_number, l1_number
from bitpath.verif.tensix.dot.words import row_bits

EXPONENT_STREAM = 16
"""Alignment in bytes of block exponents in L1."""
ALL_COLUMNS = (1 << COLUMNS) - 1
"""Edge mask that replaces no column."""
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
        """Whether BF16 words of Dst are narrowed to FP16, Blackhole's rounding to 10 bits."""
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
    """A request to the packer: ``old`` are the datums in L1, and ``edge_mask`` has a 1 for each unmasked column."""

    packing: Packing
    words: tuple[int, ...]
    old: tuple[int, ...] = (0,) * BLOCK
    edge_mask: int = ALL_COLUMNS

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
        return pack(PackRequest, {"row": words, "old": old, "masked": self.edge_mask ^ ALL_COLUMNS, "control": control})

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
    groups: dict[Packing, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        groups[row.packing].append(index)
    results: dict[int, Packed] = {}
    for packing, indices in groups.items():
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
    return golden_pack(
        np.array([row.words for row in rows], np.uint32),
        **packing.arguments,
        l1=np.frombuffer(old, np.uint8) if packing.accumulate else None,
        edge_mask=np.array([row.edge_mask for row in rows]),
        numerics=numerics,
    ).tobytes()
