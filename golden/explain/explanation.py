"""An explanation as text, HTML for notebooks and JSON, and the blocks of text that all machines' explanations are made of."""

import html
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from itertools import groupby
from typing import Any, SupportsFloat, TypeVar

import numpy as np

from bitpath.golden.arrays.arguments import integer
from bitpath.golden.formats.catalogue import FixedFormat, FloatFormat
from bitpath.golden.scalar.codec import Kind, Unpacked, decode
from bitpath.golden.scalar.rounding import floor_log2

# Blocks of text that the explanations of all machines are made of: codes, numbers, tables, sums, results and errors.
#
# Every number printed comes from the traces of the exact tier; only exact values, their sums and their distances from the
# result are computed here. Each machine declares the steps of its own datapath in `matmul/explain.py`.


Trace = TypeVar("Trace")


def code_text(fmt: FloatFormat | FixedFormat, code: int) -> str:
    """Write a code in hexadecimal, all digits of its width."""
    return f"0x{code:0{-(-fmt.width // 4)}x}"


def number_text(x: Unpacked) -> str:
    """Write the value of a decoded code in nine significant digits."""
    return special_text(x.kind, x.sign) if x.kind is not Kind.FINITE or x.is_zero else float_text(x.value)


def special_text(kind: Kind, sign: int) -> str:
    """Write a NaN, an infinity, or a finite number that is zero."""
    name = {Kind.NAN: "NaN", Kind.INFINITY: "infinity", Kind.FINITE: "0"}[kind]
    return f"-{name}" if sign and kind is not Kind.NAN else name


def float_text(value: SupportsFloat) -> str:
    """Write a number in nine significant digits."""
    return f"{float(value):.9g}"


def result_text(fmt: FloatFormat, code: int) -> str:
    """Write a code and its value: 0x3f800000 = 1."""
    return f"{code_text(fmt, code)} = {number_text(decode(fmt, code))}"


def fields_text(fmt: FloatFormat | FixedFormat, code: int) -> str:
    """Write a code, its fields in binary, and its value: 0x38 0.0111.000 = 1."""
    bits = f"{code:0{fmt.width}b}"
    if isinstance(fmt, FixedFormat):
        return f"{code_text(fmt, code)} {bits} = {number_text(decode(fmt, code))}"
    exponent_end = fmt.signed + fmt.exponent_bits
    fields = ".".join((bits[: fmt.signed], bits[fmt.signed : exponent_end], bits[exponent_end:]))
    return f"{code_text(fmt, code)} {fields} = {number_text(decode(fmt, code))}"


def exact_text(value: Fraction) -> str:
    """Write a dyadic fraction without loss, as C's %a does: 1 before the point, hexadecimal digits after it."""
    if value == 0:
        return "0"
    exponent = floor_log2(value)
    fraction = abs(value) / Fraction(2) ** exponent - 1
    digits = ""
    while fraction:
        digit, fraction = divmod(fraction * 16, 1)
        digits += f"{digit:x}"
    sign = "-" if value < 0 else ""
    return f"{sign}0x1{'.' if digits else ''}{digits}p{exponent:+d}"


def error_text(error: Fraction | None) -> str:
    """Write an error in units in the last place; `None` marks an infinite or NaN result or term."""
    if error is None:
        return "none: the result or a term is not finite"
    return f"{float(error):+.6g} ulp" if error else "0 ulp: exact"


def collapsed(hidden: Sequence[bool], line: Callable[[int], str], why: Callable[[int], str]) -> list[str]:
    """Return `line(k)` for each index that is not hidden, and one line "first-last  why" for each hidden run."""
    lines = []
    for is_hidden, group in groupby(range(len(hidden)), key=hidden.__getitem__):
        run = list(group)
        if is_hidden:
            name = str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}"
            lines.append(f"{name:>5}  {why(run[0])}")
        else:
            lines += map(line, run)
    return lines


def both_zero(a: Sequence[int], b: Sequence[int]) -> list[bool]:
    """Return True for each pair of codes that are both 0: the pairs that explanations hide."""
    return [x == y == 0 for x, y in zip(a, b, strict=True)]


