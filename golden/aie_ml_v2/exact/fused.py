"""One lane of the floating-point multiply-accumulate, with everything it goes through.

Ref: AM027, chapter 4, for the alignment to the largest exponent; its rounding is pinned by conversions and matmuls that
were measured on first-generation silicon; llvm-aie for MX9's two cycles.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor

from bitpath.golden.aie_ml_v2.declarations.codes import (
    BFP16EBS8,
    EXP2_FRACTION_BITS,
    EXP2_OFFSET,
    EXP2_OFFSET_CODE,
    MX4,
    MX4_PADDING,
    MX9,
    MX_BIAS,
    MX_BLOCK,
    MX_FORMS,
    MX_NAN_EXPONENT,
    TILE_BLOCKS,
    MxFormat,
    RoundingCode,
)
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics, Mx4Path
from bitpath.golden.formats.catalogue import BF16, FP32, FloatFormat, Rounding
from bitpath.golden.scalar.checked import check_length, checked
from bitpath.golden.scalar.codec import Kind, Unpacked, decode, power_of_two, scaled
from bitpath.golden.scalar.rounding import Term as ExactTerm
from bitpath.golden.scalar.rounding import (
    product,
    round_to_format,
    round_to_integer,
    round_unbounded,
    special_sum,
    term,
)

# Blocks on scalars: FP32 codes to a block and back, the block's bytes and registers, and tiles of bfp16ebs8.
#
# Ref: amd-quark 0.13 for the conversion; AM027, UG1639 and llvm-aie for the layouts; XDNA2 for bfp16ebs8.


LARGEST_EXPONENT = MX_NAN_EXPONENT - 1


@checked
@dataclass(frozen=True)
class Block:
    """A block: one exponent byte, shift bits (bit j for elements 2j and 2j + 1), signed codes.

    MX has 8 shift bits and 16 codes, BFP16EBS8 none (`shift` is 0) and 8.
    """

    fmt: MxFormat
    exponent: int
    shift: int
    codes: tuple[int, ...]

    @checked
    def shift_of(self, element: int) -> int:
        """Return the shift of an element's pair, 0 or 1."""
        return self.shift >> element // 2 & 1

    @checked
    def value(self, element: int) -> Fraction:
        """Return an element's number, whatever the exponent byte says of NaN."""
        weight = self.exponent - MX_BIAS - self.shift_of(element) + 1 - self.fmt.magnitude_bits
        return scaled(self.codes[element], weight)


@dataclass(frozen=True)
class BlockTrace:
    """A conversion to a block, step by step.

    Attributes
    ----------
    numerics, rounding : numerics and rounding of the conversion.
    inputs : FP32 codes.
    exponents : their biased exponents.
    pair_exponents : the largest of each sub-tile, a pair or without shifts the block, one higher where it was bumped.
    rounded : the elements in units of their sub-tile's last place, after rounding and before saturation.
    block : the result.
    """

    numerics: AieNumerics
    rounding: RoundingCode
    inputs: tuple[int, ...]
    exponents: tuple[int, ...]
    pair_exponents: tuple[int, ...]
    rounded: tuple[int, ...]
    block: Block


@checked
def trace_to_mx(numerics: AieNumerics, inputs: Sequence[int], fmt: MxFormat, rounding: RoundingCode) -> BlockTrace:
    """Convert the FP32 codes of a block, 16 or in BFP16EBS8 8."""
    check_length("inputs", inputs, fmt.elements)
    exponents = tuple(code >> FP32.fraction_bits & FP32.exponent_mask for code in inputs)
    pairs = tuple(map(max, _sub_tiles(exponents, fmt)))
    if numerics.mx_nan_block and max(pairs) == MX_NAN_EXPONENT:
        nan = Block(fmt, MX_NAN_EXPONENT, 0, (0,) * fmt.elements)
        return BlockTrace(numerics, rounding, tuple(inputs), exponents, pairs, nan.codes, nan)
    values = [_value(numerics, code) for code in inputs]
    lowest = fmt.min_code if numerics.mx_min_code else -fmt.max_code
    rounded, shift = _round(values, pairs, fmt, rounding)
    if numerics.mx_bump:
        # A pair two binades or more below the block's exponent is rounded too coarsely to leave the range.
        leaves = [min(codes) < lowest or max(codes) > fmt.max_code for codes in _sub_tiles(rounded, fmt)]
        pairs = tuple(each + 1 if each < LARGEST_EXPONENT and leaves[j] else each for j, each in enumerate(pairs))
        rounded, shift = _round(values, pairs, fmt, rounding)
    codes = tuple(min(max(code, lowest), fmt.max_code) for code in rounded)
    block = Block(fmt, max(pairs), shift, codes)
    return BlockTrace(numerics, rounding, tuple(inputs), exponents, pairs, rounded, block)


