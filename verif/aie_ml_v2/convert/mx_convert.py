"""Requests for the conversion to blocks, with golden's results."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK, MX_PAIRS, MxFormat, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.convert.layouts import BlockLayouts, Blocks, MxCode
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import array_bits, pack
from bitpath.verif.kit.pipeline import Request
from bitpath.verif.kit.values import Integer, Word, code_text, codes_text


def layouts_of(fmt: MxFormat) -> BlockLayouts:
    """Return the layouts of the streams that carry blocks of a format."""
    return (Blocks.MX if fmt.has_shifts else Blocks.BFP16EBS8).layouts


@dataclass(frozen=True)
class Conversion:
    """One request: the FP32 codes of a block, its format and the rounding code."""

    lanes: tuple[int, ...]
    fmt: MxFormat
    rounding: RoundingCode

    @property
    def bin(self) -> str:
        return f"{self.fmt.name}/{self.rounding.name}"

    @property
    def payload(self) -> int:
        layouts = layouts_of(self.fmt)
        choice = {"block_format": MxCode.of(self.fmt).value} if len(layouts.formats) > 1 else {}
        control = pack(layouts.control, choice | {"rounding": self.rounding.value})
        return pack(layouts.request, {"lanes": array_bits(np.array(self.lanes, np.uint32)), "control": control})

    def shown(self, path: str) -> Shown:
        """Return the lane that differs and the largest one, or all of a block whose exponent, shifts or image do."""
        lane = int(path.rpartition(".")[2]) if path.startswith("block.codes.") else None
        finite = [code for code in self.lanes if code & ~FP32.sign_mask <= FP32.max_code]
        largest = max(finite, key=lambda code: code & ~FP32.sign_mask, default=None)
        operands = {
            "control": f"{self.fmt.name}, {self.rounding.name}",
            "lanes" if lane is None else "lane": codes_text(FP32, self.lanes if lane is None else [self.lanes[lane]]),
            "largest": "none is finite" if largest is None else code_text(FP32, largest),
        }
        return Shown(operands=operands, formats={"block.codes": Integer(8), "image": Word(8)})


@dataclass(frozen=True)
class Converted:
    """A block, and its bytes in memory; those of bfp16ebs8, whose tiles hold eight, are empty."""

    fmt: MxFormat
    exponent: int
    shift: int
    codes: tuple[int, ...]
    image: bytes

    @property
    def bits(self) -> int:
        layouts = layouts_of(self.fmt)
        shift = {"shift": self.shift} if layouts.has_shifts else {}
        image = {"image": int.from_bytes(self.image, "little")} if layouts.has_shifts else {}
        codes = array_bits(np.array(self.codes, np.int8))
        block = pack(layouts.block, {"exponent": self.exponent, **shift, "codes": codes})
        return pack(layouts.result, {"block": block, **image})


def results_of(blocks: aie.MxBlocks) -> list[Converted]:
    """Blocks [n, 1] one by one."""
    images = aie.pack_mx(blocks)[:, 0] if blocks.fmt.has_shifts else np.zeros((len(blocks.exponent), 0), np.uint8)
    columns = (blocks.exponent[:, 0].tolist(), blocks.shift[:, 0].tolist(), blocks.codes[:, 0].tolist(), images)
    return [
        Converted(blocks.fmt, exponent, shift, tuple(codes), image.tobytes())
        for exponent, shift, codes, image in zip(*columns, strict=True)
    ]


def expected(requests: Sequence[Conversion], numerics: AieNumerics) -> list[Converted]:
    """Return the expected block of each request; golden converts all with the same control at once."""
    groups: dict[tuple[MxFormat, RoundingCode], list[int]] = defaultdict(list)
    for index, request in enumerate(requests):
        groups[request.fmt, request.rounding].append(index)
    results: dict[int, Converted] = {}
    for (fmt, rounding), indices in groups.items():
        words = np.array([requests[index].lanes for index in indices], np.uint32)
        blocks = aie.to_mx(words.view(np.float32), fmt, rounding=rounding, numerics=numerics)
        results.update(zip(indices, results_of(blocks), strict=True))
    return [results[index] for index in range(len(requests))]


def with_golden(requests: Sequence[Conversion], numerics: AieNumerics) -> list[Request]:
    """Return requests with golden's results."""
    results = expected(requests, numerics)
    return [Request(each.payload, result.bits, each.shown) for each, result in zip(requests, results, strict=True)]


