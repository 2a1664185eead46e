"""Columns for GMPOOL with the exact tier's results: a maximum in each place, ties, scales, chains."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from random import Random

from bitpath.golden.formats.catalogue import FP16, FP32
from bitpath.golden.tensix import exact
from bitpath.golden.tensix.declarations.formats import COLUMNS, STYLE_OWN_FORMAT, Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.exact.matrix import next_index_phase
from bitpath.rtl.tensix.dot.layouts import StyleCode
from bitpath.rtl.tensix.pool.layouts import POOL_ROWS, PoolWords, pool_request
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Request
from bitpath.verif.kit.values import codes_text
from bitpath.verif.tensix.dot.numbers import (
    EXPONENT5_MASK,
    FRACTION_BITS,
    INTEGER_EXPONENT,
    NOT_FP16,
    dst_number,
    dst_word,
    source_number,
    source_word,
)

UNDEFINED = (1 << 32) - 1
"""An undefined Dst word."""
DST = COLUMNS
"""Dst's place in a comparison; places 0 to 15 are rows of SrcA."""
ORDER = (DST, 4, 5, 6, 7, 0, 1, 2, 3, *range(8, COLUMNS))
"""Places in the order of their comparison."""
DENORMAL = 1
"""Exponent and fraction of a SrcA word that is read as 0."""
KINDS = ("positive", "negative", "zero")
"""Kinds of a maximum."""
WIDENING = FP32.bias - 2 * FP16.bias + FP32.bias
"""Added to the exponents of FP16 in a 32-bit Dst: FP32's bias for FP16's two, and the second bias of Dst's data."""
SCALES = {Style.FP16: (0, 1, 15, 30, 31)}
"""Exponents of SrcB that FP16's columns are scaled by; all others take those of 8 bits."""
SCALES_8 = (0, 1, 127, 254, 255)


@dataclass(frozen=True)
class Mode:
    """Style, width of Dst, and whether the index is returned."""

    style: Style
    dst32: bool
    argmax: bool = False

    def __str__(self) -> str:
        return f"{self.style.value}/{'argmax' if self.argmax else 32 if self.dst32 else 16}"

    @property
    def dst_integer(self) -> bool:
        return self.style is Style.INT8 or (self.argmax and self.style is Style.TF32)

    @property
    def fmt(self):
        return FP16 if self.style is Style.FP16 else FP32

    @property
    def widens(self) -> bool:
        """Return whether FP16 is compared with FP32."""
        return self.style is Style.FP16 and self.dst32 and not self.argmax

    @property
    def second_bias(self) -> int:
        """Bias that a magnitude has beside SrcA's; of FP16 in a 32-bit Dst if it is rebiased."""
        return self.fmt.bias + (WIDENING if self.widens else 0)

    @property
    def unit(self) -> int:
        """Least step of magnitudes that SrcA and Dst both have."""
        narrow = self.style is Style.BF16 or (self.style is Style.TF32 and not self.dst32)
        return 1 << FRACTION_BITS - 7 if narrow else 1

    @property
    def scales(self) -> tuple[int, ...]:
        return SCALES.get(self.style, SCALES_8)

    @property
    def top(self) -> int:
        """Largest magnitude of SrcA at scale 1.0."""
        return self.magnitude(self.fmt.exponent_mask, -1) if self.style is not Style.INT8 else (1 << FRACTION_BITS) - 1

    @property
    def low(self) -> int:
        """Smallest magnitude of a SrcA datum that is not zero."""
        return self.magnitude(1, 0) if self.style is not Style.INT8 else 1

    def magnitude(self, exponent: int, fraction: int) -> int:
        """Return the magnitude of a datum at scale 1.0, which has a second bias."""
        return (exponent + self.second_bias << FRACTION_BITS) + (fraction & (1 << FRACTION_BITS) - self.unit)

    def row(self, sign: int, magnitude: int) -> int:
        """Return the SrcA word that has a magnitude at scale 1.0; 0 is a denormal."""
        if self.style is Style.INT8:
            return sign << 18 | INTEGER_EXPONENT << FRACTION_BITS | magnitude
        return sign << 18 | (magnitude - (self.second_bias << FRACTION_BITS) if magnitude else DENORMAL)

    def dst(self, rng: Random, sign: int, magnitude: int) -> int:
        """Return a Dst word of a magnitude, with random bits where none is read."""
        if self.dst_integer:
            return sign << 31 | rng.getrandbits(12) << 19 | magnitude
        code = magnitude - ((FP32 if self.widens else self.fmt).bias << FRACTION_BITS)
        if self.dst32 and not self.argmax:
            return sign << 31 | code << 13 | rng.getrandbits(13)
        half = sign << 15 | (code if self.style is Style.FP16 else code >> 3)
        return half << 16 | rng.getrandbits(16) if self.argmax else half


