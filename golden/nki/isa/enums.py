"""Enumerations of ``nki.isa``, with the vendor's names.

Ref: ``nki.isa`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08-21).
"""

from collections.abc import Callable
from enum import Enum
from typing import Any

from bitpath.golden.nki.machine.core import nc_version, present_core
from bitpath.golden.nki.machine.issue import Issue
from bitpath.golden.nki.machine.release import check_instruction

# Operators and functions as kernels give them, ``nl.add`` or ``np.add``, by the names that golden takes.


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


__all__ = [
    "dge_mode",
    "dma_engine",
    "engine",
    "engine_name",
    "get_nc_sub_version",
    "get_nc_version",
    "matmul_perf_mode",
    "nc_version",
    "oob_mode",
    "reduce_cmd",
    "word",
]


class engine(Enum):
    unknown = 0
    tensor = 1
    scalar = 2
    gpsimd = 3
    dma = 4
    vector = 5
    sync = 6


class reduce_cmd(Enum):
    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3
    load_reduce = 4


class dge_mode(Enum):
    unknown = 0
    swdge = 1
    hwdge = 2
    none = 3


class oob_mode(Enum):
    error = 0
    skip = 1


class matmul_perf_mode(Enum):
    none = "none"
    double_row = "double_row"
    double_row_gen3 = "double_row"  # the spelling of 2025


class dma_engine(Enum):
    dma = 1
    gpsimd_dma = 2


def engine_name(chosen: engine | None, default: str) -> str:
    """Return the name of a chosen engine; the default for None and unknown."""
    return default if chosen in (None, engine.unknown) else chosen.name


def word(text: str) -> Any:
    """Return a text as the literal that golden takes; golden checks it."""
    return text


def get_nc_version() -> nc_version:
    """Return the generation whose limits hold."""
    return present_core().options.limits.version


def get_nc_sub_version() -> int:
    """Return the revision of the silicon."""
    options = present_core().options
    check_instruction(options.own_release, "get_nc_sub_version")
    return options.sub_version
