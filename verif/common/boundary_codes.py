"""Codes at the boundaries of formats, and near the ties there: inputs for tests of a conversion between formats."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from random import Random

from bitpath.golden.formats.catalogue import FP32, FloatFormat, Rounding
from bitpath.golden.scalar.codec import Kind, Overflow, decode, power_of_two
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.verif.kit.values import Boundary, Near, float_boundaries, near

TIE = "tie"


def breaks(closest: int) -> dict[str, Fraction]:
    """Return a tie and the ties that one bit breaks: distances from the midpoint, in units of the last place, by name."""
    found = {TIE: Fraction(0)}
    for k in range(2, closest + 1):
        found |= {f"tie {name} 2**-{k}": sign * power_of_two(-k) for sign, name in ((1, "+"), (-1, "-"))}
    return found


def break_of(value: Fraction) -> str | None:
    """Return the name of `breaks` of a magnitude in units of the last place; None if it is no tie, nor broken by one bit."""
    beside = value % 1 - Fraction(1, 2)
    if not beside:
        return TIE
    k = beside.denominator.bit_length() - 1
    return f"tie {'+-'[beside < 0]} 2**-{k}" if abs(beside.numerator) == 1 < k else None


def rounded_boundaries(fmt: FloatFormat, rng: Random) -> list[Boundary]:
    """`float_boundaries`, and the smallest normal number as a rounder sees it that flushes after rounding.

    Such a rounder, and one that detects underflow after rounding, has one more bit below that number.
    """
    unit = fmt.min_normal / (2 << fmt.fraction_bits)
    return [*float_boundaries(fmt, rng), Boundary("smallest normal, unbounded", fmt.min_normal - unit, unit)]


def exact_code(value: Fraction, fmt: FloatFormat) -> int | None:
    """Return the code of a number, or None if the format has none."""
    code = round_to_format(value, fmt, overflow=Overflow.SATURATE)
    return code if decode(fmt, code).value == value else None


def codes_about(
    fmt: FloatFormat, rng: Random, source: FloatFormat = FP32, *, shift: int = 0, rounding: Rounding = Rounding.RNE
) -> Iterator[tuple[Near, int]]:
    """Yield values at and about the boundaries of `fmt` with the source's code of ``value / 2**shift``, without sign.

    Their sticky bits stand at every distance that the source has; values between its numbers are left out.
    """
    for each in near(lambda rng: rounded_boundaries(fmt, rng), rng, range(2, source.precision + 2), rounding):
        code = exact_code(each.value / power_of_two(shift), source) if each.value >= 0 else None
        if code is not None:
            yield each, code


def codes(fmt: FloatFormat) -> list[int]:
    """Return zero, the smallest and largest subnormal and normal, 1, infinity and NaN, and their neighbours, of both signs."""
    normal = 1 << fmt.fraction_bits if fmt.has_subnormals else 0
    special = [each & ~fmt.sign_mask for each in (fmt.infinity_code, fmt.nan_code) if each is not None]
    centres = {0, 1, normal - 1, normal, fmt.bias << fmt.fraction_bits, fmt.max_code, *special}
    top = (1 << fmt.exponent_bits + fmt.fraction_bits) - 1
    magnitudes = sorted({each + step for each in centres for step in (-1, 0, 1) if 0 <= each + step <= top})
    return [each | sign for sign in dict.fromkeys((0, fmt.sign_mask)) for each in magnitudes]


def crossing(source: FloatFormat, target: FloatFormat, shift: int = 0) -> list[int]:
    """Return the source's boundary codes, and its codes next to the target's boundaries over ``2**shift``, of both signs.

    The target's boundaries are its `codes`, and the ties beside the ends of its range.
    """
    numbers = [decode(target, code) for code in codes(target)]
    values = {abs(each.value) for each in numbers if each.kind is Kind.FINITE}
    values |= {each.lower + each.unit / 2 for each in rounded_boundaries(target, Random(0))}
    return sorted({*codes(source), *_next_to(source, values, shift)})


def integer_crossing(source: FloatFormat, low: int, high: int, shift: int = 0) -> list[int]:
    """Return the source's boundary codes, and its codes next to integers' boundaries and ties over ``2**shift``.

    The boundaries are zero and both ends of the integers' range; a code times ``2**shift`` is converted to one of them.
    """
    values = {
        abs(each) + part for each in (0, 1, 2, low, high) for part in (Fraction(-1, 2), Fraction(0), Fraction(1, 2))
    }
    return sorted({*codes(source), *_next_to(source, values, shift)})


def _next_to(source: FloatFormat, values: Iterable[Fraction], shift: int) -> set[int]:
    """Return the codes nearest to magnitudes over ``2**shift`` and their neighbours, of both signs."""
    nearest = (
        round_to_format(abs(value) / power_of_two(shift), source, overflow=Overflow.SATURATE) for value in values
    )
    found = {min(max(code + step, 0), source.max_code) for code in nearest for step in (-1, 0, 1)}
    return found | {code | source.sign_mask for code in found}
