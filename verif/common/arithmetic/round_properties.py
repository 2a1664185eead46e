"""Normalisers and rounders equal one rounding of the integer that enters."""

from amaranth import Cat, Const, Mux, signed

from bitpath.golden.formats.catalogue import BF16, E4M3FN, E5M2, FP16, FP32, FloatFormat, Rounding
from bitpath.rtl.common.arithmetic.decode import moving_sum, normal_sum, raw_sum
from bitpath.rtl.common.arithmetic.normalize import Normalize, NormalizeShift
from bitpath.rtl.common.arithmetic.round import Round, RoundSigned
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Properties, Sabotage
from bitpath.verif.formal.specification import float_code, leading_place

PROPERTIES = Properties("common/arithmetic")
_STICKY = ("value[:discarded].any()", "value[: discarded - 1].any()")
_WEIGHT = ("(self.in_width - 1) - Cat(zeros)", "self.in_width - Cat(zeros)")
_ODD = ("odd=kept[0]", "odd=kept[1]")
_ZERO = ("fmt.emin - i.exponent", "fmt.emin + 1 - i.exponent")


@PROPERTIES.of(
    "normalize",
    "normalize_{width}_to_{precision}",
    "{width} bits to their {precision} leading ones, guard and sticky",
    None,
    "width, precision, sabotage",
    ((9, 4, _STICKY), (5, 8, _WEIGHT), (28, 24, _STICKY), (48, 24, _STICKY), (78, 24, _STICKY)),
)
def normalize(claim: Claim, width: int, precision: int) -> None:
    dut = claim.instantiate("dut", Normalize(raw_sum(width, 10), precision))
    place = leading_place(claim, dut.i.magnitude, "place")
    wide = claim.value(dut.i.magnitude << precision + 1, "wide")
    moved = claim.value(wide >> place, "moved", precision + 2)
    lost = (wide & ((Const(1) << place) - 1)) != 0
    zero = dut.i.magnitude == 0
    claim.ensure(
        dut.o.zero == zero,
        dut.o.sign == dut.i.sign,
        zero | (dut.o.significand == moved >> 2),
        zero | (dut.o.guard == moved[1]),
        zero | (dut.o.sticky == (moved[0] | lost)),
        zero | (dut.o.exponent == dut.i.exponent + place),
    )


@PROPERTIES.of(
    "round",
    "round_{fmt.name}_in_{container.name}_{rounding.value}{kind}",
    "{fmt.name} in {container.name}'s code, {rounding.name}; {beyond} beyond; subnormals {fate}",
    None,
    "fmt, container, rounding, subnormals, infinity, kind, beyond, fate, sabotage",
    (
        (E4M3FN, E4M3FN, Rounding.RNE, True, False, "", "largest number", "kept", _ODD),
        (E5M2, E5M2, Rounding.RNE, True, False, "", "largest number", "kept", _ODD),
        (FP16, FP16, Rounding.RNE, True, True, "", "infinity", "kept", _ODD),
        (BF16, FP32, Rounding.RTZ, False, False, "_flushing", "largest number", "flushed", _ZERO),
        (BF16, FP32, Rounding.RNE, True, True, "", "infinity", "kept", _ODD),
        (FP32, FP32, Rounding.RNE, True, True, "", "infinity", "kept", _ODD),
        (FP32, FP32, Rounding.RTZ, True, True, "", "infinity", "kept", _ZERO),
    ),
)
def round_code(
    claim: Claim, fmt: FloatFormat, rounding: Rounding, subnormals: bool, infinity: bool, container: FloatFormat
) -> None:
    options = {"rounding": rounding, "subnormals": subnormals, "overflow_to_infinity": infinity, "container": container}
    dut = claim.instantiate("dut", Round(normal_sum(fmt.precision, 10), fmt, **options))
    i = dut.i
    claim.assume(i.zero == ~i.significand[-1])
    below = claim.value(i.exponent - (fmt.precision + 1), "weight")
    magnitude = Mux(i.zero, 0, Cat(i.sticky, i.guard, i.significand))
    # The sticky bit means a nonzero remainder below the guard bit, so the specification appends it as the lowest bit.
    code = float_code(claim, claim.value(magnitude, "magnitude"), below, fmt, "spec", tie=rounding)
    top = fmt.infinity_code if infinity else fmt.max_code
    flushed = Mux((code >> fmt.fraction_bits) == 0, 0, code) if not subnormals else code
    finite = claim.value(Mux(code > fmt.max_code, top, flushed), "finite")
    unused = container.fraction_bits - fmt.fraction_bits
    infinite = (fmt.infinity_code or fmt.max_code) << unused
    sign = Mux(i.zero | dut.special.inf, dut.special.sign, i.sign)
    number = Cat(Mux(dut.special.inf, infinite, finite << unused)[: container.width - 1], sign)
    claim.ensure(dut.o == Mux(dut.special.nan, container.nan_code, number))


@PROPERTIES.of(
    "round_signed",
    "normalize_and_round_{width}_{fmt.name}_{rounding.value}",
    "a {width}-bit two's complement sum through normalize_shift and round_signed to {fmt.name}, {rounding.name}",
    Sabotage("common/arithmetic/normalize.py", "free |= allowed[level] & ~needed", "free |= allowed[level]"),
    "width, low, fmt, rounding",
    (
        (14, 2, BF16, Rounding.RNE),
        (14, 2, BF16, Rounding.RTZ),
        (40, 4, FP32, Rounding.RNE),
        (118, 4, FP32, Rounding.RNE),
    ),
)
def normalize_and_round(claim: Claim, width: int, low: int, fmt: FloatFormat, rounding: Rounding) -> None:
    total = moving_sum(width, 10, (width - 1).bit_length())
    coarse = claim.instantiate("coarse", NormalizeShift(total, low, fmt.precision, inverted=False))
    fine = claim.instantiate("fine", NormalizeShift(coarse.o.shape(), 0, fmt.precision, inverted=True), i=coarse.o)
    options = {"rounding": rounding, "subnormals": True, "overflow_to_infinity": True}
    dut = claim.instantiate(
        "dut", RoundSigned(fine.o.shape(), fmt, **options), i=fine.o, special=0, negate=0, alone=0, number=0
    )
    i = coarse.i
    allowed = claim.value(i.exponent - 1, "allowed", len(i.exponent))
    levels = len(i.allowed)
    claim.assume(i.exponent >= 1, i.exponent < 512, i.sticky == 0)
    claim.assume(i.allowed == allowed[:levels], i.free == (allowed[levels:] != 0))
    value = claim.value(Cat(i.digits, i.sign).as_signed(), "value")
    magnitude = claim.value(Mux(i.sign, -value, value), "magnitude", width + 1)
    weight = claim.value(i.exponent - (width - 1 + fmt.bias), "weight", signed(12))
    code = float_code(claim, magnitude, weight, fmt, "spec", tie=rounding)
    finite = Mux(code > fmt.max_code, fmt.infinity_code, code) << FP32.fraction_bits - fmt.fraction_bits
    claim.ensure(dut.o == Cat(claim.value(finite, "finite", FP32.width - 1), i.sign))
