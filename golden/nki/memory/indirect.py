"""Indices that an instruction reads when it runs, and that select what a view stands for."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from bitpath.golden.nki.memory.registers import VirtualRegister

Tensor = TypeVar("Tensor")
"""NkiTensor, whose views have these indices."""
INDEX_ROWS = 16
"""Rows of an index tile that VectorE, ScalarE and GpSimd read; TensorE reads 32."""


@dataclass(frozen=True, eq=False)
class Indirect(Generic[Tensor]):
    """Indices of a start address.

    Attributes
    ----------
    index : a tensor of one element or a register, or with ``vector`` a tensor with an index for each place of dimension 0.
    step : elements from one index to the next.
    limit : indices must be below it.
    vector : True for an index of each place.
    """

    index: Tensor | VirtualRegister
    step: int
    limit: int
    vector: bool = False


@dataclass(frozen=True, eq=False)
class Columns(Generic[Tensor]):
    """Offsets of columns, the same in every partition: offset i is ``index[i % G, i // G]``.

    Attributes
    ----------
    index : tile [P, K] of offsets.
    base : the view whose free elements are the columns, in row-major order.
    """

    index: Tensor
    base: Tensor
