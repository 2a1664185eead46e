"""Random operands of the multiply-accumulate, by classes that stress alignment, rounding and cancellation."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from bitpath.golden.aie_ml_v2.declarations.codes import BFP16EBS8, MX4, MX6, MX9, MxFormat
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.exact import Block
from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig, MacMode
from bitpath.verif.aie_ml_v2.mac.mac import FLOATS, INTEGERS, LaneCase, MacOptions, mode_of, row_of
from bitpath.verif.common.fp32 import numbers as fp32

KINDS = (MX9, MX6, MX4, *FLOATS, *INTEGERS)
"""Kinds of operands: MX formats, float modes and integer modes."""


def kinds_of(config: MacLaneConfig) -> tuple[MxFormat | MacMode, ...]:
    """Return the kinds of operands that a configuration supports."""
    if config.bfp16ebs8:
        return (BFP16EBS8,)
    modes = {kind: mode_of(kind, config.numerics) if isinstance(kind, MxFormat) else kind for kind in KINDS}
    return tuple(kind for kind in KINDS if modes[kind] in config.modes)


def kind_name(kind: MxFormat | MacMode) -> str:
    """Return a kind's name in tests."""
    return kind.name.lower()


def options(rng: Random, *, integer: bool = False) -> MacOptions:
    names = ("negate_products", "negate_acc1", "negate_acc2")
    signs = {name: rng.random() < 0.3 for name in names}
    return MacOptions(multiplies=rng.random() < 0.95, shift16=integer and rng.random() < 0.3, **signs)


def random_case(numerics: AieNumerics, rng: Random, kind: MxFormat | MacMode) -> LaneCase:
    """Return operands of any class, with accumulators that are mostly near the sum of products."""
    case = random_operands(numerics, rng, kind)
    if kind in INTEGERS:
        acc1, acc2 = (
            rng.choice((None, rng.getrandbits(32), rng.choice((0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF))))
            for _ in range(2)
        )
        return replace(case, acc1=acc1, acc2=acc2, options=options(rng, integer=True))
    return with_accumulators(numerics, rng, replace(case, options=options(rng)))


def random_operands(
    numerics: AieNumerics, rng: Random, kind: MxFormat | MacMode, like: LaneCase | None = None
) -> LaneCase:
    """Return operands of any class without accumulators, in the formats and signedness of ``like`` if given."""
    if kind in INTEGERS:
        return integer_operands(rng, kind, like.signed if like else tuple(rng.random() < 0.5 for _ in range(2)))
    if isinstance(kind, MxFormat):
        return LaneCase(mode=mode_of(kind, numerics), x=random_block(rng, kind), y=random_block(rng, kind))
    formats = like.formats if like else tuple(rng.choice(row_of(kind).formats) for _ in range(2))
    draw = rng.choice((any_code, near_codes(rng), near_codes(rng), near_codes(rng), special_code))
    x, y = (tuple(draw(rng, fmt) for _ in range(row_of(kind).depth)) for fmt in formats)
    return LaneCase(mode=kind, x=x, y=y, formats=formats)


def with_accumulators(numerics: AieNumerics, rng: Random, case: LaneCase) -> LaneCase:
    """Add none, one or two accumulators: any code, near the sum of products, or cancelling it."""
    alone = case.result(numerics)
    finite = alone >> FP32.fraction_bits & FP32.exponent_mask not in (0, FP32.exponent_mask)

    def draw() -> int | None:
        match rng.randrange(8) if finite else rng.randrange(4):
            case 0:
                return None
            case 1:
                return fp32.any_code(rng)
            case 2:
                return fp32.edge(rng)
            case 3:
                return fp32.near_one(rng)
            case 4 | 5:
                distance = rng.randint(-27, 27)
                biased = min(max((alone >> FP32.fraction_bits & FP32.exponent_mask) + distance, 0), FP32.exponent_mask)
                return rng.getrandbits(1) << 31 | biased << FP32.fraction_bits | rng.getrandbits(FP32.fraction_bits)
            case _:
                return (alone ^ FP32.sign_mask) + rng.randint(-2, 2) & (1 << FP32.width) - 1

    return replace(case, acc1=draw(), acc2=draw())


def random_block(rng: Random, fmt: MxFormat, exponent: int | None = None) -> Block:
    """A block, mostly of ordinary exponent and codes, its most negative one included."""
    if exponent is None:
        exponent = rng.choice(
            (rng.randint(0, 255), *(rng.randint(120, 134) for _ in range(6)), rng.choice((0, 1, 254, 255)))
        )
    high = fmt.max_code if rng.random() < 0.8 else rng.choice((0, 1))
    low = -high - 1 if rng.random() < 0.9 else fmt.min_code
    codes = tuple(rng.randint(low, high) if rng.random() < 0.9 else rng.choice((low, 0)) for _ in range(fmt.elements))
    return Block(fmt, exponent, random_shift(rng, fmt), codes)


def random_shift(rng: Random, fmt: MxFormat) -> int:
    """Return a shift byte; 0 where a format has none."""
    return rng.getrandbits(fmt.elements // 2) if fmt.has_shifts else 0


def any_code(rng: Random, fmt: FloatFormat) -> int:
    return rng.getrandbits(fmt.width)


def near_codes(rng: Random) -> Callable[[Random, FloatFormat], int]:
    """A class of codes within a few binades of one place, with zeros."""
    place, spread = rng.random(), rng.choice((0, 2, 6))

    def draw(source: Random, fmt: FloatFormat) -> int:
        if source.random() < 0.1:
            return source.getrandbits(1) * fmt.sign_mask if fmt.nan_code != fmt.sign_mask else 0
        top = (fmt.max_code >> fmt.fraction_bits) - 1
        exponent = min(max(round(place * top) + source.randint(-spread, spread), 0), top)
        return (
            source.getrandbits(1) * fmt.sign_mask
            | exponent << fmt.fraction_bits
            | source.getrandbits(fmt.fraction_bits)
        )

    return draw


def special_code(rng: Random, fmt: FloatFormat) -> int:
    """Edges of a format: zeros, subnormals, the largest numbers, infinities and NaNs."""
    magnitudes = (0, 0, 1, fmt.fraction_mask, 1 << fmt.fraction_bits, fmt.max_code, fmt.max_code, fmt.sign_mask - 1)
    infinity = () if fmt.infinity_code is None else (fmt.infinity_code,)
    return rng.choice((*magnitudes, *infinity)) | rng.getrandbits(1) * fmt.sign_mask


def integer_operands(rng: Random, mode: MacMode, signed: tuple[bool, bool]) -> LaneCase:
    """Integers over all of their range, or at its ends."""
    row = INTEGERS[mode]
    sides = []
    for is_signed in signed:
        low, high = (-(1 << row.a_bits - 1), (1 << row.a_bits - 1) - 1) if is_signed else (0, (1 << row.a_bits) - 1)
        ends = rng.random() < 0.2
        sides.append(tuple(rng.choice((low, high)) if ends else rng.randint(low, high) for _ in range(row.depth)))
    return LaneCase(mode=mode, x=sides[0], y=sides[1], signed=signed)
