"""Stimulus of the Tensix dot product: operands, expected results by golden, and random cases by class."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from random import Random
from typing import Any

from bitpath.golden.formats.catalogue import BF16, FP16, FP32, FloatFormat
from bitpath.golden.tensix.declarations.formats import COLUMNS, PHASES, STYLE_OWN_FORMAT, Format, Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.exact import (
    Accumulation,
    Dot16Trace,
    add,
    dot16_integer,
    multiply_add,
    read_source,
    trace_dot16,
)
from bitpath.golden.tensix.exact.dot import (
    NARROW_FRACTION_BITS,
    PRODUCT_FRACTION_BITS,
    SUM_FRACTION_BITS,
    integer_datum,
    phase_weight,
    read_dst,
    rebias,
)
from bitpath.rtl.tensix.dot.dot16 import dot16_layout
from bitpath.rtl.tensix.dot.layouts import Operand, StyleCode
from bitpath.verif.common.boundary_codes import TIE, break_of, breaks
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


SUM_DISTANCES = 31
DST_DISTANCES = 26
"""Distances with a bin each; at the last one a group sum, or Dst, is shifted out completely."""
HEADROOM = 4
"""Binades from the exponent of the addends to a sum that 16 products and Dst always reach."""
SIGNS = "+-"


def product_distances(numerics: TensixNumerics) -> int:
    """Return the distances with a bin each; at the last one a product is shifted out completely."""
    return 13 + numerics.product_guard_bits


def bins(numerics: TensixNumerics, mode: Mode) -> list[str]:
    """Return every bin that a mode can reach with these numerics."""
    names = [f"product distance/{d}" for d in range(product_distances(numerics) + 1)]
    # With one group and 5-bit exponents, Dst is never far above the group.
    beyond = numerics.group < COLUMNS or mode.dst_format.exponent_mask > SUM_DISTANCES
    names += [f"sum distance/{d}" for d in range(SUM_DISTANCES + beyond)]
    names += [f"dst distance/{d}" for d in range(DST_DISTANCES + 1)]
    places = ["product", "sum", "dst", "final"]
    names += [f"tie/{place}/{sign}" for place in places for sign in SIGNS]
    names += ["total/0", "total/+1", "total/-1"] if mode.dst32 or numerics.pre_round else ["total/0"]
    names += [f"overflow/{sign}" for sign in SIGNS]
    names += ["largest code/src_a", "largest code/src_b", "largest code/dst"]
    names += [f"empty fields lead/{phase}" for phase in range(1, PHASES)]
    names += [f"zeros/{phase}" for phase in range(PHASES)]
    if not mode.dst32 and numerics.pre_round:
        names += [f"tie/second {place}/{sign}" for place in ("sum", "dst") for sign in SIGNS]
    names += [f"{name}/{how}/{sign}" for name, how, _ in boundaries(mode) for sign in SIGNS]
    names += [f"dst {how}/{sign}" for how in breaks(mode.dst_format.fraction_bits) for sign in SIGNS]
    # In a 32-bit Dst, products of FP16 never have small exponents.
    if not (mode.style is Style.FP16 and mode.dst32):
        names += [f"underflow/{sign}" for sign in SIGNS] + ["empty group", "negative exponent in a group"]
    return [f"{mode}/{name}" for name in names]


def sum_grid(numerics: TensixNumerics, mode: Mode) -> int:
    """Return the fraction bits of the addends of the last sum."""
    return SUM_FRACTION_BITS if mode.dst32 or not numerics.pre_round else NARROW_FRACTION_BITS


def boundary_exponent(mode: Mode, name: str, dropped: int) -> int:
    """Return the exponent of Dst and products whose sum, with these dropped bits, is at a boundary."""
    fmt = mode.dst_format
    units = SUM_FRACTION_BITS if mode.dst32 else PRODUCT_FRACTION_BITS
    leading = fmt.fraction_bits + dropped - units
    return {"overflow": fmt.exponent_mask - 1, "smallest normal": 0, "normal": fmt.bias}[name] - leading


def boundaries(mode: Mode) -> Iterator[tuple[str, str, list[int]]]:
    """Yield cases of the last rounding: a boundary, how one bit breaks the tie there, and the numbers of dropped bits.

    FP16 in Dst has neither end: its largest exponent is an ordinary one, where rounding up saturates to what it was, and a
    sum below its smallest normal number has no bit to drop.
    """
    fmt = mode.dst_format
    bottom, top = exponent_range(mode, 0)
    units = SUM_FRACTION_BITS if mode.dst32 else PRODUCT_FRACTION_BITS
    for name in ("normal",) if fmt is FP16 else ("normal", "overflow", "smallest normal"):
        possible = [
            dropped
            for dropped in range(1, units + HEADROOM + 1 - fmt.fraction_bits)
            if max(1, bottom) <= boundary_exponent(mode, name, dropped) <= min(top, fmt.exponent_mask)
        ]
        for how, beside in breaks(max(possible, default=0)).items():
            places = [dropped for dropped in possible if beside.denominator <= 1 << dropped]
            if places:
                yield name, how, places


def hits(numerics: TensixNumerics, case: DotCase, trace: Dot16Trace) -> Iterator[str]:
    """Return the bins of a case that is a dot product of floats."""
    mode, accumulation = case.mode, trace.accumulation
    names = [*_product_hits(numerics, case, trace), *_sum_hits(numerics, case, trace)]
    names += _result_hits(mode, accumulation)
    if accumulation.total == 0 and any(accumulation.addends):
        names.append("total/0")
    if abs(accumulation.total) == 1:
        names.append("total/+1" if accumulation.total > 0 else "total/-1")
    names += _final_hits(mode, accumulation)
    top = mode.source_exponent_max
    for name, words in (("src_a", case.a), ("src_b", case.b)):
        if any(word >> 10 & 0xFF == top and p.magnitude for word, p in zip(words, trace.products, strict=True)):
            names.append(f"largest code/{name}")
    if read_dst(case.dst, mode.style, mode.dst32)[0] == mode.dst_format.exponent_mask:
        names.append("largest code/dst")
    known = set(bins(numerics, mode))
    return (name for name in (f"{mode}/{name}" for name in names) if name in known)


def _product_hits(numerics: TensixNumerics, case: DotCase, trace: Dot16Trace) -> Iterator[str]:
    scale = 1 << numerics.product_guard_bits
    for g, highest in enumerate(trace.group_exponents):
        group = trace.products[g * numerics.group : (g + 1) * numerics.group]
        if highest <= 0:
            if any(p.magnitude for p in group):
                yield "empty group"
            continue
        if any(p.magnitude and p.exponent < 0 for p in group):
            yield "negative exponent in a group"
        empty = [p.exponent for p in group if not p.magnitude and not p.is_zero]
        if any(p.magnitude for p in group) and empty and max(empty) > max(p.exponent for p in group if p.magnitude):
            yield f"empty fields lead/{case.phase}"
        for p in group:
            if not p.magnitude:
                continue
            distance = highest - p.exponent
            yield f"product distance/{min(distance, product_distances(numerics))}"
            if _is_half(Fraction(p.magnitude * scale, 1 << distance)):
                yield f"tie/product/{SIGNS[p.sign]}"
    if all(p.is_zero for p in trace.products) and case.dst:
        # The numerics select whether they have an exponent.
        yield f"zeros/{case.phase}"


def _sum_hits(numerics: TensixNumerics, case: DotCase, trace: Dot16Trace) -> Iterator[str]:
    mode, exponent = case.mode, trace.accumulation.exponent
    if exponent <= 0:
        return
    dst_exponent, significand = read_dst(case.dst, mode.style, mode.dst32)
    terms = [("sum", SUM_DISTANCES, value, each) for value, each in trace.sums]
    for name, limit, value, each in [*terms, ("dst", DST_DISTANCES, significand, dst_exponent)]:
        if not value:
            continue
        distance = exponent - each
        yield f"{name} distance/{min(distance, limit)}"
        aligned = Fraction(value, 1 << distance)
        sign = SIGNS[value < 0]
        how = break_of(abs(aligned) * Fraction(2) ** (sum_grid(numerics, mode) - SUM_FRACTION_BITS))
        if name == "dst" and how is not None:
            yield f"dst {how}/{sign}"
        if _is_half(aligned):
            yield f"tie/{name}/{sign}"
        elif _is_half(aligned / (1 << 13)):
            yield f"tie/second {name}/{sign}"


def _final_hits(mode: Mode, accumulation: Accumulation) -> Iterator[str]:
    total, fmt = accumulation.total, mode.dst_format
    if total and not accumulation.quirk:
        dropped = total.bit_length() - 1 - fmt.fraction_bits
        if dropped <= 0:
            return
        value, sign = Fraction(abs(total), 1 << dropped), SIGNS[total < 0]
        how = break_of(value)
        if how == TIE:
            yield f"tie/final/{sign}"
        leading = accumulation.exponent + total.bit_length() - 1 - accumulation.fraction_bits
        if how is not None and int(value) == (2 << fmt.fraction_bits) - 1 and leading in (0, fmt.exponent_mask - 1):
            yield f"{'overflow' if leading else 'smallest normal'}/{how}/{sign}"
        if how is not None and int(value) % 2 == 0 and 0 < leading < fmt.exponent_mask - 1:
            yield f"normal/{how}/{sign}"


def _result_hits(mode: Mode, accumulation: Accumulation) -> Iterator[str]:
    fmt, result, total = mode.dst_format, accumulation.result, accumulation.total
    sign = SIGNS[total < 0]
    if total and not result:
        yield f"underflow/{sign}"
    leading = accumulation.exponent + total.bit_length() - 1 - accumulation.fraction_bits
    if total and leading >= fmt.exponent_mask and result & fmt.sign_mask - 1 in (fmt.infinity_code, fmt.sign_mask - 1):
        yield f"overflow/{sign}"


def _is_half(value: Fraction) -> bool:
    return value.denominator == 2


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
