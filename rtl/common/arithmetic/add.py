"""Carry-save adder: three numbers to two with the same sum, without carry propagation."""

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, ceil_log2

from bitpath.rtl.common.arithmetic.align import Align, Dropped
from bitpath.rtl.common.arithmetic.decode import raw_float, raw_sum
from bitpath.rtl.common.pipeline.shared_instances import instantiate

# Exact sum of signed terms, as a balanced tree of adders.


class AddTree(wiring.Component):
    """Combinational exact sum ``o = sum((-1)**sign[k] * (magnitude[k] + up[k]))``.

    Parameters
    ----------
    terms, width : number of magnitudes, and bits of each.

    Members
    -------
    magnitude : In(ArrayLayout(width, terms))
    up : In(terms), rounding increments; ``magnitude[k] + up[k]`` must fit ``width`` bits
    sign : In(terms)
    o : Out(signed(width + ceil_log2(terms) + 1))
    """

    def __init__(self, terms: int, width: int):
        self.terms, self.width = terms, width
        # |sum| <= terms * (2**width - 1) < 2**(width + ceil_log2(terms)), and a sign bit.
        shape = signed(width + ceil_log2(terms) + 1)
        super().__init__(
            {
                "magnitude": In(data.ArrayLayout(width, terms)),
                "up": In(terms),
                "sign": In(terms),
                "o": Out(shape),
            }
        )

    def elaborate(self, platform):
        m = Module()
        sums = []
        for k in range(self.terms):
            sign = self.sign[k]
            # -(x + up) = ~x + 1 - up. A sign bit of weight -2**width equals its complement at weight 2**width, less
            # 2**width, which is subtracted for all terms at the end. So no term is sign-extended.
            inverted = self.magnitude[k] ^ sign.replicate(self.width)
            sums.append(Cat(inverted, ~sign) + (sign ^ self.up[k]))
        while len(sums) > 1:
            pairs = [a + b for a, b in zip(sums[::2], sums[1::2], strict=False)]
            sums = pairs + sums[2 * len(pairs) :]
        m.d.comb += self.o.eq(sums[0] - (self.terms << self.width))
        return m


# Sum of a fixed-point and a floating-point number, exact for any later rounding.


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


def carry_save(m: Module, a: Value, b: Value, c: Value, *, one: Value) -> tuple[Signal, Signal]:
    """Return ``sums`` and ``carries`` with ``sums + carries == a + b + c + one``; one full adder a column.

    The addends are unsigned. ``sums`` is as wide as the widest of them, ``carries`` one bit wider.

    Parameters
    ----------
    m : module that takes the adders.
    one : carry in, one bit; it takes the lowest place of ``carries``, which is free.
    """
    width = max(len(a), len(b), len(c))
    sums, carries = Signal(width, name="sums"), Signal(width + 1, name="carries")
    m.d.comb += [sums.eq(a ^ b ^ c), carries.eq(Cat(one, (a & b) | (a & c) | (b & c)))]
    return sums, carries
