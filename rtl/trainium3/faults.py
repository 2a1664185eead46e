"""Why an instruction, a command or an access was refused: one table for every unit of the machine.

A refused one leaves memories and state as they were, and the next one runs. The codes are chosen.
"""

from typing import Any

from amaranth import Module, Mux, Value
from amaranth.lib import enum


class Fault(enum.Enum, shape=3):
    """Code of a fault; of several the first here."""

    NONE = 0
    OPERATION = 1  # no such operation, mode, tiling, flag or memory of an operand in this unit, or in one of this size
    DTYPE = 2  # dtypes, formats or sizes of elements that the operation does not take; stochastic rounding to FP32
    PARTITIONS = 3  # no partition, or one beyond the last; in MX not whole quadrants, or an odd number of columns
    START = 4  # these partitions, or this tile, may not start there
    NUM = 5  # a pair of no elements
    COUNT = 6  # no elements, or operands of different numbers; a chain lacks these partial sums, or the room for them
    RANGE = 7  # an element outside its memory or bank


def taken_if_legal(m: Module, i: Any, fault: Value, wrong: Value) -> Value:
    """Show a beat's fault in the cycle in which stream ``i`` transfers it; return valid of a legal beat, the only one that goes on."""
    m.d.comb += fault.eq(Mux(i.valid & i.ready, wrong, Fault.NONE))
    return i.valid & (wrong == Fault.NONE)


def keep_first(m: Module, kept: Value, found: Value, clear: Value) -> None:
    """Keep the first fault since reset or ``clear``; one that is found in the cycle of ``clear`` stays."""
    with m.If((found != Fault.NONE) & (clear | (kept == Fault.NONE))):
        m.d.sync += kept.eq(found)
    with m.Elif(clear):
        m.d.sync += kept.eq(Fault.NONE)
