"""Operands of a pair of lanes for one instruction, of two lanes of 32 bits or one of 64, with golden's results."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from random import Random

from bitpath.golden.aie_ml_v2.declarations.modes import INT16_64, INT32X16, TIMINGS, Mode
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.exact import integer_lane
from bitpath.rtl.aie_ml_v2.mac.config import LANE_BITS, LANE_OPERAND_BITS, WORD_BITS, LaneOperands, MacMode
from bitpath.rtl.aie_ml_v2.mac.wide_lanes import LaneWidth
from bitpath.verif.aie_ml_v2.mac.mac import LANE, LaneCase, MacOptions, stream_bits
from bitpath.verif.aie_ml_v2.mac.mac_lane_player import steps
from bitpath.verif.kit.packing import pack, width

WIDTHS = {LaneWidth.INT16_64: INT16_64, LaneWidth.INT32X16: INT32X16}
OPERAND_BITS = width(LaneOperands)
MASK = (1 << 64) - 1
LOWEST, HIGHEST = 1 << 63, (1 << 63) - 1
ENDS = (0, 1, HIGHEST, LOWEST, MASK, (1 << 32) - 1, 1 << 32, 0xFFFFFFFF00000000)
"""Accumulators at the ends of 64 bits and on both sides of bit 32."""


def signed64(code: int) -> int:
    return code - (code >> 63 << 64)


@dataclass(frozen=True, kw_only=True)
class WideCase:
    """One instruction on a lane of 64 bits; fields as those of `LaneCase`.

    Attributes
    ----------
    lane_width : INT16_64 or INT32X16.
    negated : bit k for product k that is subtracted.
    """

    lane_width: LaneWidth
    x: tuple[int, ...]
    y: tuple[int, ...]
    signed: tuple[bool, bool] = (True, True)
    acc1: int | None = None
    acc2: int | None = None
    negated: int = 0
    options: MacOptions = field(default_factory=MacOptions)

    @property
    def mode(self) -> Mode:
        return WIDTHS[self.lane_width]

    @property
    def total(self) -> int:
        """The exact sum of the products, not negated."""
        return sum(
            (-a if self.negated >> k & 1 else a) * b for k, (a, b) in enumerate(zip(self.x, self.y, strict=True))
        )

    def result(self, numerics: AieNumerics) -> int:
        """Return the exact tier's result as a code of 64 bits; no numerics matter."""
        x = [-a if self.negated >> k & 1 else a for k, a in enumerate(self.x)]
        sides = (x, self.y) if self.options.multiplies else ((), ())
        accumulators = (signed64(acc or 0) for acc in (self.acc1, self.acc2))
        lane = partial(integer_lane, self.mode, *sides, *accumulators, shift16=self.options.shift16)
        return lane(**self.options.signs) & MASK

    @property
    def timing(self) -> tuple[int, int]:
        """Beats, and cycles from the first one to the result."""
        timing = TIMINGS[self.mode.datapath]
        return 1, timing.write - 2

    def beats(self, junk: Random) -> list[dict[str, int]]:
        """Return the fields of the only beat; the upper lane's operands are random, as are bits that no product takes."""
        own = LaneCase(
            mode=MacMode.INT16,
            x=(0, 0),
            y=(0, 0),
            signed=self.signed,
            acc1=self.acc1,
            acc2=self.acc2,
            options=self.options,
        )
        sides = {}
        for name, codes, bits in (("x", self.x, self.mode.a_bits), ("y", self.y, self.mode.b_bits)):
            used = len(codes) * bits
            above = junk.getrandbits(LANE_OPERAND_BITS - used) << used
            sides[name] = stream_bits(codes, bits) | above
        lower = own.beats(junk)[0] & ~pack(LANE, dict.fromkeys("xy", (1 << LANE_OPERAND_BITS) - 1)) | pack(LANE, sides)
        others = junk.getrandbits(2) << 2 if self.lane_width is LaneWidth.INT32X16 else 0
        return [
            {
                "width": self.lane_width.value,
                "negated": self.negated | others,
                "operands": lower | junk.getrandbits(OPERAND_BITS) << OPERAND_BITS,
            }
        ]


@dataclass(frozen=True, kw_only=True)
class PairCase:
    """One instruction on two lanes of 32 bits."""

    lower: LaneCase
    upper: LaneCase

    @property
    def acc1(self) -> int:
        return _joined(self.lower.acc1, self.upper.acc1)

    @property
    def acc2(self) -> int:
        return _joined(self.lower.acc2, self.upper.acc2)

    def result(self, numerics: AieNumerics) -> int:
        return _joined(self.lower.result(numerics), self.upper.result(numerics))

    @property
    def timing(self) -> tuple[int, int]:
        return steps(self.lower)

    def beats(self, junk: Random) -> list[dict[str, int]]:
        """Return the fields of each beat; products are negated with 64 bits only."""
        halves = zip(self.lower.beats(junk), self.upper.beats(junk), strict=True)
        return [
            {"width": LaneWidth.BITS32.value, "negated": junk.getrandbits(4), "operands": low | high << OPERAND_BITS}
            for low, high in halves
        ]


def _joined(low: int | None, high: int | None) -> int:
    return (low or 0) | (high or 0) << LANE_BITS


def ends_of(bits: int, is_signed: bool) -> tuple[int, int]:
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)


