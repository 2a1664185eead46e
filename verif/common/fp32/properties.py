"""FP32 operators equal integer arithmetic rounded once; the digit recurrences keep their latency and their handshake."""

from collections.abc import Callable
from functools import partial

from amaranth import Cat, Const, Mux, Signal, signed
from amaranth.lib import wiring

from bitpath.golden.formats.catalogue import BF16, E4M3, E4M3FN, E5M2, FP16, FP32, FloatFormat, Rounding
from bitpath.rtl.common.fp32.fp32_arithmetic import Bf16Clamp, Fp32Cast, Fp32Multiply, Fp32ToBf16
from bitpath.rtl.common.fp32.fp32_functions import (
    DigitRecurrence,
    Fp32Lanes,
    Fp32LanesConfig,
    Reciprocal,
    ReciprocalSquareRoot,
    SquareRoot,
)
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import MULTIPLIES_WRONG, offer_property
from bitpath.verif.formal.property import Engine, Properties, Sabotage
from bitpath.verif.formal.specification import fields, float_code, rounded

FUNCTIONS = (
    ("reciprocal", Reciprocal),
    ("square_root", SquareRoot),
    ("reciprocal_square_root", ReciprocalSquareRoot),
)
_TAKEN = Sabotage(
    "common/fp32/fp32_functions.py", "with m.Elif(self.o.valid & self.o.ready):", "with m.Elif(self.o.valid):"
)

PROPERTIES = Properties(
    "common/fp32",
    *(
        offer_property(f"common.{name}", partial(Fp32Lanes, function, Fp32LanesConfig(lanes=1)), _TAKEN, whole=False)
        for name, function in FUNCTIONS
    ),
)

INFINITY, NAN = FP32.infinity_code, FP32.nan_code
DROPPED_BITS = FP32.fraction_bits - BF16.fraction_bits


@PROPERTIES.of(
    "fp32_multiply",
    "fp32_multiply",
    "the integers' product rounded once to even, subnormals, infinities, NaN",
    MULTIPLIES_WRONG,
)
def multiply(claim: Claim) -> None:
    dut = claim.instantiate("dut", Fp32Multiply())
    a, b = dut.a[:-1], dut.b[:-1]
    (x, e), (y, f) = fields(claim, dut.a, FP32, "x"), fields(claim, dut.b, FP32, "y")
    sign = dut.a[-1] ^ dut.b[-1]
    weight = claim.value(e + f - 2 * (FP32.bias + FP32.fraction_bits), "weight", signed(12))
    code = float_code(claim, claim.value(x * y, "product"), weight, FP32, "spec")
    nan = (a > INFINITY) | (b > INFINITY) | ((a == INFINITY) & (b == 0)) | ((b == INFINITY) & (a == 0))
    inf = (a == INFINITY) | (b == INFINITY) | (code > FP32.max_code)
    number = claim.value(Mux(inf, INFINITY, code), "number", 31)
    claim.ensure(dut.o == Mux(nan, NAN, Cat(number, sign)))


@PROPERTIES.of(
    "bf16_clamp",
    "bf16_clamp",
    "the number within the limit, with its sign; NaN as it is",
    ("magnitude > self.limit[BELOW:]", "magnitude > self.limit[BELOW + 1 :]"),
)
def clamp(claim: Claim) -> None:
    dut = claim.instantiate("dut", Bf16Clamp())
    claim.assume(dut.limit <= INFINITY)
    code = claim.value(dut.i << FP32.width - BF16.width, "code", FP32.width)
    # Both as integers in the order of their numbers.
    number = claim.value(Mux(code[-1], -code[:-1], code[:-1]), "number")
    positive = claim.value(Mux(number > dut.limit, dut.limit, number), "positive")
    clamped = claim.value(Mux(positive < -dut.limit, -dut.limit, positive), "clamped")
    got = claim.value(Mux(dut.o[-1], -dut.o[:-1], dut.o[:-1]), "got")
    claim.ensure(Mux(code[:-1] > INFINITY, dut.o == code, (got == clamped) & (dut.o[-1] == code[-1])))


@PROPERTIES.of(
    "fp32_to_bf16",
    "narrow",
    "FP32 to BF16, to nearest even or with random bits, NaN and infinity",
    ("half_below + last_place", "half_below + 1"),
)
def narrow(claim: Claim) -> None:
    dut = claim.instantiate("dut", Fp32ToBf16())
    code = dut.i[:-1]
    finite, nan = code < FP32.infinity_code, code > FP32.infinity_code
    nearest = rounded(claim, code, Const(DROPPED_BITS), Rounding.RNE, "nearest")
    chance = claim.value(code + dut.random, "chance") >> DROPPED_BITS
    kept = Mux(finite, Mux(dut.stochastic, chance, nearest), code >> DROPPED_BITS)
    whole = claim.value(kept << DROPPED_BITS, "whole", FP32.width - 1)
    claim.ensure(dut.o == Mux(nan, FP32.nan_code, Cat(whole, dut.i[-1])))


@PROPERTIES.of(
    "fp32_cast",
    "fp32_cast_{fmt.name}",
    "FP32 to {fmt.name}, rounded once, for every code",
    ("number.significand[: dropped - 1].any()", "number.significand[0]"),
    "fmt",
    (FP16, E5M2, E4M3, E4M3FN),
)
def cast(claim: Claim, fmt: FloatFormat) -> None:
    dut = claim.instantiate("dut", Fp32Cast(fmt))
    fraction, field = dut.i[: FP32.fraction_bits], dut.i[FP32.fraction_bits : -1]
    magnitude = claim.value(Cat(fraction, field != 0), "magnitude")
    weight = claim.value(Mux(field == 0, 1, field) - (FP32.bias + FP32.fraction_bits), "weight", signed(10))
    code = float_code(claim, magnitude, weight, fmt, "spec")
    nan, inf = dut.i[:-1] > FP32.infinity_code, dut.i[:-1] == FP32.infinity_code
    beyond = fmt.max_code if fmt.infinity_code is None else fmt.infinity_code
    finite = Mux(inf | (code > fmt.max_code), beyond, code)
    number = Cat(claim.value(finite, "finite", fmt.width - 1), dut.i[-1])
    claim.ensure(dut.o == Mux(nan | (inf if fmt.infinity_code is None else 0), fmt.nan_code, number))


@PROPERTIES.of(
    "{name}",
    "{name}_latency",
    f"one request at a time, its result {DigitRecurrence.LATENCY} cycles behind it, until it is taken",
    Sabotage(
        "common/fp32/fp32_functions.py",
        "self.i.ready.eq(~busy | (self.o.valid & self.o.ready))",
        "self.i.ready.eq(1)",
    ),
    "name, make",
    FUNCTIONS,
    engine=Engine.INDUCTION,
    depth=3,
)
def recurrence(claim: Claim, make: Callable[[], wiring.Component]) -> None:
    dut = claim.instantiate("dut", make())
    latency = DigitRecurrence.LATENCY
    arrives, leaves = dut.i.valid & dut.i.ready, dut.o.valid & dut.o.ready
    under_way, since = Signal(2, name="under_way"), Signal(range(latency + 1), name="since")
    claim.m.d.sync += [
        under_way.eq(under_way + arrives - leaves),
        since.eq(Mux(arrives, 1, since + (since != latency))),
    ]
    claim.ensure(under_way == claim.inside("dut", "busy"))
    claim.ensure((under_way == 0) | ((since != 0) & (claim.inside("dut", "left") == latency - since)))
    claim.ensure(dut.o.valid == ((under_way != 0) & (since == latency)))
