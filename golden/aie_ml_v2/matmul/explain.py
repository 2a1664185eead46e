"""How AIE-ML v2 computes an output of a matmul: one multiply-accumulate of a lane, and the chain of its instructions."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, cast

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import MX_BIAS, MX_NAN_EXPONENT, MxFormat, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.modes import INTEGER_MODES
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.exact import (
    Block,
    IntegerLaneTrace,
    LaneTrace,
    Term,
    trace_float_lane,
    trace_integer_lane,
    trace_mx_lane,
)
from bitpath.golden.aie_ml_v2.exact.fused import QUARTERS
from bitpath.golden.aie_ml_v2.matmul.matmul import FLOAT_FORMATS, Program, matmul_program
from bitpath.golden.aie_ml_v2.operands.layout import MxBlocks
from bitpath.golden.arrays.arguments import checked, integer
from bitpath.golden.arrays.codec import codes_of
from bitpath.golden.explain.explanation import (
    Explanation,
    both_zero,
    chain_lines,
    collapsed,
    error_lines,
    fields_text,
    float_text,
    normalisation_text,
    output_explanation,
    result_text,
    special_text,
)
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.rounding import floor_log2, ulp

ALIGNMENT = f"{'value':<18}{'code':>5}{'moved':>7}{'on the grid':>13}"
"""Head of the columns that `_alignment` fills."""


def explain_lane(trace: LaneTrace | IntegerLaneTrace) -> str:
    """Return lines that show one instruction's work on one lane.

    Codes are hexadecimal with their fields in binary. A term's code is the exponent that it is aligned by, the largest
    one's weight is ``2**(code - 255)``.
    """
    return "\n".join(_integer(trace) if isinstance(trace, IntegerLaneTrace) else _float(trace))


def explain_chain(steps: Sequence[tuple[str, LaneTrace | IntegerLaneTrace]]) -> str:
    """Return one line for each instruction, headed by its name, and a summary.

    Raises
    ------
    ValueError : `steps` is empty.
    """
    final = steps[-1][1] if steps else None
    if isinstance(final, IntegerLaneTrace):
        head = f"{'sum of products':<22}accumulator"
        lines = chain_lines(steps, head, lambda each: f"{sum(each.products):<22}{each.result}", noun="instruction")
        return "\n".join([*lines, f"result       {final.result}"])
    head = f"{'largest code':<14}{'sum of products':<18}{'accumulator':<32}error in ulp"
    floats = cast(Sequence[tuple[str, LaneTrace]], steps)
    lines = chain_lines(floats, head, _chain_row, noun="instruction")
    lines = [f"numerics     {_numerics(final.numerics)}", *lines, f"result       {result_text(FP32, final.result)}"]
    if any(each.exact is None for _, each in floats):
        return "\n".join([*lines, *error_lines(None, "", None)])
    first = floats[0][1]
    exact = first.exact - _products(first) + sum((_products(each) for _, each in floats), Fraction(0))
    shown = f"{float(exact):.17g}, of the products of {'codes' if isinstance(final.a, Block) else 'floats'}"
    return "\n".join([*lines, *error_lines(exact, shown, _error(final.result, exact))])


def _chain_row(each: LaneTrace) -> str:
    code = "-" if each.exponent is None else str(each.exponent)
    products = "not finite" if each.exact is None else float_text(_products(each))
    error = _error(each.result, each.exact)
    shown = "-" if error is None else f"{float(error):+.4g}"
    return f"{code:<14}{products:<18}{result_text(FP32, each.result):<32}{shown}"


def _float(trace: LaneTrace) -> list[str]:
    lines = [f"numerics     {_numerics(trace.numerics)}", f"operation    {_operation(trace)}"]
    lines += _blocks(trace) if isinstance(trace.a, Block) else []
    lines += _terms(trace)
    if trace.exact is None:
        return [*lines, "sum          a NaN or an infinity decides", f"result       {result_text(FP32, trace.result)}"]
    if trace.exponent is None:
        return [*lines, "sum          no term that is not 0", f"result       {result_text(FP32, trace.result)}"]
    return [
        *lines,
        f"maximum      code {trace.exponent}: the grid is 2**{floor_log2(trace.unit)}",
        f"sum          {trace.total} = {float_text(trace.total * trace.unit)}",
        *_normalisation(trace),
        f"result       {result_text(FP32, trace.result)}",
        *error_lines(
            trace.exact,
            f"{float(trace.exact):.17g}, of the terms before they were aligned",
            _error(trace.result, trace.exact),
        ),
    ]


def _numerics(numerics: AieNumerics) -> str:
    roundings = (
        f"terms {numerics.align_rounding.name}",
        f"accumulators {numerics.accumulator_align_rounding.name}",
        f"result {numerics.result_rounding.name}",
    )
    return f"{numerics.align_fraction_bits} fraction bits; {', '.join(roundings)}"


def _operation(trace: LaneTrace) -> str:
    products, *accumulators = ("-" if each else "+" for each in trace.negated)
    given = [
        f" {sign} {name}"
        for sign, name, acc in zip(accumulators, ("acc1", "acc2"), (trace.acc1, trace.acc2), strict=True)
        if acc is not None
    ]
    return f"{'-' if products == '-' else ''}products{''.join(given)}"


def _blocks(trace: LaneTrace) -> list[str]:
    """Return the lines of a block pair up to the sums of its products."""
    a, b = pair = cast(tuple[Block, Block], (trace.a, trace.b))
    lines = [_block(trace, name, each) for name, each in zip("ab", pair, strict=True)]
    if not trace.post_add:
        return lines
    places = sum(each.exponent - MX_BIAS + 1 - each.fmt.magnitude_bits for each in pair)
    lines.append(f"{'k':>5}  {'a: shift, code':<26}{'b: shift, code':<26}{'shifts':>6}{'product':>10}{'in T':>10}")
    lines += collapsed(both_zero(a.codes, b.codes), lambda k: _pair(pair, trace.products[k], k), lambda _: "codes 0")
    left = trace.numerics.align_fraction_bits - 2 * a.fmt.magnitude_bits
    lines.append(
        f"post-add     product in units of 2**{places}, T in quarters of them; T << {left} is on the grid of its code"
    )
    return lines


def _block(trace: LaneTrace, name: str, block: Block) -> str:
    start = f"block {name}      {block.fmt.name}, exponent {block.exponent:#04x}"
    if trace.numerics.mx_nan_block and block.exponent == MX_NAN_EXPONENT:
        return f"{start}: NaN"
    start = f"{start} = 2**{block.exponent - MX_BIAS}"
    return f"{start}, shifts {block.shift:0{block.fmt.elements // 2}b} (pair 0 last)" if block.fmt.has_shifts else start


def _pair(pair: tuple[Block, Block], product: Fraction, k: int) -> str:
    sides = "".join(
        f"{f'{block.shift_of(k)} {block.codes[k]:>4} = {float_text(block.value(k))}':<26}" for block in pair
    )
    shifts = sum(block.shift_of(k) for block in pair)
    return f"{k:>5}  {sides}{shifts:>6}{float(product):>10.9g}{int(product * QUARTERS):>10}"


def _terms(trace: LaneTrace) -> list[str]:
    """Return the lines of terms and accumulators, each with its way onto the grid."""
    accumulators = [
        (name, fields_text(FP32, code))
        for name, code in (("acc1", trace.acc1), ("acc2", trace.acc2))
        if code is not None
    ]
    products = trace.product_terms
    if isinstance(trace.a, Block):
        names = [(_range(trace.a.fmt, i, len(products)), f"T {total}") for i, total in enumerate(trace.post_add)]
        names = names or [("T", "")]
        hidden = [False] * len(products)
    else:
        sides = cast(tuple[Any, Any], (trace.a, trace.b))
        columns = [[fields_text(fmt, code) for code, fmt in side] for side in sides]
        left = max((len(each) for each in columns[0]), default=0) + 2
        names = [(str(k), f"{x:<{left}}{y}") for k, (x, y) in enumerate(zip(*columns, strict=True))]
        hidden = both_zero(*([code for code, _ in side] for side in sides))
    width = max(len(text) for _, text in (*names, *accumulators)) + 2
    rows = [
        f"{name:>5}  {text:<{width}}{_alignment(trace, term)}"
        for (name, text), term in zip((*names, *accumulators), trace.terms, strict=True)
    ]
    title = "" if isinstance(trace.a, Block) else "operands a and b"
    return [
        f"{'k':>5}  {title:<{width}}{ALIGNMENT}",
        *collapsed(hidden, lambda k: rows[k], lambda _: "zeros"),
        *rows[len(products) :],
    ]


def _range(fmt: MxFormat, index: int, count: int) -> str:
    """Return the range of elements that sum `index` of `count` adds."""
    size = fmt.elements // count
    return str(index) if size == 1 else f"{index * size}-{index * size + size - 1}"


def _alignment(trace: LaneTrace, term: Term) -> str:
    """Show a term's value, its code, its distance below the largest exponent, and the bits kept on the grid."""
    if term.kind is not Kind.FINITE:
        return special_text(term.kind, term.sign)
    value = f"{float_text(term.value):<18}"
    if term.exponent is None:
        return f"{value}{'-':>5}"
    if trace.exponent is None:
        return f"{value}{term.exponent:>5}"
    lost = term.value / trace.unit - term.aligned
    text = f"{value}{term.exponent:>5}{trace.exponent - term.exponent:>7}{term.aligned:>13}"
    return f"{text}  rounded off {float(lost):+.6g}" if lost else text