def conversions(blocks: np.ndarray, fmt: MxFormat, rounding: RoundingCode) -> list[Conversion]:
    """Requests of float32 or uint32 [n, elements]."""
    words = blocks.view(np.uint32) if blocks.dtype == np.float32 else blocks
    return [Conversion(tuple(row), fmt, rounding) for row in words.tolist()]


EVEN = RoundingCode.CONV_EVEN
PLUS_MINUS = ((0, "+"), (1, "-"))
SIDES = ("exact", "just above", "below half", "half", "above half")
AWAY = {
    RoundingCode.FLOOR: ("", "-"),
    RoundingCode.CEIL: ("", "+"),
    RoundingCode.SYMMETRIC_FLOOR: ("", ""),
    RoundingCode.SYMMETRIC_CEIL: ("", "+-"),
    RoundingCode.NEGATIVE_INF: ("half", "-"),
    RoundingCode.POSITIVE_INF: ("half", "+"),
    RoundingCode.SYMMETRIC_ZERO: ("half", ""),
    RoundingCode.SYMMETRIC_INF: ("half", "+-"),
    RoundingCode.CONV_EVEN: ("half", "odd"),
    RoundingCode.CONV_ODD: ("half", "even"),
}
"""For each rounding code: decides between values or only at the midpoint, and the numbers that it rounds away from zero."""


@dataclass(frozen=True)
class MxCorner:
    """A block with its expected exponent, shift byte, and codes of some elements."""

    bin: str
    request: Conversion
    exponent: int
    shift: int
    codes: dict[int, int] = field(default_factory=dict)

    def agrees(self, block: Converted) -> bool:
        """Return True if a block has the corner's expected properties."""
        same = all(block.codes[place] == code for place, code in self.codes.items())
        return (block.exponent, block.shift) == (self.exponent, self.shift) and same


def word(exponent: int, fraction: int = 0, sign: int = 0) -> int:
    """The FP32 code of these fields."""
    return sign << 31 | exponent << FP32.fraction_bits | fraction


def block(
    name: str,
    fmt: MxFormat,
    lanes: dict[int, int],
    exponent: int,
    shift: int,
    codes: dict[int, int],
    *,
    rest: int = 0,
    rounding: RoundingCode = EVEN,
) -> MxCorner:
    """Return a corner with the given words at their positions, and ``rest`` at the others; shifts count where there are any."""
    words = tuple(lanes.get(place, rest) for place in range(fmt.elements))
    return MxCorner(name, Conversion(words, fmt, rounding), exponent, shift if fmt.has_shifts else 0, codes)


def corners(numerics: AieNumerics, formats: Sequence[MxFormat]) -> list[MxCorner]:
    makers = (_ties, _masks, _distances, _zeros, _subnormals, _exponents, _specials, _carries)
    return [each for maker in makers for fmt in formats for each in maker(numerics, fmt)]


def _goes_away(rounding: RoundingCode, side: str, sign: str, odd: str) -> bool:
    """Return True if rounding increases the magnitude."""
    if side == "exact":
        return False
    where, which = AWAY[rounding]
    if where == "half" and side != "half":
        return side == "above half"
    return sign in which or odd == which


def _ties(numerics: AieNumerics, fmt: MxFormat) -> Iterator[MxCorner]:
    """Every rounding code on both sides of a half and at it, above an even and an odd last place, in both signs, in a pair
    with the shift bit and in one without."""
    places = FP32.fraction_bits + 1 - fmt.magnitude_bits  # significand bits below the element's last place
    half = 1 << places - 1
    below = dict(zip(SIDES, (0, 1, half - 1, half, half + 1), strict=True))
    top = 1 << fmt.magnitude_bits - 1
    for rounding in RoundingCode:
        for shifted in (0, 1) if fmt.has_shifts else (0,):
            for sign, name in PLUS_MINUS:
                for side, rest in below.items():
                    # The significand is as long as the magnitude: its first bit the hidden one, its last even or odd.
                    for last, odd in ((0, "even"), (1, "odd")):
                        fraction = last << places | rest
                        lane = word(FP32.bias - shifted, fraction, sign)
                        code = (top | last) + _goes_away(rounding, side, name, odd)
                        if code > fmt.max_code:
                            continue  # MX4's 3 rounds out of the range, which `_carries` is about
                        yield block(
                            f"{fmt.name}/{rounding.name}/{side} {odd}/{name}/shift {shifted}",
                            fmt,
                            {0: word(FP32.bias), 4: lane},
                            FP32.bias,
                            0xFE if shifted else 0xFA,
                            {0: top, 4: -code if sign else code},
                            rounding=rounding,
                        )


