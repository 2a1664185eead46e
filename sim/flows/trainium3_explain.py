"""Text that ``bitpath explain trainium3`` prints: one step of a PE, or an output of a matmul."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bitpath.golden import exact
from bitpath.golden.arrays.arguments import one_of
from bitpath.golden.explain.text import float_text
from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.golden.trainium3 import MatmulInstruction, matmul_program
from bitpath.golden.trainium3.declarations.dot import DotNumerics
from bitpath.golden.trainium3.declarations.quad_mx import SCALE_PARTITIONS
from bitpath.golden.trainium3.matmul.explain import explain_dot_product, explain_dot_step
from bitpath.golden.trainium3.matmul.nc_matmul_mx import as_fp8
from bitpath.sim.flows.explain_arguments import output_place
from bitpath.sim.flows.trainium3_matmul import formats_of


def step(numerics: DotNumerics, elements: Sequence[tuple[str, str, str]], scales: str, partial: str) -> str:
    """Explain one step of a PE.

    Raises ValueError for an unknown format, another number of codes, or codes that are wider than their format.

    Parameters
    ----------
    elements : option, format name and codes of the stationary and of the moving side.
    scales, partial : hexadecimal codes: stationary and moving scale, FP32 partial sum.
    """
    formats = {fmt.name: fmt for fmt in numerics.element_formats}
    operands: list[Any] = []
    for option, name, text in elements:
        if name not in formats:
            raise ValueError(f"{option}-format must be {one_of(formats)}, not {name!r}")
        operands += [_codes(option, text, numerics.terms, formats[name]), formats[name]]
    operands += _codes("--scales", scales, 2, numerics.scale_format)
    operands += _codes("--partial", partial, 1, FP32)
    return explain_dot_step(exact.trace_dot_step(numerics, *operands))


def dot_product(
    numerics: DotNumerics, a: np.ndarray, b: np.ndarray, format_name: str, place: str, row: int | None
) -> str:
    """Explain the output at ``place`` ("M,N") of ``a @ b``: the rows of each instruction and the content of PSUM after it.

    Raises ValueError for a place outside the output, for a row outside the array, and as `matmul_program`.
    """
    m, n = output_place(place, a.shape[0], b.shape[1])
    a_format, b_format = formats_of(format_name)
    program = matmul_program(a, b, a_format=a_format, b_format=b_format)
    group = [each for each in program if _holds(each.output[0], m) and _holds(each.output[1], n)]
    lines, psum, first_row = [], None, 0
    for index, each in enumerate(group):
        steps = _steps(numerics, each, m - each.output[0].start, n - each.output[1].start)
        if row is not None and first_row <= row < first_row + len(steps):
            return explain_dot_step(steps[row - first_row])
        first_row += len(steps)
        lines.append(f"nc_matmul_mx {index + 1} of {len(group)}, {len(steps)} rows, output [{m}, {n}]")
        lines.append(explain_dot_product(steps))
        psum = exact.psum_write(steps[-1].result, psum, FP32)
        lines.append(f"PSUM         {psum:#010x} = {float_text(np.uint32(psum).view(np.float32))}")
    if row is not None:
        raise ValueError(f"--row must be 0 to {first_row - 1}, not {row}")
    # float64 product of the given matrices: shows the error of quantisation and rounding together.
    reference = float(a[m].astype(np.float64) @ b[:, n].astype(np.float64))
    return "\n".join([*lines, f"float64      {reference:.9g}, of the matrices before quantisation"])


def _steps(numerics: DotNumerics, each: MatmulInstruction, m: int, n: int) -> tuple[exact.DotTrace, ...]:
    x, x_format = as_fp8(numerics, "stationary", each.stationary[:, m])
    y, y_format = as_fp8(numerics, "moving", each.moving[:, n])
    stationary_scales, moving_scales = (
        [int(code) for code in scale.repeat(SCALE_PARTITIONS)]
        for scale in (each.stationary_scale[:, m], each.moving_scale[:, n])
    )
    return exact.trace_dot_product(
        numerics, x.tolist(), x_format, y.tolist(), y_format, stationary_scales, moving_scales
    )


def _holds(extent: slice, index: int) -> bool:
    return extent.start <= index < extent.stop


def _codes(name: str, text: str, count: int, fmt: FloatFormat) -> list[int]:
    try:
        codes = [int(word, 16) for word in text.split(",")]
    except ValueError:
        codes = []
    if len(codes) != count or not all(0 <= code < 1 << fmt.width for code in codes):
        wanted = f"{count} hexadecimal codes" if count > 1 else "a hexadecimal code"
        raise ValueError(f"{name} must be {wanted} of {fmt.width} bits each, not {text!r}")
    return codes
