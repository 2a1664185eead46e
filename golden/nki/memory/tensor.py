"""NkiTensor: a view of elements in SBUF, PSUM or HBM.

    byte(i0, i1, ..) = allocation + size * (start + i1 * step1 + ..), in partition row + i0 * step0     on chip
    byte(i0, i1, ..) = size * (start + i0 * step0 + i1 * step1 + ..)                                     in HBM

Ref: ``nki.language`` reference page and "NKI access patterns", AWS Neuron documentation, 2026-08. Where they differ the
reference page holds: an offset of ``.ap`` is added to the view's own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Generic, SupportsIndex, TypeVar

import numpy as np

from bitpath.golden.nki.declarations.errors import doubtful, invalid, kernel_line
from bitpath.golden.nki.memory.dtypes import STORED, dtype_name
from bitpath.golden.nki.memory.storage import Access, Allocation, MemoryRegion, VirtualRegister, per_byte

# Keys of ``tensor[key]``: integers and registers, slices, ``...`` and ``nl.ds``. A register counts with its present value.


@dataclass(frozen=True)
class DynamicSlice:
    """``size`` elements from ``start`` on, a number or a register: ``nl.ds(start, size)``."""

    start: SupportsIndex
    size: int


@dataclass(frozen=True)
class Item:
    """Elements that a key takes of one dimension: ``num`` from ``first`` on; with ``drops`` the dimension goes away."""

    first: int
    num: int
    step: int = 1
    drops: bool = False


def items(key: Any, shape: Sequence[int]) -> list[Item]:
    """Return the elements that a key takes of each dimension.

    Raises ValueError for anything out of range; numpy would cut the end of a slice.
    """
    keys = list(key) if isinstance(key, tuple) else [key]
    dots = [k for k, each in enumerate(keys) if each is Ellipsis]
    if len(dots) > 1:
        raise ValueError("a key must have at most one ...")
    at = dots[0] if dots else len(keys)
    keys[at : at + len(dots)] = [slice(None)] * (len(shape) - len(keys) + len(dots))
    if len(keys) != len(shape):
        raise ValueError(f"a key must have at most {len(shape)} items, not {len(keys)}")
    return [_item(each, num, dim) for dim, (each, num) in enumerate(zip(keys, shape, strict=True))]


def _item(key: Any, num: int, dim: int) -> Item:
    if isinstance(key, DynamicSlice):
        start = key.start.__index__()
        return _range(start, start + int(key.size), 1, num, dim)
    if isinstance(key, slice):
        start = 0 if key.start is None else int(key.start)
        stop = num if key.stop is None else int(key.stop)
        step = 1 if key.step is None else int(key.step)
        start, stop = (each + num if each < 0 else each for each in (start, stop))
        if step < 1:
            raise ValueError(f"the step of dimension {dim} must be at least 1, not {step}")
        return _range(start, stop, step, num, dim)
    try:
        index = key.__index__()
    except AttributeError:
        raise ValueError(f"an index must be an integer, a slice, nl.ds or a register, not {key!r}") from None
    if not -num <= index < num:
        raise ValueError(f"an index of dimension {dim} must be 0 to {num - 1}, not {index}")
    return Item(index % num, 1, drops=True)


def _range(start: int, stop: int, step: int, num: int, dim: int) -> Item:
    if not 0 <= start < stop <= num:
        raise ValueError(f"a slice of dimension {dim} must lie in 0 to {num}, not {start} to {stop}")
    return Item(start, -(-(stop - start) // step), step)


# Indices that an instruction reads when it runs, and that select the elements of a view.


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


# Shapes and steps of views: which elements a view has, without their memory. All raise ValueError with a sentence.


Dims = list[tuple[int, int]]
"""Num and step of each dimension, outermost first; steps in elements."""


def merged(dims: Sequence[tuple[int, int]]) -> Dims:
    """Merge dimensions that continue each other, and drop those of one element."""
    found: Dims = []
    for num, step in dims:
        if num == 1:
            continue
        if found and found[-1][1] == num * step:
            found[-1] = found[-1][0] * num, step
        else:
            found.append((num, step))
    return found


def reshaped(dims: Sequence[tuple[int, int]], shape: Sequence[int]) -> Dims:
    """Give the elements of a view another shape, in the same order.

    One num may be -1: it is what is left.
    """
    count, shape = prod(num for num, _ in dims), list(shape)
    if shape.count(-1) == 1:
        rest = prod(num for num in shape if num != -1)
        shape[shape.index(-1)] = count // rest if rest else 0
    if any(num < 0 for num in shape) or prod(shape) != count:
        raise ValueError(f"shape must have {count} elements, not {tuple(shape)}")
    if not count:
        return [(num, 1) for num in shape]
    left, found = merged(dims), []
    # Innermost first: each new dimension takes its part of the innermost merged one.
    inside = 1
    for num in reversed(shape):
        if num == 1:
            found.append((1, left[-1][1] * inside if left else 1))
            continue
        if left[-1][0] % (inside * num):
            raise ValueError(f"shape {tuple(shape)} must split or join dimensions that continue each other in memory")
        found.append((num, left[-1][1] * inside))
        inside *= num
        if inside == left[-1][0]:
            left.pop()
            inside = 1
    return found[::-1]


def span(dims: Sequence[tuple[int, int]], start: int) -> tuple[int, int]:
    """Return the smallest element of a view and the one behind its largest."""
    low = start + sum(min(0, step * (num - 1)) for num, step in dims)
    high = start + sum(max(0, step * (num - 1)) for num, step in dims)
    return low, high + 1


Names = tuple[str | tuple[str, ...], ...]
"""Names of dimensions; those in a tuple of their own are joined."""


def rearrangement(
    source: Names, destination: Names, sizes: Mapping[str, int], shape: Sequence[int]
) -> tuple[list[int], list[int], list[int]]:
    """Return the split shape, the new order of its dimensions, and the joined shape."""
    before, after = (
        [(each,) if isinstance(each, str) else tuple(each) for each in side] for side in (source, destination)
    )
    order, moved = ([name for names in side for name in names] for side in (before, after))
    if sorted(order) != sorted(moved) or len(set(order)) != len(order):
        raise ValueError(f"patterns must name the same dimensions once each, not {source} and {destination}")
    if len(before) != len(shape):
        raise ValueError(f"the source pattern must name {len(shape)} dimensions, not {len(before)}")
    known = dict(sizes)
    for names, num in zip(before, shape, strict=True):
        unknown = [name for name in names if name not in known]
        part = prod(known[name] for name in names if name in known)
        if len(unknown) > 1 or not part or num % part:
            raise ValueError(f"fixed_sizes must split {num} into {', '.join(names)} with at most one size left out")
        known |= dict.fromkeys(unknown, num // part)
        if prod(known[name] for name in names) != num:
            raise ValueError(f"fixed_sizes of {', '.join(names)} must make {num}")
    return (
        [known[name] for name in order],
        [order.index(name) for name in moved],
        [prod(known[name] for name in names) for names in after],
    )


MOST_DIMS = 5
"""Dimensions of a view. Ref: "NKI language guide"."""


@dataclass(frozen=True, eq=False, repr=False)
class NkiTensor:
    """A view of a tensor. Its methods make other views and copy nothing.

    Attributes
    ----------
    allocation : its bytes.
    dtype : name of its elements' dtype.
    row : its first partition, counted from the allocation's; 0 in HBM.
    start : its first element in a partition, or in HBM.
    shape, steps : num and step of each dimension; step 0 counts partitions on chip.
    indices : those that an instruction reads when it runs; None for none.
    """

    allocation: Allocation
    dtype: str
    row: int
    start: int
    shape: tuple[int, ...]
    steps: tuple[int, ...]
    indices: "Indirect[NkiTensor] | Columns[NkiTensor] | None" = None

    def __repr__(self) -> str:
        return f"{self.name}{list(self.shape)} {self.dtype} in {self.allocation.buffer}"

    @property
    def name(self) -> str:
        return self.allocation.name

    @property
    def buffer(self) -> MemoryRegion:
        return MemoryRegion(self.allocation.buffer)

    @property
    def on_chip(self) -> bool:
        return self.allocation.on_chip

    @property
    def partition(self) -> int:
        """First partition, counted from the memory's."""
        return self.allocation.partition + self.row

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        return STORED[self.dtype].itemsize

    @property
    def free(self) -> int:
        """Elements of this dtype in a partition of the allocation: the step of dimension 0 on chip."""
        return self.allocation.partition_bytes // self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Steps in elements; that of dimension 0 on chip is the number of elements of a partition."""
        return (self.steps[0] * self.free, *self.steps[1:]) if self.on_chip else self.steps

    @property
    def offset(self) -> int:
        """First element from the allocation's first."""
        return self.row * self.free + self.start if self.on_chip else self.start

    @property
    def dims(self) -> Dims:
        """Num and step of the dimensions: on chip, of those within a partition."""
        every = list(zip(self.shape, self.steps, strict=True))
        return every[1:] if self.on_chip else every

    def get_pattern(self) -> list[list[int]]:
        return [[step, num] for step, num in zip(self.strides, self.shape, strict=True)]

    def is_contiguous(self) -> bool:
        """Return True if elements follow each other, on chip within each partition."""
        return len(dims := merged(self.dims)) == 0 or (len(dims) == 1 and dims[0][1] == 1)

    def is_indirect(self) -> bool:
        return self.indices is not None

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> "NkiTensor":
        start, row, pairs = self.start, self.row, []
        for dim, (num_step, item) in enumerate(zip(self._pairs(), self._items(key), strict=True)):
            step = num_step[1]
            if self.on_chip and dim == 0:
                row += item.first * step
            else:
                start += item.first * step
            if not item.drops or (self.on_chip and dim == 0):
                pairs.append((item.num, step * item.step))
        pairs += [(1, 1)] * ((2 if self.on_chip else 1) - len(pairs))
        return replace(self, start=start, row=row)._with_dims(pairs)

    def __setitem__(self, key: Any, value: Any) -> None:
        copy = "tensor_copy" if self.on_chip else "dma_copy"
        raise invalid(f"{self.name}: a kernel must not assign to elements; write nisa.{copy}({self.name}[...], ...)")

    def _items(self, key: Any) -> list[Item]:
        try:
            return items(key, self.shape)
        except ValueError as error:
            raise invalid(f"{self.name}: {error}") from None

    def slice(self, dim: int, start: int, end: int, step: int = 1) -> "NkiTensor":
        return self[(*[slice(None)] * self._dim(dim), slice(start, end, step))]

    def select(self, dim: int, index: "int | NkiTensor") -> "NkiTensor":
        """Take one element of a dimension, which goes away; the index may be a tensor of one element."""
        dim = self._dim(dim)
        if isinstance(index, NkiTensor):
            return self._with_dims(
                [each for k, each in enumerate(self._pairs()) if k != dim],
                indices=self._indirect(Indirect(index, self.steps[dim], self.shape[dim])),
            )
        return self[(*[slice(None)] * dim, index)]

    def vector_select(self, dim: int, vector_offset: "NkiTensor") -> "NkiTensor":
        """Take for each partition of ``vector_offset`` the element of dimension 0 that it names."""
        if dim != 0 or self.on_chip:
            raise invalid(f"{self.name}: vector_select takes dimension 0 of a tensor in HBM")
        made = self._indirect(Indirect(vector_offset, self.steps[0], self.shape[0], vector=True))
        return self._with_dims([(vector_offset.size, 0), *self._pairs()[1:]], indices=made)

    def indirect(self, index: "NkiTensor", num_elem: int | None = None) -> "NkiTensor":
        """Take ``num_elem`` columns, the same of each partition, by offsets among its free elements.

        Offset i is ``index[i % G, i // G]`` with G of 32 for TensorE and 16 for the others; without a number it is 16 K of them.
        """
        if not self.on_chip or index.allocation.buffer != "sbuf":
            raise invalid(f"{self.name}: columns by index need a tile on chip, and their index in SBUF")
        if index.ndim != 2 or index.shape[0] != self.shape[0]:
            raise invalid(f"{self.name}: index must have shape ({self.shape[0]}, K), not {index.shape}")
        made = self._indirect(Columns(index, self))
        count = INDEX_ROWS * index.shape[1] if num_elem is None else int(num_elem)
        return self._with_dims([self._pairs()[0], (count, 0)], indices=made)

    def _indirect(self, made: Indirect | Columns) -> Any:
        if self.indices is not None:
            raise invalid(f"{self.name}: an indirect view cannot be made indirect again")
        return made

    def permute(self, dims: Sequence[int]) -> "NkiTensor":
        if sorted(dims) != list(range(self.ndim)) or (self.on_chip and dims[0]):
            raise invalid(
                f"{self.name}: dims must permute {self.ndim} dimensions and keep partitions first, not {tuple(dims)}"
            )
        return self._with_dims([self._pairs()[dim] for dim in dims])

    def broadcast(self, dim: int, size: int) -> "NkiTensor":
        dim = self._free_dim(dim)
        if self.shape[dim] != 1:
            raise invalid(f"{self.name}: dimension {dim} must have one element to be broadcast, not {self.shape[dim]}")
        pairs = self._pairs()
        pairs[dim] = size, 0
        return self._with_dims(pairs)

    def expand_dim(self, dim: int) -> "NkiTensor":
        pairs = self._pairs()
        pairs.insert(self._free_dim(dim, self.ndim + 1), (1, 1))
        return self._with_dims(pairs)

    def squeeze_dim(self, dim: int) -> "NkiTensor":
        dim = self._free_dim(dim)
        if self.shape[dim] != 1:
            raise invalid(f"{self.name}: dimension {dim} must have one element to go away, not {self.shape[dim]}")
        return self._with_dims([each for k, each in enumerate(self._pairs()) if k != dim])

    def reshape(self, shape: Sequence[int]) -> "NkiTensor":
        shape = tuple(shape)
        if self.on_chip and (not shape or shape[0] not in (self.shape[0], -1)):
            raise invalid(f"{self.name}: reshape must keep {self.shape[0]} partitions, not give {shape}")
        if not self.on_chip:
            return self._with_dims(self._reshaped(self._pairs(), shape))
        return self._with_dims([self._pairs()[0], *self._reshaped(self.dims, shape[1:])])

    def reshape_dim(self, dim: int, shape: Sequence[int]) -> "NkiTensor":
        dim, pairs = self._dim(dim), self._pairs()
        if self.on_chip and dim == 0:
            return self.reshape((*shape, *self.shape[1:]))
        return self._with_dims([*pairs[:dim], *self._reshaped([pairs[dim]], shape), *pairs[dim + 1 :]])

    def flatten_dims(self, start_dim: int, end_dim: int) -> "NkiTensor":
        first, last = self._free_dim(start_dim), self._dim(end_dim)
        pairs = self._pairs()
        joined = self._reshaped(pairs[first : last + 1], [prod(self.shape[first : last + 1])])
        return self._with_dims([*pairs[:first], *joined, *pairs[last + 1 :]])

    def rearrange(
        self, src_pattern: Names, dst_pattern: Names, fixed_sizes: Mapping[str, int] | None = None
    ) -> "NkiTensor":
        try:
            split, order, joined = rearrangement(src_pattern, dst_pattern, fixed_sizes or {}, self.shape)
        except ValueError as error:
            raise invalid(f"{self.name}: {error}") from None
        return self.reshape(split).permute(order).reshape(joined)

    def view(self, dtype: Any) -> "NkiTensor":
        """Take the same bytes as another dtype; the last dimension grows or shrinks."""
        name = dtype_name(dtype)
        old, new = self.itemsize, STORED[name].itemsize
        if old == new:
            return replace(self, dtype=name)
        num, step = self._pairs()[-1]
        if (num > 1 and step != 1) or num * old % new or (len(self.dims) == 0):
            raise invalid(f"{self.name}: the last dimension must be contiguous and have a multiple of {new} bytes")
        pairs = [*self._pairs()[:-1], (num * old // new, 1)]
        own = range(1 if self.on_chip else 0, len(pairs) - 1)
        if self.start * old % new or any(pairs[k][1] * old % new for k in own if pairs[k][0] > 1):
            raise invalid(f"{self.name}: rows must start at multiples of {new} bytes to be viewed as {name}")
        scaled = [(n, s * old // new) if k in own else (n, s) for k, (n, s) in enumerate(pairs)]
        return replace(self, dtype=name, start=self.start * old // new)._with_dims(scaled)

    reinterpret_cast = view

    def ap(
        self,
        pattern: Sequence[Sequence[int]],
        offset: int | None = None,
        scalar_offset: "NkiTensor | VirtualRegister | None" = None,
        vector_offset: "NkiTensor | None" = None,
        indirect_dim: int = 0,
        dtype: Any = None,
    ) -> "NkiTensor":
        """Address the storage by pairs of step and num, in elements of ``dtype`` from the view's first element on.

        Instructions check that its elements exist: kernels also make views that they do not use. An ``offset`` on a view with
        one of its own is a warning, since the access-pattern guide counts from the storage's first element.
        """
        if offset is not None and self.offset:
            doubtful("ap_offset", f"{self.name}: offset {offset} adds to the view's {self.offset}; documents differ")
        name = self.dtype if dtype is None else dtype_name(dtype)
        size = STORED[name].itemsize
        if self.offset * self.itemsize % size:
            raise invalid(f"{self.name}: a view as {name} must start at a multiple of {size} bytes")
        first = self.offset * self.itemsize // size + (offset or 0)
        pairs = [(int(num), int(step)) for step, num in pattern]
        made = self.indices
        if scalar_offset is not None and vector_offset is not None:
            raise invalid(f"{self.name}: a view takes scalar_offset or vector_offset, not both")
        index = scalar_offset if vector_offset is None else vector_offset
        if index is not None:
            dim = self._dim(indirect_dim)
            step = self.strides[dim] * self.itemsize // size
            if self.on_chip and dim == 0:
                raise invalid(f"{self.name}: an index of the partitions must be known before the run")
            made = self._indirect(Indirect(index, step, self.shape[dim], vector_offset is not None))
        free = self.allocation.partition_bytes // size
        view = replace(self, dtype=name, indices=made)
        if not self.on_chip:
            if isinstance(made, Indirect) and made.vector:
                pairs[0] = pairs[0][0], 0
            return replace(view, start=first)._of_dims(pairs)
        if pairs[0][0] > 1 and pairs[0][1] != free:
            raise invalid(f"{self.name}: the first step must be {free}, the elements of a partition, not {pairs[0][1]}")
        pairs[0] = pairs[0][0], 1
        return replace(view, row=first // free if free else 0, start=first % free if free else 0)._of_dims(pairs)

    def _reshaped(self, pairs: Dims, shape: Sequence[int]) -> Dims:
        try:
            return reshaped(pairs, shape)
        except ValueError as error:
            raise invalid(f"{self.name}: {error}") from None

    def _pairs(self) -> Dims:
        return list(zip(self.shape, self.steps, strict=True))

    def _dim(self, dim: int, count: int | None = None) -> int:
        count = self.ndim if count is None else count
        if not -count <= dim < count:
            raise invalid(f"{self.name}: dim must be below {count}, not {dim}")
        return dim % count

    def _free_dim(self, dim: int, count: int | None = None) -> int:
        dim = self._dim(dim, count)
        if self.on_chip and dim == 0:
            raise invalid(f"{self.name}: dimension 0, the partitions, cannot change")
        return dim

    def _of_dims(self, pairs: Dims, **changes: Any) -> "NkiTensor":
        if isinstance(self.indices, Columns):
            raise invalid(f"{self.name}: columns by index cannot be viewed again")
        return replace(self, shape=tuple(num for num, _ in pairs), steps=tuple(step for _, step in pairs), **changes)

    def _with_dims(self, pairs: Dims, **changes: Any) -> "NkiTensor":
        made = self._of_dims(pairs, **changes)
        made.check()
        return made

    def check(self) -> None:
        """Raise unless the view stays inside its allocation. Indices that are read at run time are checked then."""
        if self.ndim > MOST_DIMS:
            raise invalid(f"{self.name}: a view must have at most {MOST_DIMS} dimensions, not {self.ndim}")
        if not self.size:
            raise invalid(f"{self.name}: a view must have elements, not shape {self.shape}")
        low, high = span(self.dims, self.start)
        length = self.allocation.partition_bytes // self.itemsize
        if low < 0 or high > length:
            raise invalid(f"{self.name}: elements must be 0 to {length - 1}, not {low} to {high - 1}")
        last = self.row + self.steps[0] * (self.shape[0] - 1) if self.on_chip else 0
        if self.row < 0 or last >= self.allocation.partitions:
            raise invalid(
                f"{self.name}: partitions must be 0 to {self.allocation.partitions - 1}, not {self.row} to {last}"
            )

    def direct(self, *, further: int = 0) -> "NkiTensor":
        """Return the view without its indices, ``further`` elements on."""
        return replace(self, start=self.start + further, indices=None)

    def at(self, p: int | None) -> "NkiTensor":
        """Return the p-th place of dimension 0 of a direct view, kept as a dimension of one; all of it for None."""
        if p is None:
            return self
        moved = p * self.steps[0]
        row, start = (self.row + moved, self.start) if self.on_chip else (self.row, self.start + moved)
        return replace(self, row=row, start=start, shape=(1, *self.shape[1:]))

    def columns(self, offsets: np.ndarray) -> "list[NkiTensor]":
        """Return columns [P, 1] of a direct view by their places among its free elements."""
        places = np.array(np.unravel_index(offsets, self.shape[1:])).T @ self.steps[1:]
        pairs = [(self.shape[0], self.steps[0]), (1, 1)]
        return [replace(self, start=self.start + int(each))._of_dims(pairs) for each in places]

    def _place(self, row_bytes: int) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        """Return the first byte from the allocation's first, nums and byte steps, in rows of `row_bytes` bytes."""
        steps = [step * self.itemsize for step in self.steps]
        if self.on_chip:
            steps[0] = self.steps[0] * row_bytes
        return self.row * row_bytes + self.start * self.itemsize, self.shape, tuple(steps)

    def elements(self) -> np.ndarray:
        """Return the elements of a direct view in memory, which may be written, [shape]."""
        return self.bytes_of(self.allocation.storage.data).view(STORED[self.dtype])[..., 0]

    def bytes_of(self, array: np.ndarray) -> np.ndarray:
        """Return the view's part of an array with an item for each byte of its storage, [shape, itemsize].

        Raises NotImplementedError for a view with indices.
        """
        if self.indices is not None:
            raise NotImplementedError(f"{self.name}: indices are not modelled for this operand ({kernel_line()})")
        row_bytes = self.allocation.storage.row_bytes
        first, nums, steps = self._place(row_bytes)
        first += self.allocation.partition * row_bytes + self.allocation.byte
        return per_byte(array, (first, nums, steps), self.itemsize)

    def matmul_written(self) -> np.ndarray:
        """Return whether a matmul has written each element, as `Allocation.matmul` says; it may be written, uint8 [shape]."""
        own = self.allocation
        return per_byte(own.matmul_bytes(), self._place(own.partition_bytes), 1)[..., 0]

    def box(self) -> Access:
        """Return a box of bytes around all elements that the view may stand for."""
        own = self.allocation
        if isinstance(self.indices, Columns):
            return self.indices.base.box()
        if self.indices is None:
            low, high = (each * self.itemsize for each in span(self.dims, self.start))
            rows = self.partition, self.partition + self.steps[0] * (self.shape[0] - 1) + 1
        else:
            low, high, rows = 0, own.partition_bytes, (own.partition, own.partition + own.partitions)
        return Access(own.storage.number, rows if self.on_chip else (0, 1), (own.byte + low, own.byte + high))

    def boxes(self) -> list[Access]:
        """Return the box of the view's elements, and that of its indices where they lie in memory."""
        index = None if self.indices is None else self.indices.index
        return [self.box(), *([index.box()] if isinstance(index, NkiTensor) else [])]

    def order(self, *, lanes: bool) -> tuple:
        """Return equal values for direct views of one storage with the same elements in the same order.

        With ``lanes`` the elements of a partition decide; without, the partitions must be the same too.
        """
        rows = (self.partition, self.shape[0], self.steps[0]) if self.on_chip and not lanes else ()
        steps = [(num, step * self.itemsize) for num, step in merged(self.dims)]
        return rows, self.allocation.byte + self.start * self.itemsize, self.itemsize, steps

    def shares_bytes(self, other: "NkiTensor") -> bool:
        """Return whether two direct views of one storage have a byte in common."""
        if self._rows().isdisjoint(other._rows()):
            return False
        ours, theirs = self.box().bytes, other.box().bytes
        low, high = min(ours[0], theirs[0]), max(ours[1], theirs[1])
        return bool((self._row_bytes(low, high) & other._row_bytes(low, high)).any())

    def _rows(self) -> set[int]:
        """Return the partitions; one row in HBM."""
        return {self.partition + k * self.steps[0] for k in range(self.shape[0])} if self.on_chip else {0}

    def _row_bytes(self, low: int, high: int) -> np.ndarray:
        """Return which of the bytes of a row, from ``low`` on, the view has."""
        found = np.zeros(high - low, bool)
        first = self.allocation.byte + self.start * self.itemsize - low
        nums, steps = [num for num, _ in self.dims], [step * self.itemsize for _, step in self.dims]
        per_byte(found, (first, tuple(nums), tuple(steps)), self.itemsize)[...] = True
        return found
