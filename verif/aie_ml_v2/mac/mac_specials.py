"""Directed corners that are specific to floats or to MX."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from random import Random

from bitpath.golden.aie_ml_v2.declarations.codes import MX9, MX_PAIRS, MxFormat
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.exact import Block
from bitpath.golden.formats.catalogue import BF16, FP32, FloatFormat
from bitpath.rtl.aie_ml_v2.mac.config import DEPTH, MacMode
from bitpath.verif.aie_ml_v2.mac.mac import LaneCase, MacOptions, mode_of, row_of
from bitpath.verif.aie_ml_v2.mac.mac_bins import ENDS
from bitpath.verif.aie_ml_v2.mac.mac_random import near_codes, random_block, random_shift

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
        lone = {i + k: (x, y) for (i, x), (k, y) in product(*map(enumerate, map(_lone_bits, case.formats)))}
        for pair, place in product(lone.values(), range(depth)):
            yield replace(_with(case, {place: pair}), acc1=None)
    if mode is MacMode.FLOAT16:
        yield from _carries(rng)


def _lone_bits(fmt: FloatFormat) -> list[int]:
    """The codes of each subnormal number whose significand has one bit, and of a large number."""
    return [*(1 << bit for bit in range(fmt.fraction_bits)), fmt.exponent_mask - 1 << fmt.fraction_bits]


def _infinities(case: LaneCase) -> Iterator[LaneCase]:
    """Infinities in every place times 0 and times one bit, of one sign and of both."""
    for side, (fmt, other) in enumerate((case.formats, case.formats[::-1])):
        if fmt.infinity_code is None:
            continue
        signed, order = (fmt.infinity_code, fmt.infinity_code | fmt.sign_mask), slice(None, None, 1 - 2 * side)
        for infinity, factor, place in product(signed, (0, *_lone_bits(other)), range(len(case.x))):
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
