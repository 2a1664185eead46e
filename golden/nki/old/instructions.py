"""``neuronxcc.nki.isa``: instructions that return their result, each that of ``nki.isa`` with a destination.

Ref: reference pages of NKI, AWS Neuron SDK 2.26.1 (2025-09).
"""

from collections.abc import Callable, Sequence
from functools import update_wrapper
from inspect import signature
from math import prod
from typing import Any

import numpy as np

from bitpath.golden.nki.isa import instructions as isa
from bitpath.golden.nki.memory.dtypes import dtype_name
from bitpath.golden.nki.old.indices import NOTHING, Index, Predicate, affine, box_of, fitted, holds, is_empty, outside
from bitpath.golden.nki.old.language import OLD_LANGUAGE, plain_operator, product, promoted, reduced
from bitpath.golden.nki.old.tiles import Result, Tile, chip_shape, each_of, in_sbuf, running

# nki.isa: instructions with results.


def nc_transpose(data: Tile, *, mask: Any = None, dtype: Any = None, engine: Any = isa.unknown_engine) -> Tile:
    """Return [P, F] transposed: by VectorE up to 32 x 32, else by TensorE in PSUM."""
    runs = holds(mask, "nc_transpose", "a slice of its operand")
    columns = prod(data.shape[1:])
    own = engine
    if engine is isa.unknown_engine:
        own = isa.vector_engine if max(data.shape[0], columns) <= 32 else isa.tensor_engine
    on_tensor = own is isa.tensor_engine

    def act(dst: Tile) -> None:
        if runs:
            isa.nc_transpose(dst.part(), in_sbuf(data.part()) if on_tensor else data.part(), engine=own)

    memories = ("psum",) if on_tensor else ("sbuf", "psum")
    made = Result((columns, data.shape[0]), data.kind, act, memories, box=() if runs else NOTHING)
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
        isa.affine_select(dst.part(), pattern, steps[0], in_sbuf(on_true_tile.part()), on_false_value, pred.op, first)

    return Result(shape, dtype or on_true_tile.kind, act, ("sbuf",))


def iota(expr: Index, dtype: Any) -> Tile:
    """Return the values of an index expression in SBUF."""
    shape = chip_shape(expr.shape)
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
    return reduced(op, data, axis, dtype, mask, keepdims, negate)


def tensor_partition_reduce(op: Any, data: Tile, *, dtype: Any = None) -> Tile:
    """Return a tile reduced over its partitions, on GpSimd."""
    act = lambda dst: isa.tensor_partition_reduce(dst.part(), plain_operator(op), data.part())  # noqa: E731
    return Result((1, *data.shape[1:]), dtype or data.kind, act, ("sbuf",))


def local_gather(
    src_buffer: Tile, index: Tile, num_elem_per_idx: int = 1, num_valid_indices: int | None = None
) -> Tile:
    """Return runs of elements that each 16 partitions gather by their indices."""
    count = index.shape[1] * PARTITIONS_OF_A_CORE if num_valid_indices is None else num_valid_indices

    def act(dst: Tile) -> None:
        isa.local_gather(dst.part(), src_buffer.part(), index.part(), num_elem_per_idx, num_valid_indices)

    return Result((src_buffer.shape[0], count * num_elem_per_idx), src_buffer.kind, act, ("sbuf",))


def sequence_bounds(*, segment_ids: Tile, dtype: Any = None) -> Tile:
    """Return the first place of each element's segment and the one behind its last, [P, 2, F]."""
    shape = segment_ids.shape[0], 2, segment_ids.shape[1]
    act = lambda dst: isa.sequence_bounds(dst.part(), segment_ids.part())  # noqa: E731
    return Result(shape, dtype or segment_ids.kind, act, ("sbuf",))


def dma_transpose(src: Tile, *, axes: Any = None, mask: Any = None, dtype: Any = None) -> Tile:
    """Return a matrix transposed by DMA."""
    if mask is not None or axes is not None:
        raise outside("dma_transpose with axes or a mask", "nisa.dma_transpose with a destination")
    return OLD_LANGUAGE["load_transpose2d"](src, dtype=dtype)


PARTITIONS_OF_A_CORE = 16
"""Partitions that a core of GpSimd serves."""
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
_DEFAULTS = {"range_select": {"reduce_cmd": isa.reduce_cmd.idle}}
"""Defaults of NKI 0.1 that later ones differ from."""
_IN_PLACE = ("dma_copy", "select_reduce", "tensor_copy_predicated", "nc_stream_shuffle")
"""Instructions that take a destination in NKI 0.1 too."""


def _instruction(name: str, operand: str, columns: int | None = None) -> Callable:
    own = getattr(isa, name)
    parameters = signature(own)

    def call(*args: Any, mask: Any = None, dtype: Any = None, **kwargs: Any) -> Tile:
        given = parameters.bind(None, *args, **kwargs).arguments
        given |= {key: value for key, value in _DEFAULTS.get(name, {}).items() if key not in given}
        del given["dst"]
        like = given[operand]
        box = box_of(mask, like.shape)
        shape = like.shape if columns is None else (like.shape[0], columns)
        default = promoted(*(given[each] for each in _PAIRS[name])) if name in _PAIRS else like.kind

        own_box = box if columns is None else box[:1]

        def act(dst: Tile) -> None:
            if not is_empty(box):
                part = lambda tile: tile.part(fitted(box, like.shape, tile.shape))  # noqa: E731
                arguments = {key: plain_operator(each_of(value, Tile, part)) for key, value in given.items()}
                own(dst.part(own_box), **arguments)

        return Result(shape, dtype or ("uint32" if name == "nc_find_index8" else default), act, box=own_box)

    return update_wrapper(call, own)


def _in_place(name: str) -> Callable:
    own = getattr(isa, name)

    def call(*args: Any, mask: Any = None, dtype: Any = None, **kwargs: Any) -> None:
        if dtype is not None:
            raise outside(f"{name} with a dtype", "a destination of the dtype")
        running().settle()
        names = ("src", "dst", "shuffle_mask") if name == "nc_stream_shuffle" else ()
        given = dict(zip(names, args, strict=False)) | kwargs
        shape = given["dst"].shape
        box = box_of(mask, shape)
        if not is_empty(box):
            own(**each_of(given, Tile, lambda tile: tile.part(fitted(box, shape, tile.shape))))

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
        nc_transpose, affine_select, iota, memset, tensor_reduce, tensor_partition_reduce, local_gather,
        sequence_bounds, dma_transpose,
    )},
    "nc_matmul": product,
}  # fmt: skip
