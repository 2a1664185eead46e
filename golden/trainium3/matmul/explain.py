"""How Trainium3 computes an output of a matmul: a PE's dot step, the chain down a column, and PSUM after each nc_matmul_mx."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from bitpath.golden.arrays.arguments import checked, integer
from bitpath.golden.explain.explanation import (
    Explanation,
    chain_lines,
    code_text,
    error_lines,
    error_text,
    exact_text,
    fields_text,
    float64_line,
    float_text,
    result_text,
    special_text,
)
from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.golden.formats.dot import DotNumerics
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.dot import DotTrace, Term, general, trace_dot_product
from bitpath.golden.scalar.rounding import floor_log2, ulp
from bitpath.golden.trainium3.declarations.quad_mx import SCALE_PARTITIONS
from bitpath.golden.trainium3.exact.array import psum_write
from bitpath.golden.trainium3.matmul.instruction import check_numerics
from bitpath.golden.trainium3.matmul.matmul import MatmulInstruction, matmul_program
from bitpath.golden.trainium3.matmul.nc_matmul_mx import as_fp8
from bitpath.golden.trainium3.operands.layout import KOrder
from bitpath.golden.trainium3.operands.quantize_mx import ScaleRuleName


def explain_dot_step(trace: DotTrace) -> str:
    """Return lines that show a step: decoded elements, scales, products, alignment, sum, rounding, error in ulp.

    Exact numbers are written in hexadecimal with a binary exponent, as C's %a does: 0x1.8p+1 is 3.
    """
    titles = f"stationary {trace.stationary_format.name}", f"moving {trace.moving_format.name}"
    whole = general(trace.numerics)
    columns = 54 if trace.stationary_format.width > 16 else 34
    lines = [
        f"numerics     {_numerics(trace.numerics)}",
        *_scales(trace)[: whole.scales],
        f"lane  {titles[0]:<{columns}}{titles[1]:<{columns}}product{' with scales' if whole.scales else ''}",
        *_lanes(trace, columns),
        f"partial sum  {code_text(whole.partial_format, trace.partial_sum)} = {_term(trace.terms[-1])}",
        *_sum(trace),
        f"result       {result_text(whole.result_format, trace.result)}",
        f"error        {error_text(trace.error_ulp)}",
    ]
    return "\n".join(lines)


def explain_dot_product(steps: Sequence[DotTrace]) -> str:
    """Return one line for each step of a chain, and a summary with the exact value and the final error.

    Raises
    ------
    ValueError : `steps` is empty.
    """
    lines = chain_lines(
        [(f"{row:>4}", step) for row, step in enumerate(steps)],
        f"{'sum of products':<34}{'partial sum out':<46}error in ulp",
        _chain_row,
        title="row",
        noun="step",
    )
    first, last = steps[0], steps[-1]
    lines = [f"numerics     {_numerics(first.numerics)}", *lines, f"result       {result_text(FP32, last.result)}"]
    final = decode(FP32, last.result)
    if any(step.exact is None for step in steps) or final.kind is not Kind.FINITE:
        return "\n".join([*lines, *error_lines(None, "", None)])
    exact = first.terms[-1].value + sum(map(_products, steps))
    error = (final.value - exact) / ulp(first.numerics.accumulator, exact)
    return "\n".join([*lines, *error_lines(exact, f"{exact_text(exact)} = {float(exact):.17g}", error)])


def _chain_row(step: DotTrace) -> str:
    products = "not finite" if step.exact is None else exact_text(_products(step))
    error = "-" if step.error_ulp is None else f"{float(step.error_ulp):+.4g}"
    return f"{products:<34}{result_text(FP32, step.result):<46}{error}"


def _products(step: DotTrace) -> Fraction:
    return sum((term.value for term in step.terms[:-1]), Fraction(0))


def _numerics(numerics: DotNumerics) -> str:
    bits = numerics.align_fraction_bits
    kind = "exact sum" if bits is None else f"sum aligned to {bits} fraction bits ({numerics.align_rounding.name})"
    whole = general(numerics)
    products = "" if whole.product_rounding is None else f"products rounded {whole.product_rounding}, "
    return f"{products}{kind}, one {numerics.accumulator_rounding.name} rounding to {whole.rounded_format.name}"


def _scales(trace: DotTrace) -> list[str]:
    sides = (("stationary", trace.stationary_scale), ("moving", trace.moving_scale))
    scale_format = trace.numerics.scale_format
    return [f"scale        {name:<11}{code:#04x} = {_scale(scale_format, code)}" for name, code in sides]


def _scale(fmt: FloatFormat, code: int) -> str:
    scale = decode(fmt, code)
    return f"2**{scale.exponent}" if scale.kind is Kind.FINITE else "NaN code"


def _lanes(trace: DotTrace, columns: int) -> list[str]:
    lanes = zip(trace.stationary_codes, trace.moving_codes, trace.terms[:-1], strict=True)
    formats = trace.stationary_format, trace.moving_format
    return [
        "".join(
            [f"{i:>4}  ", *(f"{fields_text(fmt, code):<{columns}}" for fmt, code in zip(formats, codes, strict=True))]
        )
        + _term(product)
        for i, (*codes, product) in enumerate(lanes)
    ]


def _sum(trace: DotTrace) -> list[str]:
    """Return the lines between the terms and the result."""
    if trace.total is None:
        return ["sum          a NaN or an infinity decides"]
    lines = []
    if trace.align_exponent is not None:
        grid = trace.align_exponent - trace.numerics.align_fraction_bits
        lines.append(f"alignment    largest exponent {trace.align_exponent}, grid 2**{grid}")
        for i, (term, aligned) in enumerate(zip(trace.terms, trace.aligned, strict=True)):
            name = f"lane {i}" if i < trace.numerics.terms else "partial sum"
            lost = term.value - aligned
            lines.append(f"  {name:<13}{exact_text(aligned)}" + (f"  loses {exact_text(lost)}" if lost else ""))
        lines.append(f"aligned sum  {exact_text(trace.total)}")
    lines.append(f"exact sum    {exact_text(trace.exact)} = {float(trace.exact):.17g}")
    return [*lines, f"rounding     {_rounding(trace.numerics, trace.total)}"]


def _rounding(numerics: DotNumerics, total: Fraction) -> str:
    last_place = ulp(general(numerics).rounded_format, total)
    remainder = abs(total) / last_place % 1
    return f"{numerics.accumulator_rounding.name}, last place 2**{floor_log2(last_place)}, {float(remainder):.6g} of it remain"


def _term(term: Term) -> str:
    if term.exponent is None:
        return special_text(term.kind, term.sign)
    return f"{exact_text(term.value)} = {float_text(term.value)}, exponent {term.exponent}"


# Explanation of one output of a matmul on Trainium3: the rows of each nc_matmul_mx, and PSUM after it.


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
    k_order: KOrder = "interleaved",
    numerics: DotNumerics | None = None,
) -> Explanation:
    """Explain the output [m, n] of ``a @ b``: a line for each row of PEs, or the one of index `step` in full.

    Parameters
    ----------
    a, b, a_format, b_format, scale_rule, k_order : as `matmul_program` takes them.
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
    program = matmul_program(row, column, a_format=a_format, b_format=b_format, scale_rule=scale_rule, k_order=k_order)
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
