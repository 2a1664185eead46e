"""VectorE's instructions along a row: scans, statistics, and the largest elements."""

from collections.abc import Callable, Sequence
from typing import Any

from bitpath.golden import trainium3
from bitpath.golden.nki.isa.enums import operator_name, word
from bitpath.golden.nki.isa.enums import reduce_cmd as commands
from bitpath.golden.nki.machine import access
from bitpath.golden.nki.machine.issue import SBUF, Issue, free_size, instruction
from bitpath.golden.nki.machine.timeline import gpsimd_cycles
from bitpath.golden.nki.memory.dtypes import STORED
from bitpath.golden.nki.memory.tensor import NkiTensor
from bitpath.golden.trainium3.vector.reductions import LOWEST

# affine_select, range_select, select_reduce and tensor_copy_predicated: elements chosen by their place or a mask.


MASKS = ("uint8", "uint16", "uint32", "bool", "int8", "int16", "int32")


@instruction
def affine_select(
    issue: Issue,
    dst: NkiTensor,
    pattern: Sequence[Sequence[int]],
    channel_multiplier: int,
    on_true_tile: NkiTensor,
    on_false_value: float,
    cmp_op: Callable | str = "equal",
    offset: int = 0,
) -> None:
    """Keep elements whose affine value compares with 0, on GpSimd; the others become a number."""
    issue.check("dst", dst, SBUF)
    values = issue.tile("on_true_tile", on_true_tile, SBUF)
    made = trainium3.affine_select(
        [(int(step), int(num)) for step, num in pattern], int(channel_multiplier), values, on_false_value,
        operator_name(issue, "cmp_op", cmp_op), offset=int(offset), dtype=issue.result(dst),
    )  # fmt: skip
    issue.put("dst", dst, made)
    issue.on("gpsimd", gpsimd_cycles(free_size(dst)))


@instruction
def range_select(
    issue: Issue,
    dst: NkiTensor,
    on_true_tile: NkiTensor,
    comp_op0: Callable,
    comp_op1: Callable,
    bound0: NkiTensor,
    bound1: NkiTensor,
    reduce_cmd: commands = commands.reset_reduce,
    reduce_res: NkiTensor | None = None,
    reduce_op: Callable | str = "max",
    range_start: int = 0,
    on_false_value: float = float(LOWEST),
) -> None:
    """Keep elements whose place compares with both bounds [P, 1]; the others become FP32's minimum. It reduces to the
    maximum."""
    issue.check("dst", dst)
    values = issue.tile("on_true_tile", on_true_tile)
    if operator_name(issue, "reduce_op", reduce_op) != "max":
        raise issue.fail("reduce_op: must be maximum")
    made, after = trainium3.range_select(
        values,
        operator_name(issue, "comp_op0", comp_op0),
        operator_name(issue, "comp_op1", comp_op1),
        issue.scalar("bound0", bound0, len(values), ("float32",)),
        issue.scalar("bound1", bound1, len(values), ("float32",)),
        range_start=int(range_start),
        on_false_value=float(on_false_value),
        reduce_cmd=word(reduce_cmd.name),
        accumulators=issue.registers("vector", on_true_tile) if reduce_cmd is commands.reduce else None,
        dtype=issue.result(dst),
    )
    issue.put("dst", dst, made)
    issue.accumulated("vector", on_true_tile, after, reduce_res)
    issue.uses("select.order")
    issue.elementwise("vector", dst, on_true_tile)


@instruction
def select_reduce(
    issue: Issue,
    dst: NkiTensor,
    predicate: NkiTensor,
    on_true: NkiTensor,
    on_false: float | NkiTensor,
    reduce_res: NkiTensor | None = None,
    reduce_cmd: commands = commands.idle,
    reduce_op: Callable | str = "max",
    reverse_pred: bool = False,
) -> None:
    """Write on_true where the predicate is not 0, else on_false; the maximum is reduced."""
    issue.check("dst", dst)
    issue.not_both_psum(on_true=on_true, predicate=predicate)
    if operator_name(issue, "reduce_op", reduce_op) != "max":
        raise issue.fail("reduce_op: must be maximum")
    values = issue.tile("on_true", on_true)
    other: Any = on_false
    if isinstance(on_false, NkiTensor):
        other = issue.tile("on_false", on_false)
    made, after = trainium3.select_reduce(
        issue.tile("predicate", predicate, dtypes=MASKS),
        values,
        other,
        reverse_pred=reverse_pred,
        reduce_cmd=word(reduce_cmd.name),
        accumulators=issue.registers("vector", on_true) if reduce_cmd is commands.reduce else None,
        dtype=issue.result(dst),
    )
    issue.put("dst", dst, made)
    issue.accumulated("vector", on_true, after, reduce_res)
    issue.elementwise("vector", dst, on_true)


