"""One step of TensorE's unscaled matmul on scalars: a product is added to the partial sum.

Ref: ``nki.isa.nc_matmul`` reference page, NKI 0.3 to 0.5 (AWS Neuron documentation). `MatmulNumerics` has a field
for each point that it leaves open.
"""

from fractions import Fraction

from bitpath.golden.formats.catalogue import E4M3, E4M3FN, FP32, FloatFormat
from bitpath.golden.scalar.codec import Kind, Unpacked, decode
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3.declarations.vector import MatmulNumerics
from bitpath.golden.trainium3.exact.dot import Term, special_result


def multiply_add(
    numerics: MatmulNumerics, x: int, x_format: FloatFormat, y: int, y_format: FloatFormat, partial_sum: int
) -> int:
    """Return ``x * y + partial_sum``, rounded to the accumulator as `MatmulNumerics` says.

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
    a, b = decode(x_format, x), decode(y_format, y)
    kind, sign, value = _product(a, b)
    if kind is Kind.FINITE and numerics.product_rounding is not None:
        rounded = decode(accumulator, round_to_format(value, accumulator, numerics.product_rounding, zero_sign=sign))
        kind, value = rounded.kind, rounded.value if rounded.kind is Kind.FINITE else Fraction(0)
    partial = decode(FP32, partial_sum)
    finite_partial = partial.value if partial.kind is Kind.FINITE else Fraction(0)
    terms = [Term(kind, sign, value, None), Term(partial.kind, partial.sign, finite_partial, None)]
    special = special_result(terms)
    if special is not None:
        return special
    total = round_to_format(
        value + finite_partial, accumulator, numerics.accumulator_rounding, zero_sign=sign & partial.sign
    )
    return total << unused


def check_formats(
    numerics: MatmulNumerics, x_format: FloatFormat, y_format: FloatFormat, x_is: str = "", y_is: str = ""
) -> None:
    """Check that elements of two formats may meet in a matmul.

    Errors begin with `x_is` and `y_is`, which name the arguments and their formats.

    Raises
    ------
    ValueError : a format that the numerics do not name, a narrow with a wide one, or E4M3 with E4M3FN.
    """
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


def _product(a: Unpacked, b: Unpacked) -> tuple[Kind, int, Fraction]:
    """Return kind, sign and, where finite, the exact value of a product."""
    sign = a.sign ^ b.sign
    kinds = {a.kind, b.kind}
    if Kind.NAN in kinds or (Kind.INFINITY in kinds and (a.is_zero or b.is_zero)):
        return Kind.NAN, 0, Fraction(0)
    if Kind.INFINITY in kinds:
        return Kind.INFINITY, sign, Fraction(0)
    return Kind.FINITE, sign, a.value * b.value
