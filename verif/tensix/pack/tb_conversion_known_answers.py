"""Known answers of ttsim v1.10.0 through the unpacker and the packer; the caller selects one of the tests.

``BITPATH_KAT_DIR`` is their folder, ``BITPATH_ARCHIVE`` the archive. Each row of the RTL is compared with the known answer, not with golden.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import cocotb
import numpy as np

from bitpath.golden.tensix.declarations.formats import BLOCK, BLOCK_FLOATS, Format
from bitpath.rtl.tensix.dot.layouts import DstRow
from bitpath.rtl.tensix.pack.packer import Packer
from bitpath.rtl.tensix.unpack.layouts import ConversionConfig
from bitpath.rtl.tensix.unpack.unpacker import Unpacker
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Pipeline, Request
from bitpath.verif.tensix.pack.pack import Packed, Packing, PackRow
from bitpath.verif.tensix.unpack.unpack import Conversion, UnpackRow, UnpackWord

CONFIG = config_from_environment(ConversionConfig)
LIMIT = {"timeout_time": 10, "timeout_unit": "ms"}
COUNT = 256
"""Datums of a case: 16 rows, whose exponents fill one 16-byte stream."""
ROWS = COUNT // BLOCK


ARCHIVE = os.environ["BITPATH_ARCHIVE"]
FURTHER = ARCHIVE == "tensix_bh_pack_unpack.npz"
"""Whether it has the further columns and cases of Blackhole's archive."""


def archive() -> dict[str, np.ndarray]:
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / ARCHIVE) as answers:
        return dict(answers)


def split(fmt: Format, datum_bits: int, l1: np.ndarray, *, forced: int | None = None) -> tuple[list[int], np.ndarray]:
    """Return exponents and datums [16, 16] of the L1 bytes of a case, without an exponent section if one is forced."""
    exponents = [forced or 0] * ROWS
    if fmt in BLOCK_FLOATS and forced is None:
        exponents, l1 = l1[:ROWS].tolist(), l1[ROWS:]
    bits = np.unpackbits(l1[: COUNT * datum_bits // 8], bitorder="little").reshape(ROWS, BLOCK, datum_bits)
    return exponents, bits.astype(np.int64) @ (1 << np.arange(datum_bits))


def little_endian(words: np.ndarray) -> np.ndarray:
    return words.astype("<u4").view(np.uint8)


def requests(
    conversion: Conversion, l1: np.ndarray, words: np.ndarray, junk: Random, forced: int | None = None
) -> Iterator[Request]:
    """Yield the rows of a case with their words."""
    exponents, datums = split(conversion.l1_format, conversion.datum_bits, little_endian(l1), forced=forced)
    for exponent, row, found in zip(exponents, datums.tolist(), words.tolist(), strict=True):
        request = UnpackWord((UnpackRow(conversion, tuple(row), exponent),), CONFIG.rows)
        yield Request(request.payload(junk), pack(DstRow, found), request.shown)


@cocotb.test(**LIMIT)
async def unpacked(dut):
    """Every face to Src; those of Blackhole's archive that are transposed are turned back."""
    answers, junk, rows = archive(), pauses.rng("junk"), []
    for config, l1, src in zip(answers["u_cfg"].tolist(), answers["u_l1"], answers["u_src"], strict=True):
        l1_format, register_format, unsigned, *further = config
        e4m3, unpacker, transposed, is_forced, exponent = further or (0, 0, 0, 0, 0)
        conversion = Conversion(Format(l1_format), Format(register_format), bool(unsigned), bool(e4m3))
        words = src.reshape(ROWS, BLOCK)
        # Unpacker 1 has no transposition.
        words = words.T if transposed and unpacker == 0 else words
        rows += requests(conversion, l1, words, junk, exponent if is_forced else None)
    async with bench(dut, Unpacker(CONFIG).signature) as frame:
        await Pipeline(frame, Unpacker.LATENCY).exchange(rows, "both")


@cocotb.test(**LIMIT)
async def unpacked_to_dst(dut):
    answers, junk, rows = archive(), pauses.rng("junk"), []
    for (l1_format, register_format), l1, dst in zip(
        answers["d_cfg"].tolist(), answers["d_l1"], answers["d_dst"], strict=True
    ):
        conversion = Conversion(Format(l1_format), Format(register_format), to_dst=True)
        rows += requests(conversion, l1, dst.reshape(ROWS, BLOCK), junk)
    async with bench(dut, Unpacker(CONFIG).signature) as frame:
        await Pipeline(frame, Unpacker.LATENCY).exchange(rows, "both")


@cocotb.test(**LIMIT)
async def packed(dut):
    answers, junk, rows = archive(), pauses.rng("junk"), []
    for config, dst, before, after in zip(
        answers["p_cfg"].tolist(), answers["p_dst"], answers["p_l1_before"], answers["p_l1_after"], strict=True
    ):
        dst32, mid, out, relu, threshold, accumulate, unsigned, *further = config
        round_10b, e4m3 = further or (0, 0)
        packing = Packing(
            Format(mid),
            Format(out),
            bool(dst32),
            unsigned=bool(unsigned),
            relu=relu,
            relu_threshold=threshold,
            accumulate=bool(accumulate),
            round_10b=bool(round_10b),
            e4m3=bool(e4m3),
        )
        fmt, bits = packing.out_format, packing.datum_bits
        # Blackhole's archive has an exponent section of other 8-bit formats too, which nothing writes.
        start = ROWS if FURTHER and fmt in (Format.FP8, Format.INT8) else 0
        _, old = split(fmt, bits, little_endian(before)[start:])
        exponents, datums = split(fmt, bits, little_endian(after)[start:])
        for k, words in enumerate(dst.reshape(ROWS, BLOCK).tolist()):
            request = PackRow(packing, tuple(words), tuple(old[k].tolist()))
            result = Packed(tuple(datums[k].tolist()), exponents[k], bits)
            rows.append(Request(request.payload(junk), result.bits, request.shown))
    async with bench(dut, Packer(CONFIG).signature) as frame:
        await Pipeline(frame, Packer.LATENCY).exchange(rows, "both")
