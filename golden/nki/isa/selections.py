"""affine_select, range_select, select_reduce and tensor_copy_predicated: elements chosen by their place or a mask."""

from collections.abc import Callable, Sequence
from typing import Any

from bitpath.golden import trainium3
from bitpath.golden.nki.isa.enums import reduce_cmd as commands
from bitpath.golden.nki.isa.enums import word
from bitpath.golden.nki.isa.operators import operator_name
from bitpath.golden.nki.machine import access
from bitpath.golden.nki.machine.cycles import gpsimd_cycles
from bitpath.golden.nki.machine.issue import SBUF, Issue, free_size, instruction
from bitpath.golden.nki.memory.tensor import NkiTensor
from bitpath.golden.trainium3.vector.range_select import LOWEST

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
    """Keep elements whose place compares with both bounds [P, 1]; the others become FP32's minimum. The maximum is reduced."""
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
    """Write src where the predicate is not 0; other elements of dst stay."""
    issue.check("dst", dst)
    issue.not_both_psum(src=src, predicate=predicate)
    mask = issue.tile("predicate", predicate, dtypes=MASKS)
    present = access.present(issue.core, dst).reshape(dst.shape[0], -1)
    source: Any = issue.tile("src", src, dtypes=(dst.dtype,)) if isinstance(src, NkiTensor) else src
    made = trainium3.tensor_copy_predicated(present, source, mask, reverse_pred=reverse_pred)
    issue.put("dst", dst, made)
    in_psum = any(isinstance(each, NkiTensor) and each.allocation.buffer == "psum" for each in (src, predicate))
    issue.elementwise("vector", dst, predicate, factor=1 if in_psum else 2)
