"""FP32 in four passes of 12-bit halves, one output on scalars.

Choices are in `bitpath.golden.trainium3.declarations.tensor.CHOICES`.
"""

from collections.abc import Sequence

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.fp32 import add
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3.declarations.tensor import LOW_BITS
from bitpath.golden.trainium3.declarations.vector import MatmulNumerics
from bitpath.golden.trainium3.exact.multiply_add import multiply_add


@checked
def fp32_halves(code: int) -> tuple[int, int]:
    """Return hi, the FP32 code without its lowest 12 fraction bits, and lo = x - hi, exact; infinity and NaN are all hi."""
    x = decode(FP32, code)
    if x.kind is not Kind.FINITE:
        return code, 0
    high = code >> LOW_BITS << LOW_BITS
    return high, round_to_format(x.value - decode(FP32, high).value, FP32)


@checked
def split12(
    numerics: MatmulNumerics, stationary: Sequence[int], moving: Sequence[int]
) -> tuple[int, tuple[int, int, int, int]]:
    """Return the FP32 code of one output, and of its passes lo*lo, lo*hi, hi*lo and hi*hi, the stationary half first.

    Parameters
    ----------
    stationary, moving : FP32 codes of the rows, in order.

    Raises
    ------
    ValueError : as many codes of one as of the other are needed.
    """
    if len(stationary) != len(moving):
        raise ValueError(f"moving must have stationary's {len(stationary)} rows, not {len(moving)}")
    passes = [0, 0, 0, 0]
    for x, y in zip(stationary, moving, strict=True):
        (x_high, x_low), (y_high, y_low) = fp32_halves(x), fp32_halves(y)
        pairs = [(x_low, y_low), (x_low, y_high), (x_high, y_low), (x_high, y_high)]
        if Kind.FINITE is not decode(FP32, x).kind or Kind.FINITE is not decode(FP32, y).kind:
            pairs[:3] = [(0, 0)] * 3
        passes = [
            multiply_add(numerics, a, FP32, b, FP32, partial) for (a, b), partial in zip(pairs, passes, strict=True)
        ]
    low_low, low_high, high_low, high_high = passes
    total = add(add(add(low_low, low_high), high_low), high_high)
    return total, (low_low, low_high, high_low, high_high)
