"""Netlist with many mutants; an input chooses one."""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bitpath.sim.campaigns.mutation import hosts
from bitpath.sim.campaigns.mutation.hosts import Host
from bitpath.sim.engine.build import Built, Emitter, build, rtl_emitter
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.reports import write_records
from bitpath.sim.engine.yosys import require_run, yosys_version
from bitpath.verif.kit.bench import MUTANT_PORT

YOSYS_SECONDS = 600
PREPARED, MUTATED = "prepared.il", "mutants.il"
DRAWN = "mutants.json"
"""The drawn mutants, and first how many there were to draw from."""
_PREPARE = """read_rtlil design.il
hierarchy -check -top {top}
proc -norom
opt_expr
wreduce
opt_clean -purge
write_rtlil {prepared}
mutate -list {all} -o possible.txt a:src=*{file}.py:* t:$meminit* %d t:$memrd* %d
"""
"""Faults exclude the cells of memory contents, which are constant, and of combinational read ports, which have no reset. The
cells around a read port have their own faults.
"""
MOST_COPIES = 32
"""Most instances of a module with mutants that are inlined: each has all its mutants, and 100 take 15 min to compile."""
_ALL = 10**8
"""More faults than any netlist has, so that Yosys lists all."""


@dataclass(frozen=True)
class Mutant:
    """A fault of one bit in a cell.

    Attributes
    ----------
    module, cell, port, bit : position in the netlist.
    mode : inv; const0, const1; cnot0, cnot1: inverted if another bit of the port, ``control``, is 0 or 1.
    source : the cell's Python line, "rtl/common/arithmetic/align.py:85".
    """

    mode: str
    module: str
    cell: str
    port: str
    bit: int
    control: int | None
    source: str

    @property
    def command(self) -> str:
        """Yosys command that inserts the mutant."""
        where = f"-module {self.module} -cell {self.cell} -port {self.port} -portbit {self.bit}"
        return f"mutate -mode {self.mode} {where}" + (f" -ctrlbit {self.control}" if self.control is not None else "")

    @property
    def shown(self) -> str:
        """Line, mode and place of the mutant for reports."""
        control = "" if self.control is None else f" by bit {self.control}"
        return f"{self.source}: {self.mode} {self.port}[{self.bit}]{control} of {self.cell} in {self.module}"


@dataclass(frozen=True)
class Mutants:
    """Configuration of a netlist of mutants, the key of its build: host, component, number and seed of the draw, Yosys."""

    unit: str
    config: Any
    target: str
    count: int
    seed: int
    yosys: str


def build_mutants(host: Host, target: str, count: int, seed: int) -> Built:
    """Compile the netlist; its folder also holds the prepared netlist without mutants and the list of mutants."""
    key = Mutants(host.unit, host.config, target, count, seed, yosys_version())
    sources = (*rtl_emitter().sources, Path(__file__), Path(hosts.__file__))
    return build("mutants", key, "verilator", emitter=Emitter(partial(_emit, host), sources))


def _emit(host: Host, unit: str, key: Mutants, folder: Path) -> SimpleNamespace:
    text, no_inline = hosts.host_rtlil(host)
    (folder / "design.il").write_text(text)
    prepare = _PREPARE.format(top=host.top, prepared=PREPARED, all=_ALL, file=key.target.partition(":")[0])
    require_run(f"preparing {key.target}", folder, "prepare", prepare, YOSYS_SECONDS)
    possible = read_list((folder / "possible.txt").read_text(), key.target)
    drawn = draw(possible, key.count, key.seed)
    prepared = (folder / PREPARED).read_text()
    _refuse_starts_at_one(prepared, drawn)
    often = {name for name, count in copies(prepared, host.top).items() if count > MOST_COPIES}
    no_inline = (*no_inline, *sorted(often & {mutant.module.lstrip("\\") for mutant in drawn} - {*no_inline}))
    write_records(folder / DRAWN, [{"possible": len(possible)}, *map(asdict, drawn)])
    (folder / "possible.txt").unlink()
    file = folder / f"{host.top}.v"
    require_run(f"mutating {key.target}", folder, "mutate", mutating(drawn, file.name), YOSYS_SECONDS)
    return SimpleNamespace(top=host.top, files=(file,), no_inline=no_inline)


