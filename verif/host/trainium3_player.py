"""Plays segments on a tensor engine inside the simulator, and reads and writes its PSUM."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge, Timer

from bitpath.golden.codec import decode_array, encode_array
from bitpath.golden.spec.formats import E2M1, E4M3FN
from bitpath.rtl.trainium3.config import EngineConfig
from bitpath.verif.host.trainium3_lowering import Segment, read_address
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import PERIOD_NS, Bench
from bitpath.verif.kit.streams import resolved

POLL_CYCLES = 256
"""Between looks at ``busy``: Python must not be woken every cycle of a long multiplication."""


def exact_map() -> dict[str, object]:
    """The FP4 map that keeps every E2M1 number: fields of a MapTable."""
    codes = encode_array(E4M3FN, decode_array(E2M1, np.arange(1 << E2M1.width, dtype=np.uint8)))
    return {"codes": [int(code) for code in codes], "code_format": 0}


class EnginePlayer:
    """The host's side of a bench of the tensor engine.

    Parameters
    ----------
    frame : the running bench.
    gaps, stalls : of the instructions, and of the answers from PSUM.
    """

    def __init__(
        self,
        frame: Bench,
        config: EngineConfig,
        *,
        gaps: Iterator[bool] | None = None,
        stalls: Iterator[bool] | None = None,
    ):
        self.dut, self.config = frame.dut, config
        self._write = frame.driver("write")
        self._table = frame.driver("table")
        self._instruction = frame.driver("instruction", gaps)
        self._host = frame.driver("host")
        self._answers: list[int] = []
        self._monitor = frame.monitor("data", self._answers.append, stalls or pauses.never())
        self._monitor.hold()

    async def set_map(self, table: dict[str, object]) -> None:
        """Set the FP4 map."""
        self._table.send(table)
        await self._settle(lambda: not self._table.pending)

    async def play(self, segments: Iterable[Segment], progress: Callable[[int], None] | None = None) -> None:
        """Run the segments; ``progress`` is called now and then with the multiplications completed since reset."""
        for segment in segments:
            for write in segment.writes:
                self._write.send_bits(write)
            await self._settle(lambda: not self._write.pending)
            for instruction in segment.instructions:
                self._instruction.send_bits(instruction)
            while self._instruction.pending or resolved(self.dut.busy):
                await Timer(POLL_CYCLES * PERIOD_NS, unit="ns")
                await FallingEdge(self.dut.clk)
                if progress is not None:
                    progress(resolved(self.dut.retired))
            await RisingEdge(self.dut.clk)

    async def read(self, places: Iterable[int]) -> np.ndarray:
        """PSUM words, uint32 [places, cols]."""
        self._answers.clear()
        self._monitor.release()
        places = list(places)
        for place in places:
            self._host.send({"address": read_address(self.config, place), "write": 0})
        await self._settle(lambda: len(self._answers) == len(places))
        self._monitor.hold()
        data = b"".join(word.to_bytes(4 * self.config.array.cols, "little") for word in self._answers)
        return np.frombuffer(data, "<u4").reshape(len(places), -1)

    async def write(self, place: int, words: np.ndarray) -> None:
        """Store words, uint32 [places, cols], from a PSUM place on."""
        for offset, values in enumerate(words):
            address = read_address(self.config, place + offset)
            self._host.send({"address": address, "write": 1, "values": [int(value) for value in values]})
        await self._settle(lambda: not self._host.pending)

    async def _settle(self, done: Callable[[], bool]) -> None:
        while not done():
            await RisingEdge(self.dut.clk)
