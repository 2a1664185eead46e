"""Pipelines and streams of the vector units; random numbers stay until they are taken."""

from functools import partial

from amaranth import Value

from bitpath.rtl.trainium3.vector.exponential import Exponential, ExponentialConfig
from bitpath.rtl.trainium3.vector.quantize_mx import QuantizeMx, QuantizeMxConfig
from bitpath.rtl.trainium3.vector.xorwow import Xorwow, XorwowConfig
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import (
    EARLY,
    STAGES,
    earlier,
    says_stages,
    stage_properties,
    staged,
    staged_stream_properties,
    stream_properties,
)
from bitpath.verif.formal.property import Properties

PROPERTIES = Properties(
    "trainium3/vector",
    *stage_properties("trainium3.quantize_mx", QuantizeMx, QuantizeMxConfig),
    *staged_stream_properties("trainium3.quantize_mx", QuantizeMx, QuantizeMxConfig),
    *stream_properties("trainium3.exponential", partial(Exponential, ExponentialConfig(width=1))),
)


@PROPERTIES.of(
    "exponential",
    "exponential_{stages}_stages",
    "{result}, its running sum that of the sum before it",
    EARLY,
    "stages, result, depth",
    # The register of the running sum follows the stages; a cycle more, for the sum before.
    [(stages, says_stages(stages + 1), stages + 2) for stages in (0, *STAGES)],
)
def summed_pipeline(claim: Claim, stages: int) -> None:
    """From any state, the output equals the combinational unit's for the request ``latency`` cycles ago and the sum before it.

    Requests have no fault: the sum before a refused one is not its own.
    """
    make, latency = partial(staged, Exponential, partial(ExponentialConfig, width=1), stages), stages + 1
    dut = claim.instantiate("dut", make(), i__valid=1, o__ready=1)
    request = earlier(claim, Value.cast(dut.i.p), latency, "request")
    flat = claim.instantiate(
        "flat", make(), wires=True, beside="accumulator", i__valid=1, o__ready=1, i__payload=request
    )
    claim.assume(claim.inside("flat", "accumulator") == claim.register(dut.o.p.sum, "sum_before"))
    claim.assume(Value.cast(dut.fault) == 0)
    claim.ensure(dut.o.valid, dut.i.ready, Value.cast(dut.o.p) == Value.cast(flat.o.p))


@PROPERTIES.of(
    "xorwow",
    "xorwow_numbers_stay",
    "a lane's numbers stay until they are taken, or its states loaded",
    ("(self.load.p.lane == index)", "1"),
    depth=1,
)
def numbers_stay(claim: Claim) -> None:
    """From any state."""
    dut = claim.instantiate("dut", Xorwow(XorwowConfig(lanes=2)))
    for lane in range(dut.config.lanes):
        changes = dut.random.ready | (dut.load.valid & (dut.load.p.lane == lane))
        numbers = Value.cast(dut.random.p[lane])
        before = claim.register(numbers, f"before_{lane}")
        claim.ensure(claim.register(changes, f"changes_{lane}") | (numbers == before))
