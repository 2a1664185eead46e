"""One step of TensorE's unscaled matmul on scalars: a product is added to the partial sum.

Ref: ``nki.isa.nc_matmul`` reference page, NKI 0.3 to 0.5 (AWS Neuron documentation). `MatmulNumerics` has a field
for each point that it leaves open.
"""

from collections.abc import Sequence

from bitpath.golden.formats.catalogue import E4M3, E4M3FN, FP32, FloatFormat
from bitpath.golden.scalar.checked import check_instance, checked
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.fp32 import add
from bitpath.golden.scalar.rounding import product, round_to_format, special_sum, term
from bitpath.golden.trainium3.declarations.tensor import LOW_BITS
from bitpath.golden.trainium3.declarations.vector import MatmulNumerics


@checked
def multiply_add(
    numerics: MatmulNumerics, x: int, x_format: FloatFormat, y: int, y_format: FloatFormat, partial_sum: int
) -> int:
    """Return ``x * y + partial_sum``, rounded to the accumulator, and the product before, as `MatmulNumerics` says.

    A zero sum is -0 where product and partial sum are negative, else +0. A sum beyond the accumulator's range becomes
    infinity, under RTZ too.

    Parameters
    ----------
    x, y : element codes of the formats named; TF32 codes have 19 bits.
    partial_sum : FP32 code, on the accumulator's grid.

    Returns
    -------
    FP32 code; every NaN is 0x7FC00000.

    Raises
    ------
    ValueError : formats that may not meet, a code out of range, or a partial sum with bits below the accumulator's.
    """
    check_formats(numerics, x_format, y_format)
    accumulator = numerics.accumulator
    unused = FP32.fraction_bits - accumulator.fraction_bits
    if partial_sum & (1 << unused) - 1:
        raise ValueError(
            f"partial_sum is {partial_sum:#010x}; its lowest {unused} bits are 0 on the accumulator's grid"
        )
    added, partial = product(decode(x_format, x), decode(y_format, y)), term(decode(FP32, partial_sum))
    rounded = numerics.product_rounding
    if added.kind is Kind.FINITE and rounded is not None:
        code = round_to_format(added.value, rounded.format, rounded.rounding, zero_sign=added.sign)
        added = term(decode(rounded.format, code))
    special = special_sum([added, partial])
    if special is not None:
        return special
    total, zero_sign = added.value + partial.value, added.sign & partial.sign
    return round_to_format(total, accumulator, numerics.accumulator_rounding, zero_sign=zero_sign) << unused


@checked
def check_formats(
    numerics: MatmulNumerics, x_format: FloatFormat, y_format: FloatFormat, x_is: str = "", y_is: str = ""
) -> None:
    """Check that elements of two formats may meet in a matmul.

    Errors begin with `x_is` and `y_is`, which name the arguments and their formats.

    Raises
    ------
    ValueError : a format that the numerics do not name, a narrow with a wide one, or E4M3 with E4M3FN.
    """
    check_instance("x_is", x_is, str)
    check_instance("y_is", y_is, str)
    x_is, y_is = x_is or f"x_format is {x_format.name}", y_is or f"y_format is {y_format.name}"
    known = (*numerics.narrow_formats, *numerics.wide_formats)
    for said, fmt in ((x_is, x_format), (y_is, y_format)):
        if fmt not in known:
            raise ValueError(f"formats must be among {', '.join(each.name for each in known)}, but {said}")
    if (x_format in numerics.wide_formats) != (y_format in numerics.wide_formats):
        wide = " and ".join(each.name for each in numerics.wide_formats)
        raise ValueError(f"{wide} must be multiplied with each other only, but {x_is} and {y_is}")
    if {x_format, y_format} == {E4M3, E4M3FN}:
        raise ValueError(f"a matmul must not mix E4M3 and E4M3FN, but {x_is} and {y_is}")


# FP32 in four passes of 12-bit halves, one output on scalars.
#
# Choices are in `bitpath.golden.trainium3.declarations.tensor.CHOICES`.


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
