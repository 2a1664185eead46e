"""Volume operands of a lane: the classes of ``mac`` as arrays.

A batch is every pair of some X and some Y of one mode, each pair with accumulators of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bitpath.golden.aie_ml_v2 import MxBlocks, fused_dot, integer_dot
from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK, MX_PAIRS, MxFormat
from bitpath.golden.aie_ml_v2.declarations.modes import TIMINGS
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.rtl.aie_ml_v2.mac.config import LaneOperands, MacLaneConfig, MacMode
from bitpath.rtl.aie_ml_v2.mac.mac_lane import ACC_LEAD, OPERAND_CYCLE
from bitpath.verif.aie_ml_v2.mac.mac import HALF, INTEGERS, TAKEN, kind_name, kinds_of, mode_of, row_of
from bitpath.verif.common.fp32 import numbers as fp32
from bitpath.verif.kit.batches import Batch, Part, fill, places, side_by_side, words_of
from bitpath.verif.kit.volume import Generator, VolumeTask, of_any_block

SIDE = 128
"""Number of operands of each side in a batch."""
LAYOUT = places(LaneOperands)
BEAT_WORDS = words_of(sum(width for _, width in LAYOUT.values()))
ACCUMULATORS = ("none", "any", "edges", "near 1", "near", "cancelling")
"""Classes of accumulators: absent, arbitrary, within some binades of the products, or cancelling them."""
SIGNS = ("negate_products", "negate_acc1", "negate_acc2")
GOLDEN_MODES = {MacMode.FLOAT16: "bf16", MacMode.FLOAT8: "fp8"}
"""Golden's names of the float modes: in the first either operand may be of either format."""


@dataclass(frozen=True, eq=False)
class Lane:
    """Operands of a batch of pairs.

    Attributes
    ----------
    kind : MX format or mode.
    x, y : blocks [SIDE, 1], codes of floats or integers [SIDE, K].
    formats : formats of x and y, for floats.
    signed : True for each of x and y that is a signed integer.
    acc1, acc2 : FP32 or INT32 codes [SIDE, SIDE], for all pairs; None if not added.
    signs : golden's three negation arguments.
    shift16 : True to shift acc1 left by 16, for integers.
    """

    kind: MxFormat | MacMode
    x: MxBlocks | np.ndarray
    y: MxBlocks | np.ndarray
    formats: tuple[FloatFormat, FloatFormat] | None = None
    signed: tuple[bool, bool] = (True, True)
    acc1: np.ndarray | None = None
    acc2: np.ndarray | None = None
    signs: tuple[bool, bool, bool] = (False, False, False)
    shift16: bool = False

    @property
    def is_integer(self) -> bool:
        return self.kind in INTEGERS

    def answer(self, numerics: AieNumerics) -> np.ndarray:
        """Return golden's results of all pairs, codes uint32 [SIDE, SIDE]."""
        signs = dict(zip(SIGNS, self.signs, strict=True))
        accumulators = (None if acc is None else acc.astype(np.uint32) for acc in (self.acc1, self.acc2))
        if self.is_integer:
            numbers = (None if acc is None else acc.view(np.int32).astype(np.int64) for acc in accumulators)
            names = {"signed_a": self.signed[0], "signed_b": self.signed[1], "shift16": self.shift16}
            mode = kind_name(self.kind)
            total = integer_dot(self.x[:, np.newaxis], self.y[np.newaxis], *numbers, mode=mode, **names, **signs)
            return (total & 0xFFFFFFFF).astype(np.uint32)
        floats = (None if acc is None else acc.view(np.float32) for acc in accumulators)
        if isinstance(self.kind, MxFormat):
            x, y, fmt = self.x, self.y, self.kind.name
        else:
            x, y = (
                each.astype(f"u{fmt.width // 8}").view(DTYPES[fmt])
                for each, fmt in zip((self.x, self.y), self.formats, strict=True)
            )
            fmt = GOLDEN_MODES[self.kind]
        total = fused_dot(x[:, np.newaxis], y[np.newaxis], *floats, format=fmt, numerics=numerics, **signs)
        return np.ascontiguousarray(total).view(np.uint32)


