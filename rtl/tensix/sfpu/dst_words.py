"""Words between Dst and the lanes: SFPLOAD and SFPSTORE by the instruction's mode.

Words have the register's bit order; those of 16 bits are in the lower half.

Ref: tt-isa-documentation, SFPLOAD, SFPSTORE, Dst: of Wormhole 3930471, of Blackhole 0f3f6b7; ttsim v1.10.0 for FP32 denormals
on Wormhole.
"""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import DST16_BF16, DST16_FP16, DST32
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.declarations.sfpu import StoreMode
from bitpath.rtl.tensix.matrix.registers import from_physical, to_physical
from bitpath.rtl.tensix.sfpu.layouts import WORD_BITS
from bitpath.rtl.tensix.sfpu.simple import twos_complement
from bitpath.rtl.tensix.sfpu.tables import FP16_REBIAS

HALF = 16
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
    i : In(32), the word of Dst; old : In(32), the register's, of which LO16_ONLY and HI16_ONLY keep a half
    mode : In(StoreMode)
    infinity : In(1), FP16's code of all ones becomes an infinity
    o : Out(32)
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
        inputs = {"i": In(WORD_BITS), "old": In(WORD_BITS), "mode": In(StoreMode), "infinity": In(1)}
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
            StoreMode.FP16: Mux(infinite, Cat(Const(0xFF << 23, WORD_BITS - 1), sign), number),
            StoreMode.BF16: Cat(Const(0, HALF), bf16),
            StoreMode.FP32: wide,
            StoreMode.INT32: wide,
            StoreMode.INT32_ALL: wide,
            StoreMode.INT32_SM: _negated(wide) if signed else wide,
            StoreMode.INT8: Cat(fp16[:magnitude_bits], Const(0, WORD_BITS - 1 - magnitude_bits), sign),
            StoreMode.INT8_COMP: _negated(integer) if signed else integer,
            StoreMode.INT16: Cat(half[:-1], Const(0, HALF), sign),
            StoreMode.UINT16: half,
            StoreMode.LO16: half,
            StoreMode.HI16: Cat(Const(0, HALF), half),
            StoreMode.LO16_ONLY: Cat(half, self.old[HALF:]),
            StoreMode.HI16_ONLY: Cat(self.old[:HALF], half),
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
    mode : In(StoreMode)
    o : Out(32)
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
        super().__init__({"i": In(WORD_BITS), "mode": In(StoreMode), "o": Out(WORD_BITS)})

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
            StoreMode.FP16: to_physical(DST16_FP16, Cat(fp16, sign)),
            StoreMode.BF16: to_physical(DST16_BF16, flushed[HALF:]),
            StoreMode.FP32: to_physical(DST32, flushed if numerics.sfpstore_flush else word),
            StoreMode.INT32: to_physical(DST32, word),
            StoreMode.INT32_ALL: to_physical(DST32, word),
            StoreMode.INT32_SM: to_physical(DST32, negated if signed else word),
            StoreMode.INT8: integer(word),
            StoreMode.INT8_COMP: integer(negated if signed else word),
            StoreMode.INT16: Cat(word[: HALF - 1], sign),
            StoreMode.UINT16: word[:HALF],
            StoreMode.LO16_ONLY: word[:HALF],
            StoreMode.HI16_ONLY: word[HALF:],
            StoreMode.HI16: word,
            StoreMode.LO16: Cat(word[HALF:], word[:HALF]),
        }
        with m.Switch(self.mode):
            for mode, value in values.items():
                with m.Case(mode):
                    m.d.comb += self.o.eq(value)
        return m
