"""a * b + c of FP32 as the MAD sub-unit computes it, partly fused: the product keeps 4 bits more than FP32.

::

      product   xx.fff...fff|ddd...ddd     48 bits
                xx.fff...fffgrs            28 bits are kept, s is the or of all below
      addend     1.fff...fff000            27 bits
      sum      xxx.fff...fffgrs            of the addend of larger exponent, and the other one shifted right

The shifter ors lost bits into its last bit; a number that is shifted out whole becomes 0. One rounding to
nearest, ties to even. Subnormal numbers count as zeros.

===============================  =======================================  ==============================================
                                 Wormhole                                 Blackhole
===============================  =======================================  ==============================================
zero                             +0                                       as IEEE 754
NaN                              0x7F800001 with a sign, ored with the    0x7FC00000
                                 sum that is computed meanwhile
overflown product - infinity     NaN                                      the infinity of the addend
sum with 2 bits before the last  the lower of both lost bits is sticky    both are
subnormal result                 0; rounds up to normal from its lowest   rounds up if all its fraction bits are set
                                 binade
===============================  =======================================  ==============================================

A product is infinite if its biased exponent is 255 or more, and zero if it is negative. Mul24 uses the same multiplier.

Ref: tt-isa-documentation, Miscellaneous/FMA commit 06c5af5, SFPMAD 241b4ea, SFPMUL24 585749d.
"""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.tensix.declarations.formats import Chip

FRACTION_BITS, EXPONENT_BITS = 23, 8
SIGNIFICAND_BITS = FRACTION_BITS + 1
GUARD_BITS = 3
ADDEND_BITS = SIGNIFICAND_BITS + GUARD_BITS
PRODUCT_BITS = ADDEND_BITS + 1
"""Kept bits of a product, which may be up to 4."""
DROPPED_BITS = 2 * SIGNIFICAND_BITS - PRODUCT_BITS
SUM_BITS = PRODUCT_BITS + 1
INFINITY = 255
"""Exponent field of infinities and NaN."""
CANONICAL_NAN, LOW_NAN = 0x7FC00000, 0x7F800001
MUL24_BITS = 23
MUL24_EXPONENT = 129
"""Exponent field of a product of integers when it is added to an addend."""


class Outcome(enum.Enum, shape=2):
    """Results that the operands' special values decide."""

    SUM = 0
    ADDEND = 1
    INFINITE = 2  # of the product's sign
    NAN = 3


class Product(data.Struct):
    """A product and its addend between both cycles.

    - ``significand`` : 28 bits, 0 if the product counts as zero; of Mul24 its 23 bits.
    - ``exponent`` : biased, of the binade of the lower integer bit.
    - ``sign`` : the product's; ``nan_sign`` : that of Wormhole's NaN.
    - ``zero`` : the product is zero, so the addend is the result, but for Wormhole's NaN.
    """

    significand: PRODUCT_BITS
    exponent: EXPONENT_BITS
    sign: 1
    nan_sign: 1
    zero: 1
    outcome: Outcome
    addend: FP32.width
    is_integer: 1


