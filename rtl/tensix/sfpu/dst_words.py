"""Words between Dst and the lanes: SFPLOAD and SFPSTORE by the instruction's mode.

Words have the register's bit order; those of 16 bits are in the lower half.

Ref: tt-isa-documentation, SFPLOAD, SFPSTORE, Dst: of Wormhole 3930471, of Blackhole 0f3f6b7; ttsim v1.10.0 for FP32 denormals
on Wormhole.
"""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import DST16_BF16, DST16_FP16, DST32
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.tensix.matrix.registers import from_physical, to_physical
from bitpath.rtl.tensix.sfpu.layouts import WORD_BITS
from bitpath.rtl.tensix.sfpu.simple import twos_complement
from bitpath.rtl.tensix.sfpu.tables import FP16_REBIAS

HALF = 16


class DstMode(enum.Enum, shape=4):
    """Modes of SFPLOAD and SFPSTORE; SRCB stands for FP16, BF16 or FP32 by the configuration."""

    SRCB = 0
    FP16 = 1
    BF16 = 2
    FP32 = 3
    INT32 = 4
    INT8 = 5
    UINT16 = 6
    HI16 = 7
    INT16 = 8
    LO16 = 9
    INT32_ALL = 10
    ZERO = 11
    INT32_SM = 12
    INT8_COMP = 13
    LO16_ONLY = 14
    HI16_ONLY = 15


WIDE_LOADS = (DstMode.FP32, DstMode.INT32, DstMode.INT32_ALL, DstMode.INT32_SM)
WIDE_STORES = (*WIDE_LOADS, DstMode.HI16, DstMode.LO16)
"""Modes of 32-bit words."""
FP16_ENDS = FP16_REBIAS + 31
"""Largest exponent field of FP32 that FP16 has."""
INTEGER_EXPONENT = 16
"""Exponent field of an integer in FP16's layout."""


def sign_magnitude(word: Value) -> Value:
    """Return two's complement as sign and magnitude; the least integer becomes -0."""
    return Cat(twos_complement(word)[:-1], word[-1])


class FromDst(wiring.Component):
    """The word that SFPLOAD writes to a register. It is combinational, with latency 0.

    Parameters
    ----------
    numerics : ``sfpu_sign_magnitude`` is read.

    Members
    -------
    i : In(32), the word of Dst; before : In(32), the register's, of which LO16_ONLY and HI16_ONLY keep a half
    mode : In(DstMode), not SRCB
    infinity : In(1), FP16's code of all ones becomes an infinity
    o : Out(32)
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
        inputs = {"i": In(WORD_BITS), "before": In(WORD_BITS), "mode": In(DstMode), "infinity": In(1)}
        super().__init__(inputs | {"o": Out(WORD_BITS)})

    def elaborate(self, platform):
        m = Module()
        signed = self.numerics.sfpu_sign_magnitude
        half, sign = self.i[:HALF], self.i[HALF - 1]
        wide = from_physical(DST32, self.i)
        fp16, bf16 = from_physical(DST16_FP16, half), from_physical(DST16_BF16, half)
        exponent = Mux(fp16[10:15].any(), fp16[10:15] + FP16_REBIAS, 0)[:8]
        number = Cat(Const(0, 13), fp16[:10], exponent, sign)
        infinite = self.infinity & half[:-1].all()
        integer = Cat(fp16[:10], Const(0, WORD_BITS - 11), sign)
        magnitude_bits = 7 if signed else 8
        values = {
            DstMode.FP16: Mux(infinite, Cat(Const(0xFF << 23, WORD_BITS - 1), sign), number),
            DstMode.BF16: Cat(Const(0, HALF), bf16),
            DstMode.FP32: wide,
            DstMode.INT32: wide,
            DstMode.INT32_ALL: wide,
            DstMode.INT32_SM: _negated(wide) if signed else wide,
            DstMode.INT8: Cat(fp16[:magnitude_bits], Const(0, WORD_BITS - 1 - magnitude_bits), sign),
            DstMode.INT8_COMP: _negated(integer) if signed else integer,
            DstMode.INT16: Cat(half[:-1], Const(0, HALF), sign),
            DstMode.UINT16: half,
            DstMode.LO16: half,
            DstMode.HI16: Cat(Const(0, HALF), half),
            DstMode.LO16_ONLY: Cat(half, self.before[HALF:]),
            DstMode.HI16_ONLY: Cat(self.before[:HALF], half),
        }
        with m.Switch(self.mode):
            for mode, value in values.items():
                with m.Case(mode):
                    m.d.comb += self.o.eq(value)
        return m


def _negated(word: Value) -> Value:
    """Return a sign and magnitude as two's complement."""
    return Mux(word[-1], -word[:-1], word[:-1])[:WORD_BITS]


class ToDst(wiring.Component):
    """The word that SFPSTORE writes to Dst. It is combinational, with latency 0.

    Parameters
    ----------
    numerics : ``sfpu_sign_magnitude`` and ``sfpstore_flush`` are read.

    Members
    -------
    i : In(32), the register
    mode : In(DstMode), not SRCB
    o : Out(32)
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
        super().__init__({"i": In(WORD_BITS), "mode": In(DstMode), "o": Out(WORD_BITS)})

    def elaborate(self, platform):
        m = Module()
        word, sign = self.i, self.i[-1]
        numerics = self.numerics
        signed = numerics.sfpu_sign_magnitude
        exponent = word[23:-1]
        flushed = Signal(WORD_BITS)
        fp16 = Signal(HALF - 1)
        m.d.comb += flushed.eq(Cat(word[:23] & exponent.any().replicate(23), word[23:]))
        with m.If(exponent > FP16_ENDS):
            m.d.comb += fp16.eq(~0)
        with m.Elif(exponent > FP16_REBIAS):
            m.d.comb += fp16.eq(Cat(word[13:23], (exponent - FP16_REBIAS)[:5]))
        negated = sign_magnitude(word)

        def integer(value: Value) -> Value:
            return to_physical(DST16_FP16, Cat(value[:10], Const(INTEGER_EXPONENT, 5), value[-1]))

        values = {
            DstMode.FP16: to_physical(DST16_FP16, Cat(fp16, sign)),
            DstMode.BF16: to_physical(DST16_BF16, flushed[HALF:]),
            DstMode.FP32: to_physical(DST32, flushed if numerics.sfpstore_flush else word),
            DstMode.INT32: to_physical(DST32, word),
            DstMode.INT32_ALL: to_physical(DST32, word),
            DstMode.INT32_SM: to_physical(DST32, negated if signed else word),
            DstMode.INT8: integer(word),
            DstMode.INT8_COMP: integer(negated if signed else word),
            DstMode.INT16: Cat(word[: HALF - 1], sign),
            DstMode.UINT16: word[:HALF],
            DstMode.LO16_ONLY: word[:HALF],
            DstMode.HI16_ONLY: word[HALF:],
            DstMode.HI16: word,
            DstMode.LO16: Cat(word[HALF:], word[:HALF]),
        }
        with m.Switch(self.mode):
            for mode, value in values.items():
                with m.Case(mode):
                    m.d.comb += self.o.eq(value)
        return m
