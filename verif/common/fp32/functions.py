"""Operands of the FP32 functions of one number: boundaries of the format, of the function, and of rounding; and every significand.

A result that is not exact has endless digits, so a tie has operands beside it and none at it. Some boundaries have none:

- Reciprocal: 1/2**-128 overflows and 1/(2**-128 + 2**-149) is 7 units below the largest number; nothing lies between. No
  operand is large enough for a result below 2**-128, so none is near zero. 1/2**126 is the smallest normal number, and its
  neighbour's is that less a whole unit, which rounds without a tie.
- Roots: results lie between 2**-75 and 2**75, so none overflows and none is subnormal.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from math import isqrt
from random import Random

import numpy as np

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar import fp32
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3.operands import fp32 as fast
from bitpath.rtl.common.fp32.fp32_functions import Fp32LanesConfig
from bitpath.verif.kit.batches import Batch, Part, Place, side_by_side
from bitpath.verif.kit.coverage import cross
from bitpath.verif.kit.values import SIDES
from bitpath.verif.kit.volume import Generator, VolumeTask

HALF_FRACTION = 1 << FP32.fraction_bits - 1
FRACTIONS = (
    *(0, 1, 2, 3, HALF_FRACTION - 1, HALF_FRACTION, HALF_FRACTION + 1),
    *(FP32.fraction_mask - 2, FP32.fraction_mask - 1, FP32.fraction_mask),
)
"""Fractions that go with every exponent."""
NEIGHBOURS = (-2, -1, 0, 1, 2)
SIGNIFICANDS = 1 << 17
"""Consecutive operands among which :func:`beside_ties` looks."""
SURE_DISTANCES = range(2, 13)
"""Distances from a tie that it surely finds among them."""


@dataclass(frozen=True)
class Function:
    """An FP32 function of one number.

    Attributes
    ----------
    exact, vectorised : golden's two tiers, of a code, and of an array of float32.
    inverse : the value that the function takes to a given one.
    classes : which class of operands (see :func:`class_of`) goes to which class of results; all are to be seen.
    approximate : the function of float64, to a unit or two of its last place.
    exponents : biased exponents of operands whose results have every kind of last place, some at random.
    ranges : parts of FP32's range in which results are rounded.
    """

    exact: Callable[[int], int]
    vectorised: Callable[[np.ndarray], np.ndarray]
    inverse: Callable[[Fraction], Fraction]
    classes: tuple[str, ...]
    approximate: Callable[[np.ndarray], np.ndarray]
    exponents: Callable[[Random], tuple[int, ...]]
    ranges: tuple[str, ...] = ("normal",)

    def bins_of(self, operand: int, result: int) -> Iterator[str]:
        """Return the bins of a case: its classes, and the direction in which a normal result was rounded."""
        yield f"{class_of(operand)} to {class_of(result)}"
        if class_of(operand) == class_of(result) == "+normal":
            # Some functions decrease, so these bins do not name the rounding direction; they only show that both occur.
            back, value = self.inverse(decode(FP32, result).value), decode(FP32, operand).value
            yield "exact" if back == value else "inverse above" if back > value else "inverse below"

    @property
    def bins(self) -> tuple[str, ...]:
        return (*self.classes, "exact", "inverse above", "inverse below")

    @property
    def tie_bins(self) -> tuple[str, ...]:
        return (*cross(self.ranges, ("even", "odd"), ("below tie", "above tie")), *map(_distance_bin, SURE_DISTANCES))


def _both_signs(*classes: tuple[str, str]) -> tuple[str, ...]:
    return tuple(f"{sign}{a} to {sign}{b}" for (a, b), sign in product(classes, "+-"))


def _even_and_odd(rng: Random) -> tuple[int, int]:
    return 2 * rng.randrange(1, FP32.bias), 2 * rng.randrange(FP32.bias) + 1


NEGATIVE_TO_NAN = ("-subnormal to nan", "-normal to nan", "-infinity to nan", "nan to nan")

FUNCTIONS = {
    "reciprocal": Function(
        fp32.reciprocal,
        fast.reciprocal,
        lambda y: 1 / y,
        (
            *_both_signs(("zero", "infinity"), ("infinity", "zero"), ("subnormal", "infinity")),
            *_both_signs(("subnormal", "normal"), ("normal", "normal"), ("normal", "subnormal")),
            "nan to nan",
        ),
        lambda x: 1 / x,
        # Results of the last two have 23 and 22 bits.
        lambda rng: (rng.randrange(1, FP32.exponent_mask - 2), FP32.exponent_mask - 2, FP32.exponent_mask - 1),
        ("normal", "subnormal"),
    ),
    "square_root": Function(
        fp32.square_root,
        fast.square_root,
        lambda y: y * y,
        (
            *_both_signs(("zero", "zero")),
            *("+subnormal to +normal", "+normal to +normal", "+infinity to +infinity"),
            *NEGATIVE_TO_NAN,
        ),
        np.sqrt,
        _even_and_odd,
    ),
    "reciprocal_square_root": Function(
        fp32.reciprocal_square_root,
        fast.reciprocal_square_root,
        lambda y: 1 / (y * y),
        (
            *_both_signs(("zero", "infinity")),
            *("+subnormal to +normal", "+normal to +normal", "+infinity to +zero"),
            *NEGATIVE_TO_NAN,
        ),
        lambda x: 1 / np.sqrt(x),
        _even_and_odd,
    ),
}


def class_of(code: int) -> str:
    """Return ``nan``, or the sign and the class of the number."""
    x = decode(FP32, code)
    if x.kind is Kind.NAN:
        return "nan"
    sign = "-" if code & FP32.sign_mask else "+"
    if x.kind is Kind.INFINITY:
        return f"{sign}infinity"
    magnitude = code & ~FP32.sign_mask
    kind = "zero" if not magnitude else "subnormal" if magnitude <= FP32.fraction_mask else "normal"
    return f"{sign}{kind}"


FORMAT_EDGES = (
    *(
        sign | exponent << FP32.fraction_bits | fraction
        for sign, exponent, fraction in product((0, FP32.sign_mask), range(FP32.exponent_mask + 1), FRACTIONS)
    ),
    *(
        exponent << FP32.fraction_bits | 1 << place
        for exponent, place in product((0, FP32.exponent_mask), range(FP32.fraction_bits))
    ),
)
"""Every exponent with every fraction at an edge, of both signs; subnormals and NaNs with one bit."""


def decisive_remainders() -> np.ndarray:
    """Codes, uint32, whose reciprocal is half-way between two numbers, subnormal ones too, but for a remainder of one bit: that
    alone says which is nearer."""
    significands = np.arange(1 << FP32.fraction_bits, 2 << FP32.fraction_bits, dtype=np.int64)
    # A quotient of one bit more than a result has.
    quotients, remainders = np.divmod(1 << 2 * FP32.precision, significands)
    one_bit = (remainders > 0) & (remainders & remainders - 1 == 0)
    codes = []
    for dropped in (1, 2, 3):
        half = quotients & (1 << dropped) - 1 == 1 << dropped - 1
        # The largest exponent whose reciprocals are normal, and the two above it.
        exponent = FP32.exponent_mask - 4 + dropped
        codes.append(exponent << FP32.fraction_bits | significands[one_bit & half] & FP32.fraction_mask)
    return np.concatenate(codes).astype(np.uint32)


def nearest_to_midpoints(count: int) -> np.ndarray:
    """Return codes, uint32, whose reciprocal square roots are nearest to a midpoint of two numbers, ``count`` on either
    side."""
    # One bit more than a result has, the last one set.
    midpoints = np.arange((1 << FP32.precision) + 1, 2 << FP32.precision, 2, dtype=np.uint64)
    squares = midpoints * midpoints
    power = np.where(squares < np.uint64(1 << 2 * FP32.precision + 1), 72, 73)
    significands = np.rint(np.ldexp(1.0, power) / squares).astype(np.uint64)
    # The power of two is 0 modulo 2**64, and the remainder fits.
    errors = np.ldexp((np.uint64(0) - significands * squares).view(np.int64).astype(float), -power)
    errors[significands >> np.uint64(FP32.precision) > 0] = np.inf
    order = np.argsort(np.abs(errors))
    chosen = np.concatenate([order[errors[order] > 0][:count], order[errors[order] < 0][:count]])
    # An odd exponent, -1, or an even one, 0.
    exponents = (FP32.bias - 73 + power[chosen]).astype(np.uint32)
    return exponents << np.uint32(FP32.fraction_bits) | significands[chosen].astype(np.uint32) & np.uint32(
        FP32.fraction_mask
    )


@dataclass(frozen=True)
class BesideTie:
    """An operand whose result lies beside a tie.

    Attributes
    ----------
    lower, unit : the results about the tie are ``lower`` and ``lower + unit``.
    side : -1 below the tie, 1 above it.
    distance : the result is ``2**-distance`` to ``2**(1 - distance)`` units away from the tie.
    """

    code: int
    lower: Fraction
    unit: Fraction
    side: int
    distance: int

    def bins_of(self, function: Function) -> Iterator[str]:
        """The bins of the operand, if the exact inverse confirms it."""
        distances = (Fraction(self.side, 1 << self.distance - step) for step in (0, 1))
        low, high = sorted(function.inverse(self.lower + (Fraction(1, 2) + each) * self.unit) for each in distances)
        if low <= abs(decode(FP32, self.code).value) <= high:
            part = "normal" if self.lower >= FP32.min_normal else "subnormal"
            parity = "odd" if self.lower / self.unit % 2 else "even"
            yield f"{part}/{parity}/{SIDES[self.side]} tie"
            if self.distance in SURE_DISTANCES:
                yield _distance_bin(self.distance)


def _distance_bin(distance: int) -> str:
    return f"2**-{distance} units beside a tie"


def beside_ties(function: Function, rng: Random) -> Iterator[BesideTie]:
    """Yield an operand at each distance from a tie, on either side, with an even and an odd result below it, for each of the
    function's exponents.

    Operands at the largest distances are rare, and random ones do not have them: :func:`decisive_remainders`,
    :func:`nearest_to_squares` and :func:`nearest_to_midpoints` compute those.
    """
    for exponent in function.exponents(rng):
        first = rng.randrange((1 << FP32.fraction_bits) - SIGNIFICANDS + 1)
        codes = np.arange(first, first + SIGNIFICANDS, dtype=np.uint32) | np.uint32(exponent << FP32.fraction_bits)
        results = function.approximate(codes.view(np.float32).astype(float))
        last = np.maximum(np.frexp(results)[1] - FP32.precision, FP32.emin - FP32.fraction_bits)
        units = np.ldexp(results, -last)
        lower = np.floor(units)
        beside = units - lower - 0.5
        distances = 1 - np.frexp(beside)[1]
        _, chosen = np.unique(4 * distances + 2 * (beside > 0) + lower % 2, return_index=True)
        for index in chosen[distances[chosen] > 1]:
            unit = Fraction(2) ** int(last[index])
            side = 1 if beside[index] > 0 else -1
            yield BesideTie(int(codes[index]), int(lower[index]) * unit, unit, side, int(distances[index]))


def nearest_to_squares(count: int) -> np.ndarray:
    """Return codes, uint32, whose square roots are nearest to a midpoint of two numbers, ``count`` on either side, with an
    even exponent and with an odd one."""
    codes = []
    # Midpoints have one bit more than a result, with the last one set; their squares below 2 have one bit less.
    limits = 1 << FP32.precision, isqrt(2 << 2 * FP32.precision) + 1, 2 << FP32.precision
    for odd in (0, 1):
        midpoints = np.arange(limits[odd] | 1, limits[odd + 1], 2, dtype=np.int64)
        whole = np.int64(1) << FP32.precision + 1 + odd
        significands, above = np.divmod(midpoints * midpoints, whole)
        for up, remainders in enumerate((above, whole - above)):
            nearest = np.argpartition(remainders, count)[:count]
            codes.append(significands[nearest] + up + (FP32.bias - 1 + odd << FP32.fraction_bits))
    return np.concatenate(codes).astype(np.uint32)


def rounding_edges(function: Function, rng: Random, count: int) -> list[int]:
    """Operands with short results, which may be exact, and with results at midpoints, each with its neighbours."""
    results = [_number(rng.randrange(1 << 12), rng.randint(-60, 60), 12) for _ in range(count)]
    # Half-way between two numbers: a significand of one bit more, the last one set.
    results += [
        _number(2 * rng.getrandbits(FP32.fraction_bits) + 1, rng.randint(-60, 60), FP32.precision) for _ in range(count)
    ]
    codes = []
    for result in results:
        nearest = round_to_format(function.inverse(result), FP32)
        codes += [nearest + step for step in NEIGHBOURS]
    return codes


def _number(fraction: int, exponent: int, bits: int) -> Fraction:
    """1.fraction times a power of two."""
    return (1 + Fraction(fraction, 1 << bits)) * Fraction(2) ** exponent


FUNCTION_BLOCK = 1 << 18
"""Operands of a function in a block."""
BINADES = {"reciprocal": (0,), "square_root": (0, 1), "reciprocal_square_root": (0, 1)}
"""Exponents whose significands give all bits that a function can give: of roots, an even and an odd one."""


def significands(name: str, config: Fp32LanesConfig, rng: Generator, block: int) -> Iterator[Batch]:
    """Consecutive operands, from the first of these binades on; every second one of a reciprocal is negative."""
    binade, start = divmod(block * FUNCTION_BLOCK, 1 << FP32.fraction_bits)
    codes = np.arange(start, start + FUNCTION_BLOCK) | FP32.bias + BINADES[name][binade] << FP32.fraction_bits
    if name == "reciprocal":
        codes |= (codes & 1) << 31
    rows = codes.astype(np.uint32).reshape(-1, config.lanes)
    golden = FUNCTIONS[name].vectorised
    yield Batch(
        name, (Part(rows),), len(rows), lambda: np.ascontiguousarray(golden(rows.view(np.float32))).view(np.uint32)
    )


def _codes_layout() -> dict[str, Place]:
    return side_by_side(*((f"lane {k}", FP32.width) for k in range(Fp32LanesConfig().lanes)))


SWEEPS = (
    *(
        VolumeTask(
            name=f"sweep-{name.replace('_', '-')}",
            machine="trainium3",
            unit=name,
            what=f"every significand{' at an even and an odd exponent' * (len(binades) > 1)}, {Fp32LanesConfig().lanes} in a vector",
            config=Fp32LanesConfig,
            block_vectors=FUNCTION_BLOCK // Fp32LanesConfig().lanes,
            blocks=len(binades) << FP32.fraction_bits >> FUNCTION_BLOCK.bit_length() - 1,
            batches=partial(significands, name),
            random=False,
            layout=_codes_layout,
        )
        for name, binades in BINADES.items()
    ),
)
