"""Plays segments on a tensor engine inside the simulator, and reads and writes its PSUM."""

from collections.abc import Iterable, Iterator

import numpy as np

from bitpath.golden.arrays.codec import decode_array, encode_array
from bitpath.golden.formats.catalogue import E2M1, E4M3FN
from bitpath.rtl.trainium3.engine.instruction import EngineConfig
from bitpath.verif.kit.bench import Bench
from bitpath.verif.kit.player import EnginePlayer
from bitpath.verif.trainium3.engine.lowering import read_address


def exact_map() -> dict[str, object]:
    """The FP4 map that keeps every E2M1 number: fields of a MapTable."""
    codes = encode_array(E4M3FN, decode_array(E2M1, np.arange(1 << E2M1.width, dtype=np.uint8)))
    return {"codes": [int(code) for code in codes], "code_format": 0}


class TensorEnginePlayer(EnginePlayer):
    """The host's side of a bench of the tensor engine; ``gaps`` and ``stalls`` are those of `EnginePlayer`."""

    def __init__(
        self,
        frame: Bench,
        config: EngineConfig,
        *,
        gaps: Iterator[bool] | None = None,
        stalls: Iterator[bool] | None = None,
    ):
        super().__init__(frame, commands="instruction", reads="host", gaps=gaps, stalls=stalls)
        self.config = config
        self._table = frame.driver("table")

    async def set_map(self, table: dict[str, object]) -> None:
        """Set the FP4 map."""
        self._table.send(table)
        await self.settle(lambda: not self._table.pending)

    async def read(self, places: Iterable[int]) -> np.ndarray:
        """PSUM words, uint32 [places, cols]."""
        answers = await self.ask({"address": read_address(self.config, place), "write": 0} for place in places)
        data = b"".join(word.to_bytes(4 * self.config.array.cols, "little") for word in answers)
        return np.frombuffer(data, "<u4").reshape(len(answers), -1)

    async def write(self, place: int, words: np.ndarray) -> None:
        """Store words, uint32 [places, cols], from a PSUM place on."""
        for offset, values in enumerate(words):
            address = read_address(self.config, place + offset)
            self._reads.send({"address": address, "write": 1, "values": [int(value) for value in values]})
        await self.settle(lambda: not self._reads.pending)