def chain_lines(
    steps: Sequence[tuple[str, Trace]], head: str, row: Callable[[Trace], str], *, title: str = "", noun: str
) -> list[str]:
    """Return a head and one line for each step of a chain, each headed by the step's name.

    Raises
    ------
    ValueError : `steps` is empty.
    """
    if not steps:
        raise ValueError(f"steps must hold at least one {noun}, not none")
    width = max(len(name) for name, _ in steps)
    return [f"{title:>{width}}  {head}", *(f"{name:<{width}}  {row(trace)}" for name, trace in steps)]


def error_lines(exact: Fraction | None, shown: str, error: Fraction | None) -> list[str]:
    """Return the lines of the exact value, as text, and of the result's error; `exact` None: a term is not finite."""
    if exact is None:
        return ["exact        none: a NaN or an infinity takes part"]
    return [f"exact        {shown}", f"error        {error_text(error)}"]


def normalisation_text(total: int, field: str, offset: int, fraction_bits: int, rounding: str) -> str:
    """Write where an integer sum's leading one is, the exponent there, and the bits that rounding discards.

    Parameters
    ----------
    field, offset : name of the exponent, and its value less the position of the leading one.
    fraction_bits : fraction bits kept below the leading one.
    """
    position = floor_log2(Fraction(total))
    text = f"normalise    leading one at bit {position}, {field} {position + offset}"
    discarded = position - fraction_bits
    if discarded <= 0:
        return text
    part = Fraction(abs(total) % (1 << discarded), 1 << discarded)
    return f"{text}, {discarded} bits rounded off ({rounding}): {float(part):.6g} of the last place"


LABEL = 13
"""Columns of a line before its text."""


@dataclass(frozen=True)
class Explanation:
    """How a machine computes one output, step by step. ``str`` gives the text; a notebook shows the HTML.

    Attributes
    ----------
    text : the lines that ``bitpath explain`` prints.
    steps : name and trace of each step, in the machine's order; traces are the exact twins'.
    result : the code of the output; for formats of integers of AIE-ML v2 the number.
    """

    text: str
    steps: tuple[tuple[str, Any], ...]
    result: int

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """Return the text as one block of fixed width, with the labels of lines in bold."""
        return f'<pre style="line-height: 1.3">{"<br>".join(map(_marked, self.text.splitlines()))}</pre>'

    def to_json(self) -> str:
        """Return name and fields of each step as JSON; exact fractions as "numerator/denominator"."""
        return json.dumps(
            [{"name": name.strip(), "result": trace.result, **plain(trace)} for name, trace in self.steps], indent=2
        )


def output_explanation(
    steps: Sequence[tuple[str, Any]],
    step: int | None,
    *,
    title: str,
    noun: str,
    chain: Callable[[Sequence[tuple[str, Any]]], str],
    one: Callable[[Any], str],
    row: np.ndarray,
    column: np.ndarray,
) -> Explanation:
    """Return the explanation of a chain of steps with the float64 product of `row` and `column`, or of one step in full.

    Raises
    ------
    TypeError, ValueError : `step` is no index of a step.
    """
    if step is not None:
        name, trace = steps[integer("step", step, range(len(steps)))]
        return Explanation(f"{noun} {name}\n{one(trace)}", ((name, trace),), trace.result)
    text = f"{title}\n{chain(steps)}\n{float64_line(row, column, 'conversion')}"
    return Explanation(text, tuple(steps), steps[-1][1].result)


def float64_line(row: np.ndarray, column: np.ndarray, before: str) -> str:
    """Return the line of the product in float64, which shows the errors of conversion and rounding together."""
    reference = float(row.astype(np.float64) @ column.astype(np.float64))
    return f"float64      {reference:.9g}, of the matrices before {before}"


def plain(value: Any) -> Any:
    """Return a trace as JSON has it: dataclasses as objects, enums and formats by name, exact fractions as text."""
    if isinstance(value, FloatFormat):
        return value.name
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    return value


def _marked(line: str) -> str:
    label, text = line[:LABEL], line[LABEL:]
    if label.strip() and label[0].isalpha() and label.endswith(" "):
        return f"<b>{html.escape(label)}</b>{html.escape(text)}"
    return html.escape(line)
