"""Commands to the AIE-ML v2 engine and its result memory back, both sides of the comparison, for its benches."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import numpy as np

from bitpath.golden.spec.aie_ml_v2_modes import INT8
from bitpath.rtl.aie_ml_v2.aie_engine import AieEngine, AieMemory, host_write_layout
from bitpath.rtl.aie_ml_v2.config import AieEngineConfig
from bitpath.rtl.aie_ml_v2.layouts import word_bits
from bitpath.verif.host.aie_images import x_words, y_words
from bitpath.verif.host.memory_image import image_words, write_payloads
from bitpath.verif.host.player import MemoryPlayer, Segment
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import ENGINE_PATIENCE_CYCLES, Bench, bench
from bitpath.verif.kit.streams import resolved
from bitpath.verif.tb.aie_engine_model import EngineModel, RowCommand, command_bits, register_words
from bitpath.verif.tb.engine_host import expect_rest, source_of

SPARE_TILES = 2
"""Tiles of Y that may lie between a command's tiles of a step and those of the next."""


class Session:
    """Queues commands while the operand memories have room for their tiles, runs them, and compares all results.

    Golden executes a command as it is queued, before anything is driven. Every word of the result memory is compared,
    those too that no command wrote.

    Parameters
    ----------
    frame : of the test.
    config : of the engine.
    gap, stall : how often commands and answers pause.
    """

    def __init__(self, frame: Bench, config: AieEngineConfig, *, gap: float = 0.0, stall: float = 0.0):
        self.config, self.dut = config, frame.dut
        self.player = MemoryPlayer(
            frame,
            gaps=pauses.scattered(gap, pauses.rng("command")),
            stalls=pauses.scattered(stall, pauses.rng("data")),
        )
        self.board = frame.scoreboard("result memory", word_bits(config.unit))
        self._junk = source_of("junk")
        self._writes = host_write_layout(config)
        self._begin()

    async def preset(self) -> None:
        """Random numbers near 1 to the accumulators; the result memory as it is."""
        await self.begin_on(await self.player.read(0, self.config.result_depth))

    @property
    def products(self) -> int:
        """Native products since reset, once all that is queued has run."""
        return self.model.products

    def contents(self) -> np.ndarray:
        """A copy of what the result memory holds once all that is queued has run, uint8."""
        return np.frombuffer(self.model.results.tobytes(), np.uint8)

    async def begin_on(self, results: np.ndarray) -> None:
        """Begin with nothing queued, on what the result memory holds, uint8, and random accumulators near 1."""
        self._begin()
        unit = self.config.unit
        lanes = self._junk.standard_normal((unit.accumulators, INT8.lanes), dtype=np.float32).view(np.uint32)
        words = results.view("<u4").reshape(self.config.result_depth, unit.lanes).copy()
        self.model = EngineModel(self.config, lanes, words)
        await self.player.play([Segment(writes=self.accumulator_writes(0, lanes))])

    def accumulator_writes(self, register: int, lanes: np.ndarray) -> list[int]:
        """Payloads that write uint32 [registers, 64] to accumulators from one on."""
        words = image_words(lanes, word_bits(self.config.unit) // 8)
        return write_payloads(self._writes, AieMemory.ACCUMULATORS, register * register_words(self.config), words)

    async def run(self, commands: Iterable[RowCommand]) -> None:
        """Queue commands, then run what is queued and compare."""
        for command in commands:
            await self.queue(command)
        await self.flush()

    async def queue(self, command: RowCommand) -> None:
        """Place the tiles and queue the command; what was queued before runs first where there is no room."""
        x, y = x_words(command.x, command.kind.mode), y_words(command.y, command.kind.mode)
        room = self.config.y_depth // (command.steps * y.shape[-2]) - command.tiles
        spare = min(int(self._junk.integers(0, SPARE_TILES + 1)), room)
        y = np.pad(y, [(0, 0), (0, spare), (0, 0), (0, 0)], constant_values=0xA5)
        x_count, y_count = (int(np.prod(image.shape[:-1])) for image in (x, y))
        if self._next_x + x_count > self.config.x_depth or self._next_y + y_count > self.config.y_depth:
            await self.flush()
        for memory, address, image in ((AieMemory.X, self._next_x, x), (AieMemory.Y, self._next_y, y)):
            self._segment.writes += write_payloads(self._writes, memory, address, image_words(image, image.shape[-1]))
        stride = y.shape[1] * y.shape[2]
        self._segment.commands.append(
            command_bits(self.config, command, self._next_x, self._next_y, stride, self._junk)
        )
        self._next_x += x_count
        self._next_y += y_count
        self.model.execute(command)

    def take_segment(self) -> Segment:
        """What is queued, for a test that drives it itself."""
        segment = self._segment
        self._begin()
        return segment

    def _begin(self) -> None:
        self._segment = Segment()
        self._next_x = self._next_y = 0

    async def flush(self) -> np.ndarray:
        """Run what is queued and compare the result memory, which is returned, uint32 [words, lanes]."""
        await self.player.play([self.take_segment()])
        retired = resolved(self.dut.retired)
        assert retired == self.model.products, f"{retired} products are counted, {self.model.products} were sent"
        return await self.compare()

    async def compare(self, addresses: range | None = None) -> np.ndarray:
        """Words of the result memory, all where none are named, against golden's; returns what came."""
        addresses = range(self.config.result_depth) if addresses is None else addresses
        word_bytes = self.player.word_bytes
        expected = image_words(self.model.results[addresses.start : addresses.stop], word_bytes)
        received = await self.player.read(addresses.start, len(addresses))
        for address, right, real in zip(addresses, expected, image_words(received, word_bytes), strict=True):
            self.board.expect(right, f"word {address}, written by {self.model.written.get(address, 'nothing')}")
            self.board.got(real)
        return received.view("<u4").reshape(len(addresses), -1)

    def forget(self) -> None:
        """What a reset forgets: what is queued, and the count of products."""
        self._begin()
        self.model.products = 0


@asynccontextmanager
async def engine(
    dut: Any, config: AieEngineConfig, *, gap: float = 0.0, stall: float = 0.0
) -> AsyncIterator[tuple[Bench, Session]]:
    """The frame of a bench around an engine at rest, whose accumulators hold random numbers."""
    async with bench(dut, AieEngine(config).signature, patience=ENGINE_PATIENCE_CYCLES) as frame:
        await expect_rest(dut)
        session = Session(frame, config, gap=gap, stall=stall)
        await session.preset()
        yield frame, session
