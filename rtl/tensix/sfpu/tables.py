"""Factors, addends and approximations from tables: SFPLUT, SFPLUTFP32 and SFPARECIP.

Ref: tt-isa-documentation, SFPLUT 4879855, SFPLUTFP32 1354710, SFPARECIP 585749d.
"""

from fractions import Fraction
from math import exp, floor

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.tensix.sfpu.layouts import REGISTERS, WORD_BITS

FRACTION_BITS = 23
HALF, ONE, ONE_AND_A_HALF, TWO, THREE, FOUR = 0x3F000000, 0x3F800000, 0x3FC00000, 0x40000000, 0x40400000, 0x40800000
"""Bounds of the ranges; magnitudes are compared by their codes, so NaN and infinity are in the last range."""
LUT8_ZERO = 0xFF
FP16_REBIAS = 112
"""Difference between the biases of FP32 and FP16."""


def from_lut8(code: Value) -> Value:
    """Return FP32 of a table's 8 bits: sign, 3 bits e, 4 bits f are +-2**-e * 1.f; all ones are 0."""
    exponent = (FP32.bias - code[4:7])[:8]
    return Mux(code == LUT8_ZERO, 0, Cat(Const(0, 19), code[:4], exponent, code[7]))


def from_lut16(code: Value) -> Value:
    """Return FP32 of a table's 16 bits: FP16 whose exponent 0 is that of normal numbers; an exponent of 31 is 0 with a sign."""
    exponent = Mux(code[10:15].all(), 0, code[10:15] + FP16_REBIAS)[:8]
    return Cat(Const(0, 13), code[:10], exponent, code[15])


class LookUp(wiring.Component):
    """Factor and addend of LReg 3's magnitude: by its range from LReg 0, 1 or 2, and 4, 5 or 6. It is combinational, with latency 0.

    ===========  ===========================================  ==============================
    table        bounds                                       factor and addend
    ===========  ===========================================  ==============================
    narrow       1, 2                                         8 bits each of one register
    mode 0       1, 2                                         a register each
    mode 2       0.5, 1, 1.5, 2, 3                            16 bits of a register each
    mode 3       0.5, 1, 1.5, 2, 4                            16 bits of a register each
    mode 10, 11  1, 2                                         16 bits each of one register
    ===========  ===========================================  ==============================

    Members
    -------
    registers : In(8 words)
    narrow : In(1), SFPLUT
    mode : In(4), the modifier of SFPLUTFP32
    factor, magnitude, addend : Out(32), FP32
    """

    clocked = False
    registers: In(data.ArrayLayout(WORD_BITS, REGISTERS))
    narrow: In(1)
    mode: In(4)
    factor: Out(WORD_BITS)
    magnitude: Out(WORD_BITS)
    addend: Out(WORD_BITS)

    def elaborate(self, platform):
        m = Module()
        mode, magnitude = self.mode, self.registers[3][:-1]
        second, third = magnitude >= ONE, magnitude >= TWO

        def chosen(first: int, name: str) -> Signal:
            word = Signal(WORD_BITS, name=name)
            values = self.registers
            m.d.comb += word.eq(Mux(third, values[first + 2], Mux(second, values[first + 1], values[first])))
            return word

        factors, addends = chosen(0, "factors"), chosen(4, "addends")
        last = Mux(mode[0], magnitude >= FOUR, magnitude >= THREE)
        upper = Mux(third, last, Mux(second, magnitude >= ONE_AND_A_HALF, magnitude >= HALF))
        m.d.comb += [self.magnitude.eq(magnitude), self.factor.eq(factors), self.addend.eq(addends)]
        with m.If(self.narrow):
            m.d.comb += [self.factor.eq(from_lut8(factors[8:16])), self.addend.eq(from_lut8(factors[:8]))]
        with m.Elif(mode[1] & mode[3]):
            m.d.comb += [self.factor.eq(from_lut16(factors[16:])), self.addend.eq(from_lut16(factors[:16]))]
        with m.Elif(mode[1]):
            m.d.comb += [
                self.factor.eq(from_lut16(factors.word_select(upper, 16))),
                self.addend.eq(from_lut16(addends.word_select(upper, 16))),
            ]
        return m


