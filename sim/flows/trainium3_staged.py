"""Runs of instructions on Trainium3's RTL units, one after the other, each result compared with golden's."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from rich.console import Console

from bitpath.golden.arrays.codec import format_of
from bitpath.golden.trainium3.declarations.quad_mx import MAX_MOVING_FP32, MAX_STATIONARY, PSUM_BANKS
from bitpath.rtl.common.fp32.fp32_lanes import Fp32LanesConfig
from bitpath.rtl.common.unit import registered
from bitpath.rtl.trainium3.array.config import CoreArrayConfig, PsumConfig
from bitpath.rtl.trainium3.core.config import DmaEngineConfig
from bitpath.rtl.trainium3.dma.config import DmaMoverConfig, DmaTransposeConfig
from bitpath.rtl.trainium3.engine.config import EngineConfig
from bitpath.rtl.trainium3.lanes.config import Activation2Config, CopyConfig, EngineLaneConfig
from bitpath.rtl.trainium3.tensor.config import CorePeConfig, TransposeConfig
from bitpath.rtl.trainium3.vector.config import ExponentialConfig, QuantizeMxConfig
from bitpath.sim.flows.builds import Builds, Part
from bitpath.sim.flows.outcome import FlowRun, Outcome, codes, compared, differences, play
from bitpath.sim.flows.trainium3_matmul import ENGINES
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.values import Word
from bitpath.verif.trainium3.core.stages import LANE_WIDTH, TRANSPOSE, WORDS_BENCH

BENCHES = {
    "quantize_mx": "bitpath.verif.trainium3.vector.tb_quantize_mx_run",
    "tensor_engine": "bitpath.verif.trainium3.engine.tb_tensor_engine_run",
    "dma_engine": "bitpath.verif.trainium3.core.tb_dma_engine_run",
    "dma_transpose": "bitpath.verif.trainium3.core.tb_dma_transpose_run",
    "core_array": "bitpath.verif.trainium3.core.tb_core_array_run",
    "psum": "bitpath.verif.trainium3.core.tb_psum_run",
}
"""Run benches of the units that `tb_words_run` does not play."""
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
    """The units that play a core's instructions, by their names: a lane for all partitions, the machine's array, a DMA engine."""

    activation2_lane: Activation2Config = field(default_factory=Activation2Config)
    engine_lane: EngineLaneConfig = field(default_factory=lambda: EngineLaneConfig(width=LANE_WIDTH))
    copy_lanes: CopyConfig = field(default_factory=CopyConfig)
    exponential: ExponentialConfig = field(default_factory=ExponentialConfig)
    reciprocal: Fp32LanesConfig = FP32_FUNCTION
    reciprocal_square_root: Fp32LanesConfig = FP32_FUNCTION
    core_array: CoreArrayConfig = CORE_ARRAY
    psum: PsumConfig = field(default_factory=lambda: psum_behind(CORE_ARRAY))
    background_transpose: TransposeConfig = TRANSPOSE
    quantize_mx: QuantizeMxConfig = field(default_factory=QuantizeMxConfig)
    tensor_engine: EngineConfig = ENGINES["verilator"]
    dma_engine: DmaEngineConfig = DMA_ENGINE
    dma_transpose: DmaTransposeConfig = DMA_TRANSPOSE


@dataclass(frozen=True, kw_only=True, eq=False)
class Stage:
    """What an instruction gave in RTL and in golden, arrays of the same shapes and dtypes, and the cycles of both.

    ``golden_cycles`` are None for what golden's rules count elsewhere. ``is_output`` marks the run's output, which counts there.
    """

    name: str
    unit: str
    rtl: Sequence[np.ndarray]
    golden: Sequence[np.ndarray]
    rtl_cycles: int
    golden_cycles: int | None
    is_output: bool

    @property
    def compared(self) -> int:
        """Elements of its results."""
        return sum(each.size for each in self.golden)

    @property
    def mismatches(self) -> int:
        """Elements that differ."""
        return sum(differences(*pair) for pair in zip(self.rtl, self.golden, strict=True))


def kind_of(name: str) -> str:
    """Return an instruction's name without its number."""
    return name.rstrip("0123456789 ")


