"""How output tiles go from Dst to L1."""

from dataclasses import dataclass

import numpy as np

from bitpath.golden.arrays.arguments import checked, integer
from bitpath.golden.tensix.convert.pack import LARGEST_DESCALE_SHIFT, pack
from bitpath.golden.tensix.convert.relu import check_relu
from bitpath.golden.tensix.declarations.formats import BLOCK, Format, Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics


@checked
@dataclass(frozen=True, kw_only=True)
class Packing:
    """The packer's work on every output tile; its arguments are those of `pack`.

    Attributes
    ----------
    result : format in L1, and the intermediate format: FP32, BF16, FP16, INT32 or INT8.
    raw : True to copy Dst's bits; the rest is 0 then.
    relu, relu_threshold, descale_shift : as `pack` has them.
    accumulates : True to add to the tile that is in L1.

    Raises
    ------
    TypeError, ValueError : another format, mode or shift, or a threshold with a sign.
    """

    result: Format
    raw: bool = False
    relu: int = 0
    relu_threshold: int = 0
    descale_shift: int = 0
    accumulates: bool = False

    def __post_init__(self) -> None:
        if self.result not in PACKED:
            raise ValueError(f"result must be FP32, BF16, FP16, INT32 or INT8, not {self.result.name}")
        check_relu(self.relu, self.relu_threshold, self.result)
        integer("descale_shift", self.descale_shift, range(LARGEST_DESCALE_SHIFT + 1))


PACKED: dict[Format, np.dtype] = {
    Format.FP32: np.dtype("<u4"),
    Format.INT32: np.dtype("<u4"),
    Format.BF16: np.dtype("<u2"),
    Format.FP16: np.dtype("<u2"),
    Format.INT8: np.dtype("u1"),
}
"""Result formats, and the integers that hold their datums."""


def copied(style: Style, dst32: bool) -> Packing:
    """Return the packing that keeps the words of Dst."""
    if style is Style.INT8:
        return Packing(result=Format.INT32, raw=True)
    if dst32:
        return Packing(result=Format.FP32, raw=True)
    return Packing(result=Format.FP16 if style is Style.FP16 else Format.BF16, raw=True)


def pack_datums(
    packing: Packing, dst: np.ndarray, before: np.ndarray | None, *, dst32: bool, numerics: TensixNumerics
) -> np.ndarray:
    """Return the datums in L1 as `PACKED` has them, of the shape of ``dst``; raise where `pack` does."""
    datums = pack(
        dst,
        packing.result,
        packing.result,
        dst32=dst32,
        raw=packing.raw,
        relu=packing.relu,
        relu_threshold=packing.relu_threshold,
        descale_shift=packing.descale_shift,
        l1=None if before is None else before.reshape(-1).view(np.uint8),
        numerics=numerics,
    )
    return datums.view(PACKED[packing.result]).reshape(dst.shape)


def check_packing(packing: Packing, *, dst32: bool, numerics: TensixNumerics) -> None:
    """Raise ValueError where `pack` does not take this work."""
    pack_datums(packing, np.zeros(BLOCK, np.uint32), None, dst32=dst32, numerics=numerics)
