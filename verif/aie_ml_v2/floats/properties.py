"""Conversions of floats lane by lane: pipelines and streams, and the floor against its definition."""

from functools import partial

from amaranth import Cat, Const, Mux, signed

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.rtl.aie_ml_v2.floats.config import FloatLanesConfig
from bitpath.rtl.aie_ml_v2.floats.float_lanes import FloatLanes
from bitpath.rtl.aie_ml_v2.floats.floor_lane import INTEGER_BITS, FloorLane
from bitpath.rtl.aie_ml_v2.floats.operators import FLOAT_FLOOR, FLOAT_NARROW, FLOAT_WIDEN
from bitpath.rtl.aie_ml_v2.floats.widen_lane import WidenLane
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import pipeline_property, stream_properties
from bitpath.verif.formal.property import Properties
from bitpath.verif.formal.specification import leading_place

UNITS = {"float_narrow": FLOAT_NARROW, "float_widen": FLOAT_WIDEN, "float_floor": FLOAT_FLOOR}
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
