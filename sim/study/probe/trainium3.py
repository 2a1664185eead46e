"""Trainium3's operations for probes: one element of nc_matmul_mx and of nc_matmul, one block of quantize_mx."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from bitpath.golden.arrays.codec import DTYPES, encode_array
from bitpath.golden.arrays.parallel import cuts
from bitpath.golden.formats.catalogue import BF16, E4M3FN, E5M2, FP32, TF32, FloatFormat, Rounding
from bitpath.golden.formats.dot import DotNumerics
from bitpath.golden.formats.sources import documented, preset
from bitpath.golden.scalar.dot import trace_dot_product
from bitpath.golden.scalar.fp32 import convert
from bitpath.golden.trainium3.declarations import quad_mx, vector
from bitpath.golden.trainium3.declarations.quad_mx import MAX_STATIONARY, QUADRANT, SCALE_PARTITIONS, X4, ScaleRule
from bitpath.golden.trainium3.declarations.vector import MatmulNumerics
from bitpath.golden.trainium3.exact import multiply_add, psum_write, quantize_block
from bitpath.golden.trainium3.matmul.nc_matmul import nc_matmul
from bitpath.golden.trainium3.matmul.nc_matmul_mx import nc_matmul_mx
from bitpath.golden.trainium3.operands.quantize_mx import quantize_mx
from bitpath.sim.study.probe.unit import Dots, Operand, Operation, Unit, stacked

# Candidate dots of Trainium3: terms that cancel, lie at the grid's edge, overflow or are special; blocks.


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


ACCUMULATORS = (FP32, TF32, BF16)
"""Formats that have FP32's exponents."""
ROUNDINGS = (Rounding.RNE, Rounding.RTZ)
"""Roundings that golden's dot products know."""


WORD = Operand("u4", (1,))
"""Result of a dot product: an FP32 code."""


@dataclass(frozen=True, kw_only=True)
class QuantizeNumerics:
    """The argument of quantize_mx that differs between releases.

    Attributes
    ----------
    scale_rule : derivation of a block's scale.
    """

    scale_rule: ScaleRule


def scaled_dot(
    numerics: DotNumerics,
    stationary: np.ndarray,
    stationary_scale: np.ndarray,
    moving: np.ndarray,
    moving_scale: np.ndarray,
    *,
    fmt: FloatFormat,
) -> np.ndarray:
    """Return FP32 codes [N, 1] of nc_matmul_mx: elements uint8 [N, 32, 4], scales uint8 [N, 4]."""

    def some(part: slice) -> np.ndarray:
        x, y = (np.ascontiguousarray(each[part].swapaxes(0, 1)).view(DTYPES[fmt]) for each in (stationary, moving))
        x_scale, y_scale = (np.ascontiguousarray(each[part].T) for each in (stationary_scale, moving_scale))
        # The stationary free size is even: each column twice.
        return nc_matmul_mx(x.repeat(2, axis=1), y, x_scale.repeat(2, axis=1), y_scale, numerics=numerics)[::2]

    return _diagonal(some, len(stationary))


def exact_scaled_dot(
    numerics: DotNumerics,
    stationary: Sequence[Sequence[int]],
    stationary_scale: Sequence[int],
    moving: Sequence[Sequence[int]],
    moving_scale: Sequence[int],
    *,
    fmt: FloatFormat,
) -> list[int]:
    """Return the result of `scaled_dot` for one dot."""
    x, y = ([scale for scale in each for _ in range(SCALE_PARTITIONS)] for each in (stationary_scale, moving_scale))
    steps = trace_dot_product(numerics, stationary, fmt, moving, fmt, x, y)
    return [psum_write(steps[-1].result, None, FP32)]


def dot(numerics: MatmulNumerics, stationary: np.ndarray, moving: np.ndarray, *, fmt: FloatFormat) -> np.ndarray:
    """Return FP32 codes [N, 1] of nc_matmul: operands [N, K], BF16 codes, or FP32 codes that may be read as TF32."""
    tf32, dtype = fmt is TF32, DTYPES[FP32 if fmt is TF32 else fmt]

    def some(part: slice) -> np.ndarray:
        x, y = (np.ascontiguousarray(each[part].T).view(dtype) for each in (stationary, moving))
        return nc_matmul(x, y, stationary_tf32=tf32, moving_tf32=tf32, numerics=numerics)

    return _diagonal(some, len(stationary))


def exact_dot(
    numerics: MatmulNumerics, stationary: Sequence[int], moving: Sequence[int], *, fmt: FloatFormat
) -> list[int]:
    """Return the result of `dot` for one dot."""
    total = 0
    for codes in zip(stationary, moving, strict=True):
        x, y = (convert(each, FP32, TF32, numerics.tf32_rounding) if fmt is TF32 else each for each in codes)
        total = multiply_add(numerics, x, fmt, y, fmt, total)
    return [psum_write(total, None, FP32)]


