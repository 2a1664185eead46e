"""Tiles of TensorE's processing element in every mode: a stationary word, moving words, and the exact tier's
results."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

from bitpath.golden.formats.catalogue import (
    BF16,
    E3M4,
    E4M3,
    E4M3FN,
    E5M2,
    E8M0,
    FP16,
    FP32,
    TF32,
    FloatFormat,
    Rounding,
)
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.dot import trace_dot_step
from bitpath.golden.scalar.rounding import floor_log2, round_to_format
from bitpath.golden.trainium3.declarations.tensor import LOW_BITS, PATTERNS, TRAINIUM3_SPARSE
from bitpath.golden.trainium3.exact import fp32_halves, multiply_add, selected
from bitpath.rtl.trainium3.dot.quad_mx_dot import operand_layout
from bitpath.rtl.trainium3.tensor.config import NARROW, WIDE, CorePeConfig
from bitpath.rtl.trainium3.tensor.core_pe import Mode, moving_layout, stationary_layout
from bitpath.rtl.trainium3.tensor.sparse_select import SLOTS
from bitpath.verif.common.dot.cases import DotCase, on_grid, product_sum
from bitpath.verif.kit.packing import pack, width
from bitpath.verif.trainium3.dot.multiply_add import ElementCase

NARROW_PAIRS = [
    pair
    for pair in (*product((BF16, FP16, E4M3, E4M3FN, E5M2, E3M4), repeat=2), (TF32, TF32))
    if set(pair) != {E4M3, E4M3FN}
]
SPARSE_FORMATS = (BF16, FP16, TF32)
ONE = FP32.bias << FP32.fraction_bits


@dataclass(frozen=True)
class Word:
    """A moving word with its partial sum, and the result below the PE; None where it has no meaning.

    ``held`` is the stationary word that it is made for, as the port's integer.
    """

    mode: Mode
    held: int
    moving: int
    partial: int
    result: int | None
    shown: str


@dataclass(frozen=True)
class Tile:
    """A stationary word and its moving words in one mode."""

    held: int
    words: list[Word]


class Maker:
    """Random tiles for a configuration."""

    def __init__(self, config: CorePeConfig, rng: Random):
        self.config, self.rng = config, rng
        self.stationary, self.moving = stationary_layout(config), moving_layout(config)
        self.mx = operand_layout(config.dot)
        self._makers: dict[Mode, Callable[[], tuple[int, Callable[[], list[Word]]]]] = {
            Mode.MX: self._mx,
            Mode.DOUBLE_ROW: self._double_row,
            Mode.NARROW: self._narrow,
            Mode.FUSED: self._fused,
            Mode.PASS: self._pass,
        }
        if config.sparse:
            self._makers[Mode.SPARSE] = self._sparse

    @property
    def modes(self) -> list[Mode]:
        return list(self._makers)

    def tile(self, mode: Mode, words: int) -> Tile:
        """A tile with at least `words` words; an FP32 number takes up to four."""
        held, word = self._makers[mode]()
        made: list[Word] = []
        while len(made) < words:
            made += word()
        return Tile(held, made)

    # Tiles of chosen operands.

    def mx_tile(self, case: DotCase) -> Tile:
        """One step of the quad-MX mode."""
        sides = case.operands(self.config.dot)
        held, moving = (pack(self.mx, sides[name]) for name in ("stationary", "moving"))
        held, result = self._held(held, width(self.mx)), case.trace(self.config.dot).result
        word = self._word(Mode.MX, held, moving, width(self.mx), 3, case.partial, result, str(case))
        return Tile(held, [word])

    def narrow_tile(self, case: ElementCase) -> Tile:
        """One step of two numbers of at most 11 bits."""
        held = self._held(element(case.stationary_format, case.stationary, WIDE), width(WIDE))
        moving = self._slots(element(case.moving_format, case.moving, NARROW))
        numerics = self.config.numerics
        case = replace(case, numerics=numerics, partial=on_grid(numerics, case.partial))
        return Tile(held, [self._word(Mode.NARROW, held, *moving, 3, case.partial, case.result, str(case))])

    def fused_tile(self, x: int, y: int, partial: int) -> Tile:
        """The four passes of two FP32 numbers."""
        held = self._held(element(FP32, x, WIDE), width(WIDE))
        partial = on_grid(self.config.numerics, partial)
        result = multiply_add(self.config.numerics, x, FP32, y, FP32, partial)
        shown = f"FP32 {x:08x}, {y:08x}, fused, partial {partial:08x}"
        words = [
            self._word(
                Mode.FUSED, held, *self._slots(half(y, number)), number | 4 * (number == 0), partial,
                result if number == 3 else None, shown,
            )
            for number in range(4)
        ]  # fmt: skip
        return Tile(held, words)

    # Words of each mode.

    def _mx(self) -> tuple[int, Callable[[], list[Word]]]:
        return self._dot(Mode.MX, (E4M3FN, E5M2), 4)

    def _double_row(self) -> tuple[int, Callable[[], list[Word]]]:
        return self._dot(Mode.DOUBLE_ROW, self.rng.choice(((E4M3FN, E5M2), (E4M3, E5M2))), 2)

    def _dot(self, mode: Mode, formats: tuple[FloatFormat, ...], terms: int) -> tuple[int, Callable[[], list[Word]]]:
        numerics = replace(self.config.dot, terms=terms)

        def side() -> tuple[tuple[int, ...], FloatFormat, int]:
            fmt = self.rng.choice(formats)
            return tuple(self.code(fmt) for _ in range(terms)), fmt, self.scale() if mode is Mode.MX else E8M0.bias

        def packed(codes: tuple[int, ...], fmt: FloatFormat, scale: int) -> int:
            """Elements and scale that double row lacks have any bits."""
            junk = [self.rng.getrandbits(8) for _ in range(4 - terms)]
            fields = {
                "elements": [*codes, *junk],
                "scale": scale if mode is Mode.MX else self.rng.getrandbits(8),
                "format": self.config.dot.element_formats.index(fmt),
            }
            return pack(self.mx, fields)

        x, x_format, x_scale = side()
        held = self._held(packed(x, x_format, x_scale), width(self.mx))

        def word() -> list[Word]:
            y, y_format, y_scale = side()
            case = DotCase(x, x_format, y, y_format, x_scale, y_scale)
            sides = [(x_format, x), (y_format, y)]
            finite = all(decode(fmt, code).kind is Kind.FINITE for fmt, codes in sides for code in codes)
            finite &= max(x_scale, y_scale) < E8M0.nan_code
            partial = on_grid(numerics, self.partial(product_sum(case) if finite else None))
            result = trace_dot_step(numerics, x, x_format, y, y_format, x_scale, y_scale, partial).result
            shown = f"{x_format.name} {x} scale {x_scale}, {y_format.name} {y} scale {y_scale}, partial {partial:08x}"
            return [self._word(mode, held, packed(y, y_format, y_scale), width(self.mx), 3, partial, result, shown)]

        return held, word

    def _narrow(self) -> tuple[int, Callable[[], list[Word]]]:
        """Numbers of at most 11 bits; or halves of FP32 numbers, of any pass."""
        if self.rng.random() < 0.4:
            return self._split()
        x_format, y_format = self.rng.choice(NARROW_PAIRS)
        x = self.code(x_format)
        held = self._held(element(x_format, x, WIDE), width(WIDE))

        def word() -> list[Word]:
            y = self.code(y_format)
            partial = on_grid(self.config.numerics, self.partial(exact_product(x_format, x, y_format, y)))
            result = multiply_add(self.config.numerics, x, x_format, y, y_format, partial)
            moving = self._slots(element(y_format, y, NARROW))
            shown = f"{x_format.name} {x:x}, {y_format.name} {y:x}, partial {partial:08x}"
            return [self._word(Mode.NARROW, held, *moving, 3, partial, result, shown)]

        return held, word

    def _split(self) -> tuple[int, Callable[[], list[Word]]]:
        x = self.wide()
        held = self._held(element(FP32, x, WIDE), width(WIDE))

        def word() -> list[Word]:
            y, number = self.wide(), self.rng.randrange(4)
            pair = fp32_halves(x)[number < 2], fp32_halves(y)[number % 2 == 0]
            if number < 3 and exact_product(FP32, x, FP32, y) is None:
                pair = 0, 0
            partial = on_grid(self.config.numerics, self.partial(exact_product(FP32, pair[0], FP32, pair[1])))
            result = multiply_add(self.config.numerics, pair[0], FP32, pair[1], FP32, partial)
            shown = f"FP32 {x:08x}, {y:08x}, pass {number}, partial {partial:08x}"
            return [self._word(Mode.NARROW, held, *self._slots(half(y, number)), number, partial, result, shown)]

        return held, word

    def _fused(self) -> tuple[int, Callable[[], list[Word]]]:
        x = self.wide()
        held = self._held(element(FP32, x, WIDE), width(WIDE))

        def word() -> list[Word]:
            y = self.wide()
            partial = on_grid(self.config.numerics, self.partial(exact_product(FP32, x, FP32, y)))
            result = multiply_add(self.config.numerics, x, FP32, y, FP32, partial)
            skipped = sum(
                (bit for bit, code in ((2, x), (1, y)) if code & (1 << LOW_BITS) - 1 == 0 and self.rng.random() < 0.7),
                0,
            )
            shown = f"FP32 {x:08x}, {y:08x}, fused, partial {partial:08x}"
            numbers = [number for number in range(4) if number & skipped == skipped]
            # A step that ends before its last pass leaves nothing to the next one.
            broken = numbers[: self.rng.randrange(len(numbers))] if self.rng.random() < 0.2 else []
            return [
                self._word(
                    Mode.FUSED,
                    held,
                    *self._slots(half(y, number)),
                    number | 4 * (number == numbers[0]),
                    partial,
                    result if number == 3 else None,
                    shown,
                )
                for number in (*broken, *numbers)
            ]

        return held, word

    def _pass(self) -> tuple[int, Callable[[], list[Word]]]:
        bits = self.rng.getrandbits(32)
        held = self._held(bits, 32)

        def word() -> list[Word]:
            number, partial = self.rng.randrange(4), self.rng.getrandbits(32)
            other = self.rng.choice((0, ONE | 1 << 31, ONE + (1 << 23), ONE | 1 << LOW_BITS, self.code(FP32)))
            code = self.rng.choice((ONE, other))
            result = bits >> 16 * (number & 1) & 0xFFFF if half(code, 3) == half(ONE, 3) else partial
            shown = f"bits {bits:08x}, moving {code:08x}, half {number & 1}, partial {partial:08x}"
            return [self._word(Mode.PASS, held, *self._slots(half(code, 3)), number, partial, result, shown)]

        return held, word

    def _sparse(self) -> tuple[int, Callable[[], list[Word]]]:
        fmt = self.rng.choice(SPARSE_FORMATS)
        x, tag = self.code(fmt), self.rng.randrange(16)
        held = self._held(element(fmt, x, WIDE), width(WIDE), tag)

        def word() -> list[Word]:
            name, shape = self.rng.choice(list(PATTERNS.items()))
            slots = [self.code(fmt) for _ in range(SLOTS * SLOTS)]
            place = selected(TRAINIUM3_SPARSE.numerics, shape, 0, tag)
            y = slots[SLOTS * place[0] + place[1]] if place else 0
            partial = on_grid(self.config.numerics, self.partial(exact_product(fmt, x, fmt, y)))
            result = multiply_add(self.config.numerics, x, fmt, y, fmt, partial)
            packed = sum(
                pack(NARROW, element(fmt, code, NARROW)) << width(NARROW) * slot for slot, code in enumerate(slots)
            )
            pattern = (shape.kept - 1, shape.ratio - 1)
            shown = f"{fmt.name} {x:x}, {y:x} by tag {tag} of {name}, partial {partial:08x}"
            bits = SLOTS * SLOTS * width(NARROW)
            return [self._word(Mode.SPARSE, held, packed, bits, 3, partial, result, shown, pattern)]

        return held, word

    # Operands.

    def code(self, fmt: FloatFormat) -> int:
        """Any code, a special one, or a number within some binades of 1."""
        kind = self.rng.random()
        if kind < 0.25:
            return self.rng.getrandbits(fmt.width)
        if kind < 0.35:
            corners = (
                0,
                1,
                fmt.fraction_mask,
                fmt.fraction_mask + 1,
                fmt.max_code,
                fmt.max_code + 1,
                fmt.nan_code or 0,
            )
            return self.rng.choice(corners) | self.rng.getrandbits(1) * fmt.sign_mask
        exponent = min(fmt.emax, max(fmt.emin, self.rng.randint(-6, 6))) + fmt.bias
        fraction = self.rng.getrandbits(fmt.fraction_bits)
        code = exponent << fmt.fraction_bits | fraction
        return min(code, fmt.max_code) | self.rng.getrandbits(1) * fmt.sign_mask

    def wide(self) -> int:
        """Any FP32 code, an infinity, or a number whose low half is zero or a single bit."""
        kind = self.rng.random()
        if kind < 0.1:
            return FP32.infinity_code | self.rng.getrandbits(1) * FP32.sign_mask
        if kind < 0.5:
            low = self.rng.choice((0, 1 << self.rng.randrange(LOW_BITS)))
            return self.code(FP32) & -1 << LOW_BITS | low
        return self.code(FP32)

    def scale(self) -> int:
        return self.rng.choice((E8M0.bias, self.rng.randint(100, 150), self.rng.getrandbits(8)))

    def partial(self, exact: Fraction | None) -> int:
        """A partial sum: any, +0, near a product, or one that cancels it up to some units."""
        kind = self.rng.randrange(6)
        if kind == 0:
            return self.rng.getrandbits(32)
        if kind == 1 or not exact:
            return self.rng.choice((0, 1 << 31, FP32.infinity_code, self.rng.getrandbits(32)))
        if kind == 2:
            code = round_to_format(-exact, FP32, Rounding.RTZ)
            magnitude = max(0, min(FP32.max_code, (code & ~FP32.sign_mask) + self.rng.randint(-2, 2)))
            return magnitude | code & FP32.sign_mask
        exponent = max(0, min(254, floor_log2(exact) + self.rng.randint(-30, 52) + FP32.bias))
        fraction = self.rng.choice((0, self.rng.getrandbits(FP32.fraction_bits), self.rng.getrandbits(2)))
        return exponent << FP32.fraction_bits | fraction | self.rng.getrandbits(1) * FP32.sign_mask

    # Ports.

    def _held(self, word: Any, bits: int, tag: int | None = None) -> int:
        """The stationary port's integer; bits that the word does not have are any."""
        payload = word if isinstance(word, int) else pack(WIDE, word)
        space = width(self.stationary["word"].shape)
        payload |= self.rng.getrandbits(space) >> bits << bits
        if not self.config.sparse:
            return payload
        return payload | (self.rng.getrandbits(4) if tag is None else tag) << space

    def _slots(self, fields: dict[str, int]) -> tuple[int, int]:
        return pack(NARROW, fields), width(NARROW)

    def _word(
        self,
        mode: Mode,
        held: int,
        payload: int,
        bits: int,
        number: int,
        partial: int,
        result: int | None,
        shown: str,
        pattern: tuple[int, int] = (0, 0),
    ) -> Word:
        space = width(self.moving["word"].shape)
        payload |= self.rng.getrandbits(space) >> bits << bits
        payload |= (mode.value | number << 3) << space  # and with bit 2 the first pass
        if self.config.sparse:
            payload |= (pattern[0] | pattern[1] << 2) << space + 6
        return Word(mode, held, payload, partial, result, f"{mode.name}: {shown}")


