"""Signal bits proved constant: by ABC's SAT sweeping, all candidates at once, with free inputs.

The outputs of a flattened module are replaced by one output of all candidates. A bit that ABC reduces to a constant is constant
in every cycle of every run, by joint induction over the cycles from power-on: first over constants, which settles most, then
over all equal nets. Modules with several instances, and the largest of a large design, come before the top: a proof with free
inputs holds for every instance. Writable memories larger than :data:`MEMORY_WORDS` return free values, which can only lose
proofs. Answers are journaled under the Verilog, so a later run asks only for new candidates.
"""

import json
import math
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from bitpath.sim.campaigns import circuits
from bitpath.sim.engine import cache, paths
from bitpath.sim.engine.imports import module_file
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.engine.process import YosysTimeoutError, require_yosys, yosys_version

# Maps signal bits of the emitted Verilog to nets and their drivers.
#
# Amaranth shows one net under many names: a field of a layout, a port, a temporary. Yosys gives each net of a module a number;
# the toggles of its names are one point of the module that drives it. A net that the parent drives is a point of the parent. A
# net wired to a constant is not a point.


READ_SECONDS = 1800
SOURCE, HIERARCHY, DESIGN = "source.v", "hierarchy.json", "design.il"
_READ = """read_verilog -sv source.v
hierarchy -check -top {top}
proc
write_json hierarchy.json
write_rtlil design.il
"""
_MODULE = re.compile(r"^module +\\?([^\s(]+).*?^endmodule", re.MULTILINE | re.DOTALL)
_INDEXED = re.compile(r"(.*)\[(\d+)\]", re.DOTALL)


@dataclass(frozen=True)
class Net:
    """A net of a module, by Yosys' number."""

    module: str
    bit: int


