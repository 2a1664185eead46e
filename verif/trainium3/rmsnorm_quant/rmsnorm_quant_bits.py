"""Rows for the RMSNorm-Quant row unit in which one bit decides: of a comparison, or below a rounding."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

import numpy as np

from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.trainium3.declarations.vector import ROW_TILE, TRAINIUM3_RMSNORM_QUANT, EpsPlacement
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant import MODES, Case
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant_rows import Options, Rows

NUMERICS = TRAINIUM3_RMSNORM_QUANT.numerics
RANGE = np.float32(NUMERICS.output_range)
STEP = np.float32(1 / NUMERICS.output_range)
FLOOR = np.float32(float(NUMERICS.min_dequant_scale))
PLAIN = Options(quant_only=True)
ONE = BF16.bias << BF16.fraction_bits
NEAREST = 4
"""Commands of rows that come nearest to a tie."""
CANDIDATES = 1 << 16
"""Rows of which those are taken that come nearest to a tie: about one of them is a tie but for a unit in FP32."""
LONE_ELEMENTS = 32
"""Commands of rows of one."""
UNREACHED = 3e38
"""A bound above all rows."""
Codes = Sequence[int]


def cases_of_one_bit(rng: Random, lanes: int, longest: int) -> Iterator[Case]:
    """Yield the cases of all functions below; ``longest``, the longest row, must be 2 or more."""
    for kind, options, rows in (*_largest(rng), *_bounds(rng), *_rounded_bounds(), *_range(), *_floors(), *_casts()):
        # The last command's rows begin again.
        for first in range(0, len(rows), lanes):
            hidden = np.array([rows[(first + k) % len(rows)] for k in range(lanes)], np.uint16).view(DTYPES[BF16])
            in_scale = np.ones((ROW_TILE, 1), np.float32) if options.static else None
            yield Case(Rows(hidden=hidden, gamma=None, in_scale=in_scale, options=options), kind)
    yield from _in_scales(rng, lanes)
    yield from _squares(lanes)
    yield from _nearly_ones(rng, lanes)
    yield from _next_to_ties(rng, lanes, longest)


def _largest(rng: Random) -> Iterator[tuple[str, Options, list[Codes]]]:
    """Two elements that differ in one bit, in both orders, and with the other fraction bits inverted, and a NaN one bit away from infinity."""
    for bit in range(BF16.width - 1):
        code = rng.randrange(ONE, 2 * ONE)
        rows = [(each, each ^ 1 << bit) for each in (code, code ^ BF16.fraction_mask)]
        yield f"largest by bit {bit}", PLAIN, [*rows, *(row[::-1] for row in rows)]
    for bit in range(BF16.fraction_bits):
        rows = [(BF16.infinity_code | 1 << bit, ONE), (ONE, BF16.infinity_code | 1 << bit)]
        for options in (PLAIN, _bounded(np.float32(1))):
            yield f"NaN by bit {bit}", options, rows


def _bounds(rng: Random) -> Iterator[tuple[str, Options, list[Codes]]]:
    """A bound of FP32 and elements that differ from it in one bit, and in none of BF16's."""
    for bit in range(BF16.width - 1):
        code, below = rng.randrange(ONE, ONE + 512), rng.getrandbits(FP32.width - BF16.width)
        bound = np.array(code << 16 | below, np.uint32).view(np.float32)
        rows = [(each | sign, each | sign) for each in (code, code ^ 1 << bit) for sign in (0, BF16.sign_mask)]
        yield f"bound by bit {bit}", _bounded(bound), rows


