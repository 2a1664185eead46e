"""The layer from HBM back to HBM: each instruction of its program on the RTL unit that executes it, and all DMA traffic.

An instruction takes what the RTL gave before it. Golden moves the bytes of a transfer; the DMA engines in RTL then repeat all moves,
with queues, priorities and classes, and must write the same bytes, each in the cycle of golden's grant. Order and times of the
instructions are golden's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.arrays.arguments import one_of, suggestion
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import MX_FORMATS
from bitpath.golden.trainium3.core.layer import FORMATS, HIDDEN, OUTPUT, prepare_layer
from bitpath.golden.trainium3.core.program import Compute, Transfer
from bitpath.golden.trainium3.declarations.quad_mx import MAX_MOVING_FP32, MAX_STATIONARY, PSUM_BANKS
from bitpath.golden.trainium3.declarations.rates import TICKS_PER_NS
from bitpath.golden.trainium3.operands.quantize_mx import ScaleRuleName
from bitpath.rtl.common.fp32.fp32_functions import Fp32LanesConfig
from bitpath.rtl.common.unit import registered
from bitpath.rtl.trainium3.array.psum import PsumConfig
from bitpath.rtl.trainium3.array.systolic_array import CoreArrayConfig
from bitpath.rtl.trainium3.core.config import CoreConfig, DmaEngineConfig
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
from bitpath.sim.flows.staged import kind_of
from bitpath.sim.flows.trainium3_matmul import ENGINES, SCALE_RULES
from bitpath.verif.trainium3.core import stages
from bitpath.verif.trainium3.core.core_layer import LAYER
from bitpath.verif.trainium3.core.dma_engine import Images, dma_loads
from bitpath.verif.trainium3.core.stages import LANE_WIDTH, TRANSPOSE
from bitpath.verif.trainium3.dma.dma_queues import Schedule

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


def engine_for(simulator: str) -> CoreUnits:
    """The units of the flow; ValueError for a simulator that would take days."""
    if simulator != "verilator":
        raise ValueError(f"the flow core runs the machine's array, on verilator alone, not on {simulator}")
    return CoreUnits()


def operands() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hidden, gamma and weight of the whole layer, since the program's places are the layer's."""
    hidden, gamma, weight = normalised_layer()
    return trainium3.round_to_bfloat16(hidden), trainium3.round_to_bfloat16(gamma), weight


HOST = ("set constants",)
"""Instructions that golden executes: GpSimd's programs are not modelled."""
Results = tuple[np.ndarray, ...]


