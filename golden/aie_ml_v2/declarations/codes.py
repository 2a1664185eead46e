"""AMD AIE-ML v2: block formats, registers, rounding and saturation codes, the units around the multiplier.

Ref: AM027 "Versal Adaptive SoC AIE-ML v2 Architecture Manual" v1.1, 2025-10-23 (here AM027); UG1639 "AIE-ML v2 Intrinsics
User Guide" 2025.1 (here UG1639); UG1603 "AIE-ML Kernel and Graph Programming Guide" (here UG1603); UG1583 "AI Engine-ML
Intrinsics User Guide" (here UG1583); Xilinx/llvm-aie, target aie2ps (here LLVM); AIE API (here API); amd-quark 0.13 (here
QUARK); arXiv 2302.08007, shared microexponents (here PAPER); conversions and matmuls measured on first-generation AIE2
silicon, published in FIM43-Redeye/xdna-emu (here SIL); blocks and products measured on XDNA2 silicon (AIE2P), published in
MicroPerceptron/virtio-accel, issues #146 and #148, pull requests #161 and #165 (here XDNA2). Names such as XDNA2 A5 are the
rows of this project's ledger of public measurements.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from operator import index

from bitpath.golden.formats.catalogue import BF16, E4M3, E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ, FP16, FloatFormat, Rounding

# AMD AIE-ML v2's PACK and UNPACK. Ref: llvm-aie, target aie2ps.


PACK_BITS = (4, 8)
"""Element bits after PACK, by crPackSize; elements have twice these before it. UNPACK goes the other way."""


# AMD AIE-ML v2: flags of operations, the bits of status register SR1 that record them, and the saturation of floats.
#
# Ref: AM029 "AIE-ML v2 register reference", SR1 and CR2 (SR2 is in
# :mod:`bitpath.golden.aie_ml_v2.declarations.mover`); LLVM's enumerations for the two bits of crFPConvSat.


class FloatSaturation(IntFlag):
    """crFPConvSat: the numbers that a conversion of floats replaces by the largest finite one."""

    FINITE = 1  # finite numbers beyond the range
    INFINITE = 2  # infinite inputs


@dataclass(frozen=True, kw_only=True)
class Flags:
    """Flags of an operation, each the OR over its lanes; a flag that the operation's unit does not have is False.

    Attributes
    ----------
    zero, infinity : a result is one.
    invalid : an input is NaN, or the operation has no result.
    tiny : a result, rounded with unbounded exponent, lies below the smallest normal number and is not an exact 0. For an
        integer: 0 of an input that is not.
    huge : that result lies beyond the largest finite number; an infinite operand makes no float result huge. For an
        integer: the rounded number is out of range.
    inexact : a result differs from the exact one.
    overflow : saturation changed an integer, or its high bits were lost.
    """

    zero: bool = False
    infinity: bool = False
    invalid: bool = False
    tiny: bool = False
    huge: bool = False
    inexact: bool = False
    overflow: bool = False


class Status1(IntEnum):
    """Bits of SR1 outside the groups of flags. The three of streams hold the last access; all other bits stay set."""

    CARRY = 0
    STREAM_READ_SUCCESS = 1
    STREAM_READ_LAST = 2
    STREAM_WRITE_SUCCESS = 3
    SPARSE_OVERFLOW = 22
    STORE_FIFO_OVERFLOW = 23
    LOAD_FIFO_UNDERFLOW = 24


@dataclass(frozen=True)
class FlagGroup:
    """Flags that one unit has.

    Attributes
    ----------
    bits : bit of SR1 that records each flag, by the flag's name in `Flags`.
    """

    bits: Mapping[str, int]


SRS_FLAGS = FlagGroup({"overflow": 4})
UPS_FLAGS = FlagGroup({"overflow": 5})
MAC_FLAGS = FlagGroup({"zero": 7, "infinity": 8, "invalid": 9, "tiny": 10, "huge": 11})
FLOOR_FLAGS = FlagGroup({"zero": 12, "invalid": 14, "tiny": 15, "huge": 16})
"""BF16 to integers."""
NARROW_FLAGS = FlagGroup({"zero": 17, "infinity": 18, "invalid": 19, "tiny": 20, "huge": 21})
"""FP32 to BF16, FP16 and 8-bit floats."""
MX_FLAGS = FlagGroup({"invalid": 27})
"""FP32 to MX."""


@dataclass(frozen=True, kw_only=True)
class MxFormat:
    """A block of two's-complement codes with one shared exponent, and in MX one shift bit for each pair.

    Element i is ``code * 2**(exponent - 127) * 2**-shift[i // 2] * 2**(1 - magnitude_bits)``; without shifts these are 0.

    Attributes
    ----------
    name : name in `to_mx` and on the command line.
    magnitude_bits : m; codes reach from -2**m to 2**m - 1.
    store_bits : bits that one store pushes into the FIFO. Ref: LLVM.
    elements : elements of a block.
    has_shifts : True if each pair has a shift bit.
    """

    name: str
    magnitude_bits: int
    store_bits: int
    elements: int = 16
    has_shifts: bool = True

    def __post_init__(self) -> None:
        for name in ("magnitude_bits", "store_bits", "elements"):  # numpy's integers would overflow in the properties
            object.__setattr__(self, name, index(getattr(self, name)))

    def __reduce__(self) -> str | tuple:
        """Pickle and copy the formats here as their names, so that they stay the same objects."""
        return self.name.upper() if BLOCK_FORMATS.get(self.name) is self else super().__reduce__()

    @property
    def width(self) -> int:
        """Bits of an element in two's complement, its sign bit included."""
        return self.magnitude_bits + 1

    @property
    def max_code(self) -> int:
        return (1 << self.magnitude_bits) - 1

    @property
    def min_code(self) -> int:
        """The most negative code, which the default conversion never makes."""
        return -(1 << self.magnitude_bits)

    @property
    def sub_tile(self) -> int:
        """Elements that are scaled alike: a pair, or without shifts the block."""
        return 2 if self.has_shifts else self.elements

    @property
    def block_bytes(self) -> int:
        """Bytes of a block in memory: the exponent, the shifts where there are any, the codes."""
        return 1 + self.has_shifts + self.elements * self.width // 8


MX_BLOCK = 16
"""Elements of an MX block. Ref: AM027."""
MX_PAIRS = MX_BLOCK // 2
"""Sub-tiles of an MX block, each with a shift bit. Ref: UG1639."""
MX_BIAS = 127
MX_NAN_EXPONENT = 255

MX9 = MxFormat(name="mx9", magnitude_bits=7, store_bits=576)
MX6 = MxFormat(name="mx6", magnitude_bits=4, store_bits=768)
MX4 = MxFormat(name="mx4", magnitude_bits=2, store_bits=512)
MX_FORMATS = {fmt.name: fmt for fmt in (MX9, MX6, MX4)}
"""MX9, MX6 and MX4 are also called BFP16, BFP13 and BFP11 there. Ref: LLVM."""
BFP16EBS8 = MxFormat(name="bfp16ebs8", magnitude_bits=7, store_bits=576, elements=8, has_shifts=False)
"""XDNA2's block format, which AIE-ML v2 lacks: an element is ``code * 2**(exponent - 133)``. Ref: XDNA2 A1; API."""
BLOCK_FORMATS = MX_FORMATS | {BFP16EBS8.name: BFP16EBS8}
TILE_BLOCKS = 8
"""Blocks of BFP16EBS8 that lie in memory as one tile of 64 elements: `store_bits`. Ref: XDNA2 A2."""


@dataclass(frozen=True, kw_only=True)
class MxRegisterForm:
    """How blocks lie in registers.

    Attributes
    ----------
    data_bits : bits of an element in the vector register: all of an MX9 code, the low four of the others.
    msb_bits : bits of an element in the F register, its sign; 0 if the form has no F register.
    elements_per_byte : elements that share one byte of the E register and one of the G register.
    elements : sizes of a register group, in elements.
    """

    data_bits: int
    msb_bits: int
    elements_per_byte: int
    elements: tuple[int, ...]


MX9_FORM = MxRegisterForm(data_bits=8, msb_bits=0, elements_per_byte=8, elements=(64, 128, 256))
"""EX, EY and two EY: 640, 1280 and 2560 bits."""
MX6_FORM = MxRegisterForm(data_bits=4, msb_bits=1, elements_per_byte=16, elements=(64, 128, 256))
"""FEW, FEX, FEY: 384, 768 and 1536 bits. MX4 is held in this form too, its codes times four."""
MX_FORMS = {MX9: MX9_FORM, MX6: MX6_FORM, MX4: MX6_FORM}
MX4_PADDING = MX6.width - MX4.width
"""Zeros below an MX4 code in an MX6 register. Ref: UG1639; the alignment is inferred from API's constant for 1.0."""


class RoundingCode(IntEnum):
    """Rounding by the codes of the control register crRnd, under the names of the API (LLVM, UG1583)."""

    FLOOR = 0  # toward -infinity; the state after reset
    CEIL = 1  # toward +infinity
    SYMMETRIC_FLOOR = 2  # toward zero
    SYMMETRIC_CEIL = 3  # away from zero
    NEGATIVE_INF = 8  # to nearest, ties toward -infinity
    POSITIVE_INF = 9  # to nearest, ties toward +infinity
    SYMMETRIC_ZERO = 10  # to nearest, ties toward zero
    SYMMETRIC_INF = 11  # to nearest, ties away from zero
    CONV_EVEN = 12  # to nearest, ties to even
    CONV_ODD = 13  # to nearest, ties to odd

    @property
    def mode(self) -> Rounding:
        return _MODES[self]


_MODES = {
    RoundingCode.FLOOR: Rounding.RTD,
    RoundingCode.CEIL: Rounding.RTU,
    RoundingCode.SYMMETRIC_FLOOR: Rounding.RTZ,
    RoundingCode.SYMMETRIC_CEIL: Rounding.RTA,
    RoundingCode.NEGATIVE_INF: Rounding.RND,
    RoundingCode.POSITIVE_INF: Rounding.RNU,
    RoundingCode.SYMMETRIC_ZERO: Rounding.RNZ,
    RoundingCode.SYMMETRIC_INF: Rounding.RNA,
    RoundingCode.CONV_EVEN: Rounding.RNE,
    RoundingCode.CONV_ODD: Rounding.RNO,
}


class Saturation(IntEnum):
    """Treatment of an integer that does not fit, by the codes of crSat (UG1583)."""

    NONE = 0  # the high bits are dropped
    SATURATE = 1
    SYMMETRIC = 3  # as SATURATE, but signed numbers end at -(2**(n - 1) - 1)


class Fp8Representation(IntEnum):
    """Representations of an 8-bit float by the codes of crFP8conf and crBF8conf. Ref: LLVM; their meaning is chosen."""

    IEEE = 0
    EXT1 = 1
    EXT2 = 2


FP8_FORMATS = {
    ("e4m3", Fp8Representation.IEEE): E4M3,
    ("e4m3", Fp8Representation.EXT1): E4M3FN,
    ("e4m3", Fp8Representation.EXT2): E4M3FNUZ,
    ("e5m2", Fp8Representation.IEEE): E5M2,
    ("e5m2", Fp8Representation.EXT1): E5M2,
    ("e5m2", Fp8Representation.EXT2): E5M2FNUZ,
}
"""OFP8's E5M2 has infinities, so that EXT1 of e5m2 is its IEEE form."""

SRS_MODES = {32: (8, 16), 64: (16, 32)}
"""Accumulator lane bits -> vector lane bits that SRS makes of them. Ref: AM027."""
UPS_MODES = {32: (8, 16), 64: (16, 32)}
"""Accumulator lane bits -> vector lane bits that UPS takes. Ref: AM027."""
SRS_SHIFTS = range(-4, 64)
"""A negative shift goes left. Ref: UG1583 for -4 to 59; the registers' 6 bits for the rest."""
UPS_SHIFTS = range(64)
FLOAT_SHIFTS = range(-32, 32)
"""Powers of two in conversions to 8-bit floats and to integers: 6 bits, signed."""

VECTOR_BITS = 512
"""Bits of an X register, and of a result of the add/compare, shift and shuffle units."""
LANE_BITS = (8, 16, 32)
"""Integer lanes of the add/compare unit. Ref: AM027."""


class VectorOp(IntEnum):
    """Operations of the add/compare unit by LLVM's codes for integers. The comments give value; mask."""

    ADD = 0
    SUB = 1
    SEL = 2
    ADDSUB = 3
    AND = 4
    OR = 5
    ABS_GTZ = 6  # |a|; a > 0
    MAXDIFF_LT = 7  # max(a - b, 0); a < b
    SUB_LT = 8  # a - b; a < b
    SUB_GE = 9  # a - b; a >= b
    BNEG_LTZ = 10  # bitwise complement of a; a < 0
    EQZ = 11  # a; a == 0
    MIN_GE = 12  # min(a, b); a >= b
    MAX_LT = 13  # max(a, b); a < b
    LT = 14  # a; a < b
    NEG_GTZ = 15  # -a; a > 0
    GE = 16  # a; a >= b


FLOAT_OPS = {VectorOp.MIN_GE: 20, VectorOp.MAX_LT: 24, VectorOp.LT: 28, VectorOp.GE: 32}
"""Operations that floats have too, with the code of the first format of `FLOAT_OP_FORMATS`; the others follow it."""
FLOAT_OP_FORMATS: tuple[tuple[FloatFormat, ...], ...] = (
    (BF16,),
    (FP16,),
    (E5M2, E5M2FNUZ),
    (E4M3, E4M3FN, E4M3FNUZ),
)


SPARSE_GROUP = 4
"""Entities of a group, at most two of them not zero: bytes (int8, fp8, pairs of int4) or 16-bit words. Ref: UG1603."""
SPARSE_KEPT = 2
SPARSE_CHUNK_BYTES = 64
"""Bytes before compression that one mask of 64 bits describes. Ref: UG1583."""
SPARSE_ALIGNMENT_BYTES = 4
"""A compressed chunk is padded to a multiple of this. Ref: UG1603."""
SPARSE_PAIRS = {
    0b0001: (0, None),
    0b0010: (1, None),
    0b0100: (None, 2),
    0b1000: (None, 3),
    0b0011: (0, 1),
    0b0101: (0, 2),
    0b1001: (0, 3),
    0b0110: (1, 2),
    0b1010: (1, 3),
    0b1100: (2, 3),
    0b0000: (None, None),
}
"""Mask of a group -> the positions that its low and its high slot hold; None is a zero. Ref: UG1583."""

CASCADE_BITS = 512
"""One accumulator register: 16 lanes of FP32 or INT32, or 8 of INT64. Ref: AM027."""
CASCADE_DEPTH = 2
"""Entries of the FIFO on either side. Ref: AM027."""

EXP2_OFFSET = 895
"""Added to x and taken off again: x + 895 in [768, 1024) holds the result's exponent field in 8 bits. Ref: LLVM."""
EXP2_OFFSET_CODE = 0x445FC010
"""FP32 code of 895.001, the constant that LLVM's header adds."""
EXP2_FRACTION_BITS = 11
"""Fraction bits of x + 895 that count. Ref: UG1639."""
F32_PIECES = 3
"""BF16 numbers that an FP32 number is emulated by. Ref: LLVM."""
F32_PRODUCTS = {9: 4, 6: 2, 3: 1}
"""Products of an emulated FP32 multiplication -> the largest i + j of the pieces i and j that are multiplied."""
