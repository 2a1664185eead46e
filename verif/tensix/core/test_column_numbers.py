"""Random numbers of the packers behind a seed, and their steps, against golden's."""

from random import Random

import numpy as np
from amaranth.sim import Simulator

from bitpath.golden.tensix.declarations.formats import COLUMNS
from bitpath.golden.tensix.sfpu.prng import Prng, step
from bitpath.rtl.tensix.core.row_packer import ColumnNumbers
from bitpath.rtl.tensix.sfpu.sfp_stochastic_round import STEPS
from bitpath.rtl.tensix.sfpu.stochastic_round import RANDOM_BITS

PACKERS, ROWS = 4, 40


def test_each_packer_steps_its_own_columns():
    """Two seeds; rows of random packers, and cycles without a row."""
    dut, rng, checked = ColumnNumbers(PACKERS), Random(23), []

    async def bench(ctx):
        for _ in range(2):
            seed = rng.getrandbits(32)
            ctx.set(dut.seed.p, seed)
            ctx.set(dut.seed.valid, 1)
            await ctx.tick()
            ctx.set(dut.seed.valid, 0)
            for _ in range(STEPS):
                assert ctx.get(dut.busy)
                await ctx.tick()
            assert not ctx.get(dut.busy)
            states = np.array([Prng(seed).state[:COLUMNS]] * PACKERS)
            for _ in range(ROWS):
                packer, advance = rng.randrange(PACKERS), rng.getrandbits(1)
                ctx.set(dut.packer, packer)
                ctx.set(dut.advance, advance)
                found = [ctx.get(dut.o[column]) for column in range(COLUMNS)]
                assert found == (states[packer] % (1 << RANDOM_BITS)).tolist()
                await ctx.tick()
                states[packer] = step(states[packer]) if advance else states[packer]
                checked.append(packer)
            ctx.set(dut.advance, 0)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert len(checked) == 2 * ROWS