def _normalisation(trace: LaneTrace) -> list[str]:
    if trace.total == 0:
        return []
    numerics = trace.numerics
    offset = trace.exponent - numerics.align_fraction_bits - FP32.bias - 1
    text = normalisation_text(trace.total, "exponent field", offset, FP32.fraction_bits, numerics.result_rounding.name)
    result = trace.result & ~FP32.sign_mask
    if result == 0:
        text += "; below the normal numbers, zero"
    if result == FP32.infinity_code:
        text += "; overflow"
    return [text]


def _integer(trace: IntegerLaneTrace) -> list[str]:
    mode = trace.mode
    lines = [
        f"mode         {mode.name}, {mode.lanes} lanes of {mode.lane_bits} bits",
        f"{'k':>5}  {'a':>11}{'b':>11}{'product':>22}",
        *collapsed(
            both_zero(trace.a, trace.b),
            lambda k: f"{k:>5}  {trace.a[k]:>11}{trace.b[k]:>11}{trace.products[k]:>22}",
            lambda _: "zeros",
        ),
    ]
    for name, addend in zip(("acc1", "acc2"), trace.addends, strict=True):
        lines.append(f"{name:>5}  {'':>22}{addend:>22}")
    wrapped = "" if trace.result == trace.total else f", wrapped to {mode.lane_bits} bits"
    return [*lines, f"sum          {trace.total}{wrapped}", f"result       {trace.result}"]