def _masks(numerics: AieNumerics, fmt: MxFormat) -> Iterator[MxCorner]:
    """Every shift byte that a block can have: not all bits, since one pair has the largest exponent."""
    one = 1 << fmt.magnitude_bits - 1
    for mask in range(255 if fmt.has_shifts else 0):
        lanes, codes = {}, {}
        for pair in range(MX_PAIRS):
            shifted = mask >> pair & 1
            # The larger exponent alternates between the elements of its pair; the shift does not change a power of two's code.
            place = 2 * pair + (mask + pair) % 2
            lanes[place], codes[place] = word(100 - shifted), one
        yield block(f"{fmt.name}/mask {mask:#04x}", fmt, lanes, 100, mask, codes)


def _distances(numerics: AieNumerics, fmt: MxFormat) -> Iterator[MxCorner]:
    """A pair 0, 1, 2 and more binades below the block's exponent, until it rounds to zero, and one beyond."""
    one = 1 << fmt.magnitude_bits - 1
    for distance in (*range(fmt.magnitude_bits + 3), 30, 120):
        code = one if distance == 0 else one << fmt.has_shifts >> distance
        # Half of the last place with a shift bit is a tie, which goes to the even code 0.
        for sign, name in PLUS_MINUS:
            yield block(
                f"{fmt.name}/distance {distance}/{name}",
                fmt,
                {0: word(121), 7: word(121 - distance, sign=sign)},
                121,
                0b11111110 & ~(0b1000 * (distance == 0)),
                {0: one, 6: 0, 7: -code if sign else code},
            )


def _zeros(numerics: AieNumerics, fmt: MxFormat) -> Iterator[MxCorner]:
    """Zeros of both signs have exponent 0 and no shift bits."""
    for sign, name in PLUS_MINUS:
        for rounding in RoundingCode:
            zero = word(0, sign=sign)
            codes = dict.fromkeys(range(fmt.elements), 0)
            name_of = f"{fmt.name}/zeros/{rounding.name}/{name}"
            yield block(name_of, fmt, {}, 0, 0, codes, rest=zero, rounding=rounding)


def _subnormals(numerics: AieNumerics, fmt: MxFormat) -> Iterator[MxCorner]:
    """Subnormals alone and with the smallest normal exponents; flushed or converted."""
    m = fmt.magnitude_bits
    top_bit = 1 << FP32.fraction_bits - 1
    for sign, name in PLUS_MINUS:
        alone = 0 if numerics.mx_flush else 1 << m - 1
        lane = word(0, top_bit, sign)
        code = -alone if sign else alone
        yield block(f"{fmt.name}/subnormal alone/{name}", fmt, {3: lane}, 0, 0, {3: code})
        # Exponent 1 in the pair: 2**-127 is half of 2**-126, whose code is 2**(m - 1).
        code = 0 if numerics.mx_flush else (1 << m - 1) >> 1
        lanes = {2: word(1), 3: lane}
        yield block(
            f"{fmt.name}/subnormal beside 1/{name}", fmt, lanes, 1, 0xFD, {2: 1 << m - 1, 3: -code if sign else code}
        )
        # In a pair of its own it has the shift bit; directed rounding shows any bits that were not flushed.
        for rounding in (RoundingCode.SYMMETRIC_CEIL, RoundingCode.SYMMETRIC_FLOOR):
            away = rounding is RoundingCode.SYMMETRIC_CEIL and not numerics.mx_flush
            lanes = {0: word(60), 3: word(0, 1, sign)}
            code = -int(away) if sign else int(away)
            place = f"{fmt.name}/subnormal far below/{rounding.name}/{name}"
            yield block(place, fmt, lanes, 60, 0xFE, {3: code}, rounding=rounding)


