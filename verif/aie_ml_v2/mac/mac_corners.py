"""Directed corners of a multiply-accumulate lane: cases for every bin, and the bins of a case."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from math import prod
from random import Random

from bitpath.golden.aie_ml_v2.declarations.codes import MX4, MX9, MX_NAN_EXPONENT, MX_PAIRS, MxFormat, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.exact import Block, LaneTrace
from bitpath.golden.formats.catalogue import BF16, FP32, FloatFormat
from bitpath.golden.scalar.codec import Kind, decode, power_of_two
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.rtl.aie_ml_v2.mac.config import DEPTH, MacMode
from bitpath.verif.aie_ml_v2.mac.mac import (
    LaneCase,
    MacOptions,
    mode_of,
    near_codes,
    random_block,
    random_case,
    random_shift,
    row_of,
)
from bitpath.verif.common.boundary_codes import TIE, break_of, breaks

DISTANCES = 26
"""Largest distance with a bin of its own; larger distances share one."""
DROPPED = 3
"""Most bits that the rounding of a sum drops in corners: eight products and an accumulator always reach them."""
SIGNS = "+-"
ENDS = (0, 1, 254, 255)
"""MX exponent bytes at both ends; 255 is NaN or an ordinary exponent, by the numerics."""


def bins(numerics: AieNumerics, kind: MxFormat | MacMode) -> list[str]:
    """Return all bins of an MX format or a float mode that are reachable with these numerics."""
    places = ("product", "acc1", "acc2")
    names = [f"distance/{place}/{d}" for place in places for d in range(DISTANCES + 2)]
    names += [f"tie/{place}/{sign}" for place in places for sign in SIGNS]
    names += [f"signs/{acc1}{acc2}/{'/'.join(map(str, negate))}" for acc1, acc2, *negate in _sign_bins()]
    names += ["total/0", "accumulators alone", "no accumulator", "nothing at all"]
    names += [f"{name}/{sign}" for name in ("overflow", "flush", "infinity") for sign in SIGNS]
    names += ["nan/acc1", "nan/acc2", "nan/acc1 - acc2"]
    if numerics.align_fraction_bits == FP32.fraction_bits:
        # The unit in the last place of the largest accumulator equals that of the grid.
        names += ["total/+1", "total/-1", *(f"tie/final/{sign}" for sign in SIGNS)]
        names += [f"{name}/{how}/{sign}" for name, how in boundaries(kind) for sign in SIGNS]
    if isinstance(kind, MxFormat):
        return [*names, *_mx_bins(numerics, kind)]
    formats = row_of(kind).formats
    names += [f"formats/{x.name}/{y.name}" for x, y in product(formats, formats)]
    names += [f"subnormal/{side}/{fmt.name}" for side in "xy" for fmt in formats]
    names += [f"nan/{side}/{fmt.name}" for side in "xy" for fmt in formats]
    names += ["nan/infinity * 0", "nan/0 * infinity", "nan/product - product", "nan/product - accumulator"]
    names += ["zero operand leads"]
    usual = numerics.align_fraction_bits == FP32.fraction_bits and numerics.result_rounding is RoundingCode.CONV_EVEN
    if kind is MacMode.FLOAT16 and usual:
        names += [f"carry keeps/{sign}" for sign in SIGNS]
    return names


def boundaries(kind: MxFormat | MacMode) -> Iterator[tuple[str, str]]:
    """Yield cases of the rounding of a sum: a boundary of the results, and how one of the dropped bits breaks the tie.

    Products of 8-bit floats reach neither end; sums of blocks have more than 24 bits only with an accumulator, which is
    above the smallest normal number.
    """
    ends = ["overflow"] if isinstance(kind, MxFormat) else ["overflow", "smallest normal"] * (kind is MacMode.FLOAT16)
    yield from product((*ends, "normal"), breaks(DROPPED))


def _sign_bins() -> Iterator[tuple]:
    return product(SIGNS, SIGNS, (0, 1), (0, 1), (0, 1))


def _mx_bins(numerics: AieNumerics, fmt: MxFormat) -> Iterator[str]:
    if fmt.has_shifts:
        yield from (f"shift/{side}/{mask}" for side in "xy" for mask in range(1 << MX_PAIRS))
    yield from (f"exponent/{side}/{end}" for side in "xy" for end in ENDS)
    yield from ("most negative codes", "zero sum/ignored")
    yield "zero sum/erases" if numerics.mx_zero_term else "zero sum/counts for nothing"
    if numerics.mx_nan_block:
        yield from ("nan/x", "nan/y")


def hits(numerics: AieNumerics, case: LaneCase, trace: LaneTrace) -> Iterator[str]:
    """Return the bins that a case hits."""
    kind = case.x.fmt if case.mode in (MacMode.MX6, MacMode.MX9) else case.mode
    known = _known(numerics, kind)
    return (name for name in _hits(numerics, case, trace) if name in known)


@cache
def _known(numerics: AieNumerics, kind: MxFormat | MacMode) -> frozenset[str]:
    return frozenset(bins(numerics, kind))


def _hits(numerics: AieNumerics, case: LaneCase, trace: LaneTrace) -> Iterator[str]:
    present = [name for name, acc in (("acc1", case.acc1), ("acc2", case.acc2)) if acc is not None]
    count = len(trace.terms) - len(present)
    names = ["product"] * count + present
    if len(present) == 2:
        options = case.options
        negate = (options.negate_products, options.negate_acc1, options.negate_acc2)
        yield f"signs/{SIGNS[case.acc1 >> 31]}{SIGNS[case.acc2 >> 31]}/{'/'.join(str(int(each)) for each in negate)}"
    if not count:
        yield "accumulators alone" if present else "nothing at all"
    elif not present:
        yield "no accumulator"
    if trace.exponent is not None:
        yield from _sum_hits(numerics, trace, names)
    yield from _special_hits(case, trace, names)
    if count and case.formats is not None:
        yield from _float_hits(case)
    elif count:
        yield from _mx_hits(numerics, case, trace)


def _sum_hits(numerics: AieNumerics, trace: LaneTrace, names: list[str]) -> Iterator[str]:
    unit = Fraction(2) ** (trace.exponent - 2 * FP32.bias - 1 - numerics.align_fraction_bits)
    for name, term in zip(names, trace.terms, strict=True):
        if not term.value:
            if term.exponent is not None and term.exponent == trace.exponent:
                yield "zero operand leads"
            continue
        yield f"distance/{name}/{min(trace.exponent - term.exponent, DISTANCES + 1)}"
        if _is_half(term.value / unit):
            yield f"tie/{name}/{SIGNS[term.sign]}"
    total = trace.total
    if total == 0 and any(term.value for term in trace.terms):
        yield "total/0"
    if abs(total) == 1:
        yield f"total/{total:+}"
    if not total:
        return
    sign = SIGNS[total < 0]
    yield from _rounding_hits(total, trace.exponent - FP32.bias - 1)
    magnitude = trace.result & FP32.sign_mask - 1
    if magnitude == 0:
        yield f"flush/{sign}"
    if magnitude == FP32.infinity_code:
        yield f"overflow/{sign}"
    if magnitude == 1 << FP32.fraction_bits and abs(total) * unit < FP32.min_normal:
        yield f"carry keeps/{sign}"


def _rounding_hits(total: int, exponent: int) -> Iterator[str]:
    """Yield how the rounding of a sum to 24 bits is decided, and at which boundary, by its exponent field without sum bits."""
    dropped, sign = abs(total).bit_length() - FP32.precision, SIGNS[total < 0]
    how = break_of(Fraction(abs(total), 1 << dropped)) if dropped > 0 else None
    if how is None:
        return
    if how == TIE:
        yield f"tie/final/{sign}"
    kept, field, largest = abs(total) >> dropped, exponent + dropped, FP32.exponent_mask - 1
    if kept == (2 << FP32.fraction_bits) - 1 and field in (0, largest):
        yield f"{'overflow' if field else 'smallest normal'}/{how}/{sign}"
    if kept % 2 == 0 and 0 < field < largest:
        yield f"normal/{how}/{sign}"


def _special_hits(case: LaneCase, trace: LaneTrace, names: list[str]) -> Iterator[str]:
    """Yield the bins of a sum that is NaN or infinite."""
    magnitude = trace.result & FP32.sign_mask - 1
    if magnitude == FP32.infinity_code and trace.exponent is None:
        yield f"infinity/{SIGNS[trace.result >> 31]}"
    if magnitude <= FP32.infinity_code:
        return
    kinds = [(name, term.kind, term.sign) for name, term in zip(names, trace.terms, strict=True)]
    nans = {name for name, each, _ in kinds if each is Kind.NAN}
    if nans:
        # A single NaN proves that the lane detects it.
        yield from (f"nan/{name}" for name in nans if len(nans) == 1 and name != "product")
        return
    signs = {name: {sign for each, kind, sign in kinds if each == name and kind is Kind.INFINITY} for name in names}
    if signs.get("acc1") and signs.get("acc2") and signs["acc1"] != signs["acc2"]:
        yield "nan/acc1 - acc2"
    products = signs.get("product", set())
    if len(products) == 2:
        yield "nan/product - product"
    elif products:
        yield "nan/product - accumulator"


def _float_hits(case: LaneCase) -> Iterator[str]:
    x_format, y_format = case.formats
    yield f"formats/{x_format.name}/{y_format.name}"
    lanes = [(decode(x_format, a), decode(y_format, b)) for a, b in zip(case.x, case.y, strict=True)]
    for a, b in lanes:
        for side, fmt, each, other in (("x", x_format, a, b), ("y", y_format, b, a)):
            if each.kind is Kind.NAN and other.kind is not Kind.NAN:
                yield f"nan/{side}/{fmt.name}"
            if each.kind is Kind.FINITE and not each.is_zero and abs(each.value) < fmt.min_normal and not other.is_zero:
                yield f"subnormal/{side}/{fmt.name}"
        if a.kind is Kind.INFINITY and b.is_zero:
            yield "nan/infinity * 0"
        if a.is_zero and b.kind is Kind.INFINITY:
            yield "nan/0 * infinity"
    finite = [(a, b) for a, b in lanes if a.kind is b.kind is Kind.FINITE]
    exponents = [
        (a.exponent + x_format.fraction_bits + b.exponent + y_format.fraction_bits, a.is_zero or b.is_zero)
        for a, b in finite
    ]
    if exponents and len(finite) == len(lanes):
        highest = max(exponents)[0]
        if all(zero for exponent, zero in exponents if exponent == highest) and not all(zero for _, zero in exponents):
            yield "zero operand leads"


def _mx_hits(numerics: AieNumerics, case: LaneCase, trace: LaneTrace) -> Iterator[str]:
    for side, block in (("x", case.x), ("y", case.y)):
        yield f"shift/{side}/{block.shift}"
        yield f"exponent/{side}/{block.exponent}"
        other = case.y if block is case.x else case.x
        if block.exponent == MX_NAN_EXPONENT != other.exponent:
            yield f"nan/{side}"
    if {*case.x.codes, *case.y.codes} == {case.x.fmt.min_code}:
        yield "most negative codes"
    if not any(trace.products) and case.acc1 is not None and case.acc2 is None and trace.exponent is not None:
        exponents = (case.x.exponent, case.y.exponent)
        # Compare with the lane's own result for acc1, which a grid coarser than FP32 rounds.
        kept = trace.result == replace(case, options=replace(case.options, multiplies=False)).result(numerics)
        above = sum(exponents) > (case.acc1 >> FP32.fraction_bits & FP32.exponent_mask) + FP32.bias + FP32.precision
        if 0 in exponents and kept:
            yield "zero sum/ignored"
        elif above and case.acc1:
            yield "zero sum/counts for nothing" if kept else "zero sum/erases"


def _is_half(value: Fraction) -> bool:
    return value.denominator == 2


# Directed corners that are specific to floats or to MX.


TINY_EXPONENTS = (13, 14, 20, 30, 31, 40, 62, 63, 95, 126, 127)
"""Biased ones of zeros, beside which the smallest products are shifted out if they count; sums there are flushed.

