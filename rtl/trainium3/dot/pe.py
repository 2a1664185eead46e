"""What the processing elements of the array have in common.

Ref: "Trainium3 Architecture Guide for NKI", figures of LoadStationary and MultiplyMoving.
"""

from abc import abstractmethod
from typing import Any

from amaranth import EnableInserter, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32


def pe_ports(operand: data.StructLayout) -> dict[str, wiring.Member]:
    """The members of a :class:`ProcessingElement`."""
    return {
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


class ProcessingElement(wiring.Component):
    """One PE: ``partial_south = step(held stationary operand, moving_west, partial_north)``.

    The stationary operand is held twice. ``load`` shifts the row's second copies one PE east, behind the multiplication
    that goes on; a ``swap`` that travels with the moving operands makes the second copy the first, from the next moving
    operand on. It reads the second copy a cycle after it entered.

    Latency: moving operands and swap pass east in one cycle; partial sums pass south in one more than the step has
    register ranks. The one rank that every PE has is at its inputs, so that a simulator finds the same logic, over
    registers of its own, in all of them. Without ``advance`` every register holds.

    Parameters
    ----------
    operand : layout of a stationary or moving operand.

    Members
    -------
    advance : In(1)
    load : In(1), stationary_west : In(operand), stationary_east : Out(operand), the second copy
    moving_west : In(operand), moving_east : Out(operand)
    swap_west : In(1), swap_east : Out(1)
    partial_north : In(32), partial_south : Out(32), FP32
    """

    def __init__(self, operand: data.StructLayout):
        self.operand = operand
        super().__init__(pe_ports(operand))

    @abstractmethod
    def step(self, m: Module, platform: Any, stationary: Value, moving: Value, partial: Value) -> Value:
        """The partial sum to the south, some register ranks after its operands."""

    def elaborate(self, platform):
        m = Module()
        # Operands need no reset: what is not valid is not read.
        stationary = Signal(self.operand, reset_less=True)
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
            self.partial_south.eq(self.step(m, platform, stationary, moving, partial)),
        ]
        return EnableInserter(self.advance)(m)