@instruction
def tensor_copy_predicated(
    issue: Issue, dst: NkiTensor, src: float | NkiTensor, predicate: NkiTensor, reverse_pred: bool = False
) -> None:
    """Write src where the predicate is not 0; other elements of dst stay. What is known of elements moves along."""
    issue.check("dst", dst)
    issue.not_both_psum(src=src, predicate=predicate)
    mask = issue.tile("predicate", predicate, dtypes=MASKS)
    present = access.present(issue.core, dst).reshape(dst.shape[0], -1)
    known = access.written(issue.core, dst)
    source: Any = src
    source_known: Any = 1
    if isinstance(src, NkiTensor):
        source = issue.tile("src", src, dtypes=(dst.dtype,), moves=True)
        source_known = access.written(issue.core, src)
    made = trainium3.tensor_copy_predicated(present, source, mask, reverse_pred=reverse_pred)
    issue.put("dst", dst, made)
    access.set_written(
        issue.core, dst, trainium3.tensor_copy_predicated(known, source_known, mask, reverse_pred=reverse_pred)
    )
    in_psum = any(isinstance(each, NkiTensor) and each.allocation.buffer == "psum" for each in (src, predicate))
    issue.elementwise("vector", dst, predicate, factor=1 if in_psum else 2)


INDICES = ("uint16", "uint32")


@instruction
def tensor_tensor_scan(
    issue: Issue,
    dst: NkiTensor,
    data0: NkiTensor,
    data1: NkiTensor,
    initial: float | NkiTensor,
    op0: Callable,
    op1: Callable,
    reverse0: bool = False,
    reverse1: bool = False,
) -> None:
    """Write the states ``s = (data0[i] op0 s) op1 data1[i]`` of a row, which stay FP32."""
    issue.check("dst", dst)
    issue.not_both_psum(data0=data0, data1=data1)
    values = issue.tile("data0", data0)
    made = trainium3.tensor_tensor_scan(
        values,
        issue.tile("data1", data1),
        issue.scalar("initial", initial, len(values)),
        operator_name(issue, "op0", op0),
        operator_name(issue, "op1", op1),
        reverse0=reverse0,
        reverse1=reverse1,
        dtype=issue.result(dst),
    )
    issue.put("dst", dst, made)
    issue.uses("scan.rounding")
    issue.elementwise("vector", dst, data0, data1, factor=2)


@instruction
def tensor_scalar_cumulative(
    issue: Issue,
    dst: NkiTensor,
    src: NkiTensor,
    op0: Callable,
    op1: Callable,
    imm0: float | NkiTensor,
    imm1: float | NkiTensor | None = None,
    reduce_cmd: commands = commands.reset_reduce,
) -> None:
    """Write the states ``r = (src[i] op0 imm0) op1 r`` of a row; VectorE's registers keep the last one."""
    issue.check("dst", dst)
    values = issue.tile("src", src)
    made, after = trainium3.tensor_scalar_cumulative(
        values,
        operator_name(issue, "op0", op0),
        operator_name(issue, "op1", op1),
        issue.scalar("imm0", imm0, len(values)),
        None if imm1 is None else issue.scalar("imm1", imm1, len(values)),
        reduce_cmd=word(reduce_cmd.name),
        accumulators=issue.registers("vector", src) if reduce_cmd is commands.reduce else None,
        dtype=issue.result(dst),
    )
    issue.put("dst", dst, made)
    issue.accumulated("vector", src, after, None)
    issue.uses("scan.rounding")
    issue.elementwise("vector", dst, src, factor=2)


@instruction
def bn_stats(issue: Issue, dst: NkiTensor, data: NkiTensor) -> None:
    """Write count, mean and variance times count of the elements at even places, then of those at odd ones."""
    issue.check("dst", dst)
    issue.put("dst", dst, trainium3.bn_stats(issue.tile("data", data), dtype=issue.result(dst)))
    issue.uses("bn_stats")
    issue.elementwise("vector", dst, data)


@instruction
def bn_aggr(issue: Issue, dst: NkiTensor, data: NkiTensor) -> None:
    """Combine triples of count, mean and variance times count to one mean and variance."""
    issue.check("dst", dst)
    values = issue.tile("data", data)
    issue.put("dst", dst, trainium3.bn_aggr(values, dtype=issue.result(dst)))
    issue.uses("bn_stats")
    issue.on("vector", max(64, 13 * values.shape[1] // 3))


@instruction
def max8(issue: Issue, dst: NkiTensor, src: NkiTensor) -> None:
    """Write the eight largest elements of a row, the largest first."""
    issue.check("dst", dst)
    issue.put("dst", dst, trainium3.max8(issue.tile("src", src), dtype=issue.result(dst)))
    issue.elementwise("vector", dst, src)


@instruction
def nc_find_index8(issue: Issue, dst: NkiTensor, data: NkiTensor, vals: NkiTensor) -> None:
    """Write the places of eight values in a row; equal values take one place after the other."""
    issue.check("dst", dst, dtypes=INDICES)
    found = trainium3.nc_find_index8(issue.tile("data", data), issue.tile("vals", vals), dtype=STORED[dst.dtype])
    issue.put("dst", dst, found)
    issue.elementwise("vector", dst, data)


@instruction
def nc_match_replace8(
    issue: Issue, dst: NkiTensor, data: NkiTensor, vals: NkiTensor, imm: float, dst_idx: NkiTensor | None = None
) -> None:
    """Replace an element for each of eight values, the last value first; dst_idx takes the places."""
    issue.check("dst", dst)
    index_dtype = STORED["uint32"] if dst_idx is None else STORED[issue.check("dst_idx", dst_idx, dtypes=INDICES).dtype]
    made, found = trainium3.nc_match_replace8(
        issue.tile("data", data), issue.tile("vals", vals), imm, dtype=issue.result(dst), index_dtype=index_dtype
    )
    issue.put("dst", dst, made)
    if dst_idx is not None:
        issue.put("dst_idx", dst_idx, found)
    issue.elementwise("vector", dst, data)