def _exponents(numerics: AieNumerics, fmt: MxFormat) -> Iterator[MxCorner]:
    """The smallest and largest exponents at every position."""
    one = 1 << fmt.magnitude_bits - 1
    for exponent in (1, 2, 253, 254):
        for place in range(fmt.elements):
            mask = 0xFF ^ 1 << place // 2
            yield block(
                f"{fmt.name}/exponent {exponent}/{place}", fmt, {place: word(exponent)}, exponent, mask, {place: one}
            )


def _specials(numerics: AieNumerics, fmt: MxFormat) -> Iterator[MxCorner]:
    """Infinities and NaN of either sign at every position: a NaN block, or an ordinary exponent of 255."""
    one = 1 << fmt.magnitude_bits - 1
    for place in range(fmt.elements):
        for sign, name in PLUS_MINUS:
            for fraction, what in ((0, "infinity"), (1 << 22, "NaN"), (1, "signalling NaN")):
                lanes = {place: word(255, fraction, sign)}
                if numerics.mx_nan_block:
                    shift, codes = 0, dict.fromkeys(range(fmt.elements), 0)
                else:
                    code = one + (one >> 1 if what == "NaN" else 0)
                    shift, codes = 0xFF ^ 1 << place // 2, {place: -code if sign else code}
                rest = word(127, 1 << 22) if numerics.mx_nan_block else 0
                yield block(f"{fmt.name}/{what}/{place}/{name}", fmt, lanes, 255, shift, codes, rest=rest)


def _carries(numerics: AieNumerics, fmt: MxFormat) -> Iterator[MxCorner]:
    """Numbers that round up to the next power of two: saturated, bumped to the next exponent, or the most negative code."""
    ones, half = FP32.fraction_mask, 1 << fmt.magnitude_bits - 1
    for sign, name in PLUS_MINUS:
        lowest = sign and numerics.mx_min_code
        kept = 1 << fmt.magnitude_bits if lowest else fmt.max_code
        for exponent in (3, 127, 253, 254):
            bumps = numerics.mx_bump and not lowest and exponent < 254
            code = half if bumps else kept
            yield block(
                f"{fmt.name}/carry/exponent {exponent}/{name}",
                fmt,
                {5: word(exponent, ones, sign)},
                exponent + bumps,
                0xFB,
                {5: -code if sign else code},
            )
        if not fmt.has_shifts:
            # The bump gives all elements a new last place: 65 becomes 32.5, which goes to even.
            last = word(127, 1 << FP32.fraction_bits + 1 - fmt.magnitude_bits)
            bumps = numerics.mx_bump and not lowest
            code = half if bumps else kept
            yield block(
                f"{fmt.name}/carry/beside an odd code/{name}",
                fmt,
                {5: word(127, ones, sign), 6: last},
                127 + bumps,
                0,
                {5: -code if sign else code, 6: half >> 1 if bumps else half | 1},
            )
            continue
        # In a pair one binade below, whose shift bit the bump clears, and two below, where the code has room.
        bumps = numerics.mx_bump and not lowest
        code = half if bumps else kept
        yield block(
            f"{fmt.name}/carry/shifted pair/{name}",
            fmt,
            {0: word(127), 5: word(126, ones, sign)},
            127,
            0xFA if bumps else 0xFE,
            {0: half, 5: -code if sign else code},
        )
        yield block(
            f"{fmt.name}/carry/two binades below/{name}",
            fmt,
            {0: word(127), 5: word(125, ones, sign)},
            127,
            0xFE,
            {0: half, 5: -half if sign else half},
        )
        # The bump of one pair gives another of the same exponent the shift bit: it keeps its last place and its code.
        yield block(
            f"{fmt.name}/carry/beside a pair of the same exponent/{name}",
            fmt,
            {5: word(127, ones, sign), 8: word(127, 1 << FP32.fraction_bits + 1 - fmt.magnitude_bits)},
            127 + bumps,
            0xFB if bumps else 0xEB,
            {5: -code if sign else code, 8: half | 1},
        )


EDGES = (0, 0, 1, 2, 253, 254, 254, 255)
"""Exponents at the ends of the range."""
FRACTIONS_OF_A_PLACE = (0, 2.0**-10, 0.5 - 2.0**-10, 0.5, 0.5 + 2.0**-10)
"""Bits below an element's last place: zero and its neighbours, and the midpoint and its neighbours."""


