"""Normalisation of a sum: leading-zero count and shift in one."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.rtl.common.arithmetic.decode import moving_sum, normal_sum

# Normalisation shift of two's complement sums that stops at the smallest exponent.


LEVELS_AT_ONCE = 3
"""Levels decided together, from tests of seven of the sum's eight leading chunks."""


class NormalizeShift(wiring.Component):
    """Combinational levels of a left shifter; a level shifts by ``2**level`` while the leading digits equal the sign.

    The shift ends where the exponent becomes 1, so a subnormal result is in place and rounding shifts nothing back. Bits
    that stay below the guard bit for any later shift go into ``sticky``.

    The shift is the smaller of the needed and the allowed one, found from the highest level down like a comparison.
    While both agree in all higher levels, a level shifts if both have its bit; below the first difference the smaller
    one decides. If that is the allowed shift, the sum has not shifted as far as needed, so every level finds its leading
    digits equal to the sign.

    Parameters
    ----------
    i : layout of the sum, as made by ``moving_sum``.
    low : lowest level; the highest is that of the layout's ``allowed``.
    precision : bits of the significand.
    inverted : True if the digits of a negative sum are already inverted; in ``o`` they are.

    Members
    -------
    i : In(moving_sum)
    o : Out(moving_sum)
    """

    clocked = False

    def __init__(self, i: data.StructLayout, low: int, precision: int, *, inverted: bool):
        self.low, self.precision, self.inverted = low, precision, inverted
        self.high = i["allowed"].shape.width
        # Significand and guard bit, and the reach of the levels below.
        width = precision + (1 << low)
        super().__init__({"i": In(i), "o": Out(moving_sum(width, i["exponent"].shape.width, low))})

    def elaborate(self, platform):
        m = Module()
        value, sign, allowed = self.i.digits, self.i.sign, self.i.allowed
        # Zeros enter from below, inverted with the digits.
        zero = sign if self.inverted else Const(0)
        value = Cat(zero.replicate(max(0, len(self.o.digits) - len(value))), value)
        free, sticky, shift = self.i.free, self.i.sticky, []
        for high in range(self.high, self.low, -LEVELS_AT_ONCE):
            low = max(self.low, high - LEVELS_AT_ONCE)
            size, count = 1 << low, (1 << high - low) - 1
            # At least the tested digits: zeros below the lowest one end a sum of -1.
            value = Cat(zero.replicate(max(0, size * count - len(value))), value)
            chunks = [value[len(value) - size * (k + 1) :][:size] for k in range(count)]
            empty = [~chunk.any() if self.inverted else Mux(sign, chunk.all(), ~chunk.any()) for chunk in chunks]
            for level in reversed(range(low, high)):
                half, amount = 1 << level - low, 1 << level
                needed, taken = Signal(name=f"needed_{level}"), Signal(name=f"taken_{level}")
                m.d.comb += [needed.eq(Cat(empty[:half]).all()), taken.eq(needed & (free | allowed[level]))]
                free |= allowed[level] & ~needed
                empty = [Mux(taken, there, here) for there, here in zip(empty[half:], empty, strict=False)]
                shift.insert(0, taken)

                moved = Signal(len(value), name=f"moved_{level}")
                m.d.comb += moved.eq(Mux(taken, Cat(zero.replicate(amount), value), value))
                lost = max(0, len(value) - (self.precision + amount))
                if lost:
                    sticky |= (moved[:lost] ^ zero.replicate(lost)).any()
                value = moved[lost:]
        invert = Const(0) if self.inverted else sign
        m.d.comb += [
            self.o.digits.eq(value ^ invert.replicate(len(value))),
            self.o.sign.eq(sign),
            self.o.sticky.eq(sticky),
            self.o.exponent.eq(self.i.exponent - Cat(Const(0, self.low), *shift)),
        ]
        if self.low:
            m.d.comb += [self.o.free.eq(free), self.o.allowed.eq(allowed[: self.low])]
        return m


class Normalize(wiring.Component):
    """Combinational shift of a sum to its leading bit, split into significand, guard and sticky::

        magnitude   0001xxxxxxxxxxxxxxxx      exponent: weight of the lowest bit
        shifted     1xxxxxxxxxxxxxxxx000
                    |precision|g| OR -> sticky

    One level for each bit of the shift, from the largest down: if the upper part is zero, the lower part moves up.

    Parameters
    ----------
    i : layout of the sum, as made by ``raw_sum``.
    precision : bits of the significand.

    Members
    -------
    i : In(raw_sum)
    o : Out(normal_sum); ``sign`` is the sum's
    """

    clocked = False

    def __init__(self, i: data.StructLayout, precision: int):
        self.precision = precision
        self.in_width = i["magnitude"].shape.width
        # At least significand, guard and sticky.
        self.width = max(self.in_width, precision + 2)
        exponent_width = i["exponent"].shape.width + 1  # the leading bit's weight is above the lowest bit's
        super().__init__({"i": In(i), "o": Out(normal_sum(precision, exponent_width))})

    def elaborate(self, platform):
        m = Module()
        value = Cat(Const(0, self.width - self.in_width), self.i.magnitude)
        zeros = []
        for level in reversed(range(ceil_log2(self.width))):
            amount = 1 << level
            empty = Signal(name=f"empty_{level}")
            shifted = Signal(self.width, name=f"shifted_{level}")
            m.d.comb += [
                empty.eq(~value[-amount:].any()),
                shifted.eq(Mux(empty, value << amount, value)),
            ]
            value = shifted
            zeros.insert(0, empty)
        discarded = self.width - self.precision - 1
        m.d.comb += [
            self.o.significand.eq(value[-self.precision :]),
            self.o.guard.eq(value[discarded]),
            self.o.sticky.eq(value[:discarded].any()),
            self.o.zero.eq(~value[-1]),
            self.o.sign.eq(self.i.sign),
            self.o.exponent.eq(self.i.exponent + (self.in_width - 1) - Cat(zeros)),
        ]
        return m
