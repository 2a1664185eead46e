"""Driver of the Tensix engine and comparison of its result memory with golden, for its benches."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from random import Random
from typing import Any

import numpy as np

from bitpath.rtl.tensix.engine.command import WORD_BITS, WORD_BYTES, TensixEngineConfig, command_layout
from bitpath.rtl.tensix.engine.tensix_engine import EngineMemory, TensixEngine
from bitpath.rtl.tensix.faults import Fault
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import ENGINE_PATIENCE_CYCLES, Bench, bench
from bitpath.verif.kit.engine_host import FirstFault, expect_rest, source_of
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.player import MemoryPlayer, Segment
from bitpath.verif.kit.streams import resolved
from bitpath.verif.tensix.engine.lowering import host_writes, memory_words
from bitpath.verif.tensix.engine.model import EngineModel, Product, Source, command_bits, command_fields
from bitpath.verif.tensix.engine.refusals import fault_of, refused_like

SIDES = {"left": EngineMemory.LEFT, "right": EngineMemory.RIGHT}


class Session:
    """Queues products while the operand memories have room for their tiles, runs them, and compares all results.

    Golden executes a product when it is queued, before anything is driven. Every word of the result memory is compared, also
    words that no product wrote.

    Parameters
    ----------
    frame : bench frame of the test.
    config : configuration of the engine.
    gap, stall : probability of a pause of commands and of responses.
    """

    def __init__(self, frame: Bench, config: TensixEngineConfig, *, gap: float = 0.0, stall: float = 0.0):
        self.config, self.dut = config, frame.dut
        self.player = MemoryPlayer(
            frame,
            gaps=pauses.scattered(gap, pauses.rng("command")),
            stalls=pauses.scattered(stall, pauses.rng("data")),
        )
        self.board = frame.scoreboard("result memory", WORD_BITS)
        self._junk = source_of("junk")
        self.results = self._junk.integers(0, 256, config.result_depth * WORD_BYTES, dtype=np.uint8)
        self.model = EngineModel(config, self.results)
        self._segment = Segment()
        self.sources = {side: Source() for side in SIDES}
        self._next = dict.fromkeys(SIDES, 0)
        self.products = 0
        self.faults = FirstFault()

    async def preset(self) -> None:
        """Write the contents of `results` to the result memory."""
        writes = host_writes(self.config, EngineMemory.RESULT, 0, memory_words(self.results))
        await self.player.play([Segment(writes=writes)])

    def contents(self) -> np.ndarray:
        """Return a copy of the result memory after all queued products, uint8."""
        return self.results.copy()

    async def begin_on(self, results: np.ndarray) -> None:
        """Start after a reset, with these contents of the result memory, uint8."""
        self.results[:] = results
        self.forget()

    async def run(self, products: Iterable[Product]) -> None:
        """Queue products, run them and compare."""
        for product in products:
            await self.queue(product)
        await self.flush()

    async def queue(self, product: Product) -> None:
        """Place the tiles and queue the command; run the queue first if there is no room."""
        images = {
            side: memory_words(getattr(product, side).image) for side, source in self.sources.items() if source.loads
        }
        if any(self._next[side] + len(words) > self.config.operand_depth for side, words in images.items()):
            await self.flush()
        addresses: dict[str, int | None] = dict.fromkeys(SIDES)
        for side, words in images.items():
            addresses[side] = self._next[side]
            self._segment.writes += host_writes(self.config, SIDES[side], self._next[side], words)
            self._next[side] += len(words)
            self.sources[side].load(None)
        self.model.execute(product)
        self.products += 1
        self.faults.taken += 1
        for side, source in self.sources.items():
            source.banks.move(*product.move(side))
        self._segment.commands.append(command_bits(self.config, product, addresses, self._junk))

    def queue_refused(self, like: Product, rng: Random, wanted: Fault) -> Fault:
        """Queue a command that the engine refuses, in a few fields unlike a product; return its fault, mostly the wanted one."""
        fields = command_fields(self.config, like, self._next, self._junk)
        fields = refused_like(self.config, fields, self.sources, rng, wanted)
        fault = fault_of(self.config, fields, self.sources)
        self.faults.refuse(fault.value)
        self.faults.taken += 1
        self._segment.commands.append(pack(command_layout(self.config), fields))
        return fault

    def take_segment(self) -> Segment:
        """Return the queued products for a test that drives them itself."""
        segment, self._segment = self._segment, Segment()
        self._next = dict.fromkeys(SIDES, 0)
        return segment

    async def flush(self) -> np.ndarray:
        """Run the queue, compare the result memory and return it, uint8."""
        await self.player.play([self.take_segment()])
        retired = resolved(self.dut.retired)
        assert retired == self.products, f"{retired} products are counted, {self.products} were sent"
        self.faults.check(self.dut)
        return await self.compare()

    async def compare(self, addresses: range | None = None) -> np.ndarray:
        """Compare words of the result memory (default: all) with golden; return the received words, uint8."""
        addresses = range(self.config.result_depth) if addresses is None else addresses
        expected = memory_words(self.results.reshape(-1, WORD_BYTES)[addresses.start : addresses.stop])
        received = await self.player.read(addresses.start, len(addresses))
        for address, right, real in zip(addresses, expected, memory_words(received), strict=True):
            self.board.expect(right, partial(self.model.shown, address))
            self.board.got(real)
        return received

    def forget(self) -> None:
        """Model a reset: Dst and kept tiles are lost, memories are kept."""
        self.model = EngineModel(self.config, self.results)
        self.take_segment()
        self.sources = {side: Source() for side in SIDES}
        self.products = 0
        self.faults = FirstFault()


@asynccontextmanager
async def engine(
    dut: Any, config: TensixEngineConfig, *, gap: float = 0.0, stall: float = 0.0
) -> AsyncIterator[tuple[Bench, Session]]:
    """Return the bench frame of an idle engine, whose result memory holds random bytes."""
    async with bench(dut, TensixEngine(config).signature, patience=ENGINE_PATIENCE_CYCLES) as frame:
        await expect_rest(dut)
        session = Session(frame, config, gap=gap, stall=stall)
        await session.preset()
        yield frame, session