A product with such a zero has an exponent code two above: the fewest lowest bits that matter together, and each bit that does
alone.
"""
_EMPTY = LaneCase(mode=MacMode.FLOAT16, x=(0,) * DEPTH, y=(0,) * DEPTH, formats=(BF16, BF16))


def float_corners(numerics: AieNumerics, rng: Random, mode: MacMode) -> Iterator[LaneCase]:
    """Pairs of formats, subnormals, NaN and infinities among operands, zeros with large exponents, the rounding carry."""
    formats = row_of(mode).formats
    for x_format, y_format in product(formats, formats):
        depth = row_of(mode).depth
        draw = near_codes(rng)
        x, y = ([draw(rng, fmt) for _ in range(depth)] for fmt in (x_format, y_format))
        case = LaneCase(mode=mode, x=tuple(x), y=tuple(y), formats=(x_format, y_format), acc1=_near_one(rng))
        yield case
        first, second = _one(x_format), _one(y_format)
        yield _with(case, {0: (_subnormal(rng, x_format), second), 1: (first, _subnormal(rng, y_format))})
        yield _with(case, {0: (_nan(rng, x_format), second)})
        yield _with(case, {1: (first, _nan(rng, y_format))})
        yield from _infinities(case)
        # A zero beside the other's largest exponent, above a small product.
        low = 1 << x_format.fraction_bits, 1 << y_format.fraction_bits
        for place in range(depth):
            apart = _with(case, {place: (0, y_format.max_code), (place + 1) % depth: low})
            yield replace(apart, acc1=_near_one(rng) if rng.getrandbits(1) else 0)
            # A zero with any of the lower exponent bits, added to the smallest products, which are flushed to a signed zero.
            for exponent, code in product(TINY_EXPONENTS, ((1, 1), low)):
                zero = 0, min(exponent, y_format.exponent_mask - 1) << y_format.fraction_bits
                smallest = code[0] | x_format.sign_mask, code[1]
                yield replace(_with(case, {place: zero, (place + 1) % depth: smallest}), acc1=0)
        # A product takes part if it has a single bit set.
        lone = {i + k: (x, y) for (i, x), (k, y) in product(*map(enumerate, map(_lone_codes, case.formats)))}
        for pair, place in product(lone.values(), range(depth)):
            yield replace(_with(case, {place: pair}), acc1=None)
    if mode is MacMode.FLOAT16:
        yield from _carries(rng)


def _lone_codes(fmt: FloatFormat) -> list[int]:
    """The codes of each subnormal number whose significand has one bit, and of a large number."""
    return [*(1 << bit for bit in range(fmt.fraction_bits)), fmt.exponent_mask - 1 << fmt.fraction_bits]


def _infinities(case: LaneCase) -> Iterator[LaneCase]:
    """Infinities in every place times 0 and times one bit, of one sign and of both."""
    for side, (fmt, other) in enumerate((case.formats, case.formats[::-1])):
        if fmt.infinity_code is None:
            continue
        signed, order = (fmt.infinity_code, fmt.infinity_code | fmt.sign_mask), slice(None, None, 1 - 2 * side)
        for infinity, factor, place in product(signed, (0, *_lone_codes(other)), range(len(case.x))):
            yield _with(case, {place: (infinity, factor)[order]})
        for sign in (0, 1):
            first, second = ((each, _one(other))[order] for each in (signed[sign], signed[1 - sign]))
            yield _with(case, {3: first, 5: second})
            yield replace(_with(case, {3: first}), acc2=FP32.infinity_code | (1 - sign) * FP32.sign_mask)
            yield replace(_with(case, {3: first}), options=MacOptions(negate_products=True))


def _with(case: LaneCase, pairs: dict[int, tuple[int, int]]) -> LaneCase:
    """A case of these codes, zeros elsewhere."""
    x, y = (tuple(pairs.get(k, (0, 0))[side] for k in range(len(case.x))) for side in (0, 1))
    return replace(case, x=x, y=y)


def _carries(rng: Random) -> Iterator[LaneCase]:
    """BF16 products whose sum is just below 2**-126: with more than 24 bits it rounds up to a normal number, else not."""
    limit = 1 << FP32.fraction_bits + 2
    for sign in (0, 1):
        pairs = _products(rng, limit - 1, sign)
        yield _with(_EMPTY, dict(enumerate(pairs)))
        # Two odd multiples of the unit, which a wrong shift would round up to even; no zero term may shift them right.
        pairs = [*_products(rng, limit - 5, sign), *_products(rng, 3, sign)]
        for first in range(DEPTH):
            case = _with(_EMPTY, {(first + k) % DEPTH: pair for k, pair in enumerate(pairs)})
            yield from (case, replace(case, acc1=0), replace(case, acc2=0))


def _products(rng: Random, units: int, sign: int) -> list[tuple[int, int]]:
    """Return pairs of BF16 whose products sum to ``total`` units of 2**-151, the largest product first."""
    code = 127  # of a product in [1, 4) * 2**-128
    pairs = []
    while units:
        taken, down, a, b = _largest(units)
        units -= taken
        exponents = code - 1 - down
        first = rng.randint(exponents // 2 - 3, exponents // 2)
        x = sign * BF16.sign_mask | first << BF16.fraction_bits | a & BF16.fraction_mask
        pairs.append((x, (exponents - first) << BF16.fraction_bits | b & BF16.fraction_mask))
    return pairs


def _largest(left: int) -> tuple[int, int, int, int]:
    """Return the largest product of two BF16 significands that is exact after a right shift and fits."""
    up = FP32.fraction_bits - 2 * BF16.fraction_bits
    significands = range(1 << BF16.fraction_bits, 2 << BF16.fraction_bits)
    candidates = (
        (a * b << up >> down, down, a, b)
        for down in range(FP32.precision)
        if left.bit_length() in (FP32.precision - down, FP32.precision + 1 - down)
        for a in significands
        for b in significands
        if not (a * b << up) & (1 << down) - 1
    )
    return max(each for each in candidates if each[0] <= left)


def mx_corners(numerics: AieNumerics, rng: Random, fmt: MxFormat) -> Iterator[LaneCase]:
    """All shifts, exponents at their ends, most negative codes, sums that are 0."""

    def case(x: Block, y: Block, acc1: int | None) -> LaneCase:
        return LaneCase(mode=mode_of(fmt, numerics), x=x, y=y, acc1=acc1)

    def block(exponent: int) -> Block:
        return random_block(rng, fmt, exponent)

    all_pairs = (1 << fmt.elements // 2) - 1 if fmt.has_shifts else 0
    for mask in range(all_pairs + 1):
        x, y = (block(rng.randint(120, 134)) for _ in range(2))
        yield case(
            replace(x, shift=mask), replace(y, shift=mask * 181 + 77 & all_pairs), rng.choice((None, _near_one(rng)))
        )
    for end in ENDS:
        other = rng.randint(100, 150)
        for first, second in ((end, other), (other, end), *((end, each) for each in ENDS)):
            yield case(block(first), block(second), rng.choice((None, _near_one(rng))))
    if fmt is MX9:
        # Two codes are a word that as FP16 would be an infinity.
        for code, _ in product((124, -4), range(4)):
            infinite = Block(fmt, rng.randint(120, 134), 0, (0, code) * MX_PAIRS)
            yield from (case(*each, _near_one(rng)) for each in ((infinite, block(127)), (block(127), infinite)))
    lowest = (fmt.min_code,) * fmt.elements
    for shift in (0, all_pairs):
        yield case(Block(fmt, 130, shift, lowest), Block(fmt, 125, 0, lowest), _near_one(rng))
    # A pair with an exponent of 0 takes part if its sum has a single bit set.
    most = fmt.magnitude_bits
    for power in range(2 * most + fmt.elements.bit_length()):
        left, right = min(power, most), min(max(0, power - most), most)
        places = 1 << power - left - right
        codes = (-1 << left,) * places + (0,) * (fmt.elements - places)
        for shifts in ((0, 0), (all_pairs, 0), (all_pairs, all_pairs)):
            x, y = (
                Block(fmt, *each) for each in ((0, shifts[0], codes), (254, shifts[1], (-1 << right,) * fmt.elements))
            )
            yield case(x, y, None)
    # A wrong value in an unused slot would outweigh the smallest sum, which is flushed to a signed zero.
    for place, exponent in product(range(fmt.elements), range(3)):
        x, y = (Block(fmt, 0, all_pairs, tuple(code * (k == place) for k in range(fmt.elements))) for code in (-1, 1))
        yield case(x, replace(y, exponent=exponent), None)
    one = _near_one(rng)
    pairs = [(180, 127), (140, 130), (128, 133), (127, 127), (100, 120), (0, 254), (254, 0), (0, 0)]
    # A zero sum takes part if its exponents have a single bit set.
    pairs += [each for bit in range(FP32.exponent_bits) for each in ((1 << bit, 254), (254, 1 << bit))]
    for first, second in pairs:
        for x in (Block(fmt, first, random_shift(rng, fmt), (0,) * fmt.elements), _cancelling(rng, fmt, first)):
            y = Block(fmt, second, 0, (rng.randint(1, fmt.max_code),) * fmt.elements)
            for acc in (one, one - (60 << FP32.fraction_bits)):
                yield case(x, y, acc)


def _cancelling(rng: Random, fmt: MxFormat, exponent: int) -> Block:
    """Each pair's codes are a number and its negative."""
    numbers = [rng.randint(1, fmt.max_code) for _ in range(fmt.elements // 2)]
    return Block(fmt, exponent, random_shift(rng, fmt), tuple(each for n in numbers for each in (n, -n)))


def _near_one(rng: Random) -> int:
    return FP32.bias << FP32.fraction_bits | rng.getrandbits(FP32.fraction_bits) | rng.getrandbits(1) * FP32.sign_mask


def _one(fmt: FloatFormat) -> int:
    return fmt.bias << fmt.fraction_bits


def _subnormal(rng: Random, fmt: FloatFormat) -> int:
    return rng.randint(1, fmt.fraction_mask) | rng.getrandbits(1) * fmt.sign_mask


def _nan(rng: Random, fmt: FloatFormat) -> int:
    if fmt.infinity_code is None:
        return fmt.nan_code
    return fmt.infinity_code | rng.randint(1, fmt.fraction_mask) | rng.getrandbits(1) * fmt.sign_mask


REPEATS = 2
"""Cases of each corner, random in all other respects."""
CENTRE = 255
"""Exponent code of the product 1.0 * 1.0, the middle of the range."""
FAR = 40
"""A distance beyond all that have bins of their own."""
ALONE = MacOptions(multiplies=False)
LaneKind = MxFormat | MacMode


def corners(numerics: AieNumerics, rng: Random, kind: LaneKind) -> Iterator[LaneCase]:
    """Yield cases for every bin of an MX format or a float mode."""
    makers = (_distances, _ties, _signs, _totals, _ends, _lone_bits, _absent)
    yield from _boundaries(numerics, rng, kind)
    for _ in range(REPEATS):
        for maker in makers:
            yield from maker(numerics, rng, kind)
        yield from (mx_corners if isinstance(kind, MxFormat) else float_corners)(numerics, rng, kind)


def accumulator(rng: Random, sign: int, code: int, fraction: int | None = None) -> int:
    """Return an FP32 number with exponent code ``code``."""
    fraction = rng.getrandbits(FP32.fraction_bits) if fraction is None else fraction
    return sign << 31 | (code - FP32.bias - 1) << FP32.fraction_bits | fraction


def lone_product(numerics: AieNumerics, rng: Random, kind: LaneKind, code: int, sign: int) -> tuple[LaneCase, int]:
    """Return one product of odd factors with this exponent code and sign, and its fraction bits below ``2**(code - 255)``."""
    if isinstance(kind, MxFormat):
        return _lone_block_product(numerics, rng, kind, code, sign)
    x_format, y_format = formats = tuple(rng.choice(row_of(kind).formats) for _ in range(2))
    total = code - CENTRE + x_format.bias + y_format.bias
    low, high = max(1, total - y_format.exponent_mask + 1), min(x_format.exponent_mask - 1, total - 1)
    first = rng.randint(low, high)
    place = rng.randrange(row_of(kind).depth)
    codes = []
    for fmt, exponent, minus in ((x_format, first, sign), (y_format, total - first, 0)):
        number = minus * fmt.sign_mask | exponent << fmt.fraction_bits | rng.getrandbits(fmt.fraction_bits) | 1
        codes.append(tuple(number if k == place else 0 for k in range(row_of(kind).depth)))
    fraction_bits = x_format.fraction_bits + y_format.fraction_bits
    return LaneCase(mode=kind, x=codes[0], y=codes[1], formats=formats), fraction_bits


def _lone_block_product(
    numerics: AieNumerics, rng: Random, fmt: MxFormat, code: int, sign: int
) -> tuple[LaneCase, int]:
    first = rng.randint(max(1, code - 1 - 254), min(254, code - 2))
    place = rng.randrange(fmt.elements)
    blocks = []
    for exponent, minus in ((first, sign), (code - 1 - first, 0)):
        number = rng.randrange(1, fmt.max_code + 1, 2) * (-1) ** minus
        codes = tuple(number if k == place else 0 for k in range(fmt.elements))
        shift = random_shift(rng, fmt) | fmt.has_shifts << place // 2
        blocks.append(Block(fmt, exponent, shift, codes))
    # MX4's codes are padded with zeros, so a shift discards nothing.
    lost = 0 if numerics.mx_lossless_shift or fmt is MX4 else 2
    return LaneCase(mode=mode_of(fmt, numerics), x=blocks[0], y=blocks[1]), 2 * fmt.magnitude_bits - lost


def _distances(numerics: AieNumerics, rng: Random, kind: LaneKind) -> Iterator[LaneCase]:
    """A product at every distance below an accumulator, and either accumulator at every distance below a product."""
    for distance in (*range(DISTANCES + 2), FAR):
        code = CENTRE + rng.randint(-8, 8)
        for name in ("acc1", "acc2"):
            case, _ = lone_product(numerics, rng, kind, code, rng.getrandbits(1))
            for place in (code + distance, code - distance):
                yield replace(case, **{name: accumulator(rng, rng.getrandbits(1), place)})


def _ties(numerics: AieNumerics, rng: Random, kind: LaneKind) -> Iterator[LaneCase]:
    """Odd numbers whose last bit is half a unit of the grid; two accumulators whose sum ends in half a unit."""
    grid = numerics.align_fraction_bits
    for sign, name in product((0, 1), ("acc1", "acc2")):
        code = CENTRE + rng.randint(-8, 8)
        case, fraction_bits = lone_product(numerics, rng, kind, code, sign)
        yield replace(case, **{name: accumulator(rng, rng.getrandbits(1), code + grid - fraction_bits + 1)})
        below = grid - FP32.fraction_bits + 1
        places = max(0, -below)
        fraction = (rng.getrandbits(FP32.fraction_bits) | 1) << places & FP32.fraction_mask
        yield replace(case, **{name: accumulator(rng, sign, code - below - places, fraction)})
        even, odd = (rng.getrandbits(FP32.fraction_bits) & ~1 | last for last in (0, 1))
        pair = {name: accumulator(rng, sign, code + FAR, each) for name, each in (("acc1", even), ("acc2", odd))}
        yield replace(case, options=ALONE, **pair)


def _boundaries(numerics: AieNumerics, rng: Random, kind: LaneKind) -> Iterator[LaneCase]:
    """Ties, and ties that one bit breaks, below the 24 kept bits of a sum; the kept bits are all ones at the ends of the range.

    Elsewhere they are even, so that the sticky bit alone decides a rounding to nearest even.
    """
    for (name, how), sign in product(boundaries(kind), (0, 1)):
        dropped = rng.randint(max(1, breaks(DROPPED)[how].denominator.bit_length() - 1), DROPPED)
        kept = (2 << FP32.fraction_bits) - 1 if name != "normal" else (1 << FP32.fraction_bits) + 2 * rng.getrandbits(9)
        units = int((kept + Fraction(1, 2) + breaks(DROPPED)[how]) * (1 << dropped))
        code = {"overflow": 254, "smallest normal": 0, "normal": 127}[name] + FP32.bias + 1 - dropped
        if isinstance(kind, MxFormat):
            yield _block_sum(numerics, rng, kind, units, code, sign)
        elif kind is MacMode.FLOAT16:
            yield _product_sum(rng, units, code, sign)
        else:
            yield _ones_and_accumulator(rng, kind, units, sign)


def _product_sum(rng: Random, units: int, code: int, sign: int) -> LaneCase:
    """BF16 products alone, whose sum is `units` units of 2**-23 at their largest exponent code."""
    unit_bits = FP32.fraction_bits - 2 * BF16.fraction_bits
    one, most = 1 << BF16.fraction_bits, (2 << BF16.fraction_bits) - 1
    pairs = []
    while units:
        down = max(0, FP32.precision - units.bit_length())
        if down or units < most * one << unit_bits:
            # As many leading bits as one significand has.
            factors = max(one, min(most, units << down >> unit_bits + BF16.fraction_bits)), one
        else:
            factors = max((a, b) for a, b in ((most, most), (most, one)) if a * b << unit_bits <= units)
        units -= prod(factors) << unit_bits >> down
        first = rng.randint(max(1, code - 1 - down - 254), min(254, code - 2 - down))
        x, y = (
            exponent << BF16.fraction_bits | each & BF16.fraction_mask
            for exponent, each in zip((first, code - 1 - down - first), factors, strict=True)
        )
        pairs.append((x | sign * BF16.sign_mask, y))
    pairs += [(0, 0)] * (row_of(MacMode.FLOAT16).depth - len(pairs))
    x, y = zip(*pairs, strict=True)
    return LaneCase(mode=MacMode.FLOAT16, x=x, y=y, formats=(BF16, BF16))


def _ones_and_accumulator(rng: Random, kind: MacMode, units: int, sign: int) -> LaneCase:
    """Products of ones, and an accumulator that completes `units` units of 2**-23."""
    fmt, depth = rng.choice(row_of(kind).formats), row_of(kind).depth
    one = fmt.bias << fmt.fraction_bits
    count = min(depth, units >> FP32.fraction_bits)
    x, y = ((code,) * count + (0,) * (depth - count) for code in (one | sign * fmt.sign_mask, one))
    rest = Fraction(units - (count << FP32.fraction_bits), 1 << FP32.fraction_bits)
    acc = round_to_format(rest, FP32) | sign * FP32.sign_mask
    return LaneCase(mode=kind, x=x, y=y, formats=(fmt, fmt), **{rng.choice(("acc1", "acc2")): acc})


def _block_sum(numerics: AieNumerics, rng: Random, fmt: MxFormat, units: int, code: int, sign: int) -> LaneCase:
    """Blocks, and an accumulator that completes `units` units of 2**-23 at the blocks' exponent code."""
    most = fmt.max_code
    unit = 1 << FP32.fraction_bits - 2 * (fmt.magnitude_bits - 1)
    total = left = min(units // unit, fmt.elements * most**2)
    pairs = []
    for _ in range(fmt.elements):
        # The last pairs are a multiple of the largest code, and what remains of it.
        x = most if left >= most else min(1, left)
        pairs.append((x, min(most, left // x) if x else 0))
        left -= prod(pairs[-1])
    rng.shuffle(pairs)
    x, y = zip(*pairs, strict=True)
    first = rng.randint(max(1, code - 1 - 254), min(254, code - 2))
    blocks = Block(fmt, first, 0, tuple((-1) ** sign * each for each in x)), Block(fmt, code - 1 - first, 0, y)
    rest = Fraction(units - (total - left) * unit) * power_of_two(code - 2 * FP32.bias - 1 - FP32.fraction_bits)
    acc = round_to_format(rest, FP32) | sign * FP32.sign_mask
    return LaneCase(mode=mode_of(fmt, numerics), x=blocks[0], y=blocks[1], **{rng.choice(("acc1", "acc2")): acc})


def _signs(numerics: AieNumerics, rng: Random, kind: LaneKind) -> Iterator[LaneCase]:
    """Every sign of both accumulators with every negation, near a product."""
    for acc1, acc2, products, first, second in product((0, 1), repeat=5):
        code = CENTRE + rng.randint(-8, 8)
        case, _ = lone_product(numerics, rng, kind, code, rng.getrandbits(1))
        options = MacOptions(negate_products=bool(products), negate_acc1=bool(first), negate_acc2=bool(second))
        pair = {f"acc{k + 1}": accumulator(rng, s, code + rng.randint(-4, 4)) for k, s in enumerate((acc1, acc2))}
        yield replace(case, options=options, **pair)


def _totals(numerics: AieNumerics, rng: Random, kind: LaneKind) -> Iterator[LaneCase]:
    """Accumulators that cancel to 0 or to one unit in the last place, and an accumulator that cancels a product."""
    for sign, apart in product((0, 1), (0, 1)):
        code = CENTRE + rng.randint(-8, 8)
        case, _ = lone_product(numerics, rng, kind, code, rng.getrandbits(1))
        fraction = rng.getrandbits(FP32.fraction_bits - 1) << 1
        pair = (accumulator(rng, sign, code, fraction | apart), accumulator(rng, 1 - sign, code, fraction))
        yield replace(case, acc1=pair[0], acc2=pair[1], options=ALONE)
        # The product is exact in FP32: it has fewer bits than an accumulator.
        back = case.result(numerics) ^ FP32.sign_mask
        yield replace(case, acc1=back)
        yield replace(case, acc2=back + 1 - 2 * rng.getrandbits(1))


def _ends(numerics: AieNumerics, rng: Random, kind: LaneKind) -> Iterator[LaneCase]:
    """Overflow, underflow, and infinities and NaNs in the accumulators."""
    smallest = 1 << FP32.fraction_bits
    for sign in (0, FP32.sign_mask):
        other = sign ^ FP32.sign_mask
        case, _ = lone_product(numerics, rng, kind, CENTRE, rng.getrandbits(1))
        zeros = replace(case, options=ALONE)
        yield replace(case, acc1=FP32.max_code | sign, acc2=FP32.max_code | sign)
        yield replace(zeros, acc1=FP32.max_code | sign, acc2=FP32.max_code - 1 | sign)
        for first, second in ((smallest + 5, smallest), (smallest + 1, smallest), (3, 1), (smallest - 1, 0)):
            yield replace(zeros, acc1=first | sign, acc2=second | other)
        for name in ("acc1", "acc2"):
            yield replace(case, **{name: FP32.infinity_code | sign})
            yield replace(case, **{name: FP32.infinity_code | sign, "options": MacOptions(**{f"negate_{name}": True})})
        yield replace(case, acc1=FP32.infinity_code | sign, acc2=FP32.infinity_code | other)
        # If an infinity were read as 2**128, these sums would be finite.
        yield replace(case, acc1=FP32.infinity_code | sign, acc2=FP32.max_code | other)
        yield replace(case, acc1=FP32.max_code | other, acc2=FP32.infinity_code | sign)
        yield replace(
            case,
            acc1=FP32.infinity_code | sign,
            acc2=FP32.infinity_code | sign,
            options=MacOptions(negate_acc2=True),
        )


def _lone_bits(numerics: AieNumerics, rng: Random, kind: LaneKind) -> Iterator[LaneCase]:
    """Accumulators with a single bit, NaNs with a single fraction bit, and exponents of all ones but one bit."""
    fraction_bits = FP32.fraction_bits
    case = replace(random_case(numerics, rng, kind), acc1=None, acc2=None, options=ALONE)
    for name, sign in product(("acc1", "acc2"), (0, FP32.sign_mask)):
        codes = [1 << bit for bit in range(FP32.width - 1)]
        codes += [FP32.infinity_code | 1 << bit for bit in range(fraction_bits)]
        for bit in range(FP32.exponent_bits):
            exponent = FP32.infinity_code ^ 1 << fraction_bits + bit
            codes += [exponent, exponent | rng.getrandbits(fraction_bits)]
        yield from (replace(case, **{name: sign | code}) for code in codes)
        # A subnormal with a single bit and the other accumulator sum to the smallest normal number.
        other, smallest = "acc2" if name == "acc1" else "acc1", 1 << fraction_bits
        for bit in range(fraction_bits):
            yield replace(case, **{name: sign | 1 << bit, other: sign | smallest - (1 << bit)})


def _absent(numerics: AieNumerics, rng: Random, kind: LaneKind) -> Iterator[LaneCase]:
    """Products only, accumulators only, and neither."""
    for _ in range(4):
        case = replace(random_case(numerics, rng, kind), acc1=None, acc2=None, options=MacOptions())
        yield case
        yield replace(case, options=ALONE)
        yield replace(case, acc1=accumulator(rng, rng.getrandbits(1), CENTRE), options=ALONE)