def _products(trace: LaneTrace) -> Fraction:
    return sum((term.value for term in trace.product_terms), Fraction(0))


def _error(result: int, exact: Fraction | None) -> Fraction | None:
    got = decode(FP32, result)
    if exact is None or got.kind is not Kind.FINITE:
        return None
    return (got.value - exact) / ulp(FP32, exact)


# Explanation of one output of a matmul on AIE-ML v2: the instructions that its lane executes.


@checked
def explain_output(
    a: np.ndarray,
    b: np.ndarray,
    output: tuple[int, int],
    step: int | None = None,
    *,
    format: str,
    rounding: RoundingCode | int = RoundingCode.CONV_EVEN,
    numerics: AieNumerics | None = None,
) -> Explanation:
    """Explain the output [m, n] of ``a @ b``: a line for each instruction, or the one of index `step` in full.

    Parameters
    ----------
    a, b, format, rounding, numerics : as `matmul_program` takes them.
    output : row and column.

    Raises
    ------
    TypeError, ValueError : as `matmul_program`; a place outside the output; a step that does not exist.
    """
    m = integer("output[0]", output[0], range(a.shape[0]))
    n = integer("output[1]", output[1], range(b.shape[1]))
    # Rows and columns are converted by themselves, so that one of each is enough.
    program = matmul_program(a[m : m + 1], b[:, n : n + 1], format=format, rounding=rounding, numerics=numerics)
    steps = _steps(program)
    tile = f"{program.tile.m}x{program.tile.k}x{program.tile.n}"
    return output_explanation(
        steps,
        step,
        title=f"{len(steps)} instructions of output [{m}, {n}], {format}, {tile} in mode {program.mode.name}",
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
