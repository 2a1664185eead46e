"""Conversions of floats lane by lane: pipelines and streams, the floor and the conversions of integers against their definitions."""

from functools import partial

from amaranth import Cat, Const, Mux, signed

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.rtl.aie_ml_v2.floats.fix_float import LIMIT, FixToFloat, FloatToFix
from bitpath.rtl.aie_ml_v2.floats.float_lanes import INTEGER_BITS, FloatLanes, FloorLane, WidenLane
from bitpath.rtl.aie_ml_v2.floats.layouts import FloatLanesConfig
from bitpath.rtl.aie_ml_v2.floats.operators import FIX_FLOAT, FLOAT_FIX, FLOAT_FLOOR, FLOAT_NARROW, FLOAT_WIDEN
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import pipeline_property, stream_properties
from bitpath.verif.formal.property import Properties
from bitpath.verif.formal.specification import fields, float_code, leading_place, split

UNITS = {
    "float_narrow": FLOAT_NARROW,
    "float_widen": FLOAT_WIDEN,
    "float_floor": FLOAT_FLOOR,
    "fix_float": FIX_FLOAT,
    "float_fix": FLOAT_FIX,
}
LEFT = 32
"""Places that a significand moves up before it is shifted down, so that no shift loses a bit above the point."""
_MADE = {name: partial(FloatLanes, operator, FloatLanesConfig(lanes=2)) for name, operator in UNITS.items()}

PROPERTIES = Properties(
    "aie_ml_v2/floats",
    *(
        pipeline_property("aie_ml_v2.float_lanes", made, len(UNITS[name].steps), f"_{name}_pipeline")
        for name, made in _MADE.items()
    ),
    *(each for name, made in _MADE.items() for each in stream_properties("aie_ml_v2.float_lanes", made, name)),
)


@PROPERTIES.of(
    "widen_lane",
    "widen_lane_fp16",
    "every FP16 code: the FP32 number of the same value, infinity, or NaN with the same payload",
    ("normal.exponent + (FP32.bias - FP16.bias)", "number.exponent + (FP32.bias - FP16.bias)"),
)
def widens(claim: Claim) -> None:
    """A subnormal number's leading bit becomes the hidden one."""
    dut = claim.instantiate("dut", WidenLane())
    claim.assume(~dut.control.is_bf16)
    fraction, field = dut.i[: FP16.fraction_bits], dut.i[FP16.fraction_bits : -1]
    place = leading_place(claim, fraction, "place")
    below = FP32.fraction_bits - FP16.fraction_bits
    moved = claim.value(fraction << (FP16.fraction_bits - place)[:4], "moved")[: FP16.fraction_bits]
    subnormal = Mux(
        fraction == 0, 0, Cat(Const(0, below), moved, (place + (FP32.bias + FP16.emin - FP16.fraction_bits))[:8])
    )
    exponent = Mux(field.all(), FP32.exponent_mask, field + (FP32.bias - FP16.bias))[: FP32.exponent_bits]
    magnitude = Mux(field == 0, subnormal, Cat(Const(0, below), fraction, exponent))
    claim.ensure(dut.o[:-1] == magnitude, dut.o[-1] == dut.i[-1])