TABLE_INPUT_BITS = 7
"""Fraction bits of a reciprocal's table."""
SMALLEST_NORMAL, RECIPROCAL_END = 0x00800000, 0x7E800000
RECIPROCAL_EXPONENT = 253
EXPONENTIAL_START, EXPONENTIAL_TWO, EXPONENTIAL_END = 0x3C80, 0x3F32, 0x4000
"""Upper 16 bits of the magnitudes from which on the exponential is read from its table, is 2 or more, and is 4."""


def reciprocals() -> list[int]:
    """Return the fractions, in 2**-7, of 2 / x in the middle of each of 128 intervals of x from 1 to 2, rounded to nearest."""
    middles = [1 + (Fraction(place) + Fraction(1, 2)) / 128 for place in range(1 << TABLE_INPUT_BITS)]
    return [floor((2 / middle - 1) * 128 + Fraction(1, 2)) for middle in middles]


def exponentials() -> list[int]:
    """Return the last 8 bits of e**x as BF16, rounded toward zero, for BF16 codes x from 2**-6 up to 2."""
    codes = range(EXPONENTIAL_START, EXPONENTIAL_END)
    powers = [exp((1 + (code & 127) / 128) * 2.0 ** ((code >> 7) - FP32.bias)) for code in codes]
    return [floor(128 * y) - 128 if y < 2 else floor(64 * y) - 128 if y < 4 else floor(32 * y) for y in powers]


class Approximate(wiring.Component):
    """SFPARECIP: approximate 1 / x, or e**x, of a magnitude. It is combinational, with latency 0.

    Members
    -------
    magnitude : In(31), FP32 without its sign
    exponential : In(1)
    o : Out(32), FP32; 0 to 255 in the table of e**x are added to the code of 1 or 2
    """

    clocked = False
    magnitude: In(FP32.width - 1)
    exponential: In(1)
    o: Out(FP32.width)

    def elaborate(self, platform):
        m = Module()
        x = self.magnitude
        upper, lower = x[16:], x[:16]
        reads = []
        for name, width, table, address in (
            ("reciprocals", 7, reciprocals(), x[16:23]),
            ("exponentials", 8, exponentials(), (upper - EXPONENTIAL_START)[:10]),
        ):
            rom = memory.Memory(shape=width, depth=1 << len(address), init=table)
            m.submodules[name] = rom
            port = rom.read_port(domain="comb")
            m.d.comb += port.addr.eq(address)
            reads.append(port.data)
        with m.If(~self.exponential):
            with m.If(x < SMALLEST_NORMAL):
                m.d.comb += self.o.eq(FP32.infinity_code)
            with m.Elif(x < RECIPROCAL_END):
                exponent = (RECIPROCAL_EXPONENT - x[FRACTION_BITS:])[:8]
                m.d.comb += self.o.eq(Cat(Const(0, 16), reads[0], exponent))
        with m.Elif(x < SMALLEST_NORMAL):
            m.d.comb += self.o.eq(ONE)
        with m.Elif(upper < EXPONENTIAL_START):
            m.d.comb += self.o.eq(Cat(lower, Const((ONE >> 16) + 1, 16)))
        with m.Elif(upper < EXPONENTIAL_TWO):
            m.d.comb += self.o.eq(Cat(lower, Const(ONE >> 16, 16) | reads[1]))
        with m.Elif(upper < EXPONENTIAL_END):
            m.d.comb += self.o.eq(Cat(lower, Const(TWO >> 16, 16) | reads[1]))
        with m.Else():
            m.d.comb += self.o.eq(Cat(lower, Const(FOUR >> 16, 16)))
        return m
