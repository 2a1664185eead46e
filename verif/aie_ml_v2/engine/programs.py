"""Commands for the engine's bench: single ones, and programs in which each command depends on the one before."""

from collections.abc import Iterator
from itertools import product as combinations
from random import Random

import numpy as np

from bitpath.rtl.aie_ml_v2.engine.command import AieEngineConfig
from bitpath.verif.aie_ml_v2.engine.model import RowCommand, tile_words
from bitpath.verif.aie_ml_v2.engine.rows import SPECIAL_SHARE, RowKind, random_tiles, row_kinds

RELATIONS = ("the same accumulators", "some of them", "others")
"""Overlap of a command's accumulators with the previous command's, which are being stored."""
STARTS = ("cleared", "continued")
ENDS = ("stored", "left")


def random_command(
    kind: RowKind,
    source: np.random.Generator,
    *,
    steps: int,
    tiles: int,
    special: float = SPECIAL_SHARE,
    **fields: object,
) -> RowCommand:
    """Return a command on random tiles; some tiles have arbitrary codes."""
    x, y = (random_tiles(source, kind, side, shape, special) for side, shape in enumerate(((steps,), (steps, tiles))))
    return RowCommand(kind=kind, x=x, y=y, **fields)


def any_address(config: AieEngineConfig, kind: RowKind, tiles: int, source: np.random.Generator) -> int:
    """Return a random word address with room for ``tiles`` tiles."""
    return int(source.integers(0, config.result_depth - tiles * tile_words(config, kind) + 1))


def program(
    config: AieEngineConfig, source: np.random.Generator, rng: Random
) -> Iterator[tuple[tuple[str, str, str], RowCommand]]:
    """Yield every overlap with the previous accumulators, cleared or not, stored or not, in changing formats, with its bin."""
    plan = list(combinations(RELATIONS, STARTS, ENDS))
    rng.shuffle(plan)
    kinds = row_kinds(config.unit.numerics)
    half = config.unit.accumulators // 2
    accumulator, tiles = rng.randrange(2 * half), half
    for relation, start, end in plan:
        kind = rng.choice(kinds)
        if relation == "some of them":
            accumulator += rng.randrange(1, tiles) if tiles > 1 else 0
        elif relation == "others":
            accumulator += half
        accumulator %= 2 * half
        tiles = rng.randint(2, half) if relation != "the same accumulators" else tiles
        address = any_address(config, kind, tiles, source) if end == "stored" else None
        each = random_command(
            kind,
            source,
            steps=rng.choice((1, 1, 2, 3)),
            tiles=tiles,
            accumulator=accumulator,
            negate=rng.random() < 0.3,
            clear=start == "cleared",
            address=address,
        )
        yield (relation, start, end), each
