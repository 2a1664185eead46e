"""Assigns to each component the unit whose bench judges its mutants.

A target is a class or a function of the RTL, such as "rtl/common/arithmetic/round:Round".
"""

import ast
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache as once
from importlib.metadata import version
from pathlib import Path
from typing import Any

import bitpath.rtl
from bitpath.rtl.emit import rtlil_text
from bitpath.rtl.units import UNITS
from bitpath.sim.engine import cache, paths
from bitpath.sim.engine.build import rtl_emitter

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
    ),
    "rtl/tensix/unpack": ("turn_buffer",),
    "rtl/tensix/matrix": ("registers", "matrix_unit", "mover", "cell_row", "instruction"),
    "rtl/tensix/engine": ("l1_port", "tensix_engine"),
    "rtl/tensix/stream": ("expanders",),
    "rtl/tensix/vector": ("sfp_stochastic_round",),
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
