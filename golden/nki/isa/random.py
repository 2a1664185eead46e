"""rng, rand2, their states and seeds, and dropout: XORWOW's generators, one lane a partition.

An engine's state is 24 words of each partition on VectorE, four generators, and 6 on GpSimd, one generator.

Ref: ``nki.isa`` reference page, NKI 0.6. GpSimd's numbers take a cycle each behind its start-up: chosen.
"""

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.nki.isa.enums import engine as engines
from bitpath.golden.nki.isa.enums import engine_name
from bitpath.golden.nki.machine.cycles import LEAST, gpsimd_cycles
from bitpath.golden.nki.machine.issue import CHIP, SBUF, Issue, free_size, instruction
from bitpath.golden.nki.memory.tensor import NkiTensor
from bitpath.golden.trainium3.declarations.vector import GPSIMD_XORWOW_STATES, XORWOW_STATES, XORWOW_WORDS

STATES = {"vector": XORWOW_STATES, "gpsimd": GPSIMD_XORWOW_STATES}
"""Generators of a partition, by engine."""


def _random_engine(issue: Issue, chosen: engines, default: str) -> str:
    own = engine_name(chosen, default)
    if own not in STATES:
        raise issue.fail(f"engine: must be {' or '.join(STATES)}, not {own}")
    return own


def _states(issue: Issue, engine: str) -> np.ndarray:
    """Return the states of an engine; those of seed 0 unless a kernel has set them."""
    return issue.core.random.setdefault(engine, trainium3.seeded_state(0)[:, : STATES[engine]])


def _generators(issue: Issue, tile: NkiTensor, engine: str = "vector") -> trainium3.Xorwow:
    """Return the generators of a tile's partitions."""
    return trainium3.Xorwow(_states(issue, engine)[issue.rows(tile)])


def _keep(issue: Issue, tile: NkiTensor, source: trainium3.Xorwow, engine: str = "vector") -> None:
    _states(issue, engine)[issue.rows(tile)] = source.state


def _cycles(issue: Issue, tile: NkiTensor, engine: str = "vector") -> None:
    issue.uses("rng")
    n = free_size(tile)
    issue.on(engine, gpsimd_cycles(n) if engine == "gpsimd" else max(LEAST, -(-n // XORWOW_STATES)))


@instruction
def rng(issue: Issue, dst: NkiTensor, engine: engines = engines.vector) -> None:
    """Write the low bits of random words; GpSimd's generators write to SBUF alone."""
    own = _random_engine(issue, engine, "vector")
    issue.check("dst", dst, SBUF if own == "gpsimd" else CHIP)
    source = _generators(issue, dst, own)
    issue.put("dst", dst, trainium3.rng(source, dst.size // dst.shape[0], dtype=issue.result(dst)))
    _keep(issue, dst, source, own)
    _cycles(issue, dst, own)


@instruction
def rand2(issue: Issue, dst: NkiTensor, min: float | NkiTensor, max: float | NkiTensor) -> None:  # noqa: A002
    """Write uniform numbers between two bounds, numbers or [P, 1]."""
    issue.needs_gen4()
    issue.check("dst", dst)
    source = _generators(issue, dst)
    issue.show("states", source.state)
    low, high = (issue.scalar(name, each, dst.shape[0]) for name, each in (("min", min), ("max", max)))
    issue.put("dst", dst, trainium3.rand2(source, dst.size // dst.shape[0], low, high, dtype=issue.result(dst)))
    _keep(issue, dst, source)
    _cycles(issue, dst)


@instruction
def set_rng_seed(issue: Issue, src_seeds: NkiTensor) -> None:
    """Set all of VectorE's generators from one 32-bit number [1, 1]."""
    seeds = issue.tile("src_seeds", src_seeds, dtypes=("int32", "uint32"))
    if seeds.shape != (1, 1):
        raise issue.fail(f"src_seeds: must have shape (1, 1), not {src_seeds.shape}")
    issue.core.random["vector"] = trainium3.seeded_state(int(seeds.view(np.uint32)[0, 0]))
    issue.uses("rng")
    issue.on("vector", LEAST)


@instruction
def rand_set_state(issue: Issue, src_seeds: NkiTensor, engine: engines = engines.gpsimd) -> None:
    """Load the words of each partition's generators: 24 of VectorE, which needs gen4, or 6 of GpSimd."""
    own = _state_engine(issue, engine)
    words = issue.tile("src_seeds", src_seeds, SBUF, ("uint32",))
    count = STATES[own] * XORWOW_WORDS
    if words.shape[1] != count:
        raise issue.fail(f"src_seeds: must have {count} words in each partition on {own}, not {words.shape[1]}")
    _states(issue, own)[issue.rows(src_seeds)] = words.reshape(len(words), STATES[own], XORWOW_WORDS)
    issue.on(own, gpsimd_cycles(count) if own == "gpsimd" else LEAST)


@instruction
def rand_get_state(issue: Issue, dst: NkiTensor, engine: engines = engines.gpsimd) -> None:
    """Store the words of each partition's generators: 24 of VectorE, which needs gen4, or 6 of GpSimd, to SBUF."""
    own = _state_engine(issue, engine)
    issue.check("dst", dst, SBUF if own == "gpsimd" else CHIP, ("uint32",))
    words = _states(issue, own)[issue.rows(dst)].reshape(dst.shape[0], -1)
    issue.put("dst", dst, words)
    issue.uses("rng")
    issue.on(own, gpsimd_cycles(words.shape[1]) if own == "gpsimd" else LEAST)


def _state_engine(issue: Issue, chosen: engines) -> str:
    own = _random_engine(issue, chosen, "gpsimd")
    if own == "vector":
        issue.needs_gen4("engine: vector")
    return own


@instruction
def dropout(issue: Issue, dst: NkiTensor, data: NkiTensor, prob: float | NkiTensor) -> None:
    """Keep an element if its next random number of [0, 1) is at least ``prob``, else write +0."""
    issue.check("dst", dst, dtypes=(data.dtype,))
    values = issue.tile("data", data)
    source = _generators(issue, data)
    issue.put("dst", dst, trainium3.dropout(source, values, issue.scalar("prob", prob, len(values))))
    _keep(issue, data, source)
    issue.uses("rng")
    issue.elementwise("vector", dst, data)
