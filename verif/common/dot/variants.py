"""Numerics that differ from a dot product's in one field, and those of them that give all results of a design."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from bitpath.golden.formats.catalogue import BF16, CATALOGUE, FP16, FP32, TF32, FloatFormat, Rounding
from bitpath.golden.formats.dot import DotProductNumerics, InvalidProduct, ProductRounding, ScaleNan, ZeroSign
from bitpath.golden.scalar.dot import general
from bitpath.verif.common.dot.cases import DotCase

ALIGN_BITS = range(65)
"""Fraction bits of an alignment that are tried."""
MOST = 500
"""Results that differ from golden's, and results that equal them, on which a variant is tried."""
SHOWN = 6
"""Variants that a message names."""


def single_fields(numerics: DotProductNumerics, nans: Sequence[int]) -> Iterator[tuple[str, DotProductNumerics]]:
    """Yield every variant of one field with its name; ``nans`` are codes of NaN to try.

    Formats of another width, and other numbers of terms and scales, would be another design.
    """
    modes = (Rounding.RNE, Rounding.RTZ)
    roundings = [ProductRounding(format=fmt, rounding=mode) for fmt in (FP32, TF32, BF16, FP16) for mode in modes]
    values: dict[str, Sequence[Any]] = {
        "product_rounding": [None, *roundings],
        "accumulator": [fmt for fmt in (FP32, TF32, BF16) if numerics.accumulator.shortens_fp32],
        "align_fraction_bits": [None, *ALIGN_BITS],
        "align_rounding": modes,
        "accumulator_rounding": modes,
        "zero_sign": list(ZeroSign),
        "invalid_product": list(InvalidProduct),
        "scale_nan": list(ScaleNan),
        "nan_code": nans,
    }
    for name in ("element_subnormals", "accumulator_subnormals", "result_subnormals", "overflow_to_infinity"):
        values[name] = (True, False)
    for name, tried in values.items():
        for value in tried:
            if value != getattr(numerics, name):
                yield f"{name} = {_shown(value)}", replace(numerics, **{name: value})
    for place, own in enumerate(numerics.element_formats):
        for other in CATALOGUE.values():
            if isinstance(own, FloatFormat) and _replaces(other, own) and other not in numerics.element_formats:
                formats = (*numerics.element_formats[:place], other, *numerics.element_formats[place + 1 :])
                yield f"element_formats: {other.name} for {own.name}", replace(numerics, element_formats=formats)


def _replaces(other: FloatFormat, own: FloatFormat) -> bool:
    return other.signed and (other.width, other.exponent_bits) == (own.width, own.exponent_bits)


def _shown(value: object) -> str:
    if isinstance(value, FloatFormat):
        return value.name
    if isinstance(value, int) and not isinstance(value, bool) and value > max(ALIGN_BITS):
        return f"{value:#x}"
    return str(getattr(value, "value", value))


def lines(component: Any, config: Any, observed: Sequence[tuple[int, int, int]]) -> list[str]:
    """Return what to print of a design's results: the variants that give them all, or the one that gives the most.

    Parameters
    ----------
    observed : payload of each request, the design's result, and golden's.
    """
    numerics = general(config.numerics)
    shape = component.signature.members["i"].signature.members["payload"].shape
    fmt, cases, last = numerics.result_format, [], 0
    for payload, got, expected in observed:
        fields = shape.from_bits(payload)
        partial = None
        if "clear" in dict(shape):
            # The design's own sum, from which its next one follows.
            partial, last = 0 if fields["clear"] else last, got
        cases.append((DotCase.of(config.numerics, fields, partial), got, expected))
    # Those that differ reject a variant first.
    wrong, right = ([each for each in cases if (each[1] == each[2]) is equal] for equal in (False, True))
    if not wrong:
        return []
    cases = wrong[:MOST] + right[:: -(-len(right) // MOST) or 1]
    differing = len(wrong[:MOST])
    nans = sorted({got for _, got, _ in cases if fmt.max_code + 1 < got & ~fmt.sign_mask})[:SHOWN]
    counts = {name: _fit(numerics, variant, cases) for name, variant in single_fields(numerics, nans)}
    fitting = [name for name, count in counts.items() if count == len(cases)]
    if fitting:
        more = f" and {len(fitting) - SHOWN} more" if len(fitting) > SHOWN else ""
        return [f"one other field gives all {len(cases)} results: {'; '.join(fitting[:SHOWN])}{more}"]
    best = max(counts, key=lambda name: counts[name])
    base = len(cases) - differing
    if counts[best] <= base:
        return [f"no other value of a single field gives these results; {differing} of {len(cases)} differ"]
    return [
        f"no other value of a single field gives all {len(cases)} results; {best} gives {counts[best]}, golden {base}"
    ]


def _fit(own: DotProductNumerics, numerics: DotProductNumerics, cases: Sequence[tuple[DotCase, int, int]]) -> int:
    """Return how many cases give the design's result; it stops counting where fewer than half of them can."""
    wrong = 0
    for number, (case, got, _) in enumerate(cases):
        wrong += _result(own, numerics, case) != got
        if wrong > 20 and wrong * 2 > number + 1:
            return 0
    return len(cases) - wrong


def _result(own: DotProductNumerics, numerics: DotProductNumerics, case: DotCase) -> int | None:
    """Return the variant's result; None where it cannot take the operands."""
    formats = dict(zip(own.element_formats, numerics.element_formats, strict=True))
    x, y = formats[case.stationary_format], formats[case.moving_format]
    try:
        return replace(case, stationary_format=x, moving_format=y).trace(numerics).result
    except ValueError:
        return None