HALVES_AND_A_BIT = np.add.outer((0.5, 1.5, 2.5), 2.0 ** -np.arange(2, 23)).ravel()
"""Half a last place above an even or an odd element, and one bit below."""


def _word(source: Random, exponent: int, fraction: int) -> int:
    return source.getrandbits(1) << 31 | exponent << FP32.fraction_bits | fraction & FP32.fraction_mask


def _any(source: Random, fmt: MxFormat) -> int:
    return source.getrandbits(32)


def _near(source: Random, fmt: MxFormat) -> int:
    """Elements with exponents so close that each keeps some bits."""
    return _word(source, source.randint(118, 130), source.getrandbits(FP32.fraction_bits))


def _tie(source: Random, fmt: MxFormat) -> int:
    """A unit in the last place of the element, half of it, and neighbours."""
    place = FP32.precision - fmt.magnitude_bits
    below = source.choice((0, 1, (1 << place - 1) - 1, 1 << place - 2, (1 << place - 2) - 1))
    return _word(source, source.randint(124, 127), source.getrandbits(fmt.magnitude_bits) << place - 1 | below)


def _ones(source: Random, fmt: MxFormat) -> int:
    """Return numbers that round up to the next power of two."""
    return _word(source, source.randint(125, 127), FP32.fraction_mask)


def _edge(source: Random, fmt: MxFormat) -> int:
    """Zeros, subnormals, the smallest and largest normal numbers, infinity and NaN."""
    return _word(source, source.choice(EDGES), source.choice((0, 1, 1 << 22, FP32.fraction_mask)))


def _high(source: Random, fmt: MxFormat) -> int:
    return _word(source, source.randint(250, 254), source.choice((0, FP32.fraction_mask, source.getrandbits(23))))


KINDS = (_any, _near, _near, _tie, _tie, _ones, _edge, _high)


def random_conversion(combination: tuple[MxFormat, RoundingCode], source: Random) -> Conversion:
    """Return a block whose elements all have one class, or a class each."""
    fmt, rounding = combination
    kind = source.choice((*KINDS, None))
    kinds = [kind or source.choice(KINDS) for _ in range(fmt.elements)]
    return Conversion(tuple(each(source, fmt) for each in kinds), fmt, rounding)


def every_place(fmt: MxFormat) -> np.ndarray:
    """Return every magnitude and sign with every fraction of its last place, as `in_blocks`."""
    units = np.add.outer(np.arange(fmt.max_code + 1), FRACTIONS_OF_A_PLACE).ravel()
    return in_blocks(fmt, np.concatenate([units, HALVES_AND_A_BIT, -units]))


def in_blocks(fmt: MxFormat, units: np.ndarray) -> np.ndarray:
    """Return elements of these units in the last place, float32 [n, elements], and in MX with and without shift.

    Element 0 is 1.5, so that the exponent is 127; it stands alone in its pair.
    """
    place = 2.0 ** (1 - fmt.magnitude_bits)
    if not fmt.has_shifts:
        beside = _rows(units * place, fmt.elements - 1)
        return _with_first(np.concatenate([np.zeros((len(beside), 1)), beside], axis=1))
    # A pair whose other element is 1.0 has no shift; one of two elements below 1.0 has it, and half the place.
    alone = _rows(units * place, MX_BLOCK // 2 - 1)
    unshifted = np.ones((len(alone), MX_BLOCK))
    unshifted[:, 2::2] = alone
    both = _rows(units * place / 2, MX_BLOCK - 2)
    shifted = np.zeros((len(both), MX_BLOCK))
    shifted[:, 2:] = both
    return _with_first(np.concatenate([unshifted, shifted]))


def _with_first(blocks: np.ndarray) -> np.ndarray:
    """Return blocks as float32 with 1.5 as element 0."""
    blocks[:, 0] = 1.5
    floats = blocks.astype(np.float32)
    assert np.array_equal(floats, blocks), "a number is no FP32 number"
    return floats


def _rows(numbers: np.ndarray, width: int) -> np.ndarray:
    """Split into rows of equal length, the last one padded with zeros."""
    rows = np.zeros(-(-len(numbers) // width) * width)
    rows[: len(numbers)] = numbers
    return rows.reshape(-1, width)
