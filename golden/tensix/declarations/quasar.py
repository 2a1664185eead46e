"""Quasar's MX formats in L1, `tensix_quasar_formats`: 32 elements under one E8M0 scale. Nothing public says how it adds products.

Ref: OCP Microscaling Formats (MX) 1.0, section 5; tt-metal's host quantisers; tt-llk #1354 for the list of formats.
"""

from dataclasses import dataclass
from fractions import Fraction

from bitpath.golden.formats.catalogue import E2M1, E2M3, E3M2, E4M3FN, E5M2, FloatFormat

MX_BLOCK = 32
"""Datums of a block: two face rows."""
MX_ALIGNMENT = 16
"""Bytes to whose multiples scales and elements are padded."""
SCALE_BIAS = 127
INFINITE_SCALE, NAN_SCALE = 0xFE, 0xFF
"""Scales of blocks that hold infinities but no other number than 0, and NaN alone."""


@dataclass(frozen=True, kw_only=True)
class MxFormat:
    """An element format: a float, or two's complement whose largest magnitude has all bits but the sign.

    Attributes
    ----------
    name : as tt-metal has it.
    bits : width of an element.
    element : the float format; None for integers.
    """

    name: str
    bits: int
    element: FloatFormat | None = None

    @property
    def emax(self) -> int:
        """Exponent of the largest element, 0 for integers."""
        return self.element.emax if self.element else 0

    @property
    def largest_integer(self) -> int:
        return (1 << self.bits - 1) - 1

    @property
    def step_exponent(self) -> int:
        """Exponent of an integer's unit: 1/64, 1/4 and 1."""
        return 2 - self.bits

    @property
    def largest(self) -> Fraction:
        return self.element.max if self.element else self.largest_integer * Fraction(2) ** self.step_exponent


MX_FORMATS = {
    each.name: each
    for each in (
        MxFormat(name="MXFP8R", bits=8, element=E5M2),
        MxFormat(name="MXFP8P", bits=8, element=E4M3FN),
        MxFormat(name="MXFP6R", bits=6, element=E3M2),
        MxFormat(name="MXFP6P", bits=6, element=E2M3),
        MxFormat(name="MXFP4", bits=4, element=E2M1),
        MxFormat(name="MXINT8", bits=8),
        MxFormat(name="MXINT4", bits=4),
        MxFormat(name="MXINT2", bits=2),
    )
}
"""Formats by name."""