def _rounded_bounds() -> Iterator[tuple[str, Options, list[Codes]]]:
    """Bounds but a bit from half-way between two BF16 numbers, which the smallest scale gives different codes."""
    lowest, highest = (int(np.float32(number).view(np.uint32)) >> 16 for number in (2 * FLOOR, FLOOR * RANGE / 2))
    numbers = np.arange(lowest, highest, dtype=np.uint16)
    codes = (numbers.view(DTYPES[BF16]).astype(np.float32) / FLOOR).astype(DTYPES[NUMERICS.output]).view(np.uint8)
    (apart,) = np.nonzero(codes[:-1] != codes[1:])
    half = 1 << FP32.width - BF16.width - 1
    for below in range(FP32.width - BF16.width):
        for odd in (0, 1):
            number = next(int(each) for each in numbers[apart[below:]] if each & 1 == odd)
            for lower in {half, half ^ 1 << below, half - (1 << below)}:
                bound = np.array(number << 16 | lower, np.uint32).view(np.float32)
                yield f"bound to BF16 by bit {below}", _bounded(bound), [(ONE, ONE | BF16.sign_mask)]


def _range() -> Iterator[tuple[str, Options, list[Codes]]]:
    """Elements that differ in one bit from the largest number of the output, and NaN by one bit, by a static scale of 1."""
    most = int(RANGE.astype(DTYPES[BF16]).view(np.uint16))
    codes = [most, *(most ^ 1 << bit for bit in range(BF16.width - 1))]
    codes += [BF16.infinity_code, *(BF16.infinity_code | 1 << bit for bit in range(BF16.fraction_bits))]
    yield "range", replace(PLAIN, quant_type="static"), [(code, code | BF16.sign_mask) for code in codes]


def _floors() -> Iterator[tuple[str, Options, list[Codes]]]:
    """Bounds whose scale differs from the smallest one first in one bit."""
    near = _around(FLOOR * RANGE, 1 << FP32.fraction_bits)
    apart = (near * STEP).view(np.uint32) ^ FLOOR.view(np.uint32)
    for bit in range(FP32.fraction_bits):
        bound = near[(apart >> np.uint32(bit)) == 1]
        for each in {bound[0], bound[-1]}:
            yield f"floor by bit {bit}", _bounded(each), [(ONE, ONE)]


def _casts() -> Iterator[tuple[str, Options, list[Codes]]]:
    """Products that are half-way between two codes but for one bit: those of 1 by the reciprocal of the scale."""
    dropped = FP32.fraction_bits - NUMERICS.output.fraction_bits
    for bit in range(dropped - 1):
        odd = np.uint32(FP32.bias << FP32.fraction_bits | 1 << dropped - 1 | 1 << bit)
        bound = _around(RANGE / odd.view(np.float32), 64)
        (found,) = np.nonzero((np.float32(1) / (bound * STEP)).view(np.uint32) == odd)
        large = ONE + (8 << BF16.fraction_bits)
        yield f"cast by bit {bit}", _bounded(bound[found[0]]), [(large, ONE), (large, ONE | BF16.sign_mask)]


def _in_scales(rng: Random, lanes: int) -> Iterator[Case]:
    """Two neighbours as scales by which an element becomes different codes, for all bits between the one and the other."""
    # Above it BF16 has a number whose code is 1.125, up to it one whose code is 1.
    limit = np.float32(1 + 2.0**-4 + 2.0**-8)
    for _ in range(FP32.fraction_bits):
        element = rng.randrange(ONE, ONE + (1 << BF16.fraction_bits))
        number = np.array(element, np.uint16).view(DTYPES[BF16]).astype(np.float32)
        scales = _around(number / limit, 64)
        (beyond,) = np.nonzero(number * (np.float32(1) / scales) > limit)
        in_scale = np.resize(scales[beyond[-1] : beyond[-1] + 2], (ROW_TILE, 1))
        hidden = np.array([(element, element | BF16.sign_mask)] * lanes, np.uint16).view(DTYPES[BF16])
        options = replace(PLAIN, quant_type="static")
        yield Case(Rows(hidden=hidden, gamma=None, in_scale=in_scale, options=options), "scale by a bit")


