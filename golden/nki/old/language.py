"""``neuronxcc.nki.language``: tensors, the launch's grid, and functions of tiles, with masks.

    x = nl.op(a, mask=m)     the instruction of ``nki.isa`` on the box of m's elements
    psum += nl.matmul(a, b)  nisa.nc_matmul(dst=psum, a, b), which adds

Ref: reference pages of NKI, AWS Neuron SDK 2.26.1 (2025-09). A quotient is a product by a reciprocal: chosen.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from bitpath.golden.nki.declarations.errors import invalid
from bitpath.golden.nki.isa import instructions as isa
from bitpath.golden.nki.isa.enums import BIT_OPERATORS
from bitpath.golden.nki.language import functions, memory
from bitpath.golden.nki.memory.dtypes import STORED, dtype_name, is_float
from bitpath.golden.nki.memory.storage import MemoryRegion
from bitpath.golden.nki.memory.tensor import DynamicSlice, NkiTensor
from bitpath.golden.nki.old.indices import NOTHING, Box, Mgrid, arange, box_of, fitted, holds, is_empty, outside
from bitpath.golden.nki.old.tiles import Result, Tile, chip_shape, each_of, fill, in_sbuf, numpy_dtype, running, spread


def named(function: Callable, name: str) -> Callable:
    """Return a function with a name, by which instructions take it as an operator."""
    function.__name__ = function.__qualname__ = name
    return function


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


def ndarray(shape: Sequence[int], dtype: Any, *, buffer: Any = None, name: str = "", **ignored: Any) -> Tile:
    """Return a new tensor; a dimension ``nl.par_dim`` on chip may have others before it.

    A single instance may return any tensor in HBM, so that all of its HBM is shared.
    """
    running().settle()
    region = MemoryRegion.sbuf if buffer is None else buffer
    if not isinstance(region, MemoryRegion):
        raise invalid(f"buffer must be a memory of nl or an allocator of nki.compiler, not {buffer!r}")
    sizes = tuple(int(num) for num in shape)
    if region is MemoryRegion.shared_hbm or (region is MemoryRegion.private_hbm and not running().grid):
        return Tile(running().share(sizes, dtype, name))
    blocks = next((k for k, num in enumerate(shape) if isinstance(num, ParDim)), 0)
    if region not in (MemoryRegion.sbuf, MemoryRegion.psum):
        return Tile(memory.ndarray(sizes, dtype, region, name))
    order = chip_shape((sizes[blocks], *sizes[:blocks], *sizes[blocks + 1 :]))
    return Tile(memory.ndarray(order, dtype, region, name), blocks)


def full(
    shape: Sequence[int], fill_value: Any, dtype: Any, *, buffer: Any = None, name: str = "", **ignored: Any
) -> Tile:
    """Return a new tensor of one number."""
    made = ndarray(shape, dtype, buffer=buffer, name=name)
    fill(made._whole(), fill_value)
    return made


def zeros(shape: Sequence[int], dtype: Any, *, buffer: Any = None, name: str = "", **ignored: Any) -> Tile:
    """Return a new tensor of zeros."""
    return full(shape, 0, dtype, buffer=buffer, name=name)


def ones(shape: Sequence[int], dtype: Any, *, buffer: Any = None, name: str = "", **ignored: Any) -> Tile:
    """Return a new tensor of ones."""
    return full(shape, 1, dtype, buffer=buffer, name=name)


def zeros_like(a: Tile, dtype: Any = None, *, buffer: Any = None, name: str = "", **ignored: Any) -> Tile:
    """Return zeros of a tensor's shape."""
    return zeros(a.shape, dtype or a.kind, buffer=buffer or MemoryRegion(a.memory), name=name)


def empty_like(a: Tile, dtype: Any = None, *, buffer: Any = None, name: str = "", **ignored: Any) -> Tile:
    """Return a new tensor of a tensor's shape."""
    return ndarray(a.shape, dtype or a.kind, buffer=buffer or MemoryRegion(a.memory), name=name)


def program_id(axis: int) -> int:
    """Return this instance's place along a dimension of the grid."""
    place = running().place
    return place[axis] if axis < len(place) else 0


