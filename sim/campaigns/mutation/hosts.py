"""Targets of mutation, the unit whose bench judges each, and the netlist that has its mutants."""

import ast
import random
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache as once
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bitpath.rtl
from bitpath.rtl.emit import rtlil_text
from bitpath.rtl.units import UNITS
from bitpath.sim.engine import cache, paths
from bitpath.sim.engine.build import Built, Emitter, build, rtl_emitter
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.engine.process import require_yosys, yosys_version
from bitpath.sim.engine.results import write_records
from bitpath.verif.kit.bench import MUTANT_PORT

# Assigns to each component the unit whose bench judges its mutants.
#
# A target is a class or a function of the RTL, such as "rtl/common/arithmetic/round:Round".


RTL = Path(bitpath.rtl.__file__).parent
NO_OWNER = "rtl/common/pipeline/shared_instances"
"""File that names the ports of shared modules; its cells belong to the enclosing module."""


@dataclass(frozen=True)
class Host:
    """A unit in a configuration; its bench judges the mutants.

    Attributes
    ----------
    cases : random cases of a test; None for those of the unit's coverage, within a bound.
    """

    unit: str
    config: Any
    cases: int | None = None

    @property
    def top(self) -> str:
        """The name of its module where mutants are put into it."""
        return f"{self.unit}_mutants"


HOSTS = tuple(
    Host(unit.name, judge.config, judge.cases)
    for judge, unit in sorted(
        ((judge, unit) for unit in UNITS.values() for judge in unit.judges), key=lambda pair: pair[0].place
    )
)
"""The judges of all units, from the smallest netlist to the largest, with these exceptions. The BF16 PE precedes the
reciprocal, since the reciprocal never rounds a tie. Stochastic PSUM replaces psum, which never rounds stochastically. The lane
alone judges logic that post_add has too, since post_add drops exponents and signs of floats. The aligned dot product has logic
that the exact one lacks; only a row broadcast that writes the rows between shows that they are zero. The engine lane precedes
the DMA's cast, whose narrow lanes have states that no number reaches.
"""

CONTROL = {
    "rtl/trainium3/array": ("systolic_array", "core_edge", "operand_row", "psum"),
    "rtl/trainium3/rmsnorm_quant": ("rmsnorm_quant",),
    "rtl/trainium3/engine": ("tensor_engine", "instruction"),
    "rtl/trainium3/core": (
        "tensor_slots",
        "core",
        "core_dma",
        "dma_engine",
        "instruction",
        "lane_engine",
        "lane_reader",
        "tensor_operands",
    ),
    "rtl/tensix/core": (
        "config_file",
        "decode",
        "tensix_core",
        "l1_memory",
        "row_packer",
        "row_unpacker",
        "wait_gate",
        "thread",
        "vector_access",
    ),
    "rtl/tensix/unpack": ("turn_buffer",),
    "rtl/tensix/matrix": ("registers", "matrix_unit", "mover", "cell_row", "instruction"),
    "rtl/tensix/engine": ("tensix_engine",),
    "rtl/tensix/stream": ("expanders",),
    "rtl/tensix/sfpu": ("sfp_stochastic_round", "sfpu", "layouts", "load_macro"),
    "rtl/aie_ml_v2/vector": ("vector_mac", "operand_shapes", "native_shapes"),
    "rtl/aie_ml_v2/floats": ("operators",),
    "rtl/aie_ml_v2/cascade": ("cascade",),
    "rtl/aie_ml_v2/engine": ("aie_engine",),
    "rtl/aie_ml_v2/tile": ("registers",),
    "rtl/aie_ml_v2/core": ("aie_tile", "bundle"),
}
"""Files without arithmetic by folder: sequencers, register files, memories, wiring. They have no mutants."""

OWN_BENCH = {
    "rtl/trainium3/dot/pe:ProcessingElement": "quad_mx_pe",
    "rtl/common/arithmetic/round:goes_up": "srs",
    "rtl/common/arithmetic/round:increment": "srs",
    "rtl/common/arithmetic/round:increment_inverted": "srs",
    "rtl/common/arithmetic/round:RoundIncrement": "srs",
}
"""Targets that this unit's bench judges, though a smaller netlist has cells of them too: SRS rounds in every mode, smaller units in one."""


def is_target(component: str) -> bool:
    """Return True for a class or function of rtl/common or of a machine's datapath."""
    folder, _, file = component.partition(":")[0].rpartition("/")
    return file not in CONTROL.get(folder, ())


@once
def targets() -> dict[str, Host]:
    """Return the components that have cells with their hosts, ordered by host."""
    sources = cache.hash_files((*rtl_emitter().sources, Path(__file__)))
    key = {"sources": sources, "amaranth": version("amaranth")}
    made = cache.ensure(paths.build_root() / "mutate" / "targets", key, _find)
    return {component: HOSTS[number] for component, number in made.items()}


