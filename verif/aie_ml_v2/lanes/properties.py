"""PACK, UNPACK and MX to FP32: one register and its stream, and every element against integer arithmetic."""

from dataclasses import replace
from functools import partial

from amaranth import Cat, Mux, signed

from bitpath.golden.aie_ml_v2.declarations.codes import MX_NAN_EXPONENT, PACK_BITS, Saturation
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.convert.layouts import CODE_BITS
from bitpath.rtl.aie_ml_v2.convert.layouts import MxCode as BlockCode
from bitpath.rtl.aie_ml_v2.lanes.layouts import MxWidenConfig, PackConfig
from bitpath.rtl.aie_ml_v2.lanes.mx_widen import MxToFloat, MxWiden
from bitpath.rtl.aie_ml_v2.lanes.pack_unpack import PackElement, PackUnpack
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import pipeline_property, stream_properties
from bitpath.verif.formal.property import Properties
from bitpath.verif.formal.specification import float_code

UNITS = {
    "pack_unpack": ("aie_ml_v2.pack_unpack", partial(PackUnpack, PackConfig(lanes=1))),
    "mx_widen": ("aie_ml_v2.mx_widen", partial(MxWiden, MxWidenConfig())),
}

PROPERTIES = Properties(
    "aie_ml_v2/lanes",
    *(replace(pipeline_property(*unit, 1), name=f"{name}_pipeline") for name, unit in UNITS.items()),
    *(each for name, unit in UNITS.items() for each in stream_properties(*unit, name)),
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
