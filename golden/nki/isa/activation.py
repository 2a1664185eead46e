"""activation, activation_reduce and activate2: ScalarE's functions, with its reduction registers.

All are `bitpath.golden.trainium3.activate2`: an activation is ``f((data * scale) + bias)``, without the sum where there is no bias.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.nki.isa.enums import operator_name
from bitpath.golden.nki.isa.enums import reduce_cmd as commands
from bitpath.golden.nki.machine.issue import Issue, instruction
from bitpath.golden.nki.memory.dtypes import STORED
from bitpath.golden.nki.memory.tensor import NkiTensor
from bitpath.golden.trainium3.declarations.engines import ARGUMENT_RANGES, ArgumentRange

EXACT_FUNCTIONS = ("copy", "abs", "relu", "sign", "square", "sqrt", "rsqrt", "reciprocal", "prelu")
"""Functions that are exact or rounded once on any machine; the others are this project's choice."""
ORDERLESS = ("max", "min", "abs_max", "abs_min")
"""Reductions that give the same in any order."""
BYPASS = "bypass"
READ_REGISTERS = 64
"""Cycles of the second instruction, which reads the registers."""


@instruction
def activation(
    issue: Issue,
    dst: NkiTensor,
    op: Callable,
    data: NkiTensor,
    bias: float | NkiTensor | None = None,
    scale: float | NkiTensor = 1.0,
    reduce_op: Callable | None = None,
    reduce_res: NkiTensor | None = None,
    reduce_cmd: commands = commands.idle,
) -> None:
    """Write ``op(data * scale + bias)``; add the values before their cast onto ScalarE's registers as ``reduce_cmd`` says.

    scale and bias are numbers or [P, 1]; scale is FP32. ``reduce_res`` [P, 1] takes the registers.
    """
    _activation(issue, dst, op, data, bias, scale, reduce_op, reduce_res, reduce_cmd)


@instruction
def activation_reduce(
    issue: Issue,
    dst: NkiTensor,
    op: Callable,
    data: NkiTensor,
    reduce_op: Callable,
    reduce_res: NkiTensor,
    bias: float | NkiTensor | None = None,
    scale: float | NkiTensor = 1.0,
) -> None:
    """Do as `activation` with the registers set to 0 before."""
    _activation(issue, dst, op, data, bias, scale, reduce_op, reduce_res, commands.reset_reduce)


@instruction
def activate2(
    issue: Issue,
    dst: NkiTensor,
    op: Callable,
    data: NkiTensor,
    imm0: float | NkiTensor,
    imm1: float | NkiTensor,
    op0: Callable | None,
    op1: Callable | None,
    relu_param: float | NkiTensor = 0.0,
    reverse0: bool = False,
    reverse1: bool = False,
    reduce_op: Callable | None = None,
    reduce_res: NkiTensor | None = None,
    reduce_cmd: commands = commands.idle,
) -> None:
    """Write ``op((data op0 imm0) op1 imm1)``; reduce it onto ScalarE's registers as ``reduce_cmd`` says."""
    issue.needs_gen4()
    steps = [_step(issue, "op0", op0), _step(issue, "op1", op1)]
    values = [
        (issue.scalar(f"imm{k}", imm, data.shape[0]) if step != BYPASS else 0.0)
        for k, (imm, step) in enumerate(zip((imm0, imm1), steps, strict=True))
    ]
    _activate(
        issue, dst, op, data, steps, values, reduce_op, reduce_res, reduce_cmd,
        relu_param=issue.scalar("relu_param", relu_param, data.shape[0]), reverse0=reverse0, reverse1=reverse1,
    )  # fmt: skip


def _step(issue: Issue, name: str, op: Any) -> str:
    found = BYPASS if op is None else operator_name(issue, name, op)
    return BYPASS if found == "copy" else found


def _activation(
    issue: Issue,
    dst: NkiTensor,
    op: Any,
    data: NkiTensor,
    bias: Any,
    scale: Any,
    reduce_op: Any,
    reduce_res: Any,
    command: commands,
) -> None:
    partitions = data.shape[0]
    allowed = issue.release.activation_reductions
    if reduce_op is not None and operator_name(issue, "reduce_op", reduce_op) not in allowed:
        raise issue.fail(f"reduce_op: must be {', '.join(allowed)}")
    first = issue.scalar("scale", scale, partitions, ("float32",))
    second: Any = 0.0
    if bias is not None:
        second = issue.scalar("bias", bias, partitions, tuple(name for name in STORED if name != "tfloat32"))
        if isinstance(second, np.ndarray):
            second = trainium3.cast(second, np.float32)
    steps = ["multiply", BYPASS if bias is None else "add"]
    _activate(issue, dst, op, data, steps, [first, second], reduce_op, reduce_res, command)


def _activate(
    issue: Issue,
    dst: NkiTensor,
    op: Any,
    data: NkiTensor,
    steps: list[str],
    values: list[Any],
    reduce_op: Any,
    reduce_res: NkiTensor | None,
    command: commands,
    **more: Any,
) -> None:
    issue.check("dst", dst)
    issue.check("data", data)
    function = operator_name(issue, "op", op)
    reduction = None if reduce_op is None else operator_name(issue, "reduce_op", reduce_op)
    if command is not commands.idle and reduction is None:
        reduction = "add"
    tile = issue.tile("data", data)
    registers = issue.registers("scalar", data, used=command is commands.reduce)
    issue.show("registers", registers[:, np.newaxis])
    result, after = trainium3.activate2(
        tile,
        function,
        steps[0],
        steps[1],
        *values,
        reduce_op=reduction,
        reduce_cmd=command.name,
        registers=registers,
        dtype=issue.result(dst),
        **more,
    )
    issue.put("dst", dst, result)
    issue.accumulated("scalar", data, None if command is commands.idle else after, reduce_res)
    _check_arguments(issue, function, lambda: trainium3.activate2(tile, "copy", steps[0], steps[1], *values, **more)[0])
    if function not in EXACT_FUNCTIONS:
        issue.uses(f"activation.{function}")
    if command in (commands.reduce, commands.reset_reduce) and reduction not in ORDERLESS:
        issue.uses("reduction.order")
    issue.elementwise("scalar", dst, data, extra=0 if reduce_res is None else READ_REGISTERS)


def _check_arguments(issue: Issue, function: str, arguments: Callable[[], np.ndarray]) -> None:
    """Warn of arguments for which the hardware's result is invalid; NaN never takes part."""
    valid = ARGUMENT_RANGES.get(function, ArgumentRange())
    if valid == ArgumentRange():
        return
    given = np.abs(arguments()) if valid.of_magnitude else arguments()
    if (given < valid.low).any() or (given > valid.high).any():
        limits = f"{valid.low:.9g} to {valid.high:.9g}{' in magnitude' if valid.of_magnitude else ''}"
        issue.core.machine.warn("argument", f"{issue.opcode} {function}: the result is valid for {limits} alone")
