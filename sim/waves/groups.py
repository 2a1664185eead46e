"""Which signals stand in which group of a save file, and which number format each shows: tables, read in order."""

import re
from dataclasses import dataclass

from bitpath.golden.spec.formats import BF16, E4M3FN, E8M0, FP32, FloatFormat


@dataclass(frozen=True)
class Group:
    """Signals whose path below the top, dots between its parts, ``pattern`` matches from the start."""

    title: str
    pattern: str


CLOCK = Group("clock", r"(clk|rst)$")
INPUTS = Group("inputs", r"i__")
OUTPUT = Group("output", r"o__")
PE_INPUTS = Group("inputs", r"(moving_west|stationary_west|partial_north|load|swap_west|advance)\b")
PE_OUTPUTS = Group("outputs", r"(moving_east|stationary_east|partial_south|swap_east)\b")

DOT_GROUPS = (
    Group("decode", r"(dot\.)?decode_"),
    Group("products", r"(dot\.)?(multiply_|products)"),
    Group("sum", r"(dot\.)?sum\.(tree|add|largest|(?!align))"),
    Group("align", r"(dot\.)?(sum\.(.*\.)?align)"),
    Group("normalize", r"(dot\.)?normalize"),
    Group("round", r"(dot\.)?round"),
)

GROUPS: dict[str, tuple[Group, ...]] = {
    "quad_mx_dot": (CLOCK, INPUTS, *DOT_GROUPS, OUTPUT),
    "quad_mx_pe": (
        CLOCK,
        PE_INPUTS,
        Group("held operands", r"(stationary|second|moving|partial)\b"),
        *DOT_GROUPS,
        PE_OUTPUTS,
    ),
}
"""The groups of each unit; a signal goes to the first that matches, and one that none matches is left out."""

DEFAULT_GROUPS = (CLOCK, Group("ports and registers", r"[a-z_0-9]+(\.[a-z_0-9\[\]]+)?$"), Group("inside", r"."))
"""For a unit without a table of its own: what stands directly in it, and the rest."""

FORMATS: tuple[tuple[str, int, FloatFormat], ...] = (
    (r".*scale$", E8M0.width, E8M0),
    (r".*(elements\[\d+\]|code)$", E4M3FN.width, E4M3FN),
    (r".*(partial|partial_(north|south)|payload|value|present|total|data)(\[\d+\])?$", FP32.width, FP32),
    (r".*(narrow\.o|bf16)$", BF16.width, BF16),
)
"""Name, width and format of signals that are numbers. Elements are shown as E4M3FN and again as E5M2, since which of the
two they are is chosen at run time."""


def groups_of(unit: str) -> tuple[Group, ...]:
    """The unit's groups in the order in which they are shown."""
    return GROUPS.get(unit, DEFAULT_GROUPS)


def group_of(unit: str, path: str) -> str | None:
    """The title of the group that a signal belongs to."""
    return next((group.title for group in groups_of(unit) if re.match(group.pattern, path)), None)


def format_of(path: str, width: int) -> FloatFormat | None:
    """The number format that a signal carries, if it is a number."""
    for pattern, wide, fmt in FORMATS:
        if width == wide and re.match(pattern, path):
            return fmt
    return None
