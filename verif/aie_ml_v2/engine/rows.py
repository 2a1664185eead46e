"""Tiles of X and Y for rows of native products of AIE-ML v2's vector unit, in every format."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK, MX_FORMATS, MX_NAN_EXPONENT, MxFormat
from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8, FLOAT16, INT8, INT16, MODES, Mode, Shape
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.operands.layout import MxBlocks
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import FloatFormat

Tiles = np.ndarray | MxBlocks
SPECIAL_SHARE = 1 / 64
"""Share of tiles with arbitrary codes or exponents, NaN included; the other numbers are near 1, so sums are informative."""
EDGE_SHARE = 1 / 16
"""Share of zeros and infinities in such tiles of floats, which would rarely meet otherwise."""


@dataclass(frozen=True, kw_only=True)
class RowKind:
    """Formats of the operands of a row of products.

    Attributes
    ----------
    name : name in tests.
    mode : its row of Table 7.
    formats : formats of X and Y, for floats.
    mx : format of both operands, for blocks.
    signed : True for each of X and Y with signed integers.
    """

    name: str
    mode: Mode
    formats: tuple[FloatFormat, FloatFormat] | None = None
    mx: MxFormat | None = None
    signed: tuple[bool, bool] = (True, True)

    @property
    def tile(self) -> Shape:
        return self.mode.shapes[0]

    @property
    def format_codes(self) -> tuple[int, int]:
        """Format indices of X and Y within the mode."""
        return tuple(self.mode.formats.index(each) for each in self.formats) if self.formats else (0, 0)


def row_kinds(numerics: AieNumerics) -> list[RowKind]:
    """Return every combination of formats and of signedness."""
    return [
        *(
            RowKind(name=f"{mode.name}_{'us'[x]}{'us'[y]}", mode=mode, signed=(bool(x), bool(y)))
            for mode, x, y in product((INT8, INT16), (0, 1), (0, 1))
        ),
        *(
            RowKind(name=f"{x.name.lower()}_{y.name.lower()}", mode=mode, formats=(x, y))
            for mode in (FLOAT16, FLOAT8)
            for x, y in product(mode.formats, repeat=2)
        ),
        *(
            RowKind(name=name, mode=MODES[numerics.mx4_path.value if name == "mx4" else name], mx=fmt)
            for name, fmt in MX_FORMATS.items()
        ),
    ]


def random_tiles(
    source: np.random.Generator, kind: RowKind, side: int, shape: tuple[int, ...], special: float = SPECIAL_SHARE
) -> Tiles:
    """Return random tiles of X (side 0), [..., m, k], or of Y (side 1), [..., n, k]; blocks are [..., m or n, 1].

    Numbers near 1; a share of the tiles has any code.
    """
    rows = kind.tile.n if side else kind.tile.m
    anything = source.random((*shape, 1, 1)) < special
    if kind.mx:
        return _blocks(source, kind.mx, (*shape, rows, 1), anything)
    whole = (*shape, rows, kind.tile.k)
    if not kind.formats:
        bits = kind.mode.b_bits if side else kind.mode.a_bits
        low, high = (-(1 << bits - 1), 1 << bits - 1) if kind.signed[side] else (0, 1 << bits)
        return source.integers(low, high, whole)
    fmt = kind.formats[side]
    dtype = DTYPES[fmt]
    near = source.standard_normal(whole, dtype=np.float32).astype(dtype)
    code_dtype = np.dtype(f"u{near.itemsize}")
    any_codes = source.integers(0, 1 << fmt.width, whole).astype(code_dtype)
    edges = source.choice((0, fmt.infinity_code or 0), whole).astype(code_dtype)
    any_codes = np.where(source.random(whole) < EDGE_SHARE, edges, any_codes)
    return np.where(anything, any_codes, near.view(code_dtype)).view(dtype)


def _blocks(source: np.random.Generator, fmt: MxFormat, shape: tuple[int, ...], anything: np.ndarray) -> MxBlocks:
    near, exponent = source.integers(122, 132, shape), source.integers(0, MX_NAN_EXPONENT + 1, shape)
    return MxBlocks(
        fmt,
        np.where(anything, exponent, near).astype(np.uint8),
        source.integers(0, 256, shape).astype(np.uint8),
        source.integers(fmt.min_code, fmt.max_code + 1, (*shape, MX_BLOCK)).astype(np.int8),
    )
