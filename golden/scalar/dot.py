"""One step of a scaled dot product, and a chain of steps, with all intermediate values.

The steps follow `DotNumerics` literally: decode, multiply, align if asked, sum, round once. `bitpath explain` prints these
values, so it shows the reference itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cache

from bitpath.golden.formats.catalogue import FP32, FixedFormat, FloatFormat
from bitpath.golden.formats.dot import DotNumerics, DotProductNumerics, InvalidProduct, ScaleNan, ZeroSign
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Kind, Overflow, Unpacked, decode, power_of_two
from bitpath.golden.scalar.rounding import Term, product, round_to_format, round_to_integer, special_sum, term, ulp


@cache
def general(numerics: DotNumerics) -> DotProductNumerics:
    """Return a machine's numerics with the fields of any dot product, two scales among them."""
    if isinstance(numerics, DotProductNumerics):
        return numerics
    return DotProductNumerics(
        **{each.name: getattr(numerics, each.name) for each in fields(numerics)},
        scales=2,
        product_rounding=None,
        result=None,
        result_subnormals=numerics.accumulator_subnormals,
        zero_sign=ZeroSign.ALL_NEGATIVE,
        invalid_product=InvalidProduct.NAN,
        nan_code=None,
    )


@dataclass(frozen=True)
class DotTrace:
    """A dot step and all it went through.

    Attributes
    ----------
    numerics : numerics of the step.
    stationary_format, moving_format : formats of the elements.
    stationary_codes, moving_codes, stationary_scale, moving_scale, partial_sum : the operands' codes.
    stationary, moving : the elements taken apart, after flushing.
    terms : the scaled products, then the partial sum.
    align_exponent : E of the aligned mode; None in the exact mode and where all terms are zero or one is not finite.
    aligned : the terms as they are summed; empty where one is not finite.
    total : sum of `aligned`; None where not finite.
    exact : sum of the terms before alignment; None where not finite.
    result : code of the result, FP32's for a machine's numerics.
    error_ulp : (result - exact) in units of the rounded format's last place at `exact`; None where either is not finite.
    """

    numerics: DotNumerics
    stationary_format: FloatFormat | FixedFormat
    moving_format: FloatFormat | FixedFormat
    stationary_codes: tuple[int, ...]
    moving_codes: tuple[int, ...]
    stationary_scale: int
    moving_scale: int
    partial_sum: int
    stationary: tuple[Unpacked, ...]
    moving: tuple[Unpacked, ...]
    terms: tuple[Term, ...]
    align_exponent: int | None
    aligned: tuple[Fraction, ...]
    total: Fraction | None
    exact: Fraction | None
    result: int
    error_ulp: Fraction | None


@checked
def dot_step(
    numerics: DotNumerics,
    stationary_codes: Sequence[int],
    stationary_format: FloatFormat | FixedFormat,
    moving_codes: Sequence[int],
    moving_format: FloatFormat | FixedFormat,
    stationary_scale: int,
    moving_scale: int,
    partial_sum: int,
) -> int:
    """Return the result's code after one step of a dot product; the arguments are those of `trace_dot_step`.

    Raises
    ------
    ValueError : as `trace_dot_step`.
    """
    stationary, moving = (stationary_codes, stationary_format), (moving_codes, moving_format)
    return trace_dot_step(numerics, *stationary, *moving, stationary_scale, moving_scale, partial_sum).result


