"""Random traffic for any unit, derived from its signature, in Amaranth's simulator: checks resets and stalls without a model.

A unit is compared with itself: its outputs after a reset in flight with those after power-up, and its transfers with gaps and
stalls with those at full speed.
"""

import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
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


@contextmanager
def _any_digits() -> Iterator[None]:
    """Lift Python's limit on decimal digits: Amaranth's simulator writes a signal's mask in them, wide as the Vector unit's state."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(limit)


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


@dataclass(frozen=True)
class Left:
    """State after traffic that a reset interrupts after ``before`` cycles.

    Attributes
    ----------
    memories : their contents, which a reset keeps.
    registers : values that the registers would have without the reset, in the order of `Driven.registers`.
    kept : values of those without a reset.
    fresh : trace of further traffic after power-up, with these memories.
    """

    seed: str
    before: int
    memories: Sequence[Sequence[int]]
    registers: Sequence[int]
    kept: Sequence[int]
    fresh: Trace


class Driven:
    """A unit in a simulator, with all inputs in one signal and all outputs in another.

    Parameters
    ----------
    unit : the component.
    manners : constraints on its traffic.

    Attributes
    ----------
    registers : names of the registers with a reset, component and signal: "TokenBucket.missing"; instances share names.
    """

    def __init__(self, unit: wiring.Component, manners: Manners):
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
        parts = list(walk(fragment))
        self.memories = [each._data for _, each in parts if isinstance(each, MemoryInstance)]
        registers = {id(signal): (name, signal) for name, each in parts for signal in clocked(each)}
        cleared = [(name, signal) for name, signal in registers.values() if not signal.reset_less]
        self.registers = [f"{name}.{signal.name}" for name, signal in cleared]
        self._registers = [signal for _, signal in cleared]
        self._kept = [signal for _, signal in registers.values() if signal.reset_less]
        with _any_digits():
            self._simulator = Simulator(fragment)
        self._used = False
        self._simulator.add_clock(1e-6)
        self._simulator.add_testbench(self._testbench)
        self.streams_in = [name[: -len("__valid")] for name in self._inputs if name.endswith("__valid")]
        self.streams_out = [name[: -len("__valid")] for name in self._outputs if name.endswith("__valid")]

    def transferred(self, seed: str, pace: Pace) -> Trace:
        """Return the transfers at this pace after power-up."""
        return self._run(lambda ctx: self._traffic(ctx, seed, self.manners.cycles, pace))

    def left_at(self, seed: str, before: int) -> Left:
        """Return the state after ``before`` cycles of traffic and one more, that of the reset."""

        async def interrupted(ctx) -> Trace:
            await self._traffic(ctx, f"{seed} before", before + 1, self.manners.pace, resets=False)
            memories.extend([_bits(ctx.get(memory[row])) for row in range(memory.depth)] for memory in self.memories)
            registers.extend(map(ctx.get, self._registers))
            kept.extend(map(ctx.get, self._kept))
            return []

        memories: list[list[int]] = []
        registers: list[int] = []
        kept: list[int] = []
        self._run(interrupted)
        fresh = self._run(partial(self._fresh, seed=seed, memories=memories))
        return Left(seed, before, memories, registers, kept, fresh)

    def behind_a_reset(self, left: Left) -> Trace:
        """Return the trace after the same cycles with a reset in the last of them."""

        async def interrupted(ctx) -> Trace:
            await self._traffic(ctx, f"{left.seed} before", left.before + 1, self.manners.pace, resets=True)
            return await self._traffic(ctx, left.seed, self.manners.cycles, self.manners.pace)

        return self._run(interrupted)

    def shows(self, left: Left, registers: Sequence[int]) -> bool:
        """Return True if an output shows that a reset leaves these registers, by index, as they were, and clears the others.

        Registers without a reset are as they were too.
        """

        async def sabotaged(ctx) -> Trace:
            for signal, bits in zip(self._kept, left.kept, strict=True):
                ctx.set(signal, bits)
            for index in registers:
                ctx.set(self._registers[index], left.registers[index])
            return await self._fresh(ctx, left.seed, left.memories, like=left.fresh)

        is_left = any(left.registers[index] != self._registers[index].init for index in registers)
        return is_left and len(self._run(sabotaged)) < len(left.fresh)

    async def _fresh(self, ctx: Any, seed: str, memories: Sequence[Sequence[int]], like: Trace | None = None) -> Trace:
        """Drive traffic after power-up with these contents of the memories."""
        for memory, content in zip(self.memories, memories, strict=True):
            for row, (bits, own) in enumerate(zip(content, memory._init._raw, strict=True)):
                if bits != own:
                    ctx.set(memory[row], memory.shape.from_bits(bits) if hasattr(memory.shape, "from_bits") else bits)
        return await self._traffic(ctx, seed, self.manners.cycles, self.manners.pace, like=like)

    def _run(self, play: Callable[[Any], Awaitable[Trace]]) -> Trace:
        """Run a process from power-up."""
        self._play = play
        if self._used:
            self._simulator.reset()
        self._used = True
        with _any_digits():
            self._simulator.run()
        return self._trace

    async def _testbench(self, ctx: Any) -> None:
        self._trace = await self._play(ctx)

    async def _traffic(
        self, ctx: Any, seed: str, cycles: int, pace: Pace, *, like: Trace | None = None, resets: bool | None = None
    ) -> Trace:
        """Drive random traffic and return the trace, up to the first difference from ``like``.

        A payload stays valid until it is taken. The payloads depend on the seed and on the transfers only, not on the pace.
        With ``resets`` given, no input pauses in the last cycle, in which all outputs stall if its number is odd, and none if it
        is even; it has a reset if ``resets`` is True.
        """
        sources = {name: self._payloads(name, Random(f"{seed} {name}")) for name in self._inputs}
        pauses = Random(f"{seed} pauses")
        offers: dict[str, int] = {}
        trace: Trace = []
        for cycle in range(cycles):
            last = resets is not None and cycle == cycles - 1
            values = self._values(sources, pauses, Pace(stall=cycle % 2) if last else pace, offers)
            ctx.set(self._stimulus, sum(value << self._inputs[name].start for name, value in values.items()))
            ctx.set(self._domain.rst, int(last and resets))
            shown = self._shown(ctx.get(self._response), values, offers)
            if like is not None and _difference(cycle, shown, like[cycle], self.manners):
                break
            trace.append(shown)
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


def walk(fragment: Fragment, component: str = "") -> Iterator[tuple[str, Fragment]]:
    """Yield a fragment and those inside it, each with the class of its component; a library's has that around it in front."""
    for origin in fragment.origins or ():
        if not isinstance(origin, Module):
            own = type(origin).__name__
            component = own if type(origin).__module__.startswith("bitpath.") else f"{component}.{own}"
    yield component, fragment
    for inner, *_ in fragment.subfragments:
        yield from walk(inner, component)


def clocked(fragment: Fragment) -> Iterator[Signal]:
    """Yield the signals that statements of a clocked domain drive."""
    for domain, statements in fragment.statements.items():
        if domain != "comb":
            for statement in statements:
                yield from statement._lhs_signals()


def _bits(value: Any) -> int:
    return value if isinstance(value, int) else value.as_bits()


def first_difference(one: Trace, other: Trace, manners: Manners) -> str:
    """Return a description of the first difference of two traces, or an empty string."""
    cycles = enumerate(zip(one, other, strict=True))
    return next(filter(None, (_difference(cycle, *pair, manners) for cycle, pair in cycles)), "")


def _difference(cycle: int, left: Mapping[str, int], right: Mapping[str, int], manners: Manners) -> str:
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
