"""Sum of a fixed-point and a floating-point number, exact for any later rounding."""

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from bitpath.rtl.common.arithmetic.align import Align, Dropped
from bitpath.rtl.common.arithmetic.raw import raw_float, raw_sum
from bitpath.rtl.common.pipeline.shared_instances import instantiate


class ExactAdd(wiring.Component):
    """Combinational sum ``o = fixed * 2**fixed_exponent + (-1)**sign * significand * 2**(exponent - offset)``.

    Window, from the top, with ``below = precision + 1`` and ``max_distance = fixed_width + 1``::

        +-------+-----------------------------------------+-------------------+---+
        | carry | precision + max_distance                | below             | S |
        +-------+-----------------------------------------+-------------------+---+
         1       number at its highest ...   fixed at its lowest bit           sticky

    The window's anchor is the lowest bit of ``fixed``; the number is shifted to it, and discarded bits go into the sticky
    bit. If ``fixed`` is zero or less than a quarter of the number's last place, the anchor is the number: any such
    ``fixed`` rounds alike.

    The result rounds correctly to ``precision`` bits or fewer. Proof of ``below``: a number that loses bits is less than
    ``2**(precision - 1)`` in units of the window's lowest place, while ``abs(fixed) >= 2**below``. Their sum exceeds
    ``2**precision``, so significand and guard bit end above the sticky bit.

    Parameters
    ----------
    fixed_width : bits of ``fixed``, sign included.
    fixed_exponent_width : bits of the signed ``fixed_exponent``.
    exponent_width, precision : bits of the number's exponent and significand.
    offset : the number's lowest significand bit has weight ``2**(exponent - offset)``.

    Members
    -------
    fixed : In(signed(fixed_width))
    fixed_exponent : In(signed(fixed_exponent_width)), exponent of the lowest bit of ``fixed``
    number : In(raw_float), finite: ``inf`` and ``nan`` are not read
    o : Out(raw_sum); the lowest bit is sticky
    """

    def __init__(
        self, *, fixed_width: int, fixed_exponent_width: int, exponent_width: int, precision: int, offset: int
    ):
        self.precision, self.offset = precision, offset
        self.below = precision + 1
        # |fixed| < 2**(fixed_width - 1) is less than a quarter of the number's last place beyond this distance.
        self.max_distance = fixed_width + 1
        # From the window's lowest place to the number's leading bit at the largest distance.
        self.window = self.below + self.max_distance + precision
        # Holds the exponent of the sticky bit with either anchor.
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

        # Shift from the window's top; the largest moves the whole number into the sticky bit.
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
