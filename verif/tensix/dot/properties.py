"""Dot product of Tensix: the fidelity phases' multiplier, alignment and rounding into Dst, pipeline and stream."""

from amaranth import Cat, Const, Mux

from bitpath.golden.formats.catalogue import BF16, FP16, FP32, Rounding
from bitpath.golden.tensix.declarations.numerics import WORMHOLE
from bitpath.rtl.tensix.dot.dot16 import (
    FLOAT_BITS,
    NARROW_DROPPED,
    Dot16,
    DstAlign,
    DstNormalize,
    DstRound,
    FidelityMultiplier,
    RoundAddend,
)
from bitpath.rtl.tensix.dot.layouts import Dot16Config, StyleCode
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import stage_properties, staged_stream_properties
from bitpath.verif.formal.property import Properties, Sabotage
from bitpath.verif.formal.specification import leading_place, long_multiplication, rounded

PROPERTIES = Properties(
    "tensix/dot",
    *stage_properties("tensix.dot16", Dot16, Dot16Config),
    *staged_stream_properties("tensix.dot16", Dot16, Dot16Config),
)


@PROPERTIES.of(
    "fidelity_multiplier",
    "fidelity_multiplier",
    "the fields of every phase, floats and integers, multiplied by hand",
    ("(self.is_integer & ~low_a, a[5:8])", "(self.is_integer & ~low_a, a[5:9])"),
)
def fidelity(claim: Claim) -> None:
    dut = claim.instantiate("dut", FidelityMultiplier())
    low_a, low_b = dut.phase[0], dut.phase[1]
    claim.assume(~(dut.is_integer & dut.src_b[-1]))
    float_a = Mux(low_a, (dut.src_a >> 1) & 31, dut.src_a >> 6)
    integer_a = Mux(low_a, dut.src_a & 31, (dut.src_a >> 5) & 7)
    a = claim.value(Mux(dut.is_integer, integer_a, float_a), "field_a", 5)
    b = claim.value(Mux(low_b, (dut.src_b & 15) << 3, dut.src_b >> 4), "field_b", 7)
    claim.ensure(dut.o == long_multiplication(a, b))


@PROPERTIES.of(
    "dst_round",
    "dst_round_{name}",
    "a 29-bit sum through dst_normalize and dst_round to {name}, ties away; overflow, zeros; Wormhole's -1 unit",
    Sabotage("tensix/dot/dot16.py", "Cat(self.i.sign.replicate(amount)", "Cat((~self.i.sign).replicate(amount)"),
    "name, dst32, style",
    (("FP32", True, StyleCode.BF16), ("BF16", False, StyleCode.BF16), ("FP16", False, StyleCode.FP16)),
)
def dst_float(claim: Claim, dst32: bool, style: StyleCode) -> None:
    """A sum in units of 2**-23 at an exponent, to the format of Dst, ties away from zero."""
    fmt = FP32 if dst32 else (FP16 if style is StyleCode.FP16 else BF16)
    numerics = WORMHOLE.numerics
    first = claim.instantiate("normalize", DstNormalize(numerics), dst32=int(dst32))
    dut = claim.instantiate("dut", DstRound(numerics), normal=first.o, total=0)
    claim.assume(dut.control.style == style, dut.control.dst32 == int(dst32))
    magnitude = claim.value(first.i.value + first.i.sign, "magnitude", FLOAT_BITS + 1)
    # A sum of 16 products and Dst is below 2**29.
    claim.assume(magnitude >> FLOAT_BITS == 0)
    if fmt is FP16:
        # The largest of a product in style FP16.
        claim.assume(first.exponent <= 2 * FP16.exponent_mask - FP16.bias)
    # Wormhole makes of -1 unit -1.0, four binades up.
    quirk = first.i.sign & (magnitude == 1) & int(dst32)
    place = leading_place(claim, magnitude, "place")
    significand = rounded(claim, claim.value(magnitude << fmt.precision, "wide"), place + 1, Rounding.RNA, "spec")
    field = claim.value(
        first.exponent + Mux(quirk, 4, place - FP32.fraction_bits) + significand[fmt.precision], "field"
    )
    fraction = Mux(significand[fmt.precision], 0, significand[: fmt.fraction_bits])
    if fmt is FP16:
        limit, beyond = (1 << fmt.width - 1) - 1, field > fmt.exponent_mask
    else:
        limit, beyond = fmt.infinity_code, field >= fmt.exponent_mask
    number = claim.value(Mux(beyond, limit, Cat(fraction, field[: fmt.exponent_bits])), "number", fmt.width - 1)
    claim.ensure(dut.o == Mux((magnitude == 0) | (field <= 0), 0, Cat(number, first.i.sign)))


