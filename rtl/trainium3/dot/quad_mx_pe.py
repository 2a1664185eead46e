"""Processing element of the quad-MX array.

Ref: "Trainium3 Architecture Guide for NKI", figures of LoadStationary and MultiplyMoving.
"""

from typing import Any

from amaranth import Module, Value
from amaranth.lib import wiring

from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.dot.pe import ProcessingElement, pe_ports
from bitpath.rtl.trainium3.dot.quad_mx_dot import QuadMxDot, operand_layout


class QuadMxPe(ProcessingElement):
    """A :class:`ProcessingElement` for x4 words with their scale, with one :class:`QuadMxDot` as its step.

    Parameters
    ----------
    config : numerics and pipeline of the dot product.
    """

    def __init__(self, config: DotConfig):
        self.config = config
        super().__init__(operand_layout(config.numerics))

    @staticmethod
    def ports(config: DotConfig) -> dict[str, wiring.Member]:
        """Members of the PE with this configuration."""
        return pe_ports(operand_layout(config.numerics))

    def step(self, m: Module, platform: Any, stationary: Value, moving: Value, partial: Value) -> Value:
        m.submodules.dot = dot = QuadMxDot(self.config)
        m.d.comb += [
            dot.i.p.stationary.eq(stationary),
            dot.i.p.moving.eq(moving),
            dot.i.p.partial.eq(partial),
            # No handshake: ``advance`` stalls the whole array.
            dot.i.valid.eq(1),
            dot.o.ready.eq(1),
        ]
        return dot.o.p
