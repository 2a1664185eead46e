"""What travels in the RMSNorm-Quant row unit: its command, its phases, the control of its lanes, its output.

Ref: "RMSNorm-Quant Kernel Design Specification", and the kernel that it describes (SPEC and RQ of
:mod:`bitpath.golden.trainium3.declarations.vector`).
"""

from amaranth import Cat, Const, Value
from amaranth.lib import data, enum
from amaranth.utils import bits_for, ceil_log2

from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.trainium3.declarations.vector import SCALE_BYTES, TRAINIUM3_RMSNORM_QUANT
from bitpath.rtl.trainium3.rmsnorm_quant.config import RmsNormQuantConfig

NUMERICS = TRAINIUM3_RMSNORM_QUANT.numerics
"""The row unit computes with these; rows are summed serially."""
LANE_BYTE = NUMERICS.output.width
"""Bits that a lane gives a cycle: one element, or one byte of the scale."""


class Phase(enum.Enum, shape=5):
    """What all lanes do; each phase but the passes over the row takes a fixed number of cycles."""

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
    # Pass 3.
    QUANTIZE = 16


OPTIONS = data.StructLayout(
    {
        "static": 1,
        "quant_only": 1,
        "eps_after_root": 1,
        "gamma_fp16": 1,
        "has_lower_bound": 1,
        "lower_bound": FP32.width,
        "eps": BF16.width,
        "reciprocal_length": FP32.width,
    }
)
"""What a command says to all lanes alike.

``static`` takes the scale from ``in_scale`` and gives no scale bytes, else it is the row's. ``quant_only`` leaves the
normalisation out, and takes no gamma. ``eps_after_root`` adds eps to the root (``EpsPlacement.GOLDEN``), else to the mean.
``reciprocal_length`` is one over the row's length in FP32. ``has_lower_bound`` is set where the bound exceeds
``min_dequant_scale``, and then the bound is positive; without a scale of the row's own it has no effect.
"""


def length_width(config: RmsNormQuantConfig) -> int:
    """Bits of a number of elements, from 0 to all that row memory holds."""
    return bits_for(config.max_row_length)


def address_width(config: RmsNormQuantConfig) -> int:
    """Bits of an address of row memory."""
    return max(1, ceil_log2(config.max_row_length))


def command_layout(config: RmsNormQuantConfig) -> data.StructLayout:
    """One row in each lane. The host gives no command of 0 elements, or of more than row memory holds."""
    return data.StructLayout(
        {
            "row_length": length_width(config),
            "options": OPTIONS,
            "in_scale": data.ArrayLayout(FP32.width, config.lanes),
        }
    )


def lane_control(config: RmsNormQuantConfig) -> data.StructLayout:
    """What all lanes do in a cycle.

    ``start`` is set in the first cycle of a phase. ``begin`` clears what pass 1 sums up. ``store`` puts the element at
    ``hidden`` to ``write_address``, and squares it; ``add`` adds the square of the cycle before. ``read`` reads
    ``read_address``. ``put`` writes the normalised element back, to ``write_address``. ``advance`` moves pass 3 on;
    ``scale_bytes`` says that byte ``scale_byte`` of the scale stands at its end, else an element.
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
    """A byte of every lane's row; ``last`` with the last one."""
    return data.StructLayout({"bytes": data.ArrayLayout(LANE_BYTE, config.lanes), "last": 1})


def to_fp32(code: Value) -> Value:
    """The FP32 code of a BF16 number."""
    return Cat(Const(0, FP32.width - BF16.width), code)