def float_codes(rng: Generator, fmt: FloatFormat, depth: int, place: float) -> np.ndarray:
    """Codes [SIDE, K]: rows within a few binades of a place in the format's range, rows of edges, and rows of anything."""
    shape = (SIDE, depth)
    top = (fmt.max_code >> fmt.fraction_bits) - 1
    spread = rng.choice((0, 2, 6), (SIDE, 1))
    exponent = np.clip(round(place * top) + rng.integers(-spread, spread + 1, shape), 0, top)
    sign = rng.integers(0, 2, shape) * fmt.sign_mask
    near = exponent << fmt.fraction_bits | rng.integers(0, 1 << fmt.fraction_bits, shape)
    near = np.where(rng.random(shape) < 0.1, 0, near)
    magnitudes = [0, 0, 1, fmt.fraction_mask, 1 << fmt.fraction_bits, fmt.max_code, fmt.max_code, fmt.sign_mask - 1]
    magnitudes += [] if fmt.infinity_code is None else [fmt.infinity_code]
    # An infinity or NaN affects every pair of its row or column, so only few rows have one.
    special = np.array(magnitudes)[rng.integers(0, len(magnitudes), shape)]
    anything = rng.integers(0, fmt.sign_mask, shape)
    which = rng.choice(3, (SIDE, 1), p=(0.9, 0.04, 0.06))
    return np.choose(which, (near, special, anything)) | sign


def blocks(rng: Generator, fmt: MxFormat) -> MxBlocks:
    """Blocks [SIDE, 1], most of ordinary exponents and codes, the most negative one included."""
    exponent = np.where(rng.random(SIDE) < 0.75, rng.integers(120, 135, SIDE), rng.integers(0, 256, SIDE))
    exponent = np.where(rng.random(SIDE) < 0.06, rng.choice((0, 1, 254, 255), SIDE), exponent)
    high = np.where(rng.random((SIDE, 1)) < 0.8, fmt.max_code, rng.integers(0, 2, (SIDE, 1)))
    low = np.where(rng.random((SIDE, 1)) < 0.9, -high - 1, fmt.min_code)
    codes = rng.integers(low, high + 1, (SIDE, MX_BLOCK))
    ends = np.where(rng.integers(0, 2, codes.shape) == 0, low, 0)
    codes = np.where(rng.random(codes.shape) < 0.1, ends, codes)
    shift = rng.integers(0, 1 << MX_PAIRS, (SIDE, 1)).astype(np.uint8)
    return MxBlocks(fmt, exponent.astype(np.uint8)[:, np.newaxis], shift, codes.astype(np.int8)[:, np.newaxis])


def integers(rng: Generator, bits: int, depth: int, signed: bool) -> np.ndarray:
    """Integers [SIDE, K] over all of their range, in some rows at its ends."""
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    anything = rng.integers(low, high + 1, (SIDE, depth))
    ends = rng.choice((low, high), (SIDE, depth))
    return np.where(rng.random((SIDE, 1)) < 0.2, ends, anything)


def accumulator(rng: Generator, name: str, alone: np.ndarray | None) -> np.ndarray | None:
    """Return accumulators of a class, codes [SIDE, SIDE]; ``alone`` is the sum of the products only."""
    shape = (SIDE, SIDE)
    sign, fraction = rng.integers(0, 2, shape) << 31, rng.integers(0, 1 << FP32.fraction_bits, shape)
    match name:
        case "none":
            return None
        case "any":
            return rng.integers(0, 1 << FP32.width, shape)
        case "edges":
            return rng.choice(np.array(fp32.EDGES), shape)
        case "near 1":
            return sign | FP32.bias + rng.integers(-3, 4, shape) << FP32.fraction_bits | fraction
        case "near":
            own = alone >> FP32.fraction_bits & FP32.exponent_mask
            biased = np.clip(own + rng.integers(-27, 28, shape), 0, FP32.exponent_mask - 1)
            return sign | biased << FP32.fraction_bits | fraction
        case _:
            return (alone ^ FP32.sign_mask) + rng.integers(-2, 3, shape) & 0xFFFFFFFF


def operands(rng: Generator, kind: MxFormat | MacMode) -> Lane:
    if isinstance(kind, MxFormat):
        return Lane(kind, blocks(rng, kind), blocks(rng, kind))
    row = row_of(kind)
    if kind in INTEGERS:
        signed = tuple(bool(each) for each in rng.integers(0, 2, 2))
        x, y = (integers(rng, row.a_bits, row.depth, each) for each in signed)
        return Lane(kind, x, y, signed=signed, shift16=rng.random() < 0.3)
    formats = tuple(row.formats[k] for k in rng.integers(0, len(row.formats), 2))
    # The sum of both exponents decides if results are small, ordinary or large.
    x, y = (float_codes(rng, fmt, row.depth, rng.random()) for fmt in formats)
    return Lane(kind, x, y, formats=formats)


def batches(config: MacLaneConfig, rng: Generator) -> Iterator[Batch]:
    """Yield a batch for every mode and class of acc1; the class of acc2 is random."""
    for kind in kinds_of(config):
        for first in ACCUMULATORS:
            second = ACCUMULATORS[rng.integers(0, len(ACCUMULATORS))] if rng.random() < 0.5 else "none"
            given = replace(operands(rng, kind), signs=tuple(bool(each) for each in rng.random(3) < 0.3))
            yield lane_batch(
                config.numerics, f"acc1 {first}, acc2 {second}", with_accumulators(config, rng, given, first, second)
            )