class Netlist:
    """The modules of a design, as :func:`read_netlist` has left them in a folder."""

    def __init__(self, folder: Path, top: str):
        self.folder, self.top = folder, top
        self._modules: dict[str, Any] = json.loads((folder / HIERARCHY).read_text())["modules"]

    def net(self, module: str, signal: str) -> Net | None:
        """Return the net of a signal's bit, ``name`` or ``name[3]``; None for a constant or a word of a memory.

        Raises ValueError if the module has no such signal.
        """
        bit = self._bit(module, signal)
        return Net(module, bit) if isinstance(bit, int) else None

    def constant(self, module: str, signal: str) -> int | None:
        """Return the constant that a signal's bit is wired to, 0 or 1, or None if it is not constant."""
        bit = self._bit(module, signal)
        return int(bit) if bit in ("0", "1") else None

    def _bit(self, module: str, signal: str) -> int | str | None:
        """As Yosys has it: a net's number, or a constant's digit; None for a word of a memory."""
        found = self._find(module, signal)
        return None if found is None else self._modules[module]["netnames"][found[0]]["bits"][found[1]]

    def _find(self, module: str, signal: str) -> tuple[str, int] | None:
        """Name, as Yosys writes it, and index."""
        if module not in self._modules:
            raise ValueError(f"the netlist has no module {module}")
        names = self._modules[module]["netnames"]
        split = _INDEXED.fullmatch(signal)
        for name, index in ((signal, 0), *([(split[1], int(split[2]))] if split else [])):
            written = f"\\{name}" if name.startswith("$") else name
            if written in names and index < len(names[written]["bits"]):
                return written, index
        if signal.partition("[")[0] in self._modules[module].get("memories", {}):
            return None
        raise ValueError(f"module {module} has no signal {signal}")

    @cached_property
    def _drivers(self) -> dict[str, frozenset[int]]:
        return {name: frozenset(self._driven(name)) for name in self._modules}

    def _driven(self, module: str) -> Iterator[int]:
        """Return the nets that a module's own logic drives; for the top module also its inputs."""
        body = self._modules[module]
        for cell in body["cells"].values():
            if cell["type"] not in self._modules:
                for port, direction in cell["port_directions"].items():
                    if direction == "output":
                        yield from (bit for bit in cell["connections"][port] if isinstance(bit, int))
        if module == self.top:
            for port in body["ports"].values():
                if port["direction"] == "input":
                    yield from (bit for bit in port["bits"] if isinstance(bit, int))

    def outputs(self, module: str) -> Iterator[str]:
        """Return the bits of a module's outputs, ``name[3]``."""
        for name, port in self._modules[module]["ports"].items():
            if port["direction"] == "output":
                yield from (f"{name}[{index}]" for index in range(len(port["bits"])))

    def drives(self, net: Net) -> bool:
        """Return True if the net's own module drives it."""
        return net.bit in self._drivers[net.module]

    def _walk(
        self, module: str, without: Set[str] = frozenset(), path: str = "", around: frozenset[str] = frozenset()
    ) -> Iterator[tuple[str, str, frozenset[str]]]:
        """Yield the instances in a module and itself, inner ones first: module, path ("" or "a.b.") and enclosing modules."""
        around |= {module}
        for name, cell in self._modules[module]["cells"].items():
            if cell["type"] in self._modules and cell["type"] not in without:
                yield from self._walk(cell["type"], without, f"{path}{name}.", around)
        yield module, path, around

    def roots(self, most: float) -> dict[str, frozenset[str]]:
        """Return modules to be flattened by themselves, inner ones first, each with the modules used only inside it.

        These are the modules with several instances and the top. While one of them has more driven bits than the limit, the
        largest module inside it is added.
        """
        counts: Counter[str] = Counter()
        around: dict[str, frozenset[str]] = {}
        for module, _, chain in self._walk(self.top):
            counts[module] += 1
            around[module] = around.get(module, chain) & chain
        chosen = {root for root, count in counts.items() if count > 1 or root == self.top}
        while inner := {
            module: self._size(module, chosen)
            for root in chosen
            if self._size(root, chosen) > most
            for module in self.instances(root, chosen)
            if module not in chosen
        }:
            chosen.add(max(inner, key=lambda module: inner[module]))
        return {
            root: frozenset(module for module in around if root in around[module]) for root in counts if root in chosen
        }

    def instances(self, root: str, without: Set[str] = frozenset()) -> dict[str, list[str]]:
        """Return the paths of all instances below a root, by module, without those inside the modules left out."""
        found: dict[str, list[str]] = {}
        for module, path, _ in self._walk(root, without):
            found.setdefault(module, []).append(path)
        return found

    def too_large(self, root: str, roots: Set[str], most: int) -> frozenset[str]:
        """Return the largest of the roots without which a flattened module is within the limit of driven bits, or all of them."""
        without: set[str] = set()
        while self._size(root, without) > most:
            found = self.instances(root, without)
            shares = {module: len(found[module]) * self._size(module, without) for module in found if module in roots}
            shares.pop(root, None)
            if not shares:
                break
            without.add(max(shares, key=lambda module: shares[module]))
        return frozenset(without)

    def _size(self, root: str, without: Set[str]) -> int:
        """Bits that the cells of a flattened module drive."""
        return sum(self._own_sizes[module] for module, *_ in self._walk(root, without))

    @cached_property
    def _own_sizes(self) -> dict[str, int]:
        return {module: sum(1 for _ in self._driven(module)) for module in self._modules}

    def flat_bits(self, module: str, signal: str, instances: Iterable[str]) -> list[tuple[str, int]]:
        """Return wire (without Yosys' backslash) and index of a signal in the flattened design, for each instance."""
        found = self._find(module, signal)
        if found is None:
            raise ValueError(f"{signal} of module {module} is a memory, not a signal")
        name, index = found
        plain = name.removeprefix("\\")
        return [(f"{path}{plain}", index) for path in instances]

    def digest(self, root: str) -> str:
        """Return the key of a module's Verilog with its submodules."""
        inside = self.instances(root)
        texts = [found[0] for found in _MODULE.finditer((self.folder / SOURCE).read_text()) if found[1] in inside]
        return cache.hash_text("".join(texts))


def read_netlist(verilog: Path, top: str) -> Netlist:
    """Read a unit's Verilog, now or from the cache."""
    text = verilog.read_text()
    key = {"verilog": cache.hash_text(text), "script": _READ, "yosys": yosys_version()}
    folder = paths.build_root() / "coverage" / top / "netlist"
    cache.ensure(folder, key, partial(_read, text, top))
    return Netlist(folder, top)


