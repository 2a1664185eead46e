"""Operands of one step of a dot product, what golden says of them, and random ones by class."""

import os
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

from bitpath.golden.formats import dot
from bitpath.golden.formats.catalogue import E8M0, FP32, FixedFormat, FloatFormat, Rounding
from bitpath.golden.formats.dot import DotNumerics, DotProductNumerics
from bitpath.golden.scalar.codec import Kind, Overflow, decode
from bitpath.golden.scalar.dot import DotTrace, general, trace_dot_step
from bitpath.golden.scalar.rounding import floor_log2, round_to_format
from bitpath.golden.trainium3.declarations.quad_mx import PRESETS
from bitpath.golden.trainium3.declarations.vector import MatmulNumerics
from bitpath.verif.kit.mismatches import Shown, explain_line
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import held
from bitpath.verif.kit.values import code_text, codes_text

NUMERICS = "BITPATH_NUMERICS"
"""Environment variable with the file of the run's numerics, which a command that explains a result names."""
SIDE_NAMES = ("stationary", "moving")
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
        """The two sides as fields of the unit's payload: the format's index and the scale where it has them."""
        whole, own = general(numerics), isinstance(numerics, DotProductNumerics)
        index, sides = numerics.element_formats.index, {}
        for number, name in enumerate(SIDE_NAMES):
            sides[name] = {"elements": list(getattr(self, name))}
            if number < whole.scales:
                sides[name]["scale"] = getattr(self, f"{name}_scale")
            if len(numerics.element_formats) > 1 or not own:
                sides[name]["format"] = index(getattr(self, f"{name}_format"))
        return sides

    def fields(self, numerics: DotNumerics) -> dict[str, Any]:
        """All of it as fields of the unit's payload."""
        return self.operands(numerics) | {"partial": self.partial}

    @classmethod
    def of(cls, numerics: DotNumerics, fields: Any, partial: int | None = None) -> "DotCase":
        """The case of a unit's payload; ``partial`` is given for one without partial sum."""
        codes, formats, scales = [], [], []
        for side in (fields[name] for name in SIDE_NAMES):
            names = [name for name, _ in side.shape()]
            codes.append(tuple(int(side["elements"][k]) for k in range(numerics.terms)))
            formats.append(numerics.element_formats[int(side["format"]) if "format" in names else 0])
            scales.append(int(side["scale"]) if "scale" in names else E8M0.bias)
        partial = int(fields["partial"]) if partial is None else partial
        return cls(codes[0], formats[0], codes[1], formats[1], *scales, partial)

    def shown(self, numerics: DotNumerics) -> Shown:
        """Operands as numbers, and the command that explains the step."""
        whole, sides, options = general(numerics), {}, {}
        for number, name in enumerate(SIDE_NAMES):
            codes, fmt, scale = (getattr(self, f"{name}{part}") for part in ("", "_format", "_scale"))
            sides[name] = f"{fmt.name} {codes_text(fmt, codes)}"
            sides[name] += f"; scale {code_text(E8M0, scale)}" if number < whole.scales else ""
            words = ",".join(f"{code:0{-(-fmt.width // 4)}x}" for code in codes)
            options |= {name: words, f"{name}_format": fmt.name}
        digits = -(-whole.partial_format.width // 4)
        options |= {"scales": f"{self.stationary_scale:02x},{self.moving_scale:02x}"}
        options |= {"partial": f"{self.partial:0{digits}x}"}
        if numerics is whole:
            file = os.environ.get(NUMERICS)
            explain = explain_line("dot", dot.PRESETS, numerics, file=file, **options)
        else:
            explain = explain_line("trainium3", PRESETS, numerics, **options)
        sums = {"partial sum": code_text(whole.partial_format, self.partial)}
        return Shown(operands=sides | sums, explain=explain, fields=self.flat(numerics))

    def flat(self, numerics: DotNumerics) -> dict[str, int]:
        """Codes by the names of the flat module's ports."""
        found = {"i_partial": self.partial}
        for name, side in self.operands(numerics).items():
            found |= {f"i_{name}_elements_{k}": code for k, code in enumerate(side["elements"])}
            found |= {f"i_{name}_{part}": side[part] for part in ("scale", "format") if part in side}
        return found

    def scaled(self, exponent: int, scales: int = 2) -> "DotCase":
        """The same elements with scales that multiply to ``2**exponent``: two, split evenly; the stationary side's alone, as
        far as it reaches; or none, which changes nothing."""
        if scales < 2:
            code = max(0, min(SPLIT, E8M0.bias + exponent * scales))
            return replace(self, stationary_scale=code, moving_scale=E8M0.bias)
        total = SPLIT + exponent
        return replace(self, stationary_scale=total // 2, moving_scale=total - total // 2)


def held_case(numerics: DotNumerics, shape: Any, case: DotCase) -> DotCase:
    """The case as a design gets it that lacks some operands, which `held` then sets."""
    payload = pack(shape, case.fields(numerics))
    own = held(payload)
    return case if own == payload else DotCase.of(numerics, shape.from_bits(own))


def product_sum(case: DotCase) -> Fraction:
    """The exact sum of the products of finite operands, both scales included."""
    scale = decode(E8M0, case.stationary_scale).value * decode(E8M0, case.moving_scale).value
    pairs = zip(case.stationary, case.moving, strict=True)
    return scale * sum(
        (decode(case.stationary_format, x).value * decode(case.moving_format, y).value for x, y in pairs), Fraction(0)
    )


def on_grid(numerics: DotNumerics | MatmulNumerics, code: int) -> int:
    """A partial sum's code as the accumulator may hold it: fraction bits that it lacks are cleared."""
    travels = FP32 if isinstance(numerics, MatmulNumerics) else general(numerics).partial_format
    unused = travels.fraction_bits - numerics.accumulator.fraction_bits
    return code >> unused << unused


def partial_near(numerics: DotNumerics, value: Fraction) -> int:
    """The accumulator's largest magnitude not above ``value``'s, as a partial sum's code."""
    fmt = general(numerics).partial_format
    return on_grid(numerics, round_to_format(value, fmt, Rounding.RTZ, overflow=Overflow.SATURATE))


def finite_code(fmt: FloatFormat | FixedFormat, rng: Random) -> int:
    if isinstance(fmt, FixedFormat):
        return rng.getrandbits(fmt.width)
    return rng.randrange(fmt.max_code + 1) | rng.getrandbits(1) * fmt.sign_mask


def negated(fmt: FloatFormat | FixedFormat, code: int) -> int:
    """The code of the negative number; fixed point's smallest number has none and stays."""
    return -code & (1 << fmt.width) - 1 if isinstance(fmt, FixedFormat) else code ^ fmt.sign_mask


def near_exponent(fmt: FloatFormat | FixedFormat, exponent: int, rng: Random) -> int:
    """A finite code of about this exponent, as far as the format reaches."""
    if isinstance(fmt, FixedFormat):
        return finite_code(fmt, rng)
    biased = max(0, min(fmt.max_code >> fmt.fraction_bits, exponent + fmt.bias))
    code = biased << fmt.fraction_bits | rng.getrandbits(fmt.fraction_bits)
    return min(code, fmt.max_code) | rng.getrandbits(1) * fmt.sign_mask


def any_case(numerics: DotNumerics, rng: Random) -> DotCase:
    """Every bit at random: NaNs, infinities and far apart exponents."""
    x, y = (rng.choice(numerics.element_formats) for _ in range(2))
    codes = [tuple(rng.getrandbits(fmt.width) for _ in range(numerics.terms)) for fmt in (x, y)]
    partial = on_grid(numerics, rng.getrandbits(general(numerics).partial_format.width))
    return DotCase(codes[0], x, codes[1], y, rng.getrandbits(8), rng.getrandbits(8), partial)


def finite_case(numerics: DotNumerics, rng: Random) -> DotCase:
    """Finite elements, scales near 1, no partial sum yet."""
    x, y = (rng.choice(numerics.element_formats) for _ in range(2))
    codes = [tuple(finite_code(fmt, rng) for _ in range(numerics.terms)) for fmt in (x, y)]
    return DotCase(codes[0], x, codes[1], y).scaled(rng.randint(-20, 20), general(numerics).scales)


def comparable_case(numerics: DotNumerics, rng: Random) -> DotCase:
    """A partial sum within a few binades of the products: every bit of both counts."""
    case, fmt = finite_case(numerics, rng), general(numerics).partial_format
    size = floor_log2(product_sum(case) or Fraction(1))
    exponent = max(1, min(fmt.exponent_mask - 1, size + rng.randint(-30, 30) + fmt.bias))
    code = exponent << fmt.fraction_bits | rng.getrandbits(fmt.fraction_bits) | rng.getrandbits(1) * fmt.sign_mask
    return replace(case, partial=on_grid(numerics, code))


def cancelling_case(numerics: DotNumerics, rng: Random) -> DotCase:
    """Products that cancel each other, or a partial sum that cancels them up to a few units."""
    case, fmt = finite_case(numerics, rng), general(numerics).partial_format
    if numerics.terms > 1 and rng.getrandbits(1):
        x, y = list(case.stationary), list(case.moving)
        x[1], y[1] = negated(case.stationary_format, x[0]), y[0]
        case = replace(case, stationary=tuple(x), moving=tuple(y))
    units = rng.randint(-2, 2) << fmt.fraction_bits - numerics.accumulator.fraction_bits
    partial = partial_near(numerics, -product_sum(case))
    magnitude = max(0, min(fmt.max_code, (partial & ~fmt.sign_mask) + units))
    return replace(case, partial=on_grid(numerics, magnitude | partial & fmt.sign_mask))


def tiny_case(numerics: DotNumerics, rng: Random) -> DotCase:
    """A random case whose result is near the smallest numbers."""
    fmt = general(numerics).rounded_format
    case = _sized(numerics, rng, fmt.emin + rng.randint(-26, 3))
    return replace(case, partial=on_grid(numerics, _small(general(numerics).partial_format, rng)))


def _small(fmt: FloatFormat, rng: Random) -> int:
    return rng.choice((0, rng.getrandbits(rng.randint(1, fmt.fraction_bits + 2)))) | rng.getrandbits(1) * fmt.sign_mask


def huge_case(numerics: DotNumerics, rng: Random) -> DotCase:
    """Results around the largest number."""
    rounded, fmt = general(numerics).rounded_format, general(numerics).partial_format
    case = _sized(numerics, rng, rounded.emax + rng.randint(-25, 2))
    partial = fmt.max_code - rng.getrandbits(rng.randint(1, fmt.fraction_bits + 1))
    return replace(case, partial=on_grid(numerics, partial | rng.getrandbits(1) * fmt.sign_mask))


def _sized(numerics: DotNumerics, rng: Random, exponent: int) -> DotCase:
    """A finite case whose products sum to about ``2**exponent``: by its scales, or by its elements where it has none."""
    scales, case = general(numerics).scales, finite_case(numerics, rng)
    if scales:
        size = floor_log2(product_sum(case) or Fraction(1)) - (case.stationary_scale + case.moving_scale - SPLIT)
        return case.scaled(max(-SPLIT, min(SPLIT, exponent - size)), scales)
    first = exponent // 2 + rng.randint(-2, 2)
    x = tuple(near_exponent(case.stationary_format, first, rng) for _ in case.stationary)
    y = tuple(near_exponent(case.moving_format, exponent - first, rng) for _ in case.moving)
    return replace(case, stationary=x, moving=y)


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
