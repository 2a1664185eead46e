"""Pipeline registers with one stall: all of them hold while the result waits."""

from abc import abstractmethod
from collections.abc import Collection
from typing import Any

from amaranth import Module, Signal, Value
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

# Delay line of a word.


class Delay(wiring.Component):
    """``o`` is ``i`` delayed by ``cycles`` cycles of ``advance``; reset clears it.

    One wide shift register, so its Verilog does not grow with its depth.

    Parameters
    ----------
    width : bits of the word.
    cycles : latency; 0 is a wire.

    Members
    -------
    advance : In(1), clock enable
    i : In(width)
    o : Out(width)
    """

    def __init__(self, width: int, cycles: int):
        self.width, self.cycles = width, cycles
        super().__init__({"advance": In(1), "i": In(width), "o": Out(width)})

    def elaborate(self, platform):
        m = Module()
        if self.cycles == 0:
            m.d.comb += self.o.eq(self.i)
        else:
            history = Signal(self.width * self.cycles)
            with m.If(self.advance):
                m.d.sync += history.eq((history << self.width) | self.i)
            m.d.comb += self.o.eq(history[-self.width :])
        return m


class PipelineRegisters:
    """Pipeline registers of one datapath, created in the order in which data passes them.

    Data registers have no reset; valid bits do. ``advance = ready | ~valid`` of the last stage, so throughput is one beat
    a cycle, and a stall holds the whole pipeline.

    Parameters
    ----------
    m : module that takes the registers.
    steps : names of the steps that end in a register; other steps are wires.
    valid, ready : valid of the pipeline's input, ready of its output.

    Attributes
    ----------
    valid : valid behind the registers created so far.
    advance : clock enable of all registers; :meth:`finish` drives it.
    """

    def __init__(self, m: Module, steps: Collection[str], *, valid: Value, ready: Value):
        self._m, self._steps, self._ready = m, steps, ready
        self.valid = valid
        self.advance = Signal()

    def hold(self, step: str, **values: Value) -> list[Value]:
        """Return the values behind the step's register, or the values themselves if the step has none."""
        if step not in self._steps:
            return list(values.values())
        held_valid = Signal(name=f"{step}_valid")
        held = {name: Signal.like(value, name=f"{step}_{name}", reset_less=True) for name, value in values.items()}
        with self._m.If(self.advance):
            self._m.d.sync += [held_valid.eq(self.valid), *(held[name].eq(value) for name, value in values.items())]
        self.valid = held_valid
        return list(held.values())

    def finish(self) -> Value:
        """Drive ``advance`` after the last register; return ready of the pipeline's input."""
        self._m.d.comb += self.advance.eq(self._ready | ~self.valid)
        return self.advance if self._steps else self._ready


# A combinational function between two streams, with pipeline registers before and behind it.


class Registered(wiring.Component):
    """The frame of units that compute each request alone.

    Latency is the number of steps. Throughput: one request a cycle. Back-pressure: all steps stall while a result waits for
    ``o.ready``.

    Parameters
    ----------
    request, result : layouts.
    steps : pipeline registers: "request" before the function, "result" behind it.

    Members
    -------
    i : In(stream of request)
    o : Out(stream of result)
    """

    def __init__(self, request: Any, result: Any, steps: Collection[str] = ("result",)):
        self.steps = steps
        super().__init__({"i": In(stream.Signature(request)), "o": Out(stream.Signature(result))})

    @property
    def latency(self) -> int:
        """Cycles from a request to its result."""
        return len(self.steps)

    @abstractmethod
    def compute(self, m: Module, platform: Any, request: Any, result: Any) -> None:
        """Drive ``result`` from the request."""

    def elaborate(self, platform):
        m = Module()
        registers = PipelineRegisters(m, self.steps, valid=self.i.valid, ready=self.o.ready)
        (request,) = registers.hold("request", request=self.i.p)
        result = Signal(self.o.p.shape())
        self.compute(m, platform, request, result)
        (held,) = registers.hold("result", result=result)
        m.d.comb += [
            self.o.p.eq(held),
            self.o.valid.eq(registers.valid),
            self.i.ready.eq(registers.finish()),
        ]
        return m


# Ring buffer between a writer and a reader that are skewed in time.


class Ring(wiring.Component):
    """``o`` is the word last written at ``read``, one cycle later; a write in the same cycle is included.

    A word is stored in every cycle. While ``advance`` is 0, the word at ``write`` may be stored again or replaced.

    Parameters
    ----------
    width, depth : bits of a word, and number of words.

    Members
    -------
    advance : In(1), without it ``o`` holds, and ``write`` must hold too
    i : In(width), stored at ``write``
    write, read : In(ceil_log2(depth))
    o : Out(width)
    """

    def __init__(self, width: int, depth: int):
        self.width, self.depth = width, depth
        address = ceil_log2(depth)
        super().__init__({"advance": In(1), "i": In(width), "write": In(address), "read": In(address), "o": Out(width)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.cells = cells = memory.Memory(shape=self.width, depth=self.depth, init=[])
        write = cells.write_port()
        read = cells.read_port(transparent_for=(write,))
        m.d.comb += [
            write.addr.eq(self.write),
            write.data.eq(self.i),
            write.en.eq(1),
            read.addr.eq(self.read),
            read.en.eq(self.advance),
            self.o.eq(read.data),
        ]
        return m