def mutating(drawn: Sequence[Mutant], file: str) -> str:
    """Return the Yosys script that inserts all mutants, numbered from 1; 0 selects the original design."""
    control = f"-ctrl {MUTANT_PORT} {select_bits(len(drawn))}"
    lines = [f"{mutant.command} {control} {number}" for number, mutant in enumerate(drawn, 1)]
    ends = [f"write_rtlil {MUTATED}", f"write_verilog -noattr {file}"]
    # Simulation and proof must agree on a multiplexer with two active selects and on the reset value of a register with a mutant
    # at its output.
    same = ["pmuxtree", "setundef -init -zero"]
    return "\n".join([f"read_rtlil {PREPARED}", *lines, *same, *ends]) + "\n"


def copies(text: str, top: str) -> Counter[str]:
    """Count the instances of each module in a design in Yosys' language."""
    inside: dict[str, list[str]] = defaultdict(list)
    for module, words in _lines(text):
        if words[:1] == ["cell"] and words[1].startswith("\\"):
            inside[module].append(words[1].lstrip("\\"))
    found = Counter({top: 1})

    def add(module: str) -> None:
        for name in inside[module]:
            found[name] += 1
            add(name)

    add(top)
    return found


def _lines(text: str) -> Iterator[tuple[str, list[str]]]:
    """Return the words of each line in Yosys' language, with the name of its module."""
    module = ""
    for words in map(str.split, text.splitlines()):
        if words[:1] == ["module"]:
            module = words[1].lstrip("\\")
        yield module, words


def _refuse_starts_at_one(prepared: str, drawn: Sequence[Mutant]) -> None:
    """Refuse mutants at outputs of registers with reset value 1: it would become 0 in simulation, unseen in proofs."""
    behind = {mutant.module.lstrip("\\") for mutant in drawn if mutant.port.lstrip("\\") == "Q"}
    for module, words in _lines(prepared):
        if words[:2] == ["attribute", "\\init"] and "1" in words[2].partition("'")[2] and module in behind:
            raise SimulationError(
                f"a register of {module} starts at 1, which mutants of its registers' outputs would change"
            )


def select_bits(count: int) -> int:
    """Return the bits of the input that selects one mutant, or 0 for the original design."""
    return count.bit_length()


def read_list(text: str, target: str) -> list[Mutant]:
    """Return the target's mutants in Yosys' list, each with its line, without those at clock ports."""
    file = target.partition(":")[0]
    found = []
    for line in text.splitlines():
        words = re.findall(r"-(mode|module|cell|port|portbit|ctrlbit|src) (\S+)", line)
        fields = dict(words)
        control = fields.get("ctrlbit")
        # A cell merged from two equal ones has the lines of both.
        sources = [value for name, value in words if name == "src" and value.startswith(f"{file}.py:")]
        sources = [source for source in sources if hosts.component_of(source) == target]
        if not sources:
            continue
        place = {name: fields[name] for name in ("mode", "module", "cell", "port")} | {"bit": int(fields["portbit"])}
        found.append(Mutant(**place, control=None if control is None else int(control), source=sources[0]))
    return [mutant for mutant in found if mutant.port.lstrip("\\").lower() != "clk"]


def draw(possible: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """Draw `count` mutants, or all if there are fewer. Source lines take turns, so a line with few bits is drawn too."""
    lines = defaultdict(list)
    for mutant in possible:
        lines[mutant.source].append(mutant)
    rng = random.Random(seed)
    for each in lines.values():
        rng.shuffle(each)
    turns = [(turn, rng.random(), mutant) for each in lines.values() for turn, mutant in enumerate(each)]
    return [mutant for _, _, mutant in sorted(turns, key=lambda item: item[:2])][:count]
