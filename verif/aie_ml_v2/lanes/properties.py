"""Lane-by-lane conversions of AIE-ML v2: one register and its stream, and every operator against integer arithmetic."""

from dataclasses import replace
from functools import partial

from amaranth import Cat, Const, Mux, signed

from bitpath.golden.aie_ml_v2.declarations.codes import MX_NAN_EXPONENT, Saturation
from bitpath.golden.aie_ml_v2.declarations.packing import PACK_BITS
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.convert.layouts import CODE_BITS
from bitpath.rtl.aie_ml_v2.convert.layouts import MxCode as BlockCode
from bitpath.rtl.aie_ml_v2.lanes.config import FixLanesConfig, MxWidenConfig, PackConfig
from bitpath.rtl.aie_ml_v2.lanes.fix_lanes import fix_float, float_fix
from bitpath.rtl.aie_ml_v2.lanes.fix_to_float import FixToFloat
from bitpath.rtl.aie_ml_v2.lanes.float_to_fix import LIMIT, FloatToFix
from bitpath.rtl.aie_ml_v2.lanes.mx_to_float import MxToFloat
from bitpath.rtl.aie_ml_v2.lanes.mx_widen import MxWiden
from bitpath.rtl.aie_ml_v2.lanes.pack_element import PackElement
from bitpath.rtl.aie_ml_v2.lanes.pack_unpack import PackUnpack
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import pipeline_property, stream_properties
from bitpath.verif.formal.property import Properties
from bitpath.verif.formal.specification import fields, float_code, leading_place, split

UNITS = {
    "fix_float": ("aie_ml_v2.fix_lanes", partial(fix_float, FixLanesConfig())),
    "float_fix": ("aie_ml_v2.fix_lanes", partial(float_fix, FixLanesConfig())),
    "pack_unpack": ("aie_ml_v2.pack_unpack", partial(PackUnpack, PackConfig(lanes=1))),
    "mx_widen": ("aie_ml_v2.mx_widen", partial(MxWiden, MxWidenConfig())),
}
LEFT = 32
"""Places that a significand moves up before it is shifted down, so that no shift loses a bit above the point."""

PROPERTIES = Properties(
    "aie_ml_v2/lanes",
    *(replace(pipeline_property(*unit, 1), name=f"{name}_pipeline") for name, unit in UNITS.items()),
    *(each for name, unit in UNITS.items() for each in stream_properties(*unit, name)),
)


@PROPERTIES.of(
    "fix_to_float",
    "fix_to_float",
    "the integer times any power of two, rounded once to even; zero and inexact",
    ("number.exponent.eq(-self.shift)", "number.exponent.eq(self.shift)"),
)
def to_float(claim: Claim) -> None:
    dut = claim.instantiate("dut", FixToFloat())
    magnitude = claim.value(Mux(dut.i < 0, -dut.i, dut.i), "magnitude", len(dut.i))
    code = float_code(claim, magnitude, claim.value(-dut.shift, "weight", signed(7)), FP32, "spec")
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
    up = claim.value(biased - FP32.bias - FP32.fraction_bits + dut.shift, "up", signed(10))
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


@PROPERTIES.of(
    "pack_element",
    "pack_element_{bits}",
    "{bits} bits: the low ones, or the nearest number, in every saturation, signed and unsigned",
    ("self.i[bits:].any()", "self.i[bits + 1 :].any()"),
    "bits",
    PACK_BITS,
)
def packed(claim: Claim, bits: int) -> None:
    dut = claim.instantiate("dut", PackElement(bits))
    claim.assume(Cat(dut.saturation == each for each in Saturation).any())
    number = claim.value(Mux(dut.is_signed, dut.i.as_signed(), dut.i), "number")
    half = 1 << bits - 1
    lowest = claim.value(Mux(dut.is_signed, (dut.saturation == Saturation.SYMMETRIC) - half, 0), "lowest")
    highest = claim.value(Mux(dut.is_signed, half, 2 * half) - 1, "highest")
    within = claim.value(Mux(number < lowest, lowest, Mux(number > highest, highest, number)), "within")
    expected = claim.value(Mux(dut.saturation == Saturation.NONE, number, within), "expected", bits)
    claim.ensure(dut.o == expected)


@PROPERTIES.of(
    "mx_to_float",
    "mx_to_float_{name}",
    "{name}: the code's number, exactly; zeros below the normal numbers, infinity beyond the largest, NaN blocks",
    ("biased <= 0", "biased < 0"),
    "block, name",
    [(block, block.fmt.name.upper()) for block in BlockCode],
)
def element(claim: Claim, block: BlockCode) -> None:
    dut = claim.instantiate("dut", MxToFloat(True))
    claim.assume(dut.block_format == block, dut.i >= block.fmt.min_code, dut.i <= block.fmt.max_code)
    magnitude = claim.value(Mux(dut.i < 0, -dut.i, dut.i), "magnitude", CODE_BITS)
    lower = FP32.bias + block.fmt.magnitude_bits - 1
    weight = claim.value(dut.exponent - dut.shifted - lower, "weight", signed(10))
    code = float_code(claim, magnitude, weight, FP32, "spec")
    normal = Mux(code > FP32.max_code, FP32.infinity_code, code)
    number = claim.value(Mux(code < 1 << FP32.fraction_bits, 0, normal), "number", FP32.width - 1)
    nan = dut.exponent == MX_NAN_EXPONENT
    claim.ensure(dut.o == Mux(nan, FP32.nan_code, Cat(number, dut.i < 0)))
