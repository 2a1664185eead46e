"""Indices that an instruction reads when it runs, and that select what a view stands for."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bitpath.golden.nki.memory.registers import VirtualRegister
    from bitpath.golden.nki.memory.tensor import NkiTensor

INDEX_ROWS = 16
"""Rows of an index tile that VectorE, ScalarE and GpSimd read; TensorE reads 32."""


@dataclass(frozen=True, eq=False)
class Indirect:
    """Indices of a start address.

    Attributes
    ----------
    index : a tensor of one element or a register, or with ``vector`` a tensor with an index for each place of dimension 0.
    step : elements from one index to the next.
    limit : indices must be below it.
    vector : True for an index of each place.
    """

    index: "NkiTensor | VirtualRegister"
    step: int
    limit: int
    vector: bool = False


@dataclass(frozen=True, eq=False)
class Columns:
    """Offsets of columns, the same in every partition: offset i is ``index[i % G, i // G]``.

    Attributes
    ----------
    index : tile [P, K] of offsets.
    base : the view whose free elements are the columns, in row-major order.
    """

    index: "NkiTensor"
    base: "NkiTensor"