class Run(StagedRun):
    """hidden, gamma, weight in HBM -> DMA -> RMSNorm -> QuantizeMX -> two products -> read-add-write -> BF16 in HBM."""

    flow: ClassVar[str] = "core"
    scale_rule: ScaleRuleName
    units = (
        "activation2_lane",
        "engine_lane",
        "copy_lanes",
        "reciprocal_square_root",
        "core_array",
        "background_transpose",
        "quantize_mx",
        "tensor_engine",
        "dma_engine",
    )

    def __init__(
        self,
        hidden: np.ndarray,
        gamma: np.ndarray,
        weight: np.ndarray,
        format_name: str,
        engine: CoreUnits,
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
        self.dtype = DTYPES[MX_FORMATS[format_name].element]

    def settings(self) -> dict[str, Any]:
        return {"scale_rule": self.scale_rule, **self.switches}

    def reference(self) -> np.ndarray:
        hidden, gamma, weight = self.tensors
        return rmsnorm_reference(hidden, gamma) @ weight.astype(np.float64)

    def values(self, rtl: np.ndarray) -> np.ndarray:
        return rtl.astype(np.float64)

    def compute(self, play: stages.Play) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        (rtl, program), (golden, _), (timed, _) = (
            prepare_layer(
                *self.tensors,
                format=self.format_name,
                scale_rule=self.scale_rule,
                shaping=self.switches["shaping"],
                qos=self.switches["qos"],
            )
            for _ in range(3)
        )
        report = timed.run(program)
        named = {each.name: each for each in program}
        images = {}
        for span in report.spans:
            each = named[span.name]
            if isinstance(each, Transfer):
                before = rtl.read(each.destination).tobytes() if each.add else bytes(byte_count(each))
                source = rtl.read(each.source).tobytes()
                rtl.step(each)
                golden.step(each)
                images[each.name] = Images(source, before, rtl.read(each.destination).tobytes())
                continue
            golden.step(each)
            if kind_of(each.name) in HOST:
                rtl.step(each)
                continue
            results = self._execute(play, each, [rtl.read(operand) for operand in each.reads])
            for operand, values in zip(each.writes, results, strict=True):
                rtl.write(operand, values.reshape(operand.pattern.shape))
            ours, theirs = ([core.read(operand) for operand in each.writes] for core in (rtl, golden))
            self.stage(each.name, ours, theirs, each.cycles)
        transfers = {each.name: each for each in program if isinstance(each, Transfer)}
        loads = dma_loads(
            self.engine.dma_engine, Schedule(timed.queues, timed.classes, ()), transfers, report.moves, images
        )
        left = play("dma_engine", loads)
        moved, beyond, expected = [], [], []
        for image, load in zip(left["images"], loads, strict=True):
            moved.append(image[: load.used])
            beyond.append(image[load.used :].any())
            expected.append(np.frombuffer(load.expected, np.uint8)[: load.used])
        # A write to another place is a mismatch, too.
        found = [np.concatenate(moved), np.array(beyond, np.uint8), left["grants"]]
        last = max(load.end(load.grants, self.engine.dma_engine) for load in loads)
        grants = np.array([(number, *each) for number, load in enumerate(loads) for each in load.grants], np.int64)
        self.stage("DMA", found, [np.concatenate(expected), np.zeros(len(loads), np.uint8), grants], last)
        figures = {
            "time_us": _us(report.end),
            "descriptors": len(report.moves),
            "engines": [
                {
                    "engine": engine if engine != "dma" else "dma, all 16",
                    "busy_us": _us(busy),
                    "waits_us": _us(sum(report.stalls.get(engine, {}).values())),
                }
                for engine, busy in report.busy.items()
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
        return rtl.read(OUTPUT), golden.read(OUTPUT), figures

    def _execute(self, play: stages.Play, each: Compute, read: Sequence[np.ndarray]) -> Results:
        """Return an instruction's results from the RTL units that run it."""
        match kind_of(each.name), read:
            case "sum of squares", (tile,):
                return (stages.activate(play, tile, "square")[1],)
            case "inverse root", (total, eps):
                mean, _ = stages.activate(play, total, scale=1 / HIDDEN, bias=eps)
                return (stages.recur(play, "reciprocal_square_root", mean),)
            case "spread gamma", (ones, gamma):
                return (stages.matmul(play, ones, gamma),)
            case "normalise", (tile, factor, gamma):
                scaled = stages.operate(play, tile, "multiply", factor, "fp32")
                return (stages.operate(play, scaled, "multiply", gamma, "bf16"),)
            case "transpose", (tile,):
                return (stages.transpose(play, tile),)
            case "evict", (tile,):
                return (stages.copy(play, tile, engine=each.engine, stride="short"),)
            case "quantise", (tile,):
                words, scales = stages.quantise(play, tile, self.dtype, self.scale_rule)
                return words, *(scales[4 * quadrant : 4 * quadrant + 4] for quadrant in range(len(scales) // 4))
            case "multiply", (x, weight, *scales):
                return (stages.multiply(play, self.dtype, x, weight, scales),)
            case "copy product", (tile,):
                return (stages.copy(play, tile, engine=each.engine),)
        raise ValueError(f"no unit runs {each.name}")


def byte_count(transfer: Transfer) -> int:
    pattern = transfer.destination.pattern
    return pattern.size * pattern.dtype.itemsize


def _us(ticks: int) -> float:
    return round(ticks / TICKS_PER_NS / 1000, 2)
