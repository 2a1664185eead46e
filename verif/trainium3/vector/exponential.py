"""Beats for VectorE's exponential, what golden makes of them, and random ones by class."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import log
from random import Random

import numpy as np

from bitpath.golden.arrays.codec import decode_array
from bitpath.golden.formats.catalogue import BF16, FP16, FP32, FloatFormat
from bitpath.golden.scalar import fp32 as exact
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.rounding import floor_log2
from bitpath.golden.trainium3.declarations.vector import ExponentialNumerics
from bitpath.golden.trainium3.exact.functions import argument, exponential, exponential_power, log2e
from bitpath.golden.trainium3.vector.activation import exponential_of
from bitpath.rtl.trainium3.vector.exponential import ExponentialConfig, Reduce, Source, beat_layout, result_layout
from bitpath.verif.common.fp32 import numbers as fp32
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Request
from bitpath.verif.kit.values import SIDES, Boundary, code_text, codes_text, float_boundaries

SOURCES = (BF16, FP16, FP32)
ADDING = (Reduce.RESET_REDUCE, Reduce.REDUCE, Reduce.LOAD_REDUCE)


@dataclass(frozen=True)
class Beat:
    """One beat; codes of elements are as wide as their format."""

    elements: tuple[int, ...]
    source: FloatFormat = FP32
    max_value: int = 0
    reduce: Reduce = Reduce.RESET_REDUCE
    init: int = 0
    count: int | None = None
    bf16: bool = False
    last: bool = False

    @property
    def wide(self) -> list[int]:
        """The elements as FP32 codes."""
        return [exact.convert(code, self.source, FP32) for code in self.elements]

    @property
    def added(self) -> int:
        """Number of its elements that are added."""
        return len(self.elements) if self.count is None else self.count

    def shown(self, place: str) -> Shown:
        """The element whose power differs, or all of them."""
        name, _, element = place.partition(".")
        elements = self.elements[int(element) :][:1] if name == "powers" else self.elements
        flags = " ".join(flag for flag in ("bf16", "last") if getattr(self, flag))
        operands = {
            "elements": f"{self.source.name} {codes_text(self.source, elements)}",
            "maximum": code_text(FP32, self.max_value),
            "command": f"{self.reduce.name}, init {code_text(FP32, self.init)}, {self.added} added {flags}".strip(),
        }
        return Shown(operands=operands, formats={"powers": FP32, "sum": FP32})

    def payload(self, config: ExponentialConfig) -> int:
        """Return the port's payload; 16-bit codes stand above 16 zeros."""
        shift = FP32.width - self.source.width
        rest = (self.source, self.max_value, self.reduce, self.init, self.added, self.bf16, self.last)
        return words(code << shift for code in self.elements) | _without_elements(config, *rest)


def words(codes: Iterable[int]) -> int:
    """Words of 32 bits, the first lowest."""
    return sum(code << FP32.width * k for k, code in enumerate(codes))


@cache
def _without_elements(
    config: ExponentialConfig,
    source: FloatFormat,
    max_value: int,
    reduce: Reduce,
    init: int,
    count: int,
    bf16: bool,
    last: bool,
) -> int:
    """A beat's other fields, in place."""
    control = {"reduce": reduce, "init": init, "count": count, "bf16": bf16, "last": last}
    fields = {"max_value": max_value, "source": Source[source.name], "control": control}
    return pack(beat_layout(config), fields)


def powers_of(config: ExponentialConfig, beats: Sequence[Beat]) -> list[list[int]]:
    """FP32 codes of every beat's powers, by the vectorised model."""
    wide = [decode_array(beat.source, np.array(beat.elements)) for beat in beats]
    maxima = np.array([[beat.max_value] for beat in beats], np.uint32).view(np.float32)
    powers = exponential_of(np.array(wide, np.float32), maxima, config.numerics)
    return powers.view(np.uint32).tolist()


def exact_powers_of(config: ExponentialConfig, beats: Sequence[Beat]) -> list[list[int]]:
    """The same, by the exact tier."""
    return [[exponential(config.numerics, code, beat.max_value) for code in beat.wide] for beat in beats]


