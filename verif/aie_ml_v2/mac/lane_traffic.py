"""Random beats of a multiply-accumulate lane, for tests that compare a unit with itself."""

from collections.abc import Iterator
from itertools import chain
from random import Random

from bitpath.rtl.aie_ml_v2.mac.config import LaneOperands, MacMode
from bitpath.verif.kit.batches import places
from bitpath.verif.kit.traffic import drawn


def lane_operands(source: Random) -> Iterator[int]:
    """Both beats of an MX9 block first, since the lane's held half has no reset; then random beats."""
    layout = places(LaneOperands)
    (mode, mode_bits), (high, _) = layout["control.mode"], layout["high"]
    width = sum(bits for _, bits in layout.values())
    other = (1 << width) - 1 & ~((1 << mode_bits) - 1 << mode | 1 << high)
    blocks = (source.getrandbits(width) & other | MacMode.MX9.value << mode | beat << high for beat in range(2))
    return chain(blocks, drawn(lambda: source.getrandbits(width)))


def wide_operands(source: Random) -> Iterator[int]:
    """Those of a lower and of an upper lane."""
    lower, upper = lane_operands(source), lane_operands(source)
    return (
        low | high << sum(bits for _, bits in places(LaneOperands).values())
        for low, high in zip(lower, upper, strict=False)
    )


def lane_valid(source: Random) -> Iterator[int]:
    """A beat in both first cycles, then in half of all."""
    return chain((1, 1), drawn(lambda: source.getrandbits(1)))
