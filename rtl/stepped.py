"""Groups of equal components with registered outputs, which a simulator may step one after the other at each clock edge."""

import re
from dataclasses import dataclass

from bitpath.rtl.common.pipeline.repeat import Repeat
from bitpath.rtl.common.pipeline.shared_instances import Emission, shared_module_name

_MODULE = re.compile(r".*?^module \\?(\w+).*?^endmodule\n", re.MULTILINE | re.DOTALL)
"""One module of Verilog with what stands before it; the name ends before the dot of a submodule's name."""


@dataclass(frozen=True)
class Group:
    """A module of ``count`` elements side by side.

    Attributes
    ----------
    module, element : names of the group's module and of its element's.
    count : number of elements.
    spread : ports that have a word for each element, the first lowest; other ports outside ``chained`` go to all.
    chained : pairs (input, output); an element's input is the output of its predecessor.
    """

    module: str
    element: str
    count: int
    spread: tuple[str, ...]
    chained: tuple[tuple[str, str], ...]


def groups(emission: Emission) -> tuple[Group, ...]:
    """Return the largest group of each component that is ``registered``; smaller ones are parts of it."""
    largest: dict[str, Group] = {}
    for module, component in emission.shared_modules.items():
        if isinstance(component, Repeat) and getattr(component.elements.cls, "registered", False):
            cls, args, count, spread, chained = component.elements
            element = emission.prefix + shared_module_name(cls, args, {})
            if element not in largest or largest[element].count < count:
                largest[element] = Group(module, element, count, spread, chained)
    return tuple(largest.values())


def files(verilog: str, top: str, emission: Emission) -> dict[str, str]:
    """Return the Verilog by the module that names its file: ``top``, and for each of :func:`groups` two more.

    The element's file has all modules below the element, so that it is complete by itself. The group's file has the modules
    of wires between ``top`` and the elements. Every module is in one file.
    """
    parts: dict[str, str] = {}
    for found in _MODULE.finditer(verilog):
        parts[found[1]] = parts.get(found[1], "") + found[0]
    places = dict.fromkeys(parts, top)
    for group in groups(emission):
        places |= dict.fromkeys(_below(group.module, parts), group.module)
        places |= dict.fromkeys(_below(group.element, parts), group.element)
    written = {top: ""}
    for module, text in parts.items():
        written[places[module]] = written.get(places[module], "") + text
    return written


def _below(module: str, parts: dict[str, str]) -> set[str]:
    """Return a module and all modules that it instantiates at any depth."""
    found: set[str] = set()
    pending = {module}
    while pending:
        name = pending.pop()
        found.add(name)
        pending |= (parts.keys() & set(re.findall(r"^  (\w+) ", parts[name], re.MULTILINE))) - found
    return found
