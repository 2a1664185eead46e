"""Explanation of one output of a matmul on AIE-ML v2: the instructions that its lane executes."""

from typing import Any, cast

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.golden.aie_ml_v2.declarations.modes import INTEGER_MODES
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.exact import (
    Block,
    IntegerLaneTrace,
    LaneTrace,
    trace_float_lane,
    trace_integer_lane,
    trace_mx_lane,
)
from bitpath.golden.aie_ml_v2.matmul.explain import explain_chain, explain_lane
from bitpath.golden.aie_ml_v2.matmul.matmul import FLOAT_FORMATS, Program, matmul_program
from bitpath.golden.aie_ml_v2.operands.layout import MxBlocks
from bitpath.golden.arrays.arguments import checked, integer
from bitpath.golden.arrays.codec import codes_of
from bitpath.golden.explain.explanation import Explanation, output_explanation


@checked
def explain_output(
    a: np.ndarray,
    b: np.ndarray,
    output: tuple[int, int],
    step: int | None = None,
    *,
    fmt: str,
    rounding: RoundingCode | int = RoundingCode.CONV_EVEN,
    numerics: AieNumerics | None = None,
) -> Explanation:
    """Explain the output [m, n] of ``a @ b``: a line for each instruction, or the one of index `step` in full.

    Parameters
    ----------
    a, b, fmt, rounding, numerics : as `matmul_program` takes them.
    output : row and column.

    Raises
    ------
    TypeError, ValueError : as `matmul_program`; a place outside the output; a step that does not exist.
    """
    m = integer("output[0]", output[0], range(a.shape[0]))
    n = integer("output[1]", output[1], range(b.shape[1]))
    # Rows and columns are converted by themselves, so that one of each is enough.
    program = matmul_program(a[m : m + 1], b[:, n : n + 1], fmt=fmt, rounding=rounding, numerics=numerics)
    steps = _steps(program)
    tile = f"{program.tile.m}x{program.tile.k}x{program.tile.n}"
    return output_explanation(
        steps,
        step,
        title=f"{len(steps)} instructions of output [{m}, {n}], {fmt}, {tile} in mode {program.mode.name}",
        noun="instruction",
        chain=explain_chain,
        one=explain_lane,
        row=a[m],
        column=b[:, n],
    )


def _steps(program: Program) -> list[tuple[str, LaneTrace | IntegerLaneTrace]]:
    """Return the traces of the instructions of the program's first lane, each named by its range of K."""
    steps, acc = [], None
    left, right = cast(Any, program.a), cast(Any, program.b)
    trace: LaneTrace | IntegerLaneTrace
    for index in range(program.tiles[1]):
        a, b = left[0, index, 0], right[index, 0, 0]
        if isinstance(a, MxBlocks):
            trace = trace_mx_lane(program.numerics, _scalar(a), _scalar(b), acc)
        elif program.fmt in INTEGER_MODES:
            trace = trace_integer_lane(program.mode, a.tolist(), b.tolist(), acc or 0)
        else:
            x, y = ([(code, FLOAT_FORMATS[program.fmt]) for code in codes_of(each).tolist()] for each in (a, b))
            trace = trace_float_lane(program.numerics, x, y, acc)
        acc = trace.result
        first = index * program.tile.k
        steps.append((f"{index:>4}  k {first:>4}-{first + program.tile.k - 1:<4}", trace))
    return steps


def _scalar(blocks: MxBlocks) -> Block:
    """Return the only block of an array."""
    return Block(blocks.fmt, int(blocks.exponent[0]), int(blocks.shift[0]), tuple(blocks.codes[0].tolist()))
