"""Candidate dots of Tensix: register words whose products and sums lie around ties and alignment edges."""

import numpy as np

from bitpath.golden.arrays.codec import encode_array
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.tensix.declarations.formats import BLOCK, COLUMNS, Format, Style
from bitpath.sim.study.probe.unit import Dots, stacked

RANDOM = 500
"""Random candidates of each kind."""

DOTS: list[tuple[float, dict[int, tuple[float, float]]]] = [
    (-1.0, {0: (2.0**12, 2.0**12)}),
    (1.0, {0: (2.0**12, 2.0**12)}),
    (0.0, {0: (1.0, 1.0), 4: (2.0**-11, 1.0)}),
    (0.0, {0: (1.0, 1.0), 8: (2.0**-11, 1.0)}),
    (0.0, {0: (1.0, 1.0), 4: (-(2.0**-11), 1.0)}),
    (0.0, {0: (1.0, 1.0), 1: (3 * 2.0**-12, 1.0)}),
    (-1 - 2.0**-23, {0: (1.0, 1.0)}),
    *((0.0, {0: (1.0, a)}) for a in (1 + 2.0**-5, 1 + 2.0**-4)),
    *((0.0, {0: (b, 1.0)}) for b in (1 + 2.0**-7, 1 + 2.0**-6)),
    (0.0, {0: (2.0**100, 2.0**100)}),
]
"""Hand-made dots: Dst, and the operands (SrcB, SrcA) by index."""
ELEMENTS = [
    (0.0, 1.0, -(2.0**-11)),
    (0.0, 1.0, 2.0**-11),
    (0.0, 1.0, 2.0**-8),
    (0.0, -1.4921875, 1.0703125),
    (0.0, 1.4921875, 1.0703125),
    (0.0, 2.0**100, 2.0**100),
    (0.0, np.inf, -np.inf),
    (0.0, np.inf, np.inf),
    (0.0, np.inf, 0.0),
    (0.0, 1.0, 2.0**-127),
    (2.0**-126, 2.0**-127, 2.0**-127),
]
"""Hand-made element-wise operands: Dst, SrcB, SrcA."""


def dot_pool(style: Style, srcb_format: Format, dst32: bool, seed: int) -> Dots:
    """Return operands of MVMUL: the hand-made dots, and sparse ones with exponents around the alignment's edges."""
    if style is Style.INT8:
        return _integer_pool(seed)
    rng = np.random.default_rng([seed, len(style.value), srcb_format, dst32])
    narrow = style is Style.FP16
    middle, top = (15, 31) if narrow else (127, 255)
    fraction_b = 7 if srcb_format is Format.BF16 else 10
    fraction_a = 7 if style is Style.BF16 else 10
    b, a = (_sources(rng, (RANDOM, COLUMNS), middle, top, bits) for bits in (fraction_b, fraction_a))
    few = rng.integers(0, COLUMNS, (RANDOM, COLUMNS)) < rng.integers(1, 8, (RANDOM, 1))
    b = np.where(few, b, 0).astype(np.uint32)
    dst = _dst(rng, narrow, dst32)
    if narrow:
        # Zero products have an exponent too, 97 with a 32-bit Dst: numbers below it, alone.
        b[:16], dst[:16] = 0, rng.integers(60 << 23, 98 << 23, 16) if dst32 else 0
        return {"dst": dst, "src_b": b, "src_a": a}
    by_hand = {"dst": np.zeros(len(DOTS), np.uint32)} | {
        name: np.zeros((len(DOTS), COLUMNS), np.uint32) for name in ("src_b", "src_a")
    }
    for n, (start, products) in enumerate(DOTS):
        by_hand["dst"][n] = _fp32(start) >> (0 if dst32 else 16)
        for k, (x, y) in products.items():
            by_hand["src_b"][n, k], by_hand["src_a"][n, k] = _fp32(x) >> 13, _fp32(y) >> 13
    return stacked(by_hand, {"dst": dst, "src_b": b, "src_a": a})


def row_pool(seed: int) -> Dots:
    """Return operands of MVMUL with row broadcast: FP32 subnormals in the row that it need not write."""
    rng = np.random.default_rng([seed, 1])
    b, a = (_sources(rng, (4, COLUMNS), 127, 255, 7) for _ in range(2))
    dst = rng.integers(1, 1 << 23, (4, 2), dtype=np.uint32)
    return {"dst": dst | np.uint32(1 << 31) * rng.integers(0, 2, (4, 2), dtype=np.uint32), "src_b": b, "src_a": a}


