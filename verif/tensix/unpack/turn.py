"""Faces for the turn buffer, with golden's rows."""

from random import Random

import numpy as np
from amaranth.lib import data

from bitpath.golden.tensix import UnpackControl, unpack, unpack_tile
from bitpath.golden.tensix.convert.unpack import CONVERSIONS, L1_BYTES
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, COLUMNS, FACE, Format
from bitpath.rtl.tensix.dot.layouts import SrcRow
from bitpath.rtl.tensix.unpack.turn_buffer import turn_request
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Request

FORMATS = tuple(
    (fmt, out) for fmt, outs in CONVERSIONS.items() for out in outs if out not in (Format.FP32, Format.INT32)
)
"""L1 formats and register formats of SrcA."""
DATUMS = FACE * COLUMNS


def ramp(fmt: Format, start: int) -> np.ndarray:
    """Return L1 bytes of a face whose datums count up; bytes of a block do, under exponents that count."""
    if fmt in BLOCK_FLOATS:
        block = BLOCK_FLOATS[fmt]
        exponents = (start + np.arange(FACE)) % (1 << block.exponent_bits)
        return np.concatenate([exponents, start + np.arange(DATUMS * block.datum_bits // 8)]).astype(np.uint8)
    width = L1_BYTES[fmt]
    # FP32 and TF32 keep their upper 19 bits.
    step = 1 << 13 if width == 4 else 1
    return ((start + np.arange(DATUMS)) * step).astype(f"<u{width}").view(np.uint8)


def face(fmt: Format, out: Format, turn: bool, start: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a ramp as they are unpacked, and as golden's UNPACR leaves them, uint32 [16, 16]."""
    l1, control = ramp(fmt, start), UnpackControl(in_format=fmt, out_format=out, transpose=turn)
    return unpack(l1, fmt, out, count=DATUMS).reshape(FACE, COLUMNS), unpack_tile(l1, control)


def requests(rows: int, before: np.ndarray, after: np.ndarray, turn: bool, junk: Random, shown: str) -> list[Request]:
    """Return a face's rows as requests; ``turn`` is random behind the first."""
    layout, result = turn_request(rows), data.ArrayLayout(SrcRow, rows)
    sent = []
    for start in range(0, FACE, rows):
        flag = junk.getrandbits(1) if start else int(turn)
        payload = pack(layout, {"rows": before[start : start + rows].tolist(), "turn": flag})
        expected = pack(result, after[start : start + rows].tolist())
        sent.append(Request(payload, expected, f"{shown}, rows from {start}"))
    return sent
