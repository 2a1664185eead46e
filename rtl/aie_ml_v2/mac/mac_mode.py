"""Modes of the multiply-accumulate, and the decoding of a mode in a lane that supports only some of them."""

from amaranth import Cat, Const, Value
from amaranth.lib import enum

from bitpath.golden.aie_ml_v2.declarations.modes import Mode


class MacMode(enum.Enum, shape=3):
    """Modelled rows of AM027's Table 7, as the control word's mode code."""

    INT8 = 0
    INT16 = 1
    FLOAT16 = 2
    FLOAT8 = 3
    MX6 = 4
    MX9 = 5

    @classmethod
    def of(cls, mode: Mode) -> "MacMode":
        """Return the code of a declared mode."""
        return cls[mode.name.upper()]


INTEGER_MODES = (MacMode.INT8, MacMode.INT16)
FLOAT_MODES = (MacMode.FLOAT16, MacMode.FLOAT8)
MX_MODES = (MacMode.MX6, MacMode.MX9)


def is_one_of(mode: Value, asked: tuple[MacMode, ...], modes: tuple[MacMode, ...]) -> Value:
    """Return 1 if ``mode`` is in ``asked``; a constant if the supported ``modes`` decide it."""
    possible = [each for each in asked if each in modes]
    if len(possible) == len(modes):
        return Const(1)
    return Cat(mode == each for each in possible).any()
