"""An explanation as an object: text, HTML for notebooks, and JSON of every step."""

import html
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import integer
from bitpath.golden.formats.catalogue import FloatFormat

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