def num_programs(axes: Any = None) -> int:
    """Return the instances along dimensions of the grid, all without any."""
    grid = running().grid
    chosen = range(len(grid)) if axes is None else (axes,) if isinstance(axes, int) else axes
    return prod(grid[axis] for axis in chosen)


def program_ndim() -> int:
    """Return the dimensions of the grid."""
    return len(running().grid)


def _loop(*bounds: Any, **ignored: Any) -> range:
    return range(*map(int, bounds))


def load(src: Tile, *, mask: Any = None, dtype: Any = None) -> Tile:
    """Return a tile in SBUF of an HBM tensor's elements."""
    box = box_of(mask, src.shape)
    return Result(src.shape, dtype or src.kind, lambda dst: masked(box, isa.dma_copy, dst, src), ("sbuf",), box=box)


def store(dst: Tile, value: Any, *, mask: Any = None) -> None:
    """Write a tile to HBM; one of PSUM goes through SBUF."""
    running().settle()
    masked(box_of(mask, dst.shape), functions.store, dst, value)


def masked(box: Box, function: Callable, dst: Tile, src: Tile) -> None:
    """Run an instruction on a box of both tiles; not at all where it is empty."""
    if not is_empty(box):
        function(dst.part(box), src.part(fitted(box, dst.shape, src.shape)))


def _binary(name: str) -> Callable:
    def operator(x: Any, y: Any, *, dtype: Any = None, mask: Any = None) -> Tile:
        tiles = [each for each in (x, y) if isinstance(each, Tile)]
        try:
            shape = np.broadcast_shapes(*(chip_shape(each.shape) for each in tiles))
        except ValueError:
            raise invalid(f"{name}: shapes must be broadcastable, not {tiles[0].shape} and {tiles[1].shape}") from None
        box = box_of(mask, shape)
        own = dtype or ("bool" if name in COMPARISONS else promoted(x, y))
        act = lambda dst: None if is_empty(box) else _operate(name, dst.part(box), x, y, box, shape)  # noqa: E731
        return Result(shape, own, act, box=box)

    return named(operator, name)


def _operate(name: str, dst: NkiTensor, x: Any, y: Any, box: Box, shape: Sequence[int]) -> None:
    """Run an operator of two tiles, or of a tile and a number or column."""
    parts = [each.part(fitted(box, shape, each.shape)) if isinstance(each, Tile) else each for each in (x, y)]
    if name in _REMAINDERS:
        given = [spread(each, dst.shape) if isinstance(each, NkiTensor) else each for each in parts]
        isa.tensor_copy(dst, getattr(functions, name)(*given, dst.dtype))
        return
    if name == "divide":
        name, parts = "multiply", [parts[0], _inverse(parts[1])]
    for k, (one, other) in enumerate((parts, parts[::-1])):
        is_column = isinstance(other, NkiTensor) and other.shape == (dst.shape[0], 1) and other.dtype == "float32"
        is_column = is_column and isinstance(one, NkiTensor) and one.size > other.size and name not in BIT_OPERATORS
        if isinstance(one, NkiTensor) and (is_column or not isinstance(other, NkiTensor)):
            isa.tensor_scalar(dst, spread(one, dst.shape), name, other, reverse0=bool(k))
            return
    left, right = (spread(each, dst.shape) for each in parts)
    if left.allocation.buffer == right.allocation.buffer == "psum":
        left = functions.copy(left)
    isa.tensor_tensor(dst, left, right, name)


def _inverse(value: Any) -> Any:
    """Return 1 / value for a quotient, which no engine computes at once; of a tile by VectorE."""
    return functions.reciprocal(value, "float32") if isinstance(value, NkiTensor) else 1.0 / value


def _unary(name: str, act: Callable[[NkiTensor, NkiTensor], Any]) -> Callable:
    def function(x: Tile, *, dtype: Any = None, mask: Any = None) -> Tile:
        box = box_of(mask, x.shape)
        return Result(x.shape, dtype or x.kind, lambda dst: masked(box, act, dst, x), box=box)

    return named(function, name)


_PLAIN = {"amax": "max", "amin": "min", "sum": "add"}


