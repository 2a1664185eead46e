"""Ports of a module, from its emitted Verilog."""

import re
from dataclasses import dataclass

from bitpath.sim.engine.errors import SimulationError

_PORT = re.compile(r"^\s*(input|output) (?:signed )?(?:\[(\d+):0\] )?(\w+);", re.MULTILINE)


@dataclass(frozen=True)
class Port:
    """One of them; ``direction`` is "input" or "output"."""

    direction: str
    name: str
    bits: int


def module_ports(verilog: str, top: str) -> list[Port]:
    """The ports of module ``top``, in the order of the text.

    Raises
    ------
    SimulationError : there is no such module.
    """
    body = re.search(rf"^module {top}\(.*?^endmodule", verilog, re.MULTILINE | re.DOTALL)
    if body is None:
        raise SimulationError(f"the emitted Verilog has no module {top}")
    return [Port(direction, name, int(high or 0) + 1) for direction, high, name in _PORT.findall(body[0])]
