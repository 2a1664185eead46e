"""Normalisation shift of two's complement sums that stops at the smallest exponent."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.common.arithmetic.raw import moving_sum

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
