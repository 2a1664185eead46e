"""Plays recorded inputs on a netlist: each step evaluates each gate once, after the gates at its inputs."""

from collections.abc import Iterator, Sequence

import numpy as np

from bitpath.sim.campaigns.agreement.flat import PINS, TRUE, Memory, Netlist
from bitpath.sim.engine.errors import SimulationError

MOST_LEVELS = 20_000
"""More than the gates on any path here: there is a loop."""


def play(
    netlist: Netlist, inputs: Sequence[str], outputs: Sequence[str], steps: Sequence[Sequence[int]]
) -> Iterator[list[int]]:
    """Return the outputs of each step, before the rising edge that takes its inputs.

    Raises SimulationError if there is a combinational loop.

    Parameters
    ----------
    inputs, outputs : names of the netlist's ports.
    steps : values of the inputs, from power-on.
    """
    nets = np.zeros(netlist.nets, np.uint8)
    nets[TRUE] = 1
    levels = _levels(netlist)
    following, states = (np.concatenate(parts) for parts in zip(*netlist.flip_flops, strict=True))
    into = [netlist.inputs[name] for name in inputs]
    out = [netlist.outputs[name] for name in outputs]
    for step in steps:
        for ports, value in zip(into, step, strict=True):
            nets[ports] = _bits(value, len(ports))
        for pins, driven, tables, reads in levels:
            row = nets[pins[0]]
            for place in range(1, PINS):
                row |= nets[pins[place]] << place
            nets[driven] = tables >> row & 1
            for memory, address, data in reads:
                word = _number(nets[address])
                nets[data] = memory.bits[word] if word < len(memory.bits) else 0
        yield [_number(nets[ports]) for ports in out]
        after = nets[following]
        for memory in netlist.memories:
            _write(memory, nets)
        nets[states] = after


def _levels(netlist: Netlist) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, list]]:
    """Gates and read ports by how many are before them."""
    pins, driven, tables = (np.concatenate(parts, axis=-1) for parts in zip(*netlist.gates, strict=True))
    ports = [(memory, address, data) for memory in netlist.memories for address, data in memory.reads]
    depth = np.zeros(netlist.nets, np.int32)
    for _ in range(MOST_LEVELS):
        before = depth[driven], [depth[data] for _, _, data in ports]
        depth[driven] = depth[pins].max(axis=0, initial=0) + 1
        for _, address, data in ports:
            depth[data] = depth[address].max() + 1
        if (depth[driven] == before[0]).all() and all(
            (depth[data] == was).all() for (_, _, data), was in zip(ports, before[1], strict=True)
        ):
            break
    else:
        raise SimulationError("the netlist has a loop of gates without a register")
    order = np.argsort(depth[driven], kind="stable")
    ends = np.cumsum(np.bincount(depth[driven], minlength=depth.max() + 1))
    found = []
    for level, chosen in enumerate(np.split(order, ends[:-1])):
        reads = [port for port in ports if depth[port[2][0]] == level]
        found.append((np.ascontiguousarray(pins[:, chosen]), driven[chosen], tables[chosen], reads))
    return found


def _write(memory: Memory, nets: np.ndarray) -> None:
    """Return the values at the ports before the edge."""
    for address, data, enable in memory.writes:
        word, enabled = _number(nets[address]), nets[enable] == 1
        if word < len(memory.bits):
            memory.bits[word, enabled] = nets[data][enabled]


def _number(bits: np.ndarray) -> int:
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


def _bits(value: int, width: int) -> np.ndarray:
    packed = np.frombuffer(value.to_bytes(-(-width // 8), "little"), np.uint8)
    return np.unpackbits(packed, bitorder="little")[:width]