def element_pool(dst32: bool, seed: int) -> Dots:
    """Return BF16 operands of ELWMUL and ELWADD."""
    rng = np.random.default_rng([seed, 2, dst32])
    codes = np.array([[_fp32(value) for value in values] for values in ELEMENTS], np.uint32)
    by_hand = {"dst": codes[:, 0] >> (0 if dst32 else 16), "src_b": codes[:, 1] >> 13, "src_a": codes[:, 2] >> 13}
    b, a = (_sources(rng, (RANDOM,), 127, 255, 7) for _ in range(2))
    return stacked(by_hand, {"dst": _dst(rng, False, dst32), "src_b": b, "src_a": a})


def pack_pool(seed: int) -> Dots:
    """Return FP32 Dst words at ties between BF16 numbers, and specials."""
    rng = np.random.default_rng([seed, 3])
    ties = rng.integers(0, 1 << 16, 32, dtype=np.uint32) << np.uint32(16) | np.uint32(0x8000)
    return {"dst": np.concatenate([ties, np.array([1, 0x80000001, 0x7F800001, 0x7F7FFFFF, 0xFF800000], np.uint32)])}


def l1_pool(seed: int) -> Dots:
    """Return FP16 numbers whose sum cancels or leaves the range below."""
    rng = np.random.default_rng([seed, 4])
    x = rng.integers(0, 1 << 15, 32, dtype=np.uint32)
    x[:12] = 0x7800 + x[:12] % 0x800  # exponents 30 and 31
    x[12:24] = 0x0400 + x[12:24] % 0x400  # exponent 1, whose differences are below the range
    near = np.where(np.arange(32) % 2, x, x ^ rng.integers(0, 4, 32, dtype=np.uint32))
    return {"dst": x, "l1": (near ^ 0x8000).astype(np.uint16)}


def block_pool(seed: int) -> Dots:
    """Return blocks of small exponents: a datum's leading zeros take the exponent below 0."""
    rng = np.random.default_rng([seed, 5])
    return {"exponent": np.arange(8, dtype=np.uint8), "datums": rng.integers(0, 256, (8, BLOCK), dtype=np.uint8)}


def fp8_pool(seed: int) -> Dots:
    """Return FP8 codes, first those with all bits but the sign set."""
    return {"code": np.append([0x7F, 0xFF], np.random.default_rng([seed, 7]).integers(0, 256, 14)).astype(np.uint8)}


def _integer_pool(seed: int) -> Dots:
    """Return integers, some of them with the exponent field 0."""
    rng = np.random.default_rng([seed, 6])
    sign, exponent, magnitude = (rng.integers(0, n, (2, 8, COLUMNS)) for n in (2, 2, 256))
    words = (sign << 18 | exponent * 16 << 10 | magnitude).astype(np.uint32)
    return {"dst": rng.integers(0, 1 << 20, 8, dtype=np.uint32), "src_b": words[0], "src_a": words[1]}


def _sources(rng: np.random.Generator, shape: tuple[int, ...], middle: int, top: int, fraction_bits: int) -> np.ndarray:
    """Return source words: exponents around the middle, few fraction bits set, some exponents at the range's ends."""
    exponent = np.clip(middle + rng.integers(-7, 8, shape), 1, top - 1)
    exponent = np.where(rng.random(shape) < 0.06, rng.choice([0, 1, top - 1, top], shape), exponent)
    fraction = np.zeros(shape, np.int64)
    for _ in range(3):
        fraction |= np.where(rng.random(shape) < 0.5, 1 << rng.integers(0, fraction_bits, shape), 0)
    sign = rng.integers(0, 2, shape)
    return (sign << 18 | exponent << 10 | fraction << 10 - fraction_bits).astype(np.uint32)


def _dst(rng: np.random.Generator, fp16: bool, dst32: bool) -> np.ndarray:
    """Return Dst words: zeros, and numbers whose distance from the products is at most a significand."""
    exponent_bits, fraction_bits = (8, 23) if dst32 else (5, 10) if fp16 else (8, 7)
    bias = (1 << exponent_bits - 1) - 1
    exponent = np.clip(bias + rng.integers(-26, 27, RANDOM), 0, 2 * bias)
    fraction = rng.integers(0, 1 << fraction_bits, RANDOM)
    # Few bits, so that half of the words are ties once they are aligned.
    fraction &= np.where(rng.random(RANDOM) < 0.5, -1 << rng.integers(0, fraction_bits, RANDOM), -1)
    words = rng.integers(0, 2, RANDOM) << exponent_bits + fraction_bits | exponent << fraction_bits | fraction
    return np.where(rng.random(RANDOM) < 0.3, 0, words).astype(np.uint32)


def _fp32(value: float) -> int:
    return int(encode_array(FP32, np.array([value], np.float64))[0])
