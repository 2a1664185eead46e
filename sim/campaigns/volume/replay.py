"""One vector of a task again, by itself, in a bench with waves."""

import json
from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import integer
from bitpath.sim.engine.build import build
from bitpath.sim.engine.runner import SimResult, run
from bitpath.verif.kit.volume import VolumeTask

BENCH = "bitpath.verif.kit.tb_one_vector"


def replay(task: VolumeTask, seed: int, block: int, batch: int, vector: int, simulator: str) -> SimResult:
    """Make a vector again and play it through the unit's ports, one cycle after another.

    Raises ValueError if there is no such vector, and SimulationError if unit and golden differ.
    """
    config = task.config()
    variables = one_vector(task, config, seed, block, batch, vector)
    return run(build(task.unit, config, simulator, waves=True), BENCH, seed=seed, env=variables)


def one_vector(task: VolumeTask, config: Any, seed: int, block: int, batch: int, vector: int) -> dict[str, str]:
    """Return the environment in which :data:`BENCH` plays a vector; raise ValueError if there is no such vector."""
    if task.blocks is not None:
        integer("block", block, range(task.blocks), f" of {task.name}")
    batches = list(task.batches(config, task.rng(seed, block), block))
    given = batches[integer("batch", batch, range(len(batches)), f" of block {block} of {task.name}")]
    integer("vector", vector, range(given.count), f" of batch {batch} of {task.name}")
    timing = {"beats": given.beats, "latency": given.latency, "lead": given.lead}
    words = given.words(np.array([vector]))[0].tolist()
    answer = np.atleast_1d(given.golden()[vector]).tolist()
    return {
        "BITPATH_VECTOR": json.dumps(
            {"unit": task.unit, "kind": given.kind, "words": words, "answer": answer, **timing}
        )
    }
