"""Coverage bins of a multiply-accumulate lane: properties of golden's trace of a case.

A corner that does not reach its target leaves a bin unhit.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

from bitpath.golden.aie_ml_v2.declarations.codes import MX_NAN_EXPONENT, MX_PAIRS, MxFormat, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.exact import LaneTrace
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.rtl.aie_ml_v2.mac.config import MacMode
from bitpath.verif.aie_ml_v2.mac.mac import LaneCase, row_of
from bitpath.verif.common.boundary_codes import TIE, break_of, breaks

DISTANCES = 26
"""Largest distance with a bin of its own; larger distances share one."""
DROPPED = 3
"""Most bits that the rounding of a sum drops in corners: eight products and an accumulator always reach them."""
SIGNS = "+-"
ENDS = (0, 1, 254, 255)
"""MX exponent bytes at both ends; 255 is NaN or an ordinary exponent, by the numerics."""


def bins(numerics: AieNumerics, kind: MxFormat | MacMode) -> list[str]:
    """Return all bins of an MX format or a float mode that are reachable with these numerics."""
    places = ("product", "acc1", "acc2")
    names = [f"distance/{place}/{d}" for place in places for d in range(DISTANCES + 2)]
    names += [f"tie/{place}/{sign}" for place in places for sign in SIGNS]
    names += [f"signs/{acc1}{acc2}/{'/'.join(map(str, negate))}" for acc1, acc2, *negate in _signs()]
    names += ["total/0", "accumulators alone", "no accumulator", "nothing at all"]
    names += [f"{name}/{sign}" for name in ("overflow", "flush", "infinity") for sign in SIGNS]
    names += ["nan/acc1", "nan/acc2", "nan/acc1 - acc2"]
    if numerics.align_fraction_bits == FP32.fraction_bits:
        # The unit in the last place of the largest accumulator equals that of the grid.
        names += ["total/+1", "total/-1", *(f"tie/final/{sign}" for sign in SIGNS)]
        names += [f"{name}/{how}/{sign}" for name, how in boundaries(kind) for sign in SIGNS]
    if isinstance(kind, MxFormat):
        return [*names, *_mx_bins(numerics, kind)]
    formats = row_of(kind).formats
    names += [f"formats/{x.name}/{y.name}" for x, y in product(formats, formats)]
    names += [f"subnormal/{side}/{fmt.name}" for side in "xy" for fmt in formats]
    names += [f"nan/{side}/{fmt.name}" for side in "xy" for fmt in formats]
    names += ["nan/infinity * 0", "nan/0 * infinity", "nan/product - product", "nan/product - accumulator"]
    names += ["zero operand leads"]
    usual = numerics.align_fraction_bits == FP32.fraction_bits and numerics.result_rounding is RoundingCode.CONV_EVEN
    if kind is MacMode.FLOAT16 and usual:
        names += [f"carry keeps/{sign}" for sign in SIGNS]
    return names


def boundaries(kind: MxFormat | MacMode) -> Iterator[tuple[str, str]]:
    """Yield what the rounding of a sum can meet: a boundary of the results, and how one of the dropped bits breaks the tie.

    Products of 8-bit floats reach neither end; sums of blocks have more than 24 bits only with an accumulator, which is
    above the smallest normal number.
    """
    ends = ["overflow"] if isinstance(kind, MxFormat) else ["overflow", "smallest normal"] * (kind is MacMode.FLOAT16)
    yield from product((*ends, "normal"), breaks(DROPPED))


def _signs() -> Iterator[tuple]:
    return product(SIGNS, SIGNS, (0, 1), (0, 1), (0, 1))


def _mx_bins(numerics: AieNumerics, fmt: MxFormat) -> Iterator[str]:
    if fmt.has_shifts:
        yield from (f"shift/{side}/{mask}" for side in "xy" for mask in range(1 << MX_PAIRS))
    yield from (f"exponent/{side}/{end}" for side in "xy" for end in ENDS)
    yield from ("most negative codes", "zero sum/ignored")
    yield "zero sum/erases" if numerics.mx_zero_term else "zero sum/counts for nothing"
    if numerics.mx_nan_block:
        yield from ("nan/x", "nan/y")


def hits(numerics: AieNumerics, case: LaneCase, trace: LaneTrace) -> Iterator[str]:
    """Return the bins that a case hits."""
    kind = case.x.fmt if case.mode in (MacMode.MX6, MacMode.MX9) else case.mode
    known = _known(numerics, kind)
    return (name for name in _hits(numerics, case, trace) if name in known)


@cache
def _known(numerics: AieNumerics, kind: MxFormat | MacMode) -> frozenset[str]:
    return frozenset(bins(numerics, kind))


def _hits(numerics: AieNumerics, case: LaneCase, trace: LaneTrace) -> Iterator[str]:
    present = [name for name, acc in (("acc1", case.acc1), ("acc2", case.acc2)) if acc is not None]
    count = len(trace.terms) - len(present)
    names = ["product"] * count + present
    if len(present) == 2:
        options = case.options
        negate = (options.negate_products, options.negate_acc1, options.negate_acc2)
        yield f"signs/{SIGNS[case.acc1 >> 31]}{SIGNS[case.acc2 >> 31]}/{'/'.join(str(int(each)) for each in negate)}"
    if not count:
        yield "accumulators alone" if present else "nothing at all"
    elif not present:
        yield "no accumulator"
    if trace.exponent is not None:
        yield from _sum_hits(numerics, trace, names)
    yield from _special_hits(case, trace, names)
    if count and case.formats is not None:
        yield from _float_hits(case)
    elif count:
        yield from _mx_hits(numerics, case, trace)


def _sum_hits(numerics: AieNumerics, trace: LaneTrace, names: list[str]) -> Iterator[str]:
    unit = Fraction(2) ** (trace.exponent - 2 * FP32.bias - 1 - numerics.align_fraction_bits)
    for name, term in zip(names, trace.terms, strict=True):
        if not term.value:
            if term.exponent is not None and term.exponent == trace.exponent:
                yield "zero operand leads"
            continue
        yield f"distance/{name}/{min(trace.exponent - term.exponent, DISTANCES + 1)}"
        if _is_half(term.value / unit):
            yield f"tie/{name}/{SIGNS[term.sign]}"
    total = trace.total
    if total == 0 and any(term.value for term in trace.terms):
        yield "total/0"
    if abs(total) == 1:
        yield f"total/{total:+}"
    if not total:
        return
    sign = SIGNS[total < 0]
    yield from _rounding_hits(total, trace.exponent - FP32.bias - 1)
    magnitude = trace.result & FP32.sign_mask - 1
    if magnitude == 0:
        yield f"flush/{sign}"
    if magnitude == FP32.infinity_code:
        yield f"overflow/{sign}"
    if magnitude == 1 << FP32.fraction_bits and abs(total) * unit < FP32.min_normal:
        yield f"carry keeps/{sign}"


def _rounding_hits(total: int, exponent: int) -> Iterator[str]:
    """Yield how the rounding of a sum to 24 bits is decided, and at which boundary, by its exponent field without sum bits."""
    dropped, sign = abs(total).bit_length() - FP32.precision, SIGNS[total < 0]
    how = break_of(Fraction(abs(total), 1 << dropped)) if dropped > 0 else None
    if how is None:
        return
    if how == TIE:
        yield f"tie/final/{sign}"
    kept, field, largest = abs(total) >> dropped, exponent + dropped, FP32.exponent_mask - 1
    if kept == (2 << FP32.fraction_bits) - 1 and field in (0, largest):
        yield f"{'overflow' if field else 'smallest normal'}/{how}/{sign}"
    if kept % 2 == 0 and 0 < field < largest:
        yield f"normal/{how}/{sign}"


def _special_hits(case: LaneCase, trace: LaneTrace, names: list[str]) -> Iterator[str]:
    """Yield the bins of a sum that is NaN or infinite."""
    magnitude = trace.result & FP32.sign_mask - 1
    if magnitude == FP32.infinity_code and trace.exponent is None:
        yield f"infinity/{SIGNS[trace.result >> 31]}"
    if magnitude <= FP32.infinity_code:
        return
    kinds = [(name, term.kind, term.sign) for name, term in zip(names, trace.terms, strict=True)]
    nans = {name for name, each, _ in kinds if each is Kind.NAN}
    if nans:
        # A single NaN proves that the lane detects it.
        yield from (f"nan/{name}" for name in nans if len(nans) == 1 and name != "product")
        return
    signs = {name: {sign for each, kind, sign in kinds if each == name and kind is Kind.INFINITY} for name in names}
    if signs.get("acc1") and signs.get("acc2") and signs["acc1"] != signs["acc2"]:
        yield "nan/acc1 - acc2"
    products = signs.get("product", set())
    if len(products) == 2:
        yield "nan/product - product"
    elif products:
        yield "nan/product - accumulator"


def _float_hits(case: LaneCase) -> Iterator[str]:
    x_format, y_format = case.formats
    yield f"formats/{x_format.name}/{y_format.name}"
    lanes = [(decode(x_format, a), decode(y_format, b)) for a, b in zip(case.x, case.y, strict=True)]
    for a, b in lanes:
        for side, fmt, each, other in (("x", x_format, a, b), ("y", y_format, b, a)):
            if each.kind is Kind.NAN and other.kind is not Kind.NAN:
                yield f"nan/{side}/{fmt.name}"
            if each.kind is Kind.FINITE and not each.is_zero and abs(each.value) < fmt.min_normal and not other.is_zero:
                yield f"subnormal/{side}/{fmt.name}"
        if a.kind is Kind.INFINITY and b.is_zero:
            yield "nan/infinity * 0"
        if a.is_zero and b.kind is Kind.INFINITY:
            yield "nan/0 * infinity"
    finite = [(a, b) for a, b in lanes if a.kind is b.kind is Kind.FINITE]
    exponents = [
        (a.exponent + x_format.fraction_bits + b.exponent + y_format.fraction_bits, a.is_zero or b.is_zero)
        for a, b in finite
    ]
    if exponents and len(finite) == len(lanes):
        highest = max(exponents)[0]
        if all(zero for exponent, zero in exponents if exponent == highest) and not all(zero for _, zero in exponents):
            yield "zero operand leads"


def _mx_hits(numerics: AieNumerics, case: LaneCase, trace: LaneTrace) -> Iterator[str]:
    for side, block in (("x", case.x), ("y", case.y)):
        yield f"shift/{side}/{block.shift}"
        yield f"exponent/{side}/{block.exponent}"
        other = case.y if block is case.x else case.x
        if block.exponent == MX_NAN_EXPONENT != other.exponent:
            yield f"nan/{side}"
    if {*case.x.codes, *case.y.codes} == {case.x.fmt.min_code}:
        yield "most negative codes"
    if not any(trace.products) and case.acc1 is not None and case.acc2 is None and trace.exponent is not None:
        exponents = (case.x.exponent, case.y.exponent)
        # Compare with the lane's own result for acc1, which a grid coarser than FP32 rounds.
        kept = trace.result == replace(case, options=replace(case.options, multiplies=False)).result(numerics)
        above = sum(exponents) > (case.acc1 >> FP32.fraction_bits & FP32.exponent_mask) + FP32.bias + FP32.precision
        if 0 in exponents and kept:
            yield "zero sum/ignored"
        elif above and case.acc1:
            yield "zero sum/counts for nothing" if kept else "zero sum/erases"


def _is_half(value: Fraction) -> bool:
    return value.denominator == 2
