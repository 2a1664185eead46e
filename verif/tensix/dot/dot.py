"""Stimulus of the Tensix dot product: operands, expected results by golden, and random cases by class."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from random import Random
from typing import Any

from bitpath.golden.formats.catalogue import BF16, FP16, FP32, FloatFormat
from bitpath.golden.tensix.declarations.formats import COLUMNS, PHASES, STYLE_OWN_FORMAT, Format, Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.exact import Dot16Trace, add, dot16_integer, multiply_add, read_source, trace_dot16
from bitpath.golden.tensix.exact.dot import integer_datum, phase_weight, rebias
from bitpath.rtl.tensix.dot.dot16 import dot16_layout
from bitpath.rtl.tensix.dot.layouts import Operand, StyleCode
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.tensix.dot.numbers import datum_shown

LAYOUT = dot16_layout()
SRC_FRACTION_BITS = 10
SRC_SIGN = 1 << 18
INT32_MAX = (1 << 31) - 1


class Operation(Enum):
    """Operation of the unit; all but DOT use lane 0 alone."""

    DOT = "dot"
    MULTIPLY = "multiply"
    ADD = "add"
    SUBTRACT = "subtract"


@dataclass(frozen=True)
class Mode:
    """Style of SrcA and SrcB, and width of Dst."""

    style: Style
    dst32: bool

    def __str__(self) -> str:
        return f"{self.style.value} into {32 if self.dst32 else 16}"

    @property
    def source_format(self) -> Format:
        return STYLE_OWN_FORMAT[self.style]

    @property
    def source_exponent_max(self) -> int:
        return FP16.exponent_mask if self.style is Style.FP16 else FP32.exponent_mask

    @property
    def dst_format(self) -> FloatFormat:
        if self.dst32:
            return FP32
        return FP16 if self.style is Style.FP16 else BF16

    def offset(self, phase: int) -> int:
        """Return the bias correction: exponent of a product minus the sum of its source exponents."""
        return rebias(self.style, self.dst32) - phase_weight(phase)


FLOAT_MODES = tuple(Mode(style, dst32) for style in (Style.BF16, Style.FP16, Style.TF32) for dst32 in (False, True))
INTEGER_MODE = Mode(Style.INT8, True)


@dataclass(frozen=True)
class DotCase:
    """One request in logical words; ``a`` and ``b`` are 16 words each of SrcA and SrcB."""

    mode: Mode
    phase: int
    a: tuple[int, ...]
    b: tuple[int, ...]
    dst: int
    operation: Operation = Operation.DOT

    def trace(self, numerics: TensixNumerics) -> Dot16Trace:
        """Return the trace of the exact tier; floats only."""
        mode, fmt = self.mode, self.mode.source_format
        return trace_dot16(
            numerics,
            self.dst,
            self.b,
            self.a,
            style=mode.style,
            dst32=mode.dst32,
            phase=self.phase,
            srca_format=fmt,
            srcb_format=fmt,
        )

    def result(self, numerics: TensixNumerics) -> int:
        """Return the new Dst word by the exact tier."""
        mode, fmt = self.mode, self.mode.source_format
        common = {"style": mode.style, "dst32": mode.dst32, "srca_format": fmt, "srcb_format": fmt}
        match self.operation:
            case Operation.DOT if mode.style is Style.INT8:
                return dot16_integer(numerics, self.dst, self.b, self.a, self.phase)
            case Operation.DOT:
                return self.trace(numerics).result
            case Operation.MULTIPLY:
                return multiply_add(numerics, self.dst, self.b[0], self.a[0], phase=self.phase, **common)
            case _:
                subtract = self.operation is Operation.SUBTRACT
                return add(numerics, self.dst, self.b[0], self.a[0], subtract=subtract, accumulating=True, **common)

    def shown(self, numerics: TensixNumerics) -> Shown:
        """Return the operands as numbers, and the command that explains a dot product."""
        formats, dot = (self.mode.source_format,) * 2, self.operation is Operation.DOT
        words = (self.b, self.a) if dot else (self.b[:1], self.a[:1])
        found = datum_shown(
            numerics, self.mode.style, self.phase, self.dst, *words, dst32=self.mode.dst32, formats=formats
        )
        if dot:
            return found
        return replace(found, operands={"operation": self.operation.value} | dict(found.operands), explain=None)

    def payload(self, numerics: TensixNumerics) -> int:
        style, fmt = self.mode.style, self.mode.source_format
        subtract = self.operation is Operation.SUBTRACT
        add = subtract or self.operation is Operation.ADD
        b = [word ^ SRC_SIGN * subtract for word in self.b]
        return (
            side_bits("src_a", [operand(numerics, style, word, fmt) for word in self.a])
            | side_bits("src_b", [operand(numerics, style, word, fmt, is_src_b=True) for word in b])
            | pack(LAYOUT, request_fields(self.mode, self.phase, self.dst, add=add))
        )


def request_fields(mode: Mode, phase: int, dst: int, *, add: bool = False) -> dict[str, Any]:
    """Return the fields of ``dot16_layout`` other than the operands."""
    control = {"style": StyleCode.of(mode.style), "dst32": int(mode.dst32), "phase": phase, "add": int(add)}
    return {"dst": dst, "control": control}


def operand(
    numerics: TensixNumerics, style: Style, word: int, fmt: Format, *, is_src_b: bool = False
) -> dict[str, int]:
    """Return a logical word of SrcA or SrcB as the fields of ``Operand``."""
    if style is Style.INT8:
        sign, magnitude = integer_datum(numerics, word, is_src_b=is_src_b)
        return {"sign": sign, "exponent": 0, "magnitude": magnitude}
    source = read_source(numerics, word, style, fmt, is_src_b=is_src_b)
    return {"sign": source.sign, "exponent": source.exponent, "magnitude": source.significand}


def side_bits(name: str, operands: list[dict[str, int]]) -> int:
    """Return a payload with one side's operands alone; building 32 layout constants takes milliseconds."""
    fields, width = Operand.as_shape(), Operand.as_shape().size
    bits = 0
    for k, each in enumerate(operands):
        bits |= sum(value << fields[key].offset for key, value in each.items()) << k * width
    return bits << LAYOUT[name].offset