class Multiply(wiring.Component):
    """First cycle: the product and the special values. It is combinational, with latency 0.

    Parameters
    ----------
    chip : decides special values, and has Mul24 or not.

    Members
    -------
    a, b, c : In(32), FP32
    is_integer, upper : In(1), Mul24: the lower or upper 23 bits of the product of the lower 23 bits of a and b
    o : Out(Product)
    """

    clocked = False

    def __init__(self, chip: Chip):
        self.chip = chip
        operands = dict.fromkeys("abc", In(FP32.width))
        super().__init__(operands | {"is_integer": In(1), "upper": In(1), "o": Out(Product)})

    def elaborate(self, platform):
        m = Module()
        blackhole = self.chip is Chip.BLACKHOLE
        exponents = [code[FRACTION_BITS:-1] for code in (self.a, self.b, self.c)]
        normal = [exponent.any() for exponent in exponents]
        special = [exponent.all() for exponent in exponents]
        nan = [special[k] & code[:FRACTION_BITS].any() for k, code in enumerate((self.a, self.b, self.c))]
        infinite = [special[k] & ~nan[k] for k in range(3)]
        integer = self.is_integer if blackhole else Const(0)
        factors = []
        for name, code, present in (("a", self.a, normal[0]), ("b", self.b, normal[1])):
            factor = Signal(SIGNIFICAND_BITS, name=f"factor_{name}")
            fraction = code[:FRACTION_BITS] & (present | integer).replicate(FRACTION_BITS)
            m.d.comb += factor.eq(Cat(fraction, present & ~integer))
            factors.append(factor)
        product = Signal(2 * SIGNIFICAND_BITS)
        exponent = Signal(EXPONENT_BITS + 1)
        below, above = Signal(), Signal()
        m.d.comb += [
            product.eq(factors[0] * factors[1]),
            exponent.eq(exponents[0] + exponents[1]),
            # The sum of both exponents is compared before the bias of one is taken off.
            below.eq(exponent < FP32.bias),
            above.eq(exponent >= INFINITY + FP32.bias),
        ]
        sign = self.a[-1] ^ self.b[-1]
        nothing = ~(normal[0] & normal[1])
        from_product = nan[0] | nan[1] | (infinite[0] & ~normal[1]) | (infinite[1] & ~normal[0])
        overflows = special[0] | special[1] | above
        against = infinite[2] & (sign ^ self.c[-1])
        cancels = against & (special[0] | special[1] | (Const(0) if blackhole else above))
        o = self.o
        kept = Cat(product[: DROPPED_BITS + 1].any(), product[DROPPED_BITS + 1 :])
        zero = nothing | below
        m.d.comb += [
            o.significand.eq(Mux(zero, 0, kept)),
            o.exponent.eq(Mux(zero, 0, Mux(above, INFINITY, exponent - FP32.bias))),
            o.sign.eq(sign),
            o.nan_sign.eq(Mux(from_product | cancels, sign, self.c[-1])),
            o.zero.eq(zero),
            o.addend.eq(self.c),
        ]
        with m.If(from_product | cancels | nan[2]):
            m.d.comb += o.outcome.eq(Outcome.NAN)
        with m.Elif(infinite[2]):
            m.d.comb += o.outcome.eq(Outcome.ADDEND)
        with m.Elif(overflows):
            m.d.comb += o.outcome.eq(Outcome.INFINITE)
        if blackhole:
            m.d.comb += o.is_integer.eq(integer)
            with m.If(integer):
                lower, upper = product[:MUL24_BITS], product[MUL24_BITS : 2 * MUL24_BITS]
                m.d.comb += o.significand.eq(Mux(self.upper, upper, lower))
        return m


def shifted_right(m: Module, value: Value, amount: Value, name: str) -> Signal:
    """Return the value shifted right; its lost bits are or-ed into the last one, if anything is left."""
    width = len(value)
    wide = Signal(2 * width, name=f"{name}_shifted")
    shifted = Signal(width, name=f"{name}_aligned")
    far = Signal(name=f"{name}_far")
    m.d.comb += [
        far.eq(amount >= width),
        wide.eq(Cat(Const(0, width), value) >> amount[: (width - 1).bit_length()]),
        shifted.eq(Mux(far, 0, wide[width:] | (wide[width:].any() & wide[:width].any()))),
    ]
    return shifted


