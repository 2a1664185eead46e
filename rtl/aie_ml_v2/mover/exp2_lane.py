"""Lane of exp2: ``2**(t - 895)`` of an FP32 number t, whose integer bits hold the result's exponent field::

    t from 768 to 1024    1.1 | n, 8 bits | index, 11 bits | 3 bits dropped

The result is ``2**(n - 127) * T[index]``, rounded to nearest.

Ref: UG1639 and llvm-aie for the argument; `bitpath.golden.aie_ml_v2.declarations.numerics.CHOICES` for the rest.
"""

from amaranth import Cat, Module, Signal, signed
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import EXP2_FRACTION_BITS
from bitpath.golden.aie_ml_v2.declarations.mover import BF20
from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.rtl.aie_ml_v2.mover.layouts import Function
from bitpath.rtl.aie_ml_v2.mover.nonlinear_constants import EXP2_BITS, exp2_table

FORMATS = {Function.EXP2_BF16: BF16, Function.EXP2_FP16: FP16, Function.EXP2_FP32: BF20}
BINADE = FP32.bias + 9
"""Exponent field of t from 512 to 1024."""


class Exp2Lane(wiring.Component):
    """Combinational exp2: +0 below the normal numbers, the largest finite number above.

    Members
    -------
    i : In(32), FP32
    op : In(Function), one of exp2's; TANH gives 0
    o : Out(31), a code of the function's format without its sign; bits above it are 0
    """

    clocked = False
    apart = True
    i: In(FP32.width)
    op: In(Function)
    o: Out(FP32.width - 1)

    def elaborate(self, platform):
        m = Module()
        fraction, exponent, sign = self.i[: FP32.fraction_bits], self.i[FP32.fraction_bits : -1], self.i[-1]
        dropped = FP32.fraction_bits - 1 - FP32.exponent_bits - EXP2_FRACTION_BITS
        index, field = fraction[dropped:][:EXP2_FRACTION_BITS], fraction[dropped + EXP2_FRACTION_BITS : -1]
        inside, above, nan = Signal(), Signal(), Signal()
        m.d.comb += [
            inside.eq(~sign & (exponent == BINADE) & fraction[-1]),
            above.eq(~sign & (exponent > BINADE)),
            nan.eq((exponent == FP32.exponent_mask) & fraction.any()),
        ]
        m.submodules.table = table = memory.Memory(shape=EXP2_BITS, depth=1 << EXP2_FRACTION_BITS, init=exp2_table())
        read = table.read_port(domain="comb")
        entry = read.data

        biased = Signal(signed(len(field) + 1))
        half = Signal(range(1 << EXP2_BITS - BF16.fraction_bits + 1))  # half a unit in the last place, or 0
        rounded = Signal(signed(len(biased) + 1 + EXP2_BITS))
        m.d.comb += [read.addr.eq(index), rounded.eq(Cat(entry, biased).as_signed() + half)]
        codes = {}
        for function, fmt in FORMATS.items():
            codes[function] = code = Signal(fmt.width - 1, name=f"code_{fmt.name}")
            with m.If(nan):
                m.d.comb += code.eq(fmt.nan_code)
            with m.Elif(above | (inside & (rounded >> EXP2_BITS >= fmt.exponent_mask))):
                m.d.comb += code.eq(fmt.max_code)
            with m.Elif(inside & (biased > 0)):
                m.d.comb += code.eq(rounded >> EXP2_BITS - fmt.fraction_bits)
        with m.Switch(self.op):
            for function, fmt in FORMATS.items():
                cut = EXP2_BITS - fmt.fraction_bits
                with m.Case(function):
                    m.d.comb += [
                        biased.eq(field - (BF16.bias - fmt.bias)),
                        half.eq(entry[cut - 1] << cut),
                        self.o.eq(codes[function] << (FP32.width - fmt.width if fmt is BF20 else 0)),
                    ]
        return m
