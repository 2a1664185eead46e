"""Configurations of the product sum and of the multiply-accumulate lane."""

from dataclasses import dataclass

from amaranth import Cat, Const, Value
from amaranth.lib import data, enum
from amaranth.utils import ceil_log2

from bitpath.golden.aie_ml_v2.declarations.codes import BFP16EBS8, MX9, MxFormat
from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8_FORMATS, INT8, Mode
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, XDNA2_BFP16EBS8, AieNumerics

# Modes of the multiply-accumulate, and the decoding of a mode in a lane that supports only some of them.


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


FLOAT_MODES = (MacMode.FLOAT16, MacMode.FLOAT8)
MX_MODES = (MacMode.MX6, MacMode.MX9)


def is_one_of(mode: Value, asked: tuple[MacMode, ...], modes: tuple[MacMode, ...]) -> Value:
    """Return 1 if ``mode`` is in ``asked``; a constant if the supported ``modes`` decide it."""
    possible = [each for each in asked if each in modes]
    if len(possible) == len(modes):
        return Const(1)
    return Cat(mode == each for each in possible).any()


# Control word and operands of a multiply-accumulate lane.


LANE_BITS = INT8.lane_bits
"""Bits of an accumulator lane, FP32 or INT32; two of them hold an INT64."""
CHAINED_SUM_BITS = 34
"""34 bits hold two products of 16-bit integers, of either sign: less than ``2**33`` in magnitude, and a sign."""
BYTE = 8
"""Bits of a block's exponent, and of its shift bits."""
DEPTH = 8
"""Products of a lane in one beat; MX6 has 16, INT16 has 2."""
WORD_BITS = 16
"""Bits of the widest element."""
LANE_OPERAND_BITS = DEPTH * WORD_BITS
"""Bits of a lane's operand from one tile: 8 elements of 16 bits, the widest mode."""
FORMAT_BITS = ceil_log2(len(FLOAT8_FORMATS))
"""Bits of the index of a float format within its mode."""


class MacControl(data.Struct):
    """Control word of an instruction: ``+-X @ Y +- acc1 +- acc2``.

    ``x_format`` and ``y_format`` index the ``formats`` of the mode. ``x_signed``, ``y_signed`` and ``shift16`` (acc1 times
    2**16) apply to integers. ``zero_acc1`` replaces acc1 by 0. Without ``multiplies`` the products are 0 and the
    instruction only adds accumulators.
    """

    mode: MacMode
    x_format: FORMAT_BITS
    y_format: FORMAT_BITS
    x_signed: 1
    y_signed: 1
    multiplies: 1
    negate_products: 1
    zero_acc1: 1
    use_acc2: 1
    negate_acc1: 1
    negate_acc2: 1
    shift16: 1


class LaneOperands(data.Struct):
    """Operands of a lane: a row of X and a column of Y, element 0 at bit 0, and the bytes of their MX blocks."""

    control: MacControl
    high: 1  # set in the second beat of MX9
    x: LANE_OPERAND_BITS
    y: LANE_OPERAND_BITS
    x_exponent: BYTE
    y_exponent: BYTE
    x_shift: BYTE
    y_shift: BYTE


def _check_modes(unit: str, modes: tuple[MacMode, ...]) -> None:
    if not modes or modes != tuple(mode for mode in MacMode if mode in modes):
        raise ValueError(f"{unit}: modes must be distinct MacMode members in their order, not {modes!r}")


@dataclass(frozen=True, kw_only=True)
class MacLaneConfig:
    """Configuration of one multiply-accumulate lane.

    Attributes
    ----------
    modes : supported modes, in the order of `MacMode`; control words must use no other. Hardware that no mode needs is
        left out.
    numerics : choices where the documents leave the result open.
    bfp16ebs8 : True for XDNA2's products: MX9, which must be the only mode, takes blocks of eight without shift bits, in one
        beat each.
    chained : True for one of two lanes that together make a lane of 64 bits (`WideLanes`); INT16 must be among the modes.
    stalls : True for a lane with a clock enable.
    """

    modes: tuple[MacMode, ...] = tuple(MacMode)
    numerics: AieNumerics = AIE_ML_V2.numerics
    bfp16ebs8: bool = False
    chained: bool = False
    stalls: bool = False

    def __post_init__(self) -> None:
        _check_modes("mac_lane", self.modes)
        if self.bfp16ebs8 and self.modes != (MacMode.MX9,):
            raise ValueError(f"mac_lane: modes must be (MacMode.MX9,) with bfp16ebs8, not {self.modes!r}")
        if self.chained and MacMode.INT16 not in self.modes:
            raise ValueError(f"mac_lane: modes must have MacMode.INT16 with chained, not {self.modes!r}")

    @property
    def widest_block(self) -> MxFormat:
        """The block format with the largest products."""
        return BFP16EBS8 if self.bfp16ebs8 else MX9

    def has(self, *modes: MacMode) -> bool:
        """Return True if the lane supports any of ``modes``."""
        return any(mode in self.modes for mode in modes)


BFP16EBS8_LANE = MacLaneConfig(modes=(MacMode.MX9,), numerics=XDNA2_BFP16EBS8.numerics, bfp16ebs8=True)
"""XDNA2's lane of bfp16ebs8."""


# Number and widths of the terms of a lane's addition, derived from ``AieNumerics`` and the supported modes.
#
# Slots before and after alignment, with F = ``align_fraction_bits``::
#
#      wide     | mx_integer_bits . 20 fraction bits |  ->  | mx_integer_bits . F |     MX terms, float products
#      narrow   |               2 . 20 fraction bits |  ->  |               2 . F |     float products
#      total    | sign, 7 . F |


SIGNIFICAND_BITS = 11
"""Bits of FP16's significand, the widest; fractions of other formats are padded to it."""
FLOAT_FRACTION_BITS = 2 * (SIGNIFICAND_BITS - 1)
"""Fraction bits of a float product: 10 of each factor."""
FLOAT_INTEGER_BITS = 2
"""Integer bits of a float product, which is below 4."""
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