class Add(wiring.Component):
    """Second cycle: the sum, its normalisation and rounding. It is combinational, with latency 0.

    Parameters
    ----------
    chip : decides rounding, zeros and NaN.

    Members
    -------
    i : In(Product)
    o : Out(32), FP32
    """

    clocked = False

    def __init__(self, chip: Chip):
        self.chip = chip
        super().__init__({"i": In(Product), "o": Out(FP32.width)})

    def elaborate(self, platform):
        m = Module()
        p = self.i
        exponent, total, sign = self._total(m)
        moved, underflows, significand = self._normalised(m, exponent, total)
        fraction, guards = significand[GUARD_BITS:-1], significand[:GUARD_BITS]
        code = Signal(FP32.width - 1)
        up = guards[2] & (guards[0] | guards[1] | significand[GUARD_BITS])
        m.d.comb += code.eq(Cat(fraction, Mux(underflows, 0, moved[:EXPONENT_BITS])) + up)
        infinity = Const(FP32.infinity_code, FP32.width - 1)
        result, nan = self._result(total, sign, moved, code, Cat(infinity, sign))
        with m.Switch(p.outcome):
            with m.Case(Outcome.SUM):
                m.d.comb += self.o.eq(result)
            with m.Case(Outcome.ADDEND):
                m.d.comb += self.o.eq(p.addend)
            with m.Case(Outcome.INFINITE):
                m.d.comb += self.o.eq(Cat(infinity, p.sign))
            with m.Case(Outcome.NAN):
                m.d.comb += self.o.eq(nan)
        if self.chip is Chip.BLACKHOLE:
            with m.If(p.is_integer):
                m.d.comb += self.o.eq(self._mul24(m))
        return m

    def _total(self, m: Module) -> tuple[Signal, Signal, Signal]:
        """Return the larger exponent, and magnitude and sign of the sum of the aligned numbers."""
        p = self.i
        addend_exponent, addend_sign = p.addend[FRACTION_BITS:-1], p.addend[-1]
        addend, exponent = Signal(ADDEND_BITS), Signal(EXPONENT_BITS)
        total, sign = Signal(SUM_BITS), Signal()
        m.d.comb += [
            addend.eq(Mux(addend_exponent.any(), Cat(Const(0, GUARD_BITS), p.addend[:FRACTION_BITS], Const(1, 1)), 0)),
            exponent.eq(Mux(p.exponent > addend_exponent, p.exponent, addend_exponent)),
        ]
        product = shifted_right(m, p.significand, (exponent - p.exponent)[:EXPONENT_BITS], "product")
        other = shifted_right(m, addend, (exponent - addend_exponent)[:EXPONENT_BITS], "addend")
        larger = product >= other
        difference = Mux(larger, product - other, other - product)
        m.d.comb += [
            sign.eq(Mux(larger, p.sign, addend_sign)),
            total.eq(Mux(p.sign ^ addend_sign, difference, product + other)),
        ]
        return exponent, total, sign

    def _normalised(self, m: Module, exponent: Signal, total: Signal) -> tuple[Signal, Value, Signal]:
        """Return the sum's exponent, whether its exponent field is 0, and the significand with guard bits."""
        blackhole = self.chip is Chip.BLACKHOLE
        # Place 26 of the leading one is that of a number with the larger exponent.
        place, moved = Signal(range(SUM_BITS)), Signal(range(-SUM_BITS, (1 << EXPONENT_BITS) + 2))
        for bit in range(SUM_BITS):
            with m.If(total[bit]):
                m.d.comb += place.eq(bit)
        left, significand = Signal(range(SUM_BITS)), Signal(ADDEND_BITS)
        m.d.comb += [moved.eq(exponent + place - (ADDEND_BITS - 1)), left.eq((ADDEND_BITS - 1) - place)]
        right_1 = total[1:] | total[0]
        right_2 = total[2:] | (total[:2].any() if blackhole else total[0])
        underflows = moved <= 0 if blackhole else moved == 0
        with m.If(place == ADDEND_BITS + 1):
            m.d.comb += significand.eq(right_2)
        with m.Elif(place == ADDEND_BITS):
            m.d.comb += significand.eq(right_1)
        if blackhole:
            # One place less, so that the leading one is the fraction's highest bit.
            with m.Elif(underflows & (place == ADDEND_BITS - 1)):
                m.d.comb += significand.eq(right_1)
            with m.Elif(underflows):
                m.d.comb += significand.eq(total << (left - 1)[: len(left)])
        with m.Else():
            m.d.comb += significand.eq(total << left)
        return moved, underflows, significand

    def _result(self, total: Signal, sign: Signal, moved: Signal, code: Signal, infinity: Value) -> tuple[Value, Value]:
        """Return the rounded sum, or the addend if the product is zero, and NaN."""
        p = self.i
        present = p.addend[FRACTION_BITS:-1].any()
        flushed, overflows, nothing = ~code[FRACTION_BITS:].any(), moved >= INFINITY, total == 0
        if self.chip is Chip.BLACKHOLE:
            zero = Cat(Const(0, FP32.width - 1), p.addend[-1] & p.sign)
            rounded = Mux(overflows, infinity, Cat(Mux(flushed, 0, code), sign))
            result = Mux(p.zero, Mux(present, p.addend, zero), Mux(nothing, zero, rounded))
            return result, Const(CANONICAL_NAN, FP32.width)
        lost = nothing | (moved < 0) | flushed
        rounded = Mux(overflows & ~nothing, infinity, Mux(lost, 0, Cat(code, sign)))
        result = Mux(p.zero, Mux(present, p.addend, 0), rounded)
        return result, Cat(Mux(overflows | lost, 0, code) | LOW_NAN, p.nan_sign)

    def _mul24(self, m: Module) -> Value:
        """Return the integers' product after the addition that the datapath makes with an addend that is not 0."""
        exponent = self.i.addend[FRACTION_BITS:-1]
        product = self.i.significand[:MUL24_BITS]
        addend = Cat(Const(0, GUARD_BITS), self.i.addend[:FRACTION_BITS], Const(1, 1))
        # Shift amounts wrap at 32.
        above, below = exponent > MUL24_EXPONENT, Signal(5)
        shifted, lost = Signal(ADDEND_BITS), Signal(32)
        rest = Signal(MUL24_BITS)
        m.d.comb += [
            below.eq(Mux(above, 0, MUL24_EXPONENT - exponent)),
            shifted.eq(addend >> below),
            lost.eq(addend & ~(Const(-1, 32) << below)),
            rest.eq(Mux(above, product >> (exponent - MUL24_EXPONENT)[:5], product)),
        ]
        moved = (rest + shifted + Mux(lost > 0xFFFF, 1 << 16, 0))[:MUL24_BITS]
        return Mux(exponent.any(), Mux(shifted.any(), moved, rest), product)
