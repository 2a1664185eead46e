"""One vector of a task again, by itself, in a bench with waves."""

import json

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
    if task.blocks is not None:
        integer("block", block, range(task.blocks), f" of {task.name}")
    config = task.config()
    batches = list(task.batches(config, task.rng(seed, block), block))
    given = batches[integer("batch", batch, range(len(batches)), f" of block {block} of {task.name}")]
    integer("vector", vector, range(given.count), f" of batch {batch} of {task.name}")
    timing = {"beats": given.beats, "latency": given.latency, "lead": given.lead}
    words = given.words(np.array([vector]))[0].tolist()
    answer = np.atleast_1d(given.golden()[vector]).tolist()
    content = {"unit": task.unit, "kind": given.kind, "words": words, "answer": answer, **timing}
    built = build(task.unit, config, simulator, waves=True)
    return run(built, BENCH, seed=seed, env={"BITPATH_VECTOR": json.dumps(content)})
