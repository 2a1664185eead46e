"""The host of the tile in the simulator: loads memory and registers, plays bundles, reads everything back."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.aie_ml_v2.declarations.tile import BANK_BYTES
from bitpath.rtl.aie_ml_v2.core.config import AieTileConfig
from bitpath.rtl.aie_ml_v2.faults import Fault
from bitpath.rtl.aie_ml_v2.tile.data_memory import DataMemoryConfig, outside_layout
from bitpath.verif.kit.unit_bench import Bench, pack, pauses, resolved

ALL_BYTES = (1 << BANK_BYTES) - 1


@dataclass(kw_only=True)
class TileProgram:
    """State in which a run of the tile starts.

    Attributes
    ----------
    bundles : their words, and those of empty ones behind them.
    writes : the host's requests that set the registers.
    images : bytes in memory, uint8, by their address, a multiple of 32.
    """

    bundles: list[int]
    writes: list[int] = field(default_factory=list)
    images: Mapping[int, np.ndarray] = field(default_factory=dict)


def memory_bytes(config: DataMemoryConfig) -> int:
    """Return the bytes of a memory."""
    return 2 * config.all_pairs * config.words * config.bank_bytes


def module_bytes(config: DataMemoryConfig) -> int:
    """Return the bytes of one of its modules, which has a port of its own."""
    return memory_bytes(config) // config.modules


class TileHost:
    """Drives the ports of a tile.

    Parameters
    ----------
    frame : the running bench.
    config : the tile's.
    gaps : of the bundles.
    """

    def __init__(self, frame: Bench, config: AieTileConfig, gaps: Iterable[bool] | None = None):
        self.dut, self.memory = frame.dut, config.memory
        self.layout = outside_layout(config.memory)
        self.bundles = frame.driver("i", iter(gaps) if gaps is not None else pauses.never())
        self.host = frame.driver("host")
        self.outside = [frame.driver(f"outside__{module}") for module in range(config.memory.modules)]
        self.values: list[int] = []
        self.words: list[list[int]] = [[] for _ in self.outside]
        frame.monitor("answer", self.values.append)
        for module, words in enumerate(self.words):
            frame.monitor(f"word__{module}", words.append)

    async def load(self, program: TileProgram) -> None:
        for address, image in program.images.items():
            self.write(address, image)
        for write in program.writes:
            self.host.send_bits(write)
        await self.drained()

    async def drained(self) -> None:
        """Wait until all requests to memory and registers are taken."""
        for driver in (self.host, *self.outside):
            await driver.drained()

    def write(self, address: int, image: np.ndarray) -> None:
        """Queue writes of bytes from an address on, a multiple of 32."""
        rows = np.pad(image, (0, -len(image) % BANK_BYTES)).reshape(-1, BANK_BYTES)
        for number, row in enumerate(rows):
            value = int.from_bytes(row.tobytes(), "little")
            self.ask(address + BANK_BYTES * number, {"writes": 1, "data": value, "mask": ALL_BYTES})

    def ask(self, address: int, fields: Mapping[str, int]) -> None:
        """Queue a request for a bank's word."""
        module, place = divmod(address, module_bytes(self.memory))
        number, odd = divmod(place // BANK_BYTES, 2)
        pair, word = divmod(number, self.memory.words)
        where = {"odd": odd, "word": word, "pair": pair}
        self.outside[module].send_bits(pack(self.layout, where | dict(fields)))

    async def play(self, bundles: Iterable[int], progress: Callable[[int], None] | None = None) -> None:
        """Issue bundles, and wait until they are done."""
        for bundle in bundles:
            self.bundles.send_bits(bundle)
        await self.bundles.drained()
        await FallingEdge(self.dut.clk)
        assert not resolved(self.dut.busy), "something is still in flight behind the last bundle"
        await RisingEdge(self.dut.clk)

    def check_accepted(self) -> None:
        """Raise AssertionError if the tile has refused an operation."""
        fault, number = Fault(resolved(self.dut.fault)), resolved(self.dut.fault_number)
        assert fault is Fault.NONE, f"the tile refuses an operation of bundle {number}, counted from 0: {fault.name}"

    async def registers(self, requests: Iterable[int]) -> list[int]:
        """Return the answers to requests for registers."""
        self.values.clear()
        requests = list(requests)
        for request in requests:
            self.host.send_bits(request)
        while len(self.values) < len(requests):
            await RisingEdge(self.dut.clk)
        return list(self.values)

    async def image(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Return the bytes of memory from a multiple of 32 to another one, or all of them."""
        end = memory_bytes(self.memory) if stop is None else stop
        addresses = range(start, end, BANK_BYTES)
        for words in self.words:
            words.clear()
        for address in addresses:
            self.ask(address, {})
        while sum(map(len, self.words)) < len(addresses):
            await RisingEdge(self.dut.clk)
        found = b"".join(word.to_bytes(BANK_BYTES, "little") for words in self.words for word in words)
        return np.frombuffer(found, np.uint8)