def _read(text: str, top: str, folder: Path) -> dict[str, Any]:
    (folder / SOURCE).write_text(text)
    require_yosys(f"the netlist of {top}", folder, "read", _READ.format(top=top), READ_SECONDS)
    return {}


PROVE_SECONDS = 1800
"""Time limit of one step, and of making the first step's graph."""
MEMORY_WORDS = 64
OUTPUT = "bitpath_candidates"
GRAPH = "candidates"
MOST_BITS = 40_000
"""Most driven bits in one query, which mostly takes 1 to 2 min, and over 10 min for `exponential`. Of a larger design the
largest modules are left out and asked by themselves: their outputs are free, but for those already proved constant. A second
pass leaves out only modules of several instances, whatever the size is then."""
_FLATTEN = """read_rtlil design.il
hierarchy -top {root}
flatten
write_rtlil flat.il
"""
_PREPARE = """read_rtlil candidates.il
hierarchy -top {top}
opt_clean
memory_collect
delete t:$mem_v2 r:WR_PORTS>0 %i r:SIZE>{words} %i
{to_gates}
setundef -undriven -anyseq
aigmap
opt_clean
write_aiger -zinit prepared.aig
"""
STEPS = ("scorr -k", "scorr -k -C 20000 -F 2", "ifraig; scorr")
"""Induction over constants, over two cycles with more effort, and over equal nets; each step works on the graph that
the one before it reduced. ABC's newer &scorr fails to see that an output is the constant its induction needs."""


def constant_nets(netlist: Netlist, signals: Mapping[Net, str]) -> dict[Net, frozenset[int]]:
    """Return the nets, each given by one of its names, that are proved constant in every instance of their module, with their values.

    Raises SimulationError if Yosys or ABC failed. A timeout is not an error: the open bits stay unproved.
    """
    found: dict[Net, frozenset[int]] = {}
    # The first pass asks large modules of one instance alone, with free inputs. The second one asks for the remaining
    # nets in its place.
    for most in (MOST_BITS, math.inf):
        roots = netlist.roots(most)
        for root, inside in roots.items():
            asked = {net: signal for net, signal in signals.items() if net not in found and net.module in inside}
            left_out = netlist.too_large(root, roots.keys(), MOST_BITS)
            found |= _constant_in(netlist, root, left_out, asked, found)
    return found


def _constant_in(
    netlist: Netlist,
    root: str,
    left_out: Set[str],
    signals: Mapping[Net, str],
    before: Mapping[Net, frozenset[int]],
) -> dict[Net, frozenset[int]]:
    """Return the nets that are proved constant for any inputs of the module, by what has been proved of others."""
    # The numbers of nets come from how the Verilog is read, and their answers from the rest of this package.
    here = cache.hash_files(map(module_file, (__name__, "bitpath.sim.campaigns.circuits")))
    without = {module: _constant_outputs(netlist, module, before) for module in sorted(left_out)}
    key = cache.hash_json([netlist.digest(root), without, here, yosys_version()])
    file = paths.build_root() / "coverage" / "constants" / f"{root}.jsonl"
    known = {
        Net(record["module"], record["bit"]): frozenset(record["constant"])
        for record in cache.read(file)
        if record["key"] == key
    }
    everywhere, left = netlist.instances(root), netlist.instances(root, without.keys())
    # One answer holds for all instances of a net's module.
    asked = [net for net in signals if net not in known and left.get(net.module) == everywhere[net.module]]

    bits = {net: netlist.flat_bits(net.module, signals[net], left[net.module]) for net in asked}
    answers, whole = _answers(netlist, root, without, bits) if asked else ({}, True)
    for net, constant in answers.items():
        known[net] = constant
        # The next run asks again for answers that ran out of time.
        if constant or whole:
            cache.append(file, {"key": key, "module": net.module, "bit": net.bit, "constant": sorted(constant)})
    return {net: known[net] for net in signals if known.get(net)}


