"""Statements that hold of units of several rooms: a pipeline equals its combinational unit, an offer stays until it is taken, a
request gets one answer; and the records of these properties."""

from collections.abc import Callable
from functools import partial
from typing import Any

from amaranth import Const, Value
from amaranth.lib import wiring

from bitpath.rtl.common.config import PipelineConfig
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Property, Sabotage
from bitpath.verif.formal.specification import stays

EARLY = Sabotage(
    "common/pipeline/pipeline_registers.py",
    "return list(held.values())",
    "return [*list(values.values())[:1], *list(held.values())[1:]]",
)
"""One value of each pipeline stage bypasses its register."""
MOVES = Sabotage("common/pipeline/pipeline_registers.py", "with self._m.If(self.advance):", "with self._m.If(1):")
"""Pipeline registers load in stalled cycles too."""
MULTIPLIES_WRONG = Sabotage(
    "common/arithmetic/multiply.py", "a.significand * b.significand", "a.significand * (b.significand | 2)"
)
"""Bit 1 of a product's second factor is set."""
STAGES = (1, 2, 3, 4)


def earlier(claim: Claim, value: Value, cycles: int, name: str) -> Value:
    """Return the value of an input a number of cycles ago."""
    for cycle in range(cycles):
        value = claim.register(value, f"{name}_{cycle}")
    return value


def stream_pipeline(claim: Claim, make: Callable[[], wiring.Component], latency: int) -> None:
    """From any state, without stalls or gaps, the output equals the combinational unit's for the input ``latency`` cycles ago.

    There is one unless that input has a fault.
    """
    dut = claim.instantiate("dut", make(), i__valid=1, o__ready=1)
    request = earlier(claim, Value.cast(dut.i.p), latency, "request")
    flat = claim.instantiate("flat", make(), wires=True, i__valid=1, o__ready=1, i__payload=request)
    legal = Value.cast(flat.fault) == 0 if hasattr(flat, "fault") else Const(1)
    claim.ensure(dut.o.valid == legal, dut.i.ready, Value.cast(dut.o.p) == Value.cast(flat.o.p))


def offer_stays(claim: Claim, make: Callable[[], wiring.Component], whole: bool) -> None:
    """An offer stays from any state. With ``whole``, the unit stalls exactly while its result waits."""
    dut = claim.instantiate("dut", make())
    stays(claim, dut.o)
    if whole:
        claim.ensure(dut.i.ready == (dut.o.ready | ~dut.o.valid))


def stands_still(claim: Claim, make: Callable[[], wiring.Component], **quiet: int) -> None:
    """Registers hold while the result waits, from any state. ``quiet`` fixes inputs that change registers of their own."""
    dut = claim.instantiate("dut", make(), **quiet)
    waited = claim.register(dut.o.valid & ~dut.o.ready, "waited")
    for place, held in enumerate(claim.registers("dut")):
        claim.ensure(~waited | (held == claim.register(held, f"held_{place}")))


def answers(claim: Claim, make: Callable[[], wiring.Component], asks: str, gives: str) -> None:
    """From any state, an answer is valid exactly one cycle after its request and stays until it is taken.

    The unit accepts no request while an answer waits. "data__1" is stream 1 of an array.
    """
    dut = claim.instantiate("dut", make())
    request, answer = (_stream(dut, name) for name in (asks, gives))
    arrives, waits = request.valid & request.ready, answer.valid & ~answer.ready
    if hasattr(request.p, "write"):  # of PSUM, which stores too
        arrives &= ~request.p.write
    stays(claim, answer)
    claim.ensure(answer.valid == claim.register(arrives | waits, "expected"), ~waits | ~arrives)


def staged(cls: type, config: Callable, stages: int) -> wiring.Component:
    """A unit with a number of pipeline stages."""
    return cls(config(pipeline=PipelineConfig(stages=stages)))


def says_stages(stages: int) -> str:
    """Description of a pipeline's property."""
    return f"{stages} pipeline stage{'s' * (stages > 1)}, filled and unstalled: the combinational unit's result"


def stage_properties(
    unit: str, cls: type, config: Callable, state: Callable = stream_pipeline, suffix: str = ""
) -> list[Property]:
    """A unit with 1 to 4 pipeline stages equals the combinational unit."""
    return [
        pipeline_property(unit, partial(staged, cls, config, stages), stages, f"{suffix}_{stages}_stages", state)
        for stages in STAGES
    ]


def pipeline_property(
    unit: str, make: Callable, latency: int, suffix: str = "_pipeline", state: Callable = stream_pipeline
) -> Property:
    """A unit of fixed latency equals the combinational unit."""
    statement = partial(state, make=make, latency=latency)
    return Property(f"{_name(unit)}{suffix}", unit, says_stages(latency), statement, EARLY, depth=latency)


def offer_property(
    unit: str, make: Callable[[], wiring.Component], sabotage: Sabotage = MOVES, *, name: str = "", whole: bool = True
) -> Property:
    """A result stays until it is taken; :func:`offer_stays` explains ``whole``."""
    return Property(
        f"{name or _name(unit)}_offer_stays",
        unit,
        "a result is offered unchanged until it is taken" + ("; the unit is ready unless one waits" if whole else ""),
        partial(offer_stays, make=make, whole=whole),
        sabotage,
        depth=1,
    )


def stream_properties(unit: str, make: Callable, name: str = "", **quiet: int) -> list[Property]:
    """A result stays until it is taken, and no register changes while it waits; :func:`stands_still` explains ``quiet``."""
    still = Property(
        f"{name or _name(unit)}_stands_still",
        unit,
        "no register changes in a cycle in which the result waits"
        + "".join(f", with {port} at {value}" for port, value in quiet.items()),
        partial(stands_still, make=make, **quiet),
        MOVES,
        depth=1,
    )
    return [offer_property(unit, make, name=name), still]


def staged_stream_properties(unit: str, cls: type, config: Callable) -> list[Property]:
    """The stream contract of a unit with 1 to 4 pipeline stages."""
    return [
        each
        for stages in STAGES
        for each in stream_properties(unit, partial(staged, cls, config, stages), f"{_name(unit)}_{stages}")
    ]


def answer_property(
    unit: str, make: Callable, asks: str, gives: str, sabotage: Sabotage, *, name: str = ""
) -> Property:
    """A request on stream ``asks`` is answered on stream ``gives`` one cycle later."""
    return Property(
        f"{name or _name(unit)}_answers",
        unit,
        "an answer is there the cycle after its request, and stays until taken; no request is taken while one waits",
        partial(answers, make=make, asks=asks, gives=gives),
        sabotage,
        depth=1,
    )


def _stream(dut: wiring.Component, name: str) -> Any:
    port, _, number = name.partition("__")
    return getattr(dut, port)[int(number)] if number else getattr(dut, port)


def _name(unit: str) -> str:
    return unit.partition(".")[2]