@PROPERTIES.of(
    "floor_lane",
    "floor_lane_{sign}",
    "{sign} BF16 numbers times any power of two: the largest integer that is not above, saturated; flags",
    None,
    "sign, sabotage",
    [
        ("positive", ("distance[-1] | (top & (~sign | rest))", "distance[-1] | (top & ~sign & rest)")),
        ("negative", ("~magnitude + ~sticky", "~magnitude + 1")),
    ],
)
def floors(claim: Claim, sign: str) -> None:
    """The number in units of 2**-8, its exponent clamped where the integer no longer depends on it."""
    dut = claim.instantiate("dut", FloorLane())
    negative = sign == "negative"
    field = dut.i[BF16.fraction_bits : -1]
    claim.assume(dut.i[-1] == int(negative), field != BF16.exponent_mask)
    significand = claim.value(Cat(dut.i[: BF16.fraction_bits], field != 0), "significand")
    place = claim.value(Mux(field == 0, 1, field) + dut.control.shift, "place", signed(11))
    # A higher place is out of range, a lower one leaves the sign.
    lowest, highest = BF16.bias - 1, BF16.bias + INTEGER_BITS
    clamped = claim.value(Mux(place < lowest, lowest, Mux(place > highest, highest, place)), "clamped", signed(11))
    fine = claim.value(significand << claim.value(clamped - lowest, "moved", 6), "fine")
    signed_fine = claim.value(-fine if negative else fine, "signed_fine")
    number = claim.value(signed_fine >> (BF16.fraction_bits + 1), "number")
    top, bottom = (1 << INTEGER_BITS - 1) - 1, -(1 << INTEGER_BITS - 1)
    within = claim.value(Mux(number > top, top, Mux(number < bottom, bottom, number)), "within")
    claim.ensure(
        dut.o == within[:INTEGER_BITS],
        dut.flags.zero == (within == 0),
        dut.flags.tiny == ((within == 0) & (significand != 0)),
        dut.flags.huge == (number != within),
        ~dut.flags.invalid,
    )


@PROPERTIES.of(
    "fix_to_float",
    "fix_to_float",
    "the integer times any power of two, rounded once to even; zero and inexact",
    ("number.exponent.eq(-self.control.shift)", "number.exponent.eq(self.control.shift)"),
)
def to_float(claim: Claim) -> None:
    dut = claim.instantiate("dut", FixToFloat())
    magnitude = claim.value(Mux(dut.i < 0, -dut.i, dut.i), "magnitude", len(dut.i))
    code = float_code(claim, magnitude, claim.value(-dut.control.shift, "weight", signed(7)), FP32, "spec")
    place = leading_place(claim, magnitude, "place")
    dropped = claim.value(Mux(place > FP32.fraction_bits, place - FP32.fraction_bits, 0), "dropped", 4)
    rest = claim.value(magnitude & ((Const(1) << dropped) - 1), "rest", len(magnitude))
    claim.ensure(
        dut.o == Cat(code[: FP32.width - 1], dut.i < 0),
        dut.flags.zero == (dut.i == 0),
        dut.flags.inexact == (rest != 0),
    )


@PROPERTIES.of(
    "float_to_fix",
    "float_to_fix",
    "the number times any power of two, rounded once to even, saturated; NaN, and all flags",
    ("beyond | guard | sticky", "beyond | guard"),
)
def to_fix(claim: Claim) -> None:
    dut = claim.instantiate("dut", FloatToFix())
    significand, biased = fields(claim, dut.i, FP32, "x")
    nan, negative = dut.i[:-1] > FP32.infinity_code, dut.i[-1]
    up = claim.value(biased - FP32.bias - FP32.fraction_bits + dut.control.shift, "up", signed(10))
    fine = claim.value(significand << LEFT, "fine")
    down = claim.value(Mux(up > 9, 0, Mux(up < -31, 63, LEFT - up)), "down", 6)
    floor, twice, unit = split(claim, fine, down, "spec")
    number = claim.value(floor + ((twice > unit) | ((twice == unit) & floor[0])), "number")
    beyond = claim.value((up > 8) | (number > LIMIT + negative), "beyond", 1)
    within = Mux(beyond, Mux(negative, -LIMIT - 1, LIMIT), Mux(negative, -number, number))
    result = claim.value(Mux(nan, LIMIT, within), "result", signed(32))
    claim.ensure(
        dut.o == result,
        dut.flags.zero == (result == 0),
        dut.flags.invalid == nan,
        dut.flags.huge == (beyond & ~nan),
        dut.flags.inexact == (nan | beyond | (twice != 0)),
    )
