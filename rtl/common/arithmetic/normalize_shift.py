"""Two's complement sums moved up to their leading bits, none of them above a smallest exponent."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.common.arithmetic.raw import moving_sum

LEVELS_AT_ONCE = 3
"""Levels of the shifter that one look at the sum decides: eight chunks of it, seven of which are tested."""


class NormalizeShift(wiring.Component):
    """Levels of a shifter that moves a sum up while its highest digits equal its sign. Combinational.

    A sum moves only as far as its exponent stays 1 or more: what is too small for that is a subnormal number, in place.
    So nothing has to be moved down again when it is rounded. What is below the guard bit wherever the lower levels move
    it goes into ``sticky``.

    The shift is the smaller one of two numbers, what the sum needs and what the exponent allows, and is found from the
    highest level down like any comparison: as long as both agree in all levels above, a level is taken where both have
    it; below the first level in which they differ, the smaller one decides. Where that is the allowed shift, the sum
    looks empty at every level, for it has not moved as far as it needs.

    Parameters
    ----------
    i : layout of the sum, as made by ``moving_sum``.
    low : the lowest level of these; the highest is the highest that the sum's width, or its ``allowed`` bits, ask for.
    precision : bits of the significand that is wanted.
    inverted : whether the digits are already the ones' complement where the sum is negative; in ``o`` they are.

    Members
    -------
    i : In(moving_sum)
    o : Out(moving_sum)
    """

    clocked = False

    def __init__(self, i: data.StructLayout, low: int, precision: int, *, inverted: bool):
        self.low, self.precision, self.inverted = low, precision, inverted
        self.high = i["allowed"].shape.width
        # Significand and guard bit, and as far as the levels below move.
        width = precision + (1 << low)
        super().__init__({"i": In(i), "o": Out(moving_sum(width, i["exponent"].shape.width, low))})

    def elaborate(self, platform):
        m = Module()
        value, sign, allowed = self.i.digits, self.i.sign, self.i.allowed
        # What comes in from below is 0, and inverted with the digits.
        zero = sign if self.inverted else Const(0)
        value = Cat(zero.replicate(max(0, len(self.o.digits) - len(value))), value)
        free, sticky, shift = self.i.free, self.i.sticky, []
        for high in range(self.high, self.low, -LEVELS_AT_ONCE):
            low = max(self.low, high - LEVELS_AT_ONCE)
            size, count = 1 << low, (1 << high - low) - 1
            # At least as many digits as are tested: those below the lowest show where a sum of -1 ends.
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
