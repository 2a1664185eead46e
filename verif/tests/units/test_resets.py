# amaranth: UnusedElaboratable=no
"""A one-cycle reset with work in flight puts a unit into its power-up state; pauses do not change its transfers."""

import ast
from collections import defaultdict
from dataclasses import replace
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
from bitpath.rtl.trainium3.engine.instruction import EngineConfig
from bitpath.rtl.units import UNITS, find_unit
from bitpath.sim.campaigns.coverage import SEED
from bitpath.sim.engine.runner import build, run
from bitpath.sim.flows.trainium3_matmul import engine_for
from bitpath.verif.kit.engine_host import EARLY_WORDS
from bitpath.verif.kit.testplan import covers
from bitpath.verif.kit.traffic import Driven, Pace, broken_offer, clocked, first_difference, silent, walk
from bitpath.verif.tests.units.manners import ALWAYS_BUSY, CONFIGS, LARGE, MANNERS, READ_PORTS, RESET_LESS, UNSEEN
from bitpath.verif.trainium3.engine.programs import PLACES

# Every register without a reset is listed: all units are elaborated, and each signal of a clocked domain is looked at.


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
    assert reset_less(elaborated([Around()])) == {"test_resets": f"given {late} own total"}


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
    reset, in the smallest unit that has it. Lists name the registers that no output can show, with their reasons, and
    all registers that are declared without a reset."""
    fragments = elaborated(UNITS[name].build(config) for name, config in CONFIGURATIONS)
    assert reset_less(fragments) == RESET_LESS
    assert read_ports(fragments) == READ_PORTS
    assert domains(fragments) == ({"comb", "sync"}, set())


BEFORE = (5, 28)
"""Cycles of work before the reset, in which outputs stall if their number is odd."""
MOMENTS = (*BEFORE, *range(6, 600, 7))
"""The same, until all registers were seen that can be."""

BROKEN_OFF = {"tensor_engine": (30, 600), "tensix_engine": (8, 200), "aie_engine": (20, 400)}
"""Engines with a reset bench of their own, and programs to interrupt at each pace, in `make test` and in the deep tests."""
COUNTED = ("mac_lane", "wide_lanes")
"""Units whose outputs do not show a missing reset: who uses them counts the cycles, and no output says when a result has come."""
SHOWN = (
    "quantize_mx",
    "packer",
    "scalar_functions",
    "nonlinear",
    "core_pe",
    "dma_cast",
    "engine_lane",
    "rand2_lane",
    "store_fifo",
    "load_fifo",
)
"""Large units whose traffic shows each register of their own. That of the others does not show all of them yet: `RESET_LESS`
alone keeps their resets."""


def one_way():
    """Return the units with one input and one output stream; arrays of streams do not count."""
    ports = {name: find_unit(name).build(find_unit(name).config_type()).signature.members for name in MANNERS}
    streams = {name: {port: each for port, each in own.items() if each.is_signature} for name, own in ports.items()}
    return [name for name, own in streams.items() if own.keys() == {"i", "o"} and not own["i"].dimensions]


def sizes(names):
    return [pytest.param(name, marks=[pytest.mark.deep] if name in LARGE else []) for name in names]


@cache
def driven(name):
    unit = find_unit(name)
    return Driven(unit.build(CONFIGS.get(name) or unit.config_type()), MANNERS[name])


@covers("resets.every_unit", "A unit that is missing here would have an untested reset")
def test_every_clocked_unit_is_here():
    """Every clocked unit has traffic made from its signature, or a bench that resets its programs."""
    clocked = {name for name, unit in UNITS.items() if getattr(unit.build(unit.config_type()), "clocked", True)}
    assert clocked == MANNERS.keys() | BROKEN_OFF.keys()


def check_resets(unit, name, moments):
    """Compare the unit after resets at these moments with a fresh one; return whether it differs without them."""
    shown = []
    for before in moments:
        left = unit.left_at(f"{name} {before}", before)
        assert not first_difference(unit.behind_a_reset(left), left.fresh, unit.manners)
        assert not broken_offer(left.fresh, unit)
        assert not silent(left.fresh, unit)
        shown.append(unit.shows(left, range(len(unit.registers))))
    return any(shown)


@covers(
    "resets.in_the_middle_of_work",
    "Leftover state would appear as a wrong result of later work, once in many runs",
)
@pytest.mark.parametrize("name", sizes(MANNERS))
def test_a_reset_in_the_middle_of_work(name):
    """After a one-cycle reset at two moments of random work, in a cycle in which no input pauses and all outputs stall,
    or none does, every output equals that of a unit after power-up, cycle by cycle."""
    unit = driven(name)
    assert bool(unit.memories) == bool(MANNERS[name].keeps)
    shown = check_resets(unit, name, BEFORE)
    # Each register of the other units is asked by itself.
    assert shown or name not in LARGE or name in COUNTED, "there was nothing to reset"


@covers("resets.in_the_middle_of_work")
@pytest.mark.deep
def test_a_reset_in_the_middle_of_work_of_every_row_group():
    """Programs long enough that every row group of the tensor engine takes random bits."""
    name = "tensor_engine"
    manners = replace(MANNERS[name], still=ALWAYS_BUSY, cycles=400)
    assert check_resets(Driven(find_unit(name).build(EngineConfig()), manners), name, BEFORE[1:])


def judged(name):
    """Return the names of a unit's registers that no smaller unit has: a register is judged in the smallest one."""
    units = [each for each in MANNERS if each not in LARGE or (name in LARGE and each in SHOWN)]
    units.sort(key=lambda each: (each in LARGE, len(driven(each).registers)))
    smaller = units[: units.index(name)]
    return set(driven(name).registers).difference(*(driven(each).registers for each in smaller))


