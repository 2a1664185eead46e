"""Descriptors for the mover of a DMA engine, its two memories, and the writes that golden says must follow."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from random import Random
from typing import Any

import numpy as np
from cocotb.triggers import FallingEdge

from bitpath.golden.trainium3.declarations.dma import MAX_DESCRIPTOR_BYTES
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, container_bits
from bitpath.rtl.trainium3.dma.dma_cast import TIMES
from bitpath.rtl.trainium3.dma.dma_mover import DmaMoverConfig, move_layout
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.rtl.trainium3.dma.read_add_write import WriteMode
from bitpath.rtl.trainium3.faults import Fault
from bitpath.verif.kit.handshakes import Look
from bitpath.verif.kit.unit_bench import Bench, pack, pauses, resolved
from bitpath.verif.trainium3.dma.read_add_write import Beat, Memory
from bitpath.verif.trainium3.dtype_words import cast_words

COPY = ("uint8", "uint8")
"""A copy moves bytes, whatever they are."""
PACES = {"full_speed": (0.0, 0.0), "gaps": (0.5, 0.0), "stalls": (0.0, 0.5), "both": (0.4, 0.4), "trickle": (0.97, 0.0)}
"""Shares of cycles with gaps of what enters, and with stalls of what leaves. Words that trickle in are far behind their
descriptors."""
ADDED = {WriteMode.ADD_BF16: "bf16", WriteMode.ADD_FP32: "fp32"}
ADDS = {name: mode for mode, name in ADDED.items()}
"""Modes of a read-add-write by the dtype of its elements."""


@dataclass(frozen=True)
class Move:
    """A descriptor by its fields; `count` elements."""

    source: int
    destination: int
    count: int
    pair: tuple[str, str] = COPY
    mode: WriteMode = WriteMode.STORE
    signals: bool = True
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Fields of a descriptor that is refused."""

    @property
    def sizes(self) -> tuple[int, int]:
        """Bytes of an element on both sides."""
        source, destination = (container_bits(name) // 8 for name in self.pair)
        return source, destination

    @property
    def size(self) -> int:
        """Bytes of the side with wider elements."""
        return self.count * max(self.sizes)

    def cycles(self, config: DmaMoverConfig) -> int:
        """Cycles until the mover takes the next descriptor."""
        beats = -(-self.size // config.beat_bytes)
        return max(config.descriptor_cycles, -(-beats * TIMES.beat_price // TIMES.beat_gain))

    def payload(self, config: DmaMoverConfig) -> int:
        """The descriptor as the unit's port has it."""
        fields = {
            "source": self.source,
            "destination": self.destination,
            "length": self.size % MAX_DESCRIPTOR_BYTES,
            "pair": {"source": Dtype[self.pair[0].upper()], "destination": Dtype[self.pair[1].upper()]},
            "mode": self.mode,
            "signals": self.signals,
        }
        return pack(move_layout(config), fields | self.changes)

    def beats(self, memory: bytes, config: DmaMoverConfig) -> list[Beat]:
        """The words that the descriptor stores, or adds to, at its destination."""
        sizes = self.sizes
        run = np.frombuffer(memory[self.source : self.source + self.count * sizes[0]], f"<u{sizes[0]}")
        moved = cast_words(run.astype(np.int64), *self.pair).astype(f"<u{sizes[1]}").tobytes()
        width = config.beat_bytes
        first, skipped = divmod(self.destination, width)
        words = -(-(skipped + len(moved)) // width)
        padded = bytes(skipped) + moved + bytes(words * width - skipped - len(moved))
        covered = ((1 << len(moved)) - 1) << skipped
        return [
            Beat(first + k, padded[width * k : width * (k + 1)], covered >> width * k & (1 << width) - 1, self.mode)
            for k in range(words)
        ]


def any_move(rng: Random, config: DmaMoverConfig, most: int, pair: tuple[str, str] | None = None) -> Move:
    """A copy, cast or addition of up to `most` bytes, anywhere in the memories."""
    mode = WriteMode.STORE if pair or rng.random() < 0.7 else rng.choice(list(ADDED))
    if mode in ADDED:
        pair = (ADDED[mode], ADDED[mode])
    elif pair is None:
        names = list(FORMATS)
        pair = COPY if rng.random() < 0.4 else (rng.choice(names), rng.choice(names))
    widest = max(container_bits(name) // 8 for name in pair)
    count = rng.randint(1, max(1, most // widest))
    return placed(rng, config, Move(0, 0, count, pair, mode, rng.random() < 0.5))


def placed(rng: Random, config: DmaMoverConfig, move: Move) -> Move:
    """The move at random places; one that adds begins at an element's place."""
    room = 1 << config.address_bits
    source, destination = (rng.randint(0, room - move.count * size) for size in move.sizes)
    if move.mode in ADDED:
        destination -= destination % move.sizes[1]
    return Move(source, destination, move.count, move.pair, move.mode, move.signals)


def refused_moves(rng: Random, config: DmaMoverConfig) -> Iterator[tuple[Fault, Move]]:
    """Yield faults with descriptors that have them: a mode and every dtype that there is not, every pair that is not added, bytes that
    are no whole elements, and sums at every place that is no element's."""
    for signals in (False, True):
        move = placed(rng, config, Move(0, 0, 4, ("fp32", "bf16"), signals=signals))
        yield Fault.OPERATION, replace(move, changes={"mode": 3})
    known = [*FORMATS]
    for dtype, side, mode in product(range(len(known), 16), range(2), WriteMode):
        pair = [Dtype[ADDED.get(mode, "uint8").upper()]] * 2
        pair[side] = dtype
        changes = {"mode": mode, "pair": dict(zip(("source", "destination"), pair, strict=True))}
        yield Fault.DTYPE, Move(0, 0, 4, changes=changes)
    for (mode, name), other, side in product(ADDED.items(), known, range(2)):
        pair = (other, name) if side else (name, other)
        if other != name:
            yield Fault.DTYPE, Move(0, 0, 4, pair, mode)
    for pair in (("fp32", "uint8"), ("uint8", "fp32"), ("int16", "uint8"), ("bf16", "bf16"), ("fp32", "bf16")):
        wider = max(container_bits(name) for name in pair) // 8
        for rest in range(1, wider):
            yield Fault.RANGE, Move(0, 0, 2, pair, changes={"length": 2 * wider + rest})
    for mode, name in ADDED.items():
        size = container_bits(name) // 8
        for rest in range(1, size):
            yield Fault.RANGE, Move(0, size + rest, 2, (name, name), mode)


class Memories:
    """Source and destination of a mover; `taken` and `done` have the cycles in which it took descriptors and signalled.

    Parameters
    ----------
    frame : of the test.
    takes : says whether a descriptor is taken in this cycle.
    answers : False while words read are not to be sent, as during a reset.
    gap, stall : shares of cycles in which words read are held back, and in which ports are not ready.
    compares : as of `Memory`.
    """

    def __init__(
        self,
        frame: Bench,
        config: DmaMoverConfig,
        takes: Look,
        rng: Random,
        gap: float = 0.0,
        stall: float = 0.0,
        *,
        compares: bool = True,
    ):
        self.dut, self.config, self._frame, self._takes = frame.dut, config, frame, takes
        self.answers = True
        self.source = rng.randbytes(1 << config.address_bits)
        self.target = Memory(frame, config.writes, rng, stall, compares=compares)
        self._words = frame.driver("data", pauses.scattered(gap, pauses.rng("word gaps")))
        frame.monitor("read", self._read, pauses.scattered(stall, pauses.rng("read stalls")))
        self.taken: list[int] = []
        self.done: list[int] = []
        self._last_writes: list[int] = []
        self._writes = 0
        frame.start("observer", self._observe())

    def expect(self, move: Move) -> None:
        """Expect a descriptor's writes, after those before."""
        beats = move.beats(self.source, self.config)
        for beat in beats:
            self.target.expect(beat)
        self._writes += len(beats)
        if move.signals:
            self._last_writes.append(self._writes - 1)

    def drop(self) -> None:
        """Withdraw the words on their way, for a reset."""
        self._words.drop()

    def check(self) -> None:
        """Check that the semaphore moved with the last write of each descriptor that signals, and no other."""
        due = [self.target.write_cycles[number] for number in self._last_writes]
        assert self.done == due, f"the semaphore moved in cycles {self.done}, not {due}"

    def _read(self, address: int) -> None:
        if not self.answers:
            return
        width = self.config.beat_bytes
        word = self.source[address * width : (address + 1) * width]
        self._words.send_bits(int.from_bytes(word, "little"))

    async def _observe(self) -> None:
        dut = self.dut
        while True:
            await FallingEdge(dut.clk)
            if self._takes():
                self.taken.append(self._frame.elapsed)
            if resolved(dut.done):
                self.done.append(self._frame.elapsed)