def quantized(numerics: QuantizeNumerics, src: np.ndarray, *, fmt: FloatFormat) -> np.ndarray:
    """Return codes and scale, uint8 [N, 33], of blocks of BF16 codes [N, 8, 4]."""
    tile = np.zeros((QUADRANT, len(src), X4), np.uint16)
    tile[:SCALE_PARTITIONS] = src.swapaxes(0, 1)
    source = tile.reshape(QUADRANT, -1).view(DTYPES[BF16])
    data, scale = quantize_mx(source, DTYPES[fmt], scale_rule=numerics.scale_rule.value)
    codes = data.view(np.uint8).reshape(QUADRANT, len(src), X4)[:SCALE_PARTITIONS].swapaxes(0, 1)
    return np.concatenate([codes.reshape(len(src), -1), scale[0][:, np.newaxis]], axis=1)


def exact_quantized(numerics: QuantizeNumerics, src: Sequence[Sequence[int]], *, fmt: FloatFormat) -> list[int]:
    """Return the result of `quantized` for one dot."""
    codes, scale = quantize_block([code for row in src for code in row], BF16, fmt, numerics.scale_rule)
    return [*codes, scale]


def _diagonal(product: Callable[[slice], np.ndarray], count: int) -> np.ndarray:
    """Return FP32 codes [N, 1] of the outputs [n, n] of products, of as many dots each as fit."""
    parts = [np.diagonal(product(part)) for part in cuts(count, MAX_STATIONARY // 2)]
    return np.concatenate(parts).astype(np.float32).view(np.uint32)[:, np.newaxis]


def _scaled_dots() -> list[Operation]:
    elements, scales = Operand("u1", (QUADRANT, X4)), Operand("u1", (QUADRANT // SCALE_PARTITIONS,))
    given = {"stationary": elements, "stationary_scale": scales, "moving": elements, "moving_scale": scales}
    found = []
    for fmt in (E4M3FN, E5M2):
        own = f"nc_matmul_mx_{fmt.name.lower()}", given, WORD
        found.append(Operation(*own, scaled_dot, exact_scaled_dot, partial(scaled_pool, fmt), {"fmt": fmt}))
    return found


def _dots() -> list[Operation]:
    found = []
    for fmt in (BF16, TF32, FP32):
        operand = Operand("u2" if fmt is BF16 else "u4", (ROWS,))
        own = f"nc_matmul_{fmt.name.lower()}", dict.fromkeys(("stationary", "moving"), operand), WORD
        found.append(Operation(*own, dot, exact_dot, partial(plain_pool, fmt), {"fmt": fmt}))
    return found


def _quantizations() -> list[Operation]:
    given, block = {"src": Operand("u2", (SCALE_PARTITIONS, X4))}, Operand("u1", (SCALE_PARTITIONS * X4 + 1,))
    found = []
    for fmt in (E4M3FN, E5M2):
        own = f"quantize_mx_{fmt.name.lower()}", given, block
        found.append(Operation(*own, quantized, exact_quantized, quantize_pool, {"fmt": fmt}))
    return found


RULES = (
    preset("quantize_mx_ocp", QuantizeNumerics, scale_rule=(ScaleRule.OCP, documented("ISA quantize_mx, NKI 0.3"))),
    preset("quantize_mx_nki05", QuantizeNumerics, scale_rule=(ScaleRule.NKI05, documented("ISA quantize_mx, NKI 0.5"))),
)
"""Golden takes the rule as an argument; here it has the form of numerics."""
MX_MATMUL = Unit(
    name="nc_matmul_mx",
    presets=tuple(quad_mx.PRESETS.values()),
    operations=_scaled_dots(),
    values={"align_fraction_bits": (None, *range(8, 29)), Rounding: ROUNDINGS, FloatFormat: ACCUMULATORS},
    left_out={
        "terms": "the number of products of a step is documented, and operands have it as their shape",
        "element_formats": "they say which operands golden takes, not what it computes of them",
        "scale_format": "it is documented, and operands are codes of it",
    },
)
MATMUL = Unit(
    name="nc_matmul",
    presets=tuple(each for each in vector.PRESETS.values() if isinstance(each.numerics, MatmulNumerics)),
    operations=_dots(),
    values={Rounding: ROUNDINGS, FloatFormat: ACCUMULATORS},
    left_out=dict.fromkeys(
        ("narrow_formats", "wide_formats"), "they say which operands golden takes, not what it computes of them"
    ),
)
QUANTIZE = Unit(name="quantize_mx", presets=RULES, operations=_quantizations())
