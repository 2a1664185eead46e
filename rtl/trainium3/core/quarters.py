"""Lanes and partitions: an operand may start in any quarter of the partitions."""

from amaranth import Array, Cat, Value

QUARTERS = 4


def turned(words: Value, quarters: Value, width: int) -> Value:
    """Return words of ``width`` bits, of a multiple of four partitions, moved down by so many quarters, round the end."""
    step = len(words) // QUARTERS
    assert step % width == 0
    return Array(Cat(words[k * step :], words[: k * step]) for k in range(QUARTERS))[quarters]
