"""RMSNorm-Quant on one row of scalars, operation after operation.

Ref: "RMSNorm-Quant Kernel Design Specification", AWS Neuron documentation, 2025-12-02, and the kernel that it
describes. Points that they leave open are fields of `RmsNormQuantNumerics`, or in
`bitpath.golden.trainium3.declarations.vector.CHOICES`.
"""

from collections.abc import Sequence
from fractions import Fraction

from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.golden.scalar import fp32
from bitpath.golden.scalar.checked import check_length, checked
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.rounding import round_to_format, rounded_sum, term
from bitpath.golden.trainium3.declarations.vector import EpsPlacement, RmsNormQuantNumerics, SumOrder


@checked
def rmsnorm_row(
    numerics: RmsNormQuantNumerics,
    hidden: Sequence[int],
    gamma: Sequence[int],
    source: FloatFormat,
    gamma_source: FloatFormat,
    *,
    eps: Fraction,
    eps_placement: EpsPlacement,
    sum_order: SumOrder,
) -> list[int]:
    """Return the codes in ``numerics.compute`` of ``hidden * (1 / rms) * gamma``.

    Parameters
    ----------
    hidden, gamma : as many codes, of `source` and `gamma_source`.
    eps : exactly; it is rounded to ``numerics.compute``.
    """
    check_length("hidden", hidden)
    check_length("gamma", gamma, len(hidden), " as hidden")
    row = [fp32.convert(code, numerics.compute, FP32) for code in load_row(numerics, hidden, source)]
    mean = fp32.multiply(
        _sum([fp32.multiply(x, x) for x in row], sum_order), round_to_format(Fraction(1, len(row)), FP32)
    )
    eps_code = fp32.convert(round_to_format(eps, numerics.compute), numerics.compute, FP32)
    if eps_placement is EpsPlacement.KERNEL:
        inverse = fp32.reciprocal_square_root(fp32.add(mean, eps_code))
    else:
        inverse = fp32.reciprocal(fp32.add(fp32.square_root(mean), eps_code))
    products = []
    for x, code in zip(row, gamma, strict=True):
        # Gamma goes through a matmul by ones: +0 plus 1 * gamma, which has no -0.
        broadcast = fp32.add(0, fp32.convert(code, gamma_source, FP32))
        products.append(fp32.multiply(fp32.multiply(x, inverse), broadcast))
    return [fp32.convert(product, FP32, numerics.compute) for product in products]


@checked
def load_row(numerics: RmsNormQuantNumerics, hidden: Sequence[int], source: FloatFormat) -> list[int]:
    """Return a row as the DMA brings it in: codes in ``numerics.compute``, through FP32."""
    return [fp32.convert(fp32.convert(code, source, FP32), FP32, numerics.compute) for code in hidden]


@checked
def add_residual(
    numerics: RmsNormQuantNumerics, row: Sequence[int], residual: Sequence[int], source: FloatFormat
) -> list[int]:
    """Return codes of ``numerics.compute`` plus codes of `source`, which are loaded as a row is."""
    check_length("residual", residual, len(row), " as row")
    sums = []
    for x, y in zip(row, load_row(numerics, residual, source), strict=True):
        total = fp32.add(*(fp32.convert(code, numerics.compute, FP32) for code in (x, y)))
        sums.append(fp32.convert(total, FP32, numerics.compute))
    return sums