class StagedRun(FlowRun):
    """A chain of instructions, each on its unit; a flow has a subclass.

    Attributes
    ----------
    units : names of the units that it plays.
    stages : its instructions so far, in the order of their results.
    """

    machine, before = "trainium3", "in stages"
    units: ClassVar[Sequence[str]]

    def __init__(self, format_name: str, engine: Any, simulator: str):
        self.format_name, self.engine, self.simulator = format_name, engine, simulator
        self.stages: list[Stage] = []
        self._played: dict[str, int] = {}
        self._digests: dict[str, str] = {}
        self._waited = self._build_seconds = 0.0

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(
            (each.name, getattr(self.engine, each.name)) for each in fields(self.engine) if each.name in self.units
        )

    def settings(self) -> dict[str, Any]:
        """Whatever the result depends on besides the units, as plain JSON values."""
        return {}

    def compute(self, play: Any) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        """Return the flow's result of RTL and of golden, and its own figures; `play` simulates a unit on an input."""
        raise NotImplementedError

    def stage(
        self,
        name: str,
        rtl: Sequence[np.ndarray],
        golden: Sequence[np.ndarray],
        golden_cycles: int | None,
        *,
        unit: str = "",
        is_output: bool = False,
    ) -> None:
        """Keep an instruction's results; its units are those played since the one before, or the one named."""
        units, cycles = unit or " + ".join(self._played), sum(self._played.values())
        self._played.clear()
        self.stages.append(
            Stage(
                name=name,
                unit=units,
                rtl=rtl,
                golden=golden,
                rtl_cycles=cycles,
                golden_cycles=golden_cycles,
                is_output=is_output,
            )
        )

    def compare(self, console: Console, builds: Builds) -> Outcome:
        """Run each instruction in golden and in RTL, and return both results.

        Raises SimulationError if a build or a simulation failed, or a unit did nothing.
        """
        start = time.monotonic()
        rtl, golden, figures = self.compute(partial(self._play, console, builds))
        built = builds.of(self, self.parts[-1])
        inner = [each for each in self.stages if not each.is_output]
        pair = (_bytes([each.rtl for each in inner]), _bytes([each.golden for each in inner]))
        self._dtype = golden.dtype
        outcome = compared(self, built, rtl, golden, start, rtl.shape, None, times=None, **figures)
        record = outcome.record
        record.update(
            stages=self._table(),
            staged_compared=sum(each.compared for each in inner),
            mismatches=record["mismatches"] + sum(each.mismatches for each in inner),
            digests=self._digests,
            wall_seconds=round(record["wall_seconds"] - self._waited, 2),
            build_seconds=round(self._build_seconds, 2),
        )
        return replace(outcome, before=pair)

    def shown(self, *place: int) -> Shown:
        return Shown(operands={"place": f"row {place[0]}, column {place[1]}"}, formats={"": format_of(self._dtype)})

    def shown_before(self, *place: int) -> Shown:
        (byte,) = place
        for each in (stage for stage in self.stages if not stage.is_output):
            for result in each.golden:
                if byte < result.nbytes:
                    where = f"{each.name}, byte {byte % result.itemsize} of element {byte // result.itemsize}"
                    return Shown(operands={"place": where, "unit": each.unit}, formats={"": Word(8)})
                byte -= result.nbytes
        raise IndexError(f"no result has byte {place[0]}")

    def _play(self, console: Console, builds: Builds, unit: str, content: Any) -> dict[str, Any]:
        start = time.monotonic()
        built = builds.of(self, (unit, getattr(self.engine, unit)))
        self._waited += time.monotonic() - start
        self._build_seconds += built.seconds
        self._digests[unit] = built.digest
        left = play(console, built, BENCHES.get(unit, WORDS_BENCH), self.format_name, content)
        self._played[unit] = self._played.get(unit, 0) + int(left["cycles"])
        return left

    def _table(self) -> list[dict[str, Any]]:
        """Return a row for the instructions of each kind."""
        kinds: dict[str, list[Stage]] = {}
        for each in self.stages:
            kinds.setdefault(kind_of(each.name), []).append(each)
        return [
            {
                "instruction": kind,
                "unit": own[0].unit,
                "count": len(own),
                "compared": sum(each.compared for each in own),
                "mismatches": sum(each.mismatches for each in own),
                "golden_cycles": _sum(each.golden_cycles for each in own),
                "rtl_cycles": sum(each.rtl_cycles for each in own),
            }
            for kind, own in kinds.items()
        ]


def _sum(cycles: Iterable[int | None]) -> int | None:
    known = [each for each in cycles if each is not None]
    return sum(known) if known else None


def _bytes(results: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
    return np.concatenate([codes(each).view(np.uint8).ravel() for arrays in results for each in arrays])
