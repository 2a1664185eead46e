"""rng, rand2, their states and seeds, and dropout: XORWOW's generators, one lane a partition.

An engine's state is 24 words of each partition on VectorE, four generators; GpSimd's 6 words are not modelled.
"""

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.nki.isa.enums import engine as engines
from bitpath.golden.nki.isa.enums import engine_name
from bitpath.golden.nki.machine.issue import Issue, free_size, instruction
from bitpath.golden.nki.memory.tensor import NkiTensor

WORDS = 24


def _generators(issue: Issue, tile: NkiTensor) -> trainium3.Xorwow:
    """Return the generators of a tile's partitions; seed 0 unless a kernel has set them."""
    state = issue.core.random.setdefault("vector", trainium3.seeded_state(0))
    return trainium3.Xorwow(state[issue.rows(tile)])


def _keep(issue: Issue, tile: NkiTensor, source: trainium3.Xorwow) -> None:
    issue.core.random["vector"][issue.rows(tile)] = source.state


def _vector_only(issue: Issue, engine: engines) -> None:
    if engine_name(engine, "vector") != "vector":
        raise NotImplementedError(f"{issue.opcode}: only VectorE's generators are modelled")


def _cycles(issue: Issue, tile: NkiTensor) -> None:
    issue.uses("rng")
    issue.on("vector", max(64, -(-free_size(tile) // 4)))


@instruction
def rng(issue: Issue, dst: NkiTensor, engine: engines = engines.vector) -> None:
    """Write the low bits of random words."""
    _vector_only(issue, engine)
    issue.check("dst", dst)
    source = _generators(issue, dst)
    issue.put("dst", dst, trainium3.rng(source, dst.size // dst.shape[0], dtype=issue.result(dst)))
    _keep(issue, dst, source)
    _cycles(issue, dst)


@instruction
def rand2(issue: Issue, dst: NkiTensor, min: float | NkiTensor, max: float | NkiTensor) -> None:  # noqa: A002
    """Write uniform numbers between two bounds, numbers or [P, 1]."""
    issue.needs_gen4()
    issue.check("dst", dst)
    source = _generators(issue, dst)
    low, high = (issue.scalar(name, each, dst.shape[0]) for name, each in (("min", min), ("max", max)))
    issue.put("dst", dst, trainium3.rand2(source, dst.size // dst.shape[0], low, high, dtype=issue.result(dst)))
    _keep(issue, dst, source)
    _cycles(issue, dst)


@instruction
def set_rng_seed(issue: Issue, src_seeds: NkiTensor) -> None:
    """Set all generators from one 32-bit number."""
    seeds = issue.tile("src_seeds", src_seeds, dtypes=("int32", "uint32"))
    issue.core.random["vector"] = trainium3.seeded_state(int(seeds.view(np.uint32)[0, 0]))
    issue.uses("rng")
    issue.on("vector", 64)


@instruction
def rand_set_state(issue: Issue, src_seeds: NkiTensor, engine: engines = engines.vector) -> None:
    """Load the 24 words of each partition's generators."""
    _vector_only(issue, engine)
    words = issue.tile("src_seeds", src_seeds, dtypes=("int32", "uint32"))
    if words.shape[1] != WORDS:
        raise issue.fail(f"src_seeds: must have {WORDS} words in each partition, not {words.shape[1]}")
    state = issue.core.random.setdefault("vector", trainium3.seeded_state(0))
    state[issue.rows(src_seeds)] = words.view(np.uint32).reshape(len(words), 4, -1)
    issue.on("vector", 64)


@instruction
def rand_get_state(issue: Issue, dst: NkiTensor, engine: engines = engines.vector) -> None:
    """Store the 24 words of each partition's generators."""
    _vector_only(issue, engine)
    issue.check("dst", dst, dtypes=("int32", "uint32"))
    state = issue.core.random.setdefault("vector", trainium3.seeded_state(0))
    issue.put("dst", dst, state[issue.rows(dst)].reshape(dst.shape[0], -1).view(issue.result(dst)))
    issue.on("vector", 64)


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
