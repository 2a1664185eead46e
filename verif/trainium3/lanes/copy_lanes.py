"""Rows for the copy lanes, what golden makes of them, and the driver of both input streams."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random

import numpy as np
from cocotb.triggers import FallingEdge

from bitpath.golden.trainium3 import engine_cycles, tensor_copy
from bitpath.golden.trainium3.declarations.dtypes import container_bits
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.rtl.trainium3.lanes.copy_lanes import WORD_BYTES, CopyCommand, CopyConfig, CopyWord, Engine, Stride
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import Bench
from bitpath.verif.kit.coverage import cross
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.streams import resolved
from bitpath.verif.trainium3.dma.dma_cast import PAIRS, any_codes
from bitpath.verif.trainium3.dtype_words import array_of, codes_of, destination

MOST = 65_536
"""Elements of the longest row."""
BINS = (
    *(f"pair/{source}_{result}" for source, result in PAIRS),
    *(
        f"width/{engine.name}/{width}"
        for engine in Engine
        for width in (1, 2, 4)
        if (engine, width) != (Engine.SCALAR, 4)
    ),
    *cross(("tail",), (f"{width} of 8 bytes" for width in range(1, 9))),
)


@dataclass(frozen=True)
class Row:
    """A copy: codes of the source's dtype, the names of both dtypes, and where they lie."""

    codes: np.ndarray = field(repr=False)
    pair: tuple[str, str]
    engine: Engine = Engine.VECTOR
    psum: bool = False
    stride: Stride = Stride.NONE
    indirect: bool = False
    expected: np.ndarray | None = field(default=None, repr=False)

    @property
    def command(self) -> int:
        mode = {name: getattr(self, name) for name in ("engine", "psum", "stride", "indirect")}
        mode["pair"] = {"source": Dtype[self.pair[0].upper()], "destination": Dtype[self.pair[1].upper()]}
        return pack(CopyCommand, {"mode": mode, "rest": len(self.codes) - 1})

    @property
    def words(self) -> list[int]:
        """The source in words, zeros behind the last element."""
        return [int.from_bytes(word, "little") for word in words_of(self.codes, self.pair[0])]

    @property
    def results(self) -> list[int]:
        """The words that must come."""
        result = self.expected
        if result is None:
            source, to = (destination(name) for name in self.pair)
            tile = array_of(self.codes, self.pair[0])[np.newaxis]
            name = "tf32" if source == "tf32" else None
            result = codes_of(tensor_copy(tile, to, engine=self.engine.name.lower(), source=name))[0]
        words = words_of(result, self.pair[1])
        return [
            pack(
                CopyWord,
                {
                    "data": int.from_bytes(word, "little"),
                    "mask": (1 << len(word)) - 1,
                    "last": place + 1 == len(words),
                },
            )
            for place, word in enumerate(words)
        ]

    def engine_cycles(self, count: int) -> int:
        """Golden's cycles of a row by its number of elements."""
        place = "psum" if self.psum else "sbuf"
        sizes = [container_bits(name) // 8 for name in self.pair]
        strides = {Stride.NONE: sizes, Stride.SHORT: [16, sizes[1]], Stride.LONG: [sizes[0], -20]}[self.stride]
        dtypes = [destination(name) for name in self.pair]
        return engine_cycles(
            self.engine.name.lower(), "tensor_copy", count, dtypes, ("sbuf", place), strides, indirect=self.indirect
        )

    @property
    def width(self) -> int:
        """Elements a cycle, from golden's cycles of a long row."""
        return MOST // self.engine_cycles(MOST)

    def cycles(self, config: CopyConfig) -> int:
        """Cycles from the row's command to the next one's."""
        return max(config.interval, -(-len(self.codes) // self.width))


def words_of(codes: np.ndarray, name: str) -> list[bytes]:
    """Codes of a dtype as words; the last may be short."""
    data = codes.astype(f"<u{container_bits(name) // 8}").tobytes()
    return [data[place : place + WORD_BYTES] for place in range(0, len(data), WORD_BYTES)]


def any_row(rng: Random, most: int, pair: tuple[str, str] | None = None) -> Row:
    """A row of up to `most` elements in any mode; a third in the fastest one."""
    pair = pair or rng.choice(PAIRS)
    codes = any_codes(rng, pair[0], rng.randint(1, most))
    engine = rng.choice(list(Engine))
    if rng.random() < 1 / 3:
        return Row(codes, pair, engine)
    return Row(codes, pair, engine, rng.random() < 0.3, rng.choice(list(Stride)), rng.random() < 0.2)


def every_mode() -> Iterator[Row]:
    """A row of one element for each mode."""
    for pair, engine, psum, stride, indirect in product(PAIRS, Engine, (False, True), Stride, (False, True)):
        yield Row(np.zeros(1, np.int64), pair, engine, psum, stride, indirect)


def bins_of(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield "pair/{}_{}".format(*row.pair)
        yield f"width/{row.engine.name}/{row.width}"
        size = container_bits(row.pair[1]) // 8
        yield f"tail/{(len(row.codes) * size - 1) % WORD_BYTES + 1} of 8 bytes"


class Lanes:
    """Both inputs and the output of the lanes; `send` sends a row and expects its words.

    Parameters
    ----------
    frame : of the test.
    gap, stall : shares of cycles in which commands and words are held back, and in which the output is not ready.
    """

    def __init__(self, frame: Bench, gap: float = 0.0, stall: float = 0.0):
        self.frame, self.dut = frame, frame.dut
        self._commands = frame.driver("command", pauses.scattered(gap, pauses.rng("command gaps")))
        self._words = frame.driver("i", pauses.scattered(gap, pauses.rng("word gaps")))
        self._board = frame.check_stream("o", stalls=pauses.scattered(stall, pauses.rng("stalls")))
        self.taken: list[int] = []
        """Cycles in which the commands were taken."""
        frame.start("observer", self._observe())

    def send(self, row: Row) -> None:
        self._commands.send_bits(row.command)
        for word in row.words:
            self._words.send_bits(word)
        for place, word in enumerate(row.results):
            self._board.expect(word, f"word {place} of {row}")

    def refuse(self, command: int) -> None:
        """Send a command that no words belong to."""
        self._commands.send_bits(command)

    async def _observe(self) -> None:
        while True:
            await FallingEdge(self.dut.clk)
            if resolved(self.dut.command__valid) and resolved(self.dut.command__ready):
                self.taken.append(self.frame.elapsed)

    async def all_taken(self) -> None:
        await self._commands.drained()
