"""One matmul through Trainium3: quantise, multiply in golden and on the RTL tensor engine, compare."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.arrays.arguments import one_of, suggestion
from bitpath.golden.arrays.parallel import Progress
from bitpath.golden.formats.dot import DotNumerics
from bitpath.golden.machines import TRAINIUM3
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, ScaleRule
from bitpath.golden.trainium3.operands.quantize_mx import ScaleRuleName
from bitpath.rtl.trainium3.array.config import ArrayConfig
from bitpath.rtl.trainium3.engine.instruction import EngineConfig
from bitpath.sim.flows.matmul import MatmulRun, resized
from bitpath.verif.trainium3.engine.lowering import check_fits

FORMATS = tuple(TRAINIUM3.formats)
"""Formats that run by default."""
FORMAT_NAMES = one_of(FORMATS)
SIZES = ("rows", "cols")
"""Options of `engine_for`."""
SLICES = {"icarus": "8x128x8"}
"""The slice of the layer that a slow simulator runs by default."""
SCALE_RULES = tuple(rule.value for rule in ScaleRule)
"""Values of ``--scale-rule``, the default one first."""

ENGINES = {
    # The machine's 128x128 PEs, and a whole instruction in operand memory and PSUM at once.
    "verilator": EngineConfig(
        array=ArrayConfig(rows=PARTITIONS, cols=PARTITIONS, operand_depth=4096), psum_bank_depth=2048, chain_depth=512
    ),
    "icarus": EngineConfig(array=ArrayConfig(rows=4, cols=4)),
}
"""The engine that each simulator runs: Icarus is some hundred times slower."""


def formats_of(format_name: str) -> Mapping[str, Any]:
    """The arguments of `trainium3.matmul_program` for a format; ValueError names the known ones."""
    if format_name not in TRAINIUM3.formats:
        raise ValueError(
            f"format of trainium3 must be {FORMAT_NAMES}, not {format_name!r}{suggestion(format_name, FORMATS)}"
        )
    return TRAINIUM3.formats[format_name]


def engine_for(simulator: str, *, rows: int | None = None, cols: int | None = None) -> EngineConfig:
    """The engine that the simulator runs, with another array where a size is given."""
    return resized(ENGINES[simulator], "array", rows=rows, cols=cols)


def _range(extent: slice) -> range:
    return range(extent.start, extent.stop)


class Run(MatmulRun):
    """A product quantised by a scale rule and cut into instructions; made at once, so that mistakes show before any simulation.

    Raises ValueError for an unknown format, operands that `trainium3.matmul_program` refuses, or an engine too small
    for them.
    """

    machine = "trainium3"
    scale_rule: ScaleRuleName
    error_metric = "relative RMS against float64 of the quantised operands"  # MXFP8 hides the error of the numerics
    bench = "bitpath.verif.runs.tb_trainium3"

    def __init__(
        self,
        a: np.ndarray,
        b: np.ndarray,
        format_name: str,
        engine: EngineConfig,
        simulator: str,
        scale_rule: ScaleRuleName = "ocp",
    ):
        super().__init__(a, b, format_name, engine, simulator)
        self.formats = formats_of(format_name)
        self.scale_rule = scale_rule
        self.program = trainium3.matmul_program(a, b, **self.formats, scale_rule=scale_rule)
        for each in self.program:
            check_fits(engine, each.stationary.shape[0], (each.stationary.shape[1], each.moving.shape[1]))

    @staticmethod
    def with_numerics(engine: EngineConfig, numerics: DotNumerics) -> EngineConfig:
        return replace(engine, array=replace(engine.array, dot=replace(engine.array.dot, numerics=numerics)))

    @staticmethod
    def numerics_of(engine: EngineConfig) -> DotNumerics:
        return engine.array.dot.numerics

    @property
    def peak(self) -> float:
        array = self.engine.array
        return array.rows * array.cols * array.dot.numerics.terms

    def settings(self) -> dict[str, Any]:
        return {**self.formats, "scale_rule": self.scale_rule}

    def explain_options(self) -> Sequence[str]:
        return (*super().explain_options(), *self.rule_options)

    def tile(self, m: int, n: int) -> str:
        holding = [each for each in self.program if m in _range(each.output[0]) and n in _range(each.output[1])]
        return f"{len(holding)} of {len(self.program)} nc_matmul_mx add to it"

    def golden(self, progress: Progress | None = None) -> np.ndarray:
        return trainium3.run_program(self.program, numerics=self.engine.array.dot.numerics, progress=progress)

    def error_reference(self) -> np.ndarray:
        total = np.zeros([side.stop for side in self.program[-1].output])
        for each in self.program:
            sides = []
            for side in ("stationary", "moving"):
                codes = getattr(each, side)
                values = trainium3.dequantize(codes.reshape(codes.shape[0], -1), getattr(each, f"{side}_scale"))
                sides.append(values.reshape(codes.shape))
            total[each.output] += np.einsum("pmi,pni->mn", *sides)
        return total[: self.a.shape[0], : self.b.shape[1]]

    def matrix(self, output: np.ndarray) -> np.ndarray:
        return output.view(np.float32)
