"""The machines' own aligners, normalisers and rounders equal one rounding of the integer that comes in."""

from functools import partial

from amaranth import Cat, Const, Mux, Value

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.declarations.numerics import WORMHOLE
from bitpath.golden.tensix.declarations.numerics import Tie as TensixTie
from bitpath.rtl.aie_ml_v2.mac.compare import ACCUMULATOR_OFFSET
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig
from bitpath.rtl.aie_ml_v2.mac.normalize import NormalizeFp32
from bitpath.rtl.tensix.dot.dst_align import DstAlign
from bitpath.rtl.tensix.dot.dst_normalize import FLOAT_BITS, DstNormalize
from bitpath.rtl.tensix.dot.dst_round import DstRound
from bitpath.rtl.tensix.dot.layouts import StyleCode
from bitpath.rtl.tensix.dot.round_addend import NARROW_DROPPED, RoundAddend
from bitpath.rtl.tensix.pack.l1_round import CANCELLATION_EXPONENT, L1Round
from bitpath.rtl.tensix.unpack.float_word import FIELDS
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Property, Sabotage
from bitpath.verif.formal.specification import Tie, leading_place, rounded


def aie_normalize(claim: Claim) -> None:
    """24 leading bits to even; then too small is zero, and too large infinity."""
    config = MacLaneConfig()
    dut = claim.place("dut", NormalizeFp32(config), special=0)
    # As the terms' plan has it: sums reach neither end.
    claim.assume(dut.total != -(1 << len(dut.total) - 1))
    magnitude = claim.value(Mux(dut.total < 0, -dut.total, dut.total), "magnitude", len(dut.total))
    place = leading_place(claim, magnitude, "place")
    significand = rounded(claim, claim.value(magnitude << 24, "wide"), place + 1, Tie.EVEN, "spec")
    weight = dut.exponent - (ACCUMULATOR_OFFSET + config.numerics.align_fraction_bits)
    field = claim.value(weight + place + significand[FP32.precision], "field")
    fraction = Mux(significand[FP32.precision], 0, significand[: FP32.fraction_bits])
    number = Mux(field >= FP32.exponent_mask, FP32.infinity_code, Cat(fraction, field[: FP32.exponent_bits]))
    sign = dut.total < 0
    kept = sign if config.numerics.flushed_zero_keeps_sign else Const(0)
    code = Mux(field <= 0, Cat(Const(0, 31), kept), Cat(claim.value(number, "number", 31), sign))
    claim.ensure(dut.o == Mux(magnitude == 0, 0, code))


def dst_float(claim: Claim, dst32: bool, style: StyleCode) -> None:
    """A sum in units of 2**-23 at an exponent, to the format of Dst, ties away from zero."""
    fmt = FP32 if dst32 else (FP16 if style is StyleCode.FP16 else BF16)
    numerics = WORMHOLE.numerics
    first = claim.place("normalize", DstNormalize(numerics), dst32=int(dst32))
    dut = claim.place("dut", DstRound(numerics), normal=first.o, total=0)
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
    significand = rounded(claim, claim.value(magnitude << fmt.precision, "wide"), place + 1, Tie.AWAY, "spec")
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


def dst_integer(claim: Claim) -> None:
    """INT32 in sign and magnitude, saturated."""
    dut = claim.place("dut", DstRound(WORMHOLE.numerics))
    claim.assume(dut.control.style == StyleCode.INT8, dut.control.dst32)
    # A Dst of 31 bits and products below 2**22.
    claim.assume(dut.total < (1 << 31) + (1 << 22))
    sign = dut.normal.sign
    magnitude = claim.value(dut.total + sign, "magnitude")
    top = (1 << 31) - 1
    claim.ensure(dut.o == Cat(claim.value(Mux(magnitude > top, top, magnitude), "number", 31), sign))


def dst_shifts(claim: Claim) -> None:
    """The largest exponent of what is there, and distances from it; what is not there is shifted away."""
    dut = claim.place("dut", DstAlign(WORMHOLE.numerics))
    claim.assume(dut.control.style == StyleCode.BF16, dut.control.dst32)
    dst = dut.dst[FP32.fraction_bits : FP32.width - 1]
    exponents = [*dut.exponents, dst]
    largest = Const(0, 9)
    for k, exponent in enumerate(exponents):
        largest = claim.value(Mux(exponent > largest, exponent, largest), f"largest_{k}")
    claim.ensure(dut.exponent == largest)
    for exponent, shift in zip(exponents, [*dut.shifts, dut.dst_shift], strict=True):
        distance = largest - exponent
        claim.ensure(shift == Mux((exponent == 0) | (distance > 31), 31, distance))


def addend(claim: Claim, width: int, tie: TensixTie, twos_complement: bool) -> None:
    """Rounded once for a 32-bit Dst; for a 16-bit one rounded again to a multiple of 2**13."""
    dut = claim.place("dut", RoundAddend(width, tie, True, twos_complement))
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


