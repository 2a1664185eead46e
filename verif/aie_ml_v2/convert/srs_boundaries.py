"""Accumulators of SRS at and beside the boundaries of its results: zero, both limits, an even and an odd result.

Each shift puts bit 0 of an accumulator at another distance below a boundary, so that sticky bits stand at all distances.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from random import Random

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import SRS_SHIFTS, RoundingCode, Saturation
from bitpath.golden.scalar.rounding import round_to_integer
from bitpath.verif.aie_ml_v2.convert.srs import MODES, SrsAsk, srs_golden
from bitpath.verif.kit.boundaries import SIDES, Near, integer_boundaries, near

DECISIVE = tuple(tuple(each for each in RoundingCode if each.mode.to_nearest is nearest) for nearest in (False, True))
"""Directed rounding codes, which results decide; those to nearest, which ties decide."""


def _kind(ask: SrsAsk) -> str:
    return f"{ask.acc_bits} to {ask.out_bits}/{'signed' if ask.signed else 'unsigned'}"


def _limits(ask: SrsAsk) -> tuple[int, int]:
    top = 1 << ask.out_bits - ask.signed
    return -top if ask.signed else 0, top - 1


@dataclass(frozen=True)
class SrsBeside:
    """Values of one control at and beside the boundaries of its results."""

    ask: SrsAsk
    values: tuple[Near, ...]

    @property
    def accs(self) -> np.ndarray:
        """Return the accumulators, which are the values times ``2**shift``."""
        return np.array([int(each.value * 2**self.ask.shift) for each in self.values], np.int64)

    @property
    def hits(self) -> Iterator[str]:
        """Yield the bins of the values of which golden gives the exact result and overflow bit."""
        results, overflow = srs_golden(self.ask, self.accs)
        for each, *got in zip(self.values, results.tolist(), overflow.tolist(), strict=True):
            if tuple(got) == exact_result(self.ask, each):
                yield f"{_kind(self.ask)}/{each.bin}"


def exact_result(ask: SrsAsk, each: Near) -> tuple[int, bool]:
    """Return the rounded and saturated value, and True if it overflows."""
    rounded, (low, high) = round_to_integer(each.value, ask.rounding.mode), _limits(ask)
    lowest = -high if ask.signed and ask.saturation is Saturation.SYMMETRIC else low
    fitting = min(max(rounded, lowest), high)
    wrapped = (rounded - low) % (high - low + 1) + low
    return wrapped if ask.saturation is Saturation.NONE else fitting, fitting != rounded


def srs_boundaries(rng: Random) -> Iterator[SrsBeside]:
    """Yield for each width, sign and shift the values in a rounding code of either kind, and any saturation.

    One sticky bit is bit 0 of the accumulator, another stands anywhere above it.
    """
    for (acc_bits, out_bits), signed, shift in product(MODES, (False, True), range(1, SRS_SHIFTS.stop)):
        for codes in DECISIVE:
            ask = SrsAsk(acc_bits, out_bits, shift, rng.choice(codes), rng.choice(list(Saturation)), signed)
            distances = {shift, rng.randint(2, shift)} if shift > 1 else ()
            found = near(partial(integer_boundaries, *_limits(ask)), rng, distances, ask.rounding.mode)
            most = 1 << acc_bits - 1
            yield SrsBeside(ask, tuple(each for each in found if -most <= each.value * 2**shift < most))


def bins() -> list[str]:
    boundaries = integer_boundaries(-128, 127, Random(0))
    asks = (SrsAsk(*mode, signed=signed) for mode, signed in product(MODES, (False, True)))
    return [
        f"{_kind(ask)}/{Near(*each, 2).bin}" for ask, each in product(asks, list(product(boundaries, (0, 1), SIDES)))
    ]
