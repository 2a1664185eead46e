"""Number and widths of the terms of a lane's addition, derived from ``AieNumerics`` and the supported modes.

Slots before and after alignment, with F = ``align_fraction_bits``::

     wide     | mx_integer_bits . 20 fraction bits |  ->  | mx_integer_bits . F |     MX terms, float products
     narrow   |               2 . 20 fraction bits |  ->  |               2 . F |     float products
     total    | sign, 7 . F |
"""

from dataclasses import dataclass

from amaranth.lib import data
from amaranth.utils import ceil_log2

from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig
from bitpath.rtl.aie_ml_v2.mac.layouts import DEPTH
from bitpath.rtl.aie_ml_v2.mac.mac_mode import FLOAT_MODES

SIGNIFICAND_BITS = 11
"""Bits of FP16's significand, the widest; fractions of other formats are padded to it."""
FLOAT_FRACTION_BITS = 2 * (SIGNIFICAND_BITS - 1)
"""Fraction bits of a float product: 10 of each factor."""
FLOAT_INTEGER_BITS = 2
"""Integer bits of a float product, which is below 4."""
MX_FRACTION_BITS = 14
"""Fraction bits of an MX term: 6 of each MX9 factor, and 2 for the shift bits."""
EXPONENT_BITS = 9
"""9 bits hold an exponent code: at most ``255 + 255 + 1 = 511``; 0 for a term that takes no part in the maximum."""


@dataclass(frozen=True)
class TermPlan:
    """Slots of the alignment: wide ones for MX terms and float products, then narrow ones for float products only.

    Attributes
    ----------
    config : MacLaneConfig, the numerics and the supported modes of the lane.
    """

    config: MacLaneConfig

    @property
    def mx_terms(self) -> int:
        """Terms of a block pair: its sum, the sums of MX9's two beats, or all products."""
        if not self.config.numerics.mx_post_add_first:
            return self.config.widest_block.elements
        return 2 if self.config.numerics.mx9_split_round and not self.config.bfp16ebs8 else 1

    @property
    def mx_integer_bits(self) -> int:
        """Integer bits of an MX term: a product is at most 4, the sum of n products at most 4 * n, both inclusive."""
        summed = self.config.numerics.mx_post_add_first
        return 3 + ceil_log2(self.config.widest_block.elements) if summed else 3

    @property
    def narrow(self) -> int:
        """Number of slots for float products only."""
        return max(0, DEPTH - self.mx_terms) if self.config.has(*FLOAT_MODES) else 0

    @property
    def slots(self) -> int:
        return self.mx_terms + self.narrow

    @property
    def wide_bits(self) -> int:
        """Bits of a wide magnitude in units of 2**-20, a float product's unit."""
        return self.mx_integer_bits + FLOAT_FRACTION_BITS

    @property
    def narrow_bits(self) -> int:
        """Bits of a narrow magnitude in units of 2**-20."""
        return FLOAT_INTEGER_BITS + FLOAT_FRACTION_BITS

    @property
    def wide_aligned(self) -> int:
        """Bits of an aligned wide magnitude, without its guard and sticky bits."""
        return self.mx_integer_bits + self.config.numerics.align_fraction_bits

    @property
    def narrow_aligned(self) -> int:
        """Bits of an aligned narrow magnitude; an accumulator, below 2, also fits."""
        return FLOAT_INTEGER_BITS + self.config.numerics.align_fraction_bits

    @property
    def shift_bits(self) -> int:
        """Bits of a shift that moves a whole wide magnitude into the sticky bit."""
        # All kept bits, the guard bit, and one more.
        return ceil_log2(self.wide_aligned + 2)

    @property
    def total_bits(self) -> int:
        """Bits of the sum: at most 64 + 2 + 2 for MX or 8 * 4 + 2 + 2 for floats, so 7 integer bits, and a sign."""
        return 1 + 7 + self.config.numerics.align_fraction_bits

    @property
    def terms(self) -> data.StructLayout:
        """Layout of a lane's terms without the accumulators.

        Magnitudes are in units of 2**-20. For MX all wide slots use exponent 0 of the array; code 0 means no term.
        """
        # Verilog cannot express zero-width wires.
        narrow = {"narrow": data.ArrayLayout(self.narrow_bits, self.narrow)} if self.narrow else {}
        return data.StructLayout(
            {
                "wide": data.ArrayLayout(self.wide_bits, self.mx_terms),
                **narrow,
                "negative": self.slots,
                "exponents": data.ArrayLayout(EXPONENT_BITS, DEPTH),
                "nan": 1,
                "plus_inf": 1,
                "minus_inf": 1,
            }
        )
