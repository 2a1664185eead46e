"""The order of two FP32 numbers is that of their values; pipelines and streams of the lanes."""

from functools import partial

from amaranth import Mux, signed

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.trainium3.dma.dma_cast import log_bytes
from bitpath.rtl.trainium3.lanes.activation2_lane import Activation2Lane
from bitpath.rtl.trainium3.lanes.config import Activation2Config, CopyConfig, Rand2Config
from bitpath.rtl.trainium3.lanes.copy_control import WORD_BYTES
from bitpath.rtl.trainium3.lanes.copy_lanes import CopyLanes
from bitpath.rtl.trainium3.lanes.copy_width import CopyWidth
from bitpath.rtl.trainium3.lanes.fp32_order import Fp32Order
from bitpath.rtl.trainium3.lanes.rand2_lane import Rand2Lane
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import offer_property, pipeline_property, staged, stream_properties
from bitpath.verif.formal.property import Properties

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
