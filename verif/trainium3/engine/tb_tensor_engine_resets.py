"""Bench of the tensor engine: short programs in any order that resets break off, and what runs behind them.

``BITPATH_CASES`` are programs broken off at each pace.
"""

from random import Random

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.trainium3.array.systolic_array import Tiling, tilings
from bitpath.rtl.trainium3.engine.instruction import EngineConfig
from bitpath.rtl.trainium3.engine.tensor_engine import TensorEngine
from bitpath.verif.kit.engine_host import MOMENTS, TRIES, expect_rest, some_moment
from bitpath.verif.kit.player import Segment
from bitpath.verif.kit.unit_bench import ENGINE_PATIENCE_CYCLES, Scoreboard, UnitBench, cases, pauses
from bitpath.verif.trainium3.engine.programs import PLACES, Load, Pass, program_bits, random_program
from bitpath.verif.trainium3.engine.session import TensorEnginePlayer, begin, compare

BENCH = UnitBench(TensorEngine, EngineConfig, ms=100, patience=ENGINE_PATIENCE_CYCLES)
CONFIG = BENCH.config
CASES = cases(30)
LENGTH = 16
"""Instructions of the longest program, but for those that end its chains."""
CHECKED = PLACES + 2
"""Places of a bank that are read: behind those that programs use nothing may be written."""


@BENCH.test(
    "resets.programs_broken_off",
    "An engine has dozens of counters, whose states three fixed moments do not cover",
    gap=[0.0, 0.6],
)
async def programs_broken_off(frame, gap):
    """A reset interrupts short random programs of the three engines at a random moment, at full speed and with gaps and
    stalls. The result memory or PSUM does not change after the reset, and the next program's results equal golden's."""
    player, model = await begin(frame, CONFIG, CHECKED, gap=gap)
    rng = pauses.rng("programs")
    coverage = frame.coverage([*MOMENTS, *(tiling.name for tiling in tilings(CONFIG.array))])
    board = frame.scoreboard("PSUM behind a reset", FP32.width * CONFIG.array.cols)
    psum = model.psum[:, :CHECKED]
    broken = 0
    for _ in range(TRIES * CASES):
        tiling, program = _short(rng)
        history = [psum.copy(), *(psum.copy() for _ in model.passes(tiling, program))]
        player.send(Segment(commands=program_bits(CONFIG, tiling, program)))
        if moment := await some_moment(player, len(program), rng):
            coverage.hit(moment)
            coverage.hit(tiling.name)
            broken += 1
        psum[:] = await _reset(player, board, np.stack(history), rng)
        await player.play([Segment(commands=model.commands(*_short(rng)))])
        await compare(frame, player, model, CHECKED)
        if broken == CASES:
            return
    raise AssertionError(f"of {TRIES * CASES} programs {broken} were broken off, {CASES} were to be")


def _short(rng: Random) -> tuple[Tiling, list[Load | Pass]]:
    tiling = rng.choice(tilings(CONFIG.array))
    # Short programs more often: the unit takes all their commands early.
    return tiling, random_program(CONFIG, tiling, rng.randint(1, rng.randint(1, LENGTH)), rng)


async def _reset(player: TensorEnginePlayer, board: Scoreboard, history: np.ndarray, rng: Random) -> np.ndarray:
    """Reset for one cycle and compare PSUM with golden after each pass; return it, uint32 [banks, CHECKED, cols]."""
    dut = player.dut
    places = [bank * CONFIG.psum_bank_depth + index for bank in range(CONFIG.psum_banks) for index in range(CHECKED)]
    first = rng.randrange(len(places))
    dut.rst.value = 1
    # The first one in the first cycle after reset, so that a write still in flight would show.
    reading = cocotb.start_soon(player.read(places[first:] + places[:first]))
    await RisingEdge(dut.clk)
    # In more cycles a pipeline stage could drain; a command offered longer would be taken.
    player.drop_commands()
    dut.rst.value = 0
    # Ready depends on the instruction.
    await expect_rest(dut, ("host",))
    early = np.roll(await reading, first, axis=0)
    found = await player.read(places)
    for place, then, now in zip(places, early, found, strict=True):
        board.compare(
            int.from_bytes(now.tobytes(), "little"),
            int.from_bytes(then.tobytes(), "little"),
            f"place {place}, read at once behind a reset",
        )
    found = found.reshape(history.shape[1:])
    foreign = np.argwhere(~(history == found).any(axis=0))
    assert not foreign.size, "bank {}, index {}, column {} holds what no pass has written".format(*foreign[0])
    return found
