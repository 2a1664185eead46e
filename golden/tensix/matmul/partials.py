"""Partial sums of a product whose K is cut into blocks: where kernels keep them, and the bits that they lose there.

::

    DST       block 0, 1, ... n - 1 add to the same Dst words
    SPILL_*   Dst of each block but the last is packed to L1, and fills Dst before the next block
    L1_*      each block starts from a cleared Dst; the packer adds Dst of all blocks but the last in L1, and the sum fills Dst
              before the last block

A result leaves by the packer from Dst after the last block. BF16 and FP16 come back through SrcA. FP32 comes back through
SrcA as TF32, or whole where the unpacker writes Dst.

Ref: tt-metal 01647ce, bmm_large_block_zm_fused_bias_activation.cpp; for UnpackToDestFp32 its data_format.cpp.
"""

from dataclasses import dataclass
from enum import Enum
from math import prod

import numpy as np

from bitpath.golden.arrays.arguments import integer, one_of
from bitpath.golden.tensix.convert.pack import pack
from bitpath.golden.tensix.convert.unpack import unpack
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, TILE, Format, Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.matrix.elementwise import elwadd
from bitpath.golden.tensix.matrix.moves import mova2d


@dataclass(frozen=True, kw_only=True)
class Reload:
    """Partial sums in L1.

    Attributes
    ----------
    stored : format in L1, and the packer's intermediate format.
    register : format of SrcA on the way back; FP32 is Dst itself.
    accumulates : True if the packer adds them in L1.
    """

    stored: Format
    register: Format
    accumulates: bool

    @property
    def to_dst(self) -> bool:
        """True if the unpacker writes Dst."""
        return self.register is Format.FP32

    @property
    def style(self) -> Style:
        """Style in which the Matrix unit reads them."""
        return Style(self.register.name)


class Partials(Enum):
    """Places of the partial sums: Dst, or L1 in a format of the name; TF32 is FP32 in L1 that comes back through SrcA."""

    DST = "dst"
    SPILL_BF16 = "spill_bf16"
    SPILL_FP16 = "spill_fp16"
    SPILL_TF32 = "spill_tf32"
    SPILL_FP32 = "spill_fp32"
    L1_BF16 = "l1_bf16"
    L1_FP16 = "l1_fp16"
    L1_TF32 = "l1_tf32"
    L1_FP32 = "l1_fp32"

    @property
    def reload(self) -> Reload | None:
        """Formats of the way through L1, None for Dst."""
        if self is Partials.DST:
            return None
        place, _, name = self.value.partition("_")
        register = Format[name.upper()]
        stored = Format.FP32 if register is Format.TF32 else register
        return Reload(stored=stored, register=register, accumulates=place == "l1")


def check_partials(partials: Partials, style: Style, *, dst32: bool) -> None:
    """Raise ValueError for partial sums that Dst's words do not become."""
    if style is Style.INT8:
        known = [Partials.DST]
    elif dst32:
        known = [each for each in Partials if not each.value.endswith("fp16")]
    else:
        own = "fp16" if style is Style.FP16 else "bf16"
        known = [each for each in Partials if each is Partials.DST or each.value.endswith(own)]
    if partials not in known:
        names = one_of(repr(each.value) for each in known)
        raise ValueError(f"partials must be {names} with style {style.value} and dst32 {dst32}, not {partials.value!r}")


def block_depth(block_k: int | None, depth: int) -> int:
    """Return the rows of K in a block, for a depth padded to tiles; raise ValueError unless blocks of tiles fill it."""
    padded = depth + -depth % TILE
    if block_k is None:
        return padded
    block = integer("block_k", block_k, range(1, padded + 1))
    if block % TILE or padded % block:
        raise ValueError(f"block_k must be a multiple of {TILE} that divides K, {padded} with its padding, not {block}")
    return block


def stored(
    reload: Reload, dst: np.ndarray, before: np.ndarray | None, *, dst32: bool, numerics: TensixNumerics
) -> np.ndarray:
    """Return the bytes in L1 of Dst words of any shape, added to those before."""
    return pack(
        dst.reshape(-1),
        reload.stored,
        reload.stored,
        dst32=dst32,
        l1=before,
        numerics=numerics,
    )


def reloaded(
    reload: Reload, l1: np.ndarray, shape: tuple[int, ...], *, dst32: bool, numerics: TensixNumerics
) -> np.ndarray:
    """Return the Dst words, uint32 of a shape, that the bytes in L1 become.

    A 16-bit Dst takes SrcA by MOVA2D, one of 32 bits by ELWADD with zeros. Ref: tt-llk 36b092e,
    llk_math_eltwise_unary_datacopy.h.
    """
    count = prod(shape)
    words = unpack(l1, reload.stored, reload.register, count=count, numerics=numerics)
    if reload.to_dst:
        return words.reshape(shape)
    blocks = np.pad(words, (0, -count % (BLOCK_ROWS * COLUMNS))).reshape(-1, BLOCK_ROWS, COLUMNS)
    zeros, register = np.zeros_like(blocks), reload.register
    if dst32:
        dst = elwadd(
            zeros,
            zeros,
            blocks,
            style=reload.style,
            dst32=True,
            accumulate=False,
            srca_format=register,
            srcb_format=register,
            numerics=numerics,
        )
    else:
        dst = mova2d(zeros, blocks, srca_format=register, numerics=numerics)
    return dst.reshape(-1)[:count].reshape(shape)
