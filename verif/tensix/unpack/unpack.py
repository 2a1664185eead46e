"""Rows for the unpacker, with the results of golden."""

from collections import defaultdict
from dataclasses import dataclass
from random import Random

import numpy as np

from bitpath.golden.formats.catalogue import FP16, FP32
from bitpath.golden.tensix import unpack
from bitpath.golden.tensix.convert.unpack import CONVERSIONS, L1_BYTES
from bitpath.golden.tensix.declarations.formats import BLOCK, BLOCK_FLOATS, EXPONENT5_FORMATS, Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.tensix.dot.layouts import DstRow
from bitpath.rtl.tensix.unpack.layouts import UnpackRequest
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.values import Integer, code_text
from bitpath.verif.tensix.dot.numbers import INT32, l1_number, source_number
from bitpath.verif.tensix.dot.words import float_code, integer, row_bits

EXPONENT_STREAM = 16
"""Alignment in bytes of block exponents in L1."""


@dataclass(frozen=True)
class Conversion:
    """An L1 format and a register format; ``unsigned`` applies to INT8 in L1."""

    l1_format: Format
    register_format: Format
    unsigned: bool = False

    @property
    def bin(self) -> str:
        return f"{self.l1_format.name}/{self.register_format.name}{'/unsigned' * self.unsigned}"

    @property
    def datum_bits(self) -> int:
        block = BLOCK_FLOATS.get(self.l1_format)
        return 8 * L1_BYTES[self.l1_format] if block is None else block.datum_bits

    @property
    def exponents(self) -> range:
        """Return the legal exponents of a block."""
        block = BLOCK_FLOATS.get(self.l1_format)
        return range(1) if block is None else range(1 << block.exponent_bits)


ALL_CONVERSIONS = tuple(
    Conversion(l1_format, register_format, unsigned)
    for l1_format, register_formats in CONVERSIONS.items()
    for register_format in register_formats
    for unsigned in ((False, True) if l1_format is Format.INT8 else (False,))
)


@dataclass(frozen=True)
class UnpackRow:
    """One row of an L1 format to convert."""

    conversion: Conversion
    datums: tuple[int, ...]
    exponent: int = 0

    @property
    def bits(self) -> int:
        return row_bits(self.datums, self.conversion.datum_bits)

    def payload(self, junk: Random) -> int:
        """Return the payload; bits outside the row are random."""
        conversion = self.conversion
        used = BLOCK * conversion.datum_bits
        above = junk.getrandbits(UnpackRequest.as_shape().members["datums"] - used) << used if used < 512 else 0
        return pack(
            UnpackRequest,
            {
                "datums": self.bits | above,
                "exponent": self.exponent if conversion.l1_format in BLOCK_FLOATS else junk.getrandbits(8),
                "control": {
                    "l1_format": conversion.l1_format,
                    "register_format": conversion.register_format,
                    "unsigned": conversion.unsigned,
                },
            },
        )

    def shown(self, lane: str) -> Shown:
        """Return the datum that differs, and the formats."""
        conversion, lane = self.conversion, int(lane or 0)
        fmt, register = conversion.l1_format, conversion.register_format
        operands = {
            "formats": f"{fmt.name} in L1 to {register.name}{', unsigned' * conversion.unsigned}",
            "datum": code_text(l1_number(fmt, unsigned=conversion.unsigned), self.datums[lane]),
        }
        operands |= {"exponent": code_text(Integer(8, signed=False), self.exponent)} if fmt in BLOCK_FLOATS else {}
        words = {Format.FP32: FP32, Format.INT32: INT32}.get(register) or source_number(register)
        return Shown(operands=operands, formats={"": words})


def expected(rows: list[UnpackRow], numerics: TensixNumerics) -> list[int]:
    """Return the output of each row; golden converts all rows of a pair of formats together."""
    groups: dict[Conversion, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        groups[row.conversion].append(index)
    results = [0] * len(rows)
    for conversion, indices in groups.items():
        words = unpack(
            l1_bytes(conversion, [rows[index] for index in indices]),
            conversion.l1_format,
            conversion.register_format,
            unsigned=conversion.unsigned,
            count=BLOCK * len(indices),
            numerics=numerics,
        )
        for index, row in zip(indices, words.reshape(-1, BLOCK).tolist(), strict=True):
            results[index] = pack(DstRow, row)
    return results


def l1_bytes(conversion: Conversion, rows: list[UnpackRow]) -> np.ndarray:
    """Return consecutive rows as bytes of L1, after the exponents of block floats."""
    stream = b""
    if conversion.l1_format in BLOCK_FLOATS:
        stream = bytes(row.exponent for row in rows)
        stream += bytes(-len(stream) % EXPONENT_STREAM)
    size = BLOCK * conversion.datum_bits // 8
    return np.frombuffer(stream + b"".join(row.bits.to_bytes(size, "little") for row in rows), np.uint8)


def every_row(conversion: Conversion) -> list[UnpackRow]:
    """Return every datum of at most 16 bits under every legal exponent of a block."""
    codes = range(1 << conversion.datum_bits)
    datums = [tuple(codes[start : start + BLOCK]) for start in range(0, len(codes), BLOCK)]
    # BFP2 has only four codes.
    datums = [(row * BLOCK)[:BLOCK] for row in datums]
    return [UnpackRow(conversion, row, exponent) for exponent in conversion.exponents for row in datums]


def random_row(conversion: Conversion, rng: Random) -> UnpackRow:
    """Return a row by class of its datum format."""
    fmt, bits = conversion.l1_format, conversion.datum_bits
    if fmt in (Format.FP32, Format.TF32):
        datums = [float_code(rng, FP32) for _ in range(BLOCK)]
    elif fmt is Format.BF16:
        datums = [float_code(rng, FP32) >> bits for _ in range(BLOCK)]
    elif fmt in EXPONENT5_FORMATS and fmt not in BLOCK_FLOATS:
        datums = [float_code(rng, FP16) >> FP16.width - bits for _ in range(BLOCK)]
    elif fmt in (Format.INT32, Format.INT16):
        datums = [integer(rng, bits) for _ in range(BLOCK)]
    else:
        datums = [rng.getrandbits(bits) for _ in range(BLOCK)]
    return UnpackRow(conversion, tuple(datums), rng.choice(conversion.exponents))