def block_payloads(
    numerics: TensixNumerics,
    mode: Mode,
    phase: int,
    dst: Sequence[Sequence[int]],
    rows: Sequence[Sequence[int]],
    columns: Sequence[Sequence[int]],
    formats: tuple[Format, Format] | None = None,
) -> list[int]:
    """Return the payloads of a whole MVMUL, Dst row by row, from SrcB rows, SrcA columns and their formats."""
    srca_format, srcb_format = formats or (mode.source_format,) * 2
    a = [side_bits("src_a", [operand(numerics, mode.style, word, srca_format) for word in words]) for words in columns]
    b = [
        side_bits("src_b", [operand(numerics, mode.style, word, srcb_format, is_src_b=True) for word in words])
        for words in rows
    ]
    return [
        a[j] | b[i] | pack(LAYOUT, request_fields(mode, phase, word))
        for i, row in enumerate(dst)
        for j, word in enumerate(row)
    ]


def lone(word: int) -> tuple[int, ...]:
    """Return a word in lane 0, zeros of either sign in the others."""
    return word, *(SRC_SIGN * (k % 3 == 0) for k in range(1, COLUMNS))


def float_word(rng: Random, exponent: int, sign: int | None = None) -> int:
    """Return a source with this exponent and a random fraction."""
    sign = rng.getrandbits(1) if sign is None else sign
    return sign * SRC_SIGN | exponent << SRC_FRACTION_BITS | rng.getrandbits(SRC_FRACTION_BITS)


def dst_word(rng: Random, mode: Mode, exponent: int) -> int:
    """Return a Dst word with the nonzero exponent nearest to ``exponent``, and random fraction and sign."""
    fmt = mode.dst_format
    held = max(1, min(fmt.exponent_mask, exponent))
    return rng.getrandbits(1) * fmt.sign_mask | held << fmt.fraction_bits | rng.getrandbits(fmt.fraction_bits)


def split(rng: Random, mode: Mode, phase: int, exponent: int) -> tuple[int, int]:
    """Return exponents of two sources whose product has this exponent, or the nearest possible one."""
    top = mode.source_exponent_max
    total = max(2, min(2 * top, exponent - mode.offset(phase)))
    first = rng.randint(max(1, total - top), min(top, total - 1))
    return first, total - first


def exponent_range(mode: Mode, phase: int) -> tuple[int, int]:
    """Return the smallest and the largest exponent of a nonempty product."""
    offset = mode.offset(phase)
    return max(1, 2 + offset), 2 * mode.source_exponent_max + offset


