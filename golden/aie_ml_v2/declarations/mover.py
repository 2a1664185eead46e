"""AMD AIE-ML v2: the 58 modes of the shuffle unit, lanes of scalar moves, and exp2's third format.

The references are those of :mod:`bitpath.golden.aie_ml_v2.declarations.codes`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, IntFlag

from bitpath.golden.aie_ml_v2.declarations.codes import VECTOR_BITS
from bitpath.golden.formats.catalogue import FloatFormat, Specials

# AMD AIE-ML v2's scalar unit: its operations, its functions, and the bits of status register SR2.
#
# Ref: AM027 (scalar unit), AM029 "AIE-ML v2 Register Reference" (SR2); llvm-aie, target aie2ps, for operations and shifts.


WORD_BITS = 32
"""Bits of a scalar register."""


class Sr2(IntFlag):
    """Flags of status register SR2, by their bits there.

    Zero and infinity: the result is one. Invalid: NaN, or an operation without a result. Tiny: the result, rounded with an
    unbounded exponent, is below the smallest normal number and not 0. Huge: that result is above the largest number.
    Inexact: the result is not the exact one.
    """

    TO_FIX_ZERO = 1 << 0
    TO_FIX_INVALID = 1 << 2
    TO_FIX_INEXACT = 1 << 5
    TO_FIX_HUGE = 1 << 6
    TO_FLOAT_ZERO = 1 << 8
    TO_FLOAT_INEXACT = 1 << 13
    ZERO = 1 << 16
    INFINITY = 1 << 17
    INVALID = 1 << 18
    TINY = 1 << 19
    HUGE = 1 << 20
    INEXACT = 1 << 21


class ScalarFunction(Enum):
    """Functions of a float, or of an integer with a binary point."""

    INV = "inv"  # 1 / x
    SQRT = "sqrt"
    INVSQRT = "invsqrt"  # 1 / sqrt(x)


class ScalarOp(Enum):
    """Operations on words, by name. Only those whose comment has a carry change it."""

    ADD = "add"  # carry: bit 32 of the sum
    ADC = "adc"  # with carry; carry as ADD
    SUB = "sub"  # carry: a borrow
    SBC = "sbc"  # less the carry; carry as SUB
    ABS = "abs"  # carry: a is -2**31, which stays
    AND = "and"
    OR = "or"
    XOR = "xor"
    LSHL = "lshl"  # a * 2**b; b is signed, zeros enter from above
    ASHL = "ashl"  # the same, the sign enters from above
    MUL = "mul"
    MAC = "mac"  # acc + a * b
    MSC = "msc"  # acc - a * b
    MIN = "min"
    MAX = "max"
    MINU = "minu"
    MAXU = "maxu"
    LT = "lt"
    LTU = "ltu"
    GE = "ge"
    GEU = "geu"
    EQ = "eq"
    NE = "ne"
    EQZ = "eqz"
    NEZ = "nez"
    SELEQZ = "seleqz"  # a where acc, the machine's r27, is 0; else b
    SELNEZ = "selnez"  # a where it is not
    CLZ = "clz"  # leading zeros
    CLB = "clb"  # leading copies of the sign, the sign included
    POPCOUNT = "popcount"
    EXT_S8 = "ext_s8"  # sign or zero extension of the low bits
    EXT_S16 = "ext_s16"
    EXT_U8 = "ext_u8"
    EXT_U16 = "ext_u16"


SCALAR_LANE_BITS = (8, 16, 32, 64)
"""Lanes that a scalar register writes or reads: push, insert, extract, broadcast. Ref: LLVM."""
BROADCAST_LANE_BITS = (*SCALAR_LANE_BITS, 128)
"""Lanes that extract-and-broadcast copies. Ref: LLVM."""
SCALAR_BITS = 32
"""Bits of an r register, which takes an extracted lane of 32 bits or less; an l register, two of them, takes 64."""
MASK_LANES = (16, 32, 64)
"""Lanes of a mask: 16 and 32 in an r register, 64 in an l register. Ref: LLVM."""

BF20 = FloatFormat(name="BF20", exponent_bits=8, fraction_bits=11, bias=127, specials=Specials.IEEE, nan_code=0x7FC00)
"""FP32's upper 20 bits, exp2's result in an accumulator. Ref: LLVM for the name; its fields are chosen."""


class Half(Enum):
    """Half of a 1024-bit shuffle that is returned, 512 bits."""

    LO = "lo"
    HI = "hi"


@dataclass(frozen=True, kw_only=True)
class ShuffleMode:
    """A rows x cols matrix of fields, row by row from bit 0: transposed, or each row reversed.

    Attributes
    ----------
    bits : bits of a field.
    rows, cols : the matrix. Matrices lie side by side until they fill two registers (1024 bits) or one.
    half : the half returned; None where one register is shuffled.
    flip : fields of a row are reversed instead.
    """

    bits: int
    rows: int
    cols: int
    half: Half | None = None
    flip: bool = False

    @property
    def name(self) -> str:
        """As LLVM names it, for example T16_8x8_lo."""
        end = "_flip" if self.flip else f"_{self.half.value}" if self.half else ""
        return f"T{self.bits}_{self.rows}x{self.cols}{end}"


_COLUMNS_OF_TWO = {256: (2,), 128: (2, 4), 64: (2, 4, 8), 32: (2, 4, 8, 16), 16: (2, 4, 8, 16, 32), 8: (2, 64)}
_COLUMNS_OF_ONE = {64: (2, 4), 32: (2, 4, 8), 16: (2, 4, 8, 16), 8: (4, 8, 16)}
"""Bits of a field -> columns of the matrices that fill two registers, or one."""
_OTHERS = {
    0: ShuffleMode(bits=VECTOR_BITS, rows=1, cols=2, half=Half.LO),
    1: ShuffleMode(bits=VECTOR_BITS, rows=1, cols=2, half=Half.HI),
    45: ShuffleMode(bits=8, rows=1, cols=4, flip=True),
    59: ShuffleMode(bits=16, rows=1, cols=2, flip=True),
    73: ShuffleMode(bits=32, rows=1, cols=16, flip=True),
    75: ShuffleMode(bits=8, rows=4, cols=8),
    77: ShuffleMode(bits=16, rows=2, cols=8),
    87: ShuffleMode(bits=16, rows=4, cols=2),
    89: ShuffleMode(bits=8, rows=8, cols=4),
    91: ShuffleMode(bits=16, rows=4, cols=4),
    101: ShuffleMode(bits=16, rows=2, cols=4),
    105: ShuffleMode(bits=16, rows=8, cols=2),
}
"""Whole registers, flips, and matrices smaller than a register, which repeat over it."""


def _modes() -> Iterator[tuple[int, ShuffleMode]]:
    """Yield codes with their modes. With r and c the binary logarithms of rows and columns, matrices of two registers
    have the codes ``16c + 2r`` (low half) and one more (high half), those of one register ``126 - 16c - 2r``."""
    for registers, columns in ((2, _COLUMNS_OF_TWO), (1, _COLUMNS_OF_ONE)):
        for bits, cols in ((bits, cols) for bits, several in columns.items() for cols in several):
            rows = registers * VECTOR_BITS // (bits * cols)
            place = 16 * (cols.bit_length() - 1) + 2 * (rows.bit_length() - 1)
            if registers == 1:
                yield 126 - place, ShuffleMode(bits=bits, rows=rows, cols=cols)
            else:
                for more, half in enumerate(Half):
                    yield place + more, ShuffleMode(bits=bits, rows=rows, cols=cols, half=half)
    yield from _OTHERS.items()


SHUFFLE_CODES = dict(sorted(_modes(), key=lambda each: each[0]))
"""The 58 modes by code; any other of the family is made with `ShuffleMode`. Ref: LLVM for names and codes."""
SHUFFLE_MODES = {mode.name: mode for mode in SHUFFLE_CODES.values()}
