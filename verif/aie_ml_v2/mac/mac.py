"""Operands of one multiply-accumulate lane, stated and random, with golden's results."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from random import Random
from typing import Any

import numpy as np

from bitpath.golden.aie_ml_v2 import MxBlocks
from bitpath.golden.aie_ml_v2.declarations.codes import BFP16EBS8, MX4, MX6, MX9, MX_BLOCK, MxFormat
from bitpath.golden.aie_ml_v2.declarations.modes import INT8, INT16, MODES, Mode
from bitpath.golden.aie_ml_v2.declarations.numerics import PRESETS, AieNumerics
from bitpath.golden.aie_ml_v2.exact import (
    Block,
    IntegerLaneTrace,
    LaneTrace,
    trace_float_lane,
    trace_integer_lane,
    trace_mx_lane,
    wrap,
)
from bitpath.golden.aie_ml_v2.matmul.matmul import FLOAT_FORMATS
from bitpath.golden.arrays.codec import codes_of
from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.rtl.aie_ml_v2.mac.config import LANE_OPERAND_BITS, LaneOperands, MacControl, MacLaneConfig, MacMode
from bitpath.verif.common.fp32 import numbers as fp32
from bitpath.verif.kit.batches import places
from bitpath.verif.kit.mismatches import Shown, explain_line
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.traffic import drawn
from bitpath.verif.kit.values import Integer, Number, code_text, codes_text

LANE = LaneOperands.as_shape()
CONTROL = MacControl.as_shape()
LANE_MASK = (1 << FP32.width) - 1
HALF = MX_BLOCK // 2
INTEGERS = {MacMode.INT8: INT8, MacMode.INT16: INT16}
TAKEN = {MacMode.MX6: MX6, MacMode.MX9: MX9}
"""Block format that the multipliers of an MX mode read."""
MX_MODES = tuple(TAKEN)
FLOATS = (MacMode.FLOAT16, MacMode.FLOAT8)


def row_of(mode: MacMode) -> Mode:
    """Return the mode's row of Table 7."""
    return MODES[mode.name.lower()]


def mode_of(fmt: MxFormat, numerics: AieNumerics) -> MacMode:
    """Return the mode that multiplies blocks of a format."""
    if fmt is BFP16EBS8:
        return MacMode.MX9
    return MacMode[numerics.mx4_path.value.upper() if fmt is MX4 else fmt.name.upper()]


def stream_bits(codes: Sequence[int], width: int) -> int:
    """Concatenate codes of ``width`` bits, the first lowest."""
    mask = (1 << width) - 1
    return sum((code & mask) << k * width for k, code in enumerate(codes))


@dataclass(frozen=True, kw_only=True)
class MacOptions:
    """Bits of the control word that select negations, the shift of acc1, and multiplication."""

    multiplies: bool = True
    negate_products: bool = False
    negate_acc1: bool = False
    negate_acc2: bool = False
    shift16: bool = False

    @property
    def signs(self) -> dict[str, bool]:
        return {name: getattr(self, name) for name in ("negate_products", "negate_acc1", "negate_acc2")}


PLAIN = MacOptions()


