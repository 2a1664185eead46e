"""Which signals stand in which group of a save file, and which number format each shows: tables, read in order."""

import re

from bitpath.golden.formats.catalogue import BF16, E4M3FN, E8M0, FP32, TF32, FloatFormat
from bitpath.rtl.common.unit import DEFAULT_WAVES, WaveGroup
from bitpath.rtl.units import UNITS

FORMATS: tuple[tuple[str, int, FloatFormat], ...] = (
    (r".*scale$", E8M0.width, E8M0),
    (r".*(elements\[\d+\]|code)$", E4M3FN.width, E4M3FN),
    (r".*(partial|partial_(north|south)|payload|value|present|total|data)(\[\d+\])?$", FP32.width, FP32),
    (r".*(narrow\.o|bf16)$", BF16.width, BF16),
    (r".*(payload\.dst|_dst|dst_round\.o)$", FP32.width, FP32),
    (r".*(element|trial)_\d+\.i$", FP32.width, FP32),
    (
        r"lane_\d+\.((squares|statistics|normalize|quantize)\.(\w+\.)?([abio]|square|total|number|scale|element|product|factor)|largest)$",
        FP32.width,
        FP32,
    ),
    (r".*(read_[ab]_\d+_\d+\.word|write_[ab]__payload\.values\[\d+\])$", TF32.width, TF32),
)
"""Name, width and format of signals that are numbers. Elements are shown as E4M3FN and again as E5M2, since which of the
two they are is chosen at run time; words of SrcA and SrcB as TF32, which those of BF16 are too."""


def groups_of(unit: str) -> tuple[WaveGroup, ...]:
    """The unit's groups in the order in which they are shown."""
    return UNITS[unit].waves if unit in UNITS else DEFAULT_WAVES


def group_of(unit: str, path: str) -> str | None:
    """The title of the group that a signal belongs to."""
    return next((group.title for group in groups_of(unit) if re.match(group.pattern, path)), None)


def format_of(path: str, width: int) -> FloatFormat | None:
    """The number format that a signal carries, if it is a number."""
    for pattern, wide, fmt in FORMATS:
        if width == wide and re.match(pattern, path):
            return fmt
    return None
