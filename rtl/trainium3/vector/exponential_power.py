"""Powers of two from a table and a polynomial.

Ref: steps 2 to 4 of ``ExponentialNumerics``.
"""

from amaranth import Cat, Const, Module, Signal, signed
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.trainium3.declarations.vector import ExponentialNumerics
from bitpath.rtl.common.arithmetic.raw import raw_sum
from bitpath.rtl.trainium3.vector.exponential_argument import INTEGER_BITS
from bitpath.rtl.trainium3.vector.exponential_constants import ln2, power_table


class ExponentialPower(wiring.Component):
    """Combinational ``o = 2**n * floor(T[index] * p)``, where ``p = 1 + x + x**2 / 2`` with ``x = low * ln 2``::

        argument   | n, INTEGER_BITS | index, table_bits | low, fraction_bits - table_bits |

    Parameters
    ----------
    numerics : ``fraction_bits``, ``table_bits`` and ``power_bits``.

    Members
    -------
    i : In(signed(INTEGER_BITS + fraction_bits)), from :class:`ExponentialArgument`
    o : Out(raw_sum)
    """

    clocked = False
    apart = True

    def __init__(self, numerics: ExponentialNumerics):
        self.numerics = numerics
        bits = numerics.fraction_bits
        # T and p are less than 2; their product has 2 * bits fraction bits.
        self.dropped = max(0, 2 * bits - numerics.power_bits)
        power = raw_sum(2 * (bits + 1) - self.dropped, INTEGER_BITS + 1)
        super().__init__({"i": In(signed(INTEGER_BITS + bits)), "o": Out(power)})

    def elaborate(self, platform):
        m = Module()
        bits, table_bits = self.numerics.fraction_bits, self.numerics.table_bits
        low_bits = bits - table_bits
        low, index, integer = self.i[:low_bits], self.i[low_bits:bits], self.i[bits:].as_signed()

        m.submodules.table = table = memory.Memory(
            shape=bits + 1, depth=1 << table_bits, init=power_table(self.numerics)
        )
        read = table.read_port(domain="comb")
        entry = read.data
        linear = Signal(low_bits)  # as wide as ``low``, since ln 2 < 1
        # p - 1: linear + linear**2 / 2 is less than twice linear, one bit more.
        past_one = Signal(low_bits + 1)
        m.d.comb += [
            read.addr.eq(index),
            linear.eq((low * ln2(self.numerics)) >> bits),
            past_one.eq(linear + ((linear * linear) >> (bits + 1))),
            self.o.magnitude.eq(Cat(Const(0, bits - self.dropped), entry) + (entry * past_one)[self.dropped :]),
            self.o.exponent.eq(integer - (2 * bits - self.dropped)),
            self.o.sign.eq(0),
        ]
        return m