@dataclass(frozen=True, kw_only=True)
class LaneCase:
    """Operands of one lane for one instruction; both beats in MX9.

    Attributes
    ----------
    mode : mode of the multipliers.
    x, y : codes of floats, values of integers, or blocks of one MX format.
    formats : formats of x and y, for floats.
    signed : True for each of x and y that is a signed integer.
    acc1, acc2 : 32-bit codes; None if not added.
    options : the other bits of the control word.
    """

    mode: MacMode
    x: tuple[int, ...] | Block
    y: tuple[int, ...] | Block
    formats: tuple[FloatFormat, FloatFormat] | None = None
    signed: tuple[bool, bool] = (True, True)
    acc1: int | None = None
    acc2: int | None = None
    options: MacOptions = PLAIN

    @property
    def is_bfp16ebs8(self) -> bool:
        """True for a product of eight of XDNA2, in one beat of MX9 without shifts."""
        return isinstance(self.x, Block) and self.x.fmt is BFP16EBS8

    @property
    def element_bits(self) -> int:
        """Bits of an element of x and y."""
        if self.mode in MX_MODES:
            return TAKEN[self.mode].width
        return INTEGERS[self.mode].a_bits if self.mode in INTEGERS else self.formats[0].width

    @property
    def unread_bits(self) -> int:
        """Mask of the bits of ``LaneOperands`` that the mode ignores."""
        elements = {MacMode.MX6: MX_BLOCK, MacMode.MX9: HALF}.get(self.mode) or len(self.x)
        return _unread_bits(self.mode, elements * self.element_bits, self.is_bfp16ebs8)

    def trace(self, numerics: AieNumerics) -> LaneTrace | IntegerLaneTrace:
        """Return the exact tier's trace of the lane."""
        options, accumulators = self.options, (self.acc1, self.acc2)
        if self.mode in INTEGERS:
            numbers = (0 if acc is None else wrap(acc, FP32.width) for acc in accumulators)
            x, y = (self.x, self.y) if options.multiplies else ((), ())
            return trace_integer_lane(INTEGERS[self.mode], x, y, *numbers, shift16=options.shift16, **options.signs)
        if not options.multiplies:
            return trace_float_lane(numerics, (), (), *accumulators, **options.signs)
        if self.mode in MX_MODES:
            return trace_mx_lane(numerics, self.x, self.y, *accumulators, **options.signs)
        x, y = ([(code, fmt) for code in codes] for codes, fmt in zip((self.x, self.y), self.formats, strict=True))
        return trace_float_lane(numerics, x, y, *accumulators, **options.signs)

    def result(self, numerics: AieNumerics) -> int:
        """Return the exact tier's result, a 32-bit code."""
        return self.trace(numerics).result & LANE_MASK

    @property
    def number(self) -> Number:
        """Return the number format of accumulators and results."""
        return Integer(FP32.width) if self.mode in INTEGERS else FP32

    def shown(self, numerics: AieNumerics) -> Shown:
        """Return the operands as numbers, and the command that explains the lane."""
        accumulators = {name: code for name in ("acc1", "acc2") if (code := getattr(self, name)) is not None}
        switches = ("multiplies", "negate_products", "negate_acc1", "negate_acc2", "shift16")
        operands = {name: self._side_text(k) for k, name in enumerate("xy")}
        operands |= {name: code_text(self.number, code) for name, code in accumulators.items()}
        set_ = [name for name in switches if getattr(self.options, name)]
        operands["mode"] = ", ".join([self.mode.name, *set_])
        return Shown(operands=operands, explain=self._explain(numerics, accumulators), formats={"": self.number})

    def _side_text(self, side: int) -> str:
        """Return x (0) or y (1) as text."""
        own = (self.x, self.y)[side]
        if self.mode in MX_MODES:
            codes = ", ".join(map(str, own.codes))
            return f"{own.fmt.name} exponent {own.exponent:#04x}, shifts {own.shift:#04x}, codes {codes}"
        if self.mode in INTEGERS:
            return ", ".join(map(str, own))
        return f"{self.formats[side].name} {codes_text(self.formats[side], own)}"

    def _explain(self, numerics: AieNumerics, accumulators: dict[str, int]) -> str | None:
        """Return the command; None for cases without an explanation: no products, unsigned integers and shifted
        accumulators."""
        if not self.options.multiplies or self.options.shift16 or not all(self.signed):
            return None
        negated = [name.removeprefix("negate_") for name, negates in self.options.signs.items() if negates]
        options = {"negate": negated}
        if self.mode in INTEGERS:
            formats = [INTEGERS[self.mode].name] * 2
            x, y = (",".join(map(str, side)) for side in (self.x, self.y))
            options |= {name: str(wrap(code, FP32.width)) for name, code in accumulators.items()}
        else:
            options |= {name: f"{code:#010x}" for name, code in accumulators.items()}
            if self.mode in MX_MODES:
                formats = [self.x.fmt.name] * 2
                x, y = (
                    f"{side.exponent:02x}/{f'{side.shift:02x}/' * side.fmt.has_shifts}{','.join(map(str, side.codes))}"
                    for side in (self.x, self.y)
                )
            else:
                formats = [next(name for name, fmt in FLOAT_FORMATS.items() if fmt == own) for own in self.formats]
                x, y = (",".join(f"{code:#x}" for code in side) for side in (self.x, self.y))
        options |= {"x": x, "y": y, "format": formats[0], "y_format": formats[1]}
        return explain_line("aie_ml_v2", PRESETS, numerics, **options)

    def control_fields(self) -> dict[str, int]:
        """Return the fields of ``MacControl``; fields that the mode ignores are 0."""
        options = self.options
        formats = row_of(self.mode).formats
        x_format, y_format = (formats.index(each) for each in self.formats) if self.formats else (0, 0)
        x_signed, y_signed = map(int, self.signed) if self.mode in INTEGERS else (0, 0)
        return {
            "mode": self.mode.value,
            "x_format": x_format,
            "y_format": y_format,
            "x_signed": x_signed,
            "y_signed": y_signed,
            "multiplies": int(options.multiplies),
            "zero_acc1": int(self.acc1 is None),
            "use_acc2": int(self.acc2 is not None),
            "shift16": int(options.shift16),
            **{name: int(value) for name, value in options.signs.items()},
        }

    def operand_fields(self) -> Iterator[dict[str, int]]:
        """Yield the fields of ``LaneOperands`` other than the control word, one dict a beat."""
        if self.mode not in MX_MODES:
            yield {"x": stream_bits(self.x, self.element_bits), "y": stream_bits(self.y, self.element_bits)}
            return
        common = {"x_exponent": self.x.exponent, "y_exponent": self.y.exponent}
        x, y = (padded(block, self.mode) for block in (self.x, self.y))
        if self.mode is MacMode.MX6:
            shifts = {"x_shift": self.x.shift, "y_shift": self.y.shift}
            yield common | shifts | {"x": stream_bits(x, MX6.width), "y": stream_bits(y, MX6.width)}
            return
        for half in (0,) if self.is_bfp16ebs8 else (0, 1):
            part = slice(half * HALF, (half + 1) * HALF)
            shifts = {"x_shift": half_shifts(self.x.shift, half), "y_shift": half_shifts(self.y.shift, half)}
            data_bits = {"x": stream_bits(x[part], MX9.width), "y": stream_bits(y[part], MX9.width)}
            yield common | shifts | data_bits | {"high": half}

    def beats(self, junk: Random | None = None) -> list[int]:
        """Return the payloads of ``LaneOperands``; ignored bits are random if ``junk`` is given, else 0."""
        control = pack(CONTROL, self.control_fields()) << LANE["control"].offset
        unread = junk.getrandbits(LANE.size) & self.unread_bits if junk else 0
        return [control | unread | pack(LANE, fields) for fields in self.operand_fields()]


