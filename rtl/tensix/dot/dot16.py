"""The 16-term dot product of the Tensix Matrix unit, added to a Dst word.

Ref: tt-isa-documentation 3930471, MVMUL, ELWMUL, ELWADD; ttsim v1.10.0 for the bits.
"""

from amaranth import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import COLUMNS, DST32
from bitpath.rtl.common.pipeline.pipeline_registers import Ranks
from bitpath.rtl.common.pipeline.shared_instances import place
from bitpath.rtl.tensix.dot.config import Dot16Config
from bitpath.rtl.tensix.dot.dst_add import DstAdd
from bitpath.rtl.tensix.dot.dst_align import DstAlign
from bitpath.rtl.tensix.dot.dst_normalize import DstNormalize
from bitpath.rtl.tensix.dot.dst_round import DstRound
from bitpath.rtl.tensix.dot.group_sum import GroupSum
from bitpath.rtl.tensix.dot.layouts import DotControl, Operand
from bitpath.rtl.tensix.dot.products import Products

RANKS = {
    0: (),
    1: ("sum",),
    2: ("multiply", "add"),
    3: ("multiply", "sum", "add"),
    4: ("multiply", "sum", "add", "normalize"),
}
"""After which steps the register ranks stand, by their number."""


def dot16_layout() -> data.StructLayout:
    """All that one dot product takes; ``dst`` is a logical word, one of 16 bits in the low half."""
    side = data.ArrayLayout(Operand, COLUMNS)
    return data.StructLayout({"src_a": side, "src_b": side, "dst": DST32.width, "control": DotControl})


class Dot16(wiring.Component):
    """``o = dst + sum(src_a[k] * src_b[k])`` in one fidelity phase, as ``TensixNumerics`` says in full.

    With ``control.add`` it is ``dst + src_a[0] + src_b[0]``; the other lanes must then hold zeros. A product alone, as
    ELWMUL adds it, is the dot product with zeros in the other lanes. Style INT8 needs ``control.dst32``.

    Steps: multiply, sum, add, normalise, round. With ``stages`` register ranks a result appears that many cycles after its
    operands, one a cycle; all ranks stand still while a result waits for ``o.ready``.

    Parameters
    ----------
    config : numerics and pipeline.

    Members
    -------
    i : In(stream of dot16_layout)
    o : Out(stream of 32 bits), the new word of Dst, one of 16 bits in the low half
    """

    def __init__(self, config: Dot16Config):
        self.config = config
        super().__init__({"i": In(stream.Signature(dot16_layout())), "o": Out(stream.Signature(DST32.width))})

    def elaborate(self, platform):
        m = Module()
        numerics, i = self.config.numerics, self.i.p
        groups = COLUMNS // numerics.group
        ranks = Ranks(m, RANKS[self.config.pipeline.stages], valid=self.i.valid, ready=self.o.ready)

        m.submodules.multiply = multiply = Products(numerics)
        m.d.comb += [multiply.src_a.eq(i.src_a), multiply.src_b.eq(i.src_b), multiply.control.eq(i.control)]
        products, exponents, dst, control = ranks.hold(
            "multiply", products=multiply.products, exponents=multiply.exponents, dst=i.dst, control=i.control
        )

        m.submodules.dst_align = align = DstAlign(numerics)
        m.d.comb += [align.exponents.eq(exponents), align.dst.eq(dst), align.control.eq(control)]
        group_sums = []
        for g in range(groups):
            group_sum = place(m, platform, f"group_sum_{g}", GroupSum, numerics)
            for k in range(numerics.group):
                m.d.comb += group_sum.products[k].eq(products[g * numerics.group + k])
            m.d.comb += group_sum.add.eq(control.add)
            group_sums.append(group_sum.o)
        sums = Signal(data.ArrayLayout(group_sums[0].shape(), groups))
        m.d.comb += [sums[g].eq(group_sum) for g, group_sum in enumerate(group_sums)]
        sums, shifts, dst, dst_shift, exponent, control = ranks.hold(
            "sum",
            sums=sums,
            shifts=align.shifts,
            dst=dst,
            dst_shift=align.dst_shift,
            exponent=align.exponent,
            control=control,
        )

        m.submodules.dst_add = add = DstAdd(numerics, len(group_sums[0]))
        m.d.comb += [
            add.sums.eq(sums),
            add.shifts.eq(shifts),
            add.dst.eq(dst),
            add.dst_shift.eq(dst_shift),
            add.control.eq(control),
        ]
        total, exponent, control = ranks.hold("add", total=add.o, exponent=exponent, control=control)

        m.submodules.dst_normalize = normalize = DstNormalize(numerics)
        m.d.comb += [
            normalize.i.value.eq(total.value),
            normalize.i.sign.eq(total.sign),
            normalize.exponent.eq(exponent),
            normalize.dst32.eq(control.dst32),
        ]
        normal, total, control = ranks.hold("normalize", normal=normalize.o, total=total.value, control=control)

        m.submodules.dst_round = rounder = DstRound(numerics)
        m.d.comb += [
            rounder.normal.eq(normal),
            rounder.total.eq(total),
            rounder.control.eq(control),
            self.o.p.eq(rounder.o),
            self.o.valid.eq(ranks.valid),
            self.i.ready.eq(ranks.finish()),
        ]
        return m
