"""Directed corners of a lane's integer modes, and their bins."""

from collections.abc import Iterator
from itertools import product
from random import Random

from bitpath.golden.aie_ml_v2.exact import IntegerLaneTrace
from bitpath.rtl.aie_ml_v2.mac.config import MacMode
from bitpath.verif.aie_ml_v2.mac.mac import INTEGERS, LaneCase, MacOptions

HIGHEST, LOWEST = 0x7FFFFFFF, 0x80000000
FLAGS = tuple(product((0, 1), repeat=4))
"""Flags: negate products, negate acc1, negate acc2, shift acc1 left by 16."""


def integer_bins(mode: MacMode) -> list[str]:
    names = [
        f"ends/{sx}{sy}/{x}/{y}" for sx, sy in product("us", repeat=2) for x, y in product(("low", "high"), repeat=2)
    ]
    names += [f"options/{'/'.join(map(str, flags))}" for flags in FLAGS]
    names += [f"lone product/{k}" for k in range(INTEGERS[mode].depth)]
    return [*names, "wraps/+", "wraps/-", "just fits/+", "just fits/-", "accumulators alone", "cancels", "shifted out"]


def _range(mode: MacMode, is_signed: bool) -> tuple[int, int]:
    bits = INTEGERS[mode].a_bits
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)


def integer_corners(rng: Random, mode: MacMode) -> Iterator[LaneCase]:
    """Yield cases for every bin of a mode."""
    depth = INTEGERS[mode].depth

    def case(x: tuple[int, ...], y: tuple[int, ...], signed: tuple[bool, bool] = (True, True), **more) -> LaneCase:
        return LaneCase(mode=mode, x=x, y=y, signed=signed, **more)

    def draw(signed: bool) -> tuple[int, ...]:
        return tuple(rng.randint(*_range(mode, signed)) for _ in range(depth))

    for signed in product((False, True), repeat=2):
        for x, y in product(*(_range(mode, each) for each in signed)):
            yield case((x,) * depth, (y,) * depth, signed, acc1=rng.getrandbits(32))
        for k in range(depth):
            # A single product; each operand bit is set in turn.
            for bit in range(INTEGERS[mode].a_bits):
                value = _range(mode, signed[0])[0] if signed[0] and bit == INTEGERS[mode].a_bits - 1 else 1 << bit
                other = _range(mode, signed[1])[rng.getrandbits(1)] or 1
                x, y = (tuple(each if j == k else 0 for j in range(depth)) for each in (value, other))
                yield case(x, y, signed)
    for products, first, second, shift16 in FLAGS:
        signed = (bool(rng.getrandbits(1)), bool(rng.getrandbits(1)))
        options = MacOptions(
            negate_products=bool(products), negate_acc1=bool(first), negate_acc2=bool(second), shift16=bool(shift16)
        )
        for _ in range(3):
            more = {"acc1": rng.getrandbits(32), "acc2": rng.getrandbits(32), "options": options}
            yield case(draw(signed[0]), draw(signed[1]), signed, **more)
    zeros = (0,) * depth
    one = (1, *zeros[1:])
    alone = MacOptions(multiplies=False)
    for acc1, acc2 in ((HIGHEST, 1), (LOWEST, 0xFFFFFFFF), (HIGHEST - 1, 1), (LOWEST + 1, 0xFFFFFFFF), (5, 0xFFFFFFFB)):
        yield case(draw(True), draw(True), acc1=acc1, acc2=acc2, options=alone)
        yield case(one, one, acc1=acc1)
    yield case(one, one, acc1=0x12345678, options=MacOptions(shift16=True))


def integer_hits(case: LaneCase, trace: IntegerLaneTrace) -> Iterator[str]:
    """Yield the bins that a case hits."""
    ends = {}
    for side, signed in zip("xy", case.signed, strict=True):
        low, high = _range(case.mode, signed)
        numbers = set(getattr(case, side))
        ends[side] = "low" if numbers == {low} else "high" if numbers == {high} else ""
    options = case.options
    if all(ends.values()) and options.multiplies:
        yield f"ends/{''.join('us'[each] for each in case.signed)}/{ends['x']}/{ends['y']}"
    if case.acc1 is not None and case.acc2 is not None and options.multiplies:
        flags = (options.negate_products, options.negate_acc1, options.negate_acc2, options.shift16)
        yield f"options/{'/'.join(str(int(each)) for each in flags)}"
    nonzero = [k for k, value in enumerate(trace.products) if value]
    if len(nonzero) == 1:
        yield f"lone product/{nonzero[0]}"
    if trace.total != trace.result:
        yield "wraps/+" if trace.total > 0 else "wraps/-"
    elif abs(trace.total) >= HIGHEST - 1:
        yield "just fits/+" if trace.total > 0 else "just fits/-"
    if not options.multiplies:
        yield "accumulators alone"
        if trace.total == 0 and all(trace.addends):
            yield "cancels"
    if options.shift16 and case.acc1 and case.acc1 >> 16:
        yield "shifted out"
