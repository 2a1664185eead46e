"""The quad-MX processing element.

Ref: "Trainium3 Architecture Guide for NKI", figures of LoadStationary and MultiplyMoving.
"""

from typing import Any

from amaranth import Module, Value
from amaranth.lib import wiring

from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.dot.pe import ProcessingElement, pe_ports
from bitpath.rtl.trainium3.dot.quad_mx_dot import QuadMxDot, operand_layout


class QuadMxPe(ProcessingElement):
    """A :class:`ProcessingElement` whose operands are x4 words with their scale, and whose step is the dot product.

    Parameters
    ----------
    config : numerics and pipeline of the dot product.
    """

    def __init__(self, config: DotConfig):
        self.config = config
        super().__init__(operand_layout(config.numerics))

    @staticmethod
    def ports(config: DotConfig) -> dict[str, wiring.Member]:
        """The members of one."""
        return pe_ports(operand_layout(config.numerics))

    def step(self, m: Module, platform: Any, stationary: Value, moving: Value, partial: Value) -> Value:
        m.submodules.dot = dot = QuadMxDot(self.config)
        m.d.comb += [
            dot.i.p.stationary.eq(stationary),
            dot.i.p.moving.eq(moving),
            dot.i.p.partial.eq(partial),
            # The array moves in step: a PE that must wait stands still as a whole, through ``advance``.
            dot.i.valid.eq(1),
            dot.o.ready.eq(1),
        ]
        return dot.o.p
