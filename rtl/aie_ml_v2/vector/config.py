"""Configuration of the vector multiply-accumulate."""

from dataclasses import dataclass

from amaranth import unsigned
from amaranth.lib import data
from amaranth.utils import ceil_log2

from bitpath.golden.aie_ml_v2.declarations.codes import MX6, MX_BLOCK, VECTOR_BITS
from bitpath.golden.aie_ml_v2.declarations.modes import INT8, MX9_MODE
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, AieNumerics
from bitpath.rtl.aie_ml_v2.mac.config import BYTE, MacControl, MacMode
from bitpath.rtl.aie_ml_v2.mac.wide_lanes import WideLanesConfig
from bitpath.rtl.aie_ml_v2.vector.native_shapes import ROUTES, NativeShape, Route
from bitpath.rtl.common.config import UnitConfig, power_of_two


@dataclass(frozen=True, kw_only=True)
class VectorMacConfig(UnitConfig, unit="vector_mac"):
    """Configuration of the vector unit's multiply-accumulate with its accumulators.

    Attributes
    ----------
    lanes : lanes that compute in one cycle; a power of two from 1 to 64. An instruction takes 64 / lanes beats (parts).
    accumulators : accumulator registers of 64 lanes; a power of two from 2 to 64.
    numerics : choices where the documents leave the result open.
    """

    lanes: int = power_of_two(1, INT8.lanes, 4)
    accumulators: int = power_of_two(2, 64, 8)
    numerics: AieNumerics = AIE_ML_V2.numerics

    @property
    def parts(self) -> int:
        """Groups of ``lanes`` lanes in an accumulator of 64."""
        return INT8.lanes // self.lanes


@dataclass(frozen=True, kw_only=True)
class OperandShapesConfig(UnitConfig, unit="operand_shapes"):
    """Configuration of the operand network.

    Attributes
    ----------
    lanes : lanes of 32 bits that get their operands in one cycle; a power of two from 2 to 64.
    shapes : native products, in the order of `NativeShape`; requests must use no other. Multiplexers that none of them needs
        are left out.
    """

    lanes: int = power_of_two(2, INT8.lanes, 4)
    shapes: tuple[NativeShape, ...] = (
        NativeShape.INT8_8X8X8,
        NativeShape.INT8_4X8X16,
        NativeShape.INT8_8X16X8T,
        NativeShape.INT8_ELEM_64_2,
        NativeShape.INT8_BROADCAST_64_2,
        NativeShape.INT8_CONV_8X8_8CH,
        NativeShape.INT16_64_CONV_32X4,
        NativeShape.CINT16_ELEM_16,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.shapes or self.shapes != tuple(each for each in NativeShape if each in self.shapes):
            raise ValueError(
                f"operand_shapes: shapes must be distinct NativeShape members in their order, not {self.shapes!r}"
            )

    @property
    def parts(self) -> int:
        """Groups of ``lanes`` lanes in an accumulator of 64."""
        return INT8.lanes // self.lanes

    @property
    def routes(self) -> dict[NativeShape, Route]:
        """The routes of the shapes."""
        every = list(ROUTES.values())
        return {shape: every[shape.value] for shape in self.shapes}


INTEGER_PRODUCTS = tuple(
    shape
    for shape, route in zip(NativeShape, ROUTES.values(), strict=True)
    if shape.name.startswith("INT") and route.is_matrix
)
"""Matrix products of integers."""


@dataclass(frozen=True, kw_only=True)
class NativeMacConfig:
    """Configuration of the multiply path of 64 lanes.

    Attributes
    ----------
    products : integer products, distinct members of `INTEGER_PRODUCTS` in their order; requests must use no other.
    mx9 : whether it multiplies blocks of MX9.
    numerics : choices where the documents leave the result open.
    """

    products: tuple[NativeShape, ...] = (NativeShape.INT8_8X8X8,)
    mx9: bool = True
    numerics: AieNumerics = AIE_ML_V2.numerics

    def __post_init__(self) -> None:
        if not self.products or self.products != tuple(each for each in INTEGER_PRODUCTS if each in self.products):
            raise ValueError(
                f"native_mac: products must be distinct members of INTEGER_PRODUCTS in their order, not {self.products!r}"
            )

    @property
    def routes(self) -> dict[NativeShape, Route]:
        """The routes of the products."""
        return self.shapes.routes

    @property
    def shapes(self) -> OperandShapesConfig:
        return OperandShapesConfig(lanes=INT8.lanes, shapes=self.products)

    @property
    def lanes(self) -> WideLanesConfig:
        bytes_too = any(
            route.lane_bits == INT8.lane_bits and route.x_bits == INT8.a_bits for route in self.routes.values()
        )
        modes = [MacMode.INT8] * bytes_too + [MacMode.INT16] + [MacMode.MX9] * self.mx9
        return WideLanesConfig(modes=tuple(modes), numerics=self.numerics, stalls=True)


# Layouts of the vector unit's multiply-accumulate: beats, accumulator words and their addresses.
#
# A native instruction multiplies a tile X [m, k] by a tile Y [k, n]; lane ``n * row + column`` is an element of the result.
# The shapes are the first ones of ``golden.aie_ml_v2.declarations.modes``. Element 0 of ``x`` and ``y`` is at bit 0:
#
# ========= ================= =========================== ============================
# mode      element           ``x``                       ``y``
# ========= ================= =========================== ============================
# INT8      8 bits            row by row, [8, 8]          row by row, [8, 8]
# INT16     16 bits           row by row, [8, 2]          row by row, [2, 8]
# FLOAT16   16 bits           row by row, [4, 8]          row by row, [8, 8]
# FLOAT8    8 bits            row by row, [8, 8]          row by row, [8, 8]
# MX6       5 bits            4 blocks of 16              16 blocks of 16, by columns
# MX9       8 bits            4 half blocks of 8          16 half blocks of 8
# ========= ================= =========================== ============================
#
# An MX9 instruction is two beats: elements k = 0 to 7 of all blocks, then k = 8 to 15. The host loads MX4 as MX6 (codes times
# 4) or as MX9 (codes times 32), according to ``AieNumerics.mx4_path``.


X_BITS = VECTOR_BITS
"""Bits of the widest X tile, 8 x 8 bytes or 4 x 8 elements of 16 bits."""
X_BLOCKS, Y_BLOCKS = MX9_MODE.shapes[0].m, MX9_MODE.shapes[0].n
"""MX blocks of an instruction: the rows of X, and the columns of Y."""
Y_BITS = Y_BLOCKS * MX_BLOCK * MX6.width
"""Bits of the widest Y tile, MX6's: 16 blocks of 16 codes."""


def beat_layout(config: VectorMacConfig) -> data.StructLayout:
    """Return the layout of a beat: one cycle of an instruction for the lanes of ``part``.

    The two beats of an MX9 instruction differ only in data and shifts. Each block has one exponent byte and one shift byte:
    bit j for elements 2j and 2j + 1 in MX6; the low nibble has the four bits of the half block in an MX9 beat.
    """
    index = unsigned(ceil_log2(config.accumulators))
    return data.StructLayout(
        {
            "control": MacControl,
            "acc1": index,
            "acc2": index,
            "dst": index,
            "part": ceil_log2(config.parts),
            "x": X_BITS,
            "x_exponents": X_BLOCKS * BYTE,
            "x_shifts": X_BLOCKS * BYTE,
            "y": Y_BITS,
            "y_exponents": Y_BLOCKS * BYTE,
            "y_shifts": Y_BLOCKS * BYTE,
        }
    )
