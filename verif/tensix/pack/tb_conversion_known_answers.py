"""Known answers of ttsim v1.10.0 through the unpacker and the packer; the caller selects one of the two tests.

``BITPATH_KAT_DIR`` is their folder. Each row of the RTL is compared with the known answer, not with golden.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden.tensix.declarations.formats import BLOCK, BLOCK_FLOATS, Format
from bitpath.rtl.tensix.dot.layouts import DstRow
from bitpath.rtl.tensix.pack.packer import Packer
from bitpath.rtl.tensix.unpack.config import ConversionConfig
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


def archive() -> dict[str, np.ndarray]:
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "tensix_pack_unpack.npz") as answers:
        return dict(answers)


def split(fmt: Format, datum_bits: int, l1: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Return exponents and datums [16, 16] of the L1 bytes of a case."""
    exponents = [0] * ROWS
    if fmt in BLOCK_FLOATS:
        exponents, l1 = l1[:ROWS].tolist(), l1[ROWS:]
    bits = np.unpackbits(l1[: COUNT * datum_bits // 8], bitorder="little").reshape(ROWS, BLOCK, datum_bits)
    return exponents, bits.astype(np.int64) @ (1 << np.arange(datum_bits))


def little_endian(words: np.ndarray) -> np.ndarray:
    return words.astype("<u4").view(np.uint8)


@cocotb.test(**LIMIT)
async def unpacked(dut):
    answers, junk, rows = archive(), pauses.rng("junk"), []
    for (l1_format, register_format, unsigned), l1, src in zip(
        answers["u_cfg"].tolist(), answers["u_l1"], answers["u_src"], strict=True
    ):
        conversion = Conversion(Format(l1_format), Format(register_format), bool(unsigned))
        exponents, datums = split(conversion.l1_format, conversion.datum_bits, little_endian(l1))
        for exponent, row, words in zip(exponents, datums.tolist(), src.reshape(ROWS, BLOCK).tolist(), strict=True):
            request = UnpackWord((UnpackRow(conversion, tuple(row), exponent),), CONFIG.rows)
            rows.append(Request(request.payload(junk), pack(DstRow, words), request.shown))
    async with bench(dut, Unpacker(CONFIG).signature) as frame:
        await Pipeline(frame, Unpacker.LATENCY).exchange(rows, "both")


@cocotb.test(**LIMIT)
async def packed(dut):
    answers, junk, rows = archive(), pauses.rng("junk"), []
    for config, dst, before, after in zip(
        answers["p_cfg"].tolist(), answers["p_dst"], answers["p_l1_before"], answers["p_l1_after"], strict=True
    ):
        dst32, mid, out, relu, threshold, accumulate, unsigned = config
        packing = Packing(
            Format(mid),
            Format(out),
            bool(dst32),
            unsigned=bool(unsigned),
            relu=relu,
            relu_threshold=threshold,
            accumulate=bool(accumulate),
        )
        fmt, bits = packing.out_format, packing.datum_bits
        _, old = split(fmt, bits, little_endian(before))
        exponents, datums = split(fmt, bits, little_endian(after))
        for k, words in enumerate(dst.reshape(ROWS, BLOCK).tolist()):
            request = PackRow(packing, tuple(words), tuple(old[k].tolist()))
            result = Packed(tuple(datums[k].tolist()), exponents[k], bits)
            rows.append(Request(request.payload(junk), result.bits, request.shown))
    async with bench(dut, Packer(CONFIG).signature) as frame:
        await Pipeline(frame, Packer.LATENCY).exchange(rows, "both")
