"""Plays segments on a Tensix engine inside the simulator, and reads its result memory."""

from collections.abc import Iterator

import numpy as np

from bitpath.rtl.tensix.command import WORD_BYTES
from bitpath.verif.host.player import EnginePlayer, Segment
from bitpath.verif.kit.bench import Bench


class TensixPlayer(EnginePlayer):
    """The host's side of a bench of the Tensix engine; ``gaps`` and ``stalls`` are those of `EnginePlayer`."""

    def __init__(self, frame: Bench, *, gaps: Iterator[bool] | None = None, stalls: Iterator[bool] | None = None):
        super().__init__(frame, commands="command", reads="read", gaps=gaps, stalls=stalls)

    @property
    def waiting_commands(self) -> int:
        """Commands that the engine has not taken."""
        return self._commands.pending

    def send(self, segment: Segment) -> None:
        """Queue a segment's writes and commands side by side, and wait for nothing."""
        for write in segment.writes:
            self._write.send_bits(write)
        for command in segment.commands:
            self._commands.send_bits(command)

    async def read(self, address: int, words: int) -> np.ndarray:
        """Bytes of the result memory, uint8 [words * 64]."""
        answers = await self.ask(range(address, address + words))
        return np.frombuffer(b"".join(word.to_bytes(WORD_BYTES, "little") for word in answers), np.uint8)
