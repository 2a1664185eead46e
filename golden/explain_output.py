"""Explanation of one output of a matmul on any machine."""

from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import checked, operand
from bitpath.golden.explain.explanation import Explanation
from bitpath.golden.matmul import find_arguments
from bitpath.golden.scalar.checked import as_numpy


@checked
def explain(
    a: Any,
    b: Any,
    *,
    format: str,
    machine: str | None = None,
    output: tuple[int, int] = (0, 0),
    step: int | None = None,
    numerics: Any = None,
    **options: Any,
) -> Explanation:
    """Explain how a machine computes the output [m, n] of [M, K] @ [K, N].

    Parameters
    ----------
    a, b, format, machine, numerics, options : as `matmul` takes them, without leading axes. A vector `a` is one row, a vector
        `b` one column.
    output : m and n.
    step : index of one step, an MVMUL, an instruction or a row of PEs, which is explained in full; None has a line for each.

    Raises
    ------
    TypeError, ValueError : as `matmul`; an output outside the result; a step that does not exist.
    """
    record, arguments = find_arguments(machine, format, numerics, options)
    if record.explain is None:
        raise ValueError(f"format must be one whose outputs have an explanation, not {record.name}'s {format!r}")
    sides = []
    for name, value, shape in (("a", a, (1, -1)), ("b", b, (-1, 1))):
        array = as_numpy(name, value)
        array = operand(name, array.reshape(shape) if array.ndim == 1 else array, format in record.integers)
        if array.ndim != 2:
            raise ValueError(f"{name} must have one or two dimensions, not shape {array.shape}")
        sides.append(np.ascontiguousarray(array))
    return record.explain(*sides, output, step, **arguments)
