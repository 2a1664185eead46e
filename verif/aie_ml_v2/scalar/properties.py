"""Scalar functions of AIE-ML v2: pipeline and stream, a digit of the recurrence, and the rounding of the digits."""

from functools import partial

from amaranth import Cat, Const, Mux, signed

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.scalar.scalar_functions import (
    DIGITS,
    Digit,
    FunctionRound,
    ScalarFunctions,
    ScalarFunctionsConfig,
    residue_bits,
    total_bits,
)
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import pipeline_property, stream_properties
from bitpath.verif.formal.property import Properties
from bitpath.verif.formal.specification import float_code

UNIT = ("aie_ml_v2.scalar_functions", partial(ScalarFunctions, ScalarFunctionsConfig()))

PROPERTIES = Properties("aie_ml_v2/scalar", pipeline_property(*UNIT, 3), *stream_properties(*UNIT))


@PROPERTIES.of(
    "digit",
    "digit_{place}",
    "digit {place}: the largest that leaves a residue of 0 or more; the residue stays below the next digit's reach",
    ("self.digit & ~self.reciprocal", "self.digit"),
    "place",
    (1, 2, DIGITS // 2, DIGITS),
)
def digit(claim: Claim, place: int) -> None:
    """Each digit keeps the invariant that one more unit of Y would make the residue negative.

    The bounds of residue and total are assumed: they follow from y, which the statement does not know.
    """
    dut = claim.instantiate("dut", Digit(place))
    inverse = dut.reciprocal
    claim.assume(~inverse | (dut.total == 0))
    # One unit of the last digit: in its own grid a root's step does not move.
    before = Mux(inverse, dut.step << place - 1, dut.step)
    claim.assume(dut.residue < (dut.total << 1) + before)
    step = claim.value(Mux(inverse, dut.step << place, dut.step), "step")
    reach = claim.value((dut.total << 2) + step, "reach")
    doubled = claim.value(dut.residue << 2, "doubled")
    taken = claim.value(doubled >= reach, "taken", 1)
    residue = claim.value(Mux(taken, doubled - reach, doubled), "residue", signed(len(doubled) + 2))
    total = claim.value(Mux(inverse, 0, (dut.total << 1) + Mux(taken, dut.step, 0)), "total")
    claim.assume(residue < 1 << residue_bits(place), total < 1 << total_bits(place))
    claim.ensure(
        dut.digit == taken,
        dut.next_residue == residue,
        dut.next_total == total,
        dut.next_residue < (dut.next_total << 1) + step,
    )


@PROPERTIES.of(
    "function_round",
    "function_round",
    "digits and sticky bit rounded once to even: normal numbers, subnormals of inverses, infinity; special values",
    ("with m.If(biased == 0):", "with m.If(biased == 1):"),
)
def function_round(claim: Claim) -> None:
    dut = claim.instantiate("dut", FunctionRound())
    leading = dut.digits[-1]
    plain = claim.value(~(dut.special.nan | dut.special.inf | dut.zero), "plain", 1)
    claim.assume(leading | dut.digits[-2], ~(dut.special.inf & dut.zero))
    # Numbers are at least 2**-128, and below 2 times 2**(exponent + leading - 1).
    claim.assume(~plain | (dut.exponent + leading >= FP32.emin - 1))
    # An inverse that is no power of two lies more than 2**-24 of itself below the next one; roots are far from both ends.
    middle = (dut.exponent + leading > FP32.emin) & (dut.exponent + leading <= FP32.emax)
    claim.assume(middle | ~Mux(leading, dut.digits[2:], dut.digits[1:-1]).all())
    weight = claim.value(dut.exponent - DIGITS, "weight", signed(11))
    code = float_code(claim, dut.digits, weight, FP32, "spec", sticky=dut.sticky)
    sign = Cat(Const(0, FP32.width - 1), dut.special.sign)
    infinity = Cat(Const(FP32.infinity_code, FP32.width - 1), dut.special.sign)
    number = Mux(code > FP32.max_code, infinity, Cat(code[: FP32.width - 1], dut.special.sign))
    special = Mux(dut.special.nan, FP32.nan_code, Mux(dut.special.inf, infinity, sign))
    claim.ensure(
        dut.o == Mux(plain, number, special),
        dut.flags.huge == (plain & (code > FP32.max_code)),
        dut.flags.tiny == (plain & (code < 1 << FP32.fraction_bits)),
    )
