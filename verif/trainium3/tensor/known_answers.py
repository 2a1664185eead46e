"""Operands of TensorE's edge as FP32 codes, and products of them by the exact tier, for known answers of whole products."""

import os
from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_MATMUL
from bitpath.golden.trainium3.exact import multiply_add

NUMERICS = TRAINIUM3_MATMUL.numerics


def archive(name: str) -> dict[str, np.ndarray]:
    """The arrays of ``trn_core_NAME.npz``."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / f"trn_core_{name}.npz") as file:
        return dict(file)


def fp32_code(element: Any, bits: int) -> int:
    """The FP32 code of an operand with a significand of ``bits`` bits whose highest one is that of FP32's."""
    if element.nan:
        return FP32.nan_code
    sign = element.sign * FP32.sign_mask
    if element.inf:
        return FP32.infinity_code | sign
    value = Fraction(element.significand) * Fraction(2) ** (element.exponent - FP32.bias - bits + 1)
    code = round_to_format(value, FP32, Rounding.RTZ)
    assert round_to_format(value, FP32, Rounding.RNA) == code, f"{element} is no FP32 number"
    return code | sign


def chain(pairs: Iterable[tuple[int, int]], start: int = 0) -> int:
    """Multiply-adds of pairs of FP32 codes from a partial sum on, each with its rounding."""
    return reduce(lambda total, pair: multiply_add(NUMERICS, pair[0], FP32, pair[1], FP32, total), pairs, start)
