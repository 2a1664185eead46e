"""A fixed-point sum and a floating-point number to their sum, exactly enough for any rounding."""

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from bitpath.rtl.common.arithmetic.align import Align, Dropped
from bitpath.rtl.common.arithmetic.raw import raw_float, raw_sum
from bitpath.rtl.common.pipeline.shared_instances import instantiate


class ExactAdd(wiring.Component):
    """``o = fixed * 2**fixed_exponent + (-1)**sign * significand * 2**(exponent - offset)``. Combinational.

    The window of the sum is anchored at ``fixed``'s lowest bit, ``below`` places above the window's own. The floating
    number is shifted onto it, and what falls below becomes a sticky bit. Where it stands so far above that ``fixed`` is
    less than a quarter of its last place, or ``fixed`` is zero, the window is anchored at the floating number instead:
    any value so small rounds the same.

    The result rounds correctly to ``precision`` bits or fewer. Proof of ``below``: bits are lost only when the floating
    number's lowest bit is under the window, so that it is less than ``2**(precision - 1)`` in units of the window, while
    ``abs(fixed) >= 2**below``. With ``below = precision + 1`` the sum exceeds ``2**precision``, so its ``precision``
    leading bits end at bit 1 or higher and the guard bit at bit 0 or higher; the sticky bit stands under both.

    Parameters
    ----------
    fixed_width : bits of ``fixed``, sign included.
    fixed_exponent_width : bits of the signed ``fixed_exponent``.
    exponent_width, precision : of the floating number.
    offset : so that the floating number's lowest significand bit has weight ``2**(exponent - offset)``.

    Members
    -------
    fixed : In(signed(fixed_width))
    fixed_exponent : In(signed(fixed_exponent_width)), weight of the lowest bit
    number : In(raw_float); ``inf`` and ``nan`` are not read
    o : Out(raw_sum); the lowest bit is sticky
    """

    def __init__(
        self, *, fixed_width: int, fixed_exponent_width: int, exponent_width: int, precision: int, offset: int
    ):
        self.precision, self.offset = precision, offset
        self.below = precision + 1
        # |fixed| < 2**(fixed_width - 1) is at most a quarter of the number's last place from this distance on.
        self.max_distance = fixed_width + 1
        # From the window's lowest bit to the number's highest at the largest distance.
        self.window = self.below + self.max_distance + precision
        # Covers the weight of the window's lowest bit under either anchor, the sticky bit included.
        largest = max(1 << fixed_exponent_width, 1 << exponent_width) + offset + self.window
        self.exponent_width = bits_for(largest) + 1
        super().__init__(
            {
                "fixed": In(signed(fixed_width)),
                "fixed_exponent": In(signed(fixed_exponent_width)),
                "number": In(raw_float(exponent_width, precision)),
                # One bit of carry above the window, the sticky bit below.
                "o": Out(raw_sum(self.window + 2, self.exponent_width)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        number_exponent = Signal(signed(self.exponent_width))
        distance = Signal(signed(self.exponent_width))
        m.d.comb += [
            number_exponent.eq(self.number.exponent - self.offset),
            distance.eq(number_exponent - self.fixed_exponent),
        ]

        number_counts = self.number.significand.any()
        anchor_number = Signal()
        m.d.comb += anchor_number.eq(number_counts & ((distance > self.max_distance) | ~self.fixed.any()))

        # From the window's top; a number wholly below it has shifted out and is sticky.
        max_shift = self.window + 1
        shape = (self.precision, self.window, max_shift, Dropped.STICKY)
        align = instantiate(m, platform, "align", Align, *shape)
        shift = Signal(signed(self.exponent_width + 1))
        m.d.comb += [
            shift.eq(self.max_distance - distance),
            align.i.eq(self.number.significand),
            align.shift.eq(Mux(anchor_number, 0, Mux(shift > max_shift, max_shift, shift))),
        ]

        total = Signal(signed(self.window + 3))
        fixed_in_window = Cat(Const(0, self.below + 1), self.fixed).as_signed()
        m.d.comb += [
            total.eq(fixed_in_window + Mux(self.number.sign, -align.o, align.o)),
            self.o.sign.eq(total[-1]),
            self.o.magnitude.eq(Mux(total[-1], -total, total)),
            self.o.exponent.eq(
                Mux(anchor_number, number_exponent - self.max_distance, self.fixed_exponent) - (self.below + 1)
            ),
        ]
        return m