MODES = (
    *(Mode(style, dst32) for style in (Style.BF16, Style.TF32, Style.FP16) for dst32 in (False, True)),
    Mode(Style.INT8, True),
    *(Mode(style, True, argmax=True) for style in Style),
)


@dataclass(frozen=True)
class Column:
    """One column: 16 SrcA words, the exponents that scale them, four Dst words."""

    numerics: TensixNumerics
    mode: Mode
    rows: tuple[int, ...]
    scales: tuple[int, ...]
    dst: tuple[int, ...]

    @cached_property
    def words(self) -> list[int]:
        is_fp16 = self.mode.style is Style.FP16
        rows = [row & ~NOT_FP16 if is_fp16 else row for row in self.rows]
        scales = [(scale & EXPONENT5_MASK if is_fp16 else scale) << FRACTION_BITS for scale in self.scales]
        mode = {
            "style": self.mode.style,
            "dst32": self.mode.dst32,
            "argmax": self.mode.argmax,
            "numerics": self.numerics,
        }
        others = [next_index_phase(word) if self.mode.argmax else 0 for word in self.dst[1:]]
        return [exact.maximum(self.dst[0], scales, rows, **mode), *others]

    @property
    def request(self) -> Request:
        control = {"style": StyleCode.of(self.mode.style), "dst32": self.mode.dst32, "argmax": self.mode.argmax}
        fields = {"rows": self.rows, "scales": self.scales, "dst": self.dst, "control": control}
        return Request(pack(pool_request(), fields), pack(PoolWords, self.words), self.shown)

    def shown(self, _: str) -> Shown:
        number = dst_number(self.mode.style, dst32=self.mode.dst32)
        operands = {
            "mode": str(self.mode),
            "SrcA": codes_text(source_number(STYLE_OWN_FORMAT[self.mode.style]), self.rows),
            "scales": ", ".join(map(str, self.scales)),
            "Dst": ", ".join(f"{word:#x}" for word in self.dst),
        }
        return Shown(operands=operands, formats=dict.fromkeys(range(POOL_ROWS), number))


def built(numerics: TensixNumerics, rng: Random, mode: Mode, data: dict[int, tuple[int, int]]) -> Column:
    """Return a column at scale 1.0 of sign and magnitude by place."""
    rows = tuple(mode.row(*data[place]) for place in range(COLUMNS))
    others = tuple(dst_word(rng, mode.style, dst32=mode.dst32) for _ in range(POOL_ROWS - 1))
    return Column(numerics, mode, rows, (mode.fmt.bias,) * COLUMNS, (mode.dst(rng, *data[DST]), *others))