def random_wide(rng: Random, lane_width: LaneWidth) -> WideCase:
    """Return operands over all of their range or at its ends, and accumulators of any size."""
    mode = WIDTHS[lane_width]
    signed = (rng.random() < 0.5, rng.random() < 0.5)
    sides = []
    for bits, is_signed in zip((mode.a_bits, mode.b_bits), signed, strict=True):
        low, high = ends_of(bits, is_signed)
        at_ends = rng.random() < 0.3
        sides.append(tuple(rng.choice((low, high)) if at_ends else rng.randint(low, high) for _ in range(mode.depth)))
    names = ("negate_products", "negate_acc1", "negate_acc2", "shift16")
    flags = MacOptions(multiplies=rng.random() < 0.95, **{name: rng.random() < 0.3 for name in names})
    acc1, acc2 = (
        rng.choice((None, rng.getrandbits(64), rng.choice(ENDS), rng.getrandbits(rng.randint(1, 64)))) for _ in range(2)
    )
    negated = rng.getrandbits(mode.depth) if rng.random() < 0.5 else 0
    return WideCase(
        lane_width=lane_width,
        x=sides[0],
        y=sides[1],
        signed=signed,
        acc1=acc1,
        acc2=acc2,
        negated=negated,
        options=flags,
    )


def wide_bins(lane_width: LaneWidth) -> list[str]:
    mode = WIDTHS[lane_width]
    names = [
        f"ends/{sx}{sy}/{x}/{y}" for sx, sy in product("us", repeat=2) for x, y in product(("low", "high"), repeat=2)
    ]
    names += [f"options/{'/'.join(map(str, flags))}" for flags in product((0, 1), repeat=4)]
    names += [f"lone product/{k}/{sign}" for k in range(mode.depth) for sign in "+-"]
    return [
        *names,
        "carry up",
        "borrow down",
        "wraps/+",
        "wraps/-",
        "shifted across bit 32",
        "shifted out",
        "no products",
    ]


def wide_corners(rng: Random, lane_width: LaneWidth) -> Iterator[WideCase]:
    """Yield cases for every bin of a width."""
    mode = WIDTHS[lane_width]

    def case(x: tuple[int, ...], y: tuple[int, ...], signed: tuple[bool, bool] = (True, True), **more) -> WideCase:
        return WideCase(lane_width=lane_width, x=x, y=y, signed=signed, **more)

    zeros = (0,) * mode.depth
    for signed in product((False, True), repeat=2):
        ranges = [ends_of(bits, each) for bits, each in zip((mode.a_bits, mode.b_bits), signed, strict=True)]
        for x, y in product(*ranges):
            yield case((x,) * mode.depth, (y,) * mode.depth, signed, acc1=rng.getrandbits(64))
        for k, negated in product(range(mode.depth), (0, 1)):
            for bit in range(mode.a_bits):
                value = -(1 << bit) if signed[0] and bit == mode.a_bits - 1 else 1 << bit
                other = ranges[1][rng.getrandbits(1)] or 1
                lone = [tuple(each if j == k else 0 for j in range(mode.depth)) for each in (value, other)]
                yield case(*lone, signed, negated=negated << k)
    for products, first, second, shift16 in product((False, True), repeat=4):
        flags = MacOptions(negate_products=products, negate_acc1=first, negate_acc2=second, shift16=shift16)
        for _ in range(3):
            draw = random_wide(rng, lane_width)
            yield case(draw.x, draw.y, draw.signed, acc1=rng.getrandbits(64), acc2=rng.getrandbits(64), options=flags)
    one = (1, *zeros[1:])
    for acc in ENDS:
        for negated in (0, 1):
            yield case(one, one, acc1=acc, negated=negated)
            yield case(one, one, acc1=acc, options=MacOptions(negate_products=bool(negated), shift16=True))
            yield case(one, one, acc1=acc, acc2=acc, options=MacOptions(multiplies=False, negate_acc2=bool(negated)))


def wide_hits(case: WideCase) -> Iterator[str]:
    """Yield the bins that a case hits."""
    options, names = case.options, {}
    for side, bits, is_signed in (("x", case.mode.a_bits, case.signed[0]), ("y", case.mode.b_bits, case.signed[1])):
        low, high = ends_of(bits, is_signed)
        numbers = set(getattr(case, side))
        names[side] = "low" if numbers == {low} else "high" if numbers == {high} else ""
    if not options.multiplies:
        yield "no products"
        return
    if all(names.values()):
        yield f"ends/{''.join('us'[each] for each in case.signed)}/{names['x']}/{names['y']}"
    if case.acc1 is not None and case.acc2 is not None:
        flags = (options.negate_products, options.negate_acc1, options.negate_acc2, options.shift16)
        yield f"options/{'/'.join(str(int(each)) for each in flags)}"
    lone = [k for k, (a, b) in enumerate(zip(case.x, case.y, strict=True)) if a * b]
    if len(lone) == 1:
        yield f"lone product/{lone[0]}/{'+-'[case.negated >> lone[0] & 1]}"
    if case.acc1 is None:
        return
    if options.shift16 and case.acc1 & 0xFFFF0000:
        yield "shifted across bit 32"
    if options.shift16 and case.acc1 >> 64 - WORD_BITS:
        yield "shifted out"
    if case.acc2 is not None or any(options.signs.values()) or options.shift16:
        return
    low, before = (case.acc1 & (1 << LANE_BITS) - 1) + case.total, signed64(case.acc1) + case.total
    if case.total == 1 and low >> LANE_BITS:
        yield "carry up"
    if case.total == -1 and low < 0:
        yield "borrow down"
    if before != signed64(before & MASK):
        yield "wraps/+" if before > 0 else "wraps/-"
