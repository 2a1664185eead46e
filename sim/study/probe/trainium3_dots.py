"""Candidate dots of Trainium3: terms that cancel, lie at the grid's edge, overflow or are special; blocks."""

import numpy as np

from bitpath.golden.arrays.codec import encode_array
from bitpath.golden.formats.catalogue import BF16, FP32, FloatFormat
from bitpath.golden.trainium3.declarations.quad_mx import QUADRANT, SCALE_PARTITIONS, X4
from bitpath.sim.study.probe.unit import Dots, stacked

ROWS = 8
"""Rows of nc_matmul's dots."""
RANDOM = 500
"""Random candidates of each kind."""
GROUPS = QUADRANT // SCALE_PARTITIONS
"""Rows of nc_matmul_mx that share a scale: their dots have terms in the first row of each."""

PLAIN: list[list[tuple[float, float]]] = [
    [(1.0078125, 1.0078125), (-1.015625, 1.0)],
    [(1.0, 1.0), (2.0**-24, 1.0), (2.0**-24, 1.0), (-1.0, 1.0)],
    [(2.0**30, 1.0), (1.0, 1.0), (-(2.0**30), 1.0)],
    [(1.0, 1.0), (3 * 2.0**-24, 1.0), (-1.0, 1.0)],
    [(2.0**-100, 2.0**-40), (2.0**-70, 2.0**-70)],
    [(2.0**100, 2.0**27), (2.0**100, 2.0**27)],
    [(np.inf, 0.0)],
    [(-0.0, 1.0)] * ROWS,
]
"""Hand-made dots of nc_matmul: products by row."""


def scaled_pool(fmt: FloatFormat, seed: int) -> Dots:
    """Return operands of nc_matmul_mx: four products in one row and terms that cancel, then random rows and scales."""
    rng = np.random.default_rng([seed, fmt.fraction_bits])
    one, least = fmt.bias << fmt.fraction_bits, 1
    by_hand = _empty(4)
    # 1 * 1 and three small products in one row, at the smallest distances that the element format has.
    by_hand["stationary"][:2, 0] = by_hand["moving"][:2, 0] = [one, least, least, least]
    by_hand["moving"][1, 0, 1:] = 2
    # A scale of NaN over ones alone, since zeros times infinity are NaN too; and one so large that the sum overflows.
    by_hand["stationary"][2, :SCALE_PARTITIONS] = by_hand["moving"][2, :SCALE_PARTITIONS] = one
    by_hand["stationary_scale"][2, 0] = 255
    by_hand["stationary"][3, 0, 0] = by_hand["moving"][3, 0, 0] = one
    by_hand["stationary_scale"][3], by_hand["moving_scale"][3] = 254, 254

    made = _empty(RANDOM)
    size = (RANDOM, GROUPS, X4)
    for name in ("stationary", "moving"):
        codes = rng.integers(0, fmt.max_code + 1, size)
        codes = np.where(rng.random(size) < 0.15, rng.integers(0, 1 << fmt.fraction_bits, size), codes)
        # Few fraction bits, so that sums lie on ties.
        codes = np.where(rng.random(size) < 0.5, codes >> fmt.fraction_bits << fmt.fraction_bits, codes)
        codes = codes | rng.integers(0, 2, size) << fmt.width - 1
        codes = np.where(rng.random(size) < 0.3, 0, codes)
        made[name][:, ::SCALE_PARTITIONS] = codes
        scale = 127 + rng.integers(-9, 10, (RANDOM, GROUPS))
        made[f"{name}_scale"][:] = np.where(rng.random(scale.shape) < 0.02, 255, scale)
    # The last group cancels the first one, so that the result shows the bits lost between them.
    half = slice(0, RANDOM // 2)
    for name in ("stationary", "moving"):
        made[name][half, -SCALE_PARTITIONS] = made[name][half, 0]
        made[f"{name}_scale"][half, -1] = made[f"{name}_scale"][half, 0]
    made["moving"][half, -SCALE_PARTITIONS] ^= np.uint8(fmt.sign_mask)
    # Subnormal sums, and some around the overflow of FP32.
    for rows, middle in ((slice(-40, -10), 56), (slice(-10, None), 186)):
        scale = middle + rng.integers(-4, 5, made["moving_scale"][rows].shape)
        made["stationary_scale"][rows] = made["moving_scale"][rows] = scale
    return stacked(by_hand, made)


def plain_pool(fmt: FloatFormat, seed: int) -> Dots:
    """Return operands of nc_matmul: BF16 codes, or FP32 codes, which may be read as TF32."""
    rng = np.random.default_rng([seed, fmt.width])
    x, y = (np.zeros((len(PLAIN), ROWS)) for _ in range(2))
    for n, products in enumerate(PLAIN):
        for k, (left, right) in enumerate(products):
            x[n, k], y[n, k] = left, right
    by_hand = {name: encode_array(FP32, each).astype(np.uint32) for name, each in (("stationary", x), ("moving", y))}
    size = (2, RANDOM, ROWS)
    sign, exponent = rng.integers(0, 2, size), 127 + rng.integers(-8, 9, size)
    # One bit below the format's last place, for TF32's rounding.
    dropped = FP32.fraction_bits - min(fmt.fraction_bits + 1, FP32.fraction_bits)
    fraction = rng.integers(0, 1 << FP32.fraction_bits, size) >> dropped << dropped
    codes = (sign << 31 | exponent << FP32.fraction_bits | fraction).astype(np.uint32)
    codes[:, : RANDOM // 2, -1] = codes[:, : RANDOM // 2, 0]
    codes[1, : RANDOM // 2, -1] ^= np.uint32(FP32.sign_mask)
    made = stacked(by_hand, {"stationary": codes[0], "moving": codes[1]})
    if fmt is not BF16:
        return made
    return {name: (each >> FP32.width - BF16.width).astype(np.uint16) for name, each in made.items()}


def quantize_pool(seed: int) -> Dots:
    """Return blocks of BF16 codes: the largest value at 480, zeros, and random binades."""
    rng = np.random.default_rng([seed, 9])
    values = np.full((8, SCALE_PARTITIONS, X4), 0.01)
    values[0, 0, 0], values[1] = 480.0, 0.0
    values[2:] = np.ldexp(rng.standard_normal((6, SCALE_PARTITIONS, X4)), rng.integers(-140, 100, (6, 1, 1)))
    return {"src": encode_array(BF16, values).astype(np.uint16)}


def _empty(count: int) -> dict[str, np.ndarray]:
    """Return dots of zeros with scales of 1."""
    elements, scales = (count, QUADRANT, X4), (count, GROUPS)
    return {
        "stationary": np.zeros(elements, np.uint8),
        "stationary_scale": np.full(scales, 127, np.uint8),
        "moving": np.zeros(elements, np.uint8),
        "moving_scale": np.full(scales, 127, np.uint8),
    }
