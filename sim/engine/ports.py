"""Ports of a module, read from its emitted Verilog, and their variables in C++."""

import re
from dataclasses import dataclass

from bitpath.sim.engine.errors import SimulationError

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
