"""One lane of the floating-point multiply-accumulate, with everything it goes through.

Ref: AM027, chapter 4, for the alignment to the largest exponent; its rounding is pinned by conversions and matmuls that
were measured on first-generation silicon; llvm-aie for MX9's two cycles.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from bitpath.golden.aie_ml_v2.declarations.codes import MX4, MX9, MX_BIAS, MX_BLOCK, MX_NAN_EXPONENT
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics, Mx4Path
from bitpath.golden.aie_ml_v2.exact.blocks import Block
from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.scalar.arguments import check_length
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Kind, Unpacked, decode, power_of_two
from bitpath.golden.scalar.rounding import round_to_format, round_to_integer, round_unbounded
from bitpath.golden.scalar.terms import Term as ExactTerm
from bitpath.golden.scalar.terms import product, special_sum, term

MX9_HALF = MX_BLOCK // 2
QUARTERS = 4
"""Grid steps in a unit in the last place of a block pair: two operands, each shifted by at most one bit."""


@dataclass(frozen=True)
class Term(ExactTerm):
    """One summand of a lane: a product, the sum of a block pair, or an accumulator, negation applied.

    Attributes
    ----------
    kind, sign, value, exponent : as in the base; the exponent is the code p.
    aligned : the value on the grid, in its units.
    """

    aligned: int = 0


@dataclass(frozen=True)
class LaneTrace:
    """A lane's work, bit by bit.

    Attributes
    ----------
    numerics : numerics of the lane.
    a, b : float codes with their formats, or the block pair.
    acc1, acc2 : FP32 codes; None where absent or zeroed.
    negated : True if the products, acc1 and acc2 are negated.
    products : the exact signed products before alignment: of floats one a term, of MX in units of the pair's last place.
    post_add : for MX, the sums of products that are rounded together, in quarters of that place, since each of the two
        shifts may add one bit below it; empty for floats and NaN blocks.
    terms : the products or block sums, then the accumulators.
    exponent : the largest code p; None where no term counts or one is not finite.
    total : the sum on the grid ``2**(exponent - 255 - align_fraction_bits)``; None where not finite.
    exact : sum of the terms before alignment; None where not finite.
    result : FP32 code.
    """

    numerics: AieNumerics
    a: tuple[tuple[int, FloatFormat], ...] | Block
    b: tuple[tuple[int, FloatFormat], ...] | Block
    acc1: int | None
    acc2: int | None
    negated: tuple[bool, bool, bool]
    products: tuple[Fraction, ...]
    post_add: tuple[int, ...]
    terms: tuple[Term, ...]
    exponent: int | None = None
    total: int | None = None
    exact: Fraction | None = None
    result: int = FP32.nan_code

    @property
    def product_terms(self) -> tuple[Term, ...]:
        """The terms without the accumulators."""
        accumulators = sum(each is not None for each in (self.acc1, self.acc2))
        return self.terms[: len(self.terms) - accumulators]

    @property
    def unit(self) -> Fraction:
        """Value of 1 unit on the alignment grid."""
        return _grid_unit(self.numerics, self.exponent)


@checked
def trace_float_lane(
    numerics: AieNumerics,
    a: Sequence[tuple[int, FloatFormat]],
    b: Sequence[tuple[int, FloatFormat]],
    acc1: int | None = None,
    acc2: int | None = None,
    *,
    negate_products: bool = False,
    negate_acc1: bool = False,
    negate_acc2: bool = False,
) -> LaneTrace:
    """Sum products of floats and up to two accumulators.

    Parameters
    ----------
    a, b : as many (code, format) each.
    acc1, acc2 : FP32 codes.
    """
    check_length("b", b, len(a), " as a")
    terms = [_product(numerics, x, y, negate_products) for x, y in zip(a, b, strict=True)]
    products = tuple(term.value for term in terms)
    terms += _accumulators((acc1, negate_acc1), (acc2, negate_acc2))
    negated = negate_products, negate_acc1, negate_acc2
    return _sum(LaneTrace(numerics, tuple(a), tuple(b), acc1, acc2, negated, products, (), tuple(terms)))


@checked
def trace_mx_lane(
    numerics: AieNumerics,
    a: Block,
    b: Block,
    acc1: int | None = None,
    acc2: int | None = None,
    *,
    negate_products: bool = False,
    negate_acc1: bool = False,
    negate_acc2: bool = False,
) -> LaneTrace:
    """Sum a block pair's products, 16 or in BFP16EBS8 8, and up to two accumulators."""
    sign = -1 if negate_products else 1
    products = [sign * _mx_product(numerics, a, b, i) for i in range(a.fmt.elements)]
    exponents = a.exponent, b.exponent
    terms, post_add = [], []
    if numerics.mx_nan_block and MX_NAN_EXPONENT in exponents:
        terms.append(Term(Kind.NAN, 0, Fraction(0), None))
    else:
        unit = power_of_two(sum(exponents) - 2 * MX_BIAS - 2 * (a.fmt.magnitude_bits - 1))
        for group in _groups(numerics, a, products):
            total = sum(group, Fraction(0))
            counts = total or (numerics.mx_zero_term and 0 not in exponents)
            exponent = sum(exponents) + 1 if counts else None
            terms.append(Term(Kind.FINITE, int(total < 0), total * unit, exponent))
            post_add.append(int(total * QUARTERS))
    terms += _accumulators((acc1, negate_acc1), (acc2, negate_acc2))
    negated = negate_products, negate_acc1, negate_acc2
    return _sum(LaneTrace(numerics, a, b, acc1, acc2, negated, tuple(products), tuple(post_add), tuple(terms)))


