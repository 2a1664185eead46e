"""Carry-save adder: three numbers to two with the same sum, without carry propagation."""

from amaranth import Cat, Module, Signal, Value


def carry_save(m: Module, a: Value, b: Value, c: Value, *, one: Value) -> tuple[Signal, Signal]:
    """Return ``sums`` and ``carries`` with ``sums + carries == a + b + c + one``; one full adder a column.

    The addends are unsigned. ``sums`` is as wide as the widest of them, ``carries`` one bit wider.

    Parameters
    ----------
    m : module that takes the adders.
    one : carry in, one bit; it takes the lowest place of ``carries``, which is free.
    """
    width = max(len(a), len(b), len(c))
    sums, carries = Signal(width, name="sums"), Signal(width + 1, name="carries")
    m.d.comb += [sums.eq(a ^ b ^ c), carries.eq(Cat(one, (a & b) | (a & c) | (b & c)))]
    return sums, carries
