"""A matmul in one of TensorE's modes beside quad MX: the array of all modes in RTL, and PSUM behind it.

An array of fewer rows than an instruction has takes several passes. Each pass begins with golden's partial sums, and its results
are compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.arrays.arguments import one_of, suggestion
from bitpath.golden.trainium3.tensor.issue import Kind, tensor_cycles
from bitpath.golden.trainium3.tensor.modes import DOUBLE_ROW, MODES, SPARSE, ModeInstruction, pruned
from bitpath.rtl.trainium3.array.psum import PsumConfig
from bitpath.rtl.trainium3.array.systolic_array import CoreArrayConfig
from bitpath.sim.flows.trainium3_core import CORE_ARRAY, StagedRun, psum_behind
from bitpath.verif.trainium3.core.core_modes import passes_of
from bitpath.verif.trainium3.core.stages import Play

FORMATS = MODES
FORMAT_NAMES = one_of(FORMATS)
SIZES: tuple[str, ...] = ()
SLICES: Mapping[str, str] = {"icarus": "4x16x4"}


@dataclass(frozen=True, kw_only=True)
class ModeUnits:
    """The units that play a mode's instructions."""

    core_array: CoreArrayConfig
    psum: PsumConfig = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "psum", psum_behind(self.core_array))


KINDS: Mapping[str, Kind] = {DOUBLE_ROW: "double_row", **dict.fromkeys(SPARSE, "sparse")}
"""Kinds of instruction in golden's cycle rules, "matmul" for all other modes."""
ENGINES = {
    "verilator": ModeUnits(core_array=CORE_ARRAY),
    "icarus": ModeUnits(core_array=CoreArrayConfig(operand_depth=64)),
}
"""The array that each simulator runs."""


def formats_of(format_name: str) -> str:
    """Return the mode of that name; ValueError names the known ones."""
    if format_name not in FORMATS:
        raise ValueError(
            f"format of trainium3 must be {FORMAT_NAMES}, not {format_name!r}{suggestion(format_name, FORMATS)}"
        )
    return format_name


def engine_for(simulator: str) -> ModeUnits:
    """The array that the simulator runs, and PSUM."""
    return ENGINES[simulator]


def psum_groups(
    program: Sequence[ModeInstruction], results: Sequence[np.ndarray], columns: int
) -> list[list[tuple[int, np.ndarray]]]:
    """Return what PSUM's bench writes: for each tile of the output the flags and results of its instructions, in order.

    Results [M, N] of the array become PSUM's places, [tiles * N, columns].
    """

    def places(instruction: ModeInstruction, own: np.ndarray) -> tuple[int, np.ndarray]:
        padded = np.pad(own, ((0, -len(own) % columns), (0, 0)))
        rows = padded.reshape(-1, columns, own.shape[1]).transpose(0, 2, 1).reshape(-1, columns)
        return int(instruction.psum_accumulate_flag), np.ascontiguousarray(rows)

    groups = groupby(zip(program, results, strict=True), key=lambda pair: pair[0].output)
    return [[places(*each) for each in group] for _, group in groups]


def psum_result(
    program: Sequence[ModeInstruction], left: Mapping[str, np.ndarray], columns: int, golden: np.ndarray
) -> np.ndarray:
    """Return the output that PSUM's bench read, of golden's shape."""
    result = np.zeros_like(golden)
    for number, (_, group) in enumerate(groupby(program, key=lambda each: each.output)):
        instruction = next(group)
        words = left[f"group_{number}"]
        shape = instruction.stationary.shape[-1], instruction.moving.shape[-1]
        # [tiles, N, columns] -> [M, N]
        tiles = words.reshape(-1, shape[1], columns).transpose(0, 2, 1).reshape(-1, shape[1])[: shape[0]]
        result[instruction.output] = instruction.placed(np.ascontiguousarray(tiles).view(np.float32))
    return result


class Run(StagedRun):
    """A product cast to the mode's dtype and cut into instructions; made at once, so that mistakes show before any simulation.

    Raises ValueError for an unknown format, or operands that `trainium3.mode_program` refuses.
    """

    flow: ClassVar[str] = "matmul"
    units = ("core_array", "psum")

    def __init__(self, a: np.ndarray, b: np.ndarray, format_name: str, engine: ModeUnits, simulator: str):
        super().__init__(formats_of(format_name), engine, simulator)
        self.a, self.b = a, b
        self.program = trainium3.mode_program(a, b, format_name)

    def reference(self) -> np.ndarray:
        # A sparse mode multiplies by pruned weights, whose loss is not an error of the numerics.
        b = pruned(self.b, self.format_name) if self.format_name in SPARSE else self.b
        return self.a.astype(np.float64) @ b.astype(np.float64)

    def values(self, rtl: np.ndarray) -> np.ndarray:
        return rtl

    def compute(self, play: Play) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        units: ModeUnits = self.engine
        golden = trainium3.run_mode_program(self.program)
        left = play("core_array", self.program)
        array_cycles = int(left["cycles"])
        last = []
        for number, each in enumerate(self.program):
            m = each.stationary.shape[-1]
            found = np.ascontiguousarray(left[f"results_{number}"][:, :m])
            below = passes_of(each, units.core_array.rows)
            dtype = "tf32" if each.mode == "tf32" else each.stationary.dtype
            cycles = tensor_cycles(KINDS.get(each.mode, "matmul"), m, each.moving.shape[-1], dtype)
            self.stage(f"matmul {number}", [found], [below.astype(np.uint32)], cycles, unit="core_array")
            last.append(found[-1])
        left = play("psum", psum_groups(self.program, last, units.psum.cols))
        result = psum_result(self.program, left, units.psum.cols, golden)
        self.stage("PSUM", [result], [golden], None, is_output=True)
        rows, columns = self.a.shape[0], self.b.shape[1]
        macs = rows * self.a.shape[1] * columns
        figures = {"macs": macs, "cycles": array_cycles, "mac_per_cycle": round(macs / array_cycles, 1)}
        kept, expected = (np.ascontiguousarray(each[:rows, :columns]) for each in (result, golden))
        return kept, expected, figures
