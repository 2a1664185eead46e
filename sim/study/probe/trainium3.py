"""Trainium3's operations for probes: one element of nc_matmul_mx and of nc_matmul, one block of quantize_mx."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.arrays.parallel import cuts
from bitpath.golden.formats.catalogue import BF16, E4M3FN, E5M2, FP32, TF32, FloatFormat, Rounding
from bitpath.golden.formats.sources import documented, preset
from bitpath.golden.scalar.fp32 import convert
from bitpath.golden.trainium3.declarations import quad_mx, vector
from bitpath.golden.trainium3.declarations.quad_mx import (
    MAX_STATIONARY,
    QUADRANT,
    SCALE_PARTITIONS,
    X4,
    DotNumerics,
    ScaleRule,
)
from bitpath.golden.trainium3.declarations.vector import MatmulNumerics
from bitpath.golden.trainium3.exact import multiply_add, psum_write, quantize_block
from bitpath.golden.trainium3.exact.dot import trace_dot_product
from bitpath.golden.trainium3.matmul.nc_matmul import nc_matmul
from bitpath.golden.trainium3.matmul.nc_matmul_mx import nc_matmul_mx
from bitpath.golden.trainium3.operands.quantize_mx import quantize_mx
from bitpath.sim.study.probe import trainium3_dots as dots
from bitpath.sim.study.probe.unit import Operand, Operation, Unit

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
        found.append(Operation(*own, scaled_dot, exact_scaled_dot, partial(dots.scaled_pool, fmt), {"fmt": fmt}))
    return found


def _dots() -> list[Operation]:
    found = []
    for fmt in (BF16, TF32, FP32):
        operand = Operand("u2" if fmt is BF16 else "u4", (dots.ROWS,))
        own = f"nc_matmul_{fmt.name.lower()}", dict.fromkeys(("stationary", "moving"), operand), WORD
        found.append(Operation(*own, dot, exact_dot, partial(dots.plain_pool, fmt), {"fmt": fmt}))
    return found


def _quantizations() -> list[Operation]:
    given, block = {"src": Operand("u2", (SCALE_PARTITIONS, X4))}, Operand("u1", (SCALE_PARTITIONS * X4 + 1,))
    found = []
    for fmt in (E4M3FN, E5M2):
        own = f"quantize_mx_{fmt.name.lower()}", given, block
        found.append(Operation(*own, quantized, exact_quantized, dots.quantize_pool, {"fmt": fmt}))
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