@checked
def to_mx(numerics: AieNumerics, inputs: Sequence[int], fmt: MxFormat, rounding: RoundingCode) -> Block:
    """Return the block of `trace_to_mx`."""
    return trace_to_mx(numerics, inputs, fmt, rounding).block


def _sub_tiles(values: Sequence[int], fmt: MxFormat) -> list[Sequence[int]]:
    """Return the elements that are scaled alike."""
    return [values[first : first + fmt.sub_tile] for first in range(0, fmt.elements, fmt.sub_tile)]


def _value(numerics: AieNumerics, code: int) -> Fraction:
    """Return an FP32 code's number; exponent 255 is read as any other."""
    exponent, fraction = code >> FP32.fraction_bits & FP32.exponent_mask, code & FP32.fraction_mask
    if exponent == 0 and numerics.mx_flush:
        return Fraction(0)
    significand = fraction | 1 << FP32.fraction_bits if exponent else fraction
    sign = -1 if code & FP32.sign_mask else 1
    return scaled(sign * significand, max(exponent, 1) - FP32.bias - FP32.fraction_bits)


def _round(
    values: Sequence[Fraction], pairs: Sequence[int], fmt: MxFormat, rounding: RoundingCode
) -> tuple[tuple[int, ...], int]:
    """Return the codes before saturation and the shift byte, for given exponents of the pairs."""
    shared = max(pairs)
    shift = sum(int(shared > each) << j for j, each in enumerate(pairs))
    codes = []
    for i, value in enumerate(values):
        last_place = power_of_two(shared - MX_BIAS - (shift >> i // 2 & 1) + 1 - fmt.magnitude_bits)
        codes.append(round_to_integer(value / last_place, rounding.mode))
    return tuple(codes), shift


@checked
def from_mx(numerics: AieNumerics, block: Block) -> list[int]:
    """Return the elements' FP32 codes: exact, flushed below the normal numbers, infinity from 2**128 on."""
    if numerics.mx_nan_block and block.exponent == MX_NAN_EXPONENT:
        return [FP32.nan_code] * block.fmt.elements
    codes = []
    for i in range(block.fmt.elements):
        value = block.value(i)
        sign = FP32.sign_mask if value < 0 else 0
        exact = round_to_format(value, FP32, Rounding.RTZ)
        codes.append(sign if abs(value) < FP32.min_normal else exact)
    return codes


@checked
def pack_tile(blocks: Sequence[Block]) -> bytes:
    """Return the bytes of 8 blocks of BFP16EBS8 in memory: all codes, then the exponents."""
    check_length("blocks", blocks, TILE_BLOCKS)
    codes = [code % (1 << BFP16EBS8.width) for block in blocks for code in block.codes]
    return bytes([*codes, *(block.exponent for block in blocks)])


@checked
def unpack_tile(data: bytes) -> list[Block]:
    """Return the 8 blocks of their bytes in memory."""
    size, elements = 1 << BFP16EBS8.width, BFP16EBS8.elements
    codes = [code - size * (code > BFP16EBS8.max_code) for code in data[:-TILE_BLOCKS]]
    return [
        Block(BFP16EBS8, exponent, 0, tuple(codes[i * elements : (i + 1) * elements]))
        for i, exponent in enumerate(data[-TILE_BLOCKS:])
    ]


@checked
def pack_block(block: Block) -> bytes:
    """Return an MX block's bytes in memory: exponent, shifts, codes as a little-endian bit stream."""
    stream = 0
    for i, code in enumerate(block.codes):
        stream |= code % (1 << block.fmt.width) << i * block.fmt.width
    return bytes([block.exponent, block.shift]) + stream.to_bytes(block.fmt.block_bytes - 2, "little")


@checked
def unpack_block(data: bytes, fmt: MxFormat) -> Block:
    """Return the MX block of its bytes in memory."""
    stream = int.from_bytes(data[2:], "little")
    codes = [stream >> i * fmt.width & (1 << fmt.width) - 1 for i in range(MX_BLOCK)]
    return Block(fmt, data[0], data[1], tuple(code - (code > fmt.max_code) * (1 << fmt.width) for code in codes))


@checked
def register_bytes(block: Block) -> tuple[bytes, bytes, bytes, bytes]:
    """Return an MX block's share of the vector, F, G and E registers, each as bytes."""
    form = MX_FORMS[block.fmt]
    padding = MX4_PADDING if block.fmt is MX4 else 0
    data, signs = 0, 0
    for i, code in enumerate(block.codes):
        word = (code << padding) % (1 << form.data_bits + form.msb_bits)
        data |= (word & (1 << form.data_bits) - 1) << i * form.data_bits
        signs |= (word >> form.data_bits) << i * form.msb_bits
    count = MX_BLOCK // form.elements_per_byte
    shifts = bytes([block.shift]) if count == 1 else bytes([block.shift & 0xF, block.shift >> 4])
    return (
        data.to_bytes(MX_BLOCK * form.data_bits // 8, "little"),
        signs.to_bytes(MX_BLOCK * form.msb_bits // 8, "little"),
        shifts,
        bytes([block.exponent] * count),
    )


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


# exp2 and tanh on scalars, decided exactly.
#
# Ref: UG1639 and llvm-aie for exp2's argument; no public document describes either approximation, so the model
# returns correctly rounded values (`bitpath.golden.aie_ml_v2.declarations.choices.CHOICES`).


TANH_IS_ONE = 4
"""From here on tanh is nearer to 1 than to the BF16 number below it: 1 - tanh(4) < 2**-9 / 2."""


@checked
def exp2(numerics: AieNumerics, code: int, fmt: FloatFormat) -> int:
    """Return 2**x as a BF16, FP16 or BF20 code for an FP32 code x, through the header's addition and the instruction."""
    total = trace_float_lane(numerics, (), (), code, EXP2_OFFSET_CODE).result
    return exp2_instruction(total, fmt)


@checked
def exp2_instruction(code: int, fmt: FloatFormat) -> int:
    """Return 2**(t - 895) for an FP32 code t; the instruction reads 11 of its fraction bits."""
    t = decode(FP32, code)
    if t.kind is Kind.NAN:
        return fmt.nan_code
    if t.kind is Kind.INFINITY:
        return 0 if t.sign else fmt.max_code
    scaled = floor((t.value - EXP2_OFFSET) * (1 << EXP2_FRACTION_BITS))
    exponent, index = divmod(scaled, 1 << EXP2_FRACTION_BITS)
    if exponent > fmt.emax:
        return fmt.max_code
    if exponent < fmt.emin:
        return 0
    # The significand s of fmt.precision bits that is nearest to 2**(index / 2048) * 2**fraction_bits: the largest whose
    # midpoint below is below it. Both are compared by their 2048th powers, which are integers; none are ever equal but at 0.
    power = 1 << EXP2_FRACTION_BITS
    target = 1 << index + power * (fmt.fraction_bits + 1)
    low, high = 1 << fmt.fraction_bits, 1 << fmt.precision
    while low < high:
        middle = (low + high + 1) // 2
        if (2 * middle - 1) ** power < target:
            low = middle
        else:
            high = middle - 1
    code = ((exponent + fmt.bias) << fmt.fraction_bits) + low - (1 << fmt.fraction_bits)
    return min(code, fmt.max_code)


@checked
def tanh(code: int) -> int:
    """Return the BF16 code nearest to the hyperbolic tangent of an FP32 code."""
    x = decode(FP32, code)
    sign = BF16.sign_mask if x.sign else 0
    if x.kind is Kind.NAN:
        return BF16.nan_code
    one = round_to_format(Fraction(1), BF16)
    if x.kind is Kind.INFINITY or abs(x.value) >= TANH_IS_ONE:
        return sign | one
    if x.is_zero:
        return sign
    # Convergents of the continued fraction x / (1 + x**2 / (3 + x**2 / (5 + ...))) lie by turns above and below.
    depth = 2
    while True:
        codes = {round_to_format(convergent(abs(x.value), each), BF16) for each in (depth, depth + 1)}
        if len(codes) == 1:
            return sign | codes.pop()
        depth += 1


def convergent(x: Fraction, depth: int) -> Fraction:
    """Return the continued fraction of tanh, cut after a number of partial denominators."""
    denominator = Fraction(2 * depth - 1)
    for k in range(depth - 1, 0, -1):
        denominator = 2 * k - 1 + x * x / denominator
    return x / denominator