def exact_product(x_format: FloatFormat, x: int, y_format: FloatFormat, y: int) -> Fraction | None:
    """The product of finite codes; None where one is not."""
    a, b = decode(x_format, x), decode(y_format, y)
    return a.value * b.value if a.kind is b.kind is Kind.FINITE else None


def element(fmt: FloatFormat, code: int, layout: Any) -> dict[str, int]:
    """The fields of WIDE or NARROW that have a code's value."""
    x = decode(fmt, code)
    return {
        "significand": x.significand << width(layout["significand"].shape) - fmt.precision,
        "exponent": x.exponent + fmt.fraction_bits + FP32.bias,
        "sign": x.sign,
        "inf": x.kind is Kind.INFINITY,
        "nan": x.kind is Kind.NAN,
    }


def half(code: int, number: int) -> dict[str, int]:
    """The half of an FP32 code that a pass moves, as NARROW."""
    fields = element(FP32, code, WIDE)
    kept = fields["significand"] >> LOW_BITS if number & 1 else fields["significand"] & (1 << LOW_BITS) - 1
    return {**fields, "significand": kept, "sign": fields["sign"] if number & 1 or kept else 0}


def mode_pairs(modes: list[Mode]) -> Iterator[Mode]:
    """Modes in an order in which each follows each, itself too."""
    for first, second in product(modes, repeat=2):
        yield first
        yield second
