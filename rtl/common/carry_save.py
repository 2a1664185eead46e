"""Additions whose carries do not travel."""

from collections.abc import Sequence

from amaranth import Module, Signal, Value


def carry_save(m: Module, rows: Sequence[Value], width: int) -> tuple[Value, Value]:
    """Two numbers with the sum of three or more, modulo ``2**width``: three become two with a full adder a bit.

    Row after row, for partial products this is smaller than a tree: of each row most columns are the first or the last.
    """
    total, carry = rows[:2]
    for k, row in enumerate(rows[2:]):
        half, next_total, next_carry = (Signal(width, name=f"{name}_{k}") for name in ("half", "total", "carry"))
        m.d.comb += [
            half.eq(total ^ carry),
            next_total.eq(half ^ row),
            next_carry.eq(((total & carry) | (half & row)) << 1),
        ]
        total, carry = next_total, next_carry
    return total, carry
