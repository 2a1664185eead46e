"""Every pair of magnitudes through the fidelity phases' multiplier."""

from collections.abc import Iterator

import numpy as np

from bitpath.golden.tensix.declarations.formats import PHASES
from bitpath.golden.tensix.declarations.numerics import WORMHOLE
from bitpath.golden.tensix.exact import Source, fields, multiply_integer
from bitpath.rtl.tensix.dot.dot16 import MAGNITUDE_BITS
from bitpath.rtl.tensix.dot.layouts import MultiplierConfig
from bitpath.verif.kit.batches import WORD_BITS, Batch, Part, side_by_side
from bitpath.verif.kit.volume import Generator, VolumeTask

MAGNITUDES = 1 << MAGNITUDE_BITS
EXPONENT = 16 << 10
"""Exponent of an integer datum; with 0 it would be 0."""
HALVES = 2
"""A block holds half of SrcA's magnitudes, in one phase."""


def multiplier(config: MultiplierConfig, rng: Generator, block: int) -> Iterator[Batch]:
    """Every pair of magnitudes in one phase, of floats and of integers; SrcB's integers have a bit less."""
    phase, half = divmod(block, HALVES)
    size = MAGNITUDES // HALVES
    for is_integer in (0, 1):
        others = MAGNITUDES >> is_integer
        a, b = np.arange(half * size, (half + 1) * size), np.arange(others)
        index = (np.repeat(np.arange(size, dtype=np.uint32), others), np.tile(b.astype(np.uint32), size))
        # Ports by name: is_integer, phase, src_a, src_b.
        one = np.array([[is_integer, phase]], np.uint32)
        parts = (
            Part(one, np.zeros(size * others, np.uint32)),
            Part(a.astype(np.uint32)[:, np.newaxis], index[0], 2),
            Part(b.astype(np.uint32)[:, np.newaxis], index[1], 3),
        )
        both = _fields(a, phase, is_integer)[0], _fields(b, phase, is_integer)[1]
        kind = f"{'integers' if is_integer else 'floats'}, phase {phase}"
        golden = lambda both=both: np.multiply.outer(*both).astype(np.uint32).ravel()  # noqa: E731
        yield Batch(kind, parts, size * others, golden)


def _fields(magnitudes: np.ndarray, phase: int, is_integer: int) -> tuple[np.ndarray, np.ndarray]:
    """Golden's fields of SrcA and of SrcB. Those of integers move from their places to the multiplier's."""
    if not is_integer:
        sources = (Source(0, 1, each) for each in magnitudes.tolist())
        a, b = np.array([fields(each, each, phase) for each in sources]).T
        return a, b
    words = (EXPONENT | each & 0x3FF for each in magnitudes.tolist())
    products = [multiply_integer(WORMHOLE.numerics, each, each, phase) for each in words]
    a, b = np.array([(each.field_a, each.field_b) for each in products]).T
    return a >> (0 if phase & 1 else 5), b << 3 if phase & 2 else b >> 4


SWEEPS = (
    VolumeTask(
        name="sweep-fidelity-multiplier",
        machine="tensix",
        unit="fidelity_multiplier",
        what="every pair of magnitudes in every phase, floats and integers",
        config=MultiplierConfig,
        block_vectors=MAGNITUDES // HALVES * (MAGNITUDES + MAGNITUDES // 2),
        blocks=PHASES * HALVES,
        batches=multiplier,
        random=False,
        layout=lambda: side_by_side(*((name, WORD_BITS) for name in ("is_integer", "phase", "src_a", "src_b"))),
    ),
)