@cache
def _unread_bits(mode: MacMode, read: int, eights: bool) -> int:
    """Return the ignored bits of a mode that reads this many bits of either side; `eights` are blocks without shifts."""
    block_bytes = () if mode in MX_MODES else ("x_exponent", "y_exponent", "x_shift", "y_shift")
    block_bytes = ("x_shift", "y_shift") if eights else block_bytes
    above = (1 << LANE_OPERAND_BITS) - (1 << read)
    fields = {name: (1 << LANE[name].width) - 1 for name in block_bytes}
    control = {} if mode in INTEGERS else {"x_signed": 1, "y_signed": 1, "shift16": 1}
    if mode not in FLOATS:
        control |= {name: (1 << CONTROL[name].width) - 1 for name in ("x_format", "y_format")}
    return pack(
        LANE, fields | {"control": control, "x": above, "y": above, "high": int(eights or mode is not MacMode.MX9)}
    )


def lane_cases(
    mode: MacMode,
    x: np.ndarray | MxBlocks,
    y: np.ndarray | MxBlocks,
    formats: tuple[FloatFormat, FloatFormat] | None = None,
    **rest: Any,
) -> list[LaneCase]:
    """Return the steps of a lane from operands [steps, k], or blocks [steps, 1]; ``rest`` are fields of all cases."""
    sides = [list(_steps(side)) for side in (x, y)]
    return [LaneCase(mode=mode, x=a, y=b, formats=formats, **rest) for a, b in zip(*sides, strict=True)]


