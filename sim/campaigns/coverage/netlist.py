"""Maps signal bits of the emitted Verilog to nets and their drivers.

Amaranth shows one net under many names: a field of a layout, a port, a temporary. Yosys gives each net of a module a number;
the toggles of its names are one point of the module that drives it. A net that the parent drives is a point of the parent. A
net wired to a constant is not a point.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from bitpath.sim.engine import cache, paths
from bitpath.sim.engine.yosys import require_run, yosys_version

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
    require_run(f"the netlist of {top}", folder, "read", _READ.format(top=top), READ_SECONDS)
    return {}
