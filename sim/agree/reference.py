"""Recorded inputs through Amaranth's own simulator, which knows neither Verilog nor gates."""

from collections.abc import Sequence
from typing import Any

from amaranth import ClockDomain, Const, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out
from amaranth.sim import Simulator

PERIOD_SECONDS = 10e-9
PAYLOAD, VALID = "__payload", "__valid"


def play(
    unit: wiring.Component, inputs: Sequence[str], steps: Sequence[Sequence[int]]
) -> tuple[list[str], list[list[int | None]]]:
    """The names of a unit's outputs, and their values in each step: before the rising edge that takes its inputs.

    Nothing is said, by None, of a step in reset and of a payload that is not valid: a Verilog simulator may have X there.

    Parameters
    ----------
    unit : not yet elaborated.
    inputs : names of ports, "rst" where the unit has a clock.
    steps : their values, from power-on.
    """
    m = Module()
    m.submodules.unit = unit
    clocked = "rst" in inputs
    m.domains.sync = domain = ClockDomain()
    ports: dict[str, Value] = {"rst": domain.rst}
    outputs = []
    for path, member, value in unit.signature.flatten(unit):
        name = "__".join(map(str, path))
        if isinstance(value, Const) or not len(Value.cast(value)):
            continue
        ports[name] = Value.cast(value)
        if member.flow is Out:
            outputs.append(name)
    valid_of = {name: ports.get(name.removesuffix(PAYLOAD) + VALID) for name in outputs if name.endswith(PAYLOAD)}
    answers: list[list[int | None]] = []

    def seen(ctx: Any, name: str) -> int | None:
        valid = valid_of.get(name)
        return ctx.get(ports[name]) if valid is None or ctx.get(valid) else None

    async def bench(ctx: Any) -> None:
        last: Sequence[int | None] = [None] * len(inputs)
        for step in steps:
            for name, value, before in zip(inputs, step, last, strict=True):
                if value != before:
                    ctx.set(ports[name], value)
            last = step
            in_reset = clocked and ctx.get(domain.rst)
            answers.append([None if in_reset else seen(ctx, name) for name in outputs])
            if clocked:
                await ctx.tick()

    simulator = Simulator(m)
    if clocked:
        simulator.add_clock(PERIOD_SECONDS)
    simulator.add_testbench(bench)
    simulator.run()
    return outputs, answers