def product_words(
    rng: Random, mode: Mode, phase: int, exponents: list[int | None]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return random sources whose products have these exponents; None is a product of a zero."""
    pairs = []
    for exponent in exponents:
        x, y = (0, rng.choice((0, 9))) if exponent is None else split(rng, mode, phase, exponent)
        pairs.append((float_word(rng, x), float_word(rng, y)))
    return tuple(a for a, _ in pairs), tuple(b for _, b in pairs)


def any_case(rng: Random, mode: Mode, phase: int) -> DotCase:
    """Return a case of random bits: exponents far apart, codes at both ends."""
    top = mode.source_exponent_max
    words = [tuple(float_word(rng, rng.randint(0, top)) for _ in range(COLUMNS)) for _ in range(2)]
    return DotCase(mode, phase, *words, rng.getrandbits(mode.dst_format.width))


def close_case(rng: Random, mode: Mode, phase: int, low: int | None = None, high: int | None = None) -> DotCase:
    """Return products and Dst within a few binades, some zero, so that all bits matter."""
    bottom, top = exponent_range(mode, phase)
    centre = rng.randint(bottom if low is None else low, top if high is None else high)
    spread = rng.choice((0, 2, 6))
    exponents = [None if rng.random() < 0.2 else centre + rng.randint(-spread, spread) for _ in range(COLUMNS)]
    words = product_words(rng, mode, phase, exponents)
    return DotCase(mode, phase, *words, dst_word(rng, mode, centre + rng.randint(-12, 14)))


def tiny_case(rng: Random, mode: Mode, phase: int) -> DotCase:
    """Return a case near the smallest exponents."""
    bottom, _ = exponent_range(mode, phase)
    return close_case(rng, mode, phase, bottom, bottom + 8)


def huge_case(rng: Random, mode: Mode, phase: int) -> DotCase:
    """Return a case near the largest exponent of Dst, or of the sources."""
    top = min(exponent_range(mode, phase)[1], mode.dst_format.exponent_mask)
    return close_case(rng, mode, phase, top - 8, top)


def cancelling(numerics: TensixNumerics, rng: Random, case: DotCase) -> DotCase:
    """Return the case with a Dst that cancels its sum, up to a few units."""
    fmt = case.mode.dst_format
    word = replace(case, dst=0).result(numerics) ^ fmt.sign_mask
    magnitude = max(0, min(fmt.sign_mask - 1, (word & ~fmt.sign_mask) + rng.choice((0, 0, 0, 1, -1, 2, -2))))
    return replace(case, dst=word & fmt.sign_mask | magnitude)


def cancelling_case(numerics: TensixNumerics, rng: Random, mode: Mode, phase: int) -> DotCase:
    """Return products that cancel, against each other or against Dst."""
    case = close_case(rng, mode, phase)
    if rng.getrandbits(1):
        case = replace(case, a=lone(case.a[0]), b=lone(case.b[0]))
    return cancelling(numerics, rng, case)


def integer_word(rng: Random, bits: int = SRC_FRACTION_BITS) -> int:
    """Return an integer source: exponent 16, or sometimes 0 with any magnitude."""
    exponent = rng.choice((16, 16, 16, 0))
    magnitude = rng.choice((rng.getrandbits(bits), (1 << bits) - 1, 0, 1))
    return rng.getrandbits(1) * SRC_SIGN | exponent << SRC_FRACTION_BITS | magnitude


def integer_case(rng: Random, phase: int) -> DotCase:
    """Return integers of any size, with Dst small, random, or near its ends."""
    words = [tuple(integer_word(rng) for _ in range(COLUMNS)) for _ in range(2)]
    magnitude = rng.choice((rng.getrandbits(12), rng.getrandbits(31), INT32_MAX - rng.getrandbits(20), 0))
    return DotCase(INTEGER_MODE, phase, *words, rng.getrandbits(1) << 31 | magnitude)


def random_cases(numerics: TensixNumerics, rng: Random, count: int) -> list[DotCase]:
    """Return ``count`` cases of all modes, phases, classes and operations."""
    makers = [any_case, close_case, tiny_case, huge_case]
    cases = []
    for k in range(count):
        phase = rng.randrange(PHASES)
        if k % 7 == 6:
            case = integer_case(rng, phase)
        elif k % 7 == 5:
            case = cancelling_case(numerics, rng, rng.choice(FLOAT_MODES), phase)
        else:
            case = rng.choice(makers)(rng, rng.choice(FLOAT_MODES), phase)
        operation = rng.choice((Operation.DOT, Operation.DOT, *Operation))
        if operation is not Operation.DOT:
            case = replace(case, a=lone(case.a[0]), b=lone(case.b[0]), operation=operation)
        cases.append(case)
    return cases
