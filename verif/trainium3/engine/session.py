"""Shared parts of the tensor engine's benches: a session with PSUM, and the random bits of a tile."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.trainium3.engine.config import EngineConfig
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import Bench
from bitpath.verif.kit.engine_host import source_of
from bitpath.verif.kit.player import Segment
from bitpath.verif.kit.streams import resolved
from bitpath.verif.trainium3.engine.player import TensorEnginePlayer
from bitpath.verif.trainium3.engine.programs import PassModel


async def begin(
    frame: Bench, config: EngineConfig, places: int, *, gap: float = 0.0, wide: bool = False
) -> tuple[TensorEnginePlayer, PassModel]:
    """Fill operand memory, and the first places of each PSUM bank, as the model has them; who plays, and the model."""
    player = TensorEnginePlayer(frame, config, gaps=pauses.scattered(gap, pauses.rng("instruction")))
    model = PassModel(config, source_of("words"), wide=wide)
    await player.play([Segment(writes=model.writes())])
    for bank in range(config.psum_banks):
        await player.write(bank * config.psum_bank_depth, model.psum[bank, :places])
    return player, model


async def compare(frame: Bench, player: TensorEnginePlayer, model: PassModel, places: int) -> None:
    """The first places of each PSUM bank against the model's."""
    scoreboard = frame.scoreboard(f"PSUM {len(frame.scoreboards)}", FP32.width, {"": FP32})
    for bank, words in enumerate(model.psum[:, :places]):
        first = bank * model.config.psum_bank_depth
        got = await player.read(range(first, first + places))
        for (index, column), value in np.ndenumerate(words):
            scoreboard.expect(int(value), f"bank {bank}, index {index}, column {column}")
            scoreboard.got(int(got[index, column]))


class RandomBits:
    """Feeds given vectors of random bits to the tile that a row group leads."""

    def __init__(self, dut: Any, group: int = 0):
        self._clock = dut.clk
        self._payload = getattr(dut, f"random__{group}__payload")
        self._ready = getattr(dut, f"random__{group}__ready")
        self._vectors: list[int] = []

    @property
    def pending(self) -> int:
        """Number of vectors not yet taken."""
        return len(self._vectors)

    def queue(self, words: Iterable[np.ndarray]) -> None:
        """Vectors in the order in which results are written, [cols] each."""
        self._vectors += [int.from_bytes(word.astype("<u2").tobytes(), "little") for word in words]

    async def run(self) -> None:
        """Feed vectors until the test ends."""
        while True:
            self._payload.value = self._vectors[0] if self._vectors else 0
            await FallingEdge(self._clock)
            if resolved(self._ready):
                self._vectors.pop(0)
            await RisingEdge(self._clock)
