"""Regions of a core's memories, and random patterns within them."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import Engine
from bitpath.verif.trainium3.core.programs.memories import MAX_PAIRS, Pairs, Pattern

MOST_STEP = 127
"""The largest step of a core with the fewest bits for it."""
TRIES = 8
"""Patterns that are tried before the plain one, which fits wherever any does."""


@dataclass(frozen=True)
class Region:
    """Bytes of SBUF's partitions, of PSUM's, and of HBM that instructions may use; PSUM's banks from the first of them on."""

    sbuf: range
    psum: range
    hbm: range


def whole(config: CoreConfig) -> Region:
    return Region(range(config.partition_bytes), range(config.banks * config.bank_bytes), range(config.hbm_bytes))


def shares(config: CoreConfig) -> Mapping[Engine, Region]:
    """A region for each engine; TensorE has the first bank, ScalarE and VectorE share the others' ends, DMA has all HBM."""
    part, bank = config.partition_bytes // len(Engine), config.bank_bytes
    psums = {
        Engine.TENSOR: range(bank),
        Engine.VECTOR: range(bank, bank + bank // 2),
        Engine.SCALAR: range(bank + bank // 2, 2 * bank),
        Engine.DMA: range(0),
    }
    return {
        each: Region(range(k * part, (k + 1) * part), psums[each], range(config.hbm_bytes))
        for k, each in enumerate(Engine)
    }


def any_pattern(rng: Random, count: int, size: int, place: range) -> Pattern | None:
    """Return a pattern of ``count`` different elements of ``size`` bytes in a place, or None if it has no room."""
    first, end = -(-place.start // size), place.stop // size
    if count > end - first:
        return None
    for _ in range(TRIES):
        pairs = any_pairs(rng, count)
        reach = Pattern(pairs).elements
        low, high = min(reach), max(reach)
        if end - first > high - low and all(abs(step) <= MOST_STEP for step, _ in pairs):
            return Pattern(pairs, rng.randrange(first - low, end - high))
    return Pattern(((1, count),), rng.randint(first, end - count))


def any_pairs(rng: Random, count: int) -> Pairs:
    """Return pairs of ``count`` different elements: a step is at least as large as the reach of the pairs inside it."""
    nums = [1] * rng.randint(1, MAX_PAIRS)
    while count > 1:
        factor = next(each for each in range(2, count + 1) if count % each == 0)
        nums[rng.randrange(len(nums))] *= factor
        count //= factor
    pairs, reach = [], 1
    for num in nums:
        step = rng.choice((1, -1)) * rng.choice((reach, reach, reach + 1, 2 * reach))
        if num == 1:
            step = rng.randint(-MOST_STEP, MOST_STEP)
        pairs.append((step, num))
        reach += abs(step) * (num - 1)
    return tuple(reversed(pairs))


def halves(rng: Random, place: range) -> tuple[range, range]:
    """Cut a place in two, in any order, at a multiple of 8 bytes."""
    middle = place.start + len(place) // 2 // 8 * 8
    parts = [range(place.start, middle), range(middle, place.stop)]
    rng.shuffle(parts)
    return parts[0], parts[1]
