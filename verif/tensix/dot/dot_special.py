"""Directed corners of the Tensix dot product without a trace: integers, and the operations on one lane.

Each case comes with its bin.
"""

from collections.abc import Iterator
from random import Random

from bitpath.golden.tensix.declarations.formats import COLUMNS, PHASES
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.verif.tensix.dot.dot import (
    FLOAT_MODES,
    INT32_MAX,
    INTEGER_MODE,
    SRC_SIGN,
    DotCase,
    Mode,
    Operation,
    dst_word,
    float_word,
    integer_word,
    lone,
)

INT32_SIGN = 1 << 31
INTEGER_EXPONENT = 16 << 10
A_MAX, B_MAX = 0xFF, 0x3FF
"""Largest magnitudes that the fields of all phases cover."""
ADD_DISTANCES = 12
"""Distances with a bin each; at the last one the smaller addend is shifted out completely."""
ADDITIONS = (Operation.ADD, Operation.SUBTRACT)
REPEATS = 4
"""Number of cases for each corner with random parts."""


def integers(numerics: TensixNumerics, rng: Random) -> Iterator[tuple[str, DotCase]]:
    """The largest products of every phase against both ends of Dst, cancellation to 0, and -0 in Dst."""
    for phase in range(PHASES):
        for sign in (0, 1):
            a = tuple(INTEGER_EXPONENT | A_MAX for _ in range(COLUMNS))
            b = tuple(INTEGER_EXPONENT | B_MAX | sign * SRC_SIGN for _ in range(COLUMNS))
            name = "+-"[sign]
            largest = DotCase(INTEGER_MODE, phase, a, b, 0).result(numerics)
            size = largest & INT32_MAX
            for below in (0, 1, size - 1):
                yield f"saturates/{phase}/{name}", _integer(phase, a, b, sign, INT32_MAX - below)
            for below in (0, 1):
                yield f"just fits/{phase}/{name}", _integer(phase, a, b, sign, INT32_MAX - size - below)
            yield f"cancels/{phase}/{name}", _integer(phase, a, b, 1 - sign, size)
            yield f"minus zero/{phase}", _integer(phase, lone(a[0]), lone(0), 1, 0)
            for bits in range(10):
                words = lone(INTEGER_EXPONENT | 1 << bits), lone(INTEGER_EXPONENT | sign * SRC_SIGN | B_MAX)
                yield f"bit of SrcA/{phase}/{bits}", _integer(phase, *words, 0, 0)
                words = lone(INTEGER_EXPONENT | A_MAX), lone(INTEGER_EXPONENT | sign * SRC_SIGN | 1 << bits)
                yield f"bit of SrcB/{phase}/{bits}", _integer(phase, *words, 0, 0)
    for operation in ADDITIONS:
        for sign in (0, 1):
            a = lone(INTEGER_EXPONENT | B_MAX | sign * SRC_SIGN)
            b = lone(INTEGER_EXPONENT | B_MAX | (sign ^ (operation is Operation.SUBTRACT)) * SRC_SIGN)
            for below in (2 * B_MAX - 1, 2 * B_MAX, 0):
                dst = sign << 31 | INT32_MAX - below
                case = DotCase(INTEGER_MODE, rng.randrange(PHASES), a, b, dst, operation)
                yield f"{operation.value} at the end/{'+-'[sign]}", case
        for _ in range(REPEATS):
            dst = rng.getrandbits(32)
            words = lone(integer_word(rng)), lone(integer_word(rng))
            yield f"{operation.value}/any", DotCase(INTEGER_MODE, rng.randrange(PHASES), *words, dst, operation)


def _integer(phase: int, a: tuple[int, ...], b: tuple[int, ...], sign: int, magnitude: int) -> DotCase:
    return DotCase(INTEGER_MODE, phase, a, b, sign * INT32_SIGN | magnitude)


def additions(numerics: TensixNumerics, rng: Random) -> Iterator[tuple[str, DotCase]]:
    """ELWADD and ELWSUB: every distance either way, ties, cancellation and zeros, with Dst 0 and near the sum."""
    for mode in FLOAT_MODES:
        for operation in ADDITIONS:
            for _ in range(REPEATS):
                for name, a, b in _addends(rng, mode, operation):
                    nearby = dst_word(rng, mode, _result_exponent(mode, max(a >> 10 & 0xFF, b >> 10 & 0xFF)))
                    dst = rng.choice((0, nearby))
                    # An addition ignores the phase.
                    phase = rng.randrange(PHASES)
                    yield f"{mode}/{operation.value}/{name}", DotCase(mode, phase, lone(a), lone(b), dst, operation)


def _result_exponent(mode: Mode, exponent: int) -> int:
    return exponent + mode.offset(0) + (15 if mode.source_exponent_max == 31 else 127)


def _addends(rng: Random, mode: Mode, operation: Operation) -> Iterator[tuple[str, int, int]]:
    top = mode.source_exponent_max
    for distance in (*range(-ADD_DISTANCES - 1, ADD_DISTANCES + 2), -25, 25):
        low = rng.randint(1, top - abs(distance))
        exponents = low + max(0, distance), low + max(0, -distance)
        kind = max(-ADD_DISTANCES - 1, min(ADD_DISTANCES + 1, distance))
        yield f"distance/{kind}", *(float_word(rng, exponent) for exponent in exponents)
    for sign in (0, 1):
        # The lowest fraction bit of any format alone, shifted to half a unit.
        low = rng.randint(1, top - 4)
        odd = sign * SRC_SIGN | low << 10 | rng.getrandbits(6) << 4 | 1 << 3
        even = float_word(rng, low + 4)
        flipped = odd ^ SRC_SIGN * (operation is Operation.SUBTRACT)
        yield f"tie in SrcA/{'+-'[sign]}", odd, even
        yield f"tie in SrcB/{'+-'[sign]}", even, flipped
    word = float_word(rng, rng.randint(1, top))
    yield "cancels", word, word ^ SRC_SIGN * (operation is Operation.ADD)
    yield "zero and a number", float_word(rng, 0), word
    yield "a number and zero", word, float_word(rng, 0)
    yield "zeros", float_word(rng, 0), float_word(rng, 0)
    yield "largest code", float_word(rng, top), float_word(rng, top)


def products(numerics: TensixNumerics, rng: Random) -> Iterator[tuple[str, DotCase]]:
    """ELWMUL: one product must match golden, also for zeros and at both ends of the range."""
    for mode in FLOAT_MODES:
        top = mode.source_exponent_max
        for phase in range(PHASES):
            for x in (0, 1, rng.randint(1, top), top):
                for y in (0, 1, rng.randint(1, top), top):
                    words = lone(float_word(rng, x)), lone(float_word(rng, y))
                    dst = dst_word(rng, mode, x + y + mode.offset(phase) + rng.randint(-14, 14))
                    name = f"{mode}/{phase}/{'zero' if not (x and y) else 'product'}"
                    yield name, DotCase(mode, phase, *words, dst, Operation.MULTIPLY)
