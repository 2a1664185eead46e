"""Layouts of controls and flags of the lane operators.

Rounding and saturation codes are those of the control registers: ``golden.aie_ml_v2.declarations``.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from amaranth import signed
from amaranth.lib import data, enum

from bitpath.golden.aie_ml_v2.declarations.codes import FLOAT_SHIFTS
from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8_FORMATS, FLOAT16_FORMATS
from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.rtl.common.config import UnitConfig, in_range

# Configuration of units of lanes.


MAX_LANES = 32
"""FloatLanes of the widest conversion of floats in the machine."""


@dataclass(frozen=True, kw_only=True)
class FloatLanesConfig(UnitConfig, unit="lanes"):
    """Configuration of the lanes of an operator.

    Attributes
    ----------
    lanes : operands of one request, 1 to 32.
    """

    lanes: int = in_range(1, MAX_LANES, 4)


ROUNDING_BITS = 4
"""Bits of a rounding code of crRnd."""
SATURATION_BITS = 2
"""Bits of crFPConvSat: finite numbers beyond the range, infinite inputs."""
SHIFT = signed((FLOAT_SHIFTS.stop - 1).bit_length() + 1)
"""Shape of the power of two that an operand is multiplied by."""


class FloatCode(enum.Enum, shape=3):
    """Codes of the formats narrower than FP32. Code 7 is E5M2FNUZ too."""

    FP16 = 0
    BF16 = 1
    E4M3 = 2
    E5M2 = 3
    E4M3FN = 4
    E4M3FNUZ = 5
    E5M2FNUZ = 6

    @property
    def fmt(self) -> FloatFormat:
        return (*FLOAT16_FORMATS, *FLOAT8_FORMATS)[self.value]

    @classmethod
    def of(cls, fmt: FloatFormat) -> "FloatCode":
        """Return the code of a declared format."""
        return cls[fmt.name]


class NarrowControl(data.Struct):
    """Target format, rounding and saturation of a conversion from FP32; ``shift`` is for 8-bit formats alone."""

    target: FloatCode
    rounding: ROUNDING_BITS
    saturation: SATURATION_BITS
    shift: SHIFT


class WidenControl(data.Struct):
    """Format of a conversion to FP32: FP16, or BF16 with ``is_bf16``."""

    is_bf16: 1


class ShiftControl(data.Struct):
    """Power of two of a conversion between floats and integers."""

    shift: SHIFT


def flags_layout(names: Iterable[str]) -> data.StructLayout:
    """Return a layout with a bit for each flag of a unit, the first one lowest."""
    return data.StructLayout(dict.fromkeys(names, 1))


TO_FLOAT_FLAGS = flags_layout(("zero", "inexact"))
"""Flags of integers to FP32: the result is 0, and it is not the exact number."""
TO_FIX_FLAGS = flags_layout(("zero", "invalid", "inexact", "huge"))
"""Flags of FP32 to integers: the result is 0, the operand is NaN, the result is not the exact number, and it is beyond 32 bits."""
