"""Both ends of an Amaranth stream whose ports are ``name__payload``, ``name__valid`` and ``name__ready``.

Signals are driven after the rising edge and handshakes sampled at the falling one, where everything has settled and
what is seen is what the next rising edge will take: the same on every simulator.
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
    """The unsigned integer on a signal, as every bench reads it; X or Z on it fails the test."""
    if looks.noted is not None:
        looks.noted.read(handle._name)
    return integer_of(handle)


def integer_of(handle: Any) -> int:
    """The same for one who only watches the bench."""
    # What `handle.value` is made of: its LogicArray costs ten times as much, and a run asks for a value in every cycle. It is
    # private to cocotb, whose release is pinned; the tests of the runner hold that X is seen through it.
    text = handle._handle.get_signal_val_binstr()
    try:
        # All digits at once: cocotb's own check looks at them one by one, a microsecond each.
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
        # A stream that is always valid or always ready has no such port.
        self.valid = getattr(dut, f"{name}__valid", None)
        self.ready = getattr(dut, f"{name}__ready", None)
        self.handshakes = counts(valid=self.valid is not None, ready=self.ready is not None)

    @property
    def transferred(self) -> int:
        """Payloads that went over."""
        return self.handshakes.transferred


class StreamDriver(_End):
    """Sends payloads in order.

    Parameters
    ----------
    pauses : consulted before each payload is offered; once offered, it stays until it is taken.
    junk : what fills the payload while nothing is valid.
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
        """Payloads not yet taken."""
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
        """Someone else has set the stream's signals."""
        self._shown = None

    def drop(self) -> None:
        """Withdraw what is offered, and forget what is queued: for a reset."""
        self._queue.clear()
        self._emptied.set()
        self._withdrawn.set()
        self._offer(None)

    async def drained(self) -> None:
        """Return once every payload has been taken: behind the rising edge at which the last one was."""
        if self._queue:
            self._emptied.clear()
            await self._emptied.wait()

    async def run(self) -> None:
        """Drive, for ever."""
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
                # Dropped in a pause.
                continue
            self._offer(self._queue[0])
            self._withdrawn.clear()
            late = await self._taken()
            if not self._withdrawn.is_set():
                self._queue.popleft()
                self.handshakes.taken(gap=paused, late=late)

    async def _taken(self) -> bool:
        """Return after the rising edge at which the payload went over, or once it is withdrawn: whether it had to wait."""
        late = False
        if self.ready is not None:
            await FallingEdge(self.clock)
            while not resolved(self.ready):
                late = True
                # An engine may take nothing for thousands of cycles; to look in each of them costs more than to simulate.
                await select(ValueChange(self.ready), self._withdrawn.wait())
                if self._withdrawn.is_set():
                    # An end that looks at what is offered may never be ready for nothing.
                    return late
                await FallingEdge(self.clock)
        await RisingEdge(self.clock)
        return late

    def _offer(self, bits: int | None) -> None:
        # Only where it changes: a write costs as much as a cycle of a small design.
        if self.valid is not None and self._shown is not (bits is not None):
            self._shown = bits is not None
            self.valid.value = int(self._shown)
        # Junk while invalid, so that a design that ignores valid is caught.
        self.payload.value = self._junk.getrandbits(len(self.payload)) if bits is None else bits


class StreamMonitor(_End):
    """Takes payloads and passes their integers on; also holds the sender to the rule that an offer stays until taken.

    Parameters
    ----------
    pauses : True in a cycle in which ready is low.
    sink : called with each payload taken.
    """

    def __init__(self, dut: Any, name: str, shape: Any, pauses: Iterator[bool], sink: Callable[[int], None]):
        super().__init__(dut, name, shape, pauses, Received)
        self._sink = sink
        self._watching = Event()
        self._watching.set()
        if self.ready is not None:
            self.ready.value = 0

    def hold(self) -> None:
        """Stop watching, with ready low, where nothing can come for long: no cycle then costs any Python."""
        self._watching.clear()

    def release(self) -> None:
        """Watch again."""
        self._watching.set()

    async def run(self) -> None:
        """Monitor, for ever."""
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