def with_accumulators(config: MacLaneConfig, rng: Generator, given: Lane, first: str, second: str) -> Lane:
    """The operands with accumulators of two classes."""
    alone = None
    if {first, second} & {"near", "cancelling"}:
        plain = replace(given, signs=(given.signs[0], False, False))
        alone = plain.answer(config.numerics).astype(np.int64)
        if given.is_integer:
            # Negating an integer negates its code modulo 2**32.
            alone = -alone & 0xFFFFFFFF
    acc1, acc2 = (accumulator(rng, name, alone) for name in (first, second))
    return replace(given, acc1=acc1, acc2=acc2)


def lane_batch(numerics: AieNumerics, kind: str, given: Lane) -> Batch:
    """Every X with every Y."""
    mode = mode_of(given.kind, numerics) if isinstance(given.kind, MxFormat) else given.kind
    timing = TIMINGS[row_of(mode).datapath]
    beats, count = len(timing.operand_reads), SIDE * SIDE
    control = _control(mode, given)
    tables = []
    for side, operand in (("x", given.x), ("y", given.y)):
        # The control word comes with X.
        common = control if side == "x" else []
        rows = [fill(SIDE, BEAT_WORDS, [*common, *_beat(mode, side, operand, beat)]) for beat in range(beats)]
        tables.append(np.hstack(rows))
    which = np.repeat(np.arange(SIDE, dtype=np.uint32), SIDE), np.tile(np.arange(SIDE, dtype=np.uint32), SIDE)
    parts = [Part(table, index) for table, index in zip(tables, which, strict=True)]
    # Unused accumulators are random.
    junk = np.arange(count, dtype=np.uint32) * np.uint32(0x9E3779B1)
    late = [junk if acc is None else acc.ravel().astype(np.uint32) for acc in (given.acc1, given.acc2)]
    parts.append(Part(np.stack(late, axis=1), None, beats * BEAT_WORDS))
    name = f"{kind_name(given.kind)}, {kind}"
    latency = timing.write - OPERAND_CYCLE
    return Batch(name, tuple(parts), count, lambda: given.answer(numerics).ravel(), beats, latency, ACC_LEAD)


def _control(mode: MacMode, given: Lane) -> list[tuple[int, int, int]]:
    """The fields of the control word."""
    formats = [row_of(mode).formats.index(fmt) for fmt in given.formats or ()] or [0, 0]
    values = {
        "mode": mode.value,
        "x_format": formats[0],
        "y_format": formats[1],
        "x_signed": given.signed[0],
        "y_signed": given.signed[1],
        "multiplies": True,
        "zero_acc1": given.acc1 is None,
        "use_acc2": given.acc2 is not None,
        "shift16": given.shift16,
        **dict(zip(SIGNS, given.signs, strict=True)),
    }
    return [(*LAYOUT[f"control.{name}"], int(value)) for name, value in values.items()]


def _beat(mode: MacMode, side: str, operand: MxBlocks | np.ndarray, beat: int) -> Iterator[tuple[int, int, np.ndarray]]:
    """The fields of one side in one beat."""
    lowest, _ = LAYOUT[side]
    if not isinstance(operand, MxBlocks):
        width = INTEGERS[mode].a_bits if mode in INTEGERS else row_of(mode).formats[0].width
        yield from ((lowest + k * width, width, operand[:, k]) for k in range(operand.shape[1]))
        return
    taken = TAKEN[mode]
    # MX4's codes are padded with zeros.
    codes = operand.codes[:, 0].astype(np.int64) << taken.width - operand.fmt.width
    shift = operand.shift[:, 0]
    if mode is MacMode.MX9:
        codes = codes[:, beat * HALF : (beat + 1) * HALF]
        shift = shift >> beat * HALF // 2 & 0xF
        yield (*LAYOUT["high"], beat if side == "x" else 0)
    yield from ((lowest + k * taken.width, taken.width, codes[:, k]) for k in range(codes.shape[1]))
    yield (*LAYOUT[f"{side}_exponent"], operand.exponent[:, 0])
    yield (*LAYOUT[f"{side}_shift"], shift)


def _lane_layout() -> dict[str, tuple[int, int]]:
    """Return the places of one beat's fields; an MX9 vector's accumulators follow its second beat."""
    return side_by_side(("", LaneOperands))


VOLUMES = (
    VolumeTask(
        name="volume-aie_ml_v2",
        machine="aie_ml_v2",
        unit="mac_lane",
        what="a lane's products and two accumulators: every mode and pair of formats, 6 classes of accumulators",
        config=MacLaneConfig,
        block_vectors=len(kinds_of(MacLaneConfig())) * len(ACCUMULATORS) * SIDE**2,
        batches=partial(of_any_block, batches),
        layout=_lane_layout,
    ),
)
