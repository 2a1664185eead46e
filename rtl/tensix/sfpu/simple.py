"""The simple sub-unit of a lane: integers, bits, fields, conversions and comparisons, each in one cycle::

      VB or VD -> b --+-> shift, add, compare, fields -+-> value
      VC       -> c --+                                +-> flag

Ref: tt-isa-documentation, the pages of the instructions: of Wormhole 3930471, of Blackhole 585749d.
"""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.tensix.declarations.encodings import OPCODE_LOW
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.sfpu.layouts import WORD_BITS, Entry, SfpuConfig, modifier, named, opcode
from bitpath.rtl.tensix.sfpu.tables import Approximate

FRACTION_BITS, EXPONENT_BITS = 23, 8
SIGN_BIT = 31
SHIFT_BITS = 5
"""Bits of a shift amount that count."""
CAST_BITS = 7
"""Bits that a stochastic SFPCAST compares: those below the fraction without the last, and random bits from `CAST_RANDOM` on."""
CAST_RANDOM = 10
CAST_EXPONENT = 157
"""Exponent field of a magnitude without leading zeros, less its integer bit."""


def ordered(code: Value) -> Value:
    """Return a sign and magnitude as a number that compares as an unsigned integer, -0 below +0."""
    return Cat(Mux(code[SIGN_BIT], ~code[:SIGN_BIT], code[:SIGN_BIT]), ~code[SIGN_BIT])


def twos_complement(code: Value) -> Value:
    """Return 32 bits negated if their sign is set."""
    return Mux(code[SIGN_BIT], -code, code)[:WORD_BITS]


def shifted(m: Module, x: Value, by: Value, fill: Value) -> Value:
    """Return 32 bits shifted left by 0 or more, and right by a negative number, modulo 32, with bits ``fill`` from above."""
    amount, right = Signal(WORD_BITS), Signal(SHIFT_BITS)
    m.d.comb += [amount.eq(by), right.eq(-amount)]
    upper = Cat(x, fill.replicate(WORD_BITS)) >> right
    return Mux(amount[SIGN_BIT], upper[:WORD_BITS], (x << amount[:SHIFT_BITS])[:WORD_BITS])


class LeadingZeros(wiring.Component):
    """Zeros above the highest set bit, 32 of 0, and the word shifted left by them. It is combinational, with latency 0.

    Members
    -------
    i : In(32)
    count : Out(6)
    o : Out(32)
    """

    clocked = False
    i: In(WORD_BITS)
    count: Out(range(WORD_BITS + 1))
    o: Out(WORD_BITS)

    def elaborate(self, platform):
        m = Module()
        value, bits = self.i, []
        # Halves of the remaining word, from the widest to one bit.
        for step in (16, 8, 4, 2, 1):
            empty = Signal(name=f"empty_{step}")
            shifted = Signal(WORD_BITS, name=f"without_{step}")
            m.d.comb += [
                empty.eq(~value[WORD_BITS - step :].any()),
                shifted.eq(Mux(empty, value << step, value)),
            ]
            bits.insert(0, empty)
            value = shifted
        m.d.comb += [self.o.eq(value), self.count.eq(Mux(self.i.any(), Cat(bits), WORD_BITS))]
        return m


