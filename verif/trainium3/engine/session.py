"""Shared parts of the tensor engine's benches: a session with PSUM, and the random bits of a tile."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.arrays.codec import decode_array, encode_array
from bitpath.golden.formats.catalogue import E2M1, E4M3FN, FP32
from bitpath.golden.formats.dot import DotNumerics
from bitpath.golden.trainium3.declarations.quad_mx import SCALE_PARTITIONS, AccumulateFlag
from bitpath.golden.trainium3.matmul.nc_matmul_mx import as_fp8
from bitpath.rtl.trainium3.engine.instruction import EngineConfig
from bitpath.verif.kit.engine_host import source_of
from bitpath.verif.kit.player import EnginePlayer, Segment
from bitpath.verif.kit.unit_bench import Bench, Shown, pauses, resolved
from bitpath.verif.kit.values import code_text
from bitpath.verif.trainium3.dot.quad_mx import chain_shown, column_cases
from bitpath.verif.trainium3.engine.lowering import PlacedMatmul, read_address
from bitpath.verif.trainium3.engine.programs import PassModel

# Plays segments on a tensor engine inside the simulator, and reads and writes its PSUM.


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
            scoreboard.compare(int(got[index, column]), int(value), f"bank {bank}, index {index}, column {column}")


def matmul_shown(numerics: DotNumerics, matmul: PlacedMatmul, before: int, m: int, n: int, _: str) -> Shown:
    """The last step of the dot product [m, n] of a matmul, and the code that PSUM held before it."""
    sides = []
    for name, place in (("stationary", m), ("moving", n)):
        elements, scale = getattr(matmul, name), getattr(matmul, f"{name}_scale")
        codes, fmt = as_fp8(numerics, name, elements[:, place])
        sides.append((codes, fmt, scale[:, place].repeat(SCALE_PARTITIONS)))
    flag = AccumulateFlag(matmul.psum_accumulate_flag)
    where = f"m = {m}, n = {n}, flag {flag.name or 0}{', BF16' * matmul.bf16}{', stochastic' * matmul.stochastic}"
    return chain_shown(numerics, column_cases(*sides), {"output": where, "present": code_text(FP32, before)})


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
