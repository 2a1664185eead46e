"""Tiles of NKI 0.1: views with indices, and results that wait for their destination.

    t[i + nl.arange(n)[:, None], 2 * f + 1]    a view with a first element and steps
    t[key] = nisa.op(a)                        nisa.op(dst=t[key], a)
    x = nisa.op(a)                             nisa.op(dst=x, a), where x is a new tile

An instruction waits until the kernel's next one: an assignment gives it a destination, anything else a new tile. The vendor's
compiler orders instructions and places tiles as it likes; here they run as written.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bitpath.golden.nki.declarations.errors import LINE, invalid, kernel_line
from bitpath.golden.nki.isa import instructions as isa
from bitpath.golden.nki.language import functions, memory
from bitpath.golden.nki.machine.core import present_core
from bitpath.golden.nki.memory.dtypes import STORED, dtype_name
from bitpath.golden.nki.memory.storage import MemoryRegion
from bitpath.golden.nki.memory.tensor import DynamicSlice, Indirect, NkiTensor
from bitpath.golden.nki.old.indices import Box, Predicate, affine, is_empty, outside

# Tiles: views with the vendor's operators, and results of instructions that wait for their destination.


def numpy_dtype(name: str) -> Any:
    """Return the numpy dtype of a dtype's name, or the name where numpy has none."""
    return np.dtype(bool) if name == "bool" else STORED[name] if STORED[name].name == name else name


class Tile:
    """A tensor of a kernel.

    Parameters
    ----------
    view : its elements, on chip with the partitions first.
    blocks : dimensions that the kernel has before that of the partitions.
    """

    __array_ufunc__ = None

    def __init__(self, view: NkiTensor | None, blocks: int = 0):
        self._view, self._blocks = view, blocks

    def _whole(self) -> NkiTensor:
        assert self._view is not None
        return self._view

    @property
    def shape(self) -> tuple[int, ...]:
        first, *rest = self._whole().shape
        return (*rest[: self._blocks], first, *rest[self._blocks :])

    @property
    def kind(self) -> str:
        """Name of the elements' dtype."""
        return self._whole().dtype

    @property
    def memory(self) -> str:
        """Name of its memory."""
        return self._whole().allocation.buffer

    @property
    def dtype(self) -> Any:
        return numpy_dtype(self.kind)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def part(self, box: Box = ()) -> NkiTensor:
        """Return a box of the elements as a view for an instruction."""
        view = self._whole()
        if self._blocks:
            raise invalid(f"{view.name}: the first of the dimensions {self.shape} must be that of the partitions")
        return view[box] if any(each != slice(None) for each in box) else view

    def __getitem__(self, key: Any) -> "Tile":
        keys = list(key) if isinstance(key, tuple) else [key]
        if any(isinstance(each, Tile) for each in keys):
            return Gathered(self, keys)
        if any(isinstance(each, Predicate) for each in keys):
            raise outside("a mask of an operand", "a slice")
        if any(isinstance(each, np.ndarray) and each.ndim for each in keys):
            return Indexed(self, keys)
        dots = keys.index(Ellipsis) if Ellipsis in keys else len(keys)
        keys[dots : dots + 1] = [slice(None)] * (self.ndim - len(keys) + (dots < len(keys)))
        if len(keys) != self.ndim:
            raise invalid(f"a key must have at most {self.ndim} items, not {len(keys)}")
        dropped = sum(not isinstance(each, slice | DynamicSlice) for each in keys[: self._blocks])
        order = (keys[self._blocks], *keys[: self._blocks], *keys[self._blocks + 1 :])
        return Tile(self._whole()[order], self._blocks - dropped)

    def __setitem__(self, key: Any, value: Any) -> None:
        assign(self[key], value)

    def __iadd__(self, other: Any) -> "Tile":
        """Add in place; a product is added by TensorE to a tile in PSUM."""
        program = running()
        if isinstance(other, Result) and other.adds and other is program.waiting and self.memory == "psum":
            program.waiting = None
            other.issue(self)
        else:
            own: Any = self
            assign(self, own + other)
        return self

    def reshape(self, shape: Sequence[int]) -> "Tile":
        return Tile(self.part().reshape(shape))

    def view(self, dtype: Any) -> "Tile":
        return Tile(self.part().view(dtype))


