"""Specifications: long multiplication, rounding that compares the discarded bits with half a unit, and the stream contract."""

from amaranth import Cat, Const, Mux, Signal, Value, signed
from amaranth.lib import stream

from bitpath.golden.formats.catalogue import FloatFormat, Rounding
from bitpath.verif.formal.claim import Claim


def long_multiplication(a: Value, b: Value) -> Value:
    """Return the product of unsigned numbers by long multiplication: a row for each digit of ``b``."""
    rows = [Cat(Const(0, k), Mux(b[k], a, 0)) for k in range(len(b))]
    return sum(rows[1:], rows[0])


def leading_place(claim: Claim, value: Value, name: str) -> Signal:
    """Return the index of the highest set bit, or 0 if no bit is set."""
    place = Signal(range(len(value) + 1), name=name)
    for k in range(len(value)):
        with claim.m.If(value[k]):
            claim.m.d.comb += place.eq(k)
    return place


def split(claim: Claim, value: Value, shift: Value, name: str) -> tuple[Signal, Signal, Signal]:
    """Split ``value`` at ``2**shift``: return the kept bits, twice the remainder, and the unit to compare it with."""
    unit = claim.value(Const(1) << shift, f"{name}_unit")
    kept = claim.value(value >> shift, f"{name}_kept", len(value))
    rest = claim.value(value & (unit - 1), f"{name}_rest", len(value))
    return kept, claim.value(rest << 1, f"{name}_twice"), unit


def rounded(
    claim: Claim, value: Value, shift: Value, tie: Rounding, name: str, *, sticky: Value | None = None
) -> Signal:
    """Return an unsigned number shifted right and rounded; ``sticky`` means that nonzero bits lie below it."""
    kept, twice, unit = split(claim, value, shift, name)
    below = Const(0) if sticky is None else sticky
    at_half = {Rounding.RNE: below | kept[0], Rounding.RNA: Const(1), Rounding.RTZ: Const(0)}[tie]
    up = Const(0) if tie is Rounding.RTZ else (twice > unit) | ((twice == unit) & at_half)
    return claim.value(kept + up, f"{name}_rounded", len(value) + 1)


def float_code(
    claim: Claim,
    magnitude: Value,
    weight: Value,
    fmt: FloatFormat,
    name: str,
    *,
    tie: Rounding = Rounding.RNE,
    sticky: Value | None = None,
    precision: int | None = None,
) -> Signal:
    """The code of ``magnitude * 2**weight`` without its sign, rounded once, as if the format had no largest number.

    Parameters
    ----------
    magnitude, weight : unsigned and signed; a magnitude of 0 gives 0.
    sticky : something less than ``2**weight``, beside the magnitude; only where this has more than ``precision`` bits.
    precision : bits to round to, the format's if not given.
    """
    bits = fmt.precision if precision is None else precision
    # Extra low bits, so that some bits are always discarded.
    wide = claim.value(magnitude << bits, f"{name}_wide")
    place = leading_place(claim, magnitude, f"{name}_place")
    exponent = claim.value(place + weight, f"{name}_exponent")
    clamped = claim.value(Mux(exponent < fmt.emin, fmt.emin, exponent), f"{name}_clamped", signed(len(exponent) + 1))
    wanted = claim.value(clamped - weight + 1, f"{name}_wanted")
    limit = len(wide) + 1
    shift = claim.value(Mux(wanted > limit, limit, wanted), f"{name}_shift", range(limit + 1))
    significand = rounded(claim, wide, shift, tie, name, sticky=sticky)
    field = claim.value(clamped + (fmt.bias - 1), f"{name}_field", len(clamped) + 1)
    return claim.value(Mux((magnitude == 0), 0, (field << bits - 1) + significand), f"{name}_code", len(field) + bits)


def fields(claim: Claim, code: Value, fmt: FloatFormat, name: str) -> tuple[Signal, Signal]:
    """Significand of a finite code as an integer, and its biased exponent; 1 for a subnormal code."""
    fraction, field = code[: fmt.fraction_bits], code[fmt.fraction_bits : fmt.width - 1]
    significand = claim.value(Cat(fraction, field != 0), f"{name}_significand")
    return significand, claim.value(Mux(field == 0, 1, field), f"{name}_biased", fmt.exponent_bits)


def within_half(claim: Claim, x: Value, code: Value, fmt: FloatFormat, grid: int) -> None:
    """Claim that ``code`` is at most half a unit from the magnitude ``x`` in units of ``2**-grid``, or saturated."""
    got, field = fields(claim, code, fmt, "o")
    unit_place = claim.value(field + (grid - fmt.bias - fmt.fraction_bits), "unit_place", 7)
    unit = claim.value(Const(1) << unit_place, "unit")
    value = claim.value(got << unit_place, "value")
    error = claim.value(Mux(x > value, x - value, value - x), "error")
    saturated = code[:-1] == fmt.max_code
    claim.ensure((saturated & (x > value)) | ((error << 1) <= unit))
    # From half a unit above the largest number on, the result is the largest code.
    top = 1 << fmt.fraction_bits | fmt.max_code & fmt.fraction_mask
    beyond = (2 * top + 1) << (grid + fmt.emax - fmt.fraction_bits - 1)
    claim.ensure((x < beyond) | saturated)


def kept(claim: Claim, offered: stream.Interface, name: str = "") -> Value:
    """True if an offer that was not taken one cycle ago is offered now."""
    waited = claim.register(offered.valid & ~offered.ready, f"{name}waited")
    before = claim.register(Value.cast(offered.p), f"{name}before")
    return ~waited | (offered.valid & (Value.cast(offered.p) == before))


def stays(claim: Claim, offered: stream.Interface) -> None:
    """Claim that an offer stays until it is taken."""
    claim.ensure(kept(claim, offered))
