"""Rows for the unpacker, with the results of golden."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from random import Random

import numpy as np

from bitpath.golden.formats.catalogue import FP16, FP32
from bitpath.golden.tensix import unpack, unpack_to_dst
from bitpath.golden.tensix.convert.formats import exponent_stream_bytes
from bitpath.golden.tensix.convert.unpack import CONVERSIONS, L1_BYTES
from bitpath.golden.tensix.declarations.formats import (
    BLOCK,
    BLOCK_FLOATS,
    COLUMNS,
    EXPONENT5_FORMATS,
    BlockFloat,
    Format,
    Style,
)
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, TensixNumerics
from bitpath.rtl.tensix.dot.layouts import DstRow
from bitpath.rtl.tensix.unpack.layouts import EXPONENT_BITS, ROW_BITS, ConversionConfig, unpack_request_layout
from bitpath.verif.kit.batches import Batch, Part, fill, places, words_of
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.values import Integer, code_text
from bitpath.verif.kit.volume import Generator, VolumeTask
from bitpath.verif.tensix.dot.numbers import INT32, dst_number, float_code, integer, l1_number, row_bits, source_number


def split_datums(block: BlockFloat, data: np.ndarray, count: int) -> np.ndarray:
    """Return `count` datums from bytes, the first in the lowest bits; int64 [count / 16, 16]."""
    shifts = np.arange(0, 8, block.datum_bits)
    datums = data.astype(np.int64)[:, np.newaxis] >> shifts & (1 << block.datum_bits) - 1
    return datums.reshape(-1)[:count].reshape(-1, BLOCK)


def join_datums(block: BlockFloat, datums: np.ndarray) -> np.ndarray:
    """Return bytes from datums; the inverse of `split_datums`."""
    shifts = np.arange(0, 8, block.datum_bits)
    return (datums.reshape(-1, len(shifts)) << shifts).sum(axis=-1).astype(np.uint8)


EXPONENT_STREAM = 16
"""Alignment in bytes of block exponents in L1."""


@dataclass(frozen=True)
class Conversion:
    """An L1 format and a register format; ``unsigned`` applies to INT8 in L1, ``e4m3`` to FP8; ``to_dst`` into Dst."""

    l1_format: Format
    register_format: Format
    unsigned: bool = False
    e4m3: bool = False
    to_dst: bool = False

    @property
    def bin(self) -> str:
        flags = [name for name in ("unsigned", "e4m3", "to_dst") if getattr(self, name)]
        return "/".join([self.l1_format.name, self.register_format.name, *flags])

    @property
    def control(self) -> dict[str, int]:
        """Return the fields of the RTL's control, which have the same names."""
        return {name: int(value) for name, value in vars(self).items()}

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


@cache
def conversions(numerics: TensixNumerics) -> tuple[Conversion, ...]:
    """Return all conversions to Src and to Dst that golden accepts."""
    to_src = ALL_CONVERSIONS
    if numerics.fp8_e4m3:
        to_src += tuple(replace(each, e4m3=True) for each in ALL_CONVERSIONS if each.l1_format is Format.FP8)
    return to_src + tuple(replace(each, to_dst=True) for each in to_src)


@dataclass(frozen=True)
class UnpackRow:
    """One row of an L1 format to convert."""

    conversion: Conversion
    datums: tuple[int, ...]
    exponent: int = 0

    @property
    def bits(self) -> int:
        return row_bits(self.datums, self.conversion.datum_bits)

    def shown(self, lane: str) -> Shown:
        """Return the datum that differs, and the formats."""
        conversion, lane = self.conversion, int(lane.partition(".")[0] or 0)
        fmt, register = conversion.l1_format, conversion.register_format
        operands = {
            "formats": conversion.bin,
            "datum": code_text(l1_number(fmt, unsigned=conversion.unsigned), self.datums[lane]),
        }
        operands |= {"exponent": code_text(Integer(8, signed=False), self.exponent)} if fmt in BLOCK_FLOATS else {}
        words = {Format.FP32: FP32, Format.INT32: INT32}.get(register)
        if words is None and conversion.to_dst:
            short = register in EXPONENT5_FORMATS or register is Format.INT8
            words = dst_number(Style.FP16 if short else Style.BF16, dst32=register is Format.TF32)
        words = words or source_number(register)
        return Shown(operands=operands, formats={"": words})


@dataclass(frozen=True)
class UnpackWord:
    """A request of consecutive rows of one conversion, to an unpacker of at most ``most`` rows."""

    rows: tuple[UnpackRow, ...]
    most: int

    @property
    def conversion(self) -> Conversion:
        return self.rows[0].conversion

    def payload(self, junk: Random) -> int:
        """Return the payload; bits behind the datums, and exponents of no row, are random."""
        conversion = self.conversion
        size = BLOCK * conversion.datum_bits
        # Rows that have room are unpacked, so a short word ends with random rows.
        datums = junk.getrandbits(ROW_BITS) >> size * len(self.rows) << size * len(self.rows)
        for place, row in enumerate(self.rows):
            datums |= row.bits << size * place
        exponents = [junk.getrandbits(EXPONENT_BITS) for _ in range(self.most)]
        if conversion.l1_format in BLOCK_FLOATS:
            exponents[: len(self.rows)] = [row.exponent for row in self.rows]
        return pack(
            unpack_request_layout(self.most),
            {
                "datums": datums,
                "exponents": exponents,
                "control": conversion.control,
            },
        )

    def shown(self, path: str) -> Shown:
        """Return the datum that differs, and the formats; a row without datums shows those of the first one."""
        row, _, lane = path.partition(".")
        place = int(row or 0)
        found = self.rows[place if place < len(self.rows) else 0].shown(lane)
        return Shown(operands={"row": f"{place} of {len(self.rows)}"} | dict(found.operands), formats=found.formats)


