"""W8A8's weights and dequantisation on scalars; rows are `rmsnorm_quant`'s, and their products `multiply_add`'s.

Ref: nki-library, ``mlp_cte_projection.py``, `perform_quantized_down_projection`. Points that it leaves open are in
`bitpath.golden.trainium3.declarations.vector.CHOICES`.
"""

from collections.abc import Sequence
from fractions import Fraction

from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.golden.scalar import fp32
from bitpath.golden.scalar.checked import check_length, checked
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3.declarations.vector import RmsNormQuantNumerics


@checked
def quantize_channel(numerics: RmsNormQuantNumerics, column: Sequence[int]) -> tuple[list[int], int]:
    """Quantise the weights of an output channel, FP32 codes, by their absolute maximum, as a host does.

    Returns
    -------
    codes of ``numerics.output``, and the FP32 code of the scale.
    """
    check_length("column", column)
    largest = 0
    for x in column:
        largest = fp32.maximum(largest, fp32.absolute(x))
    scale = fp32.divide(largest, round_to_format(Fraction(numerics.output_range), FP32))
    scale = fp32.maximum(scale, round_to_format(numerics.min_dequant_scale, FP32))
    return [fp32.convert(fp32.divide(x, scale), FP32, numerics.output) for x in column], scale


@checked
def dequantize_sum(total: int, channel_scale: int, row_scale: int, destination: FloatFormat) -> int:
    """Return the code of a dequantised sum: an instruction for each scale, which both write `destination`.

    Parameters
    ----------
    total, channel_scale, row_scale : FP32 codes.
    """
    scaled = fp32.convert(fp32.multiply(total, channel_scale), FP32, destination)
    product = fp32.multiply(fp32.convert(scaled, destination, FP32), row_scale)
    # ScalarE adds a bias of +0.
    return fp32.convert(fp32.add(product, 0), FP32, destination)
