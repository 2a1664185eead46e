"""Driver and monitor of an Amaranth stream with ports ``name__payload``, ``name__valid`` and ``name__ready``.

Signals are driven after the rising edge and handshakes sampled at the falling edge, where all signals have settled to the values
that the next rising edge samples. This is the same on every simulator.
"""

from collections import deque
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from cocotb.triggers import Event, FallingEdge, RisingEdge, ValueChange, select

from bitpath.verif.kit import looks
from bitpath.verif.kit.handshakes import Handshakes, Received, Sent
from bitpath.verif.kit.packing import pack


def resolved(handle: Any) -> int:
    """Return the unsigned integer on a signal; X or Z fails the test. Benches read all signals through it."""
    if looks.noted is not None:
        looks.noted.read(handle._name)
    return integer_of(handle)


def integer_of(handle: Any) -> int:
    """Return the unsigned integer on a signal without logging a read; for observers."""
    # The source of `handle.value`, ten times as fast as its LogicArray. It is private to cocotb, whose release is pinned; the
    # runner's tests check that X is detected through it.
    text = handle._handle.get_signal_val_binstr()
    try:
        # Check all digits at once; cocotb's own check takes a microsecond for each.
        return int(text, 2)
    except ValueError:
        raise AssertionError(f"{handle._name} is {text}") from None


class _End:
    def __init__(self, dut: Any, name: str, shape: Any, pauses: Iterator[bool], counts: type[Handshakes]):
        self.name = name
        self.shape = shape
        self.pauses = pauses
        self.clock = dut.clk
        self.payload = getattr(dut, f"{name}__payload")
        # An always-valid or always-ready stream lacks that port.
        self.valid = getattr(dut, f"{name}__valid", None)
        self.ready = getattr(dut, f"{name}__ready", None)
        self.handshakes = counts(valid=self.valid is not None, ready=self.ready is not None)

    @property
    def transferred(self) -> int:
        return self.handshakes.transferred


class StreamDriver(_End):
    """Driver that sends payloads in order.

    Parameters
    ----------
    pauses : read before each payload is offered; an offered payload stays valid until it is taken.
    junk : generator of random payloads while valid is 0.
    """

    def __init__(self, dut: Any, name: str, shape: Any, pauses: Iterator[bool], junk: Random):
        super().__init__(dut, name, shape, pauses, Sent)
        self._junk = junk
        self._queue: deque[int] = deque()
        self._filled = Event()
        self._emptied = Event()
        self._shown: bool | None = None
        self._withdrawn = Event()
        self._offer(None)

    @property
    def pending(self) -> int:
        """Number of payloads not yet taken."""
        return len(self._queue)

    def send(self, fields: Any) -> int:
        """Queue a payload given by its fields, or by its integer for a plain shape; return the integer."""
        bits = pack(self.shape, fields)
        self.send_bits(bits)
        return bits

    def send_bits(self, bits: int) -> None:
        """Queue a payload given as the port's integer."""
        self._queue.append(bits)
        self._filled.set()

    def forget(self) -> None:
        """Invalidate the cached levels after other code has set the stream's signals."""
        self._shown = None

    def drop(self) -> None:
        """Withdraw the offered payload and clear the queue, for a reset."""
        self._queue.clear()
        self._emptied.set()
        self._withdrawn.set()
        self._offer(None)

    async def drained(self) -> None:
        """Wait until every payload has been taken; returns after the rising edge of the last transfer."""
        if self._queue:
            self._emptied.clear()
            await self._emptied.wait()

    async def run(self) -> None:
        while True:
            paused = False
            if not self._queue:
                paused = True
                self._offer(None)
                self._emptied.set()
                self._filled.clear()
                await self._filled.wait()
                await RisingEdge(self.clock)
            while next(self.pauses):
                paused = True
                self._offer(None)
                await RisingEdge(self.clock)
            if not self._queue:
                # The payload was dropped during a pause.
                continue
            self._offer(self._queue[0])
            self._withdrawn.clear()
            late = await self._taken()
            if not self._withdrawn.is_set():
                self._queue.popleft()
                self.handshakes.taken(gap=paused, late=late)

    async def _taken(self) -> bool:
        """Wait until the payload is transferred or withdrawn; return True if it stalled."""
        late = False
        if self.ready is not None:
            await FallingEdge(self.clock)
            while not resolved(self.ready):
                late = True
                # An engine may stall for thousands of cycles; polling each of them costs more than the simulation.
                await select(ValueChange(self.ready), self._withdrawn.wait())
                if self._withdrawn.is_set():
                    # A receiver may wait for valid before it asserts ready.
                    return late
                await FallingEdge(self.clock)
        await RisingEdge(self.clock)
        return late

    def _offer(self, bits: int | None) -> None:
        # Write only on a change: a write costs as much as a cycle of a small design.
        if self.valid is not None and self._shown is not (bits is not None):
            self._shown = bits is not None
            self.valid.value = int(self._shown)
        # Random payloads while valid is 0 expose a design that ignores valid.
        self.payload.value = self._junk.getrandbits(len(self.payload)) if bits is None else bits


class StreamMonitor(_End):
    """Monitor that takes payloads and checks that a valid payload stays unchanged until it is taken.

    Parameters
    ----------
    pauses : True for a cycle with ready low.
    sink : function called with each payload taken, an integer.
    """

    def __init__(self, dut: Any, name: str, shape: Any, pauses: Iterator[bool], sink: Callable[[int], None]):
        super().__init__(dut, name, shape, pauses, Received)
        self._sink = sink
        self._watching = Event()
        self._watching.set()
        if self.ready is not None:
            self.ready.value = 0

    def hold(self) -> None:
        """Stop monitoring with ready low; saves simulation time while no payload can arrive."""
        self._watching.clear()

    def release(self) -> None:
        """Resume the monitoring stopped by :meth:`hold`."""
        self._watching.set()

    async def run(self) -> None:
        offered = None
        while True:
            if not self._watching.is_set():
                if self.ready is not None:
                    self.ready.value = 0
                await self._watching.wait()
                await RisingEdge(self.clock)
            ready = self.ready is None or not next(self.pauses)
            if self.ready is not None:
                self.ready.value = int(ready)
            await FallingEdge(self.clock)
            valid = self.valid is None or resolved(self.valid)
            bits = resolved(self.payload) if valid else None
            if offered is not None and bits != offered:
                raise AssertionError(f"{self.name}: an offer of {offered:#x} changed to {bits} before it was taken")
            offered = None if ready else bits
            self.handshakes.see(valid, ready)
            if valid and ready:
                self._sink(bits)
            await RisingEdge(self.clock)
