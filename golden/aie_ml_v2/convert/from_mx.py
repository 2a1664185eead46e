"""MX9, MX6, MX4 and bfp16ebs8 to FP32.

Ref: the AIE API, which multiplies by an identity block; UG1639 for the value of an element.
"""

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import MX_BIAS, MX_NAN_EXPONENT
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.operands.arguments import numerics_or_default
from bitpath.golden.aie_ml_v2.operands.axes import joined
from bitpath.golden.aie_ml_v2.operands.mx_blocks import MxBlocks
from bitpath.golden.arrays.arguments import checked
from bitpath.golden.formats.catalogue import FP32


@checked
def from_mx(blocks: MxBlocks, *, numerics: AieNumerics | None = None) -> np.ndarray:
    """Return the elements as float32 [..., 16 * B], of bfp16ebs8 [..., 8 * B], exactly.

    What is below the normal numbers becomes a zero of its sign, what is from 2**128 on infinity, a NaN block 0x7FC00000.
    `numerics` None is the default that `to_mx` has for the format.

    Raises
    ------
    TypeError : `blocks` are no MxBlocks.
    """
    numerics = numerics_or_default(numerics, blocks.fmt)
    weight = blocks.exponent.astype(np.int64)[..., np.newaxis] - MX_BIAS - blocks.element_shifts
    # Codes have at most 8 bits: exact in float64.
    values = np.ldexp(blocks.codes.astype(np.float64), weight + 1 - blocks.fmt.magnitude_bits)
    values = np.where(np.abs(values) < float(FP32.min_normal), np.copysign(0.0, values), values)
    values = np.where(np.abs(values) > float(FP32.max), np.copysign(np.inf, values), values)
    bits = values.astype(np.float32).view(np.uint32)
    if numerics.mx_nan_block:
        nan = blocks.exponent == MX_NAN_EXPONENT
        bits = np.where(nan[..., np.newaxis], np.uint32(FP32.nan_code), bits)
    return joined(bits).view(np.float32)
