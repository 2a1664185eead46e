"""Decoded bundles: operations of one cycle, by slot, as the tile takes them.

::

     lda, ldb   load, fill, pop, pointer update          mv    shuffle
     st         SRS, push, flush, pointer update         vec   integer product, MX9 product

Instruction encodings are not modelled: these codes are this model's own. Code 0 of a slot's operation is a no-op.
"""

from amaranth import signed
from amaranth.lib import data, enum

from bitpath.rtl.aie_ml_v2.convert.layouts import ROUNDING_BITS, SATURATION_BITS
from bitpath.rtl.aie_ml_v2.tile.agu import AguMode
from bitpath.rtl.aie_ml_v2.vector.native_shapes import NativeShape


class LoadOp(enum.Enum, shape=3):
    """Operations of the slots lda and ldb."""

    NONE = 0
    LOAD = 1
    FILL = 2
    POP = 3
    POINTER = 4


class PopFormat(enum.Enum, shape=2):
    """Data that a pop takes: 64 bytes, 64 elements of MX9, or two compressed chunks, into X, or X, G and E."""

    BYTES = 0
    MX9 = 1
    SPARSE8 = 2  # entities of 8 bits
    SPARSE16 = 3


class StoreOp(enum.Enum, shape=3):
    """Operations of the slot st."""

    NONE = 0
    SRS = 1
    PUSH = 2
    FLUSH = 3
    POINTER = 4


class MoveOp(enum.Enum, shape=1):
    """Operations of the slot mv."""

    NONE = 0
    SHUFFLE = 1


class VectorOp(enum.Enum, shape=2):
    """Operations of the slot vec."""

    NONE = 0
    INTEGER = 1
    MX9 = 2


INDEX_BITS = 5
"""Bits of the number of a W or of a bm register."""
IMMEDIATE_BITS = 10
REGISTER = data.StructLayout({"index": INDEX_BITS, "size": 2})
"""Layout of a name: its lowest W or bm register, and the logarithm of their number (0 to 2)."""
ADDRESS = data.StructLayout(
    {"mode": AguMode, "pointer": 3, "register": 3, "immediate": signed(IMMEDIATE_BITS), "is_immediate": 1}
)
"""Layout of a pointer p_n and its modifier: register m_n, dj_n or d_n, or bytes."""
LOAD_SLOT = data.StructLayout(
    {"op": LoadOp, "address": ADDRESS, "to": REGISTER, "fifo": 1, "format": PopFormat, "jumps": 1}
)
"""Layout of a load to a W or an X, or an operation of a load FIFO; a pop with ``jumps`` goes on at the address's pointer."""
STORE_SLOT = data.StructLayout(
    {
        "op": StoreOp,
        "address": ADDRESS,
        "source": REGISTER,
        "acc64": 1,
        "wide": 1,
        "shift": 2,
        "rounding": ROUNDING_BITS,
        "saturation": SATURATION_BITS,
        "is_signed": 1,
    }
)
"""Layout of a store; SRS is controlled as in `SrsControl`, its shift in register s_n."""
MOVE_SLOT = data.StructLayout(
    {"op": MoveOp, "to": REGISTER, "low": REGISTER, "high": REGISTER, "code": 7, "exponents": 1}
)
"""Layout of a shuffle of X, or with ``exponents`` of EX."""
VECTOR_SLOT = data.StructLayout(
    {
        "op": VectorOp,
        "native": NativeShape,
        "to": 3,
        "a": REGISTER,
        "b": REGISTER,
        "b_high": REGISTER,
        "accumulates": 1,
        "a_signed": 1,
        "b_signed": 1,
    }
)
"""Layout of a product: dm_n, operand registers, and MX9's second EY."""
BUNDLE = data.StructLayout({"lda": LOAD_SLOT, "ldb": LOAD_SLOT, "st": STORE_SLOT, "mv": MOVE_SLOT, "vec": VECTOR_SLOT})