@PROPERTIES.of(
    "dst_round",
    "dst_round_int32",
    "a sum of Dst and products as INT32 in sign and magnitude, saturated",
    ("saturated.eq(is_integer & rounded[INTEGER_BITS])", "saturated.eq(0)"),
)
def dst_integer(claim: Claim) -> None:
    dut = claim.instantiate("dut", DstRound(WORMHOLE.numerics))
    claim.assume(dut.control.style == StyleCode.INT8, dut.control.dst32)
    # A Dst of 31 bits and products below 2**22.
    claim.assume(dut.total < (1 << 31) + (1 << 22))
    sign = dut.normal.sign
    magnitude = claim.value(dut.total + sign, "magnitude")
    top = (1 << 31) - 1
    claim.ensure(dut.o == Cat(claim.value(Mux(magnitude > top, top, magnitude), "number", 31), sign))


@PROPERTIES.of(
    "dst_align",
    "dst_align",
    "BF16 into a 32-bit Dst: the largest exponent of groups and Dst; distances, saturated; what is empty is shifted away",
    ("largest.counts[k].eq(present)", "largest.counts[k].eq(1 if k else 0)"),
)
def dst_shifts(claim: Claim) -> None:
    dut = claim.instantiate("dut", DstAlign(WORMHOLE.numerics))
    claim.assume(dut.control.style == StyleCode.BF16, dut.control.dst32)
    dst = dut.dst[FP32.fraction_bits : FP32.width - 1]
    exponents = [*dut.exponents, dst]
    largest = Const(0, 9)
    for k, exponent in enumerate(exponents):
        largest = claim.value(Mux(exponent > largest, exponent, largest), f"largest_{k}")
    claim.ensure(dut.exponent == largest)
    for k, (exponent, shift) in enumerate(zip(exponents, [*dut.shifts, dut.dst_shift], strict=True)):
        distance = largest - exponent
        # A sum of two addends is never empty.
        empty = (exponent == 0) & ~(dut.control.add if k == 0 else Const(0))
        claim.ensure(shift == Mux(empty | (distance > 31), 31, distance))


@PROPERTIES.of(
    "round_addend",
    "round_addend_{width}_{kind}",
    "{width} bits, {what}: once, or twice for a 16-bit Dst",
    ("(dropped.all() & up & tie_up)", "(dropped.all() & tie_up)"),
    "width, tie, twos_complement, kind, what",
    (
        (24, Rounding.RNA, False, "magnitude", "a magnitude, half-way away"),
        (30, Rounding.RNU, True, "signed", "signed, half-way up"),
    ),
)
def addend(claim: Claim, width: int, tie: Rounding, twos_complement: bool) -> None:
    """Rounded once for a 32-bit Dst; for a 16-bit one rounded again to a multiple of 2**13."""
    dut = claim.instantiate("dut", RoundAddend(width, tie, True, twos_complement))
    number = dut.i.as_signed() if twos_complement else dut.i
    if twos_complement:
        claim.assume(dut.negative == dut.i[-1])
    # To the nearest by adding half a unit and rounding down; half-way it goes up, which of a magnitude is away.
    once = claim.value((number + 2) >> 2, "once")
    half = 1 << NARROW_DROPPED - 1
    twice = claim.value(((once + half) >> NARROW_DROPPED) << NARROW_DROPPED, "twice")
    value = Mux(dut.dst32, once, twice)
    negated = Const(0) if twos_complement else dut.negative
    wanted = claim.value(Mux(negated, -value, value), "wanted", width)
    claim.ensure(claim.value(dut.o + dut.once + (dut.twice << NARROW_DROPPED), "sum", width) == wanted)