def drawn(rng: Random, mode: Mode, low: int, high: int) -> int:
    """Return a magnitude between two, often close to one of them."""
    choices = (low, low + mode.unit, high - mode.unit, high, rng.randint(low, high), rng.randint(low, high))
    return min(max(rng.choice(choices) // mode.unit * mode.unit, low), high)


def below(rng: Random, mode: Mode, kind: str, magnitude: int) -> tuple[int, int]:
    """Return a datum below a maximum of a kind."""
    if kind == "negative":
        return 1, drawn(rng, mode, magnitude + mode.unit, mode.top)
    if kind == "zero" or rng.getrandbits(1):
        return 1, drawn(rng, mode, mode.low, mode.top)
    return 0, drawn(rng, mode, mode.low, magnitude - mode.unit)


def peak(rng: Random, mode: Mode, kind: str) -> tuple[int, int]:
    """Return sign and magnitude of a maximum of a kind, not the largest and not the smallest."""
    if kind == "zero":
        return 0, 0
    return int(kind == "negative"), drawn(rng, mode, mode.low + mode.unit, mode.top - 2 * mode.unit)


def places(numerics: TensixNumerics, rng: Random, mode: Mode) -> Iterator[tuple[str, Column]]:
    """Yield columns with the maximum in each place, of each kind, with their bins."""
    for kind in KINDS:
        for place in ORDER:
            if place == DST and kind == "zero" and not mode.dst_integer:
                continue  # a float of Dst has a bias
            sign, magnitude = peak(rng, mode, kind)
            data = {each: below(rng, mode, kind, magnitude) for each in ORDER} | {place: (sign, magnitude)}
            yield f"{kind}/{'Dst' if place == DST else place}", built(numerics, rng, mode, data)


def place_bins(numerics: TensixNumerics, mode: Mode) -> list[str]:
    return [name for name, _ in places(numerics, Random(0), mode)]


def ties(numerics: TensixNumerics, rng: Random, mode: Mode) -> Iterator[tuple[str, Column]]:
    """Yield columns with the maximum in two places, each pair of them, and in all; for integers also as zeros of both signs.

    The bin is the last of the equal places in the order of comparison.
    """
    signed_zeros = [(0, 1), (1, 0)] if mode.style is Style.INT8 else []
    for sets in (*combinations(ORDER, 2), ORDER):
        for kind in ("positive", "negative"):
            sign, magnitude = peak(rng, mode, kind)
            data = {each: below(rng, mode, kind, magnitude) for each in ORDER}
            yield str(sets[-1]), built(numerics, rng, mode, data | dict.fromkeys(sets, (sign, magnitude)))
        for signs in signed_zeros:
            data = {each: below(rng, mode, "zero", 0) for each in ORDER}
            zeros = {place: (signs[k % 2], 0) for k, place in enumerate(sets)}
            yield str(sets[-1]), built(numerics, rng, mode, data | zeros)


TIE_BINS = [str(place) for place in ORDER[1:]]


def scaled(numerics: TensixNumerics, rng: Random, mode: Mode) -> Iterator[tuple[str, Column]]:
    """Yield columns with one row of a scale that is not 0, of each scale and the exponents next to the ends, both signs."""
    top = mode.fmt.exponent_mask
    for scale in mode.scales:
        for exponent in (0, 1, 2, mode.fmt.bias, top - 1, top):
            for sign in (0, 1):
                row = rng.randrange(COLUMNS)
                words = [source_word(rng, mode.style) for _ in range(COLUMNS)]
                words[row] = sign << 18 | exponent << FRACTION_BITS | rng.getrandbits(FRACTION_BITS)
                scales = tuple(scale if place == row else 0 for place in range(COLUMNS))
                dst = any_dst(rng, mode)
                if sign == 0 or rng.getrandbits(1):
                    dst = (UNDEFINED if mode.dst32 else UNDEFINED & 0xFFFF, *dst[1:])
                yield f"{scale}/{exponent}", Column(numerics, mode, tuple(words), scales, dst)


def single_bits(numerics: TensixNumerics, rng: Random, mode: Mode) -> Iterator[Column]:
    """Yield columns of zeros but for one row, whose exponent and scale add up to each power of two."""
    top = mode.fmt.exponent_mask
    for power in range(mode.fmt.exponent_bits + 1):
        scale = rng.randint(max(0, (1 << power) - top), min((1 << power) - 1, top))
        row, undefined = rng.randrange(COLUMNS), UNDEFINED if mode.dst32 else UNDEFINED & 0xFFFF
        words = [DENORMAL] * COLUMNS
        words[row] = (1 << power) - scale << FRACTION_BITS | rng.getrandbits(FRACTION_BITS)
        scales = tuple(scale if place == row else 0 for place in range(COLUMNS))
        yield Column(numerics, mode, tuple(words), scales, (undefined, *any_dst(rng, mode)[1:]))


def scale_bins(numerics: TensixNumerics, mode: Mode) -> list[str]:
    return list(dict.fromkeys(name for name, _ in scaled(numerics, Random(0), mode)))


def any_dst(rng: Random, mode: Mode) -> tuple[int, ...]:
    """Return four Dst words, now and then undefined ones, with any count of instructions for argmax."""
    words = [dst_word(rng, mode.style, dst32=mode.dst32) for _ in range(POOL_ROWS)]
    if mode.argmax:
        words = [word & ~0xFFFF | rng.getrandbits(16) for word in words]
    if rng.random() < 0.1:
        words = [UNDEFINED if mode.dst32 else UNDEFINED & 0xFFFF] * POOL_ROWS
    return tuple(words)


def any_scales(rng: Random, mode: Mode) -> tuple[int, ...]:
    """Return the exponents of a SrcB row: all 1.0, or some of any value."""
    if rng.random() < 0.3:
        return (mode.fmt.bias,) * COLUMNS
    few = (0, mode.fmt.bias, mode.fmt.bias + 1, rng.choice(mode.scales), rng.getrandbits(8))
    return tuple(rng.choice(few) for _ in range(COLUMNS))


def any_column(numerics: TensixNumerics, rng: Random, mode: Mode) -> Column:
    """Return a random column; half of them have few distinct words."""
    words = [source_word(rng, mode.style) for _ in range(rng.choice((2, 3, COLUMNS, COLUMNS)))]
    rows = words if len(words) == COLUMNS else [rng.choice(words) for _ in range(COLUMNS)]
    return Column(numerics, mode, tuple(rows), any_scales(rng, mode), any_dst(rng, mode))


def chain(numerics: TensixNumerics, rng: Random, mode: Mode, length: int) -> list[Column]:
    """Return columns; each has the words before it as its Dst, the first has undefined ones."""
    undefined = UNDEFINED if mode.dst32 else UNDEFINED & 0xFFFF
    columns = [replace(any_column(numerics, rng, mode), dst=(undefined,) * POOL_ROWS)]
    while len(columns) < length:
        columns.append(replace(any_column(numerics, rng, mode), dst=tuple(columns[-1].words)))
    return columns
