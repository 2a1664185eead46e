# amaranth: UnusedElaboratable=no
"""Every register without a reset is listed: all units are elaborated, and each signal of a clocked domain is looked at."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from amaranth import ClockDomain, Fragment, Module, Signal
from amaranth.hdl import MemoryInstance
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

import bitpath.rtl
from bitpath.rtl.common.pipeline.shared_instances import Emission, instantiate
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.units import UNITS
from bitpath.verif.kit.testplan import covers
from bitpath.verif.kit.traffic import clocked, walk
from bitpath.verif.tests.units.manners import CONFIGS
from bitpath.verif.tests.units.registers import READ_PORTS, RESET_LESS

RTL = Path(bitpath.rtl.__file__).parent.resolve()
CONFIGURATIONS = [
    *((name, unit.config_type()) for name, unit in UNITS.items()),
    *CONFIGS.items(),
    # VectorE with `QuantizeMX`.
    ("core", CoreConfig(size=32)),
]


def elaborated(components):
    """Return the fragments of components with the classes of theirs; modules that several share are elaborated once."""
    platform, found, done = Emission(), [], set()
    for component in components:
        found += walk(Fragment.get(component, platform))
    while pending := platform.shared_modules.keys() - done:
        for module in pending:
            found += walk(Fragment.get(platform.shared_modules[module], platform))
        done |= pending
    return found


@cache
def statements(file):
    return [node for node in ast.walk(ast.parse(Path(file).read_text())) if isinstance(node, ast.stmt)]


def declared(location):
    """Return file, line and names of the statement that made a signal; its text if it assigns no name."""
    file, line = location
    inside = [each for each in statements(file) if each.lineno <= line <= each.end_lineno]
    own = min(inside, key=lambda each: each.end_lineno - each.lineno)
    targets = own.targets if isinstance(own, ast.Assign) else [own.target] if isinstance(own, ast.AnnAssign) else []
    names = [node.id for each in targets for node in ast.walk(each) if isinstance(node, ast.Name)]
    path = Path(file).resolve()
    name = path.relative_to(RTL).with_suffix("").as_posix() if path.is_relative_to(RTL) else path.stem
    return name, own.lineno, tuple(names) or (ast.unparse(own),)


def reset_less(fragments):
    """Return the names of the statements that declare registers without a reset, by file.

    A statement must not declare registers with a reset beside them: its names would not say which of them have none.
    """
    kinds = defaultdict(set)
    for _, fragment in fragments:
        for signal in clocked(fragment):
            kinds[signal.src_loc].add(signal.reset_less)
    files = {file for (file, _), kind in kinds.items() if True in kind}
    by_statement = defaultdict(set)
    for location, kind in kinds.items():
        if location[0] in files:
            by_statement[declared(location)] |= kind
    assert not [each for each, kind in by_statement.items() if len(kind) > 1]
    found = defaultdict(list)
    for (file, _, names), kind in sorted(by_statement.items()):
        if True in kind:
            found[file] += names
    return {file: " ".join(sorted(names)) for file, names in found.items()}


def read_ports(fragments):
    """Return the components of the memories that are read by a clock edge, into registers without a reset."""
    memories = [(name, each) for name, each in fragments if isinstance(each, MemoryInstance)]
    return {name for name, each in memories if any(port._domain != "comb" for port in each._read_ports)}


def domains(fragments):
    """Return the domains of statements, and those that a component makes for itself."""
    driven = {domain for _, fragment in fragments for domain in fragment.statements}
    return driven, {domain for _, fragment in fragments for domain in fragment.domains}


def following(m, value):
    m.d.sync += value.eq(value + 1)
    return value


class Hidden(wiring.Component):
    """Registers without a reset that no assignment to one name declares."""

    o: Out(8)

    def elaborate(self, platform):
        m = Module()
        total = following(m, Signal(8, reset_less=True))
        for place in range(2):
            m.d.sync += Signal(4, name=f"late_{place}", reset_less=place >= 0).eq(total)
        own: Signal = Signal.like(total)
        given = Signal(8)
        given._reset_less = True
        m.d.sync += [own.eq(total), given.eq(own), self.o.eq(given)]
        return m


class Around(wiring.Component):
    """A component without registers around a shared module with some."""

    o: Out(8)
    clocked = True

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o.eq(instantiate(m, platform, "hidden", Hidden).o)
        return m


class Mixed(wiring.Component):
    o: Out(2)

    def elaborate(self, platform):
        m = Module()
        kept, cleared = Signal(reset_less=True), Signal()
        m.d.sync += [kept.eq(~cleared), cleared.eq(kept)]
        m.d.comb += self.o.eq(kept + cleared)
        return m


class Elsewhere(wiring.Component):
    """A clock domain without a reset, and a memory that is read by its edge."""

    i: In(2)
    o: Out(2)

    def elaborate(self, platform):
        m = Module()
        m.domains.other = ClockDomain(reset_less=True, local=True)
        m.submodules.memory = memory = Memory(shape=2, depth=4, init=[])
        read = memory.read_port(domain="other")
        m.d.comb += read.addr.eq(self.i)
        m.d.other += self.o.eq(read.data)
        return m


def test_registers_without_reset_are_found_wherever_they_are_made():
    late = 'm.d.sync += Signal(4, name=f"late_{place}", reset_less=place >= 0).eq(total)'.replace('"', "'")
    assert reset_less(elaborated([Around()])) == {"test_reset_less": f"given {late} own total"}


def test_a_statement_does_not_hide_a_register_without_reset_behind_one_with():
    with pytest.raises(AssertionError, match="'kept', 'cleared'"):
        reset_less(elaborated([Mixed()]))


def test_domains_and_read_ports_without_reset_are_found():
    fragments = elaborated([Elsewhere()])
    (port,) = read_ports(fragments)
    assert port.endswith("Elsewhere.Memory")
    assert domains(fragments) == ({"comb", "other"}, {"other"})


@covers("resets.sabotage", "The check must be able to fail, in every register")
def test_registers_without_reset_are_those_of_the_list():
    """Each register of the small units, and of some large ones, is detected if it alone keeps its value through a
    reset, in the smallest unit that has it; registers that no output can show are listed with their reasons, and so
    are all registers that are declared without a reset."""
    fragments = elaborated(UNITS[name].build(config) for name, config in CONFIGURATIONS)
    assert reset_less(fragments) == RESET_LESS
    assert read_ports(fragments) == READ_PORTS
    assert domains(fragments) == ({"comb", "sync"}, set())