def plain_operator(op: Any) -> Any:
    """Return an operator, of numpy's reductions the operator that they repeat."""
    return _PLAIN.get(getattr(op, "__name__", ""), op)


def reduced(
    op: Any, x: Tile, axis: Any, dtype: Any = None, mask: Any = None, keepdims: bool = False, negate: bool = False
) -> Tile:
    """Return a tile reduced over some of its free dimensions, by tensor_reduce."""
    axes = sorted(int(dim) % x.ndim for dim in ((axis,) if isinstance(axis, int) else axis))
    kept = [dim for dim in range(x.ndim) if dim not in axes]
    shape = [1 if dim in axes else num for dim, num in enumerate(x.shape) if keepdims or dim in kept]
    box = box_of(mask, x.shape)
    own = tuple(slice(None) if dim in axes else box[dim] for dim in range(x.ndim) if keepdims or dim in kept)

    def act(dst: Tile) -> None:
        if not is_empty(box):
            view = x.part(box).permute([*kept, *axes])
            isa.tensor_reduce(dst.part(own), plain_operator(op), view, range(len(kept), x.ndim), negate)

    return Result(shape, dtype or x.kind, act, box=own)


def _reduction(name: str, op: str) -> Callable:
    def reduction(x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False) -> Tile:
        return reduced(op, x, axis, dtype, mask, keepdims)

    return named(reduction, name)


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


def product(stationary: Tile, moving: Tile, *, mask: Any = None, **more: Any) -> Tile:
    """Return stationary.T @ moving in PSUM, by nc_matmul."""
    runs = holds(mask, "a product", "slices of its operands")
    if isinstance(mode := more.get("perf_mode"), str):
        more["perf_mode"] = isa.matmul_perf_mode[mode]
    outer = 2 if more.get("perf_mode") is isa.matmul_perf_mode.double_row else 1

    def act(dst: Tile, accumulate: bool | None = None) -> None:
        if runs:
            operands = in_sbuf(stationary.part()), in_sbuf(moving.part())
            isa.nc_matmul(dst.part(), *operands, accumulate=accumulate, **more)

    # A transpose moves bits, so that PSUM holds the operand's dtype.
    dtype = stationary.kind if more.get("is_transpose") else "float32"
    shape = prod(stationary.shape[outer:]), *moving.shape[outer:]
    return Result(shape, dtype, act, ("psum",), box=() if runs else NOTHING, adds=True)


def matmul(x: Tile, y: Tile, *, transpose_x: bool = False, mask: Any = None) -> Tile:
    """Return x @ y, or x.T @ y, in PSUM; x is transposed first where it has to be."""
    if not transpose_x:
        running().settle()
        x = Tile(functions.transpose(in_sbuf(x.part())))
    return product(x, y, mask=mask)


def rand(shape: Sequence[int], dtype: Any = "float32") -> Tile:
    """Return a tile of numbers of [0, 1)."""
    running().settle()
    return Tile(functions.rand(shape, dtype))


def _composite(name: str) -> Callable:
    """Return a function of the new layer that allocates its result, on tiles."""
    function = getattr(functions, name)

    def composite(*args: Any, mask: Any = None, **kwargs: Any) -> Tile:
        if not holds(mask, f"nl.{name}", "slices"):
            raise outside(f"a mask that leaves nothing of nl.{name}", "an if")
        running().settle()
        given = each_of((args, kwargs), Tile, lambda tile: in_sbuf(tile.part()) if name == "transpose" else tile.part())
        return each_of(function(*given[0], **given[1]), NkiTensor, Tile)

    return named(composite, name)


def _on_views(function: Callable) -> Callable:
    """Return a function of the new layer on tiles."""

    def call(*args: Any, **kwargs: Any) -> Any:
        running().settle()
        given = each_of((args, kwargs), Tile, Tile.part)
        return each_of(function(*given[0], **given[1]), NkiTensor, Tile)

    return named(call, function.__name__)


