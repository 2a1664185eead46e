# amaranth: UnusedElaboratable=no
"""The tensor engine's sequencer alone: which load a pass uses, and for how long one that none uses is on its way."""

import pytest
from amaranth.sim import Simulator

from bitpath.rtl.trainium3.array.config import ArrayConfig
from bitpath.rtl.trainium3.engine.instruction import EngineConfig
from bitpath.rtl.trainium3.engine.tensor_engine import Sequencer, load_layout, multiply_layout
from bitpath.verif.kit.code_mutants import mutated
from bitpath.verif.kit.testplan import covers

CONFIG = EngineConfig(array=ArrayConfig(rows=4, cols=4))
COLS, ROWS = CONFIG.array.cols, CONFIG.array.rows
CYCLES = 40
ELABORATE = "bitpath.rtl.trainium3.engine.tensor_engine:Sequencer.elaborate"


def played(loads, passes):
    """For each cycle load, swap, valid and loading, of loads and passes that all wait from the start."""
    unit = Sequencer(CONFIG)
    seen = []

    async def bench(ctx):
        waiting = {"load": list(loads), "multiply": list(passes)}
        layouts = {"load": load_layout(CONFIG), "multiply": multiply_layout(CONFIG)}
        for _ in range(CYCLES):
            for name, queue in waiting.items():
                stream = getattr(unit, name)
                ctx.set(stream.valid, bool(queue))
                ctx.set(stream.payload, layouts[name].const(queue[0] if queue else {}))
            control = ctx.get(unit.control)
            seen.append((control.load, control.swap, control.valid, ctx.get(unit.loading)))
            for name, queue in waiting.items():
                if queue and ctx.get(getattr(unit, name).ready):
                    queue.pop(0)
            await ctx.tick()
        assert not any(waiting.values())

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return seen


def cycles_of(seen, place):
    return [cycle for cycle, each in enumerate(seen) if each[place]]


def loads(count):
    return [{"address": COLS * index, "replace": index > 0} for index in range(count)]


def check_swap(count):
    """The swap comes behind the last load, the word behind the swap."""
    seen = played(loads(count), [{"count": 1, "swap": 1}])
    assert cycles_of(seen, 0) == list(range(count * COLS))
    assert cycles_of(seen, 1) == [count * COLS]
    assert cycles_of(seen, 2) == [count * COLS + 1]


def check_loading():
    """``loading`` is high from the first cycle of a load until it has passed the last row."""
    seen = played(loads(1), [])
    assert cycles_of(seen, 3) == list(range(1, COLS + ROWS * CONFIG.array.row_latency))


@covers("tensor_engine.passes")
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_pass_uses_the_load_before_it(count):
    check_swap(count)


@covers("tensor_engine.load_alone")
def test_a_load_that_nothing_uses_is_on_its_way_until_the_last_row_has_it():
    check_loading()


@covers("tensor_engine.passes")
@pytest.mark.parametrize(
    ("old", "new", "check"),
    [
        ("loaded & ~(load.valid & load.p.replace)", "loaded", lambda: check_swap(2)),
        ("self.loading.eq(rows_left.any())", "self.loading.eq(0)", check_loading),
    ],
    ids=["swap", "loading"],
)
def test_the_bug_would_be_found(old, new, check):
    with mutated(ELABORATE, old, new), pytest.raises(AssertionError):
        check()
