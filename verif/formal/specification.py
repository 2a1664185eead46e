"""What specifications are written with: long multiplication, and rounding by comparing what is dropped with half a unit."""

from amaranth import Cat, Const, Mux, Signal, Value

from bitpath.golden.spec.rounding import Rounding
from bitpath.verif.formal.claim import Claim


def long_multiplication(a: Value, b: Value) -> Value:
    """The product of unsigned numbers as it is done by hand: a row for each digit of ``b``."""
    rows = [Cat(Const(0, k), Mux(b[k], a, 0)) for k in range(len(b))]
    return sum(rows[1:], rows[0])


def leading_place(claim: Claim, value: Value, name: str) -> Signal:
    """The place of the highest bit that is 1; 0 where none is."""
    place = Signal(range(len(value) + 1), name=name)
    for k in range(len(value)):
        with claim.m.If(value[k]):
            claim.m.d.comb += place.eq(k)
    return place


def split(claim: Claim, value: Value, shift: Value, name: str) -> tuple[Signal, Signal, Signal]:
    """``value`` as ``kept * 2**shift`` and a rest: kept, and twice the rest beside the unit ``2**shift``, to be compared."""
    unit = claim.value(Const(1) << shift, f"{name}_unit")
    kept = claim.value(value >> shift, f"{name}_kept", len(value))
    rest = claim.value(value & (unit - 1), f"{name}_rest", len(value))
    return kept, claim.value(rest << 1, f"{name}_twice"), unit


def to_nearest_even(claim: Claim, value: Value, shift: Value, name: str, *, sticky: Value | None = None) -> Signal:
    """An unsigned number shifted right and rounded; ``sticky`` says that there is something below it."""
    kept, twice, unit = split(claim, value, shift, name)
    below = Const(0) if sticky is None else sticky
    up = (twice > unit) | ((twice == unit) & (below | kept[0]))
    return claim.value(kept + up, f"{name}_rounded", len(value) + 1)


def rounded(claim: Claim, value: Value, shift: Value, rounding: Rounding, name: str, *, sticky: Value) -> Signal:
    """As :func:`to_nearest_even` where ``rounding`` is RNE, else cut off."""
    if rounding is Rounding.RNE:
        return to_nearest_even(claim, value, shift, name, sticky=sticky)
    return claim.value(value >> shift, f"{name}_cut", len(value) + 1)