_REMAINDERS = ("mod", "fmod")
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_BINARY = (
    "add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor",
    "left_shift", "right_shift", "logical_and", "logical_or", "logical_xor", *_REMAINDERS, *COMPARISONS,
)  # fmt: skip
_ACTIVATIONS = (
    "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "relu", "square", "sign", "gelu", "gelu_dx", "gelu_apprx_tanh",
    "gelu_apprx_sigmoid", "silu", "silu_dx", "softplus", "mish", "erf", "erf_dx", "sin", "arctan",
)  # fmt: skip
_COMPOSITES = (
    "mean", "var", "all", "softmax", "rms_norm", "where", "transpose", "load_transpose2d", "broadcast_to", "expand_dims",
    "dropout", "random_seed", "gather_flattened",
)  # fmt: skip


OPERATORS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "power": "pow", "less": "lt",
    "less_equal": "le", "greater": "gt", "greater_equal": "ge",
}  # fmt: skip
"""Functions of Python's operators on tiles; the first five also with a number on the left."""


def _activated(name: str) -> Callable[[NkiTensor, NkiTensor], Any]:
    return lambda dst, x: isa.activation(dst, name, x)


def _copied(name: str) -> Callable[[NkiTensor, NkiTensor], Any]:
    """Return a function of the new layer, which allocates its result, and a copy of that."""
    return lambda dst, x: isa.tensor_copy(dst, getattr(functions, name)(x, dst.dtype))


def _by_tensor_scalar(*step: Any) -> Callable[[NkiTensor, NkiTensor], Any]:
    return lambda dst, x: isa.tensor_scalar(dst, x, *step)


class _Limits:
    """Limits of a format, as ``nl.fp32.min``."""

    def __init__(self, dtype: Any):
        self.min = float(ml_dtypes.finfo(dtype).min)


OLD_LANGUAGE: dict[str, Any] = {
    **{name: getattr(MemoryRegion, name) for name in MemoryRegion.__members__},
    **{name: numpy_dtype(name) for name in STORED},
    **{name: _binary(name) for name in _BINARY},
    **{name: _unary(name, _activated(name)) for name in _ACTIVATIONS},
    **{name: _unary(name, _by_tensor_scalar(name, None)) for name in ("abs", "invert", "logical_not")},
    **{name: _unary(name, _copied(name)) for name in ("floor", "ceil", "trunc", "cos", "tan")},
    **{name: _composite(name) for name in _COMPOSITES},
    **{name: _reduction(name, op) for name, op in (("sum", "add"), ("max", "max"), ("min", "min"), ("prod", "multiply"))},
    **dict.fromkeys(("affine_range", "sequential_range", "static_range"), _loop),
    **{each.__name__: each for each in (
        arange, rand, ndarray, full, zeros, ones, zeros_like, empty_like, load, store, matmul, program_id, num_programs,
        program_ndim, spmd_dim,
    )},
    "bool_": np.dtype(bool),
    "copy": _unary("copy", isa.tensor_copy),
    "negative": _unary("negative", _by_tensor_scalar("multiply", -1.0)),
    "reciprocal": _unary("reciprocal", isa.reciprocal),
    "mgrid": Mgrid(),
    "nc": lambda count: Cores(count, count),
    "par_dim": ParDim,
    "ds": DynamicSlice,
    "finfo": ml_dtypes.finfo,
    "fp32": _Limits(np.float32),
    "bfp16": _Limits(ml_dtypes.bfloat16),
    "tile_size": memory.tile_size,
    "shared_constant": _on_views(memory.shared_constant),
    "shared_identity_matrix": _on_views(memory.shared_identity_matrix),
    "device_print": _on_views(memory.device_print),
}  # fmt: skip


def _operator(name: str, *, reverse: bool = False) -> Callable:
    def operator(self: Tile, other: Any) -> Tile:
        return OLD_LANGUAGE[name](other, self) if reverse else OLD_LANGUAGE[name](self, other)

    return operator


METHODS = {
    **{f"__{method}__": _operator(name) for name, method in OPERATORS.items()},
    **{f"__r{method}__": _operator(name, reverse=True) for name, method in list(OPERATORS.items())[:5]},
    "__neg__": OLD_LANGUAGE["negative"],
    "broadcast_to": OLD_LANGUAGE["broadcast_to"],
    "astype": lambda self, dtype: OLD_LANGUAGE["copy"](self, dtype=dtype),
}
for _name, _method in METHODS.items():
    setattr(Tile, _name, _method)
