"""Products and post-adder as one combinational unit, ``o = sum(x[k] * y[k])`` of one MX or integer beat."""

from amaranth import Module, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig, PostAddConfig
from bitpath.rtl.aie_ml_v2.mac.layouts import LaneOperands
from bitpath.rtl.aie_ml_v2.mac.post_add import SUM_BITS, PostAdd
from bitpath.rtl.aie_ml_v2.mac.products import Products
from bitpath.rtl.common.pipeline.shared_instances import instantiate


class ProductSum(wiring.Component):
    """Sum of the products of one MX or integer beat; combinational.

    Parameters
    ----------
    config : PostAddConfig, the numerics.

    Members
    -------
    i : In(LaneOperands)
    o : Out(signed(32)), in units of 2**-14 at the block pair's exponent for MX
    """

    clocked = False

    def __init__(self, config: PostAddConfig):
        self.config = config
        super().__init__({"i": In(LaneOperands), "o": Out(signed(SUM_BITS))})

    def elaborate(self, platform):
        m = Module()
        lane = MacLaneConfig(numerics=self.config.numerics)
        multiply = instantiate(m, platform, "multiply", Products, lane)
        post_add = instantiate(m, platform, "post_add", PostAdd, lane)
        m.d.comb += [multiply.i.eq(self.i), post_add.i.eq(multiply.o), self.o.eq(post_add.o)]
        return m
