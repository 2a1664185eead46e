"""The Tensix Matrix unit on scalars: a 16-term dot product, and the element-wise operations.

Ref: ttsim v1.10.0, the only public exact statement; tt-isa-documentation 3930471 for fields, phases and integers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bitpath.golden.scalar.arguments import check_length
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.rounding import shift_round
from bitpath.golden.tensix.declarations.formats import COLUMNS, Format, Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.exact.accumulate import (
    SUM_FRACTION_BITS,
    Accumulation,
    accumulate,
    accumulate_integer,
)
from bitpath.golden.tensix.exact.multiplier import (
    PRODUCT_FRACTION_BITS,
    IntegerProduct,
    Product,
    Source,
    integer_datum,
    multiply,
    multiply_integer,
    read_source,
    rebias,
)


@dataclass(frozen=True)
class Dot16Trace:
    """A 16-term dot product, bit by bit.

    Attributes
    ----------
    numerics, style, dst32, phase : arguments of the instruction.
    src_a, src_b, dst : the words given.
    a, b : the sources as they are read.
    products : 16 products in order.
    group_exponents : the maximum exponent of each group; not above 0 makes the group 0.
    aligned : 16 signed products in units of ``2**-(10 + guard bits)`` at their group's exponent.
    sums : the groups' sums, in units of 2**-23, each with its exponent.
    accumulation : the addition to Dst.
    """

    numerics: TensixNumerics
    style: Style
    dst32: bool
    phase: int
    src_a: tuple[int, ...]
    src_b: tuple[int, ...]
    dst: int
    a: tuple[Source, ...]
    b: tuple[Source, ...]
    products: tuple[Product, ...]
    group_exponents: tuple[int, ...]
    aligned: tuple[int, ...]
    sums: tuple[tuple[int, int], ...]
    accumulation: Accumulation

    @property
    def result(self) -> int:
        """The Dst word after accumulation and rounding."""
        return self.accumulation.result


@dataclass(frozen=True)
class IntegerDot16Trace:
    """A 16-term integer dot product.

    Attributes
    ----------
    phase : fidelity phase of the instruction.
    src_a, src_b, dst : the words given.
    products : 16 products in order.
    total : their sum.
    result : the INT32 Dst word.
    """

    phase: int
    src_a: tuple[int, ...]
    src_b: tuple[int, ...]
    dst: int
    products: tuple[IntegerProduct, ...]
    total: int
    result: int


@checked
def trace_dot16(
    numerics: TensixNumerics,
    dst: int,
    b: Sequence[int],
    a: Sequence[int],
    *,
    style: Style,
    dst32: bool,
    phase: int,
    srca_format: Format,
    srcb_format: Format,
) -> Dot16Trace:
    """Add the dot product of 16 words of a SrcB row and a SrcA column to one float Dst word, in one fidelity phase."""
    check_length("a", a, COLUMNS)
    check_length("b", b, COLUMNS)
    read_a = tuple(read_source(numerics, word, style, srca_format) for word in a)
    read_b = tuple(read_source(numerics, word, style, srcb_format, is_src_b=True) for word in b)
    products = tuple(
        multiply(numerics, x, y, style=style, dst32=dst32, phase=phase) for x, y in zip(read_a, read_b, strict=True)
    )
    scale = 1 << numerics.product_guard_bits
    exponents, aligned, sums = [], [], []
    for start in range(0, len(products), numerics.group):
        group = products[start : start + numerics.group]
        counted = [p for p in group if numerics.empty_terms_in_maximum or p.is_zero or p.magnitude]
        highest = max((p.exponent for p in counted), default=0)
        if highest <= 0:
            terms, exponent = [0] * len(group), 0
        else:
            # A product above the maximum does not count: it is empty and stays 0 after any shift.
            terms = [
                shift_round((-1) ** p.sign * p.magnitude * scale, highest - p.exponent, numerics.product_tie)
                for p in group
            ]
            exponent = highest
        exponents.append(highest)
        aligned.extend(terms)
        sums.append((sum(terms) << SUM_FRACTION_BITS - PRODUCT_FRACTION_BITS - numerics.product_guard_bits, exponent))
    accumulation = accumulate(numerics, dst, sums, style=style, dst32=dst32)
    return Dot16Trace(
        numerics=numerics,
        style=style,
        dst32=dst32,
        phase=phase,
        src_a=tuple(a),
        src_b=tuple(b),
        dst=dst,
        a=read_a,
        b=read_b,
        products=products,
        group_exponents=tuple(exponents),
        aligned=tuple(aligned),
        sums=tuple(sums),
        accumulation=accumulation,
    )


@checked
def trace_dot16_integer(
    numerics: TensixNumerics, dst: int, b: Sequence[int], a: Sequence[int], phase: int
) -> IntegerDot16Trace:
    """Add the dot product of 16 integer words each to one INT32 Dst word; the sum saturates once."""
    check_length("a", a, COLUMNS)
    check_length("b", b, COLUMNS)
    products = tuple(multiply_integer(numerics, x, y, phase) for x, y in zip(a, b, strict=True))
    total = sum(each.value for each in products)
    return IntegerDot16Trace(phase, tuple(a), tuple(b), dst, products, total, accumulate_integer(dst, total))


@checked
def dot16_integer(numerics: TensixNumerics, dst: int, b: Sequence[int], a: Sequence[int], phase: int) -> int:
    """Return the Dst word of `trace_dot16_integer`."""
    return trace_dot16_integer(numerics, dst, b, a, phase).result


@checked
def multiply_add(
    numerics: TensixNumerics,
    dst: int,
    b: int,
    a: int,
    *,
    style: Style,
    dst32: bool,
    phase: int,
    srca_format: Format,
    srcb_format: Format,
    keep_src_b_denormals: bool = False,
) -> int:
    """ELWMUL on one datum: add one product to a Dst word."""
    if keep_src_b_denormals:
        numerics = replace(numerics, zero_flag_disabled=True)
    if style is Style.INT8:
        return accumulate_integer(dst, multiply_integer(numerics, a, b, phase).value)

    def product_of(a: int, b: int) -> Product:
        x = read_source(numerics, a, style, srca_format)
        y = read_source(numerics, b, style, srcb_format, is_src_b=True)
        return multiply(numerics, x, y, style=style, dst32=dst32, phase=phase)

    product = product_of(a, b)
    counts = numerics.empty_terms_in_maximum or product.magnitude
    if product.is_zero or product.exponent <= 0 or not counts:
        term = 0, product_of(0, 0).exponent
    else:
        significand = (-1) ** product.sign * product.magnitude << SUM_FRACTION_BITS - PRODUCT_FRACTION_BITS
        term = significand, product.exponent
    return accumulate(numerics, dst, [term], style=style, dst32=dst32).result


@checked
def add(
    numerics: TensixNumerics,
    dst: int,
    b: int,
    a: int,
    *,
    subtract: bool,
    accumulating: bool,
    style: Style,
    dst32: bool,
    srca_format: Format,
    srcb_format: Format,
    keep_src_b_denormals: bool = False,
) -> int:
    """ELWADD and ELWSUB on one datum: ``a + b`` or ``a - b``, added to a Dst word or replacing it."""
    zeros_stay = keep_src_b_denormals and not numerics.zero_flag_disabled
    if keep_src_b_denormals:
        numerics = replace(numerics, zero_flag_disabled=True)
    old = dst if accumulating else 0
    if style is Style.INT8:
        (a_sign, a_magnitude) = integer_datum(numerics, a)
        (b_sign, b_magnitude) = integer_datum(numerics, b, is_src_b=True)
        return accumulate_integer(old, (-1) ** a_sign * a_magnitude + (-1) ** (b_sign ^ subtract) * b_magnitude)
    x, y = read_source(numerics, a, style, srca_format), read_source(numerics, b, style, srcb_format, is_src_b=True)
    if zeros_stay and y.exponent == 0 and y.significand == 1 << 10:
        y = replace(y, significand=0)
    exponent = max(x.exponent, y.exponent)
    total = 0
    for each, flip in ((x, False), (y, subtract)):
        if not each.is_zero:
            signed = (-1) ** (each.sign ^ flip) * each.significand
            total += shift_round(signed, exponent - each.exponent, numerics.product_tie)
    if style is Style.FP16 and dst32:
        exponent = exponent + 127 - 15 if exponent else rebias(style, dst32)
    term = total << SUM_FRACTION_BITS - PRODUCT_FRACTION_BITS, exponent
    return accumulate(numerics, old, [term], style=style, dst32=dst32).result
