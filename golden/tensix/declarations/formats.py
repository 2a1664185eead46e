"""Tenstorrent Wormhole's Tensix Matrix unit: formats, word layouts, limits, numerics presets and their standing.

Ref: tenstorrent/tt-isa-documentation, ``WormholeB0/TensixTile/TensixCoprocessor``, commit 3930471 (here TT-ISA); the
simulator ttsim v1.10.0, commit 56694c8 (here ttsim), whose authors state bit-exactness with silicon as its goal; issues
of tenstorrent/tt-metal by number; its kernel library tt-llk (here LLK).
"""

from dataclasses import dataclass
from enum import Enum, IntEnum

# Chips whose Tensix is modelled; `chip` arguments take a member or its value.


class Chip(Enum):
    """Tenstorrent's chips, one for each generation."""

    WORMHOLE = "wormhole"
    BLACKHOLE = "blackhole"


class Format(IntEnum):
    """Data formats by the codes of the hardware's configuration fields (TT-ISA Packers/FormatConversion)."""

    FP32 = 0
    FP16 = 1
    BFP8A = 2
    BFP4A = 3
    TF32 = 4
    BF16 = 5
    BFP8 = 6
    BFP4 = 7
    INT32 = 8
    INT16 = 9
    FP8 = 10  # e5m2
    BFP2A = 11
    INT8 = 14
    BFP2 = 15


class Style(Enum):
    """Format as which the Matrix unit reads SrcA and SrcB (TT-ISA MVMUL)."""

    BF16 = "BF16"
    FP16 = "FP16"
    TF32 = "TF32"
    INT8 = "INT8"


EXPONENT8_FORMATS = (
    Format.FP32,
    Format.TF32,
    Format.BF16,
    Format.BFP8,
    Format.BFP4,
    Format.BFP2,
    Format.INT32,
    Format.INT16,
)
"""Formats whose datums have an 8-bit exponent in Src: those of the styles BF16 and TF32."""
EXPONENT5_FORMATS = (Format.FP16, Format.FP8, Format.BFP8A, Format.BFP4A, Format.BFP2A)
"""Formats whose datums have a 5-bit exponent in Src: those of style FP16."""

STYLE_FORMATS = {
    Style.BF16: EXPONENT8_FORMATS,
    Style.TF32: EXPONENT8_FORMATS,
    Style.FP16: EXPONENT5_FORMATS,
    Style.INT8: (Format.INT8,),
}
"""Formats that each style accepts for SrcA and SrcB; SrcA's format selects between the first two unless overridden."""
STYLE_OWN_FORMAT = {
    Style.BF16: Format.BF16,
    Style.TF32: Format.TF32,
    Style.FP16: Format.FP16,
    Style.INT8: Format.INT8,
}
"""Default format of a source, by style."""


@dataclass(frozen=True, kw_only=True)
class BlockFloat:
    """A block floating-point format: 16 consecutive datums of a face row share one exponent byte; no hidden bit.

    Attributes
    ----------
    magnitude_bits : bits of a datum, below its sign bit; the top one weighs 2**0.
    exponent_bits : used bits of the exponent byte, 8 with bias 127 or 5 with bias 15 (the 'a' variants).
    """

    magnitude_bits: int
    exponent_bits: int

    @property
    def datum_bits(self) -> int:
        """Bits of a datum in L1."""
        return self.magnitude_bits + 1