@checked
def trace_dot_step(
    numerics: DotNumerics,
    stationary_codes: Sequence[int],
    stationary_format: FloatFormat | FixedFormat,
    moving_codes: Sequence[int],
    moving_format: FloatFormat | FixedFormat,
    stationary_scale: int,
    moving_scale: int,
    partial_sum: int,
) -> DotTrace:
    """Compute one step as its numerics define it, and keep every intermediate value.

    Parameters
    ----------
    stationary_codes, moving_codes : ``numerics.terms`` element codes each.
    stationary_scale, moving_scale : codes of ``numerics.scale_format``; one that the numerics do not have is not read.
    partial_sum : FP32 code on the grid of ``numerics.accumulator``, or a code of an accumulator that does not shorten FP32.

    Raises
    ------
    ValueError : a wrong number of codes, a format the numerics do not name, a code out of range, or a partial sum with
        bits below the accumulator's.
    """
    for name, fmt, codes in (
        ("stationary", stationary_format, stationary_codes),
        ("moving", moving_format, moving_codes),
    ):
        if fmt not in numerics.element_formats:
            known = " or ".join(each.name for each in numerics.element_formats)
            raise ValueError(f"{name}_format must be {known}, not {fmt.name}")
        if len(codes) != numerics.terms:
            raise ValueError(f"{name}_codes must have {numerics.terms} elements, not {len(codes)}")
    whole = general(numerics)
    stationary = tuple(_read(stationary_format, code, whole.element_subnormals) for code in stationary_codes)
    moving = tuple(_read(moving_format, code, whole.element_subnormals) for code in moving_codes)
    scales = tuple(_read_scale(whole, code) for code in (stationary_scale, moving_scale)[: whole.scales])

    terms = [
        _product(whole, (x, y, *scales), _places(stationary_format) + _places(moving_format))
        for x, y in zip(stationary, moving, strict=True)
    ]
    terms.append(_partial_sum_term(whole, partial_sum))
    align_exponent, total, exact = None, None, None
    aligned: tuple[Fraction, ...] = ()
    special = special_sum(terms)
    if special is None:
        align_exponent, aligned = _align(whole, terms)
        total, exact = sum(aligned, Fraction(0)), sum((term.value for term in terms), Fraction(0))
        result = _round_sum(whole, total, terms)
    elif (found := decode(FP32, special)).kind is Kind.NAN:
        result = whole.result_nan
    else:
        result = whole.result_format.infinity_code | found.sign * whole.result_format.sign_mask
    error = None
    if exact is not None and (final := decode(whole.result_format, result)).kind is Kind.FINITE:
        error = (final.value - exact) / ulp(whole.rounded_format, exact)
    return DotTrace(
        numerics=numerics,
        stationary_format=stationary_format,
        moving_format=moving_format,
        stationary_codes=tuple(stationary_codes),
        moving_codes=tuple(moving_codes),
        stationary_scale=stationary_scale,
        moving_scale=moving_scale,
        partial_sum=partial_sum,
        stationary=stationary,
        moving=moving,
        terms=tuple(terms),
        align_exponent=align_exponent,
        aligned=aligned,
        total=total,
        exact=exact,
        result=result,
        error_ulp=error,
    )


def _places(fmt: FloatFormat | FixedFormat) -> int:
    """Return the places from a number's exponent down to its last bit; fixed point has that of its magnitude's top bit."""
    return fmt.width - 1 if isinstance(fmt, FixedFormat) else fmt.fraction_bits


def _read(fmt: FloatFormat | FixedFormat, code: int, subnormals: bool) -> Unpacked:
    """Take a code apart; where `subnormals` is False a subnormal becomes zero of its sign."""
    unpacked = decode(fmt, code)
    if not subnormals and isinstance(fmt, FloatFormat) and unpacked.significand <= fmt.fraction_mask:
        return Unpacked(unpacked.kind, unpacked.sign, 0, unpacked.exponent)
    return unpacked


def _read_scale(numerics: DotNumerics, code: int) -> Unpacked:
    scale = decode(numerics.scale_format, code)
    if scale.kind is Kind.NAN and numerics.scale_nan is ScaleNan.INFINITY:
        return Unpacked(Kind.INFINITY, 0, scale.significand, scale.exponent)
    return scale


