"""Unpacker 0 into Dst: FP32, TF32 and INT32 are copied, all others are converted as for SrcA and lose the bits that Dst lacks.

Ref: tt-isa-documentation, UNPACR_Regular.
"""

from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import checked
from bitpath.golden.tensix.convert.unpack import unpack
from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.formats import EXPONENT5_FORMATS, Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.operands.arguments import format_member

DST32_FORMATS = (Format.FP32, Format.TF32, Format.INT32)
"""Register formats of 32 bits in Dst; TF32 means FP32 there."""


@checked
def unpack_to_dst(
    l1: np.ndarray,
    in_format: Format | int | str,
    out_format: Format | int | str,
    *,
    unsigned: bool = False,
    e4m3: bool = False,
    count: int = 256,
    forced_exponent: int | None = None,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """Convert datums in L1 to Dst words; nothing is flushed but by FP32 to BF16. The arguments are those of `unpack`.

    Returns
    -------
    uint32 [count]: words of 32 bits for FP32, TF32 and INT32, FP16's for formats with 5 exponent bits and INT8, else BF16's,
    in the logical order.

    Raises
    ------
    TypeError, ValueError : as `unpack`.
    """
    source, target = format_member("in_format", in_format), format_member("out_format", out_format)
    options: dict[str, Any] = {"unsigned": unsigned, "e4m3": e4m3, "count": count, "forced_exponent": forced_exponent}
    if target in DST32_FORMATS and source in (Format.FP32, target):
        # Two formats of the same 32 bits, which FP32 and INT32 alone keep whole.
        return unpack(l1, Format.FP32, Format.FP32, **options, numerics=numerics, chip=chip)
    words = unpack(l1, source, target, **options, numerics=numerics, chip=chip)
    if target in (*EXPONENT5_FORMATS, Format.INT8):
        return (words & 1 << 18) >> 3 | words & 0x7FFF
    return words >> 3
