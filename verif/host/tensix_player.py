"""Plays segments on a Tensix engine inside the simulator, and reads its result memory."""

from collections.abc import Iterator

import numpy as np

from bitpath.rtl.tensix.command import WORD_BYTES
from bitpath.verif.host.player import EnginePlayer
from bitpath.verif.kit.bench import Bench


class TensixPlayer(EnginePlayer):
    """The host's side of a bench of the Tensix engine; ``gaps`` and ``stalls`` are those of `EnginePlayer`."""

    def __init__(self, frame: Bench, *, gaps: Iterator[bool] | None = None, stalls: Iterator[bool] | None = None):
        super().__init__(frame, commands="command", reads="read", gaps=gaps, stalls=stalls)

    async def read(self, address: int, words: int) -> np.ndarray:
        """Bytes of the result memory, uint8 [words * 64]."""
        answers = await self.ask(range(address, address + words))
        return np.frombuffer(b"".join(word.to_bytes(WORD_BYTES, "little") for word in answers), np.uint8)
