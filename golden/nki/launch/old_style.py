"""Kernels of NKI 0.1, ``neuronxcc.nki``, on the new layer: each instruction becomes that of ``nki.isa`` with a destination.

    x = nisa.op(a, mask=m)                     nisa.op(dst=x[box], a[box]), with the box of m's elements; x is a new tile
    t[key] = nisa.op(a)                        nisa.op(dst=t[key], a)
    psum += nl.matmul(a, b)                    nisa.nc_matmul(dst=psum, a, b), which adds
    t[i + nl.arange(n)[:, None], 2 * f + 1]    a view with a first element and steps
    kernel[4, 2](a)                            eight instances, one after the other

An instruction waits for its destination until the kernel's next one: an assignment gives it, anything else a new tile. The vendor's
compiler orders instructions and places tiles as it likes; here they run as written. Ref: NKI pages of the Neuron SDK 2.26.1
(2025-09), "NKI API common fields" for masks and promoted dtypes; "NKI migration guide", SDK 2.27.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import update_wrapper, wraps
from inspect import signature
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from bitpath.golden.nki.declarations.errors import LINE, invalid, kernel_line
from bitpath.golden.nki.isa import instructions as isa
from bitpath.golden.nki.isa.enums import BIT_OPERATORS
from bitpath.golden.nki.language import functions, memory
from bitpath.golden.nki.launch.kernel import Kernel
from bitpath.golden.nki.machine.core import present_core
from bitpath.golden.nki.memory.dtypes import STORED, dtype_name, is_float
from bitpath.golden.nki.memory.storage import MemoryRegion
from bitpath.golden.nki.memory.tensor import DynamicSlice, NkiTensor

OUTSIDE = "is outside of the part of NKI 0.1 that runs here; the NKI migration guide of SDK 2.27 has its form in `nki`"


def outside(what: str, instead: str) -> NotImplementedError:
    """Return the error of a kernel that needs more than this part of NKI 0.1."""
    return NotImplementedError(f"{what} is outside of the part of NKI 0.1 that runs here; in `nki` write {instead}")


# Indices: affine expressions of nl.arange and nl.mgrid, masks of comparisons, and the box that a mask leaves.


Box = tuple[slice, ...]


class Index(np.ndarray):
    """Integers of an index expression; a comparison is a `Predicate`."""

    def __ge__(self, other: Any) -> Any:
        return Predicate(self - other, "greater_equal")

    def __gt__(self, other: Any) -> Any:
        return Predicate(self - other, "greater")

    def __le__(self, other: Any) -> Any:
        return Predicate(other - self, "greater_equal")

    def __lt__(self, other: Any) -> Any:
        return Predicate(other - self, "greater")

    def __eq__(self, other: object) -> Any:
        return Predicate(self - other, "equal")  # type: ignore[operator]

    def __ne__(self, other: object) -> Any:
        return Predicate(self - other, "not_equal")  # type: ignore[operator]

    __hash__ = None  # type: ignore[assignment]


_COMPARISONS = {"greater_equal": np.greater_equal, "greater": np.greater, "equal": np.equal, "not_equal": np.not_equal}


class Predicate:
    """Where a difference of indices compares with 0; `difference` and `op` are None for several comparisons."""

    def __init__(self, difference: Any, op: str | None, values: np.ndarray | None = None):
        self.op = op
        self.difference = None if op is None else np.asarray(difference)
        self.values = _COMPARISONS[op](self.difference, 0) if op is not None else values

    def __and__(self, other: Any) -> "Predicate":
        values = other.values if isinstance(other, Predicate) else other
        return Predicate(None, None, np.logical_and(self.values, values))

    __rand__ = __and__


def arange(*args: int) -> Index:
    """Return integers as numpy's arange."""
    return np.arange(*map(int, args)).view(Index)


class _Grid(tuple):
    """Indices of nl.mgrid, the partition's as ``p`` and those behind it as ``x``, ``y`` and ``z``."""

    p, x, y, z = (property(lambda self, k=k: self[k]) for k in range(4))


class _Mgrid:
    def __getitem__(self, key: Any) -> _Grid:
        return _Grid(each.view(Index) for each in np.mgrid[key])


