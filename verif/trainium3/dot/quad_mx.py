"""Operands of one quad-MX dot step, what golden says of them, and random ones by class."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from bitpath.golden.formats.catalogue import E8M0, FP32, FloatFormat, Rounding
from bitpath.golden.formats.dot import DotNumerics
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.dot import DotTrace, trace_dot_step
from bitpath.golden.scalar.rounding import floor_log2, round_to_format
from bitpath.golden.trainium3.declarations.quad_mx import PRESETS
from bitpath.golden.trainium3.declarations.vector import MatmulNumerics
from bitpath.rtl.trainium3.dot.element_map import ElementFormat
from bitpath.verif.kit.mismatches import Shown, explain_line
from bitpath.verif.kit.values import code_text, codes_text

SPLIT = 2 * E8M0.bias
"""Sum of two scale codes whose scales multiply to 1."""


@dataclass(frozen=True)
class DotCase:
    """The operands of one step, as codes."""

    stationary: tuple[int, ...]
    stationary_format: FloatFormat
    moving: tuple[int, ...]
    moving_format: FloatFormat
    stationary_scale: int = E8M0.bias
    moving_scale: int = E8M0.bias
    partial: int = 0

    def trace(self, numerics: DotNumerics) -> DotTrace:
        """The step as the exact tier does it."""
        return trace_dot_step(
            numerics,
            self.stationary,
            self.stationary_format,
            self.moving,
            self.moving_format,
            self.stationary_scale,
            self.moving_scale,
            self.partial,
        )

    def operands(self, numerics: DotNumerics) -> dict[str, dict[str, Any]]:
        """The two sides as fields of ``operand_layout``."""
        index = numerics.element_formats.index
        return {
            "stationary": {
                "elements": list(self.stationary),
                "scale": self.stationary_scale,
                "format": index(self.stationary_format),
            },
            "moving": {
                "elements": list(self.moving),
                "scale": self.moving_scale,
                "format": index(self.moving_format),
            },
        }

    def fields(self, numerics: DotNumerics) -> dict[str, Any]:
        """All of it as fields of ``dot_layout``."""
        return self.operands(numerics) | {"partial": self.partial}

    @classmethod
    def of(cls, numerics: DotNumerics, fields: Any) -> "DotCase":
        """The case of a payload of ``dot_layout``."""
        sides = fields["stationary"], fields["moving"]
        codes = (tuple(int(side["elements"][k]) for k in range(numerics.terms)) for side in sides)
        formats = (numerics.element_formats[int(side["format"])] for side in sides)
        (x, y), (x_format, y_format) = codes, formats
        return cls(x, x_format, y, y_format, *(int(side["scale"]) for side in sides), int(fields["partial"]))

    def shown(self, numerics: DotNumerics) -> Shown:
        """Operands as numbers, and the command that explains the step."""
        sides, options = {}, {}
        for name in ("stationary", "moving"):
            codes, fmt, scale = (getattr(self, f"{name}{part}") for part in ("", "_format", "_scale"))
            sides[name] = f"{fmt.name} {codes_text(fmt, codes)}; scale {code_text(E8M0, scale)}"
            options |= {name: ",".join(f"{code:02x}" for code in codes), f"{name}_format": fmt.name}
        options |= {"scales": f"{self.stationary_scale:02x},{self.moving_scale:02x}", "partial": f"{self.partial:08x}"}
        explain = explain_line("trainium3", PRESETS, numerics, **options)
        return Shown(operands=sides | {"partial sum": code_text(FP32, self.partial)}, explain=explain)

    def scaled(self, exponent: int) -> "DotCase":
        """The same elements with scales that multiply to ``2**exponent``, -254 to 254, split evenly."""
        total = SPLIT + exponent
        return replace(self, stationary_scale=total // 2, moving_scale=total - total // 2)


def chain_shown(numerics: DotNumerics, rows: Sequence[DotCase], operands: dict[str, str]) -> Shown:
    """Show the last step of a column of PEs, of whose cases the first alone has its partial sum; ``operands`` come first."""
    partial = rows[0].partial
    for row in rows[:-1]:
        partial = replace(row, partial=partial).trace(numerics).result
    last = replace(rows[-1], partial=partial).shown(numerics)
    return replace(last, operands=operands | {"last row": f"{len(rows) - 1}, whose step is"} | dict(last.operands))


def column_cases(
    stationary: tuple[np.ndarray, FloatFormat, np.ndarray], moving: tuple[np.ndarray, FloatFormat, np.ndarray]
) -> list[DotCase]:
    """The cases of a column of PEs from the codes [rows, 4], format and scales [rows] of both sides."""
    (x, x_format, x_scale), (y, y_format, y_scale) = stationary, moving
    rows = zip(x.tolist(), y.tolist(), x_scale.tolist(), y_scale.tolist(), strict=True)
    return [DotCase(tuple(a), x_format, tuple(b), y_format, *scales) for a, b, *scales in rows]


def case_columns(cases: Sequence[DotCase]) -> Iterator[tuple[FloatFormat, FloatFormat, list[int], list[np.ndarray]]]:
    """Yield each pair of formats, the indices of its cases, and their codes [n, 4] and scales [n] of both sides and partial sums [n]."""
    indices: dict[tuple[FloatFormat, FloatFormat], list[int]] = {}
    for index, case in enumerate(cases):
        indices.setdefault((case.stationary_format, case.moving_format), []).append(index)
    for (x, y), chosen in indices.items():
        fields = ("stationary", "stationary_scale", "moving", "moving_scale")
        arrays = [np.array([getattr(cases[index], name) for index in chosen], np.uint8) for name in fields]
        yield x, y, chosen, [*arrays, np.array([cases[index].partial for index in chosen], np.uint32)]


def product_sum(case: DotCase) -> Fraction:
    """The exact sum of the products of finite operands, both scales included."""
    scale = decode(E8M0, case.stationary_scale).value * decode(E8M0, case.moving_scale).value
    pairs = zip(case.stationary, case.moving, strict=True)
    return scale * sum(
        (decode(case.stationary_format, x).value * decode(case.moving_format, y).value for x, y in pairs), Fraction(0)
    )


def word_formats(numerics: DotNumerics) -> tuple[ElementFormat, ...]:
    """The formats that an x4 word for PEs of these numerics may have: theirs, and E2M1, which is mapped to one of them."""
    own = {fmt.name for fmt in numerics.element_formats}
    return tuple(fmt for fmt in ElementFormat if fmt is ElementFormat.E2M1 or fmt.name in own)


def on_grid(numerics: DotNumerics | MatmulNumerics, code: int) -> int:
    """An FP32 code as the accumulator may hold it: fraction bits that it lacks are cleared."""
    unused = FP32.fraction_bits - numerics.accumulator.fraction_bits
    return code >> unused << unused


def partial_near(numerics: DotNumerics, value: Fraction) -> int:
    """The accumulator's largest magnitude not above ``value``'s, as an FP32 code."""
    return on_grid(numerics, round_to_format(value, FP32, Rounding.RTZ))


def finite_code(fmt: FloatFormat, rng: Random) -> int:
    return rng.randrange(fmt.max_code + 1) | rng.getrandbits(1) * fmt.sign_mask


def any_case(numerics: DotNumerics, rng: Random) -> DotCase:
    """Every bit at random: NaNs, infinities and far apart exponents."""
    x, y = (rng.choice(numerics.element_formats) for _ in range(2))
    codes = [tuple(rng.getrandbits(fmt.width) for _ in range(numerics.terms)) for fmt in (x, y)]
    partial = on_grid(numerics, rng.getrandbits(FP32.width))
    return DotCase(codes[0], x, codes[1], y, rng.getrandbits(8), rng.getrandbits(8), partial)


def finite_case(numerics: DotNumerics, rng: Random) -> DotCase:
    """Finite elements, scales near 1, no partial sum yet."""
    x, y = (rng.choice(numerics.element_formats) for _ in range(2))
    codes = [tuple(finite_code(fmt, rng) for _ in range(numerics.terms)) for fmt in (x, y)]
    return DotCase(codes[0], x, codes[1], y).scaled(rng.randint(-20, 20))


def comparable_case(numerics: DotNumerics, rng: Random) -> DotCase:
    """A partial sum within a few binades of the products: every bit of both counts."""
    case = finite_case(numerics, rng)
    size = floor_log2(product_sum(case) or Fraction(1))
    exponent = max(1, min(254, size + rng.randint(-30, 30) + FP32.bias))
    code = exponent << FP32.fraction_bits | rng.getrandbits(FP32.fraction_bits) | rng.getrandbits(1) * FP32.sign_mask
    return replace(case, partial=on_grid(numerics, code))


def cancelling_case(numerics: DotNumerics, rng: Random) -> DotCase:
    """Products that cancel each other, or a partial sum that cancels them up to a few units."""
    case = finite_case(numerics, rng)
    if rng.getrandbits(1):
        x, y = list(case.stationary), list(case.moving)
        x[1], y[1] = x[0] ^ case.stationary_format.sign_mask, y[0]
        case = replace(case, stationary=tuple(x), moving=tuple(y))
    units = rng.randint(-2, 2) << FP32.fraction_bits - numerics.accumulator.fraction_bits
    partial = partial_near(numerics, -product_sum(case))
    magnitude = max(0, min(FP32.max_code, (partial & ~FP32.sign_mask) + units))
    return replace(case, partial=on_grid(numerics, magnitude | partial & FP32.sign_mask))


def tiny_case(numerics: DotNumerics, rng: Random) -> DotCase:
    """A random case whose result is near FP32's subnormals."""
    case = finite_case(numerics, rng)
    size = floor_log2(product_sum(case) or Fraction(1)) - (case.stationary_scale + case.moving_scale - SPLIT)
    target = FP32.emin + rng.randint(-26, 3)
    partial = rng.choice((0, rng.getrandbits(rng.randint(1, 25)))) | rng.getrandbits(1) * FP32.sign_mask
    return replace(case.scaled(max(-254, target - size)), partial=on_grid(numerics, partial))


def huge_case(numerics: DotNumerics, rng: Random) -> DotCase:
    """Results around FP32's largest number."""
    case = finite_case(numerics, rng)
    size = floor_log2(product_sum(case) or Fraction(1)) - (case.stationary_scale + case.moving_scale - SPLIT)
    target = FP32.emax + rng.randint(-25, 2)
    partial = FP32.max_code - rng.getrandbits(rng.randint(1, 24)) | rng.getrandbits(1) * FP32.sign_mask
    return replace(case.scaled(min(254, target - size)), partial=on_grid(numerics, partial))


RANDOM_CLASSES = {
    "any": any_case,
    "comparable": comparable_case,
    "cancelling": cancelling_case,
    "tiny": tiny_case,
    "huge": huge_case,
}
"""Makers of random cases by the name of their class."""


def random_cases(numerics: DotNumerics, rng: Random, count: int) -> list[DotCase]:
    """``count`` cases, the classes in turn."""
    makers = list(RANDOM_CLASSES.values())
    return [makers[k % len(makers)](numerics, rng) for k in range(count)]


def is_special(trace: DotTrace) -> bool:
    """True if some term is NaN or infinite."""
    return any(term.kind is not Kind.FINITE for term in trace.terms)
