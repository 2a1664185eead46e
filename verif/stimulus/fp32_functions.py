"""Operands of the FP32 functions of one number: boundaries of the format, of the function, and of rounding."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np

from bitpath.golden.codec import Kind, decode
from bitpath.golden.exact import fp32, round_to_format
from bitpath.golden.spec.formats import FP32
from bitpath.golden.trainium3 import fp32 as fast

HALF_FRACTION = 1 << FP32.fraction_bits - 1
FRACTIONS = (
    *(0, 1, 2, 3, HALF_FRACTION - 1, HALF_FRACTION, HALF_FRACTION + 1),
    *(FP32.fraction_mask - 2, FP32.fraction_mask - 1, FP32.fraction_mask),
)
"""Fractions that go with every exponent."""
NEIGHBOURS = (-2, -1, 0, 1, 2)


@dataclass(frozen=True)
class Function:
    """An FP32 function of one number.

    Attributes
    ----------
    exact, vectorised : golden's two tiers, of a code, and of an array of float32.
    inverse : the value that the function takes to a given one.
    classes : which class of operands (see :func:`class_of`) goes to which class of results; all are to be seen.
    """

    exact: Callable[[int], int]
    vectorised: Callable[[np.ndarray], np.ndarray]
    inverse: Callable[[Fraction], Fraction]
    classes: tuple[str, ...]

    def bins_of(self, operand: int, result: int) -> Iterator[str]:
        """What a case shows: classes, and which way a normal result was rounded."""
        yield f"{class_of(operand)} to {class_of(result)}"
        if class_of(operand) == class_of(result) == "+normal":
            # The functions or their inverses fall: what is at stake is only that both ways are seen.
            back, value = self.inverse(decode(FP32, result).value), decode(FP32, operand).value
            yield "exact" if back == value else "inverse above" if back > value else "inverse below"

    @property
    def bins(self) -> tuple[str, ...]:
        return (*self.classes, "exact", "inverse above", "inverse below")


def _both_signs(*classes: tuple[str, str]) -> tuple[str, ...]:
    return tuple(f"{sign}{a} to {sign}{b}" for (a, b), sign in product(classes, "+-"))


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
    ),
}


def class_of(code: int) -> str:
    """``nan``, or a sign and what the number is."""
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
