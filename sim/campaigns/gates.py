"""A unit as a netlist of gates: mapped with Yosys and abc, read into arrays, and played step by step."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache as once
from functools import partial
from importlib.metadata import files
from pathlib import Path
from typing import Any

import numpy as np

from bitpath.rtl.common.config import digest
from bitpath.rtl.emit import verilog_text
from bitpath.rtl.units import find_unit
from bitpath.sim.engine import cache, paths, process
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.engine.tools import require_extra
from bitpath.sim.study import synth

# Reads Yosys' JSON netlist into arrays of nets, with every module instance flattened.


FALSE, TRUE = 0, 1
"""Nets of constants; Yosys numbers those of a module from 2 on."""
PINS = 4
"""Largest number of inputs of a cell."""
MEMORY = "$mem_v2"
UNCLOCKED = ("RD_CLK", "RD_EN", "RD_ARST", "RD_SRST")
"""Memory pins that a combinational read ignores; Yosys leaves them undefined."""
BUFFER = synth.Cell("between a module's output and what it is connected to", "A", 0, 0, 0)
Ports = Mapping[str, np.ndarray]
"""Nets by port, the lowest bit first."""


@dataclass(frozen=True)
class Memory:
    """A memory with combinational reads and writes at the rising edge; later write ports have priority.

    Attributes
    ----------
    bits : contents, one row a word.
    reads : nets of address and data of each read port.
    writes : nets of address, data and bit enables of each write port.
    """

    bits: np.ndarray
    reads: list[tuple[np.ndarray, ...]]
    writes: list[tuple[np.ndarray, ...]]


@dataclass
class Netlist:
    """A design, or a module of one in nets of its own.

    Attributes
    ----------
    gates : arrays of inputs (:data:`PINS` rows), of outputs and of truth tables; bit *i* of a table is the output for the
        inputs *i*, the first input lowest.
    flip_flops : arrays of inputs and outputs; the reset value is 0.
    clocks : clock nets of all flip-flops and memories.
    """

    nets: int
    inputs: dict[str, np.ndarray] = field(default_factory=dict)
    outputs: dict[str, np.ndarray] = field(default_factory=dict)
    gates: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)
    flip_flops: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    clocks: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class _Module:
    """A module's own netlist, and its submodules by name with the nets of their ports."""

    own: Netlist
    inside: Sequence[tuple[str, Ports]]


def read(file: Path, top: str) -> Netlist:
    """The netlist of a whole design, whose only clock is ``clk``.

    Raises SimulationError if a cell has no model, there is another clock, a bit is undefined, a net is driven twice, or
    a net is read but not driven.
    """
    said = json.loads(file.read_text())["modules"]
    modules = {name: _module(module, said.keys()) for name, module in said.items()}
    whole = Netlist(TRUE + 1)
    nets = _place(whole, modules, top, {})
    own = modules[top].own
    whole.inputs, whole.outputs = ({port: nets[bits] for port, bits in of.items()} for of in (own.inputs, own.outputs))
    if whole.clocks - set(whole.inputs.get("clk", np.array([])).tolist()):
        raise SimulationError(f"{file} has another clock than clk")
    driven = [
        np.array([FALSE, TRUE]),
        *whole.inputs.values(),
        *(outputs for _, outputs, _ in whole.gates),
        *(states for _, states in whole.flip_flops),
        *(data for memory in whole.memories for _, data in memory.reads),
    ]
    drivers = np.bincount(np.concatenate(driven), minlength=whole.nets)
    if drivers.max() > 1:
        raise SimulationError(f"{file} has a net that is driven twice")
    used = [
        *whole.outputs.values(),
        *(pins.ravel() for pins, _, _ in whole.gates),
        *(following for following, _ in whole.flip_flops),
        *(address for memory in whole.memories for address, _ in memory.reads),
        *(part for memory in whole.memories for port in memory.writes for part in port),
    ]
    if not drivers[np.concatenate(used)].all():
        raise SimulationError(f"{file} has a net that is read and driven by nothing")
    return whole


