"""Bench of XORWOW: the published sequence, loads and takes at any time with all outputs compared in every cycle.

Expected values come from golden before anything is driven.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden import trainium3
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.vector.xorwow import Xorwow, XorwowConfig, lane_bits, load_layout
from bitpath.verif.kit.unit_bench import UnitBench, cases, covers, cross, pack, pauses, resolved
from bitpath.verif.kit.values import Word
from bitpath.verif.trainium3.vector.xorwow import PUBLISHED_NUMBERS, PUBLISHED_STATE, SHAPE, bits_of, random_states

BENCH = UnitBench(Xorwow, XorwowConfig)
CONFIG = BENCH.config
LANES = CONFIG.lanes
LOAD = load_layout(CONFIG)
LANE_BITS = lane_bits(CONFIG)
CASES = cases(500)


@dataclass(frozen=True)
class Cycle:
    """Inputs of a cycle: a lane and states to load or None, whether the numbers are taken, and the lane shown."""

    load: tuple[int, np.ndarray] | None
    take: bool
    shown: int


def model(program: list[Cycle]) -> list[tuple[int, int]]:
    """The numbers offered and the states shown in each cycle."""
    states = np.zeros((LANES, *SHAPE), np.uint32)  # reset value of the states
    seen = []
    for cycle in program:
        source = trainium3.Xorwow(states)
        seen.append((bits_of(source.next(1)[..., 0]), bits_of(states[cycle.shown])))
        if cycle.take:
            states = source.state
        if cycle.load is not None and cycle.load[0] < LANES:
            states[cycle.load[0]] = cycle.load[1]
    return seen


async def play(frame, program: list[Cycle], bins: list[str]) -> list[int]:
    """Drive the program and compare both outputs in every cycle; return the numbers that were taken."""
    expected = model(program)
    junk = pauses.rng("junk")
    taken = []
    dut = frame.dut
    coverage = frame.coverage(bins)
    for name in ("load", "random"):
        frame.onlook(name)
    before, waits = None, [False] * LANES
    numbers, states = (
        frame.scoreboard(name, bits, {"": Word(32)}) for name, bits in (("random", 128 * LANES), ("states", 768))
    )
    for cycle, (offered, held) in zip(program, expected, strict=True):
        loading = cycle.load is not None
        name = f"{'load' if loading else 'no load'}/{'take' if cycle.take else 'hold'}"
        if name in coverage.counts:
            coverage.hit(name)
        dut.load__valid.value = int(loading)
        dut.load__payload.value = (
            pack(LOAD, {"lane": cycle.load[0], "states": bits_of(cycle.load[1])})
            if loading
            else junk.getrandbits(len(dut.load__payload))
        )
        dut.random__ready.value = int(cycle.take)
        dut.lane.value = cycle.shown
        await FallingEdge(dut.clk)
        beyond = loading and cycle.load[0] >= LANES
        assert resolved(dut.fault) == (Fault.PARTITIONS if beyond else Fault.NONE).value
        numbers.compare(resolved(dut.random__payload), offered, f"step {len(taken)} of all lanes since the test began")
        now = lane_numbers(resolved(dut.random__payload))
        changed = [lane for lane in range(LANES) if waits[lane] and now[lane] != before[lane]]
        assert not changed, f"lanes {changed}: offers changed though they were not taken, and no load came"
        before, waits = now, [not cycle.take and not (loading and lane == cycle.load[0]) for lane in range(LANES)]
        states.compare(resolved(dut.states), held, f"lane {cycle.shown}, step {len(taken)} since the test began")
        if cycle.take:
            taken.append(resolved(dut.random__payload))
        await RisingEdge(dut.clk)
    return taken


def lane_numbers(bits: int) -> list[int]:
    """A lane's 128 bits each."""
    return [bits >> 128 * lane & (1 << 128) - 1 for lane in range(LANES)]


def loads(states: Callable[[], np.ndarray]) -> list[Cycle]:
    """One load for each lane."""
    return [Cycle((lane, states()), False, lane) for lane in range(LANES)]


