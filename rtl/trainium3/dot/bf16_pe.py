"""Processing element of the unscaled matmul.

Ref: "Trainium3 Architecture Guide for NKI", figures of LoadStationary and MultiplyMoving; ``nki.isa.nc_matmul``.
"""

from typing import Any

from amaranth import Module, Value

from bitpath.rtl.trainium3.dot.config import MultiplyAddConfig
from bitpath.rtl.trainium3.dot.multiply_add import MultiplyAdd, element_layout
from bitpath.rtl.trainium3.dot.pe import ProcessingElement


class Bf16Pe(ProcessingElement):
    """A :class:`ProcessingElement` for BF16 or FP16 elements, with one :class:`MultiplyAdd` as its step.

    Parameters
    ----------
    config : numerics, formats and pipeline of the multiply-add.
    """

    def __init__(self, config: MultiplyAddConfig):
        self.config = config
        super().__init__(element_layout(config))

    def step(self, m: Module, platform: Any, stationary: Value, moving: Value, partial: Value) -> Value:
        m.submodules.multiply_add = multiply_add = MultiplyAdd(self.config)
        m.d.comb += [
            multiply_add.stationary.eq(stationary),
            multiply_add.moving.eq(moving),
            multiply_add.partial.eq(partial),
        ]
        return multiply_add.o