class Simple(wiring.Component):
    """The value that an instruction writes to VD, and the flag of an enabled lane behind it. It is combinational, with latency 0.

    Parameters
    ----------
    config : chip and numerics.

    Members
    -------
    word : In(32), an instruction; the value of others than the simple sub-unit's is undefined
    b, c : In(32), VB or VD, and VC
    special : In(32), the word that SFPMOV takes from the configuration, or a random one
    random : In(32), the lane's random number
    current : In(Entry)
    value : Out(32)
    flag : Out(1); it is the present one if the instruction sets none
    smaller : Out(1), c below b as signs and magnitudes
    relation : Out(1), of SFPLE and SFPGT
    """

    clocked = False

    def __init__(self, config: SfpuConfig):
        self.config = config
        words = dict.fromkeys(("word", "b", "c", "special", "random"), In(WORD_BITS))
        outputs = {"value": Out(WORD_BITS), "flag": Out(1), "smaller": Out(1), "relation": Out(1)}
        super().__init__(words | {"current": In(Entry)} | outputs)

    def elaborate(self, platform):
        m = Module()
        config, word, b, c = self.config, self.word, self.b, self.c
        blackhole = config.chip is Chip.BLACKHOLE
        mod = Signal(4)
        immediate = word[12:24].as_signed()
        m.d.comb += [
            mod.eq(modifier(word)),
            self.flag.eq(self.current.flag),
            self.smaller.eq(ordered(c) < ordered(b)),
            self.relation.eq(self.smaller ^ named(word, "SFPLE")),
        ]
        fraction, exponent, sign = c[:FRACTION_BITS], c[FRACTION_BITS:SIGN_BIT], c[SIGN_BIT]
        zeros = instantiate(m, platform, "zeros", LeadingZeros)
        masked = named(word, "SFPCAST") | mod[2]
        m.d.comb += zeros.i.eq(Cat(c[:SIGN_BIT], sign & ~masked))

        added = Signal(WORD_BITS)
        debiased = Signal(WORD_BITS)
        m.d.comb += [
            added.eq(Mux(mod[0], c + immediate, Mux(mod[1], c - b, c + b))),
            debiased.eq(exponent - Mux(mod[0], 0, FP32.bias)),
        ]
        present = self.current.flag
        flags = {
            "SFPIADD": Mux(mod[2], present, added[SIGN_BIT]) ^ mod[3],
            "SFPEXEXP": Mux(mod[1], debiased[SIGN_BIT], present) ^ mod[3],
            "SFPLZ": Mux(mod[1], zeros.i.any(), present) ^ mod[3],
        }
        values = {
            "SFPDIVP2": Cat(fraction, self._scaled(mod, exponent), sign),
            "SFPEXEXP": debiased,
            "SFPEXMAN": Cat(fraction, ~mod[0], Const(0, EXPONENT_BITS)),
            "SFPIADD": added,
            "SFPMOV": self._moved(mod),
            "SFPABS": self._absolute(mod),
            "SFPAND": b & c,
            "SFPOR": b | c,
            "SFPXOR": b ^ c,
            "SFPNOT": ~c,
            "SFPLZ": zeros.count,
            "SFPSETEXP": Cat(
                fraction, Mux(mod[0], word[12:20], Mux(mod[1], b[FRACTION_BITS:SIGN_BIT], b[:EXPONENT_BITS])), sign
            ),
            "SFPSETMAN": Cat(Mux(mod[0], Cat(Const(0, 11), word[12:24]), b[:FRACTION_BITS]), exponent, sign),
            "SFPSETSGN": Cat(c[:SIGN_BIT], Mux(mod[0], word[12], b[SIGN_BIT])),
            "SFPCAST": self._cast(m, mod, zeros),
            "SFPSHFT": self._shifted(m, mod, immediate),
        }
        if blackhole:
            values |= dict.fromkeys(("SFPLE", "SFPGT"), self.relation.replicate(WORD_BITS))
            flags |= dict.fromkeys(("SFPLE", "SFPGT"), Mux(mod[0], self.relation, present))
            values["SFPARECIP"] = self._approximate(m, platform, mod)
        test = Cat(sign, c.any(), ~sign, ~c.any()).bit_select(mod[1:3], 1)
        flags["SFPSETCC"] = self.current.use & ~mod[3] & Mux(mod[0], word[12], test)
        with m.Switch(word[OPCODE_LOW:]):
            for name, value in values.items():
                with m.Case(opcode(name)):
                    m.d.comb += self.value.eq(value)
        with m.Switch(word[OPCODE_LOW:]):
            for name, flag in flags.items():
                with m.Case(opcode(name)):
                    m.d.comb += self.flag.eq(flag)
        return m

    def _scaled(self, mod: Value, exponent: Value) -> Value:
        immediate = self.word[12:20]
        added = Mux(exponent.all(), exponent, exponent + immediate)[:EXPONENT_BITS]
        return Mux(mod[0], added, immediate)

    def _moved(self, mod: Value) -> Value:
        c = self.c
        return Mux(mod[3], self.special, Cat(c[:SIGN_BIT], c[SIGN_BIT] ^ mod[0]))

    def _absolute(self, mod: Value) -> Value:
        c = self.c
        kept = c[FRACTION_BITS:].all()
        if self.config.numerics.sfpabs_clears_infinity:
            kept &= c[:FRACTION_BITS].any()
        return Mux(mod[0], Cat(c[:SIGN_BIT], c[SIGN_BIT] & kept), twos_complement(c))

    def _shifted(self, m: Module, mod: Value, immediate: Value) -> Value:
        """Return the shift of SFPSHFT."""
        c = self.c
        fill, x = Const(0), Signal(WORD_BITS)
        m.d.comb += x.eq(self.b)
        if self.config.chip is Chip.BLACKHOLE:
            with m.If(mod[0] & mod[2]):
                m.d.comb += x.eq(c)
            fill = mod[1] & x[SIGN_BIT]
        return shifted(m, x, Mux(mod[0], immediate, c.as_signed()), fill)

    def _cast(self, m: Module, mod: Value, zeros: LeadingZeros) -> Value:
        """Return a sign and magnitude as FP32; on Blackhole also two's complement made absolute or a sign and magnitude."""
        c = self.c
        norm, number = zeros.o, Signal(WORD_BITS)
        nearest = norm[7] & (norm[:7].any() | norm[8])
        above = norm[1:8] > self.random[CAST_RANDOM : CAST_RANDOM + CAST_BITS]
        exponent = Mux(norm[SIGN_BIT], CAST_EXPONENT - zeros.count, 0)[:EXPONENT_BITS]
        scaled = Cat(norm[8:], Const(0, 7)) + Cat(Const(0, FRACTION_BITS), exponent)
        m.d.comb += number.eq(Cat((scaled + Mux(mod[0], above, nearest))[:SIGN_BIT], c[SIGN_BIT]))
        if self.config.chip is Chip.WORMHOLE:
            return number
        negated = twos_complement(c)
        return Mux(mod[1], Cat(negated[:SIGN_BIT], Mux(mod[0], c[SIGN_BIT], negated[SIGN_BIT])), number)

    def _approximate(self, m: Module, platform, mod: Value) -> Value:
        approximate = instantiate(m, platform, "approximate", Approximate)
        c, exponential = self.c, mod[1:].any()
        m.d.comb += [approximate.magnitude.eq(c[:SIGN_BIT]), approximate.exponential.eq(exponential)]
        magnitude = approximate.o[:SIGN_BIT]
        conditional = ~exponential & mod[0]
        skipped = conditional & ~self.b[SIGN_BIT]
        return Mux(skipped, c, Cat(magnitude, c[SIGN_BIT] & ~conditional))