def _squares(lanes: int) -> Iterator[Case]:
    """Squares of one bit, most of them subnormal, alone in their sum, which the scale shows; with eps they would be nothing."""
    roots = [np.float32(2.0 ** (bit / 2)) for bit in range(FP32.emin - FP32.fraction_bits, FP32.emin + 2)]
    for placement in EpsPlacement:
        options = Options(eps=0.0, eps_placement=placement.value)
        for zeros in (0, 1):
            for first in range(0, len(roots), lanes):
                rows = [[0] * zeros + [roots[(first + k) % len(roots)]] for k in range(lanes)]
                hidden = np.array(rows, np.float32).astype(DTYPES[BF16])
                gamma = np.ones(1 + zeros, DTYPES[BF16])
                yield Case(Rows(hidden=hidden, gamma=gamma, in_scale=None, options=options), "squares of one bit")


def _nearly_ones(rng: Random, lanes: int) -> Iterator[Case]:
    """Rows of one element, which without eps becomes 1 but for a unit or so, by a gamma half-way between two numbers of BF16."""
    half = 1 << FP16.fraction_bits - BF16.fraction_bits - 1
    for _ in range(LONE_ELEMENTS):
        above_one = rng.randrange(1 << BF16.fraction_bits) << FP16.fraction_bits - BF16.fraction_bits
        gamma = np.array([FP16.bias << FP16.fraction_bits | above_one | half], np.uint16).view(DTYPES[FP16])
        hidden = np.array([[rng.randrange(ONE, ONE + 512)] for _ in range(lanes)], np.uint16).view(DTYPES[BF16])
        yield Case(Rows(hidden=hidden, gamma=gamma, in_scale=None, options=Options(eps=0.0)), "nearly one")


def _next_to_ties(rng: Random, lanes: int, longest: int) -> Iterator[Case]:
    """Rows whose largest element in FP32 is nearest of many to half-way between two numbers of BF16, or above it by one bit; their
    scales show it."""
    draw = np.random.default_rng(rng.getrandbits(64))
    for mode in MODES:
        if mode.gamma is None or mode.bounded or mode.options.static:
            continue
        for length in (2, 3, 5, 7, 19):
            shape = CANDIDATES, min(length, longest)
            hidden = draw.normal(size=shape).astype(DTYPES[BF16])
            gamma = draw.normal(1, 0.3, shape[1]).astype(mode.gamma)
            weighted = _weighted(hidden.astype(np.float32), gamma.astype(np.float32), mode.options)
            apart = (abs(weighted).max(axis=1).view(np.uint32) & 0xFFFF).astype(int) - 0x8000
            nearest = np.argsort(abs(apart), kind="stable")[: NEAREST * lanes]
            (one_bit_above,) = np.nonzero((apart > 0) & (apart & apart - 1 == 0))
            chosen = np.concatenate([nearest, one_bit_above])
            chosen = np.resize(chosen, (-(-len(chosen) // lanes), lanes))
            # A bound that no element reaches changes nothing.
            for number, rows in enumerate(chosen):
                options = replace(mode.options, lower_bound=UNREACHED) if number & 1 else mode.options
                given = Rows(hidden=hidden[rows], gamma=gamma, in_scale=None, options=options)
                yield Case(given, f"next to a tie, {length} elements")


def _weighted(x: np.ndarray, gamma: np.ndarray, options: Options) -> np.ndarray:
    """Normalised elements before their rounding, as nearly as numpy has them: rows are chosen by it, not judged."""
    total = np.zeros(len(x), np.float32)
    for column in x.T:
        total = total + column * column
    mean, eps = total * np.float32(1 / x.shape[1]), np.float32(options.eps)
    root = np.sqrt(mean.astype(float)) + eps if options.eps_after_root else np.sqrt((mean + eps).astype(float))
    return x * (1 / root).astype(np.float32)[:, None] * gamma


def _bounded(bound: np.float32) -> Options:
    return replace(PLAIN, lower_bound=float(bound))


def _around(number: np.float32, steps: int) -> np.ndarray:
    """FP32 numbers up to ``steps`` units in the last place from a positive one."""
    return (np.float32(number).view(np.uint32) + np.arange(-steps, steps + 1)).astype(np.uint32).view(np.float32)