class Indexed(Tile):
    """Elements of a tile at indices, which may lie outside of it where a mask leaves them out.

    Parameters
    ----------
    tile : the tensor.
    keys : an integer or an array of indices for each of its dimensions.
    """

    def __init__(self, tile: Tile, keys: Sequence[Any]):
        super().__init__(None)
        if len(keys) != tile.ndim or not all(
            isinstance(each, np.ndarray) or hasattr(each, "__index__") for each in keys
        ):
            raise invalid(f"a key with nl.arange must have {tile.ndim} integers or indices, and no slices")
        self._tile, self._keys = tile, [np.asarray(each) for each in keys]
        self._shape = np.broadcast_shapes(*(each.shape for each in self._keys))

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def kind(self) -> str:
        return self._tile.kind

    @property
    def memory(self) -> str:
        return self._tile.memory

    def _whole(self) -> NkiTensor:
        return self.part()

    def __getitem__(self, key: Any) -> Tile:
        return self if key is Ellipsis else Tile(self.part())[key]

    def part(self, box: Box = ()) -> NkiTensor:
        base, blocks = self._tile._whole(), self._tile._blocks
        spread = [np.broadcast_to(each, self._shape)[box] for each in self._keys]
        shape = spread[0].shape
        for dim, (values, num) in enumerate(zip(spread, self._tile.shape, strict=True)):
            low, high = int(values.min()), int(values.max())
            if low < 0 or high >= num:
                raise invalid(
                    f"{base.name}: an index of dimension {dim} must be 0 to {num - 1} where no mask leaves it out, not"
                    f" {low if low < 0 else high}"
                )
        found = [affine(values, shape) for values in spread]
        order = [found[blocks], *found[:blocks], *found[blocks + 1 :]]
        start, row = base.start, base.row
        steps = [0] * len(shape)
        for dim, ((first, own), step) in enumerate(zip(order, base.steps, strict=True)):
            if base.on_chip and dim == 0:
                row += first * step
                continue
            start += first * step
            steps = [each + more * step for each, more in zip(steps, own, strict=True)]
        if base.on_chip:
            across = [step * base.steps[0] for step in order[0][1]]
            if steps[0] or any(across[1:]):
                raise invalid(f"{base.name}: the first dimension of the indices must be that of the partitions, alone")
            steps[0] = across[0] or 1
            shape, steps = chip_shape(shape), [*steps, *[1] * (2 - len(steps))]
        view = replace(base, row=row, start=start, shape=shape, steps=tuple(steps))
        view.check()
        return view


class Gathered(Indexed):
    """Rows of an HBM tensor by indices of a tile [P, 1], which a DMA reads when it runs.

    Parameters
    ----------
    tile : the tensor.
    keys : the tile for one of its dimensions, an integer or an array of indices for each other one.
    """

    def __init__(self, tile: Tile, keys: Sequence[Any]):
        (self._dim, *others) = (k for k, each in enumerate(keys) if isinstance(each, Tile))
        self._index = keys[self._dim]
        if others or tile.memory in ("sbuf", "psum") or self._index.shape[1:] != (1,):
            raise outside("an index by a tile but for one of [P, 1] for an HBM tensor", "nisa instructions that gather")
        none = np.zeros(self._index.shape, int)
        super().__init__(tile, [none if isinstance(each, Tile) else each for each in keys])

    def part(self, box: Box = ()) -> NkiTensor:
        rows, base = super().part(box), self._tile.part()
        made = Indirect(self._index.part(box[:1]), base.steps[self._dim], base.shape[self._dim], vector=True)
        return replace(rows, indices=made)


def chip_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of a tile: at least partitions and one free dimension."""
    return tuple(shape) if len(shape) > 1 else (*shape, 1)


class Result(Tile):
    """What an instruction returns: it runs when an assignment gives it a destination, or else into a new tile.

    Parameters
    ----------
    shape, dtype : of the tile.
    act : runs the instruction into a destination.
    memories : where its destination may be, the new tile in the first.
    box : the part of the tile that a mask leaves; all without one.
    adds : True for a product, whose ``act`` takes ``accumulate``.
    """

    def __init__(
        self,
        shape: Sequence[int],
        dtype: Any,
        act: Callable[..., Any],
        memories: tuple[str, ...] = ("sbuf", "psum"),
        *,
        box: Box = (),
        adds: bool = False,
    ):
        super().__init__(None)
        program = running()
        program.settle()
        self._shape, self._kind = chip_shape(shape), dtype_name(dtype)
        self._act, self.memories, self.box, self.adds = act, memories, box, adds
        self._line = kernel_line()
        self._given: tuple[Tile, int] | None = None
        program.waiting = self

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def kind(self) -> str:
        return self._kind

    @property
    def memory(self) -> str:
        return self._whole().allocation.buffer

    def issue(self, dst: Tile, **more: Any) -> None:
        """Run the instruction into a destination, with the kernel's line of its call; its operands may go then."""
        token = LINE.set(self._line)
        try:
            self._act(dst, **more)
        finally:
            LINE.reset(token)
            del self._act

    def fits(self, dst: Tile) -> bool:
        """Return whether the instruction can write to a destination itself."""
        return dst.shape == self.shape and dst.kind == self.kind and dst.memory in self.memories

    def give(self, dst: Tile) -> None:
        """Run the instruction into an assignment's destination."""
        self.issue(dst, **({"accumulate": False} if self.adds else {}))
        if not is_empty(self.box):
            count_as_sum(dst.part(self.box))
        self._given = dst, len(present_core().machine.instructions)

    def settle(self) -> None:
        """Run the instruction into a new tile."""
        made = Tile(memory.ndarray(self.shape, self.kind, self.memories[0]))
        self.issue(made)
        self._view = made.part()

    def _whole(self) -> NkiTensor:
        program = running()
        if program.waiting is self:
            program.settle()
        if self._view is None:
            assert self._given is not None
            self._view = self._given[0].part()
        if self._given is not None:
            later = present_core().machine.instructions[self._given[1] :]
            if any(box.meets(self._view.box()) for each in later for box in each.writes):
                raise outside("a result whose assigned tile has changed since", "a copy")
        return self._view


