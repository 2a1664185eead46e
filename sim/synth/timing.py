"""The longest path of a mapped netlist: from inputs and flip-flops to outputs and flip-flops, without wires."""

from collections import defaultdict
from graphlib import TopologicalSorter
from typing import Any

from bitpath.sim.synth.liberty_file import Library

RISE, FALL = 0, 1
_DELAY = ("cell_rise", "cell_fall")
_SLEW = ("rise_transition", "fall_transition")


def longest_path_ns(module: dict[str, Any], library: Library) -> float:
    """Nanoseconds of the slowest path through combinational cells; 0 where there are none.

    Each net is loaded by the inputs on it. Paths begin with an ideal edge; a flip-flop's own delay and set-up are not in.

    Parameters
    ----------
    module : of Yosys's JSON netlist, mapped to the library's cells.
    library : what its cells do.
    """
    loads: dict[Any, float] = defaultdict(float)
    driven: dict[Any, tuple[dict[str, Any], str]] = {}
    for cell in module["cells"].values():
        kind = library.cells[cell["type"]]
        for pin, bits in cell["connections"].items():
            if pin in kind.loads:
                loads[bits[0]] += kind.loads[pin]
            elif kind.outputs.get(pin):
                driven[bits[0]] = (cell, pin)
    before = {net: _sources(cell, pin, library) for net, (cell, pin) in driven.items()}
    # For each net, when it has risen and fallen, and how steeply.
    arrival: dict[Any, tuple[tuple[float, float], tuple[float, float]]] = {}
    ideal = ((0.0, 0.0), (0.0, 0.0))
    for net in TopologicalSorter(before).static_order():
        if net not in driven:
            continue
        cell, pin = driven[net]
        best = [(float("-inf"), 0.0), (float("-inf"), 0.0)]
        for arc in library.cells[cell["type"]].outputs[pin]:
            source = arrival.get(cell["connections"][arc.source][0], ideal)
            for out in (RISE, FALL):
                for into in _causes(out, arc.unate):
                    time, slew = source[into]
                    then = time + arc.tables[_DELAY[out]].at(slew, loads[net])
                    if then > best[out][0]:
                        best[out] = (then, arc.tables[_SLEW[out]].at(slew, loads[net]))
        arrival[net] = tuple(best)
    return library.to_ns * max((time for edges in arrival.values() for time, _ in edges), default=0.0)


def _sources(cell: dict[str, Any], pin: str, library: Library) -> set[Any]:
    return {cell["connections"][arc.source][0] for arc in library.cells[cell["type"]].outputs[pin]}


def _causes(out: int, unate: int) -> tuple[int, ...]:
    if unate == 0:
        return (RISE, FALL)
    return (out,) if unate > 0 else (1 - out,)