def cast(beats: Sequence[Beat], powers: Sequence[Sequence[int]]) -> list[list[int]]:
    """Powers as they are stored, BF16 above 16 zeros."""
    return [
        [exact.convert(power, FP32, BF16) << 16 for power in row] if beat.bf16 else list(row)
        for beat, row in zip(beats, powers, strict=True)
    ]


def sums_of(beats: Sequence[Beat], terms: Sequence[Sequence[int]]) -> list[int]:
    """The accumulator after every beat, from 0 before the first."""
    accumulator, sums = 0, []
    for beat, row in zip(beats, terms, strict=True):
        if beat.reduce is not Reduce.IDLE:
            start = {Reduce.RESET_REDUCE: 0, Reduce.LOAD_REDUCE: beat.init}
            accumulator = start.get(beat.reduce, accumulator)
            for term in row[: beat.added]:
                accumulator = exact.add(accumulator, term)
        sums.append(accumulator)
    return sums


def requests(
    config: ExponentialConfig,
    beats: Sequence[Beat],
    powers: Sequence[Sequence[int]],
    sums: Sequence[int] | None = None,
) -> list[Request]:
    """Beats with what must come of them; ``sums`` are those of the exact tier where they are not given."""
    stored = cast(beats, powers)
    if sums is None:
        sums = sums_of(beats, powers if config.numerics.sum_before_cast else stored)
    layout = result_layout(config)
    return [
        Request(beat.payload(config), pack(layout, {"powers": words(row), "sum": total, "last": beat.last}), beat.shown)
        for beat, row, total in zip(beats, stored, sums, strict=True)
    ]


def code(value: float) -> int:
    """The FP32 code next to a number."""
    return int(np.float32(value).view(np.uint32))


def cast_code(value: float, fmt: FloatFormat) -> int:
    """The code next to a number in a source's format."""
    return exact.convert(code(value), FP32, fmt)


def softmax_elements(fmt: FloatFormat, rng: Random, width: int) -> list[int]:
    """Elements around a maximum of a few units."""
    return [cast_code(rng.gauss(0, 3), fmt) for _ in range(width)]


def wide_elements(fmt: FloatFormat, rng: Random, width: int) -> list[int]:
    """Uniform elements in [-110, 95]; exp underflows at the lower end and overflows at the upper."""
    return [cast_code(rng.uniform(-110, 95), fmt) for _ in range(width)]


def small_elements(fmt: FloatFormat, rng: Random, width: int) -> list[int]:
    """Near 0 on a logarithmic scale."""
    return [cast_code(rng.choice((-1, 1)) * 2.0 ** rng.uniform(-40, 0), fmt) for _ in range(width)]


def any_elements(fmt: FloatFormat, rng: Random, width: int) -> list[int]:
    """Every bit at random, edges at times."""
    if fmt is FP32 and rng.getrandbits(1):
        return [fp32.edge(rng) for _ in range(width)]
    return [rng.getrandbits(fmt.width) for _ in range(width)]


CLASSES = (softmax_elements, wide_elements, small_elements, any_elements)


def random_beat(config: ExponentialConfig, rng: Random) -> Beat:
    """Any class, format and command."""
    source = rng.choice(SOURCES)
    elements = rng.choice(CLASSES)(source, rng, config.width)
    maximum = rng.choice((0, 0, code(rng.gauss(0, 3)), code(rng.uniform(-100, 100)), fp32.any_code(rng)))
    return Beat(
        tuple(elements),
        source,
        maximum,
        rng.choice(list(Reduce)),
        fp32.mixed(rng),
        rng.randint(0, config.width),
        bool(rng.getrandbits(1)),
        bool(rng.getrandbits(1)),
    )


def row_beats(config: ExponentialConfig, row: Sequence[int], first: Beat) -> list[Beat]:
    """Cut a row into beats with the control of ``first``; all but the first have REDUCE."""
    beats = []
    for begin in range(0, len(row), config.width):
        part = tuple(row[begin : begin + config.width])
        padded = part + (0,) * (config.width - len(part))
        beats.append(
            Beat(
                padded,
                first.source,
                first.max_value,
                Reduce.REDUCE if begin else first.reduce,
                first.init,
                len(part),
                first.bf16,
                begin + config.width >= len(row),
            )
        )
    return beats


