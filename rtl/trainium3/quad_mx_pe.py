"""The quad-MX processing element.

Ref: "Trainium3 Architecture Guide for NKI", figures of LoadStationary and MultiplyMoving.
"""

from amaranth import EnableInserter, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.spec.formats import FP32
from bitpath.rtl.trainium3.config import DotConfig
from bitpath.rtl.trainium3.quad_mx_dot import QuadMxDot, operand_layout


class QuadMxPe(wiring.Component):
    """One PE: ``partial_south = dot(held stationary operand, moving_west, partial_north)``.

    The stationary operand is held twice. ``load`` shifts the row's second copies one PE east, behind the multiplication
    that goes on; a ``swap`` that travels with the moving operands makes the second copy the first, from the next moving
    operand on. It reads the second copy a cycle after it entered.

    Latency: moving operands and swap pass east in one cycle; partial sums pass south in ``stages + 1``. The one rank that
    every PE has is at its inputs, so that a simulator finds the same logic, over registers of its own, in all of them.
    Without ``advance`` every register holds.

    Parameters
    ----------
    config : numerics and pipeline of the dot product.

    Members
    -------
    advance : In(1)
    load : In(1), stationary_west : In(operand_layout), stationary_east : Out(operand_layout), the second copy
    moving_west : In(operand_layout), moving_east : Out(operand_layout)
    swap_west : In(1), swap_east : Out(1)
    partial_north : In(32), partial_south : Out(32), FP32
    """

    def __init__(self, config: DotConfig):
        self.config = config
        operand = operand_layout(config.numerics)
        super().__init__(
            {
                "advance": In(1),
                "load": In(1),
                "stationary_west": In(operand),
                "stationary_east": Out(operand),
                "moving_west": In(operand),
                "moving_east": Out(operand),
                "swap_west": In(1),
                "swap_east": Out(1),
                "partial_north": In(FP32.width),
                "partial_south": Out(FP32.width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.dot = dot = QuadMxDot(self.config)
        # Operands need no reset: what is not valid is not read.
        stationary = Signal(operand_layout(self.config.numerics), reset_less=True)
        second = Signal.like(stationary)
        moving = Signal.like(stationary)
        partial = Signal.like(self.partial_north, reset_less=True)
        with m.If(self.load):
            m.d.sync += second.eq(self.stationary_west)
        with m.If(self.swap_east):
            m.d.sync += stationary.eq(second)
        m.d.sync += [
            moving.eq(self.moving_west),
            self.swap_east.eq(self.swap_west),
            partial.eq(self.partial_north),
        ]
        m.d.comb += [
            self.stationary_east.eq(second),
            self.moving_east.eq(moving),
            dot.i.p.stationary.eq(stationary),
            dot.i.p.moving.eq(moving),
            dot.i.p.partial.eq(partial),
            # The array moves in step: a PE that must wait stands still as a whole, through ``advance``.
            dot.i.valid.eq(1),
            dot.o.ready.eq(1),
            self.partial_south.eq(dot.o.p),
        ]
        return EnableInserter(self.advance)(m)