def random_cycle(rng: Random, load: float, take: float) -> Cycle:
    """A random cycle with the probabilities of a load and of taking the numbers."""
    loaded = (rng.randrange(LANES), random_states(rng)) if rng.random() < load else None
    return Cycle(loaded, rng.random() < take, rng.randrange(LANES))


@covers("xorwow.sequence", "The documents give the algorithm's name only")
@BENCH.test("xorwow.still")
async def published_sequence(frame):
    """The published state gives the published numbers, in every state of every lane."""
    program = loads(lambda: np.tile(np.array(PUBLISHED_STATE, np.uint32), (SHAPE[0], 1)))
    for _ in PUBLISHED_NUMBERS:
        program += [Cycle(None, False, 0)] * 3 + [Cycle(None, True, LANES - 1)]
    taken = await play(frame, program, ["no load/hold", "no load/take"])
    assert taken == [bits_of(np.full(SHAPE[0] * LANES, number)) for number in PUBLISHED_NUMBERS]


@covers(
    "xorwow.still",
    "A sequence must be replayable at any pace",
    "Numbers and states, compared in every cycle, hold until the numbers are taken",
)
@covers("xorwow.offer")
@BENCH.test(
    "xorwow.load",
    "The numbers of that cycle are the old states'",
    "Loads of any lane at any time, also in a cycle that takes numbers; states of random words, all ones, zeros "
    "and single bits; zeros after reset",
    take=[0.1, 0.5, 1.0],
)
async def loads_and_takes(frame, take):
    """A load and a take may share a cycle; the taken numbers precede the load."""
    rng = pauses.rng("program")
    program = [random_cycle(rng, 0.1, take) for _ in range(CASES)]
    await play(frame, program, cross(("load", "no load"), ("take", "hold") if take < 1 else ("take",)))


@BENCH.test("xorwow.refused", "No state changes", skip=1 << LANE_BITS == LANES)
async def refused_loads(frame):
    """Loads of lanes that there are not among others."""
    rng = pauses.rng("program")
    program = [random_cycle(rng, 0.3, 0.5) for _ in range(CASES)]
    beyond = range(LANES, 1 << LANE_BITS)
    for lane in [*beyond] * 10:
        program.insert(
            rng.randrange(CASES), Cycle((lane, random_states(rng)), bool(rng.getrandbits(1)), rng.randrange(LANES))
        )
    await play(frame, program, cross(("load", "no load"), ("take", "hold")))


@BENCH.test("xorwow.offer", "It is the only stream whose offer may change, and only then")
async def a_load_changes_an_offer(frame):
    """Numbers not taken hold, lane by lane, except in the cycle after a load of the lane."""
    rng = pauses.rng("states")
    program = loads(lambda: random_states(rng))
    for lane in range(LANES):
        program += [Cycle(None, False, lane), Cycle((lane, random_states(rng)), False, lane), Cycle(None, False, lane)]
    offers = [lane_numbers(offered) for offered, _ in model(program)]
    for lane in range(LANES):
        waiting, loaded, after = offers[LANES + 3 * lane :][:3]
        assert waiting == loaded
        assert [k for k in range(LANES) if after[k] != loaded[k]] == [lane]
    await play(frame, program, ["load/hold", "no load/hold"])


@BENCH.test("xorwow.store", "Kernels save and restore them")
async def stored_states_go_on(frame):
    """States stored in the middle of a sequence and loaded again give the rest again."""
    rng = pauses.rng("states")
    first = [random_states(rng) for _ in range(LANES)]
    middle = trainium3.Xorwow(np.stack(first))
    middle.next(7)
    steps = [Cycle(None, True, 0)] * 7
    again = [Cycle((lane, middle.state[lane]), False, lane) for lane in range(LANES)]
    begin = [Cycle((lane, states), False, lane) for lane, states in enumerate(first)]
    show = [Cycle(None, False, lane) for lane in range(LANES)]
    taken = await play(frame, begin + steps + show + steps + again + show + steps, ["load/hold", "no load/take"])
    assert taken[7:14] == taken[14:]
    assert taken[:7] != taken[7:14]