def affine(values: Any, shape: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """Return the first of the values and their step along each dimension.

    Raises NkiValidationError unless they are an affine expression.
    """
    spread = np.broadcast_to(np.asarray(values), shape)
    first = int(spread[(0,) * spread.ndim])
    steps = tuple(
        int(spread[tuple(int(k == axis) for k in range(spread.ndim))]) - first if num > 1 else 0
        for axis, num in enumerate(shape)
    )
    if not (
        spread == first + sum(step * at for step, at in zip(steps, np.indices(shape, sparse=True), strict=True))
    ).all():
        raise invalid("an index must be an affine expression of nl.arange, with one step in each dimension")
    return first, steps


def box_of(mask: Any, shape: Sequence[int]) -> Box:
    """Return the slices that a mask leaves of a tile; empty ones if it leaves nothing.

    Raises NotImplementedError for another set of elements.
    """
    if mask is None:
        return (slice(None),) * len(shape)
    try:
        values = np.broadcast_to(np.asarray(mask.values if isinstance(mask, Predicate) else mask), shape)
    except ValueError:
        raise invalid(f"mask must fit a tile of shape {tuple(shape)}") from None
    found = []
    for axis in range(values.ndim):
        places = np.flatnonzero(values.any(axis=tuple(k for k in range(values.ndim) if k != axis)))
        found.append(slice(int(places[0]), int(places[-1]) + 1) if len(places) else slice(0, 0))
    if not values[tuple(found)].all():
        raise outside("a mask that leaves no box of elements", "nisa.affine_select")
    return tuple(found)


def _fitted(box: Box, shape: Sequence[int], tile: Sequence[int]) -> Box:
    """Return a box of a shape for a tile that has one element, or other ones, in some of its dimensions."""
    return tuple(each if num == own else slice(None) for each, num, own in zip(box, shape, tile, strict=False))


# Tiles: views with the vendor's operators, and results of instructions that wait for their destination.


def _numpy_dtype(name: str) -> Any:
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
        return self._whole().allocation.buffer

    @property
    def dtype(self) -> Any:
        return _numpy_dtype(self.kind)

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
            raise outside("an index by a tile", "tensor.ap with scalar_offset or vector_offset")
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
            assign(self, self + other)
        return self

    def reshape(self, shape: Sequence[int]) -> "Tile":
        return Tile(self.part().reshape(shape))

    def view(self, dtype: Any) -> "Tile":
        return Tile(self.part().view(dtype))

    def broadcast_to(self, shape: Sequence[int]) -> "Tile":
        return OLD_LANGUAGE["broadcast_to"](self, shape)

    def astype(self, dtype: Any) -> "Tile":
        return OLD_LANGUAGE["copy"](self, dtype=dtype)


def _operator(name: str, *, reverse: bool = False) -> Callable:
    def operator(self: Tile, other: Any) -> Tile:
        return OLD_LANGUAGE[name](other, self) if reverse else OLD_LANGUAGE[name](self, other)

    return operator


for _name, _method in {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "power": "pow"}.items():
    setattr(Tile, f"__{_method}__", _operator(_name))
    setattr(Tile, f"__r{_method}__", _operator(_name, reverse=True))
Tile.__neg__ = lambda self: OLD_LANGUAGE["negative"](self)  # type: ignore[attr-defined]
for _name, _method in {"less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge"}.items():
    setattr(Tile, f"__{_method}__", _operator(_name))


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
            shape, steps = _chip_shape(shape), [*steps, *[1] * (2 - len(steps))]
        view = replace(base, row=row, start=start, shape=shape, steps=tuple(steps))
        view.check()
        return view


def _chip_shape(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(shape) if len(shape) > 1 else (*shape, 1)


class Result(Tile):
    """What an instruction returns: it runs when an assignment gives it a destination, or else into a new tile.

    Parameters
    ----------
    shape, dtype : of the tile.
    act : runs the instruction into a destination.
    memories : where its destination may be, the new tile in the first.
    adds : True for a product, whose ``act`` takes ``accumulate``.
    """

    def __init__(
        self,
        shape: Sequence[int],
        dtype: Any,
        act: Callable[..., None],
        memories: tuple[str, ...] = ("sbuf", "psum"),
        *,
        adds: bool = False,
    ):
        super().__init__(None)
        program = running()
        program.settle()
        self._shape, self._kind, self._act, self.memories, self.adds = (
            _chip_shape(shape),
            dtype_name(dtype),
            act,
            memories,
            adds,
        )
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
        """Run the instruction into a destination, with the kernel's line of its call."""
        token = LINE.set(self._line)
        try:
            self._act(dst, **more)
        finally:
            LINE.reset(token)

    def fits(self, dst: Tile) -> bool:
        """Return whether the instruction can write to a destination itself."""
        return dst.shape == self.shape and dst.kind == self.kind and dst.memory in self.memories

    def give(self, dst: Tile) -> None:
        """Run the instruction into an assignment's destination."""
        self.issue(dst, **({"accumulate": False} if self.adds else {}))
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
    program.settle()
    view = dst.part()
    if not isinstance(value, Tile):
        memory.fill(view, value)
        return
    source = value.part()
    if (source.allocation, source.row, source.start, source.shape, source.steps) == (
        view.allocation, view.row, view.start, view.shape, view.steps,
    ):  # fmt: skip
        return
    if source.size != view.size:
        source = _spread(source, view.shape)
    if view.on_chip and source.on_chip:
        isa.tensor_copy(view, source)
    else:
        isa.dma_copy(view, source)
    if view.allocation.buffer == "psum":
        view.matmul_written()[...] = True  # so that a product adds to it


def _spread(view: NkiTensor, shape: Sequence[int]) -> NkiTensor:
    """Return a view with its dimensions of one element repeated; over partitions in a new tile."""
    if view.ndim != len(shape):
        raise invalid(f"{view.name}: shape must have {len(shape)} dimensions, not {view.shape}")
    if view.shape[0] != shape[0]:
        return functions.broadcast_to(view, shape)
    for dim in range(1, view.ndim):
        if view.shape[dim] != shape[dim]:
            view = view.broadcast(dim, shape[dim])
    return view


def _in_sbuf(view: NkiTensor) -> NkiTensor:
    """Return a view for an engine that cannot read PSUM: of a copy where it lies there."""
    return functions.copy(view) if view.allocation.buffer == "psum" else view


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


@dataclass(frozen=True)
class Cores:
    """A dimension of the grid over physical cores: ``nl.nc(2)``, and ``nl.spmd_dim`` or a product with a number.

    Attributes
    ----------
    size : instances.
    cores : physical cores.
    inner : whether neighbours are on different cores.
    """

    size: int
    cores: int
    inner: bool = False

    def __mul__(self, other: int) -> "Cores":
        return replace(self, size=self.size * other)

    def __rmul__(self, other: int) -> "Cores":
        return replace(self, size=self.size * other, inner=True)

    def core(self, place: int) -> int:
        return place % self.cores if self.inner else place // (self.size // self.cores)


def spmd_dim(outer: Any, inner: Any) -> Any:
    """Return a dimension of the grid of two parts."""
    return outer * inner


class OldKernel(Kernel):
    """A function that ``@nki.jit`` of ``neuronxcc`` decorates; ``kernel[4, 2]`` runs eight instances, one after the other.

    A dimension ``nl.nc(2)`` divides them between two cores.
    """

    def __init__(self, function: Callable, grid: Sequence[Any] = ()):
        self.source = function
        self.grid = tuple(each if isinstance(each, Cores) else Cores(int(each), 1) for each in grid)
        cores = max((each.cores for each in self.grid), default=1)
        super().__init__(function, cores if cores > 1 else None)
        self.function = wraps(function)(lambda *args, **kwargs: self._instances(*args, **kwargs))

    def __getitem__(self, grid: Any) -> "OldKernel":
        return OldKernel(self.source, grid if isinstance(grid, tuple) else (grid,))

    def _instances(self, *args: Any, **kwargs: Any) -> Any:
        outer = PROGRAM.get()
        if outer is not None and not self.grid:
            return self.source(*args, **kwargs)
        if outer is not None:
            outer.settle()
        wrapped = _each(args, NkiTensor, Tile), _each(kwargs, NkiTensor, Tile)
        sizes, shared, outputs = tuple(each.size for each in self.grid), [], None
        for place in np.ndindex(*sizes):
            core = next((d.core(at) for d, at in zip(self.grid, place, strict=True) if d.cores > 1), 0)
            if present_core().machine.size > 1 and core != present_core().number:
                continue
            program = Program(sizes, place, shared)
            token = PROGRAM.set(program)
            try:
                outputs = self.source(*wrapped[0], **wrapped[1])
                outputs = _each(outputs, Tile, Tile.part) if outer is None else outputs
                program.settle()
            finally:
                PROGRAM.reset(token)
        return outputs


def _each(value: Any, kind: type, change: Callable) -> Any:
    """Return a value with everything of a kind in its lists, tuples and dictionaries changed."""
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, dict):
        return {name: _each(each, kind, change) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(_each(each, kind, change) for each in value)
    return value


def jit(function: Callable | None = None, **ignored: Any) -> Any:
    """Make a kernel of a function; keywords, which are for the compiler, have no effect."""
    if function is None:
        return jit
    return function if isinstance(function, Kernel) else OldKernel(function)


def plain(function: Callable | None = None, **ignored: Any) -> Any:
    """Return a function as it is, for decorators that steer the compiler."""
    return plain if function is None else function


def simulate_kernel(kernel: Kernel, *args: Any, **kwargs: Any) -> Any:
    """Run a kernel and return its outputs."""
    return kernel(*args, **kwargs)


# Dtypes of results. Ref: "NKI API common fields", type promotion and weakly typed scalars.


def promoted(*operands: Any) -> str:
    """Return the dtype of an operator's result: of the widest operand, or one that holds both."""
    names = list(dict.fromkeys(_dtype_of(each) for each in operands))
    floats = [name for name in names if is_float(name)] or names
    if len(floats) == 1:
        return floats[0]
    sizes = [STORED[name].itemsize for name in floats]
    if is_float(floats[0]):
        widest = [name for name, size in zip(floats, sizes, strict=True) if size == max(sizes)]
        return widest[0] if len(widest) == 1 else "bfloat16" if max(sizes) == 1 else "float32"
    name = np.result_type(*(STORED[each] for each in floats)).name
    return name if name in STORED else "float32"


def _dtype_of(operand: Any) -> str:
    if isinstance(operand, Tile):
        return operand.kind
    if isinstance(operand, np.generic):
        return dtype_name(operand.dtype)
    return "uint8" if isinstance(operand, bool) else "int32" if isinstance(operand, int) else "float32"


# nki.language: tensors, the grid, and functions of tiles.


class ParDim(int):
    """The size of the dimension that lies along partitions: ``nl.par_dim``."""


def ndarray(shape: Sequence[int], dtype: Any, *, buffer: Any = None, name: str = "") -> Tile:
    """Return a new tensor; a dimension ``nl.par_dim`` on chip may have others before it."""
    running().settle()
    region = MemoryRegion.sbuf if buffer is None else buffer
    if not isinstance(region, MemoryRegion):
        raise invalid(f"buffer must be a memory of nl or an allocator of nki.compiler, not {buffer!r}")
    sizes = tuple(int(num) for num in shape)
    if region is MemoryRegion.shared_hbm:
        return Tile(running().share(sizes, dtype, name))
    blocks = next((k for k, num in enumerate(shape) if isinstance(num, ParDim)), 0)
    if region not in (MemoryRegion.sbuf, MemoryRegion.psum):
        return Tile(memory.ndarray(sizes, dtype, region, name))
    order = _chip_shape((sizes[blocks], *sizes[:blocks], *sizes[blocks + 1 :]))
    return Tile(memory.ndarray(order, dtype, region, name), blocks)


def full(shape: Sequence[int], fill_value: Any, dtype: Any, *, buffer: Any = None, name: str = "") -> Tile:
    """Return a new tensor of one number."""
    made = ndarray(shape, dtype, buffer=buffer, name=name)
    memory.fill(made._whole(), fill_value)
    return made


def zeros(shape: Sequence[int], dtype: Any, *, buffer: Any = None, name: str = "") -> Tile:
    return full(shape, 0, dtype, buffer=buffer, name=name)


def ones(shape: Sequence[int], dtype: Any, *, buffer: Any = None, name: str = "") -> Tile:
    return full(shape, 1, dtype, buffer=buffer, name=name)


def zeros_like(a: Tile, dtype: Any = None, *, buffer: Any = None, name: str = "") -> Tile:
    return zeros(a.shape, dtype or a.kind, buffer=buffer or MemoryRegion(a.memory), name=name)


def empty_like(a: Tile, dtype: Any = None, *, buffer: Any = None, name: str = "") -> Tile:
    return ndarray(a.shape, dtype or a.kind, buffer=buffer or MemoryRegion(a.memory), name=name)


def program_id(axis: int) -> int:
    """Return this instance's place along a dimension of the grid."""
    return running().place[axis]


def num_programs(axes: Any = None) -> int:
    """Return the instances along dimensions of the grid, all without any."""
    grid = running().grid
    chosen = range(len(grid)) if axes is None else (axes,) if isinstance(axes, int) else axes
    return prod(grid[axis] for axis in chosen)


def program_ndim() -> int:
    return len(running().grid)


def _loop(*bounds: Any, **ignored: Any) -> range:
    return range(*map(int, bounds))


def load(src: Tile, *, mask: Any = None, dtype: Any = None) -> Tile:
    """Return a tile in SBUF of an HBM tensor's elements."""
    box = box_of(mask, src.shape)
    return Result(src.shape, dtype or src.kind, lambda dst: _masked(box, isa.dma_copy, dst, src), ("sbuf",))


def store(dst: Tile, value: Any, *, mask: Any = None) -> None:
    """Write a tile to HBM; one of PSUM goes through SBUF."""
    running().settle()
    _masked(box_of(mask, dst.shape), functions.store, dst, value)


def _masked(box: Box, function: Callable, dst: Tile, src: Tile) -> None:
    if not _is_empty(box):
        function(dst.part(box), src.part(_fitted(box, dst.shape, src.shape)))


def _is_empty(box: Box) -> bool:
    return slice(0, 0) in box


def _binary(name: str) -> Callable:
    def operator(x: Any, y: Any, *, dtype: Any = None, mask: Any = None) -> Tile:
        tiles = [each for each in (x, y) if isinstance(each, Tile)]
        try:
            shape = np.broadcast_shapes(*(_chip_shape(each.shape) for each in tiles))
        except ValueError:
            raise invalid(f"{name}: shapes must be broadcastable, not {tiles[0].shape} and {tiles[1].shape}") from None
        box = box_of(mask, shape)
        own = dtype or ("bool" if name in COMPARISONS else promoted(x, y))
        return Result(
            shape, own, lambda dst: None if _is_empty(box) else _operate(name, dst.part(box), x, y, box, shape)
        )

    operator.__name__ = operator.__qualname__ = name
    return operator


def _operate(name: str, dst: NkiTensor, x: Any, y: Any, box: Box, shape: Sequence[int]) -> None:
    """Run an operator of two tiles, or of a tile and a number or column."""
    parts = [each.part(_fitted(box, shape, each.shape)) if isinstance(each, Tile) else each for each in (x, y)]
    if name == "divide":
        name, parts = "multiply", [parts[0], _inverse(parts[1])]
    for k, (one, other) in enumerate((parts, parts[::-1])):
        is_column = isinstance(other, NkiTensor) and other.shape == (dst.shape[0], 1) and other.dtype == "float32"
        is_column = is_column and isinstance(one, NkiTensor) and one.size > other.size and name not in BIT_OPERATORS
        if isinstance(one, NkiTensor) and (is_column or not isinstance(other, NkiTensor)):
            isa.tensor_scalar(dst, _spread(one, dst.shape), name, other, reverse0=bool(k))
            return
    left, right = (_spread(each, dst.shape) for each in parts)
    if left.allocation.buffer == right.allocation.buffer == "psum":
        left = functions.copy(left)
    isa.tensor_tensor(dst, left, right, name)


def _inverse(value: Any) -> Any:
    """Return 1 / value for a quotient, which no engine computes at once; of a tile by VectorE."""
    return functions.reciprocal(value, "float32") if isinstance(value, NkiTensor) else 1.0 / value


def _unary(name: str, act: Callable[[NkiTensor, NkiTensor], None]) -> Callable:
    def function(x: Tile, *, dtype: Any = None, mask: Any = None) -> Tile:
        box = box_of(mask, x.shape)
        return Result(x.shape, dtype or x.kind, lambda dst: _masked(box, act, dst, x))

    function.__name__ = function.__qualname__ = name
    return function


def _reduced(
    op: Any, x: Tile, axis: Any, dtype: Any = None, mask: Any = None, keepdims: bool = False, negate: bool = False
) -> Tile:
    """Return a tile reduced over some of its free dimensions, by tensor_reduce."""
    axes = sorted(int(dim) % x.ndim for dim in ((axis,) if isinstance(axis, int) else axis))
    kept = [dim for dim in range(x.ndim) if dim not in axes]
    shape = [1 if dim in axes else num for dim, num in enumerate(x.shape) if keepdims or dim in kept]
    box = box_of(mask, x.shape)
    own = tuple(slice(None) if dim in axes else box[dim] for dim in range(x.ndim) if keepdims or dim in kept)

    def act(dst: Tile) -> None:
        if not _is_empty(box):
            view = x.part(box).permute([*kept, *axes])
            isa.tensor_reduce(dst.part(own), _plain(op), view, range(len(kept), x.ndim), negate)

    return Result(shape, dtype or x.kind, act)


def _reduction(name: str, op: str) -> Callable:
    def reduction(x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False) -> Tile:
        return _reduced(op, x, axis, dtype, mask, keepdims)

    reduction.__name__ = reduction.__qualname__ = name
    return reduction


def matmul(x: Tile, y: Tile, *, transpose_x: bool = False, mask: Any = None) -> Tile:
    """Return x @ y, or x.T @ y, in PSUM; x is transposed first where it has to be."""
    if not transpose_x:
        running().settle()
        x = Tile(functions.transpose(_in_sbuf(x.part())))
    return nc_matmul(x, y, mask=mask)


def _composite(name: str) -> Callable:
    """Return a function of the new layer that allocates its result, on tiles."""
    function = getattr(functions, name)

    def composite(*args: Any, mask: Any = None, **kwargs: Any) -> Tile:
        if mask is not None:
            raise outside(f"a mask of nl.{name}", "slices")
        running().settle()
        given = _each((args, kwargs), Tile, lambda tile: _in_sbuf(tile.part()) if name == "transpose" else tile.part())
        return _each(function(*given[0], **given[1]), NkiTensor, Tile)

    return update_wrapper(composite, function)


def _on_views(function: Callable) -> Callable:
    """Return a function of the new layer on tiles."""

    def call(*args: Any, **kwargs: Any) -> Any:
        running().settle()
        given = _each((args, kwargs), Tile, Tile.part)
        return _each(function(*given[0], **given[1]), NkiTensor, Tile)

    return update_wrapper(call, function)


COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_BINARY = (
    "add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor",
    "left_shift", "right_shift", "logical_and", "logical_or", "logical_xor", *COMPARISONS,
)  # fmt: skip
_ACTIVATIONS = (
    "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "relu", "square", "sign", "gelu", "gelu_dx", "gelu_apprx_tanh",
    "gelu_apprx_sigmoid", "silu", "silu_dx", "softplus", "mish", "erf", "erf_dx", "sin", "arctan",
)  # fmt: skip
_COMPOSITES = (
    "mean", "var", "all", "softmax", "rms_norm", "where", "transpose", "load_transpose2d", "broadcast_to", "expand_dims",
    "dropout", "rand", "random_seed", "gather_flattened",
)  # fmt: skip


def _activated(name: str) -> Callable[[NkiTensor, NkiTensor], None]:
    return lambda dst, x: isa.activation(dst, name, x)


def _by_tensor_scalar(*step: Any) -> Callable[[NkiTensor, NkiTensor], None]:
    return lambda dst, x: isa.tensor_scalar(dst, x, *step)


class _Limits:
    """Limits of a format, as ``nl.fp32.min``."""

    def __init__(self, dtype: Any):
        self.min = float(ml_dtypes.finfo(dtype).min)


OLD_LANGUAGE: dict[str, Any] = {
    **{name: getattr(MemoryRegion, name) for name in MemoryRegion.__members__},
    **{name: _numpy_dtype(name) for name in STORED},
    **{name: _binary(name) for name in _BINARY},
    **{name: _unary(name, _activated(name)) for name in _ACTIVATIONS},
    **{name: _unary(name, _by_tensor_scalar(name, None)) for name in ("abs", "invert", "logical_not")},
    **{name: _composite(name) for name in _COMPOSITES},
    **{name: _reduction(name, op) for name, op in (("sum", "add"), ("max", "max"), ("min", "min"), ("prod", "multiply"))},
    **dict.fromkeys(("affine_range", "sequential_range", "static_range"), _loop),
    **{each.__name__: each for each in (
        arange, ndarray, full, zeros, ones, zeros_like, empty_like, load, store, matmul, program_id, num_programs,
        program_ndim, spmd_dim,
    )},
    "bool_": np.dtype(bool),
    "copy": _unary("copy", isa.tensor_copy),
    "negative": _unary("negative", _by_tensor_scalar("multiply", -1.0)),
    "reciprocal": _unary("reciprocal", isa.reciprocal),
    "mgrid": _Mgrid(),
    "nc": lambda count: Cores(count, count),
    "par_dim": ParDim,
    "ds": DynamicSlice,
    "fp32": _Limits(np.float32),
    "bfp16": _Limits(ml_dtypes.bfloat16),
    "tile_size": memory.tile_size,
    "shared_constant": _on_views(memory.shared_constant),
    "shared_identity_matrix": _on_views(memory.shared_identity_matrix),
    "device_print": _on_views(memory.device_print),
}  # fmt: skip


# nki.isa: instructions with results.


_PLAIN = {"amax": "max", "amin": "min"}


def _plain(op: Any) -> Any:
    """Return an operator, of numpy's names those that its `max` and `min` have had."""
    return _PLAIN.get(getattr(op, "__name__", ""), op)


def nc_matmul(stationary: Tile, moving: Tile, *, mask: Any = None, **more: Any) -> Tile:
    """Return stationary.T @ moving in PSUM."""
    if mask is not None:
        raise outside("a mask of a product", "slices of its operands")

    def act(dst: Tile, accumulate: bool | None = None) -> None:
        isa.nc_matmul(dst.part(), stationary.part(), moving.part(), accumulate=accumulate, **more)

    shape = prod(stationary.shape[1:]), *moving.shape[1:]
    return Result(shape, "float32", act, ("psum",), adds=True)


def nc_transpose(data: Tile, *, mask: Any = None, dtype: Any = None, engine: Any = isa.unknown_engine) -> Tile:
    """Return [P, F] transposed: by VectorE up to 32 x 32, else by TensorE in PSUM."""
    if mask is not None:
        raise outside("a mask of nc_transpose", "a slice of its operand")
    columns = prod(data.shape[1:])
    own = engine
    if engine is isa.unknown_engine:
        own = isa.vector_engine if max(data.shape[0], columns) <= 32 else isa.tensor_engine
    on_tensor = own is isa.tensor_engine

    def act(dst: Tile) -> None:
        isa.nc_transpose(dst.part(), _in_sbuf(data.part()) if on_tensor else data.part(), engine=own)

    made = Result((columns, data.shape[0]), data.kind, act, ("psum",) if on_tensor else ("sbuf", "psum"))
    return made if dtype is None or dtype_name(dtype) == data.kind else OLD_LANGUAGE["copy"](made, dtype=dtype)


def affine_select(
    pred: Predicate, on_true_tile: Tile, on_false_value: float, *, mask: Any = None, dtype: Any = None
) -> Tile:
    """Keep elements where a comparison of indices holds, on GpSimd, which reads SBUF alone."""
    if not isinstance(pred, Predicate) or pred.op is None or mask is not None:
        raise outside(
            "affine_select with a mask, or with anything but one comparison", "one nisa.affine_select for each"
        )
    shape = on_true_tile.shape
    first, steps = affine(pred.difference, shape)
    pattern = [[step, num] for step, num in zip(steps[1:], shape[1:], strict=True)]

    def act(dst: Tile) -> None:
        isa.affine_select(dst.part(), pattern, steps[0], _in_sbuf(on_true_tile.part()), on_false_value, pred.op, first)

    return Result(shape, dtype or on_true_tile.kind, act, ("sbuf",))


def iota(expr: Index, dtype: Any) -> Tile:
    """Return the values of an index expression in SBUF."""
    shape = _chip_shape(expr.shape)
    first, steps = affine(np.asarray(expr).reshape(shape), shape)
    pattern = [[step, num] for step, num in zip(steps[1:], shape[1:], strict=True)]
    return Result(shape, dtype, lambda dst: isa.iota(dst.part(), pattern, first, steps[0]), ("sbuf",))


def memset(shape: Sequence[int], value: float, dtype: Any, *, engine: Any = isa.unknown_engine) -> Tile:
    """Return a tile of one number."""
    return Result(shape, dtype, lambda dst: isa.memset(dst.part(), value, engine))


def tensor_reduce(
    op: Any, data: Tile, axis: Any, *, mask: Any = None, dtype: Any = None, negate: bool = False, keepdims: bool = False
) -> Tile:
    """Return a tile reduced over its last dimensions."""
    return _reduced(op, data, axis, dtype, mask, keepdims, negate)


def dma_transpose(src: Tile, *, axes: Any = None, mask: Any = None, dtype: Any = None) -> Tile:
    """Return a matrix transposed by DMA."""
    if mask is not None or axes is not None:
        raise outside("dma_transpose with axes or a mask", "nisa.dma_transpose with a destination")
    return OLD_LANGUAGE["load_transpose2d"](src, dtype=dtype)


_LIKE = {
    "activation": "data", "activation_reduce": "data", "dropout": "data", "nc_match_replace8": "data",
    "range_select": "on_true_tile", "reciprocal": "data", "scalar_tensor_tensor": "data", "tensor_copy": "src",
    "tensor_scalar": "data", "tensor_scalar_reduce": "data", "tensor_tensor": "data1", "tensor_tensor_scan": "data0",
}  # fmt: skip
"""Instructions whose result has the shape of an operand, and which."""
_ROWS = {"bn_stats": ("data", 6), "bn_aggr": ("data", 2), "max8": ("src", 8), "nc_find_index8": ("data", 8)}
"""Instructions with a number of results in each partition of an operand."""
_PAIRS = {"tensor_tensor": ("data1", "data2"), "tensor_tensor_scan": ("data0", "data1")}
"""Instructions whose result has the promoted dtype of two operands."""
_IN_PLACE = ("dma_copy", "select_reduce", "tensor_copy_predicated", "nc_stream_shuffle")
"""Instructions that take a destination in NKI 0.1 too."""


def _instruction(name: str, operand: str, columns: int | None = None) -> Callable:
    own = getattr(isa, name)
    parameters = signature(own)

    def call(*args: Any, mask: Any = None, dtype: Any = None, **kwargs: Any) -> Tile:
        given = parameters.bind(None, *args, **kwargs).arguments
        del given["dst"]
        like = given[operand]
        box = box_of(mask, like.shape)
        shape = like.shape if columns is None else (like.shape[0], columns)
        default = promoted(*(given[each] for each in _PAIRS[name])) if name in _PAIRS else like.kind

        def act(dst: Tile) -> None:
            if not _is_empty(box):
                part = lambda tile: tile.part(_fitted(box, like.shape, tile.shape))  # noqa: E731
                arguments = {key: _plain(_each(value, Tile, part)) for key, value in given.items()}
                own(dst.part(box if columns is None else box[:1]), **arguments)

        return Result(shape, dtype or ("uint32" if name == "nc_find_index8" else default), act)

    return update_wrapper(call, own)


def _in_place(name: str) -> Callable:
    own = getattr(isa, name)

    def call(*args: Any, mask: Any = None, dtype: Any = None, **kwargs: Any) -> None:
        if mask is not None or dtype is not None:
            raise outside(f"{name} with a mask or a dtype", "slices and a destination of the dtype")
        running().settle()
        names = ("src", "dst", "shuffle_mask") if name == "nc_stream_shuffle" else ()
        own(**_each(dict(zip(names, args, strict=True)) | kwargs, Tile, Tile.part))

    return update_wrapper(call, own)


_CONSTANTS = (
    "dge_mode", "dma_engine", "engine", "get_nc_version", "gpsimd_engine", "matmul_perf_mode", "nc_version", "oob_mode",
    "reduce_cmd", "scalar_engine", "sync_engine", "tensor_engine", "unknown_engine", "vector_engine",
)  # fmt: skip
OLD_ISA: dict[str, Any] = {
    **{name: getattr(isa, name) for name in _CONSTANTS if hasattr(isa, name)},
    **{name: _instruction(name, operand) for name, operand in _LIKE.items()},
    **{name: _instruction(name, operand, columns) for name, (operand, columns) in _ROWS.items()},
    **{name: _in_place(name) for name in _IN_PLACE},
    **{each.__name__: each for each in (
        nc_matmul, nc_transpose, affine_select, iota, memset, tensor_reduce, dma_transpose,
    )},
}  # fmt: skip
OLD_NKI: dict[str, Any] = dict.fromkeys(("jit", "benchmark", "baremetal", "profile"), jit) | {
    "simulate_kernel": simulate_kernel
}
OLD_COMPILER: dict[str, Any] = {
    **dict.fromkeys(("enable_stack_allocator", "force_auto_alloc", "skip_middle_end_transformations"), plain),
    "no_reorder": nullcontext,
}


def allocators(region: MemoryRegion) -> dict[str, Any]:
    """Return the allocators of a memory, which leave the place to the model: that of a tile changes no values."""
    return dict.fromkeys(("alloc", "mod_alloc", "auto_alloc"), lambda *ignored, **options: region)