def l1_sum(claim: Claim, out_format: Format) -> None:
    """A sum at a biased exponent to nearest even; the format's underflow, overflow and zeros."""
    fmt, is_fp16 = FIELDS[out_format], out_format is Format.FP16
    dut = claim.place("dut", L1Round(fp16_underflow_saturates=True))
    total, special = dut.i.total, dut.i.special
    claim.assume(dut.out_format == out_format)
    place = leading_place(claim, total.magnitude, "place")
    wide = claim.value(total.magnitude << fmt.precision, "wide")
    significand = rounded(claim, wide, place + 1, Tie.EVEN, "spec")
    field = claim.value(total.exponent + place + significand[fmt.precision], "field")
    unused = FP32.fraction_bits - fmt.fraction_bits
    fraction = Mux(significand[fmt.precision], 0, significand[: fmt.fraction_bits])
    number = claim.value(Cat(Const(0, unused), fraction, field[: FP32.exponent_bits]), "number", FP32.width - 1)
    if is_fp16:
        largest, beyond = FP16.exponent_mask << FP32.fraction_bits | FP32.fraction_mask, field > FP16.exponent_mask
        beyond |= field < 0
        cancelled = dut.i.top[: FP16.exponent_bits] >= CANCELLATION_EXPONENT
    else:
        largest, beyond, cancelled = FP32.infinity_code, field >= FP32.exponent_mask, Const(0)
    finite = Cat(claim.value(Mux(beyond, largest, Mux(field <= 0, 0, number)), "finite", FP32.width - 1), total.sign)
    zero = Mux(cancelled, largest, Cat(Const(0, FP32.width - 1), special.sign))
    value = Mux(total.magnitude == 0, zero, finite)
    infinite = Cat(Const(FP32.infinity_code, FP32.width - 1), special.sign)
    wanted = claim.value(Mux(special.nan, FP32.nan_code, Mux(special.inf, infinite, value)), "wanted", FP32.width)
    # Whoever writes the format cuts off a longer fraction.
    claim.ensure(Value.cast(dut.o)[unused:] == wanted[unused:])


PROPERTIES = (
    Property(
        "aie_normalize",
        "aie_ml_v2.normalize",
        "the lane's sum at its real width: 24 leading bits to even, then flushed or infinity; nothing special",
        aie_normalize,
        Sabotage("aie_ml_v2/mac/normalize.py", "field.eq(normal.exponent + rounded[-1])", "field.eq(normal.exponent)"),
    ),
    *(
        Property(
            f"dst_round_{name}",
            "tensix.dst_round",
            f"a 29-bit sum through dst_normalize and dst_round to {name.upper()}, ties away; overflow, zeros; Wormhole's -1 unit",
            partial(dst_float, dst32=dst32, style=style),
            Sabotage(
                "tensix/dot/dst_normalize.py",
                "Cat(self.i.sign.replicate(amount)",
                "Cat((~self.i.sign).replicate(amount)",
            ),
        )
        for name, dst32, style in (
            ("fp32", True, StyleCode.BF16),
            ("bf16", False, StyleCode.BF16),
            ("fp16", False, StyleCode.FP16),
        )
    ),
    Property(
        "dst_round_int32",
        "tensix.dst_round",
        "a sum of Dst and products as INT32 in sign and magnitude, saturated",
        dst_integer,
        Sabotage("tensix/dot/dst_round.py", "saturated.eq(is_integer & rounded[INTEGER_BITS])", "saturated.eq(0)"),
    ),
    Property(
        "dst_align",
        "tensix.dst_align",
        "BF16 into a 32-bit Dst: the largest exponent of groups and Dst; distances, saturated; what is empty is shifted away",
        dst_shifts,
        Sabotage(
            "tensix/dot/dst_align.py", "largest.counts[k].eq(exponent.any())", "largest.counts[k].eq(1 if k else 0)"
        ),
    ),
    *(
        Property(
            f"round_addend_{width}_{'signed' if twos_complement else 'magnitude'}",
            "tensix.round_addend",
            f"{width} bits, {'signed, half-way up' if twos_complement else 'a magnitude, half-way away'}: once, or twice for a 16-bit Dst",
            partial(addend, width=width, tie=tie, twos_complement=twos_complement),
            Sabotage("tensix/dot/round_addend.py", "(dropped.all() & up & tie_up)", "(dropped.all() & tie_up)"),
        )
        for width, tie, twos_complement in ((24, TensixTie.AWAY, False), (30, TensixTie.UP, True))
    ),
    *(
        Property(
            f"l1_round_{out_format.name}".lower(),
            "tensix.l1_round",
            f"accumulation in L1: a sum to {out_format.name}, to even; overflow, underflow, zeros",
            partial(l1_sum, out_format=out_format),
            Sabotage("tensix/pack/l1_round.py", "extended[: dropped + 1].any()", "extended[:dropped].any()"),
        )
        for out_format in (Format.FP32, Format.BF16, Format.FP16)
    ),
)