def rows_in_word(conversion: Conversion, most: int) -> int:
    """Return the rows that an unpacker of at most ``most`` rows takes from 64 bytes."""
    return min(most, ROW_BITS // (BLOCK * conversion.datum_bits))


def among_others(row: UnpackRow, place: int, most: int, rng: Random) -> UnpackWord:
    """Return a full word with a row at a place, modulo the rows of the word, between random ones."""
    count = rows_in_word(row.conversion, most)
    rows = [random_row(row.conversion, rng) for _ in range(count)]
    rows[place % count] = row
    return UnpackWord(tuple(rows), most)


def at_every_place(rows: list[UnpackRow], most: int) -> list[UnpackWord]:
    """Return full words in which every row of one conversion has every place once."""
    count = rows_in_word(rows[0].conversion, most)
    words = []
    for shift in range(count):
        turned = rows[shift:] + rows[:shift]
        for start in range(0, len(rows), count):
            word = (turned[start : start + count] * count)[:count]
            words.append(UnpackWord(tuple(word), most))
    return words


def expected_words(words: list[UnpackWord], numerics: TensixNumerics) -> list[int]:
    """Return the output of each request: golden's rows, and zeros in those that do not fit."""
    results = iter(expected([row for word in words for row in word.rows], numerics))
    return [sum(next(results) << ROW_BITS * place for place, _ in enumerate(word.rows)) for word in words]


def expected(rows: list[UnpackRow], numerics: TensixNumerics) -> list[int]:
    """Return the output of each row; golden converts all rows of a pair of formats together."""
    groups: dict[Conversion, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        groups[row.conversion].append(index)
    results = [0] * len(rows)
    for conversion, indices in groups.items():
        words = (unpack_to_dst if conversion.to_dst else unpack)(
            l1_bytes(conversion, [rows[index] for index in indices]),
            conversion.l1_format,
            conversion.register_format,
            unsigned=conversion.unsigned,
            e4m3=conversion.e4m3,
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


UNPACK = places(unpack_request_layout(1))
UNPACK_WORDS = words_of(sum(width for _, width in UNPACK.values()))
LONGEST = 16
"""Bits of datums all of whose codes are tried."""


def unpacker(config: ConversionConfig, rng: Generator, _: int) -> Iterator[Batch]:
    """Every datum of at most 16 bits under every exponent that a block may have, in every pair of formats."""
    for conversion in ALL_CONVERSIONS:
        if conversion.datum_bits <= LONGEST:
            yield _unpacked(config, conversion)


def _unpacked(config: ConversionConfig, conversion: Conversion) -> Batch:
    bits, exponents = conversion.datum_bits, np.array(conversion.exponents)
    # BFP2 has four codes only.
    codes = np.resize(np.arange(1 << bits), (max((1 << bits) // COLUMNS, 1), COLUMNS))
    datums, exponent = np.tile(codes, (len(exponents), 1)), np.repeat(exponents, len(codes))
    count = len(datums)
    row = fill(count, words_of(COLUMNS * bits), [(bits * k, bits, datums[:, k]) for k in range(COLUMNS)])
    fields = [(*UNPACK[f"control.{name}"], int(getattr(conversion, name))) for name in ("l1_format", "register_format")]
    fields += [(*UNPACK["control.unsigned"], int(conversion.unsigned)), (*UNPACK["exponents.0"], exponent)]
    parts = (Part(row), Part(fill(count, UNPACK_WORDS, fields)))

    def golden() -> np.ndarray:
        stream = np.zeros(0, np.uint8)
        if conversion.l1_format in BLOCK_FLOATS:
            stream = np.zeros(exponent_stream_bytes(datums.size), np.uint8)
            stream[:count] = exponent
        data = row.astype("<u4").view(np.uint8)[:, : COLUMNS * bits // 8].ravel()
        formats = conversion.l1_format, conversion.register_format
        options = {"unsigned": conversion.unsigned, "count": datums.size, "numerics": config.numerics}
        return unpack(np.concatenate([stream, data]), *formats, **options).reshape(count, COLUMNS)

    return Batch(conversion.bin, parts, count, golden)


def _unpacker_rows() -> int:
    taken = [each for each in ALL_CONVERSIONS if each.datum_bits <= LONGEST]
    return sum(len(each.exponents) * max((1 << each.datum_bits) // COLUMNS, 1) for each in taken)


SWEEPS = (
    VolumeTask(
        name="sweep-unpacker",
        machine="tensix",
        unit="unpacker",
        what="every datum of up to 16 bits, every pair of formats, every block exponent; 16 in a vector",
        config=lambda: ConversionConfig(numerics=WORMHOLE.numerics),
        block_vectors=_unpacker_rows(),
        blocks=1,
        batches=unpacker,
        random=False,
        layout=lambda: UNPACK,
    ),
)