def _product(numerics: DotProductNumerics, factors: tuple[Unpacked, ...], fraction_bits: int) -> Term:
    """Multiply two elements and their scales; `fraction_bits` are those of the elements together."""
    exact = product(*factors)
    invalid = exact.kind is Kind.NAN and all(factor.kind is not Kind.NAN for factor in factors)
    if invalid and numerics.invalid_product is InvalidProduct.ZERO:
        exact = Term(Kind.FINITE, sum(factor.sign for factor in factors) & 1, Fraction(0))
    if numerics.product_rounding is None or exact.kind is not Kind.FINITE:
        return _with_exponent(exact, sum(factor.exponent for factor in factors) + fraction_bits)
    fmt, rounding = numerics.product_rounding.format, numerics.product_rounding.rounding
    rounded = decode(fmt, round_to_format(exact.value, fmt, rounding, zero_sign=exact.sign))
    return _with_exponent(term(rounded), rounded.exponent + fmt.fraction_bits)


def _partial_sum_term(numerics: DotProductNumerics, code: int) -> Term:
    fmt = numerics.partial_format
    unused = fmt.fraction_bits - numerics.accumulator.fraction_bits
    x = _read(fmt, code, numerics.accumulator_subnormals)
    if x.kind is Kind.FINITE and code & (1 << unused) - 1:
        raise ValueError(f"partial_sum is {code:#010x}; its lowest {unused} bits are 0 on the accumulator's grid")
    return _with_exponent(term(x), x.exponent + fmt.fraction_bits)


def _with_exponent(each: Term, exponent: int) -> Term:
    """Return a term with an exponent to align by, which zeros and terms that are not finite lack."""
    return Term(each.kind, each.sign, each.value, exponent) if each.value else each


def _align(numerics: DotNumerics, terms: Sequence[Term]) -> tuple[int | None, tuple[Fraction, ...]]:
    """Return E and the terms on the grid 2**(E - F); in the exact mode None and the terms themselves."""
    exponents = [term.exponent for term in terms if term.exponent is not None]
    if numerics.align_fraction_bits is None or not exponents:
        return None, tuple(term.value for term in terms)
    align_exponent = max(exponents)
    unit = power_of_two(align_exponent - numerics.align_fraction_bits)
    return align_exponent, tuple(round_to_integer(t.value / unit, numerics.align_rounding) * unit for t in terms)


def _round_sum(numerics: DotProductNumerics, total: Fraction, terms: Sequence[Term]) -> int:
    """Round once, to a code in which the result leaves."""
    fmt, container = numerics.rounded_format, numerics.result_format
    match numerics.zero_sign:
        case ZeroSign.ALL_NEGATIVE:
            negative_zero = all(each.sign for each in terms)
        case ZeroSign.PARTIAL:
            negative_zero = bool(terms[-1].sign)
        case ZeroSign.PLUS:
            negative_zero = False
    code = round_to_format(
        total,
        fmt,
        numerics.accumulator_rounding,
        overflow=Overflow.SPECIAL if numerics.overflow_to_infinity else Overflow.SATURATE,
        zero_sign=int(negative_zero),
    )
    if not numerics.result_subnormals and code & ~fmt.sign_mask <= fmt.fraction_mask:
        code &= fmt.sign_mask
    return code << container.fraction_bits - fmt.fraction_bits


@checked
def trace_dot_product(
    numerics: DotNumerics,
    stationary_codes: Sequence[Sequence[int]],
    stationary_format: FloatFormat | FixedFormat,
    moving_codes: Sequence[Sequence[int]],
    moving_format: FloatFormat | FixedFormat,
    stationary_scales: Sequence[int],
    moving_scales: Sequence[int],
    partial_sum: int = 0,
) -> tuple[DotTrace, ...]:
    """Chain dot steps: one per row of codes and scales, in order, from `partial_sum` (FP32 code, +0 by default).

    Raises
    ------
    ValueError : the four sequences differ in length, or as `trace_dot_step`.
    """
    rows = {len(each) for each in (stationary_codes, moving_codes, stationary_scales, moving_scales)}
    if len(rows) > 1:
        raise ValueError(f"codes and scales must have the same number of rows, not {sorted(rows)}")
    steps = []
    for x, y, x_scale, y_scale in zip(stationary_codes, moving_codes, stationary_scales, moving_scales, strict=True):
        step = trace_dot_step(numerics, x, stationary_format, y, moving_format, x_scale, y_scale, partial_sum)
        partial_sum = step.result
        steps.append(step)
    return tuple(steps)
