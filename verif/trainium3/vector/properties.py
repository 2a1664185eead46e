"""Pipelines and streams of the vector units; random numbers stay until they are taken."""

from collections.abc import Callable
from functools import partial

from amaranth import Value
from amaranth.lib import wiring

from bitpath.rtl.trainium3.vector.config import ExponentialConfig, QuantizeMxConfig, XorwowConfig
from bitpath.rtl.trainium3.vector.exponential import Exponential
from bitpath.rtl.trainium3.vector.quantize_mx import QuantizeMx
from bitpath.rtl.trainium3.vector.xorwow import Xorwow
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import (
    EARLY,
    STAGES,
    earlier,
    offer_property,
    says_stages,
    stage_properties,
    staged,
    staged_stream_properties,
    still_property,
)
from bitpath.verif.formal.property import Property, Sabotage


def summed_pipeline(claim: Claim, make: Callable[[], wiring.Component], latency: int) -> None:
    """From any state, the output equals the combinational unit's for the request ``latency`` cycles ago and the sum before it."""
    dut = claim.instantiate("dut", make(), i__valid=1, o__ready=1)
    request = earlier(claim, Value.cast(dut.i.p), latency, "request")
    flat = claim.instantiate(
        "flat", make(), wires=True, beside="accumulator", i__valid=1, o__ready=1, i__payload=request
    )
    claim.assume(claim.inside("flat", "accumulator") == claim.register(dut.o.p.sum, "sum_before"))
    claim.ensure(dut.o.valid, dut.i.ready, Value.cast(dut.o.p) == Value.cast(flat.o.p))


def numbers_stay(claim: Claim) -> None:
    """From any state, a lane's numbers stay until they are taken or the lane is loaded."""
    dut = claim.instantiate("dut", Xorwow(XorwowConfig(lanes=2)))
    for lane in range(dut.config.lanes):
        changes = dut.random.ready | (dut.load.valid & (dut.load.p.lane == lane))
        numbers = Value.cast(dut.random.p[lane])
        before = claim.register(numbers, f"before_{lane}")
        claim.ensure(claim.register(changes, f"changes_{lane}") | (numbers == before))


def _exponential(stages: int) -> Property:
    """The register of the running sum follows the stages."""
    config = partial(ExponentialConfig, width=1)
    return Property(
        f"exponential_{stages}_stages",
        "trainium3.exponential",
        f"{says_stages(stages + 1)}, its running sum that of the sum before it",
        partial(summed_pipeline, make=partial(staged, Exponential, config, stages), latency=stages + 1),
        EARLY,
        # A cycle more, for the sum before.
        depth=stages + 2,
    )


_WIDTH_1 = partial(Exponential, ExponentialConfig(width=1))

PROPERTIES = (
    *stage_properties("trainium3.quantize_mx", QuantizeMx, QuantizeMxConfig),
    *staged_stream_properties("trainium3.quantize_mx", QuantizeMx, QuantizeMxConfig),
    *map(_exponential, (0, *STAGES)),
    offer_property("trainium3.exponential", _WIDTH_1),
    still_property("trainium3.exponential", _WIDTH_1),
    Property(
        "xorwow_numbers_stay",
        "trainium3.xorwow",
        "a lane's numbers stay until they are taken, or its states loaded",
        numbers_stay,
        Sabotage("trainium3/vector/xorwow.py", "(self.load.p.lane == index)", "1"),
        depth=1,
    ),
)
