"""tensor_tensor, tensor_scalar, scalar_tensor_tensor and reciprocal: operators on elements, each rounded to FP32."""

from collections.abc import Callable

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.nki.isa.copy import on_engine
from bitpath.golden.nki.isa.enums import engine as engines
from bitpath.golden.nki.isa.enums import engine_name
from bitpath.golden.nki.isa.enums import reduce_cmd as commands
from bitpath.golden.nki.isa.operators import BIT_OPERATORS, operator_name, scalar_step
from bitpath.golden.nki.isa.reductions import READ_REGISTERS, put_and_reduce
from bitpath.golden.nki.machine.issue import Issue, free_size, instruction
from bitpath.golden.nki.memory.tensor import NkiTensor

WORDS = ("int32", "uint32")
OPERATORS = {"scalar": (("multiply",), ("add",), ("multiply", "add")), "gpsimd": (("rsqrt",),)}
"""Operators of tensor_scalar on engines other than VectorE. Ref: ISA."""


@instruction
def tensor_tensor(
    issue: Issue, dst: NkiTensor, data1: NkiTensor, data2: NkiTensor, op: Callable, engine: engines = engines.unknown
) -> None:
    """Write ``data1 op data2``. Operands of 32-bit integers alone run on GpSimd, exactly modulo 2**32, unless one is in PSUM."""
    issue.check("dst", dst)
    issue.not_both_psum(data1=data1, data2=data2)
    name = operator_name(issue, "op", op)
    left, right = issue.tile("data1", data1), issue.tile("data2", data2)
    tensors = dst, data1, data2
    in_psum = any(each.allocation.buffer == "psum" for each in tensors)
    words = all(each.dtype in WORDS for each in tensors) and name not in BIT_OPERATORS and not in_psum
    own = engine_name(engine, "gpsimd" if words or name == "power" else "vector")
    if own not in ("vector", "gpsimd"):
        raise issue.fail(f"engine: must be vector, gpsimd or unknown, not {own}")
    if own == "gpsimd" and in_psum:
        raise issue.fail("engine: GpSimd cannot reach PSUM")
    fast = in_psum or (
        issue.rules.halves
        and all(each.dtype == "bfloat16" and each.is_contiguous() for each in tensors)
        and name in ("add", "subtract", "multiply")
    )
    issue.elementwise(own, *tensors, factor=1 if fast else 2)
    made = trainium3.tensor_tensor(
        left, right, name, engine="gpsimd" if own == "gpsimd" else "vector", dtype=issue.result(dst)
    )
    issue.put("dst", dst, made)


@instruction
def tensor_scalar(
    issue: Issue,
    dst: NkiTensor,
    data: NkiTensor,
    op0: Callable | None,
    operand0: float | NkiTensor | None = None,
    reverse0: bool = False,
    op1: Callable | None = None,
    operand1: float | NkiTensor | None = None,
    reverse1: bool = False,
    engine: engines = engines.unknown,
) -> None:
    """Write ``(data op0 operand0) op1 operand1``; without op0 a copy. Operands are numbers or [P, 1], FP32 for arithmetic."""
    issue.check("dst", dst)
    own = on_engine(issue, engine, dst, data)
    values = issue.tile("data", data)
    steps = []
    for number, op, operand, reverse in (("0", op0, operand0, reverse0), ("1", op1, operand1, reverse1)):
        if op is not None:
            steps.append(scalar_step(issue, number, op, operand, len(values), reverse=reverse))
    names = tuple(each[0] for each in steps)
    if own in OPERATORS and steps and names not in OPERATORS[own]:
        raise issue.fail(f"op0 and op1: must not be {' and '.join(names)} on {own}")
    if not steps:
        issue.put("dst", dst, trainium3.cast(values, issue.result(dst)))
        return
    (first, *second) = steps
    more = {"op1": second[0][0], "operand1": second[0][1], "reverse1": second[0][2]} if second else {}
    made = trainium3.tensor_scalar(values, first[0], first[1], reverse0=first[2], dtype=issue.result(dst), **more)
    issue.put("dst", dst, made)


@instruction
def scalar_tensor_tensor(
    issue: Issue,
    dst: NkiTensor,
    data: NkiTensor,
    op0: Callable,
    operand0: float | NkiTensor,
    op1: Callable,
    operand1: NkiTensor,
    reverse0: bool = False,
    reverse1: bool = False,
    reduce_cmd: commands = commands.reset_reduce,
    reduce_op: Callable | None = None,
    reduce_res: NkiTensor | None = None,
) -> None:
    """Write ``(data op0 operand0) op1 operand1``, where operand1 is a tile.

    With ``reduce_op`` (NKI 0.7) the FP32 results are reduced as tensor_scalar_reduce reduces its own.
    """
    issue.check("dst", dst)
    issue.not_both_psum(data=data, operand1=operand1)
    values = issue.tile("data", data)
    names = operator_name(issue, "op0", op0), operator_name(issue, "op1", op1)
    made = trainium3.scalar_tensor_tensor(
        values,
        names[0],
        issue.scalar("operand0", operand0, len(values)),
        names[1],
        issue.tile("operand1", operand1),
        reverse0=reverse0,
        reverse1=reverse1,
        dtype=issue.result(dst) if reduce_op is None else np.float32,
    )
    if reduce_op is None:
        issue.put("dst", dst, made)
    else:
        # A product by 1 is exact, so that the FP32 results are those that are cast and reduced.
        put_and_reduce(issue, dst, data, made, ("multiply", 1.0), reduce_op, reduce_cmd, reduce_res)
    halved = all(each.dtype == "bfloat16" for each in (dst, data, operand1)) and free_size(dst) % 2 == 0
    fast = issue.rules.halves and halved and names == ("subtract", "multiply")
    extra = 0 if reduce_op is None else READ_REGISTERS
    issue.elementwise("vector", dst, data, operand1, factor=1 if fast else 2, extra=extra)


@instruction
def reciprocal(issue: Issue, dst: NkiTensor, data: NkiTensor) -> None:
    """Write ``1 / data``, rounded once to FP32."""
    issue.check("dst", dst)
    issue.put("dst", dst, trainium3.reciprocal(issue.tile("data", data), dtype=issue.result(dst)))
    issue.uses("reciprocal.rounding")
    issue.on("vector", max(64, 8 * free_size(dst, data)))
