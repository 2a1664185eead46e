"""Checks of AIE-ML v2's arguments: numerics and MX formats."""

from collections.abc import Mapping

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import BFP16EBS8, BLOCK_FORMATS, MxFormat
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, XDNA2_BFP16EBS8, AieNumerics
from bitpath.golden.arrays.arguments import check_choice, numerics_of

# The last axis in groups and back, also of arrays without elements, for which numpy finds no size out.


def in_groups(array: np.ndarray, size: int) -> np.ndarray:
    """Return [..., n * size] as [..., n, size]."""
    return array.reshape(*array.shape[:-1], array.shape[-1] // size, size)


def joined(array: np.ndarray) -> np.ndarray:
    """Return [..., n, m] as [..., n * m]."""
    return array.reshape(*array.shape[:-2], array.shape[-2] * array.shape[-1])


def numerics_or_default(numerics: AieNumerics | None, fmt: MxFormat | str | None = None) -> AieNumerics:
    """Return the numerics given, for None those of the reference of a format."""
    name = fmt.name if isinstance(fmt, MxFormat) else fmt
    # The format may still be any object: it is checked later.
    of_xdna2 = isinstance(name, str) and name == BFP16EBS8.name
    return numerics_of(numerics, XDNA2_BFP16EBS8 if of_xdna2 else AIE_ML_V2)


def mx_format(
    value: MxFormat | str, known: Mapping[str, MxFormat] = BLOCK_FORMATS, *, name: str = "format"
) -> MxFormat:
    """Return a block format given by itself or by name."""
    return value if isinstance(value, MxFormat) else known[check_choice(name, value, known)]


def check_shifts(name: str, fmt: MxFormat) -> None:
    """Raise ValueError for a format without shift bits, whose blocks lie in memory as tiles."""
    if not fmt.has_shifts:
        raise ValueError(
            f"{name} must have shift bits; {fmt.name} has none, and lies in memory as `pack_tile` packs it"
        )
