"""The Tensix Matrix unit on scalars: a 16-term dot product, and the element-wise operations.

Ref: ttsim v1.10.0, the only public exact statement; tt-isa-documentation 3930471 for fields, phases and integers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from bitpath.golden.scalar.checked import check_length, checked
from bitpath.golden.scalar.codec import power_of_two
from bitpath.golden.scalar.rounding import floor_log2, round_to_integer, shift_round
from bitpath.golden.tensix.declarations.formats import COLUMNS, EXPONENT5_FORMATS, Format, Style
from bitpath.golden.tensix.declarations.numerics import Masking, TensixNumerics

# One product of the Tensix Matrix unit: the 7x5-bit multiplier and its fidelity phases.
#
# Ref: tt-isa-documentation 3930471, SrcASrcB and ELWMUL; the field table is in both and in ttsim v1.10.0.


PRODUCT_FRACTION_BITS = 10
"""Fraction bits of a product of two fields, a value below 4."""


@dataclass(frozen=True)
class Source:
    """A datum as the Matrix unit reads it: ``(-1)**sign * significand / 2**10 * 2**(exponent - bias)``, or zero.

    Attributes
    ----------
    sign : 0 or 1.
    exponent : the biased exponent.
    significand : 11 bits with the hidden one; 0 for a zero.
    """

    sign: int
    exponent: int
    significand: int

    @property
    def is_zero(self) -> bool:
        return self.significand == 0


@dataclass(frozen=True)
class Product:
    """A product of two fields: ``(-1)**sign * magnitude / 2**10 * 2**(exponent - bias of the result)``.

    Attributes
    ----------
    sign : 0 or 1; 0 for a product of a zero operand.
    field_a, field_b : the 5 bits taken of SrcA and the 7 bits taken of SrcB.
    magnitude : their product, 12 bits.
    exponent : signed; that of a product of a zero operand is by `TensixNumerics.zero_terms_keep_bias`.
    is_zero : an operand is zero.
    """

    sign: int
    field_a: int
    field_b: int
    magnitude: int
    exponent: int
    is_zero: bool


@dataclass(frozen=True)
class IntegerProduct:
    """A product of two integer fields, each with its weight.

    Attributes
    ----------
    field_a, field_b : the bits taken of SrcA's and SrcB's magnitudes, in place.
    value : their signed product.
    """

    field_a: int
    field_b: int
    value: int


@checked
def read_source(
    numerics: TensixNumerics, word: int, style: Style, source_format: Format, *, is_src_b: bool = False
) -> Source:
    """Take a logical 19-bit word apart, masked as its format or the style asks. Exponent 0 makes it zero, by the zero flag."""
    exponent, fraction = word >> 10 & 0xFF, word & 0x3FF
    if style is Style.FP16:
        exponent &= 0x1F
    elif masked_to_bf16(numerics, style, source_format):
        fraction &= ~0b111
    is_zero = exponent == 0 and not (is_src_b and numerics.zero_flag_disabled)
    return Source(word >> 18 & 1, exponent, 0 if is_zero else fraction | 1 << 10)


def masked_to_bf16(numerics: TensixNumerics, style: Style, source_format: Format) -> bool:
    """True if the three fraction bits that BF16 lacks are read as 0."""
    if numerics.masking is Masking.SRCA_STYLE:
        return style is Style.BF16
    return source_format is not Format.TF32 and source_format not in EXPONENT5_FORMATS


def rebias(style: Style, dst32: bool) -> int:
    """Return the offset that turns the sum of two biased exponents into an exponent with the bias of Dst."""
    if style is not Style.FP16:
        return -127
    return 127 - 2 * 15 if dst32 else -15


def phase_weight(phase: int) -> int:
    """Return w of a fidelity phase: its product has the weight 2**-w."""
    return (5 if phase & 1 else 0) + (7 if phase & 2 else 0)


@checked
def fields(a: Source, b: Source, phase: int) -> tuple[int, int]:
    """Return the 5 bits of SrcA's significand and the 7 bits of SrcB's that a fidelity phase multiplies.

    The lowest bit of SrcA's significand is in neither of its fields.
    """
    field_a = a.significand >> 1 & 0x1F if phase & 1 else a.significand >> 6
    field_b = (b.significand & 0xF) << 3 if phase & 2 else b.significand >> 4
    return field_a, field_b


@checked
def multiply(numerics: TensixNumerics, a: Source, b: Source, *, style: Style, dst32: bool, phase: int) -> Product:
    """Multiply two sources in one fidelity phase."""
    offset = rebias(style, dst32) - phase_weight(phase)
    if a.is_zero or b.is_zero:
        return Product(0, 0, 0, 0, max(offset, 0) if numerics.zero_terms_keep_bias else 0, True)
    field_a, field_b = fields(a, b, phase)
    return Product(a.sign ^ b.sign, field_a, field_b, field_a * field_b, a.exponent + b.exponent + offset, False)


def integer_datum(numerics: TensixNumerics, word: int, *, is_src_b: bool = False) -> tuple[int, int]:
    """Return sign and 10-bit magnitude of an integer datum in a logical 19-bit word."""
    flush = numerics.int8_zero_exponent_flush and not (is_src_b and numerics.zero_flag_disabled)
    if flush and word >> 10 & 0xFF == 0:
        return 0, 0
    return word >> 18 & 1, word & 0x3FF


@checked
def multiply_integer(numerics: TensixNumerics, a: int, b: int, phase: int) -> IntegerProduct:
    """Multiply the fields of two integer words in one fidelity phase, each with its weight."""
    (a_sign, a_magnitude), (b_sign, b_magnitude) = integer_datum(numerics, a), integer_datum(numerics, b, is_src_b=True)
    field_a = a_magnitude & 0x1F if phase & 1 else a_magnitude & 0xE0
    field_b = b_magnitude & 0xF if phase & 2 else b_magnitude & 0x3F0
    return IntegerProduct(field_a, field_b, (-1) ** (a_sign ^ b_sign) * field_a * field_b)


# The Tensix Matrix unit's last steps: align sums with Dst, add, normalise, round. Steps 5 to 10 of the algorithm.
#
# Ref: ttsim v1.10.0, the only public exact statement; tt-isa-documentation 3930471 for the formats.


SUM_FRACTION_BITS = 23
"""Fraction bits of the addends."""
NARROW_FRACTION_BITS = 10
"""The same after the rounding that a 16-bit Dst adds."""
INT32_MAX = (1 << 31) - 1


@dataclass(frozen=True)
class Accumulation:
    """The three-way addition, bit by bit.

    Attributes
    ----------
    exponent : the common biased exponent E; not above 0 makes the result +0.
    addends : the sums and last Dst, aligned and rounded, in units of ``2**-fraction_bits`` at E.
    fraction_bits : 23, or 10 for a 16-bit Dst with pre-rounding.
    total : their sum.
    quirk : the result is the wrong one of the sum -1.
    result : Dst word.
    """

    exponent: int
    addends: tuple[int, ...]
    fraction_bits: int
    total: int
    quirk: bool
    result: int


def dst_fields(style: Style, dst32: bool) -> tuple[int, int]:
    """Return exponent and fraction bits of a float Dst word."""
    if dst32:
        return 8, 23
    return (5, 10) if style is Style.FP16 else (8, 7)


def read_dst(word: int, style: Style, dst32: bool) -> tuple[int, int]:
    """Return the biased exponent and the signed significand, with 23 fraction bits, of a float Dst word."""
    exponent_bits, fraction_bits = dst_fields(style, dst32)
    exponent = word >> fraction_bits & (1 << exponent_bits) - 1
    if exponent == 0:
        return 0, 0
    significand = word & (1 << fraction_bits) - 1 | 1 << fraction_bits
    sign = word >> exponent_bits + fraction_bits & 1
    return exponent, (-1) ** sign * significand << SUM_FRACTION_BITS - fraction_bits


@checked
def accumulate(
    numerics: TensixNumerics,
    dst: int,
    sums: Sequence[tuple[int, int]],
    *,
    style: Style,
    dst32: bool,
) -> Accumulation:
    """Add sums, each a signed integer in units of 2**-23 and its biased exponent, to a float Dst word."""
    dst_exponent, dst_significand = read_dst(dst, style, dst32)
    exponent = max([dst_exponent, *(each for _, each in sums)])
    if exponent <= 0:
        return Accumulation(exponent, (0,) * (len(sums) + 1), SUM_FRACTION_BITS, 0, False, 0)
    terms = [(significand, each, numerics.sum_tie) for significand, each in sums]
    terms.append((dst_significand, dst_exponent, numerics.dst_tie))
    fraction_bits = SUM_FRACTION_BITS
    addends = [shift_round(value, exponent - each, tie) for value, each, tie in terms]
    if not dst32 and numerics.pre_round:
        fraction_bits = NARROW_FRACTION_BITS
        dropped = SUM_FRACTION_BITS - fraction_bits
        addends = [shift_round(value, dropped, tie) for value, (_, _, tie) in zip(addends, terms, strict=True)]
    total = sum(addends)
    quirk = dst32 and numerics.minus_one_quirk and total == -1
    value, weight = (Fraction(-1), exponent + 4) if quirk else (Fraction(total, 1 << fraction_bits), exponent)
    result = encode_dst(numerics, value, weight, style, dst32)
    return Accumulation(exponent, tuple(addends), fraction_bits, total, quirk, result)


def encode_dst(numerics: TensixNumerics, value: Fraction, exponent: int, style: Style, dst32: bool) -> int:
    """Normalise and round ``value * 2**(exponent - bias)`` to a Dst word; too small gives +0."""
    if value == 0:
        return 0
    exponent_bits, fraction_bits = dst_fields(style, dst32)
    position = floor_log2(value)
    significand = abs(round_to_integer(value / power_of_two(position - fraction_bits), numerics.final_tie))
    if significand == 1 << fraction_bits + 1:
        position += 1
    biased = exponent + position
    if biased <= 0:
        return 0
    sign = int(value < 0) << exponent_bits + fraction_bits
    if exponent_bits == 5 and biased > 31:
        return sign | 0x7FFF
    if exponent_bits == 8 and biased >= 255:
        return sign | 255 << fraction_bits
    return sign | biased << fraction_bits | significand & (1 << fraction_bits) - 1


@checked
def accumulate_integer(dst: int, value: int) -> int:
    """Add an integer to a sign-magnitude INT32 Dst word, saturating; zero is +0."""
    magnitude = dst & INT32_MAX
    total = (-magnitude if dst >> 31 else magnitude) + value
    return min(abs(total), INT32_MAX) | (1 << 31 if total < 0 else 0)


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
