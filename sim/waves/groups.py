"""Tables of signal groups and number formats for save files; the first match wins."""

import re

from bitpath.golden.formats.catalogue import BF16, E4M3FN, E5M2, E8M0, FP32, TF32, FloatFormat
from bitpath.rtl.common.unit import CLOCK, WaveGroup
from bitpath.rtl.units import UNITS
from bitpath.verif.kit.values import Integer

FORMATS: tuple[tuple[str, int, tuple[FloatFormat | Integer, ...]], ...] = (
    (r".*scale$", 8, (E8M0,)),
    (r".*block\.codes\[\d+\]$", 8, (Integer(8),)),
    (r".*(elements\[\d+\]|codes?(\[\d+\])?)$", 8, (E4M3FN, E5M2)),
    (r".*(partial|partial_(north|south)|payload|value|present|total|data)(\[\d+\])?$", FP32.width, (FP32,)),
    (r".*(narrow\.o|bf16)$", BF16.width, (BF16,)),
    (r".*(payload\.dst|_dst|dst_round\.o)$", FP32.width, (FP32,)),
    (r".*(element|trial)_\d+\.i$", FP32.width, (FP32,)),
    (
        r"lane_\d+\.((squares|statistics|normalize|quantize)\.(\w+\.)?([abio]|square|total|number|scale|element|product|factor)|largest)$",
        FP32.width,
        (FP32,),
    ),
    (r".*(read_[ab]_\d+_\d+\.word|write_[ab]__payload\.values\[\d+\])$", TF32.width, (TF32,)),
)
"""Name, width and formats of number signals. FP8 codes without a signal that selects their format are displayed as E4M3FN and
as E5M2; for the others see `bitpath.sim.engine.numbers.selected`. SrcA and SrcB words are displayed as TF32, which includes BF16.
"""

OTHERS = WaveGroup("others", r".")
"""Last group of a unit: the signals of none of its own groups."""
CHECKED = (CLOCK, WaveGroup("bench", r"(?!dut\.|design_)"), WaveGroup("design", r"dut\."))
"""Groups of a design that `bitpath check` ran: what the bench drives and compares, then the design."""


def groups_of(unit: str) -> tuple[WaveGroup, ...]:
    """Return the groups of a unit, or of a checked design, in display order."""
    return (*UNITS[unit].waves, OTHERS) if unit in UNITS else CHECKED


def group_of(unit: str, path: str) -> str | None:
    """Return the title of a signal's group."""
    return next((group.title for group in groups_of(unit) if re.match(group.pattern, path)), None)


def formats_of(path: str, width: int) -> tuple[FloatFormat | Integer, ...]:
    """Return the possible number formats of a signal; empty for a signal that is no number."""
    return next((formats for pattern, wide, formats in FORMATS if width == wide and re.match(pattern, path)), ())
