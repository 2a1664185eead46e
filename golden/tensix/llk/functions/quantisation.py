"""Quantisation to integers of 8 bits in words of 32, and back: x * scale + zero point.

The integers are two's complement in Dst's words, or with `sign_magnitude` a sign and a magnitude.

Ref: tt-llk 36b092e, ckernel_sfpu_quant.h.
"""

from collections.abc import Callable
from functools import partial

from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.llk.functions.function import TILE_ROWS, Function, Mode
from bitpath.golden.tensix.llk.functions.tiles import convert
from bitpath.golden.tensix.sfpu.kernel import Kernel, fp32_code

FP32, INT32, COMPLEMENT = 3, 4, 12
"""Load and store modes; COMPLEMENT converts to a sign and magnitude on Wormhole, and does not on Blackhole."""
QUANTISE = "SFPMAD va=0, vb=1, vc=2, vd=0\nSFPNOP\nSFP_STOCH_RND vb=9, vc=0, vd=0, mod=3\n"
DEQUANTISE = "SFPADD va=0, vb=10, vc=2, vd=0\nSFPNOP\nSFPMUL va=0, vb=1, vc=9, vd=0\nSFPNOP\n"
FROM_INTEGER = "SFPCAST vc=0, vd=0\n"


def _body(
    k: Kernel, mode: Mode, *, zero_point: float, sign_magnitude: bool, whole: bool, lines: str, ends: int
) -> None:
    access = INT32 if sign_magnitude and not mode.blackhole else COMPLEMENT
    conversion = convert(0, 4) if mode.blackhole and not sign_magnitude else ""
    k.text(f"SFPLOAD vd=0, mod={access if whole else FP32}, modifier={{m}}\n{conversion if whole else ''}")
    k.text(f"SFPLOAD vd=1, mod={FP32}, modifier={{m}}, address={TILE_ROWS}\n{FROM_INTEGER if whole else ''}{lines}")
    k.text(f"{conversion if ends != FP32 else ''}SFPSTORE vd=0, mod={FP32 if ends == FP32 else access}, modifier={{m}}")


def _quantisation(name: str, body: Callable[..., None], result: Format) -> Function:
    return Function(
        name=name,
        body=body,
        setup=lambda mode, zero_point, sign_magnitude: {2: fp32_code(zero_point)},
        operands=2,
        parameters={"zero_point": 0.0, "sign_magnitude": False},
        dst32=True,
        result=result,
    )


FUNCTIONS = (
    _quantisation("quant_int32", partial(_body, whole=False, lines=QUANTISE, ends=INT32), Format.INT32),
    _quantisation("requant_int32", partial(_body, whole=True, lines=QUANTISE, ends=INT32), Format.INT32),
    _quantisation("dequant_int32", partial(_body, whole=True, lines=DEQUANTISE, ends=FP32), Format.FP32),
)