def _find(_: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for number, host in enumerate(HOSTS):
        for component in sorted(cells(host)):
            if is_target(component) and OWN_BENCH.get(component, host.unit) == host.unit:
                found.setdefault(component, number)
    return found


def find_targets(names: tuple[str, ...]) -> dict[str, Host]:
    """Return the targets of those names: a component, a file with or without its folder and ``.py``, or a unit for all
    that it hosts.

    Raises ValueError if a name is neither.
    """
    # Look the targets up only if a name is given: the first search takes a minute.
    known = targets() if names else {}
    chosen: dict[str, Host] = {}
    for name in names:
        file = name.removesuffix(".py")
        own = [target for target, host in known.items() if file in (*_names(target), host.unit)]
        if not own:
            raise ValueError(f"no datapath {name!r} has cells in a unit's netlist, known are {', '.join(known)}")
        chosen |= {target: known[target] for target in own}
    return chosen


def _names(target: str) -> tuple[str, ...]:
    file, _, component = target.partition(":")
    return target, file, file.rpartition("/")[2], component


def component_of(source: str) -> str:
    """Return the class or function of a line: "rtl/common/arithmetic/align.py:85" is of "rtl/common/arithmetic/align:Align"."""
    file, _, number = source.rpartition(".py:")
    starts, names = definitions(file)
    return f"{file}:{names[bisect_right(starts, int(number)) - 1]}"


@once
def definitions(file: str) -> tuple[list[int], list[str]]:
    """Return the first lines and the names of a file's classes and functions; lines before the first one have none."""
    tree = ast.parse((RTL.parent / f"{file}.py").read_text())
    found = [each for each in tree.body if isinstance(each, ast.ClassDef | ast.FunctionDef)]
    return [0, *(each.lineno for each in found)], ["", *(each.name for each in found)]


def cells(host: Host) -> Counter[str]:
    """Cells and processes of each component in the host's netlist."""
    return Counter(map(component_of, _owners(host_rtlil(host)[0])))


def host_rtlil(host: Host) -> tuple[str, tuple[str, ...]]:
    """Return the host in RTLIL, each cell with its source line ("rtl/common/arithmetic/align.py:85"), and the modules to
    compile separately."""
    text, apart = rtlil_text(UNITS[host.unit].build(host.config), host.top, sources=True)
    return with_owners(text), apart


def with_owners(text: str) -> str:
    """Return the netlist with source attributes only on cells, processes and switches, all pointing to the RTL's files.

    Amaranth puts none on a switch, which becomes multiplexers, so it gets that of its process. A register that is a port has
    the line of a library, so it gets that of its module.
    """
    lines, module, process, own = [], "", "", ""
    for line in text.splitlines():
        words = line.split()
        head = words[0] if words else ""
        if head == "attribute" and words[1] == "\\src":
            own = _of_rtl(line.partition("\\src ")[2].strip('"'))
            continue
        if head == "module":
            module = own
        elif head == "process":
            process = own or module
        if head in ("cell", "process", "switch") and (source := process if head != "cell" else own or module):
            lines.append(f'attribute \\src "{source}"')
        lines.append(line)
        if head != "attribute":
            own = ""
    return "\n".join(lines) + "\n"


def _of_rtl(source: str) -> str:
    """A place as "rtl/common/arithmetic/align.py:85"; "" where it is of no file of ours."""
    inside = source.removeprefix(f"{RTL}/")
    return "" if inside == source or f"rtl/{inside}".startswith(f"{NO_OWNER}.py") else f"rtl/{inside}"


def _owners(text: str) -> Iterator[str]:
    for source, kind, name in re.findall(r'^attribute \\src "([^"]*)"\n\s*(cell|process) (\S+)', text, re.MULTILINE):
        # A cell of another name is an instance of a module.
        if kind == "process" or name.startswith("$"):
            yield source


# Netlist with many mutants; an input chooses one.


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
    sources = (*rtl_emitter().sources, Path(__file__))
    return build("mutants", key, "verilator", emitter=Emitter(partial(_emit, host), sources))


def _emit(host: Host, unit: str, key: Mutants, folder: Path) -> SimpleNamespace:
    text, no_inline = host_rtlil(host)
    (folder / "design.il").write_text(text)
    prepare = _PREPARE.format(top=host.top, prepared=PREPARED, all=_ALL, file=key.target.partition(":")[0])
    require_yosys(f"preparing {key.target}", folder, "prepare", prepare, YOSYS_SECONDS)
    possible = read_list((folder / "possible.txt").read_text(), key.target)
    drawn = draw(possible, key.count, key.seed)
    prepared = (folder / PREPARED).read_text()
    _refuse_starts_at_one(prepared, drawn)
    often = {name for name, count in copies(prepared, host.top).items() if count > MOST_COPIES}
    no_inline = (*no_inline, *sorted(often & {mutant.module.lstrip("\\") for mutant in drawn} - {*no_inline}))
    write_records(folder / DRAWN, [{"possible": len(possible)}, *map(asdict, drawn)])
    (folder / "possible.txt").unlink()
    file = folder / f"{host.top}.v"
    require_yosys(f"mutating {key.target}", folder, "mutate", mutating(drawn, file.name), YOSYS_SECONDS)
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
        sources = [source for source in sources if component_of(source) == target]
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