@covers("resets.sabotage")
@pytest.mark.parametrize("name", sizes(each for each in MANNERS if each not in LARGE or each in SHOWN))
def test_a_register_without_reset_is_found(name):
    """Each register alone keeps its value through a reset, at one moment after another until an output has shown it."""
    unit, own = driven(name), judged(name)
    unlisted, listed = (
        [index for index, register in enumerate(unit.registers) if register in own and (register in UNSEEN) is known]
        for known in (False, True)
    )
    for before in MOMENTS if unlisted else BEFORE:
        left = unit.left_at(f"{name} {before}", before)
        unlisted = [index for index in unlisted if not unit.shows(left, [index])]
        if before in BEFORE:
            assert not [unit.registers[index] for index in listed if unit.shows(left, [index])]
        elif not unlisted:
            break
    assert not [unit.registers[index] for index in unlisted]


def given(trace):
    return [shown["o given"] for shown in trace if "o given" in shown]


@covers("resets.gaps_and_stalls", "Pipelines lose or repeat payloads when a stall meets a gap")
@pytest.mark.parametrize("name", sizes(one_way()))
def test_gaps_and_stalls_change_nothing(name):
    """With gaps at the input and stalls at the output, at four paces, the transfers equal those at full speed; no valid
    payload is withdrawn."""
    unit = driven(name)
    full = given(unit.transferred(name, Pace()))
    for pace in (Pace(gap=0.3, stall=0.3), Pace(gap=0.7), Pace(stall=0.7), Pace(gap=0.1, stall=0.9)):
        trace = unit.transferred(name, pace)
        slow = given(trace)
        assert 0 < len(slow) <= len(full)
        assert slow == full[: len(slow)]
        assert not broken_offer(trace, unit)


@covers("resets.programs_broken_off")
@pytest.mark.simulator
@pytest.mark.parametrize(
    ("unit", "deep"),
    [
        # `bitpath run` builds a tensor engine too; no other test of `make test` builds the others, which takes a minute each.
        pytest.param(unit, deep, marks=[pytest.mark.deep] if deep or unit != "tensor_engine" else [])
        for deep in (False, True)
        for unit in BROKEN_OFF
    ],
    ids=[f"{many}-{unit}" for many in ("some", "many") for unit in BROKEN_OFF],
)
def test_programs_broken_off(unit, deep):
    """Short programs in random order, each interrupted by a reset and followed by a complete one, with and without pauses."""
    programs, config = BROKEN_OFF[unit][deep], UNITS[unit].covered.config
    if unit == "tensor_engine" and not deep:
        # A size that the tests of `bitpath run` build too.
        config = engine_for("verilator", rows=4, cols=4)
    built = build(unit, config, "verilator")
    in_psum = unit == "tensor_engine"
    words = config.psum_banks * config.array.cols * PLACES if in_psum else config.result_depth + EARLY_WORDS
    compared = 2 * programs * words
    env = {"BITPATH_CASES": str(programs)}
    bench = f"{UNITS[unit].bench}_resets"
    run(built, bench, seed=SEED, min_tests=2, min_compared=compared, env=env, timeout=3600)