ONE = FP32.bias << FP32.fraction_bits
INFINITY, MINUS = FP32.infinity_code, FP32.sign_mask
NEAR = range(-3, 4)
"""Codes on either side of an edge."""
Holds = Callable[[int], bool]


@dataclass(frozen=True)
class Corner:
    """An element, its format, the maximum, its bin, a check of the bin's property, and whether the result must be BF16."""

    bin: str
    element: int
    source: FloatFormat
    max_value: int
    holds: Holds
    bf16: bool = False


def corners(numerics: ExponentialNumerics, rng: Random) -> list[Corner]:
    makers = (_specials, _zero, _edges, _far, _table, _grid, _subnormals, _boundaries, _sources)
    return [corner for maker in makers for corner in maker(numerics, rng)]


def _specials(numerics: ExponentialNumerics, rng: Random) -> Iterator[Corner]:
    """NaN, infinities and one in both places."""
    numbers = {"nan": INFINITY + 5 | MINUS, "+inf": INFINITY, "-inf": INFINITY | MINUS, "one": ONE}
    for fmt in (FP32, BF16, FP16):
        for (a, element), (b, maximum) in ((x, y) for x in numbers.items() for y in numbers.items()):
            if "nan" in (a, b) or (a == b and a != "one"):
                expected = FP32.nan_code
            elif a == "+inf" or b == "-inf":
                expected = INFINITY
            elif a == b:
                expected = ONE
            else:
                expected = 0
            given = exact.convert(element, FP32, fmt) if a != "nan" else fmt.infinity_code + 1 | fmt.sign_mask
            yield Corner(
                f"{fmt.name}/{a} - {b}", given, fmt, maximum, lambda result, expected=expected: result == expected
            )


def _zero(numerics: ExponentialNumerics, rng: Random) -> Iterator[Corner]:
    """An argument of 0 of either sign gives 1; the smallest ones on either side of it give 1 or a neighbour."""
    for element, maximum in ((0, 0), (MINUS, 0), (0, MINUS), (MINUS, MINUS), (code(88.5), code(88.5))):
        yield Corner("argument 0", element, FP32, maximum, lambda result: result == ONE)
    for magnitude in (1, FP32.fraction_mask, 1 << FP32.fraction_bits, *(code(2.0**-k) for k in range(20, 36))):
        for sign in (0, MINUS):
            yield Corner("argument near 0", magnitude | sign, FP32, 0, lambda result: abs(result - ONE) <= 16)


def _edges(numerics: ExponentialNumerics, rng: Random) -> Iterator[Corner]:
    """The last argument that does not overflow, the first of normal results, and the first that does not round to 0."""

    def last(low: int, high: int, holds: Holds) -> int:
        while high - low > 1:
            middle = low + high >> 1
            low, high = (middle, high) if holds(exponential(numerics, middle, 0)) else (low, middle)
        return low

    edges = {
        "overflow": last(ONE, code(200), lambda result: result != INFINITY),
        "smallest normal": last(ONE | MINUS, code(-200), lambda result: result > FP32.fraction_mask),
        "smallest": last(ONE | MINUS, code(-200), lambda result: result > 0),
    }
    inside = {
        "overflow": lambda result: result != INFINITY,
        "smallest normal": lambda result: result > FP32.fraction_mask,
        "smallest": lambda result: result > 0,
    }
    for name, edge in edges.items():
        for step in NEAR:
            expected = step <= 0
            yield Corner(
                f"{name}/{'inside' if expected else 'beyond'}",
                edge + step,
                FP32,
                0,
                lambda result, name=name, expected=expected: inside[name](result) == expected,
            )


def _far(numerics: ExponentialNumerics, rng: Random) -> Iterator[Corner]:
    """Around 256, where the datapath stops to compute, and at the largest numbers."""
    for magnitude in (*(code(256) + step for step in NEAR), code(128), code(512), FP32.max_code):
        yield Corner("far above", magnitude, FP32, 0, lambda result: result == INFINITY)
        yield Corner("far below", magnitude | MINUS, FP32, 0, lambda result: result == 0)
    yield Corner("difference overflows", FP32.max_code, FP32, FP32.max_code | MINUS, lambda result: result == INFINITY)
    yield Corner("difference overflows", FP32.max_code | MINUS, FP32, FP32.max_code, lambda result: result == 0)


