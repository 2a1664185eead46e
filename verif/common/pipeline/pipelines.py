"""A pipelined unit, filled and unstalled, gives what the same unit gives with its register ranks as wires."""

from collections.abc import Callable
from functools import partial
from unittest.mock import patch

from amaranth import Signal, Value
from amaranth.lib import wiring

from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX_ALIGNED
from bitpath.rtl.aie_ml_v2.convert.config import IntegerLanesConfig, MxConvertConfig
from bitpath.rtl.aie_ml_v2.convert.mx_convert import MxConvert
from bitpath.rtl.aie_ml_v2.convert.srs import Srs
from bitpath.rtl.aie_ml_v2.convert.ups import Ups
from bitpath.rtl.aie_ml_v2.mac import mac_lane
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig
from bitpath.rtl.aie_ml_v2.mac.mac_mode import FLOAT_MODES, MacMode
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.tensix.dot.config import Dot16Config
from bitpath.rtl.tensix.dot.dot16 import Dot16
from bitpath.rtl.tensix.pack.packer import Packer
from bitpath.rtl.tensix.unpack.config import ConversionConfig
from bitpath.rtl.trainium3.dot.config import DotConfig, MultiplyAddConfig
from bitpath.rtl.trainium3.dot.multiply_add import MultiplyAdd
from bitpath.rtl.trainium3.dot.quad_mx_dot import QuadMxDot
from bitpath.rtl.trainium3.vector.config import ExponentialConfig, QuantizeMxConfig
from bitpath.rtl.trainium3.vector.exponential import Exponential
from bitpath.rtl.trainium3.vector.quantize_mx import QuantizeMx
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Property, Sabotage

STAGES = (1, 2, 3, 4)


def _earlier(claim: Claim, value: Value, cycles: int, name: str) -> Value:
    """An input as it was so many cycles ago."""
    for cycle in range(cycles):
        value = claim.register(value, f"{name}_{cycle}")
    return value


def stream_pipeline(claim: Claim, make: Callable[[], wiring.Component], latency: int) -> None:
    """From any state: the result of what came in ``latency`` cycles ago, however it came about."""
    dut = claim.place("dut", make(), i__valid=1, o__ready=1)
    earlier = _earlier(claim, Value.cast(dut.i.p), latency, "request")
    flat = claim.place("flat", make(), wires=True, i__valid=1, o__ready=1, i__payload=earlier)
    claim.ensure(dut.o.valid, dut.i.ready, Value.cast(dut.o.p) == Value.cast(flat.o.p))


def summed_pipeline(claim: Claim, make: Callable[[], wiring.Component], latency: int) -> None:
    """As :func:`stream_pipeline`, of a unit with a running sum: it goes on from the sum of the result before."""
    dut = claim.place("dut", make(), i__valid=1, o__ready=1)
    earlier = _earlier(claim, Value.cast(dut.i.p), latency, "request")
    flat = claim.place("flat", make(), wires=True, beside="accumulator", i__valid=1, o__ready=1, i__payload=earlier)
    claim.assume(claim.inside("flat", "accumulator") == claim.register(dut.o.p.sum, "sum_before"))
    claim.ensure(dut.o.valid, dut.i.ready, Value.cast(dut.o.p) == Value.cast(flat.o.p))


def stalled_pipeline(
    claim: Claim, make: Callable[[], wiring.Component], latency: int, cycles: int, **quiet: int
) -> None:
    """From any state, however results wait and requests fail to come: what stands at the end once ``latency`` of so many cycles
    have moved the ranks is what came in so many moves ago."""
    dut = claim.place("dut", make(), **quiet)
    request, valid, moves = Value.cast(dut.i.p), dut.i.valid, []
    for move in range(latency):
        last_request, last_valid = request, valid
        request, valid = Signal(request.shape(), name=f"request_{move}"), Signal(name=f"valid_{move}")
        with claim.m.If(dut.i.ready):
            claim.m.d.sync += [request.eq(last_request), valid.eq(last_valid)]
    moved = dut.i.ready
    for cycle in range(cycles):
        moved = claim.register(moved, f"moved_{cycle}")
        moves.append(moved)
    claim.assume(sum(moves[1:], moves[0]) >= latency)
    flat = claim.place("flat", make(), wires=True, i__valid=1, o__ready=1, i__payload=request, **quiet)
    claim.ensure(dut.o.valid == valid, ~valid | (Value.cast(dut.o.p) == Value.cast(flat.o.p)))


def operand_pipeline(claim: Claim, make: Callable[[], wiring.Component], latency: int) -> None:
    """As :func:`stream_pipeline`, of a component without handshake."""
    dut = claim.place("dut", make())
    names = [name for name, member in dut.signature.members.items() if member.flow is wiring.In]
    earlier = {name: _earlier(claim, Value.cast(getattr(dut, name)), latency, name) for name in names}
    flat = claim.place("flat", make(), wires=True, **earlier)
    claim.ensure(dut.o == flat.o)