def _product(numerics: AieNumerics, x: tuple[int, FloatFormat], y: tuple[int, FloatFormat], negate: bool) -> Term:
    (a, a_format), (b, b_format) = x, y
    u, v = decode(a_format, a), decode(b_format, b)
    # The third factor is -1 to negate, else 1.
    exact = product(u, v, Unpacked(Kind.FINITE, int(negate), 1, 0))
    # The exponents of leading places, those of the smallest normal numbers for subnormals, rebased to 127.
    leading = u.exponent + a_format.fraction_bits + v.exponent + b_format.fraction_bits
    counts = exact.kind is Kind.FINITE and (exact.value or numerics.float_zero_term)
    exponent = leading + 2 * FP32.bias + 1 if counts else None
    return Term(exact.kind, exact.sign, exact.value, exponent)


def _mx_product(numerics: AieNumerics, a: Block, b: Block, element: int) -> Fraction:
    """Return a product in units of the block pair's last place without shifts."""
    product = Fraction(a.codes[element] * b.codes[element], 1 << a.shift_of(element) + b.shift_of(element))
    # MX4 codes are multiplied with zeros appended below, which receive the bits of a right shift.
    return product if numerics.mx_lossless_shift or a.fmt is MX4 else Fraction(round_to_integer(product, Rounding.RTD))


def _groups(numerics: AieNumerics, a: Block, products: Sequence[Fraction]) -> list[Sequence[Fraction]]:
    """Return products in the groups that are rounded together."""
    if not numerics.mx_post_add_first:
        return [[each] for each in products]
    as_mx9 = a.fmt is MX9 or (a.fmt is MX4 and numerics.mx4_path is Mx4Path.MX9)
    if as_mx9 and numerics.mx9_split_round:
        return [products[:MX9_HALF], products[MX9_HALF:]]
    return [products]


def _accumulators(*accumulators: tuple[int | None, bool]) -> list[Term]:
    terms = []
    for code, negate in accumulators:
        if code is None:
            continue
        x = decode(FP32, code)
        value = -term(x).value if negate else term(x).value
        exponent = x.exponent + FP32.fraction_bits + 2 * FP32.bias + 1 if value else None
        terms.append(Term(x.kind, x.sign ^ negate, value, exponent))
    return terms


def _sum(lane: LaneTrace) -> LaneTrace:
    """Align the terms to the largest exponent, add them and round the sum."""
    special = special_sum(lane.terms)
    if special is not None:
        return replace(lane, result=special)
    exponents = [each.exponent for each in lane.terms if each.exponent is not None]
    if not exponents:
        return replace(lane, total=0, exact=Fraction(0), result=0)
    unit = _grid_unit(lane.numerics, max(exponents))
    count = len(lane.product_terms)
    terms = []
    for i, each in enumerate(lane.terms):
        code = lane.numerics.align_rounding if i < count else lane.numerics.accumulator_align_rounding
        aligned = round_to_integer(each.value / unit, code.mode)
        terms.append(Term(each.kind, each.sign, each.value, each.exponent, aligned))
    total = sum(each.aligned for each in terms)
    return replace(
        lane,
        terms=tuple(terms),
        exponent=max(exponents),
        total=total,
        exact=sum((each.value for each in terms), Fraction(0)),
        result=_normalise(lane.numerics, total * unit),
    )


def _grid_unit(numerics: AieNumerics, exponent: int) -> Fraction:
    return power_of_two(exponent - 2 * FP32.bias - 1 - numerics.align_fraction_bits)


def _normalise(numerics: AieNumerics, value: Fraction) -> int:
    """Round to 24 bits whatever the exponent, then flush or overflow."""
    if value == 0:
        return 0
    sign = FP32.sign_mask if value < 0 else 0
    rounded = round_unbounded(value, FP32, numerics.result_rounding.mode)
    if abs(rounded) < FP32.min_normal:
        return sign if numerics.flushed_zero_keeps_sign else 0
    return round_to_format(rounded, FP32, Rounding.RTZ)