def _table(numerics: ExponentialNumerics, rng: Random) -> Iterator[Corner]:
    """Arguments at both ends of table entries: the rest of the argument is nearly 0, or nearly the next entry."""
    rest_bits = numerics.fraction_bits - numerics.table_bits
    entries = 1 << numerics.table_bits
    margin = 1 << rest_bits - 6

    def place(element: int) -> tuple[int, int]:
        u = argument(numerics, decode(FP32, element))
        return u >> rest_bits & entries - 1, u & (1 << rest_bits) - 1

    for integer in (-100, -3, -1, 0, 1, 20):
        for entry in (0, 1, entries // 2 - 1, entries // 2, entries - 1):
            for step in NEAR:
                start = (integer + entry / entries) * log(2)
                # At 0 itself a step of a code is nothing.
                element = code(start) + step if start else code(step * 2.0**-20)
                index, rest = place(element)
                low = rest < margin
                name = f"entry {index}/{'low' if low else 'high'}"
                # Next to large arguments, a code is more than an end of a large table's entry.
                if low or rest >= (1 << rest_bits) - margin:
                    yield Corner(name, element, FP32, 0, lambda result: 0 < result < INFINITY)


def _grid(numerics: ExponentialNumerics, rng: Random) -> Iterator[Corner]:
    """Negative arguments whose product with log2(e) is on the grid of ``2**-fraction_bits``, or but for a single bit below it:
    inverted, the one is no floor of it, and the other is."""
    factor = log2e(numerics)
    twos, leading = (factor & -factor).bit_length() - 1, 1 << FP32.fraction_bits
    for exponent in range(FP32.bias - 1, FP32.bias + 7):
        # Places of the product below the grid.
        dropped = FP32.fraction_bits + numerics.log2e_bits - numerics.fraction_bits - (exponent - FP32.bias)
        modulus = 1 << dropped - twos
        for bit in range(twos, dropped + 1):
            significand = (1 << bit - twos) * pow(factor >> twos, -1, modulus) % modulus
            # Most larger moduli have no significand of that length.
            significand += max(0, leading - significand + modulus - 1) // modulus * modulus
            if significand < 2 * leading:
                element = MINUS | exponent << FP32.fraction_bits | significand - leading
                below = (significand * factor & (1 << dropped) - 1).bit_count()
                yield Corner(
                    f"bits below the grid/{below}",
                    element,
                    FP32,
                    0,
                    lambda result, below=below: below < 2 and result > 0,
                )


def _subnormals(numerics: ExponentialNumerics, rng: Random) -> Iterator[Corner]:
    for _ in range(30):
        element = code(rng.uniform(-103, -87.5))
        yield Corner("subnormal result", element, FP32, 0, lambda result: 0 < result <= FP32.fraction_mask)


def _boundaries(numerics: ExponentialNumerics, rng: Random) -> Iterator[Corner]:
    """Powers beside ties of FP32's subnormal grid, and FP32 results beside ties of every boundary of BF16.

    Arguments whose powers are near FP32's smallest normal number and its overflow are ``2**-17`` apart, which is 64 units of
    the last place and more: no argument can be chosen for a tie there, and none at all for the tie itself.
    """
    smallest = FP32.min_normal / 2**FP32.fraction_bits
    # So that several arguments have powers in one unit.
    numbers = {
        "zero": 0,
        "subnormal grid, even": rng.getrandbits(12) << 1,
        "subnormal grid, odd": rng.getrandbits(12) << 1 | 1,
    }
    grid = [Boundary(name, number * smallest, smallest) for name, number in numbers.items()]
    for fmt, boundaries in ((FP32, grid), (BF16, float_boundaries(BF16, rng))):
        for boundary in boundaries:
            tie = boundary.lower + boundary.unit / 2
            for step in (sign << place for place in range(FP32.precision) for sign in (-1, 1)):
                element = code(log(tie)) + step
                x = decode(FP32, element)
                result = exponential(numerics, element, 0)
                rounded = (
                    decode(FP32, result).value if fmt is BF16 and result != INFINITY else exponential_power(numerics, x)
                )
                beside = (rounded - tie) / boundary.unit
                if 0 < abs(beside) < Fraction(1, 2):
                    name = f"boundary/{fmt.name}/{boundary.name}/{SIDES[1 if beside > 0 else -1]} tie"
                    yield Corner(name, element, FP32, 0, lambda got, result=result: got == result, fmt is BF16)


def _sources(numerics: ExponentialNumerics, rng: Random) -> Iterator[Corner]:
    """Subnormal and other elements of 16 bits, with a maximum that makes their difference inexact."""
    for fmt in (BF16, FP16):
        for element in (1, fmt.fraction_mask, 1 << fmt.fraction_bits, fmt.bias << fmt.fraction_bits):
            for sign in (0, fmt.sign_mask):
                given = element | sign
                for maximum in (0, code(2.0**-20), code(3.1415927)):
                    yield Corner(
                        f"{fmt.name}/small elements",
                        given,
                        fmt,
                        maximum,
                        lambda result: decode(FP32, result).kind is Kind.FINITE and result > 0,
                    )


NEAREST = (
    *(0x3C7BDE1A, 0x3EAE5EF3, 0x3E89F527, 0x404168DF, 0x421B4C9E, 0x3DD0BF99, 0xBBB4F161, 0x3DAB6EDC),
    *(0xC063ED1C, 0x3DBE2FD5, 0x3C80ADCC, 0xBFA5EE4C, 0xBEC00298, 0xC14042BA, 0x3C70E1B6, 0x41CB3F16),
    *(0xBBF0D33E, 0x3F86AE7C, 0x4254114D, 0xBB1C4024, 0xBDF2BE10, 0x41E4DE2F, 0xBC784234, 0xC23B4E9C),
)
"""Arguments whose normal powers lie nearest to a tie without being one, among all 670 million by the preset's numerics. The
first is 9,331 units of ``2**-64`` from half-way, so that 51 fraction bits decide every rounding."""
ONE_BIT = (0xBF94BEFB, 0x41AA740E)
"""With four of the nearest, all whose powers end above half-way to an even number in one bit of the lowest nineteen that are kept."""
SQUARES = (
    *(0x3E860953, 0x42256424, 0x41EF78A7, 0x41B9D309, 0x3DDD31D6, 0x3F7F6275, 0x40D5D977, 0x4003B06A),
    *(0x3CD6231D, 0x3C95A320, 0x3F2E85CC, 0x4116C879, 0x3EFAE9EE, 0x3D724EB1, 0x429C6684, 0x40144FFF),
)
"""Arguments whose polynomial's square is next to a unit of ``2**-32``, with powers that such a unit takes past half-way: below both
by less than that, then above. Sixteen of 161 among 40 million at random."""
TIES, RANDOM = 64, 64
DRAWN = 2048
"""Arguments at random for those that are near."""


def near_ties(numerics: ExponentialNumerics, rng: Random) -> list[int]:
    """FP32 codes: the nearest, the nearest of many at random, and ties."""
    drawn = sorted((code(rng.uniform(-87, 88)) for _ in range(DRAWN)), key=lambda each: _apart(numerics, each) or 1)
    ties = _ties(numerics, rng)
    return [*NEAREST, *ONE_BIT, *SQUARES, *drawn[:RANDOM], *(next(ties) for _ in range(TIES))]


def _ties(numerics: ExponentialNumerics, rng: Random) -> Iterator[int]:
    """Yield arguments of ties without end. Table entry 0 is 1, so a power has the polynomial's bits alone, and every 512th is a tie."""
    while True:
        element = code((rng.randint(-126, 127) + rng.random() / (1 << numerics.table_bits)) * log(2))
        if _apart(numerics, element) == 0:
            yield element


def _apart(numerics: ExponentialNumerics, element: int) -> Fraction:
    """How far from half-way the power is, in units of its last place."""
    y = exponential_power(numerics, decode(FP32, element))
    return abs(y * Fraction(2) ** (FP32.fraction_bits - floor_log2(y)) % 1 - Fraction(1, 2))
