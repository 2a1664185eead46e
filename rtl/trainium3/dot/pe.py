"""Processing element of the systolic array: operand registers around a multiply step.

Ref: "Trainium3 Architecture Guide for NKI", figures of LoadStationary and MultiplyMoving.
"""

from abc import abstractmethod
from typing import Any

from amaranth import EnableInserter, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32


def pe_ports(operand: data.StructLayout, moving: data.StructLayout | None = None) -> dict[str, wiring.Member]:
    """Return the members of a :class:`ProcessingElement`; moving operands have a layout of their own if one is given."""
    moving = operand if moving is None else moving
    return {
        "advance": In(1),
        "load": In(1),
        "stationary_west": In(operand),
        "stationary_east": Out(operand),
        "moving_west": In(moving),
        "moving_east": Out(moving),
        "swap_west": In(1),
        "swap_east": Out(1),
        "partial_north": In(FP32.width),
        "partial_south": Out(FP32.width),
    }


class ProcessingElement(wiring.Component):
    """One PE: ``partial_south = step(stationary, moving_west, partial_north)``::

                       partial_north
                             |
                            [r]
    stationary_west --[second]--------------> stationary_east    shifts with ``load``
                          | swap
                     [stationary]
                          |
    moving_west ---[r]-- step --------------> moving_east
    swap_west -----[r]----|-----------------> swap_east
                          |
                     partial_south

    The stationary operand is double-buffered. ``load`` shifts the row's second copies one PE east while the
    multiplication goes on. ``swap`` travels with the moving operands and makes the second copy the first for the next
    moving operand.

    Latency: one cycle to the east; ``stages + 1`` cycles to the south, with the pipeline stages of the step. Each PE
    registers its inputs, so that all PEs simulate as the same logic over their own registers.

    Parameters
    ----------
    operand : layout of a stationary operand.
    moving : layout of a moving operand; that of a stationary one if not given.

    Members
    -------
    advance : In(1), clock enable of every register
    load : In(1), stationary_west : In(operand), stationary_east : Out(operand), the second copy
    moving_west : In(moving), moving_east : Out(moving)
    swap_west : In(1), swap_east : Out(1)
    partial_north : In(32), partial_south : Out(32), FP32 codes
    """

    def __init__(self, operand: data.StructLayout, moving: data.StructLayout | None = None):
        self.operand, self.moving_operand = operand, operand if moving is None else moving
        super().__init__(pe_ports(operand, moving))

    @abstractmethod
    def step(self, m: Module, platform: Any, stationary: Value, moving: Value, partial: Value) -> Value:
        """The partial sum to the south, with the latency of the step's pipeline stages."""

    def elaborate(self, platform):
        m = Module()
        # Operands need no reset: invalid ones are never read.
        stationary = Signal(self.operand, reset_less=True)
        second = Signal.like(stationary)
        moving = Signal(self.moving_operand, reset_less=True)
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
            self.partial_south.eq(self.step(m, platform, stationary, moving, partial)),
        ]
        return EnableInserter(self.advance)(m)