def lane_pipeline(claim: Claim, mode: MacMode, latency: int) -> None:
    """The multiply-accumulate's lane, whose accumulators come in two ranks before its end.

    MX9's result is that of two beats, the first of which waits in a register of both lanes that is no rank.
    """
    config = MacLaneConfig(modes=(mode,))
    dut = claim.place("dut", mac_lane.MacLane(config), valid=1)
    claim.assume(dut.operands.control.mode == mode)
    cycles = {"operands": latency, "acc1": 2, "acc2": 2}
    earlier = {name: _earlier(claim, Value.cast(getattr(dut, name)), count, name) for name, count in cycles.items()}
    with patch.object(mac_lane, "_rank", lambda m, name, **values: values):
        flat = claim.place("flat", mac_lane.MacLane(config), valid=1, **earlier)
    same = dut.o == flat.o
    if mode is MacMode.MX9:
        second = _earlier(claim, dut.operands.high, latency, "second")
        same |= ~second | claim.register(second, "first")
    claim.ensure(same)


def _says(stages: int) -> str:
    return f"{stages} pipeline stage{'s' * (stages > 1)}, filled and unstalled: the combinational unit's result"


def _lane(mode: MacMode) -> Property:
    # Floats go through one rank more.
    latency = 5 if mode in FLOAT_MODES else 4
    beats = 2 if mode is MacMode.MX9 else 1
    of_beats = " of two beats" if beats == 2 else ""
    return Property(
        f"mac_lane_{mode.name}_pipeline".lower(),
        "aie_ml_v2.mac_lane",
        f"{mode.name}: {_says(latency)}{of_beats}",
        partial(lane_pipeline, mode=mode, latency=latency),
        Sabotage(
            "aie_ml_v2/mac/mac_lane.py",
            "held[key].eq(value) for",
            "held[key].eq(Value.cast(value) ^ (key == 'acc1')) for",
        ),
        depth=latency + beats - 1,
    )


def _stages(unit: str, cls: type, config: Callable, state: Callable, rest: str = "") -> list[Property]:
    """A unit that offers 1 to 4 stages. The sabotage lets one value pass by each rank."""
    return [
        Property(
            f"{unit}{rest}_{stages}_stages",
            UNITS[unit],
            _says(stages),
            partial(state, make=partial(_make, cls, config, stages), latency=stages),
            _EARLY,
            depth=stages,
        )
        for stages in STAGES
    ]


def _exponential(stages: int) -> Property:
    """Behind its stages stands the running sum's, which there always is."""
    config = partial(ExponentialConfig, width=1)
    return Property(
        f"exponential_{stages}_stages",
        UNITS["exponential"],
        f"{_says(stages + 1)}, its running sum that of the sum before it",
        partial(summed_pipeline, make=partial(_make, Exponential, config, stages), latency=stages + 1),
        _EARLY,
        # A cycle more, for the sum before.
        depth=stages + 2,
    )


def _make(cls: type, config: Callable, stages: int) -> wiring.Component:
    return cls(config(pipeline=PipelineConfig(stages=stages)))


def _fixed(unit: str, make: Callable[[], wiring.Component], latency: int) -> Property:
    return Property(
        f"{unit}_pipeline",
        UNITS[unit],
        _says(latency),
        partial(stream_pipeline, make=make, latency=latency),
        _EARLY,
        depth=latency,
    )


UNITS = {
    "quad_mx_dot": "trainium3.quad_mx_dot",
    "multiply_add": "trainium3.multiply_add",
    "quantize_mx": "trainium3.quantize_mx",
    "exponential": "trainium3.exponential",
    "dot16": "tensix.dot16",
    "packer": "tensix.packer",
    "mx_convert": "aie_ml_v2.mx_convert",
    "srs": "aie_ml_v2.srs",
    "ups": "aie_ml_v2.ups",
}
_EARLY = Sabotage(
    "common/pipeline/pipeline_registers.py",
    "return list(held.values())",
    "return [*list(values.values())[:1], *list(held.values())[1:]]",
)

PROPERTIES = (
    *_stages("quad_mx_dot", QuadMxDot, DotConfig, stream_pipeline),
    *_stages(
        "quad_mx_dot",
        QuadMxDot,
        partial(DotConfig, numerics=TRAINIUM3_QUAD_MX_ALIGNED.numerics),
        stream_pipeline,
        "_aligned",
    ),
    *_stages("multiply_add", MultiplyAdd, MultiplyAddConfig, operand_pipeline),
    *_stages("quantize_mx", QuantizeMx, QuantizeMxConfig, stream_pipeline),
    *map(_exponential, (0, *STAGES)),
    *_stages("dot16", Dot16, Dot16Config, stream_pipeline),
    _fixed("packer", partial(Packer, ConversionConfig()), 4),
    _fixed("mx_convert", partial(MxConvert, MxConvertConfig()), 3),
    _fixed("srs", partial(Srs, IntegerLanesConfig()), 2),
    _fixed("ups", partial(Ups, IntegerLanesConfig()), 2),
    Property(
        "ups_stalled",
        "aie_ml_v2.ups",
        "2 pipeline stages that move twice in four cycles, any stalls and gaps: the combinational unit's result",
        partial(stalled_pipeline, make=partial(Ups, IntegerLanesConfig()), latency=2, cycles=4, clear_overflow=0),
        Sabotage("common/pipeline/pipeline_registers.py", "with self._m.If(self.advance):", "with self._m.If(1):"),
        depth=4,
    ),
    *map(_lane, MacMode),
)
