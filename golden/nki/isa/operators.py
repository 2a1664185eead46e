"""Operators and functions as kernels give them, ``nl.add`` or ``np.add``, by the names that golden takes."""

from collections.abc import Callable
from typing import Any

from bitpath.golden.nki.machine.issue import Issue

UNARY = ("abs", "square", "relu", "rsqrt", "reciprocal", "bitwise_not", "logical_not")
"""Operators that ignore their operand."""
BIT_OPERATORS = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "left_shift", "right_shift")

GOLDEN_NAMES = {
    "maximum": "max",
    "minimum": "min",
    "absolute": "abs",
    "invert": "bitwise_not",
    "divide": "divide",
    "true_divide": "divide",
}
"""Names of ``nl`` and numpy that differ from golden's."""


def operator_name(issue: Issue, parameter: str, op: Callable | str | None) -> str:
    """Return golden's name of an operator or function.

    Raises NkiValidationError for anything without a name.
    """
    name: Any = op if isinstance(op, str) else getattr(op, "__name__", None)
    if not isinstance(name, str):
        raise issue.fail(f"{parameter}: must be a function of nki.language, not {op!r}")
    return GOLDEN_NAMES.get(name, name)


def scalar_step(
    issue: Issue, number: str, op: Callable | str, operand: Any, partitions: int, *, reverse: bool = False
) -> tuple[str, Any, bool]:
    """Return name, operand and order of an operator with a scalar operand, which is FP32 in arithmetic."""
    name = operator_name(issue, f"op{number}", op)
    if name in UNARY:
        return name, None, False
    return (
        name,
        issue.scalar(f"operand{number}", operand, partitions, None if name in BIT_OPERATORS else ("float32",)),
        reverse,
    )