BLOCK_FLOATS = {
    Format.BFP8: BlockFloat(magnitude_bits=7, exponent_bits=8),
    Format.BFP4: BlockFloat(magnitude_bits=3, exponent_bits=8),
    Format.BFP2: BlockFloat(magnitude_bits=1, exponent_bits=8),
    Format.BFP8A: BlockFloat(magnitude_bits=7, exponent_bits=5),
    Format.BFP4A: BlockFloat(magnitude_bits=3, exponent_bits=5),
    Format.BFP2A: BlockFloat(magnitude_bits=1, exponent_bits=5),
}
BLOCK = 16
"""Datums that share an exponent: one face row."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """Bits `high` down to `low` of the field `name`."""

    name: str
    high: int
    low: int = 0

    @property
    def width(self) -> int:
        return self.high - self.low + 1


@dataclass(frozen=True, kw_only=True, eq=False)
class WordLayout:
    """A register word in two bit orders, each a list of segments from the top bit down. A layout equals itself alone.

    Attributes
    ----------
    logical : the order of this project's words: sign, exponent, fraction.
    physical : the order of the bits in the register. Ref: TT-ISA SrcASrcB, Dst.
    """

    logical: tuple[Segment, ...]
    physical: tuple[Segment, ...]

    @property
    def width(self) -> int:
        return sum(each.width for each in self.logical)


_SIGN = Segment(name="sign", high=0)
_EXPONENT8 = Segment(name="exponent", high=7)
_EXPONENT5 = Segment(name="exponent", high=4)
_FRACTION10 = Segment(name="fraction", high=9)
_FRACTION7 = Segment(name="fraction", high=6)
_FRACTION23 = Segment(name="fraction", high=22)

SRC = WordLayout(logical=(_SIGN, _EXPONENT8, _FRACTION10), physical=(_SIGN, _FRACTION10, _EXPONENT8))
"""A datum of SrcA or SrcB; FP16 and INT8 use the low 5 bits of the exponent, INT16 is opaque."""
DST16_BF16 = WordLayout(logical=(_SIGN, _EXPONENT8, _FRACTION7), physical=(_SIGN, _FRACTION7, _EXPONENT8))
DST16_FP16 = WordLayout(logical=(_SIGN, _EXPONENT5, _FRACTION10), physical=(_SIGN, _FRACTION10, _EXPONENT5))
"""FP16 and INT8 in a 16-bit Dst."""
DST32 = WordLayout(
    logical=(_SIGN, _EXPONENT8, _FRACTION23),
    physical=(_SIGN, Segment(name="fraction", high=22, low=16), _EXPONENT8, Segment(name="fraction", high=15)),
)
"""FP32, and INT32 as sign and 31-bit magnitude, whose bits are permuted alike."""

LAYOUTS = {"SRC": SRC, "DST16_BF16": DST16_BF16, "DST16_FP16": DST16_FP16, "DST32": DST32}

SRC_ROWS = 64
"""Rows of one bank of SrcA or SrcB, 16 datums each."""
DST16_ROWS = 1024
DST32_ROWS = 512
COLUMNS = 16
"""Columns of SrcA, SrcB and Dst, and the depth of a dot product."""
BLOCK_ROWS = 8
"""Rows of Dst and SrcB in one instruction."""
FACE = 16
TILE = 32
PHASES = 4


class Fidelity(Enum):
    """Fidelities, each a sequence of phases (LLK, llk_math_matmul.h)."""

    LOFI = "LoFi"
    HIFI2 = "HiFi2"
    HIFI3 = "HiFi3"
    HIFI4 = "HiFi4"


FIDELITY_PHASES = {
    Fidelity.LOFI: (0,),
    Fidelity.HIFI2: (0, 1),
    Fidelity.HIFI3: (0, 1, 2),
    Fidelity.HIFI4: (0, 1, 2, 3),
}

TILE_PASS = (
    *((b, a, d) for b, a, d in ((0, 0, 0), (0, 1, 1), (2, 0, 2), (2, 1, 3))),
    *((b, a, d) for b, a, d in ((1, 2, 0), (1, 3, 1), (3, 2, 2), (3, 3, 3))),
)
"""Faces (SrcB, SrcA, Dst) of one pass over a 32x32x32 tile product, each two MVMULs: the upper and the lower half of the
SrcB face. Faces are numbered row by row. Ref: LLK, llk_math_matmul.h."""
