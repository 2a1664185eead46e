"""Coverage bins of the Tensix dot product, computed from golden's trace of a case.

A corner that misses its target shows up as a bin not hit.
"""

from collections.abc import Iterator
from fractions import Fraction

from bitpath.golden.formats.catalogue import FP16
from bitpath.golden.tensix.declarations.formats import COLUMNS, PHASES, Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.exact import Accumulation, Dot16Trace
from bitpath.golden.tensix.exact.dot import NARROW_FRACTION_BITS, PRODUCT_FRACTION_BITS, SUM_FRACTION_BITS, read_dst
from bitpath.verif.common.boundary_codes import TIE, break_of, breaks
from bitpath.verif.tensix.dot.dot import DotCase, Mode, exponent_range

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
    """Return the exponent of Dst and products whose sum, of so many dropped bits, is at a boundary."""
    fmt = mode.dst_format
    units = SUM_FRACTION_BITS if mode.dst32 else PRODUCT_FRACTION_BITS
    leading = fmt.fraction_bits + dropped - units
    return {"overflow": fmt.exponent_mask - 1, "smallest normal": 0, "normal": fmt.bias}[name] - leading


def boundaries(mode: Mode) -> Iterator[tuple[str, str, list[int]]]:
    """Yield what the last rounding can meet: a boundary, how one bit breaks the tie there, and the numbers of dropped bits.

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
