"""A layer from HBM back to HBM on the RTL core of one quadrant, and the units that play a core's instructions one by one.

Golden's program becomes the core's four instruction streams. Golden and RTL run it from the same HBM, and every byte of HBM, SBUF and
PSUM must agree.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.arrays.arguments import one_of, suggestion
from bitpath.golden.formats.catalogue import MX_FORMATS
from bitpath.golden.trainium3.core.core import CoreReport
from bitpath.golden.trainium3.core.layer import FORMATS, QUADRANT_LAYER, prepare_layer
from bitpath.golden.trainium3.core.program import TICKS
from bitpath.golden.trainium3.declarations.dma import TRAINIUM3_DMA
from bitpath.golden.trainium3.declarations.quad_mx import MAX_MOVING_FP32, MAX_STATIONARY, PSUM_BANKS, ScaleRule
from bitpath.golden.trainium3.declarations.rates import TICKS_PER_NS
from bitpath.golden.trainium3.operands.quantize_mx import ScaleRuleName
from bitpath.rtl.common.fp32.fp32_functions import Fp32LanesConfig
from bitpath.rtl.common.unit import registered
from bitpath.rtl.trainium3.array.psum import PsumConfig
from bitpath.rtl.trainium3.array.systolic_array import CoreArrayConfig
from bitpath.rtl.trainium3.core.config import CoreConfig, DmaEngineConfig
from bitpath.rtl.trainium3.core.instruction import Engine
from bitpath.rtl.trainium3.dma.dma_mover import DmaMoverConfig
from bitpath.rtl.trainium3.dma.dma_transpose import DmaTransposeConfig
from bitpath.rtl.trainium3.engine.instruction import EngineConfig
from bitpath.rtl.trainium3.lanes.activation2_lane import Activation2Config
from bitpath.rtl.trainium3.lanes.copy_lanes import CopyConfig
from bitpath.rtl.trainium3.lanes.engine_lane import EngineLaneConfig
from bitpath.rtl.trainium3.lanes.rand2_lane import Rand2Config
from bitpath.rtl.trainium3.tensor.background_transpose import TransposeConfig
from bitpath.rtl.trainium3.tensor.config import CorePeConfig
from bitpath.rtl.trainium3.vector.exponential import ExponentialConfig
from bitpath.rtl.trainium3.vector.quantize_mx import QuantizeMxConfig
from bitpath.rtl.trainium3.vector.xorwow import XorwowConfig
from bitpath.sim.flows import staged
from bitpath.sim.flows.operands import normalised_layer
from bitpath.sim.flows.outcome import rmsnorm_reference
from bitpath.sim.flows.trainium3_matmul import ENGINES, SCALE_RULES
from bitpath.verif.trainium3.core import core_layer
from bitpath.verif.trainium3.core.core_layer import LAYER
from bitpath.verif.trainium3.core.stages import LANE_WIDTH, TRANSPOSE, Play

# Trainium3's RTL units that play instructions, one after the other.


RUNS = "bitpath.verif.runs.tb_trainium3"
BENCHES = {
    **dict.fromkeys(("quantize_mx", "tensor_engine", "dma_engine", "dma_transpose", "psum", "xorwow", "core"), RUNS),
    "core_array": "bitpath.verif.trainium3.core.tb_core_array_run",
}
"""Benches of the units that `tb_words_run` does not play."""
FP32_FUNCTION = Fp32LanesConfig(lanes=1)
CORE_ARRAY = CoreArrayConfig(rows=32, cols=32, operand_depth=64, dot=CorePeConfig(pipeline=registered(2)))
"""A quadrant's rows, and as many columns."""


