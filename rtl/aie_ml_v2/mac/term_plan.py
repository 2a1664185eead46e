"""How wide the terms of a lane are, and how many: what ``AieNumerics`` makes of the adder that all terms share."""

from dataclasses import dataclass

from amaranth.lib import data
from amaranth.utils import ceil_log2

from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig
from bitpath.rtl.aie_ml_v2.mac.layouts import DEPTH
from bitpath.rtl.aie_ml_v2.mac.mac_mode import FLOAT_MODES

SIGNIFICAND_BITS = 11
"""Of a float operand at its widest, FP16, whose fraction the others' fractions are extended to."""
FLOAT_FRACTION_BITS = 2 * (SIGNIFICAND_BITS - 1)
"""Of a product of floats, which is below 4."""
FLOAT_INTEGER_BITS = 2
MX_FRACTION_BITS = 14
"""Of an MX term: 6 of either MX9 operand, and 2 for the shifts. MX6's are brought there."""
EXPONENT_BITS = 9
"""Of a term's exponent code, at most 255 + 255 + 1; 0 where a term takes no part in the maximum."""


@dataclass(frozen=True)
class TermPlan:
    """The slots in which terms are aligned: first wide ones, for MX terms and products of floats, then floats' alone.

    Attributes
    ----------
    config : numerics and modes of the lane.
    """

    config: MacLaneConfig

    @property
    def mx_terms(self) -> int:
        """Terms of a block pair: its sum, the sums of MX9's halves, or every product."""
        if not self.config.numerics.mx_post_add_first:
            return MX_BLOCK
        return 2 if self.config.numerics.mx9_split_round else 1

    @property
    def mx_integer_bits(self) -> int:
        """Of an MX term: a product reaches 4 and a block pair's sum 64, both included."""
        return 3 if self.mx_terms == MX_BLOCK else 3 + ceil_log2(MX_BLOCK)

    @property
    def narrow(self) -> int:
        """Slots for products of floats alone."""
        return max(0, DEPTH - self.mx_terms) if self.config.has(*FLOAT_MODES) else 0

    @property
    def slots(self) -> int:
        return self.mx_terms + self.narrow

    @property
    def wide_bits(self) -> int:
        """Of a magnitude in a wide slot, on the grid of products of floats."""
        return self.mx_integer_bits + FLOAT_FRACTION_BITS

    @property
    def narrow_bits(self) -> int:
        """Of a magnitude in a narrow slot."""
        return FLOAT_INTEGER_BITS + FLOAT_FRACTION_BITS

    @property
    def wide_aligned(self) -> int:
        """Of a wide slot's magnitude on the common grid."""
        return self.mx_integer_bits + self.config.numerics.align_fraction_bits

    @property
    def narrow_aligned(self) -> int:
        """Of a narrow slot's magnitude on the common grid; of an accumulator's, which is below 2, too."""
        return FLOAT_INTEGER_BITS + self.config.numerics.align_fraction_bits

    @property
    def shift_bits(self) -> int:
        """Of a shift that leaves nothing of a wide slot but what says that something was there."""
        # One place below the grid tells how the rest compares with half a unit.
        return ceil_log2(self.wide_aligned + 2)

    @property
    def total_bits(self) -> int:
        """Of the sum, signed: below 64 + 2 + 2 of MX and two accumulators, or 8 * 4 + 2 + 2."""
        return 1 + 7 + self.config.numerics.align_fraction_bits

    @property
    def terms(self) -> data.StructLayout:
        """The terms of a lane but for its accumulators.

        Magnitudes are in units of 2**-20. In MX the wide slots share the first exponent; exponent 0 is that of no term.
        """
        # Verilog has no wires of no bits.
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
