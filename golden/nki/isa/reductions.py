"""tensor_reduce, tensor_scalar_reduce and tensor_partition_reduce."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.nki.isa.enums import reduce_cmd as commands
from bitpath.golden.nki.isa.enums import word
from bitpath.golden.nki.isa.operators import operator_name, scalar_step
from bitpath.golden.nki.machine.issue import SBUF, Issue, byte_sizes, free_size, instruction
from bitpath.golden.nki.memory.tensor import NkiTensor

ORDERLESS = ("max", "min", "bitwise_and", "bitwise_or", "bitwise_xor")
READ_REGISTERS = 64
GPSIMD_START, GPSIMD_STEP = 150, 8


@instruction
def tensor_reduce(
    issue: Issue,
    dst: NkiTensor,
    op: Callable,
    data: NkiTensor,
    axis: int | Sequence[int],
    negate: bool = False,
    keepdims: bool = False,
) -> None:
    """Reduce the last dimensions of a tile, in FP32, serially from the first element; with ``negate`` change the sign."""
    issue.check("dst", dst)
    values = issue.tile("data", data)
    axes = sorted(int(dim) % data.ndim for dim in ((axis,) if isinstance(axis, int) else axis))
    if not axes or axes != list(range(data.ndim - len(axes), data.ndim)) or 0 in axes:
        raise issue.fail(f"axis: must be the last free dimensions of shape {data.shape}, not {axis}")
    count = prod(data.shape[dim] for dim in axes)
    name = operator_name(issue, "op", op)
    order = word(issue.core.options.sum_order.value)
    groups = values.reshape(len(values), -1, count)
    made = [
        trainium3.tensor_reduce(
            np.ascontiguousarray(groups[:, k]), name, negate=negate, dtype=issue.result(dst), sum_order=order
        )
        for k in range(groups.shape[1])
    ]
    issue.put("dst", dst, np.concatenate(made, axis=1))
    if name not in ORDERLESS and count > 1:
        issue.uses("reduction.order")
    n = free_size(dst, data)
    halved = issue.rules.halves and dst.dtype == data.dtype == "bfloat16" and name in ("add", "max")
    issue.on("vector", issue.rules.elementwise("vector", -(-n // 2) if halved else n, *byte_sizes(dst, data)))


@instruction
def tensor_scalar_reduce(
    issue: Issue,
    dst: NkiTensor,
    data: NkiTensor,
    op0: Callable,
    operand0: float | NkiTensor,
    reduce_op: Callable,
    reduce_res: NkiTensor | None = None,
    reverse0: bool = False,
    reduce_cmd: commands = commands.reset_reduce,
    reduce_init: float | NkiTensor | None = None,
    reduce_res_negate: bool = False,
) -> None:
    """Write ``data op0 operand0``, and reduce it, before its cast, onto VectorE's registers."""
    issue.check("dst", dst)
    if reverse0:
        raise issue.fail("reverse0: must be False")
    values = issue.tile("data", data)
    step, operand, _ = scalar_step(issue, "0", op0, operand0, len(values))
    more = {"reduce_init": issue.scalar("reduce_init", reduce_init, len(values))} if reduce_init is not None else {}
    put_and_reduce(
        issue, dst, data, values, (step, operand), reduce_op, reduce_cmd, reduce_res, negate=reduce_res_negate, **more
    )
    issue.elementwise("vector", dst, data, extra=READ_REGISTERS)


def put_and_reduce(
    issue: Issue,
    dst: NkiTensor,
    data: NkiTensor,
    values: np.ndarray,
    step: tuple[str, Any],
    reduce_op: Callable,
    reduce_cmd: commands,
    reduce_res: NkiTensor | None,
    *,
    negate: bool = False,
    **more: Any,
) -> None:
    """Write an operator's results on a tile's values, and reduce them, before their cast, onto VectorE's registers."""
    name = operator_name(issue, "reduce_op", reduce_op)
    made, after = trainium3.tensor_scalar_reduce(
        values,
        *step,
        reduce_op=name,
        reduce_cmd=word(reduce_cmd.name),
        accumulators=issue.registers("vector", data) if reduce_cmd is commands.reduce else None,
        reduce_res_negate=negate,
        dtype=issue.result(dst),
        sum_order=word(issue.core.options.sum_order.value),
        **more,
    )
    issue.put("dst", dst, made)
    # The registers keep the reduction as it is; a change of sign is exact.
    issue.accumulated("vector", data, -after if negate else after, reduce_res, after)
    if name not in ORDERLESS:
        issue.uses("reduction.order")


@instruction
def tensor_partition_reduce(issue: Issue, dst: NkiTensor, op: Callable, data: NkiTensor) -> None:
    """Reduce the partitions of a tile to one, from partition 0 on, on GpSimd."""
    issue.check("dst", dst, SBUF)
    values = issue.tile("data", data, SBUF)
    issue.put(
        "dst", dst, trainium3.tensor_partition_reduce(values, operator_name(issue, "op", op), dtype=issue.result(dst))
    )
    issue.uses("gpsimd.order")
    issue.on("gpsimd", GPSIMD_START + GPSIMD_STEP * values.shape[1])
