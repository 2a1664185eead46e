"""Dot product of 16 terms, added to one Dst word: the datapath of one column of the Tensix Matrix unit.

``o = round(dst + sum(src_a[k] * src_b[k] for k in range(16)))``, with the intermediate roundings of ``TensixNumerics``::

     src_a, src_b (16)                        dst
            |                                  |
        Products      multiply                 |      12-bit products, largest exponent of each group
            |  [register "multiply"]           |
        GroupSum  +  DstAlign  <---------------+      align in the group and add; shifts to the common exponent
            |  [register "sum"]                |
        DstAdd    <----------------------------+      align sums and Dst to units of 2**-23 and add
            |  [register "add"]
        DstNormalize                                  leading-zero count and normalisation shift
            |  [register "normalize"]
        DstRound                                      FP32, BF16, FP16 or INT32
            |
            o

Ref: tt-isa-documentation 3930471, MVMUL, ELWMUL, ELWADD; ttsim v1.10.0 for the bits.
"""

from amaranth import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import COLUMNS, DST32
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.dot.config import Dot16Config
from bitpath.rtl.tensix.dot.dst_add import DstAdd
from bitpath.rtl.tensix.dot.dst_align import DstAlign
from bitpath.rtl.tensix.dot.dst_normalize import DstNormalize
from bitpath.rtl.tensix.dot.dst_round import DstRound
from bitpath.rtl.tensix.dot.group_sum import GroupSum
from bitpath.rtl.tensix.dot.layouts import DotControl, Operand
from bitpath.rtl.tensix.dot.products import Products

STEPS = {
    0: (),
    1: ("sum",),
    2: ("multiply", "add"),
    3: ("multiply", "sum", "add"),
    4: ("multiply", "sum", "add", "normalize"),
}
"""The steps that pipeline registers follow, by number of stages."""


def dot16_layout() -> data.StructLayout:
    """Return the operands of one dot product; a 16-bit ``dst`` word is in the low half."""
    side = data.ArrayLayout(Operand, COLUMNS)
    return data.StructLayout({"src_a": side, "src_b": side, "dst": DST32.width, "control": DotControl})


class Dot16(wiring.Component):
    """One dot product, or one sum of two operands, in one fidelity phase.

    ``control.add`` selects ``o = dst + src_a[0] + src_b[0]``; the other lanes must then hold zeros. ELWMUL is the dot product
    with zeros in lanes 1 to 15. Style INT8 requires ``control.dst32``.

    Latency is ``config.pipeline.stages`` cycles, 0 to 4, and throughput is one result a cycle. Back-pressure: all stages stall
    while a result waits for ``o.ready``.

    Parameters
    ----------
    config : numerics and number of pipeline stages.

    Members
    -------
    i : In(stream of dot16_layout)
    o : Out(stream of 32 bits), the new Dst word; a 16-bit word is in the low half
    """

    def __init__(self, config: Dot16Config):
        self.config = config
        super().__init__({"i": In(stream.Signature(dot16_layout())), "o": Out(stream.Signature(DST32.width))})

    def elaborate(self, platform):
        m = Module()
        numerics, i = self.config.numerics, self.i.p
        groups = COLUMNS // numerics.group
        registers = PipelineRegisters(m, STEPS[self.config.pipeline.stages], valid=self.i.valid, ready=self.o.ready)

        m.submodules.multiply = multiply = Products(numerics)
        m.d.comb += [multiply.src_a.eq(i.src_a), multiply.src_b.eq(i.src_b), multiply.control.eq(i.control)]
        products, exponents, dst, control = registers.hold(
            "multiply", products=multiply.products, exponents=multiply.exponents, dst=i.dst, control=i.control
        )

        m.submodules.dst_align = align = DstAlign(numerics)
        m.d.comb += [align.exponents.eq(exponents), align.dst.eq(dst), align.control.eq(control)]
        group_sums = []
        for g in range(groups):
            group_sum = instantiate(m, platform, f"group_sum_{g}", GroupSum, numerics)
            for k in range(numerics.group):
                m.d.comb += group_sum.products[k].eq(products[g * numerics.group + k])
            m.d.comb += group_sum.add.eq(control.add)
            group_sums.append(group_sum.o)
        sums = Signal(data.ArrayLayout(group_sums[0].shape(), groups))
        m.d.comb += [sums[g].eq(group_sum) for g, group_sum in enumerate(group_sums)]
        sums, shifts, dst, dst_shift, exponent, control = registers.hold(
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
        total, exponent, control = registers.hold("add", total=add.o, exponent=exponent, control=control)

        m.submodules.dst_normalize = normalize = DstNormalize(numerics)
        m.d.comb += [
            normalize.i.value.eq(total.value),
            normalize.i.sign.eq(total.sign),
            normalize.exponent.eq(exponent),
            normalize.dst32.eq(control.dst32),
        ]
        normal, total, control = registers.hold("normalize", normal=normalize.o, total=total.value, control=control)

        m.submodules.dst_round = rounder = DstRound(numerics)
        m.d.comb += [
            rounder.normal.eq(normal),
            rounder.total.eq(total),
            rounder.control.eq(control),
            self.o.p.eq(rounder.o),
            self.o.valid.eq(registers.valid),
            self.i.ready.eq(registers.finish()),
        ]
        return m
