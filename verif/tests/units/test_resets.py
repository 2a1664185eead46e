# amaranth: UnusedElaboratable=no
"""A one-cycle reset with work in flight puts a unit into its power-up state; pauses do not change its transfers."""

from dataclasses import replace
from functools import cache

import pytest

from bitpath.rtl.trainium3.engine.instruction import EngineConfig
from bitpath.rtl.units import UNITS, find_unit
from bitpath.sim.campaigns.coverage import SEED
from bitpath.sim.engine.runner import build, run
from bitpath.sim.flows.trainium3_matmul import engine_for
from bitpath.verif.common.large import LARGE
from bitpath.verif.kit.engine_host import EARLY_WORDS
from bitpath.verif.kit.testplan import covers
from bitpath.verif.kit.traffic import Driven, Pace, broken_offer, first_difference, silent
from bitpath.verif.tests.units.manners import ALWAYS_BUSY, CONFIGS, MANNERS
from bitpath.verif.tests.units.registers import UNSEEN
from bitpath.verif.trainium3.engine.programs import PLACES

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
    # Of the others each register is asked by itself.
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
