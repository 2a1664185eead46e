"""Layouts of the RMSNorm-Quant row unit: command, phases, lane control and output.

Ref: "RMSNorm-Quant Kernel Design Specification", and the kernel that it describes (SPEC and RQ of
:mod:`bitpath.golden.trainium3.declarations.vector`).
"""

from dataclasses import dataclass

from amaranth import Cat, Const, Value
from amaranth.lib import data, enum
from amaranth.utils import bits_for, ceil_log2

from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.declarations.vector import (
    MAX_HIDDEN,
    SCALE_BYTES,
    TRAINIUM3_RMSNORM_QUANT,
    TRAINIUM3_RMSNORM_QUANT_OCP,
)
from bitpath.rtl.common.config import UnitConfig, in_range
from bitpath.rtl.trainium3.vector.exponential import Source

# Configuration of the RMSNorm-Quant row unit.


@dataclass(frozen=True, kw_only=True)
class RmsNormQuantConfig(UnitConfig, unit="rmsnorm_quant"):
    """Configuration of the RMSNorm-Quant row unit.

    Attributes
    ----------
    lanes : rows in parallel, one for each lane.
    max_row_length : elements of a lane's row memory.
    """

    lanes: int = in_range(1, PARTITIONS, 2)
    max_row_length: int = in_range(1, MAX_HIDDEN, 32)


NUMERICS = TRAINIUM3_RMSNORM_QUANT.numerics
"""Numerics of the row unit, which sums the squares of a row serially."""
OCP_NUMERICS = TRAINIUM3_RMSNORM_QUANT_OCP.numerics
"""The same with another output, E4M3FN up to 448."""
LANE_BYTE = NUMERICS.output.width
"""Output bits of a lane in a cycle: one element or one byte of the scale."""


class Phase(enum.Enum, shape=5):
    """Phase of all lanes; all but the passes over the row take a fixed number of cycles."""

    IDLE = 0
    # Pass 1, and the time until its last square is added.
    LOAD = 1
    LOADED = 2
    # One over the root mean square.
    TAKE_SUM = 3
    MEAN = 4
    SQUARE_ROOT = 5
    ADD_EPS = 6
    RECIPROCAL_SQUARE_ROOT = 7
    RECIPROCAL_RMS = 8
    # Pass 2, and the time until its last element is written back.
    NORMALIZE = 9
    NORMALIZED = 10
    # The scale, and one over it.
    TAKE_LARGEST = 11
    SCALE = 12
    FLOOR = 13
    TAKE_IN_SCALE = 14
    RECIPROCAL_SCALE = 15
    # Pass 3, with the scale bytes behind it.
    QUANTIZE = 16


OPTIONS = data.StructLayout(
    {
        "static": 1,
        "quant_only": 1,
        "eps_after_root": 1,
        "gamma_fp16": 1,
        "ocp": 1,
        "has_lower_bound": 1,
        "lower_bound": FP32.width,
        "eps": BF16.width,
        "reciprocal_length": FP32.width,
        "source": Source,
    }
)
"""Command fields that all lanes share.

``static`` takes the scale from ``in_scale`` and outputs no scale bytes; else each row has its own. ``quant_only`` skips
the normalisation and takes no gamma. ``eps_after_root`` adds eps to the root (``EpsPlacement.GOLDEN``), else to the mean.
``ocp`` quantises to E4M3FN and 448, else to E4M3 and 240. ``reciprocal_length`` is 1 / row length in FP32. ``has_lower_bound`` must be set if and only if the bound exceeds
``min_dequant_scale``, so the bound is positive; neither has an effect with ``static``. ``source`` is the format of ``hidden``.
"""


def length_width(config: RmsNormQuantConfig) -> int:
    """Bits of a count of elements, 0 to ``max_row_length``."""
    return bits_for(config.max_row_length)


def address_width(config: RmsNormQuantConfig) -> int:
    """Bits of a row memory address."""
    return max(1, ceil_log2(config.max_row_length))


def command_layout(config: RmsNormQuantConfig) -> data.StructLayout:
    """Layout of a command, one row in each lane; ``row_length`` must be 1 to ``max_row_length``."""
    return data.StructLayout(
        {
            "row_length": length_width(config),
            "options": OPTIONS,
            "in_scale": data.ArrayLayout(FP32.width, config.lanes),
        }
    )


def lane_control(config: RmsNormQuantConfig) -> data.StructLayout:
    """Layout of the control of all lanes in one cycle.

    ``start`` marks the first cycle of a phase. ``begin`` clears the sums of pass 1. ``store`` writes ``hidden`` to
    ``write_address`` and squares it; ``add`` adds the previous cycle's square. ``read`` reads ``read_address``. ``put``
    writes the normalised element back to ``write_address``. ``advance`` is the clock enable of pass 3; ``scale_bytes``
    outputs byte ``scale_byte`` of the scale instead of an element.
    """
    return data.StructLayout(
        {
            "phase": Phase,
            "start": 1,
            "begin": 1,
            "store": 1,
            "add": 1,
            "put": 1,
            "write_address": address_width(config),
            "read": 1,
            "read_address": address_width(config),
            "advance": 1,
            "scale_bytes": 1,
            "scale_byte": ceil_log2(SCALE_BYTES),
        }
    )


def output_layout(config: RmsNormQuantConfig) -> data.StructLayout:
    """Layout of an output beat: one byte of each lane, and ``last`` with the final one."""
    return data.StructLayout({"bytes": data.ArrayLayout(LANE_BYTE, config.lanes), "last": 1})


def to_fp32(code: Value) -> Value:
    """Return the FP32 code of a BF16 number."""
    return Cat(Const(0, FP32.width - BF16.width), code)
