"""Plays recorded inputs in Amaranth's own simulator, which uses neither Verilog nor gates."""

from collections.abc import Sequence
from typing import Any

from amaranth import ClockDomain, Const, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out
from amaranth.sim import Simulator

PERIOD_SECONDS = 10e-9
PAYLOAD, VALID = "__payload", "__valid"
Answer = tuple[int, int]
"""A value, and 1 for each bit of it that counts; the others are 0."""


def play(
    unit: wiring.Component, inputs: Sequence[str], steps: Sequence[Sequence[int]]
) -> tuple[dict[str, int], list[list[Answer]]]:
    """Return a unit's output widths by name, and the outputs of each step, sampled before the rising edge that takes its inputs.

    Steps in reset and invalid payloads are masked out: a Verilog simulator may have X there, and Amaranth's simulator
    resets memory read ports, which its Verilog does not. An output ``name`` with a ``name_valid`` port has one part for
    each bit of ``name_valid``. Raises ValueError if an output's parts are not of the same width.

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
    outputs: dict[str, int] = {}
    for path, member, value in unit.signature.flatten(unit):
        name = "__".join(map(str, path))
        if isinstance(value, Const) or not len(Value.cast(value)):
            continue
        ports[name] = Value.cast(value)
        if member.flow is Out:
            outputs[name] = len(ports[name])
    valid_of = {name: ports.get(name.removesuffix(PAYLOAD) + VALID, ports.get(f"{name}_valid")) for name in outputs}
    answers: list[list[Answer]] = []

    def seen(ctx: Any, name: str) -> Answer:
        port, valid = ports[name], valid_of[name]
        counts = counting(len(port), 1, 1) if valid is None else counting(len(port), ctx.get(valid), len(valid))
        return ctx.get(port) & counts, counts

    async def bench(ctx: Any) -> None:
        last: Sequence[int | None] = [None] * len(inputs)
        for step in steps:
            for name, value, before in zip(inputs, step, last, strict=True):
                if value != before:
                    ctx.set(ports[name], value)
            last = step
            in_reset = clocked and ctx.get(domain.rst)
            answers.append([(0, 0) if in_reset else seen(ctx, name) for name in outputs])
            if clocked:
                await ctx.tick()

    simulator = Simulator(m)
    if clocked:
        simulator.add_clock(PERIOD_SECONDS)
    simulator.add_testbench(bench)
    simulator.run()
    return outputs, answers


def counting(width: int, valid: int, parts: int) -> int:
    """Return the mask of a word's bits that belong to valid parts."""
    part, rest = divmod(width, parts)
    if rest:
        raise ValueError(f"{width} bits are not {parts} parts of the same width")
    return sum(((1 << part) - 1) << place * part for place in range(parts) if valid >> place & 1)
