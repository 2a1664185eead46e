"""Coverage bins of the Tensix dot product, computed from golden's trace of a case.

A corner that misses its target shows up as a bin not hit.
"""

from collections.abc import Iterator
from fractions import Fraction

from bitpath.golden.tensix.declarations.formats import COLUMNS, PHASES, Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.exact import Accumulation, Dot16Trace
from bitpath.golden.tensix.exact.accumulate import read_dst
from bitpath.verif.tensix.dot.dot import DotCase, Mode

SUM_DISTANCES = 31
DST_DISTANCES = 26
"""Distances with a bin each; at the last one a group sum, or Dst, is shifted out completely."""
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
    # In a 32-bit Dst, products of FP16 never have small exponents.
    if not (mode.style is Style.FP16 and mode.dst32):
        names += [f"underflow/{sign}" for sign in SIGNS] + ["empty group", "negative exponent in a group"]
    return [f"{mode}/{name}" for name in names]


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
        if _is_half(aligned):
            yield f"tie/{name}/{sign}"
        elif _is_half(aligned / (1 << 13)):
            yield f"tie/second {name}/{sign}"


def _final_hits(mode: Mode, accumulation: Accumulation) -> Iterator[str]:
    total = accumulation.total
    if total and not accumulation.quirk:
        dropped = total.bit_length() - 1 - mode.dst_format.fraction_bits
        if dropped > 0 and _is_half(Fraction(total, 1 << dropped)):
            yield f"tie/final/{SIGNS[total < 0]}"


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