def _place(whole: Netlist, modules: Mapping[str, _Module], name: str, connected: Ports) -> np.ndarray:
    """Add a module with its ports connected to these nets; return the new numbers of its own nets."""
    module = modules[name].own
    nets = np.arange(whole.nets, whole.nets + module.nets)
    nets[: TRUE + 1] = FALSE, TRUE
    whole.nets += module.nets
    ports = {**module.inputs, **module.outputs}
    for port, bits in connected.items():
        if port not in ports or len(bits) != len(ports[port]):
            raise SimulationError(
                f"{len(bits)} bits are connected to {name}'s port {port}, which does not have so many"
            )
    for port in module.inputs.keys() & connected.keys():
        nets[module.inputs[port]] = connected[port]
    whole.gates += [(nets[pins], nets[driven], tables) for pins, driven, tables in module.gates]
    for port in module.outputs.keys() & connected.keys():
        whole.gates.append(_buffers(nets[module.outputs[port]], connected[port]))
    whole.flip_flops += [(nets[following], nets[state]) for following, state in module.flip_flops]
    for memory in module.memories:
        reads, writes = (
            [tuple(nets[part] for part in port) for port in ports] for ports in (memory.reads, memory.writes)
        )
        whole.memories.append(Memory(memory.bits.copy(), reads, writes))
    whole.clocks |= {int(nets[clock]) for clock in module.clocks}
    for inner, connections in modules[name].inside:
        _place(whole, modules, inner, {port: nets[bits] for port, bits in connections.items()})
    return nets


def _module(said: Mapping[str, Any], names: Sequence[str]) -> _Module:
    """Read one module; cells of a type in `names` are its submodules."""
    ports = {port: _bits(each["bits"]) for port, each in said["ports"].items()}
    cells = [
        (
            cell["type"],
            cell["parameters"],
            {
                port: _bits(bits)
                for port, bits in cell["connections"].items()
                if cell["type"] != MEMORY or port not in UNCLOCKED
            },
        )
        for cell in said["cells"].values()
    ]
    inside, pins, driven, tables, following, states = [], [], [], [], [], []
    every = [*ports.values(), *(bits for _, _, at in cells for bits in at.values())]
    own = Netlist(1 + max(int(bits.max(initial=TRUE)) for bits in every))
    for direction, of in (("input", own.inputs), ("output", own.outputs)):
        of.update({port: bits for port, bits in ports.items() if said["ports"][port]["direction"] == direction})
    for kind, parameters, at in cells:
        if kind in names:
            inside.append((kind, at))
        elif kind in _models():
            letters, table = _models()[kind]
            pins.append([at[letter][0] for letter in letters] + [FALSE] * (PINS - len(letters)))
            driven.append(at["Y"][0])
            tables.append(table)
        elif kind == synth.FLIP_FLOP:
            following.append(at["D"][0])
            states.append(at["Q"][0])
            own.clocks.add(int(at["CK"][0]))
        elif kind == MEMORY:
            own.memories.append(_memory(parameters, at))
            own.clocks |= set(at["WR_CLK"].tolist())
        else:
            raise SimulationError(f"there is no model of the netlist's cell {kind}")
    own.gates.append((np.array(pins, int).reshape(-1, PINS).T, np.array(driven, int), np.array(tables, np.uint16)))
    own.flip_flops.append((np.array(following, int), np.array(states, int)))
    return _Module(own, inside)


def _bits(bits: Sequence[int | str]) -> np.ndarray:
    """Convert bits to nets: Yosys writes constants as text, "x" and "z" among them."""
    if undefined := {bit for bit in bits if isinstance(bit, str)} - {"0", "1"}:
        raise SimulationError(f"the netlist has an undefined bit, {undefined.pop()}")
    return np.array([bit if isinstance(bit, int) else int(bit == "1") for bit in bits], int)


@once
def _models() -> dict[str, tuple[list[str], int]]:
    """Return inputs and truth table of each cell, by the cell's name."""
    return {f"{cell.name}_x{size}": (cell.inputs, _table(cell)) for cell in synth.CELLS for size in synth.SIZES}


def _table(cell: synth.Cell) -> int:
    function = compile(cell.function.replace("!", "~"), cell.name, "eval")
    rows = [
        eval(function, {name: row >> place & 1 for place, name in enumerate(cell.inputs)}) & 1
        for row in range(1 << len(cell.inputs))
    ]
    return sum(bit << row for row, bit in enumerate(rows))