def assign(dst: Tile, value: Any) -> None:
    """Write a result, a tile or a number to a tile: the result's own instruction where it fits, else a copy."""
    program = running()
    if isinstance(value, Result) and value is program.waiting and value.fits(dst):
        program.waiting = None
        value.give(dst)
        return
    box = value.box if isinstance(value, Result) and value is program.waiting else ()
    program.settle()
    if is_empty(box):
        return
    view = dst.part(box)
    if not isinstance(value, Tile):
        fill(view, value)
        return
    source = value.part(box)
    if (source.allocation, source.row, source.start, source.shape, source.steps) == (
        view.allocation, view.row, view.start, view.shape, view.steps,
    ):  # fmt: skip
        return
    if source.size != view.size:
        source = spread(source, view.shape)
    if view.on_chip and source.on_chip:
        isa.tensor_copy(view, source)
    else:
        isa.dma_copy(view, source)
    count_as_sum(view)


def fill(view: NkiTensor, value: float) -> None:
    """Set all elements. To zeros in PSUM no product adds: it overwrites them, as the vendor's compiler lets it."""
    memory.fill(view, value)
    if value != 0:
        count_as_sum(view)


def count_as_sum(view: NkiTensor) -> None:
    """Let the next product add to these elements of PSUM, which something else than a product may have written."""
    if view.allocation.buffer == "psum":
        view.matmul_written()[...] = True


def spread(view: NkiTensor, shape: Sequence[int]) -> NkiTensor:
    """Return a view with its dimensions of one element repeated; over partitions in a new tile."""
    if view.ndim != len(shape):
        raise invalid(f"{view.name}: shape must have {len(shape)} dimensions, not {view.shape}")
    if view.shape[0] != shape[0]:
        return functions.broadcast_to(view, shape)
    for dim in range(1, view.ndim):
        if view.shape[dim] != shape[dim]:
            view = view.broadcast(dim, shape[dim])
    return view


def in_sbuf(view: NkiTensor) -> NkiTensor:
    """Return a view for an engine that cannot read PSUM: of a copy where it lies there."""
    return functions.copy(view) if view.allocation.buffer == "psum" else view


def each_of(value: Any, kind: type, change: Callable) -> Any:
    """Return a value with everything of a kind in its lists, tuples and dictionaries changed."""
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, dict):
        return {name: each_of(each, kind, change) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(each_of(each, kind, change) for each in value)
    return value


# The program: an instance of the launch's grid.


@dataclass(eq=False)
class Program:
    """An instance of a kernel while it runs.

    Attributes
    ----------
    grid, place : sizes of the launch's grid, and its place there.
    shared : tensors of shared HBM, which all instances allocate in one order.
    calls : such allocations so far.
    waiting : the instruction that waits for its destination.
    """

    grid: tuple[int, ...]
    place: tuple[int, ...]
    shared: list[NkiTensor] = field(default_factory=list)
    calls: int = 0
    waiting: Result | None = None

    def settle(self) -> None:
        """Let the waiting instruction run into a new tile."""
        waiting, self.waiting = self.waiting, None
        if waiting is not None:
            waiting.settle()

    def share(self, shape: Sequence[int], dtype: Any, name: str) -> NkiTensor:
        """Return the tensor of this call in the first instance."""
        if self.calls == len(self.shared):
            self.shared.append(memory.ndarray(shape, dtype, MemoryRegion.shared_hbm, name))
        self.calls += 1
        return self.shared[self.calls - 1]


PROGRAM: ContextVar[Program | None] = ContextVar("old_style_program", default=None)


def running() -> Program:
    """Return the instance that runs.

    Raises NkiValidationError outside a kernel.
    """
    program = PROGRAM.get()
    if program is None:
        raise invalid("no kernel is running: call a function with @nki.jit of neuronxcc")
    return program
