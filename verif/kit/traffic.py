"""Random traffic for any unit, derived from its signature, in Amaranth's simulator: checks resets and stalls without a model.

A unit is compared with itself: its outputs after a reset in flight with those after power-up, and its transfers with gaps and
stalls with those at full speed.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Any

from amaranth import Cat, ClockDomain, Const, Fragment, Module, Signal, Value
from amaranth.hdl import MemoryInstance
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

Trace = list[dict[str, int]]
"""Outputs of a unit in each cycle: ready of input streams, valid and valid payloads of output streams, other outputs."""


@dataclass(frozen=True)
class Pace:
    """Probabilities per cycle that an input pauses and that an output stalls."""

    gap: float = 0.0
    stall: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Manners:
    """Constraints on the traffic of a unit.

    Attributes
    ----------
    inputs : generators of payload bits by input name; all other inputs are random.
    settle : cycles after a reset until an output without a valid bit is meaningful, by name; default 0.
    valid_of : for outputs of several equal parts, by name, the output that has a valid bit for each part.
    still : outputs that need not change in this traffic.
    keeps : reason why memories keep their content through a reset; empty for a unit without memories.
    pace : pauses of the traffic around a reset.
    cycles : length of the compared traffic.
    """

    inputs: Mapping[str, Callable[[Random], Iterator[int]]] = field(default_factory=dict)
    settle: Mapping[str, int] = field(default_factory=dict)
    valid_of: Mapping[str, str] = field(default_factory=dict)
    still: tuple[str, ...] = ()
    keeps: str = ""
    pace: Pace = Pace(gap=0.3, stall=0.3)
    cycles: int = 60


class Driven:
    """A unit in a simulator, with all inputs in one signal and all outputs in another.

    Parameters
    ----------
    unit : the component.
    manners : constraints on its traffic.
    sabotage : name of a register to exclude from reset.

    Attributes
    ----------
    registers : names of the registers with a reset, numbered because instances share names.
    """

    def __init__(self, unit: wiring.Component, manners: Manners, *, sabotage: str | None = None):
        self.manners = manners
        self._inputs: dict[str, slice] = {}
        self._outputs: dict[str, slice] = {}
        m = Module()
        m.domains.sync = self._domain = ClockDomain()
        m.submodules.unit = unit
        ins, outs = [], []
        for path, member, value in unit.signature.flatten(unit):
            if isinstance(value, Const):
                continue
            values, places = (ins, self._inputs) if member.flow is In else (outs, self._outputs)
            start = len(Cat(values))
            values.append(Value.cast(value))
            places["__".join(map(str, path))] = slice(start, len(Cat(values)))
        self._stimulus, self._response = Signal(len(Cat(ins))), Signal(len(Cat(outs)))
        m.d.comb += [Cat(ins).eq(self._stimulus), self._response.eq(Cat(outs))]
        fragment = Fragment.get(m, None)
        self.memories = [each._data for each in _walk(fragment) if isinstance(each, MemoryInstance)]
        registers = {id(signal): signal for signal in _registers(fragment) if not signal.reset_less}
        cleared = {f"{signal.name}#{index}": signal for index, signal in enumerate(registers.values())}
        self.registers = tuple(cleared)
        if sabotage is not None:
            cleared[sabotage]._reset_less = True
        self._simulator = Simulator(fragment)
        self._used = False
        self._simulator.add_clock(1e-6)
        self._simulator.add_testbench(self._testbench)
        self.streams_in = [name[: -len("__valid")] for name in self._inputs if name.endswith("__valid")]
        self.streams_out = [name[: -len("__valid")] for name in self._outputs if name.endswith("__valid")]

    def transferred(self, seed: str, pace: Pace) -> Trace:
        """Return the transfers at this pace after power-up."""
        return self._run(lambda ctx: self._traffic(ctx, seed, self.manners.cycles, pace))

    def behind_a_reset(self, seed: str, before: int, *, resets: bool = True) -> tuple[Trace, Trace]:
        """Return two traces: after ``before`` cycles of other traffic and a one-cycle reset, and after power-up.

        Both start with the same memory contents. Without ``resets`` the reset is left out.
        """
        kept: list[list[int]] = []

        async def interrupted(ctx) -> Trace:
            await self._traffic(ctx, f"{seed} before", before, self.manners.pace)
            ctx.set(self._domain.rst, int(resets))
            await ctx.tick()
            ctx.set(self._domain.rst, 0)
            kept[:] = [[_bits(ctx.get(memory[row])) for row in range(memory.depth)] for memory in self.memories]
            return await self._traffic(ctx, seed, self.manners.cycles, self.manners.pace)

        async def fresh(ctx) -> Trace:
            for memory, content in zip(self.memories, kept, strict=True):
                for row, bits in enumerate(content):
                    ctx.set(memory[row], memory.shape.from_bits(bits) if hasattr(memory.shape, "from_bits") else bits)
            return await self._traffic(ctx, seed, self.manners.cycles, self.manners.pace)

        return self._run(interrupted), self._run(fresh)

    def _run(self, play: Callable[[Any], Awaitable[Trace]]) -> Trace:
        """Run a process from power-up."""
        self._play = play
        if self._used:
            self._simulator.reset()
        self._used = True
        self._simulator.run()
        return self._trace

    async def _testbench(self, ctx: Any) -> None:
        self._trace = await self._play(ctx)

    async def _traffic(self, ctx: Any, seed: str, cycles: int, pace: Pace) -> Trace:
        """Drive random traffic and return the trace.

        A payload stays valid until it is taken. The payloads depend on the seed and on the transfers only, not on the pace.
        """
        sources = {name: self._payloads(name, Random(f"{seed} {name}")) for name in self._inputs}
        pauses = Random(f"{seed} pauses")
        offers: dict[str, int] = {}
        trace: Trace = []
        for _ in range(cycles):
            values = self._values(sources, pauses, pace, offers)
            ctx.set(self._stimulus, sum(value << self._inputs[name].start for name, value in values.items()))
            trace.append(self._shown(ctx.get(self._response), values, offers))
            await ctx.tick()
        return trace

    def _values(
        self, sources: dict[str, Iterator[int]], pauses: Random, pace: Pace, offers: dict[str, int]
    ) -> dict[str, int]:
        """Return the input values of the next cycle; a new payload is added to the offers."""
        values = {name: int(pauses.random() >= pace.stall) for name in self._inputs if name.endswith("__ready")}
        for stream in self.streams_in:
            payload = f"{stream}__payload"
            if stream not in offers and pauses.random() >= pace.gap:
                offers[stream] = next(sources[payload])
            values |= {payload: offers.get(stream, 0), f"{stream}__valid": int(stream in offers)}
        for name in self._inputs.keys() - values.keys():
            values[name] = next(sources[name])
        return values

    def _shown(self, response: int, values: dict[str, int], offers: dict[str, int]) -> dict[str, int]:
        """Return one cycle of a trace; a payload that was taken leaves the offers."""
        shown = {name: response >> at.start & (1 << at.stop - at.start) - 1 for name, at in self._outputs.items()}
        for name, valid in self.manners.valid_of.items():
            at, bits = self._outputs[name], self._outputs[valid].stop - self._outputs[valid].start
            part = (at.stop - at.start) // bits
            for index in range(bits):
                if not shown[valid] >> index & 1:
                    shown[name] &= ~((1 << part) - 1 << index * part)
        for stream in self.streams_in:
            if stream in offers and shown.get(f"{stream}__ready", 1):
                shown[f"{stream} taken"] = offers.pop(stream)
        for stream in self.streams_out:
            if not shown[f"{stream}__valid"]:
                del shown[f"{stream}__payload"]
            elif values.get(f"{stream}__ready", 1):
                shown[f"{stream} given"] = shown[f"{stream}__payload"]
        return shown

    def _payloads(self, name: str, source: Random) -> Iterator[int]:
        at = self._inputs[name]
        make = self.manners.inputs.get(name.removesuffix("__payload"))
        return make(source) if make else drawn(lambda: source.getrandbits(at.stop - at.start))


def drawn(draw: Callable[[], int]) -> Iterator[int]:
    """Yield the results of ``draw`` without end."""
    while True:
        yield draw()


def _walk(fragment: Fragment) -> Iterator[Fragment]:
    yield fragment
    for inner, *_ in fragment.subfragments:
        yield from _walk(inner)


def _registers(fragment: Fragment) -> Iterator[Signal]:
    for each in _walk(fragment):
        for domain, statements in each.statements.items():
            if domain == "sync":
                for statement in statements:
                    yield from statement._lhs_signals()


def _bits(value: Any) -> int:
    return value if isinstance(value, int) else value.as_bits()


def first_difference(one: Trace, other: Trace, manners: Manners) -> str:
    """Return a description of the first difference of two traces, or an empty string."""
    for cycle, (left, right) in enumerate(zip(one, other, strict=True)):
        for name in left.keys() | right.keys():
            if left.get(name) != right.get(name) and cycle >= manners.settle.get(name, 0):
                return f"cycle {cycle}: {name} is {left.get(name)} and {right.get(name)}"
    return ""


def silent(trace: Trace, driven: Driven) -> list[str]:
    """Return streams without a transfer, and other outputs that did not change."""
    streams = [f"{name} taken" for name in driven.streams_in] + [f"{name} given" for name in driven.streams_out]
    nothing = [name for name in streams if not any(name in shown for shown in trace)]
    ports = {
        f"{name}__{port}"
        for name in (*driven.streams_in, *driven.streams_out)
        for port in ("payload", "valid", "ready")
    }
    # Names of transfers contain a space.
    others = [name for name in trace[0] if name not in ports and " " not in name]
    settle = driven.manners.settle
    same = [name for name in others if len({shown[name] for shown in trace[settle.get(name, 0) :]}) == 1]
    return [name for name in nothing + same if name not in driven.manners.still]


def broken_offer(trace: Trace, driven: Driven) -> str:
    """Return a description of the first valid payload that was withdrawn or changed before its transfer; empty if none."""
    for cycle, (shown, following) in enumerate(pairwise(trace)):
        for name in driven.streams_out:
            offered = shown.get(f"{name}__payload")
            waits = offered is not None and f"{name} given" not in shown
            if waits and following.get(f"{name}__payload") != offered:
                return f"cycle {cycle + 1}: the offer of {name} is not what it was"
    return ""
