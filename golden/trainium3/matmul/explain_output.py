"""Explanation of one output of a matmul on Trainium3: the rows of each nc_matmul_mx, and PSUM after it."""

import numpy as np

from bitpath.golden.arrays.arguments import checked, integer
from bitpath.golden.explain.explanation import Explanation, float64_line
from bitpath.golden.explain.text import float_text
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.quad_mx import SCALE_PARTITIONS, DotNumerics
from bitpath.golden.trainium3.exact.dot import DotTrace, psum_write, trace_dot_product
from bitpath.golden.trainium3.matmul.explain import explain_dot_product, explain_dot_step
from bitpath.golden.trainium3.matmul.instruction import check_numerics
from bitpath.golden.trainium3.matmul.matmul import MatmulInstruction, matmul_program
from bitpath.golden.trainium3.matmul.nc_matmul_mx import as_fp8
from bitpath.golden.trainium3.operands.quantize_mx import ScaleRuleName


@checked
def explain_output(
    a: np.ndarray,
    b: np.ndarray,
    output: tuple[int, int],
    step: int | None = None,
    *,
    a_format: str = "mxfp8_e4m3",
    b_format: str = "mxfp8_e4m3",
    scale_rule: ScaleRuleName = "ocp",
    numerics: DotNumerics | None = None,
) -> Explanation:
    """Explain the output [m, n] of ``a @ b``: a line for each row of PEs, or the one of index `step` in full.

    Parameters
    ----------
    a, b, a_format, b_format, scale_rule : as `matmul_program` takes them.
    output : row and column.
    numerics : None is nc_matmul_mx's.

    Raises
    ------
    TypeError, ValueError : as `matmul_program`; a place outside the output; a step that does not exist.
    """
    m = integer("output[0]", output[0], range(a.shape[0]))
    n = integer("output[1]", output[1], range(b.shape[1]))
    numerics = check_numerics(numerics)
    # Rows and columns are quantised by themselves, so that one of each is enough.
    row, column = a[m : m + 1], b[:, n : n + 1]
    program = matmul_program(row, column, a_format=a_format, b_format=b_format, scale_rule=scale_rule)
    lines, steps, psum = [], [], None
    for index, each in enumerate(program, 1):
        rows = _rows(numerics, each)
        lines.append(f"nc_matmul_mx {index} of {len(program)}, {len(rows)} rows, output [{m}, {n}]")
        lines.append(explain_dot_product(rows))
        psum = psum_write(rows[-1].result, psum, FP32)
        lines.append(f"PSUM         {psum:#010x} = {float_text(np.uint32(psum).view(np.float32))}")
        steps += [(f"instruction {index}, row {row}", trace) for row, trace in enumerate(rows)]
    if step is not None:
        name, trace = steps[integer("step", step, range(len(steps)))]
        return Explanation(explain_dot_step(trace), ((name, trace),), trace.result)
    text = "\n".join([*lines, float64_line(a[m], b[:, n], "quantisation")])
    return Explanation(text, tuple(steps), psum)


def _rows(numerics: DotNumerics, each: MatmulInstruction) -> tuple[DotTrace, ...]:
    """Return the traces of the steps down the first column."""
    x, x_format = as_fp8(numerics, "stationary", each.stationary[:, 0])
    y, y_format = as_fp8(numerics, "moving", each.moving[:, 0])
    x_scales, y_scales = (
        [int(code) for code in scale.repeat(SCALE_PARTITIONS)]
        for scale in (each.stationary_scale[:, 0], each.moving_scale[:, 0])
    )
    return trace_dot_product(numerics, x.tolist(), x_format, y.tolist(), y_format, x_scales, y_scales)