def _steps(side: np.ndarray | MxBlocks) -> Iterator[tuple[int, ...] | Block]:
    if isinstance(side, MxBlocks):
        columns = (side.exponent[:, 0].tolist(), side.shift[:, 0].tolist(), side.codes[:, 0].tolist())
        yield from (Block(side.fmt, *each, tuple(codes)) for *each, codes in zip(*columns, strict=True))
    else:
        codes = side if side.dtype.kind in "iu" else codes_of(side)
        yield from map(tuple, codes.tolist())


def chain_shown(numerics: AieNumerics, steps: Sequence[LaneCase], operands: dict[str, str]) -> Shown:
    """Show the last step of a lane, each of whose results is the next one's acc1; ``operands`` come first."""
    steps = list(steps)
    for index, before in enumerate(steps[:-1]):
        steps[index + 1] = replace(steps[index + 1], acc1=before.result(numerics))
    last = steps[-1].shown(numerics)
    return replace(last, operands=operands | {"last step": f"{len(steps) - 1}, which is"} | dict(last.operands))


def half_shifts(shift: int, half: int) -> int:
    """Return the four shift bits of a half block."""
    return shift >> half * HALF // 2 & 0xF


def padded(block: Block, mode: MacMode) -> tuple[int, ...]:
    """Return a block's codes in the mode's width; MX4's are padded with zeros below."""
    zeros = TAKEN[mode].width - block.fmt.width
    return tuple(code << zeros for code in block.codes)


def block_array(blocks: Sequence[Block]) -> MxBlocks:
    """Return blocks of one format as golden's ``MxBlocks`` [N, 1]."""
    exponent, shift = (np.array([[getattr(b, name)] for b in blocks], np.uint8) for name in ("exponent", "shift"))
    return MxBlocks(blocks[0].fmt, exponent, shift, np.array([[b.codes] for b in blocks], np.int8))


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


def lane_operands(source: Random) -> Iterator[int]:
    """Both beats of an MX9 block first, since the lane's held half has no reset; then random beats."""
    layout = places(LaneOperands)
    (mode, mode_bits), (high, _) = layout["control.mode"], layout["high"]
    width = sum(bits for _, bits in layout.values())
    other = (1 << width) - 1 & ~((1 << mode_bits) - 1 << mode | 1 << high)
    blocks = (source.getrandbits(width) & other | MacMode.MX9.value << mode | beat << high for beat in range(2))
    return chain(blocks, drawn(lambda: source.getrandbits(width)))


def wide_operands(source: Random) -> Iterator[int]:
    """Signals of a lower and of an upper lane."""
    lower, upper = lane_operands(source), lane_operands(source)
    return (
        low | high << sum(bits for _, bits in places(LaneOperands).values())
        for low, high in zip(lower, upper, strict=False)
    )


def lane_valid(source: Random) -> Iterator[int]:
    """A beat in both first cycles, then in half of all."""
    return chain((1, 1), drawn(lambda: source.getrandbits(1)))
