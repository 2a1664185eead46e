"""softmax of rows: four of VectorE's instructions, each on its RTL unit."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.arrays.arguments import one_of, suggestion
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.trainium3.vector.rates import engine_cycles
from bitpath.sim.flows.operands import extents, layer
from bitpath.sim.flows.trainium3_core import CoreUnits, StagedRun
from bitpath.verif.trainium3.core import stages

FORMATS = ("fp32", "bf16")
"""Dtypes of the result."""
SIZES: tuple[str, ...] = ()
SLICES: Mapping[str, str] = {"icarus": "4x16"}


def engine_for(simulator: str) -> CoreUnits:
    """The units, the same for both simulators."""
    return CoreUnits()


def operands(wanted: str | None) -> tuple[np.ndarray]:
    """Scores of the layer's 128 tokens against each other, ``x @ x.T / sqrt(384)``, bfloat16 [128, 128], or a slice "MxN"."""
    x, _ = layer()
    scores = trainium3.round_to_bfloat16((x @ x.T / np.sqrt(np.float32(x.shape[1]))).astype(np.float32))
    rows, columns = scores.shape if wanted is None else extents(wanted, scores.shape, "MxN", "8x32")
    return (np.ascontiguousarray(scores[:rows, :columns]),)


class Run(StagedRun):
    """scores -> largest of each row -> exp(score - largest) and its sum -> 1 / sum -> product."""

    flow: ClassVar[str] = "softmax"
    units = ("activation2_lane", "exponential", "reciprocal", "engine_lane")

    def __init__(self, scores: np.ndarray, format_name: str, engine: CoreUnits, simulator: str):
        super().__init__(format_name, engine, simulator)
        if format_name not in FORMATS:
            raise ValueError(
                f"format of softmax must be {one_of(FORMATS)}, not {format_name!r}{suggestion(format_name, FORMATS)}"
            )
        self.scores = scores

    def reference(self) -> np.ndarray:
        scores = self.scores.astype(np.float64)
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def values(self, rtl: np.ndarray) -> np.ndarray:
        return rtl.astype(np.float64)

    def compute(self, play: stages.Play) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        scores, dtype = self.scores, DTYPES[{"fp32": FP32, "bf16": BF16}[self.format_name]]
        count, narrow, wide = scores.shape[1], DTYPES[BF16], DTYPES[FP32]

        def cycles(name: str, n: int, *dtypes: np.dtype) -> int:
            return engine_cycles("vector", name, n, dtypes, ("sbuf",) * len(dtypes))

        _, largest = stages.activate(play, scores, reduction="max")
        golden_largest = trainium3.tensor_reduce(scores, "max")
        self.stage("tensor_reduce", [largest], [golden_largest], cycles("tensor_reduce", count, narrow, wide))
        powers, total = stages.exponentiate(play, scores, largest)
        golden_powers, golden_sums = trainium3.exponential(scores, golden_largest, reduce_cmd="reset_reduce")
        assert golden_sums is not None
        golden_total = golden_sums[:, np.newaxis]
        self.stage(
            "exponential", [powers, total], [golden_powers, golden_total], cycles("exponential", count, narrow, wide)
        )
        inverse = stages.recur(play, "reciprocal", total)
        golden_inverse = trainium3.reciprocal(golden_total)
        self.stage("reciprocal", [inverse], [golden_inverse], cycles("reciprocal", 1, wide, wide))
        result = stages.operate(play, powers, "multiply", inverse, self.format_name)
        golden = trainium3.softmax(scores, dtype=dtype)
        self.stage("tensor_scalar", [result], [golden], cycles("tensor_scalar", count, wide, dtype), is_output=True)
        total_cycles = sum(each.rtl_cycles for each in self.stages)
        return result, golden, {"cycles": total_cycles, "elements": result.size}
