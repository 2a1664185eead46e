"""The order of two FP32 numbers is that of their values; pipelines and streams of the lanes."""

from functools import partial

from amaranth import Mux, signed

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.trainium3.dma.dma_cast import log_bytes
from bitpath.rtl.trainium3.lanes.activation2_lane import Activation2Config, Activation2Lane
from bitpath.rtl.trainium3.lanes.copy_lanes import WORD_BYTES, CopyConfig, CopyLanes, CopyWidth
from bitpath.rtl.trainium3.lanes.engine_lane import (
    ONE,
    WORD_BITS,
    BitOperator,
    EngineLane,
    EngineLaneConfig,
    Fp32Operator,
    Fp32Order,
    Operator,
)
from bitpath.rtl.trainium3.lanes.rand2_lane import Rand2Config, Rand2Lane
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import offer_property, pipeline_property, staged, stream_properties
from bitpath.verif.formal.property import Properties

ENGINE = partial(EngineLaneConfig, width=1)

PROPERTIES = Properties(
    "trainium3/lanes",
    *stream_properties("trainium3.activation2_lane", partial(Activation2Lane, Activation2Config())),
    *(
        pipeline_property(
            "trainium3.rand2_lane", partial(staged, Rand2Lane, Rand2Config, stages), stages, f"_{stages}_stages"
        )
        for stages in (1, 4)
    ),
    *stream_properties("trainium3.rand2_lane", partial(Rand2Lane, Rand2Config())),
    *(
        pipeline_property(
            "trainium3.engine_lane", partial(staged, EngineLane, ENGINE, stages), stages, f"_{stages}_stages"
        )
        for stages in (1, 2, 3, 4)
    ),
    *stream_properties("trainium3.engine_lane", partial(EngineLane, ENGINE())),
    offer_property("trainium3.copy_lanes", partial(CopyLanes, CopyConfig()), whole=False),
)


@PROPERTIES.of(
    "fp32_order",
    "fp32_order",
    "relations of any two FP32 numbers: below, with -0 below +0, and those of magnitudes",
    ("~code[-1]", "code[-1]"),
)
def order(claim: Claim) -> None:
    """Codes as signed integers, -0 half a unit below +0."""
    dut = claim.instantiate("dut", Fp32Order())
    first, second = (
        claim.value(Mux(code[-1], -(code[:-1] << 1) - 1, code[:-1] << 1), f"doubled_{name}", signed(FP32.width + 1))
        for name, code in (("a", dut.a), ("b", dut.b))
    )
    claim.ensure(
        dut.o.below == (first < second),
        dut.o.smaller == (dut.a[:-1] < dut.b[:-1]),
        dut.o.level == (dut.a[:-1] == dut.b[:-1]),
    )


@PROPERTIES.of(
    "copy_width",
    "copy_width_fits_a_word",
    "the elements of a cycle fit a word of 8 bytes on both sides, and lanes of 16 bits where there are four",
    ("fast = narrow & contiguous", "fast = contiguous"),
)
def fits_a_word(claim: Claim) -> None:
    """In every mode with dtypes that exist."""
    dut = claim.instantiate("dut", CopyWidth())
    for name in ("source", "destination"):
        dtype = dut.mode.pair[name]
        size = claim.value(1 << log_bytes(dtype), f"bytes_{name}")
        claim.ensure(dut.o * size <= WORD_BYTES, (dut.o <= 2) | (size <= 2))


RELATIONS = {
    "EQUAL": lambda x, y: x == y,
    "NOT_EQUAL": lambda x, y: x != y,
    "GREATER": lambda x, y: x > y,
    "GREATER_EQUAL": lambda x, y: x >= y,
    "LESS": lambda x, y: x < y,
    "LESS_EQUAL": lambda x, y: x <= y,
}
BELOW, LEVEL = ("order.below & ~zeros", "order.below"), ("(x == y) | zeros", "x == y")
"""Faults of zeros: -0 below +0, and not equal to it."""


@PROPERTIES.of(
    "fp32_operator",
    "fp32_operator_{name}",
    "{name} of two FP32 numbers is that of their values, and true of NaN for NOT_EQUAL alone",
    None,
    "name, sabotage",
    [(name, BELOW if name in ("LESS", "GREATER_EQUAL") else LEVEL) for name in RELATIONS],
)
def compares(claim: Claim, name: str) -> None:
    """Codes as signed integers, both zeros 0."""
    dut = claim.instantiate("dut", Fp32Operator(), op=Operator[name].value)
    x, y = (
        claim.value(Mux(code[-1], -code[:-1], code[:-1]), f"value_{port}", signed(FP32.width + 1))
        for port, code in (("x", dut.x), ("y", dut.y))
    )
    nan = claim.value((dut.x[:-1] > FP32.infinity_code) | (dut.y[:-1] > FP32.infinity_code), "nan")
    # NaN is the canonical one.
    for code in (dut.x, dut.y):
        claim.assume((code[:-1] <= FP32.infinity_code) | (code == FP32.nan_code))
    truth = claim.value(Mux(nan, name == "NOT_EQUAL", RELATIONS[name](x, y)), "truth")
    claim.ensure(dut.o == Mux(truth, ONE, 0))


@PROPERTIES.of(
    "bit_operator",
    "bit_operator_shifts",
    "a shift by the size or more gives 0; else it moves each bit by the count, and only zeros come in",
    ("Mux(beyond, 0, x << count)", "x << count"),
)
def shifts(claim: Claim) -> None:
    """In any size, for any bit of the result."""
    dut = claim.instantiate("dut", BitOperator())
    place = claim.free("place", range(WORD_BITS))
    size = claim.value(8 << dut.log_bytes, "size")
    left = claim.value(dut.op == Operator.LEFT_SHIFT, "left")
    claim.assume(left | (dut.op == Operator.RIGHT_SHIFT), dut.log_bytes < 3, place < size)
    claim.assume(((dut.x | dut.y) >> size) == 0)
    came = claim.value(Mux(left, place - dut.y, place + dut.y), "came", signed(WORD_BITS + 2))
    inside = claim.value((dut.y < size) & (came >= 0) & (came < size), "inside")
    claim.ensure((dut.o >> place)[0] == (inside & (dut.x >> came[:5])[0]), (dut.o >> size) == 0)
