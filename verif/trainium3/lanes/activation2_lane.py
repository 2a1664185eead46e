"""Beats for the Activation2 lane, what golden makes of them, and random ones."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import Random

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.engines import ReduceCommand as Command
from bitpath.golden.trainium3.exact import activate2
from bitpath.rtl.trainium3.lanes.activation2_lane import (
    Beat,
    Function,
    Operations,
    ReduceCommand,
    Reduction,
    Result,
)
from bitpath.verif.common.fp32 import numbers as fp32
from bitpath.verif.kit.coverage import cross
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Request
from bitpath.verif.kit.values import code_text

PAIRS = {
    Operations.BYPASS: ("bypass", "bypass"),
    Operations.MULTIPLY: ("multiply", "bypass"),
    Operations.ADD: ("add", "bypass"),
    Operations.SUBTRACT: ("subtract", "bypass"),
    Operations.MULTIPLY_ADD: ("multiply", "add"),
    Operations.MULTIPLY_SUBTRACT: ("multiply", "subtract"),
}
KEPT = cross(("kept", "taken", "level"), (each.name for each in Reduction if each is not Reduction.ADD))
"""What becomes of a register that holds a number: it stays, it takes the value, or both have one magnitude."""
BINS = (
    *cross((each.name for each in Operations), ("left", "right"), (each.name for each in Reduction)),
    *cross((each.name for each in Function), ("negative", "positive", "zero", "minus zero", "NaN")),
    *(each.name for each in ReduceCommand),
    *KEPT,
)


@dataclass(frozen=True)
class Value:
    """One beat, FP32 codes and an instruction."""

    value: int
    operations: Operations = Operations.BYPASS
    function: Function = Function.COPY
    reduction: Reduction = Reduction.ADD
    command: ReduceCommand = ReduceCommand.IDLE
    reverse: bool = False
    imm0: int = 0
    imm1: int = 0
    relu_param: int = 0
    last: bool = False

    @property
    def payload(self) -> int:
        control = {name: getattr(self, name) for name in self.__annotations__ if name != "value"}
        return pack(Beat, {"value": self.value, "control": control})

    def after(self, register: int) -> tuple[int, int]:
        """The value and the register after it, by the exact tier."""
        pair = PAIRS[self.operations]
        (value,), register = activate2(
            [self.value], "fp32", self.function.name.lower(), pair, (self.imm0, self.imm1),
            reverse=(self.reverse, self.reverse), relu_param=self.relu_param, register=register,
            reduce_op=self.reduction.name.lower(), reduce_cmd=Command(self.command.name.lower()),
        )  # fmt: skip
        return value, register

    def shown(self, _: str) -> Shown:
        numbers = {name: code_text(FP32, getattr(self, name)) for name in ("value", "imm0", "imm1", "relu_param")}
        names = (self.operations.name, self.function.name, self.reduction.name, self.command.name)
        command = " ".join(names) + (" reversed" if self.reverse else "")
        return Shown(operands=numbers | {"command": command}, formats={"value": FP32, "register": FP32})


def results(values: Sequence[Value], register: int = 0) -> list[tuple[int, int]]:
    """Value and register after every beat, from a register of 0."""
    found = []
    for each in values:
        value, register = each.after(register)
        found.append((value, register))
    return found


def requests(values: Sequence[Value], expected: Sequence[tuple[int, int]] | None = None) -> list[Request]:
    """Beats with what must come of them, by the exact tier where it is not given."""
    pairs = results(values) if expected is None else expected
    return [
        Request(each.payload, pack(Result, {"value": value, "register": register, "last": each.last}), each.shown)
        for each, (value, register) in zip(values, pairs, strict=True)
    ]


def row(codes: Sequence[int], first: Value) -> list[Value]:
    """A row with the instruction of ``first``; behind its first value a reset becomes REDUCE."""
    later = {ReduceCommand.RESET_REDUCE: ReduceCommand.REDUCE}
    return [
        replace(
            first,
            value=code,
            command=later.get(first.command, first.command) if place else first.command,
            last=place + 1 == len(codes),
        )
        for place, code in enumerate(codes)
    ]


def any_number(rng: Random) -> int:
    return rng.choice((fp32.near_one, fp32.near_one, fp32.edge, fp32.any_code))(rng)


def random_value(rng: Random) -> Value:
    """Any instruction, on numbers near 1, at the edges, or of any bits."""
    return Value(
        any_number(rng),
        rng.choice(list(Operations)),
        rng.choice(list(Function)),
        rng.choice(list(Reduction)),
        rng.choice([*ReduceCommand, ReduceCommand.REDUCE]),
        bool(rng.getrandbits(1)),
        any_number(rng),
        any_number(rng),
        any_number(rng),
        bool(rng.getrandbits(1)),
    )


def every_instruction(rng: Random) -> list[Value]:
    """Rows of four values for each pair, side, reduction and function; the third repeats the second with another sign."""
    values = []
    for operations, reverse, reduction, function in product(Operations, (False, True), Reduction, Function):
        first = Value(
            0, operations, function, reduction, ReduceCommand.RESET_REDUCE, reverse,
            fp32.near_one(rng), fp32.near_one(rng), fp32.near_one(rng),
        )  # fmt: skip
        codes = [any_number(rng), fp32.near_one(rng)]
        values += row([*codes, codes[1] ^ FP32.sign_mask, fp32.near_one(rng)], first)
    return values


def every_edge(rng: Random) -> list[Value]:
    """Every edge code under each function, bypassed, and with an edge as immediate of each pair."""
    values = [
        Value(code, function=function, relu_param=any_number(rng), command=ReduceCommand.RESET_REDUCE)
        for code, function in product(fp32.EDGES, Function)
    ]
    for code, operations, reverse in product(fp32.EDGES, Operations, (False, True)):
        values.append(Value(code, operations, reverse=reverse, imm0=fp32.edge(rng), imm1=fp32.edge(rng)))
    for code, reduction in product(fp32.EDGES, Reduction):
        values.append(Value(fp32.edge(rng), reduction=reduction, command=ReduceCommand.RESET_REDUCE))
        values.append(Value(code, reduction=reduction, command=ReduceCommand.REDUCE))
    return values


def one_bit(rng: Random) -> list[Value]:
    """One bit decides which of register and value stays, and whether a number is NaN."""
    values = []
    for bit, reduction in product(range(FP32.width), Reduction):
        code = fp32.near_one(rng)
        for pair in ((code, code ^ 1 << bit), (code ^ 1 << bit, code)):
            values += row(pair, Value(0, reduction=reduction, command=ReduceCommand.RESET_REDUCE))
    for bit, function in product(range(FP32.width), Function):
        values.append(Value(FP32.infinity_code ^ 1 << bit, function=function, relu_param=fp32.near_one(rng)))
    return values


def bins_of(values: Sequence[Value], found: Sequence[tuple[int, int]]) -> Iterator[str]:
    """The bins of beats behind a reset."""
    for each, (_, before), (value, after) in zip(values, [(0, 0), *found], found, strict=False):
        yield f"{each.operations.name}/{'left' if each.reverse else 'right'}/{each.reduction.name}"
        yield each.command.name
        if each.operations is Operations.BYPASS:
            yield f"{each.function.name}/{_class_of(each.value)}"
        reduced = each.command is ReduceCommand.REDUCE and each.reduction is not Reduction.ADD
        if reduced and FP32.nan_code not in (before, value):
            level = before != value and not (before ^ value) & ~FP32.sign_mask
            if level or before != value:
                yield f"{'level' if level else 'kept' if after == before else 'taken'}/{each.reduction.name}"


def _class_of(code: int) -> str:
    magnitude = code & ~FP32.sign_mask
    if magnitude > FP32.infinity_code:
        return "NaN"
    if not magnitude:
        return "minus zero" if code else "zero"
    return "negative" if code & FP32.sign_mask else "positive"
