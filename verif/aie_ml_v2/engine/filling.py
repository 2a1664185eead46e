"""Commands that fill the engine's memories and its queue, with arbitrary operand and accumulator codes."""

from collections.abc import Iterator
from random import Random

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.modes import TIMINGS
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.engine.aie_engine import QUEUE_DEPTH
from bitpath.rtl.aie_ml_v2.engine.command import AieEngineConfig, command_layout
from bitpath.verif.aie_ml_v2.engine.model import RowCommand
from bitpath.verif.aie_ml_v2.engine.programs import any_address, random_command
from bitpath.verif.aie_ml_v2.engine.rows import RowKind

ANY_SHARE = 0.3
"""Share of tiles with arbitrary codes: all kinds of numbers meet, and most sums are still finite."""
SHAPES = ("deep", "wide", "far", "short", "one product")
"""deep: more steps than half the X memory holds; wide: one tile for each accumulator; far: two steps with a large stride; short
and one product: commands that fill the queue after a long one, with arbitrary accumulator codes or operands."""
NUMBERS = ("NaN", "infinity", "-0")
"""Kinds of results; -0 is a flushed negative result below FP32's normal numbers."""
PLACES = ("X goes round", "Y goes round", "steps of Y lie far apart")
"""Placements of a command's tiles: wrapped around a memory's end, or a stride of more than half the memory."""


def filling_program(
    config: AieEngineConfig, kind: RowKind, source: np.random.Generator, rng: Random
) -> Iterator[tuple[str, RowCommand]]:
    """Yield commands of each shape with their names."""
    beats = TIMINGS[kind.mode.datapath].issue_interval
    steps, most = config.x_depth // beats, config.unit.accumulators
    for shape, count, tiles in (
        ("deep", rng.randint(steps // 2 + 1, steps), 1),
        ("wide", rng.randint(2, config.y_depth // (most * beats)), most),
        ("far", 2, rng.randint(1, most // 2)),
        ("wide", 2, most),
        *(("short", 1, rng.randint(1, 2)) for _ in range(QUEUE_DEPTH)),
        *(("one product", 1, 1) for _ in range(QUEUE_DEPTH)),
    ):
        alone = shape == "one product"
        yield (
            shape,
            random_command(
                kind,
                source,
                steps=count,
                tiles=tiles,
                special=1.0 if alone else ANY_SHARE,
                accumulator=rng.randrange(most),
                negate=rng.random() < 0.5,
                clear=alone or rng.random() < 0.3,
                address=any_address(config, kind, tiles, source) if alone or rng.random() < 0.8 else None,
            ),
        )


def places_of(config: AieEngineConfig, command: RowCommand, bits: int) -> Iterator[str]:
    """Return the coverage places of a command's tiles."""
    fields = command_layout(config).from_bits(bits)
    gaps, beats = command.steps - 1, TIMINGS[command.kind.mode.datapath].issue_interval
    x_end = fields.x + command.steps * beats
    y_end = fields.y + gaps * fields.y_stride + command.tiles * beats
    far = gaps > 0 and fields.y_stride > config.y_depth // 2
    for place, met in zip(PLACES, (x_end > config.x_depth, y_end > config.y_depth, far), strict=True):
        if met:
            yield place


def numbers_of(codes: np.ndarray) -> Iterator[str]:
    """Return the kinds of numbers among FP32 codes."""
    exponent, fraction = codes >> FP32.fraction_bits & FP32.exponent_mask, codes & FP32.fraction_mask
    top = exponent == FP32.exponent_mask
    met = (top & (fraction != 0), top & (fraction == 0), codes == FP32.sign_mask)
    for name, found in zip(NUMBERS, met, strict=True):
        if found.any():
            yield name
