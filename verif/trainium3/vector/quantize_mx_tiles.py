"""Conversion of tiles to QuantizeMX's blocks and of its results to tiles, and the modes of a beat."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from bitpath.golden.formats.catalogue import BF16, E2M1, E4M3FN, FP16, FloatFormat
from bitpath.golden.trainium3.declarations.quad_mx import SCALE_PARTITIONS, X4, ScaleRule
from bitpath.rtl.trainium3.vector.quantize_mx import ELEMENTS, SOURCES, MxBeat, Rule
from bitpath.verif.kit.packing import pack


@dataclass(frozen=True)
class Mode:
    """Choices of a beat at run time."""

    source: FloatFormat
    element: FloatFormat
    rule: ScaleRule

    @property
    def name(self) -> str:
        """Name in bins and tests."""
        return f"{self.source.name}_{self.element.name}_{self.rule.value}"

    @property
    def offset(self) -> int:
        """Difference between a block's largest exponent and its scale."""
        return self.element.emax - (self.rule is ScaleRule.NKI05 and self.element is not E2M1)

    @property
    def control(self) -> int:
        """The fields of the beat beside its elements, in place."""
        fields = {
            "source": SOURCES.index(self.source),
            "element": ELEMENTS.index(self.element),
            "rule": Rule[self.rule.name].value,
        }
        return pack(MxBeat, {"control": fields})


MODES = {mode.name: mode for mode in (Mode(*each) for each in product((BF16, FP16), ELEMENTS, ScaleRule))}


def packed(codes: np.ndarray, element: FloatFormat) -> np.ndarray:
    """Element codes uint8 [n, 32] as the unit's bytes: E2M1's four of a partition in its two lower bytes."""
    if element.width == E4M3FN.width:
        return codes
    pairs = codes.reshape(len(codes), -1, X4 // 2, 2)
    halves = (pairs[..., 0] | pairs[..., 1] << E2M1.width).astype(np.uint8)
    return np.pad(halves, ((0, 0), (0, 0), (0, X4 // 2))).reshape(len(codes), -1)


def unpacked(codes: np.ndarray, element: FloatFormat) -> np.ndarray:
    """Element codes uint8 [n, 32] of the unit's bytes; the inverse of :func:`packed`."""
    if element.width == E4M3FN.width:
        return codes
    halves = codes.reshape(len(codes), -1, X4)[..., : X4 // 2]
    return np.stack([halves & 15, halves >> E2M1.width], axis=-1).reshape(len(codes), -1)


def tile_blocks(tile: np.ndarray) -> np.ndarray:
    """A tile [P, F, 4] as blocks [P/8 * F, 32], element i of a block's partition p at 4p + i.

    The blocks of a group of 8 partitions stand together, along F.
    """
    groups = tile.reshape(-1, SCALE_PARTITIONS, *tile.shape[1:])
    return np.ascontiguousarray(groups.transpose(0, 2, 1, 3)).reshape(-1, SCALE_PARTITIONS * X4)


def blocks_tile(blocks: np.ndarray, free: int) -> np.ndarray:
    """The tile [P, F, 4] of blocks [P/8 * F, 32] in the order of :func:`tile_blocks`."""
    groups = blocks.reshape(-1, free, SCALE_PARTITIONS, X4).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(groups).reshape(-1, free, X4)