def psum_behind(array: CoreArrayConfig) -> PsumConfig:
    """Return a PSUM that holds the results of the largest instruction, in words of the array's columns."""
    places = MAX_MOVING_FP32 * -(-MAX_STATIONARY // array.cols)
    return PsumConfig(cols=array.cols, lanes=1, banks=PSUM_BANKS, bank_depth=places // PSUM_BANKS)


DMA_ENGINE = DmaEngineConfig(mover=DmaMoverConfig(beat_bytes=32, address_bits=18))
"""Four queues, a memory of 256 KiB at each end, and the machine's pace."""
DMA_TRANSPOSE = DmaTransposeConfig(columns=8, elements=16, address_bits=18, count_bits=16, row_bits=16)
"""An engine's part of the machine, with a source of 256 KiB."""


@dataclass(frozen=True, kw_only=True)
class CoreUnits:
    """The units that play a core's instructions, by their names: a lane for all partitions, the machine's array, a DMA engine;
    and a core of one quadrant, in which they are joined."""

    activation2_lane: Activation2Config = field(default_factory=Activation2Config)
    engine_lane: EngineLaneConfig = field(default_factory=lambda: EngineLaneConfig(width=LANE_WIDTH))
    copy_lanes: CopyConfig = field(default_factory=CopyConfig)
    exponential: ExponentialConfig = field(default_factory=ExponentialConfig)
    xorwow: XorwowConfig = field(default_factory=lambda: XorwowConfig(lanes=1))
    rand2_lane: Rand2Config = field(default_factory=Rand2Config)
    reciprocal: Fp32LanesConfig = FP32_FUNCTION
    reciprocal_square_root: Fp32LanesConfig = FP32_FUNCTION
    core_array: CoreArrayConfig = CORE_ARRAY
    psum: PsumConfig = field(default_factory=lambda: psum_behind(CORE_ARRAY))
    background_transpose: TransposeConfig = TRANSPOSE
    quantize_mx: QuantizeMxConfig = field(default_factory=QuantizeMxConfig)
    tensor_engine: EngineConfig = ENGINES["verilator"]
    dma_engine: DmaEngineConfig = DMA_ENGINE
    dma_transpose: DmaTransposeConfig = DMA_TRANSPOSE
    core: CoreConfig = LAYER


class StagedRun(staged.StagedRun):
    """A chain of Trainium3's instructions."""

    machine = "trainium3"
    benches = BENCHES


__all__ = ["FORMATS", "SCALE_RULES", "SIZES", "SLICES", "SWITCHES", "Run", "engine_for", "operands"]

SIZES: tuple[str, ...] = ()
SLICES: Mapping[str, str] = {}
SWITCHES = ("shaping", "qos")
"""Options that change times alone."""


CORE = replace(LAYER, descriptor_cycles=TRAINIUM3_DMA.numerics.descriptor_cycles)
"""The core of the layer, with the machine's cycles of the shortest descriptor."""


@dataclass(frozen=True, kw_only=True)
class JoinedUnits:
    """The one unit of the flow core."""

    core: CoreConfig = CORE


def engine_for(simulator: str) -> JoinedUnits:
    """The unit of the flow; ValueError for a simulator that would take days."""
    if simulator != "verilator":
        raise ValueError(f"the flow core runs a core of a quadrant, on verilator alone, not on {simulator}")
    return JoinedUnits()


def operands() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hidden, gamma and weight of the layer's first tokens, hidden values and outputs."""
    hidden, gamma, weight = normalised_layer()
    rows, k, columns = slice(QUADRANT_LAYER.tokens), slice(QUADRANT_LAYER.values), slice(QUADRANT_LAYER.outputs)
    made = trainium3.round_to_bfloat16(hidden[rows, k]), trainium3.round_to_bfloat16(gamma[k])
    return *made, np.ascontiguousarray(weight[k, columns])


class Run(StagedRun):
    """hidden, gamma, weight in HBM -> DMA -> RMSNorm -> QuantizeMX -> two products -> read-add-write -> BF16 in HBM."""

    flow: ClassVar[str] = "core"
    before = "in memories"
    scale_rule: ScaleRuleName
    units = ("core",)

    def __init__(
        self,
        hidden: np.ndarray,
        gamma: np.ndarray,
        weight: np.ndarray,
        format_name: str,
        engine: JoinedUnits,
        simulator: str,
        scale_rule: ScaleRuleName = "ocp",
        shaping: bool = True,
        qos: bool = True,
    ):
        super().__init__(format_name, engine, simulator)
        if format_name not in FORMATS:
            raise ValueError(
                f"format of core must be {one_of(FORMATS)}, not {format_name!r}{suggestion(format_name, FORMATS)}"
            )
        self.tensors = hidden, gamma, weight
        self.scale_rule = scale_rule
        self.switches = {"shaping": shaping, "qos": qos}

    def settings(self) -> dict[str, Any]:
        return {"scale_rule": self.scale_rule, **self.switches}

    def reference(self) -> np.ndarray:
        hidden, gamma, weight = self.tensors
        return rmsnorm_reference(hidden, gamma) @ weight.astype(np.float64)

    def values(self, rtl: np.ndarray) -> np.ndarray:
        return rtl.astype(np.float64)

    def compute(self, play: Play) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        core, program = prepare_layer(
            *self.tensors,
            format=self.format_name,
            scale_rule=self.scale_rule,
            shaping=self.switches["shaping"],
            qos=self.switches["qos"],
            size=QUADRANT_LAYER,
        )
        element, rule = MX_FORMATS[self.format_name].element, ScaleRule(self.scale_rule)
        instructions = core_layer.layer(program, element, rule)
        programs = core_layer.hosted(core, instructions)
        report = core.run(program)
        found = play("core", programs)
        memories = core_layer.left(found["images"])
        output, size = QUADRANT_LAYER.output, QUADRANT_LAYER.tokens * QUADRANT_LAYER.outputs
        words = np.ascontiguousarray(memories["HBM"]).view(output.pattern.dtype)
        rtl, golden = words[output.pattern.offset :][:size].reshape(output.pattern.shape), core.read(output)
        cycles, *busy = found["times"][0].tolist()
        # Without the cycles of the copies behind the layer.
        self._played = {"core": cycles}
        self.stage("layer", [rtl], [golden], report.end // TICKS["dma"], is_output=True)
        for name, own in core_layer.expected(core).items():
            self.stage(name, [memories[name]], [own], None, unit="core")
        used = Counter(each.engine.name.lower() for each in instructions)
        rows = {each.name.lower(): own for each, own in zip(Engine, busy, strict=True)}
        figures = {
            "time_us": _us(report.end),
            "cycles": cycles,
            "engines": [
                {
                    "engine": engine,
                    "instructions": used[engine],
                    "cycles": own,
                    "golden_cycles": _busy(report, engine),
                    "golden_waits_us": _us(sum(report.stalls.get(engine, {}).values())),
                }
                for engine, own in rows.items()
            ],
            "classes": [
                {
                    "class": number,
                    "bytes": each.bytes,
                    "descriptors": each.descriptors,
                    "gb_per_s": round(each.gb_per_s, 1),
                }
                for number, each in report.traffic.items()
            ],
        }
        return rtl, golden, figures


def _busy(report: CoreReport, engine: str) -> int:
    """Return the cycles in which an engine has at least one instruction in golden."""
    busy = until = 0
    for span in (each for each in report.spans if each.engine == engine):
        busy += max(0, span.end - max(span.start, until))
        until = max(until, span.end)
    return busy // TICKS[engine]


def _us(ticks: int) -> float:
    return round(ticks / TICKS_PER_NS / 1000, 2)