def _constant_outputs(netlist: Netlist, module: str, known: Mapping[Net, frozenset[int]]) -> dict[str, int]:
    """Return the bits of a module's outputs that are known to be the same constant in all instances."""
    found = {}
    for signal in netlist.outputs(module):
        net, wired = netlist.net(module, signal), netlist.constant(module, signal)
        values = known.get(net, frozenset()) if net is not None else frozenset() if wired is None else {wired}
        if len(values) == 1:
            (found[signal],) = values
    return found


def _answers(
    netlist: Netlist,
    root: str,
    without: Mapping[str, Mapping[str, int]],
    asked: Mapping[Net, Sequence[tuple[str, int]]],
) -> tuple[dict[Net, frozenset[int]], bool]:
    """Return the proved values of each net's bits, empty if unproved; and True if all steps ended in time."""
    bits = [(net, bit) for net, each in asked.items() for bit in each]
    whole = True
    with tempfile.TemporaryDirectory(dir=netlist.folder.parent) as place:
        folder = Path(place)
        design = (netlist.folder / DESIGN).read_text()
        for module, constants in without.items():
            design = hollow(design, module, constants)
        (folder / DESIGN).write_text(design)
        try:
            require_yosys(root, folder, "flatten", _FLATTEN.format(root=root), PROVE_SECONDS)
            text = with_output((folder / "flat.il").read_text(), [bit for _, bit in bits])
            (folder / "candidates.il").write_text(text)
            prepare = _PREPARE.format(top=root, words=MEMORY_WORDS, to_gates=circuits.TO_GATES)
            require_yosys(root, folder, "prepare", prepare, PROVE_SECONDS)
            # One that a time-out cut is not read.
            (folder / "prepared.aig").replace(folder / f"{GRAPH}.aig")
            for step in STEPS:
                require_yosys(root, folder, "prove", circuits.reduction(folder, GRAPH, step), PROVE_SECONDS)
                circuits.reduced(folder, GRAPH).replace(folder / f"{GRAPH}.aig")
        except YosysTimeoutError:
            whole = False
        found = folder / f"{GRAPH}.aig"
        constant = circuits.constant_outputs(found.read_bytes()) if found.exists() else [None] * len(bits)
    if len(constant) != len(bits):
        raise SimulationError(f"ABC answered for {len(constant)} of {len(bits)} bits of {root}")
    values: dict[Net, set[int | None]] = {}
    for (net, _), each in zip(bits, constant, strict=True):
        values.setdefault(net, set()).add(each)
    proved = {net: {each for each in found if each is not None} for net, found in values.items()}
    return {net: frozenset(proved[net] if None not in found else ()) for net, found in values.items()}, whole


def hollow(rtlil: str, module: str, constants: Mapping[str, int]) -> str:
    """Leave a module nothing but its ports, and these bits of its outputs, ``o[3]``, at their constants."""
    start = rtlil.index(f"\nmodule \\{module}\n") + 1
    end = rtlil.index("\nend\n", start)
    head, *body = rtlil[start:end].split("\n")
    ports = [line for line in body if re.match(r"  wire .*(input|output) \d+ ", line)]
    ties = [f"  connect \\{signal.replace('[', ' [')} 1'{value}" for signal, value in constants.items()]
    return rtlil[:start] + "\n".join([head, *ports, *ties]) + rtlil[end:]


def with_output(rtlil: str, bits: Sequence[tuple[str, int]]) -> str:
    """Replace the outputs of a flat design by one of these bits, the first lowest.

    Raises ValueError if it lacks a bit's wire.
    """
    wires = set(re.findall(r"^  wire .*?\\(\S+)$", rtlil, re.MULTILINE))
    for name, _ in bits:
        if name not in wires:
            raise ValueError(f"the flattened design has no wire {name}")
    body, end = rtlil.rstrip().rpartition("\nend")[:2]
    body = re.sub(r"^(  wire\b.*?) output \d+ ", r"\1 ", body, flags=re.MULTILINE)
    added = [f"  wire width {len(bits)} output 1000000 \\{OUTPUT}"]
    added += [f"  connect \\{OUTPUT} [{place}] \\{name} [{index}]" for place, (name, index) in enumerate(bits)]
    return "\n".join([body, *added]) + f"{end}\n"