@checked
def quantize_row(
    numerics: RmsNormQuantNumerics, row: Sequence[int], *, lower_bound: Fraction = Fraction(0)
) -> tuple[list[int], int]:
    """Quantise codes of ``numerics.compute`` by their absolute maximum.

    Parameters
    ----------
    lower_bound : where it exceeds ``numerics.min_dequant_scale``, it bounds the maximum and the elements, rounded to FP32.

    Returns
    -------
    codes of ``numerics.output``, and the FP32 code of the dequantisation scale.
    """
    check_length("row", row)
    values = [fp32.convert(code, numerics.compute, FP32) for code in row]
    largest = fp32.absolute(values[0])
    for x in values[1:]:
        largest = fp32.maximum(largest, fp32.absolute(x))
    if lower_bound > numerics.min_dequant_scale:
        bound = round_to_format(lower_bound, FP32)
        largest = fp32.minimum(largest, bound)
        values = [fp32.maximum(fp32.minimum(x, bound), bound | FP32.sign_mask) for x in values]
        values = [_through(numerics, x) for x in values]
    scale = fp32.multiply(largest, round_to_format(Fraction(1, numerics.output_range), FP32))
    scale = fp32.maximum(scale, round_to_format(numerics.min_dequant_scale, FP32))
    factor = fp32.reciprocal(scale)
    return [fp32.convert(fp32.multiply(x, factor), FP32, numerics.output) for x in values], scale


@checked
def quantize_row_static(numerics: RmsNormQuantNumerics, row: Sequence[int], in_scale: int) -> list[int]:
    """Quantise codes of ``numerics.compute`` by a given dequantisation scale, an FP32 code; clamped to the range."""
    factor = fp32.reciprocal(in_scale)
    largest = round_to_format(Fraction(numerics.output_range), FP32)
    codes = []
    for code in row:
        product = fp32.add(fp32.multiply(fp32.convert(code, numerics.compute, FP32), factor), 0)  # -0 + 0 gives +0
        clamped = fp32.maximum(fp32.minimum(_through(numerics, product), largest), largest | FP32.sign_mask)
        codes.append(fp32.convert(clamped, FP32, numerics.output))
    return codes


@checked
def reference_row(
    numerics: RmsNormQuantNumerics, row: Sequence[int], gamma: Sequence[int], eps: int, sum_order: SumOrder
) -> tuple[list[int], int]:
    """Return a row of SPEC's CPU golden, codes of ``numerics.output`` and the FP32 code of the scale.

    Parameters
    ----------
    row, gamma : FP32 codes, as many.
    eps : FP32 code, added to the root.

    Raises
    ------
    ValueError : no finite scale follows from the row.
    """
    check_length("row", row)
    check_length("gamma", gamma, len(row), " as row")
    mean = _quotient(_sum([fp32.multiply(x, x) for x in row], sum_order), Fraction(len(row)))
    factor = fp32.reciprocal(fp32.add(fp32.square_root(mean), eps))
    norm = [fp32.multiply(fp32.multiply(x, factor), weight) for x, weight in zip(row, gamma, strict=True)]
    largest = 0
    for x in norm:
        largest = fp32.maximum(largest, fp32.absolute(x))
    top = decode(FP32, largest)
    if top.kind is not Kind.FINITE or top.is_zero:
        raise ValueError("row must have a finite scale")
    scale = round_to_format(numerics.output_range / top.value, FP32)
    if scale == FP32.infinity_code:
        raise ValueError("row must have a finite scale")
    data = [fp32.convert(fp32.multiply(x, scale), FP32, numerics.output) for x in norm]
    return data, fp32.reciprocal(scale)


@checked
def row_bytes(codes: Sequence[int], scale: int) -> bytes:
    """Pack a row: element codes, then the scale, lowest byte first."""
    return bytes(codes) + scale.to_bytes(4, "little")


def _through(numerics: RmsNormQuantNumerics, code: int) -> int:
    """Round FP32 to ``numerics.compute`` and read it again."""
    return fp32.convert(fp32.convert(code, FP32, numerics.compute), numerics.compute, FP32)


def _quotient(code: int, divisor: Fraction) -> int:
    """Divide an FP32 code that is not negative by a number."""
    x = decode(FP32, code)
    return round_to_format(x.value / divisor, FP32) if x.kind is Kind.FINITE else code


def _sum(codes: Sequence[int], order: SumOrder) -> int:
    """Add FP32 codes that are not negative."""
    if order is SumOrder.SERIAL:
        total = codes[0]
        for code in codes[1:]:
            total = fp32.add(total, code)
        return total
    return rounded_sum([term(decode(FP32, code)) for code in codes])
