"""Formal properties of SRS and UPS: division and multiplication by a power of two, rounded once and saturated."""

from amaranth import Cat, Const, Mux, Signal, Value, signed

from bitpath.golden.aie_ml_v2.declarations.codes import SRS_MODES, SRS_SHIFTS, RoundingCode, Saturation
from bitpath.rtl.aie_ml_v2.convert.srs import SrsLane
from bitpath.rtl.aie_ml_v2.convert.ups import UpsLane
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Properties, Sabotage
from bitpath.verif.formal.specification import split

PROPERTIES = Properties("aie_ml_v2/convert")
_PREFERS = {
    "~above": (RoundingCode.FLOOR, RoundingCode.NEGATIVE_INF),
    "above": (RoundingCode.CEIL, RoundingCode.POSITIVE_INF),
    "~away": (RoundingCode.SYMMETRIC_FLOOR, RoundingCode.SYMMETRIC_ZERO),
    "away": (RoundingCode.SYMMETRIC_CEIL, RoundingCode.SYMMETRIC_INF),
    "odd": (RoundingCode.CONV_EVEN,),
    "~odd": (RoundingCode.CONV_ODD,),
}
"""Source text of the preferred direction, and the codes that have it; the sabotage inverts it."""
_INVERTED = [
    (rounding, Sabotage("common/arithmetic/round.py", f"return {text}\n", f"return ~({text})\n"))
    for text, roundings in _PREFERS.items()
    for rounding in roundings
]

LEFT = -SRS_SHIFTS.start


def _goes_up(rounding: RoundingCode, negative: Value, odd: Value, twice: Value, unit: Value) -> Value:
    """Return True if the rounding increment is 1; ``twice`` is twice the discarded part, in the scale of ``unit``."""
    directed = {
        RoundingCode.FLOOR: Const(0),
        RoundingCode.CEIL: Const(1),
        RoundingCode.SYMMETRIC_FLOOR: negative,
        RoundingCode.SYMMETRIC_CEIL: ~negative,
    }
    at_half = {
        RoundingCode.NEGATIVE_INF: Const(0),
        RoundingCode.POSITIVE_INF: Const(1),
        RoundingCode.SYMMETRIC_ZERO: negative,
        RoundingCode.SYMMETRIC_INF: ~negative,
        RoundingCode.CONV_EVEN: odd,
        RoundingCode.CONV_ODD: ~odd,
    }
    if rounding in directed:
        return (twice != 0) & directed[rounding]
    return (twice > unit) | ((twice == unit) & at_half[rounding])


def _within(claim: Claim, number: Value, lowest: Value, highest: Value) -> Signal:
    return claim.value(Mux(number < lowest, lowest, Mux(number > highest, highest, number)), "within")


@PROPERTIES.of(
    "srs_lane",
    "srs_lane_{width}_{rounding.name}",
    "{width} bits by any power of two, rounded as {rounding.name} says, in every size and saturation; overflow",
    None,
    "width, rounding, sabotage",
    [(width, *each) for width in SRS_MODES for each in _INVERTED],
)
def srs(claim: Claim, width: int, rounding: RoundingCode) -> None:
    dut = claim.instantiate("dut", SrsLane(width))
    control = dut.control
    claim.assume(control.rounding == rounding, control.shift >= SRS_SHIFTS.start)
    claim.assume(Cat(control.saturation == each for each in Saturation).any())
    if width == min(SRS_MODES):
        claim.assume(~control.acc64)
    # Exact for the largest left shift, with enough sign bits for every right shift.
    fine = claim.value(dut.i << LEFT, "fine", signed(width + LEFT + SRS_SHIFTS.stop))
    floor, twice, unit = split(claim, fine, claim.value(control.shift + LEFT, "places", 7), "spec")
    up = _goes_up(rounding, dut.i[-1], floor[0], twice, unit)
    number = claim.value(floor.as_signed() + up, "number")
    sizes = [1 << bits - 1 for acc in sorted(SRS_MODES) for bits in SRS_MODES[acc]]
    half = claim.value(_chosen(sizes, Cat(control.wide, control.acc64)), "half")
    symmetric = control.saturation == Saturation.SYMMETRIC
    lowest = claim.value(Mux(control.is_signed, symmetric - half, 0), "lowest")
    highest = claim.value(Mux(control.is_signed, half, half << 1) - 1, "highest")
    within = _within(claim, number, lowest, highest)
    result = Mux(control.saturation == Saturation.NONE, number, within)
    claim.ensure(dut.o == (result & ((half << 1) - 1)), dut.overflow == (within != number))


def _chosen(values: list[int], index: Value) -> Value:
    *others, last = values
    chosen = Const(last)
    for k, value in enumerate(others):
        chosen = Mux(index == k, value, chosen)
    return chosen


@PROPERTIES.of(
    "ups_lane",
    "ups_lane_{width}",
    "{width} bits: the number times any power of two, in every saturation; overflow",
    ("symmetric, -top,", "symmetric, top,"),
    "width",
    SRS_MODES,
)
def ups(claim: Claim, width: int) -> None:
    # A limit is a multiple of 2**shift.
    dut = claim.instantiate("dut", UpsLane(width))
    claim.assume(Cat(dut.saturation == each for each in Saturation).any())
    top = Const((1 << width - 1) - 1, width)
    highest = claim.value(top >> dut.shift, "highest", signed(width))
    lowest = Mux(dut.saturation == Saturation.SYMMETRIC, -highest, Const(-1 << width - 1, signed(width)) >> dut.shift)
    within = _within(claim, dut.i, claim.value(lowest, "lowest"), highest)
    number = Mux(dut.saturation == Saturation.NONE, dut.i, within)
    claim.ensure(dut.o == claim.value(number << dut.shift, "wide")[:width])
    exact = claim.value(dut.i << dut.shift, "exact")
    claim.ensure(dut.overflow == (dut.o.as_signed() != exact))
