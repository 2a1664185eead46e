"""Tables of signal groups and number formats for save files; the first match wins."""

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
"""Name, width and format of number signals. Elements are displayed as E4M3FN and as E5M2, because the format is selected at run
time. SrcA and SrcB words are displayed as TF32, which includes BF16.
"""


def groups_of(unit: str) -> tuple[WaveGroup, ...]:
    """Return the unit's groups in display order."""
    return UNITS[unit].waves if unit in UNITS else DEFAULT_WAVES


def group_of(unit: str, path: str) -> str | None:
    """Return the title of a signal's group."""
    return next((group.title for group in groups_of(unit) if re.match(group.pattern, path)), None)


def format_of(path: str, width: int) -> FloatFormat | None:
    """Return the number format of a signal, or None."""
    for pattern, wide, fmt in FORMATS:
        if width == wide and re.match(pattern, path):
            return fmt
    return None
