"""A vector that differed is played again by itself, in a bench."""

from dataclasses import replace as changed

import pytest

from bitpath.sim.campaigns.volume import replay
from bitpath.sim.campaigns.volume_tasks import TASKS
from bitpath.sim.engine.errors import SimulationError
from bitpath.verif.kit.testplan import covers

NAMES = ("sweep-fidelity-multiplier", "volume-trainium3", "volume-aie_ml_v2", "sweep-reciprocal")


def spoilt(task):
    """The task with golden's answers wrong in their lowest bit."""

    def batches(config, rng, block):
        for batch in task.batches(config, rng, block):
            yield changed(batch, golden=lambda golden=batch.golden: golden() ^ 1)

    return changed(task, batches=batches)


@covers("deep.replay", "A mismatch among 10^8 vectors is useful only with its waves")
@pytest.mark.simulator
@pytest.mark.deep
@pytest.mark.parametrize("name", NAMES)
def test_the_bench_agrees_with_the_player(name):
    """A bench replays a mismatching vector alone and agrees with the player; a missing vector is named."""
    task = TASKS[name]
    assert replay(task, 0, 0, 0, 12345, "icarus").compared == 1
    with pytest.raises(SimulationError, match="mismatch"):
        replay(spoilt(task), 0, 0, 0, 12345, "icarus")


@covers("deep.replay")
@pytest.mark.parametrize(
    ("place", "says"),
    [
        ((8, 0, 0), "block must be 0 to 7 of sweep-fidelity-multiplier, not 8"),
        ((0, 2, 0), "batch must be 0 to 1 of block 0 of .*, not 2"),
        ((0, 1, 1 << 20), "vector must be 0 to 1048575 of batch 1 of .*, not 1048576"),
    ],
)
def test_a_vector_that_is_not_there_is_named(place, says):
    with pytest.raises(ValueError, match=says):
        replay(TASKS["sweep-fidelity-multiplier"], 0, *place, "icarus")
