"""Three numbers to two of the same sum, without a carry that runs."""

from amaranth import Cat, Module, Signal, Value


def carry_save(m: Module, a: Value, b: Value, c: Value, *, one: Value) -> tuple[Signal, Signal]:
    """``sums + carries == a + b + c + one``, for unsigned numbers of any widths; one full adder per column.

    ``sums`` is as wide as the widest of the three, ``carries`` one bit wider.

    Parameters
    ----------
    m : the module in which the adders stand.
    one : one bit, which takes the lowest place of ``carries``, where no column's carry falls.
    """
    width = max(len(a), len(b), len(c))
    sums, carries = Signal(width, name="sums"), Signal(width + 1, name="carries")
    m.d.comb += [sums.eq(a ^ b ^ c), carries.eq(Cat(one, (a & b) | (a & c) | (b & c)))]
    return sums, carries
