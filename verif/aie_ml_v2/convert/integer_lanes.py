"""SRS and UPS: their requests with golden's results, stated corners, and the check of the sticky overflow flag."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, ClassVar

import numpy as np
from cocotb.triggers import FallingEdge

from bitpath.verif.kit.bench import Bench
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import array_bits, pack, width
from bitpath.verif.kit.pipeline import Request
from bitpath.verif.kit.streams import resolved
from bitpath.verif.kit.values import Integer


class IntegerAsk(ABC):
    """Control of a request, in golden's terms.

    Attributes
    ----------
    acc_bits, vector_bits : bits of an accumulator lane and of an element of the vector.
    takes, gives : fields of the request and of the result that hold the lanes.
    """

    acc_bits: int
    vector_bits: int
    shift: int
    takes: ClassVar[str]
    gives: ClassVar[str]

    @property
    @abstractmethod
    def bin(self) -> str:
        """Name of the coverage bin, without the shift."""

    @property
    @abstractmethod
    def control(self) -> int:
        """The control's payload."""

    @property
    @abstractmethod
    def result_format(self) -> Integer:
        """Number format of the results."""

    @abstractmethod
    def layouts(self, lanes: int) -> tuple[Any, Any]:
        """Return the layouts of request and result."""

    @abstractmethod
    def golden(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the results of int64 numbers, and True for each that overflows."""

    def bits_of(self, name: str) -> int:
        """Return the bits of a lane of ``acc`` or of ``vector``."""
        return self.acc_bits if name == "acc" else self.vector_bits

    def count(self, lanes: int) -> int:
        """Return the accumulators that ``lanes`` lanes of 32 bits hold."""
        return lanes * 32 // self.acc_bits

    def requests(self, numbers: Sequence[int] | np.ndarray, lanes: int, junk: Random) -> list[Request]:
        """Return requests of numbers, padded with zeros, with golden's results; bits above a short vector are junk."""
        count = self.count(lanes)
        rows = np.zeros(-(-len(numbers) // count) * count, np.int64)
        rows[: len(numbers)] = numbers
        rows = rows.reshape(-1, count)
        results, overflow = self.golden(rows)
        takes, gives = (
            each.astype(f"i{self.bits_of(name) // 8}") for each, name in ((rows, self.takes), (results, self.gives))
        )
        request, result = self.layouts(lanes)
        used, control = count * self.bits_of(self.takes), self.control
        unused = width(request[self.takes].shape) - used
        return [
            Request(
                pack(
                    request,
                    {
                        self.takes: array_bits(taken) | (junk.getrandbits(unused) << used if unused else 0),
                        "control": control,
                    },
                ),
                pack(result, {self.gives: array_bits(given), "overflow": int(over)}),
                partial(self._shown, row.tolist()),
            )
            for row, taken, given, over in zip(rows, takes, gives, overflow.any(axis=1).tolist(), strict=True)
        ]

    def _shown(self, row: Sequence[int], path: str) -> Shown:
        """Return the control and the number of the lane that differs, or all of them."""
        lane = path.rpartition(".")[2]
        numbers = row[int(lane) :][:1] if path.startswith(self.gives) and lane.isdigit() else row
        operands = {"control": f"{self.bin}, shift {self.shift}", "number": ", ".join(map(str, numbers))}
        return Shown(operands=operands, formats={self.gives: self.result_format})

    def one_a_row(self, numbers: np.ndarray, lanes: int) -> np.ndarray:
        """Return rows with one number each, in successive lanes, and zeros in the others."""
        rows = np.zeros((len(numbers), self.count(lanes)), np.int64)
        rows[range(len(rows)), np.arange(len(rows)) % rows.shape[1]] = numbers
        return rows.ravel()


def sign_name(signed: bool) -> str:
    return "signed" if signed else "unsigned"


def numbers_of(bits: int, most: int, source: Random) -> np.ndarray:
    """Return the signed integers of ``bits`` bits in order, or a sample if there are more than ``most``; int64."""
    every = range(-(1 << bits - 1), 1 << bits - 1)
    return np.array(every if len(every) <= most else sorted(source.sample(every, most)), np.int64)


def single_bits(bits: int) -> np.ndarray:
    """Return the signed integers of ``bits`` bits with a single bit set, and those with all bits but one; int64."""
    ones = [1 << k for k in range(bits - 1)]
    top = -(1 << bits - 1)
    return np.array([*ones, top, *(~one for one in ones), ~top], np.int64)


@dataclass(frozen=True)
class Corner:
    """A number, its expected result, and the expected overflow bit."""

    bin: str
    ask: IntegerAsk
    number: int
    result: int
    overflow: bool

    @property
    def holds(self) -> bool:
        """Return True if golden agrees with the corner."""
        results, overflow = self.ask.golden(np.array([self.number], np.int64))
        return (int(results[0]), bool(overflow[0])) == (self.result, self.overflow)

    def requests(self, index: int, lanes: int, junk: Random) -> list[Request]:
        """Return the number among zeros, in another lane for each index."""
        row = np.zeros(self.ask.count(lanes), np.int64)
        row[index % len(row)] = self.number
        return self.ask.requests(row, lanes, junk)


EVENTS = ("set", "kept", "cleared", "quiet", "waiting", "set over clear", "left over", "reset")


async def check_sticky_flag(frame: Bench, quiet: Request, loud: Request, latency: int) -> None:
    """Check set, clear and reset: the flag is set one cycle after a result with overflow is taken and stays until cleared.

    A result taken in the cycle of the clear sets it; one taken before does not.
    """
    dut, coverage = frame.dut, frame.coverage(EVENTS)
    board, flags = frame.scoreboard("o", frame.payload_shape("o")), frame.scoreboard("overflow", 1)

    async def step(cycles: int = 1) -> None:
        for _ in range(cycles):
            await FallingEdge(dut.clk)

    async def offer(request: Request) -> None:
        """Send a request to the end of the pipeline, where it stalls."""
        dut.o__ready.value = 0
        dut.i__payload.value, dut.i__valid.value = request.payload, 1
        await step()
        dut.i__valid.value = 0
        await step(latency - 1)
        assert resolved(dut.o__valid)

    async def take(request: Request, clear: bool = False) -> None:
        """Take the result, optionally in the cycle of a clear."""
        board.expect(request.expected, request.shown)
        board.got(resolved(dut.o__payload))
        dut.o__ready.value, dut.clear_overflow.value = 1, int(clear)
        await step()
        dut.o__ready.value, dut.clear_overflow.value = 0, 0

    def flag_is(value: bool, event: str) -> None:
        flags.expect(int(value), event)
        flags.got(resolved(dut.overflow))
        coverage.hit(event)

    await step()
    await offer(quiet)
    await take(quiet)
    flag_is(False, "quiet")
    await offer(loud)
    await step(3)
    flag_is(False, "waiting")
    await take(loud)
    flag_is(True, "set")
    await offer(quiet)
    await take(quiet)
    flag_is(True, "kept")
    await _clear(dut)
    flag_is(False, "cleared")
    await offer(loud)
    await take(loud, clear=True)
    flag_is(True, "set over clear")
    # The payload keeps its last value, but is not valid.
    dut.o__ready.value = 1
    await _clear(dut)
    await step()
    flag_is(False, "left over")
    await frame.reset()
    await step()
    flag_is(False, "reset")


async def _clear(dut: Any) -> None:
    dut.clear_overflow.value = 1
    await FallingEdge(dut.clk)
    dut.clear_overflow.value = 0