def _buffers(inputs: np.ndarray, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    pins = np.full((PINS, len(inputs)), FALSE)
    pins[0] = inputs
    return pins, outputs, np.full(len(inputs), _table(BUFFER), np.uint16)


def _memory(parameters: Mapping[str, str], at: Ports) -> Memory:
    """Read a memory with combinational read ports. Writes happen at the rising edge; a later write port has priority.

    Yosys drops the priority of ports that never meet (``opt_mem_priority``).
    """
    words, width, reads, writes = (int(parameters[name], 2) for name in ("SIZE", "WIDTH", "RD_PORTS", "WR_PORTS"))

    def flags(name: str, count: int) -> str:
        """Ports or pairs of ports, in order."""
        return parameters[name][::-1][:count]

    never = flags("RD_CLK_ENABLE", reads) + flags("RD_WIDE_CONTINUATION", reads)
    never += flags("WR_WIDE_CONTINUATION", writes) + flags("OFFSET", len(parameters["OFFSET"]))
    priority = flags("WR_PRIORITY_MASK", writes * writes)
    never += "".join(priority[port * writes :][port:writes] for port in range(writes))
    always = flags("WR_CLK_ENABLE", writes) + flags("WR_CLK_POLARITY", writes)
    if set(never) - {"0"} or set(always) - {"1"}:
        raise SimulationError(
            "there is no model of the netlist's memory: reads with a clock, ports of several words, writes without a clock or "
            "at its falling edge, words from another address than 0 on, or a priority of earlier writes"
        )
    content = np.array([bit == "1" for bit in reversed(parameters["INIT"])], np.uint8)
    bits = np.zeros(words * width, np.uint8)
    bits[: len(content)] = content[: len(bits)]

    def ports(count: int, *names: str) -> list[tuple[np.ndarray, ...]]:
        return list(zip(*(at[name].reshape(count, -1) for name in names), strict=True)) if count else []

    return Memory(
        bits.reshape(words, width),
        ports(reads, "RD_ADDR", "RD_DATA"),
        ports(writes, "WR_ADDR", "WR_DATA", "WR_EN"),
    )


# Plays recorded inputs on a netlist: each step evaluates each gate once, after the gates at its inputs.


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
            nets[ports] = _bits_of(value, len(ports))
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


def _bits_of(value: int, width: int) -> np.ndarray:
    packed = np.frombuffer(value.to_bytes(-(-width // 8), "little"), np.uint8)
    return np.unpackbits(packed, bitorder="little")[:width]


# Maps a unit's Verilog with Yosys and abc to the project's generic cells.
#
# The cells and abc's script are those of ``make synth``. A module with several instances is mapped once; the others are
# flattened into their parents. Large memories stay memories, like a chip's macros. The reset value of every flip-flop is 0: a
# register with reset value 1 becomes a flip-flop between two inverters.


MEMORY_WORDS, MEMORY_BITS = 8, 64
"""A memory with more words or wider ones stays a memory; a smaller one becomes flip-flops."""
NETLIST, TOP = "netlist.json", "netlist"
_SCRIPT = f"""read_verilog -sv source.v
hierarchy -check -top {TOP}
{{keep}}
synth -top {TOP} -flatten -nordff -run begin:fine
memory_map t:$mem_v2 r:SIZE<={MEMORY_WORDS} %i r:WIDTH<={MEMORY_BITS} %i
opt -fast -full
opt -undriven -fine
techmap
opt -full
opt_clean -purge
dfflegalize -cell $_DFF_P_ 0 -mince 100000000
simplemap
dfflibmap -liberty cells.lib
abc -liberty cells.lib -script area.abc
opt_clean -purge
write_json {NETLIST}
"""


def netlist(unit: str, config: Any) -> Path:
    """Return the unit's netlist in Yosys' JSON, with the top module :data:`TOP`, from the cache if it is there.

    Raises MissingToolError without Yosys, and SimulationError if Yosys refused the Verilog or took too long.
    """
    require_extra("synth")
    text, shared = verilog_text(find_unit(unit).build(config), TOP)
    keep = "".join(f"setattr -mod -set keep_hierarchy 1 {name}\n" for name in shared)
    inputs = {
        "source.v": text,
        "cells.lib": synth.liberty(),
        "area.abc": "\n".join(synth.SCRIPTS["area"]) + "\n",
    }
    script = _SCRIPT.format(keep=keep)
    # Names every file of Yosys' package with its digest.
    record = next(Path(str(file.locate())) for file in files(process.PACKAGE) or () if file.name == "RECORD")
    hashes = {name: cache.hash_text(content) for name, content in inputs.items()}
    key = {"script": script, "inputs": hashes, "yosys": cache.hash_files([record])}
    folder = paths.build_root() / "netlists" / f"{unit}-{digest(unit, config)}"
    cache.ensure(folder, key, partial(_synthesize, unit, inputs, script))
    return folder / NETLIST


def _synthesize(unit: str, inputs: dict[str, str], script: str, folder: Path) -> dict[str, Any]:
    for name, content in inputs.items():
        (folder / name).write_text(content)
    process.require_yosys(f"the netlist of {unit}", folder, "netlist", script, synth.SYNTH_SECONDS)
    return {}
