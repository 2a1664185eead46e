"""Normalisation and rounding of exact values to FP32, the last two steps of every FP32 operation."""

from amaranth import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.formats.rounding import Rounding
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.raw import SPECIAL
from bitpath.rtl.common.arithmetic.round import Round
from bitpath.rtl.common.pipeline.shared_instances import instantiate


class Fp32Result(wiring.Component):
    """Combinational FP32 code of a value, or of its special value, rounded once to nearest even; subnormals are kept.

    Parameters
    ----------
    i : layout of the value, as made by ``raw_sum``.

    Members
    -------
    i : In(raw_sum)
    special : In(SPECIAL); overrides the value if ``nan`` or ``inf`` is set, else has the sign of a zero
    o : Out(32), FP32
    """

    clocked = False

    def __init__(self, i: data.StructLayout):
        super().__init__({"i": In(i), "special": In(SPECIAL), "o": Out(FP32.width)})

    def elaborate(self, platform):
        m = Module()
        normalize = instantiate(m, platform, "normalize", Normalize, self.i.shape(), FP32.precision)
        rounder = instantiate(
            m,
            platform,
            "round",
            Round,
            normalize.o.shape(),
            FP32,
            rounding=Rounding.RNE,
            subnormals=True,
            overflow_to_infinity=True,
        )
        m.d.comb += [
            normalize.i.eq(self.i),
            rounder.i.eq(normalize.o),
            rounder.special.eq(self.special),
            self.o.eq(rounder.o),
        ]
        return m
