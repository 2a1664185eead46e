"""Faults of instructions: the first reason of one, and the first one of a stream; code 0 is no fault."""

from typing import Any

from amaranth import Module, Mux, Signal, Value


def first_of(*faults: tuple[Value, Any]) -> Value:
    """Return the code of the first fault whose condition holds, else 0."""
    found = Value.cast(0)
    for condition, fault in reversed(faults):
        found = Mux(condition, fault, found)
    return found


def keep_first(
    m: Module, *, taken: Value, found: Any, clear: Value, fault: Any, number: Value, age: Value | int = 0
) -> None:
    """Count instructions, and keep the first fault and how many instructions came before it; the count wraps.

    Parameters
    ----------
    taken : an instruction is taken in this cycle.
    found : what is refused in this cycle, else 0.
    clear : forget fault and count.
    fault, number : registers of the first fault and of its instruction's number, which counts from 0.
    age : instructions taken since the one that is refused.
    """
    count = Signal.like(number, name="count")
    m.d.sync += count.eq(count + taken)
    with m.If((Value.cast(found) != 0) & (Value.cast(fault) == 0)):
        m.d.sync += [Value.cast(fault).eq(found), number.eq(count - age)]
    with m.If(clear):
        m.d.sync += [count.eq(0), Value.cast(fault).eq(0)]
