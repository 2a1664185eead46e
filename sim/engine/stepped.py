"""Verilator compiles one element of a group once, and a wrapper in place of the group steps copies of it.

Verilator would compile every element of a group anew. An element's outputs depend on registers only, so a copy may be stepped
by itself at each clock edge: the wrapper has one call of C++ an edge, and ``stepper.cpp`` steps the copies on several threads.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bitpath.rtl.stepped import Group
from bitpath.sim.engine import cache, paths, process, tools
from bitpath.sim.engine.options import SimulationError

# Ports of a module, read from its emitted Verilog, and their variables in C++.


_PORT = re.compile(r"^\s*(input|output) (?:signed )?(?:\[(\d+):0\] )?(\w+);", re.MULTILINE)


@dataclass(frozen=True)
class Port:
    """A port of a module; ``direction`` is "input" or "output"."""

    direction: str
    name: str
    bits: int


def module_ports(verilog: str, top: str) -> list[Port]:
    """Return the ports of module ``top`` in source order; raise SimulationError if the Verilog has no such module."""
    body = re.search(rf"^module {top}\(.*?^endmodule", verilog, re.MULTILINE | re.DOTALL)
    if body is None:
        raise SimulationError(f"the emitted Verilog has no module {top}")
    return [Port(direction, name, int(high or 0) + 1) for direction, high, name in _PORT.findall(body[0])]


def variable(port: str) -> str:
    """Return the C++ variable of a port, where ``top`` points to the model."""
    # Verilator escapes the second of two underscores.
    return f"top->{port.replace('__', '___05F')}"


STEPPER = Path(__file__).with_name("stepper.cpp")
SOURCES = (Path(__file__), STEPPER)
"""Sources of this step; they are part of the key of every build that uses it."""
PORTS = "element.inc"
CONTROL = "bitpath.vlt"
CLOCK = "clk"
COMPILE = ("-std=c++20", "-O2", "-pthread")
BUILD_SECONDS = 1800
"""Time limit of each of the commands that build an element."""


def wrapper(group: Group, element: str) -> str:
    """Return Verilog of the module in place of a group, which has the group's ports; ``element`` has its element's Verilog."""
    into, out = _sides(group, element)
    declared = [f"  input {CLOCK};"]
    declared += [f"  {port.direction} [{_bits(group, port) - 1}:0] {port.name};" for port in (*into, *out)]
    name, new_line = f"{group.element}_", "\n"
    inputs, outputs = (f"bit [{sum(_bits(group, port) for port in side) - 1}:0]" for side in (into, out))
    return f"""module {group.module}({CLOCK}, {_listed((*into, *out))});
{new_line.join(declared)}
  import "DPI-C" function chandle {name}create(input int count);
  import "DPI-C" function void {name}destroy(input chandle group);
  import "DPI-C" function void {name}read(input chandle group, output {outputs} outputs);
  import "DPI-C" function void {name}step(input chandle group, input {inputs} inputs, output {outputs} outputs);
  chandle group;
  {outputs} present, following;
  assign {{{_listed(out[::-1])}}} = present;
  initial begin
    group = {name}create({group.count});
    {name}read(group, present);
  end
  always @(posedge {CLOCK}) begin
    {name}step(group, {{{_listed(into[::-1])}}}, following);
    present <= following;
  end
  final {name}destroy(group);
endmodule
"""


def element_ports(group: Group, element: str) -> str:
    """Return element.inc, which tells ``stepper.cpp`` the ports of an element."""
    into, out = _sides(group, element)
    sources = {target: [port.name for port in out].index(source) for target, source in group.chained}
    lines = [f"using Element = V{group.element};", f"#define FUNCTION(name) {group.element}_##name"]
    for name, side in (("inputs", into), ("outputs", out)):
        lines.append(
            f"std::vector<Port> {name}(Element& element) {{\n    Element* const top = &element;\n    return {{"
        )
        for port in side:
            place = "SPREAD" if port.name in group.spread else "CHAINED" if port.name in sources else "SHARED"
            at, source = variable(port.name), sources.get(port.name, 0)
            lines.append(f"        {{&{at}, sizeof {at}, {port.bits}, {place}, {source}}},")
        lines.append("    };\n}")
    return "\n".join(lines) + "\n"


def _sides(group: Group, element: str) -> tuple[list[Port], list[Port]]:
    """The inputs of an element but its clock, and its outputs."""
    ports = [port for port in module_ports(element, group.element) if port.name != CLOCK]
    inputs, outputs = ([port for port in ports if port.direction == each] for each in ("input", "output"))
    return inputs, outputs


def _bits(group: Group, port: Port) -> int:
    """Bits of a port of the group."""
    return port.bits * (group.count if port.name in group.spread else 1)


def _listed(ports: Sequence[Port]) -> str:
    return ", ".join(port.name for port in ports)


def library(
    group: Group, element: Path, control: Sequence[str], options: Sequence[str], settings: Mapping[str, str]
) -> Path:
    """Return the archive of an element's model and of the C++ that its wrappers call, compiled or from the cache.

    Its place and its key depend on the element alone, so that all arrays of equal elements share it.

    Parameters
    ----------
    element : file with the element's Verilog.
    control : lines of Verilator's control file.
    options, settings : of Verilator, and of its makefile.

    Raises
    ------
    SimulationError : Verilator or the compiler failed, or took too long.
    """
    folder = paths.simulations() / group.element
    key = {
        "verilog": cache.hash_files([element]),
        "group": [group.spread, group.chained],
        "control": control,
        "options": [options, COMPILE],
        "make": [tools.MAKE_SETTINGS, settings],
        "scripts": cache.hash_files(SOURCES),
        "versions": tools.simulator_versions("verilator"),
    }
    return Path(cache.ensure(folder, key, partial(_compile, group, element, control, options, settings))["library"])


def _compile(
    group: Group,
    element: Path,
    control: Sequence[str],
    options: Sequence[str],
    settings: Mapping[str, str],
    folder: Path,
) -> dict[str, Any]:
    name, includes = f"V{group.element}", [f"-I{each}" for each in (folder, *tools.verilator_includes())]
    (folder / CONTROL).write_text("\n".join(control))
    (folder / PORTS).write_text(element_ports(group, element.read_text()))
    verilate = ["verilator", "--cc", "--build", "-j", "2", "--prefix", name, "--top-module", group.element]
    commands = (
        [*verilate, *options, "-Mdir", str(folder), CONTROL, str(element)],
        ["g++", *COMPILE, *includes, "-include", f"{name}.h", "-c", str(STEPPER), "-o", "stepper.o"],
        ["ar", "r", f"{name}__ALL.a", "stepper.o"],
    )
    for number, command in enumerate(commands):
        log, env = folder / f"build_{number}.log", tools.environment(make_settings=settings)
        what = f"building one {group.element} for verilator"
        process.require_run(what, command, env=env, log=log, timeout=BUILD_SECONDS, folder=folder)
    return {"library": str(folder / f"{name}__ALL.a")}
