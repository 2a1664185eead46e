"""Session with the engine: sends commands, reads the result memory, and compares it with the model."""

from collections.abc import Iterator
from itertools import product
from itertools import product as combinations
from random import Random
from typing import Any

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.modes import INT8
from bitpath.rtl.aie_ml_v2.engine.aie_engine import AieMemory, host_write_layout
from bitpath.rtl.aie_ml_v2.engine.command import AieEngineConfig, command_layout
from bitpath.rtl.aie_ml_v2.faults import Fault
from bitpath.rtl.aie_ml_v2.mac.config import LANE_BITS, MacMode
from bitpath.rtl.aie_ml_v2.vector.vector_mac import word_bits
from bitpath.verif.aie_ml_v2.engine.lowering import x_words, y_words
from bitpath.verif.aie_ml_v2.engine.model import (
    SPECIAL_SHARE,
    EngineModel,
    RowCommand,
    RowKind,
    command_bits,
    random_tiles,
    register_words,
    row_kinds,
    tile_words,
)
from bitpath.verif.kit.engine_host import EngineSession, FirstFault
from bitpath.verif.kit.packing import image_words, write_payloads
from bitpath.verif.kit.player import Segment
from bitpath.verif.kit.unit_bench import Bench, pack

# Commands that the engine refuses: why, by golden's formats and sizes, and every code of the fields that have illegal ones.


Fields = dict[str, Any]
CODES = 8
"""Codes of a mode and of a format."""


def fault_of(config: AieEngineConfig, fields: Fields) -> Fault:
    """Return why a command with these fields is refused."""
    kind = kinds(config).get(fields["store"]["mode"])
    if kind is None:
        return Fault.OPERATION
    formats = kind.mode.formats
    if formats and max(fields["x_format"], fields["y_format"]) >= len(formats):
        return Fault.FORMAT
    end = fields["store"]["address"] + (fields["store"]["last_tile"] + 1) * tile_words(config, kind)
    return Fault.RANGE if fields["stores"] and end > config.result_depth else Fault.NONE


def kinds(config: AieEngineConfig) -> dict[int, RowKind]:
    """Return a kind of operands of each mode, by its code."""
    return {MacMode.of(each.mode).value: each for each in row_kinds(config.unit.numerics)}


def random_fields(config: AieEngineConfig, rng: Random) -> Fields:
    """Return a command with any bits in all fields."""
    layout = command_layout(config)
    fields: Fields = {name: rng.getrandbits(field.width) for name, field in layout if name != "store"}
    store = layout["store"].shape
    return fields | {"store": {name: rng.getrandbits(field.width) for name, field in store}}


def every_code(config: AieEngineConfig, rng: Random) -> Iterator[Fields]:
    """Yield every code of the mode with every code of both formats."""
    for mode, x_format, y_format in product(range(CODES), repeat=3):
        fields = random_fields(config, rng)
        fields["store"]["mode"] = mode
        yield fields | {"x_format": x_format, "y_format": y_format}


def every_end(config: AieEngineConfig, rng: Random) -> Iterator[Fields]:
    """Yield stores of every number of tiles in every mode that end a word before, at, and a word behind the memory's end."""
    for (mode, kind), last_tile, beyond in product(kinds(config).items(), range(config.unit.accumulators), (-1, 0, 1)):
        fields = random_fields(config, rng) | {"x_format": 0, "y_format": 0, "stores": 1}
        address = config.result_depth - (last_tile + 1) * tile_words(config, kind) + beyond
        if 0 <= address < config.result_depth:
            yield fields | {"store": {"mode": mode, "accumulator": 0, "last_tile": last_tile, "address": address}}


# Commands for the engine's bench: single ones, and programs in which each command depends on the one before.


RELATIONS = ("the same accumulators", "some of them", "others")
"""Overlap of a command's accumulators with the previous command's, which are being stored."""
STARTS = ("cleared", "continued")
ENDS = ("stored", "left")


def random_command(
    kind: RowKind,
    source: np.random.Generator,
    *,
    steps: int,
    tiles: int,
    special: float = SPECIAL_SHARE,
    **fields: object,
) -> RowCommand:
    """Return a command on random tiles; some tiles have arbitrary codes."""
    x, y = (random_tiles(source, kind, side, shape, special) for side, shape in enumerate(((steps,), (steps, tiles))))
    return RowCommand(kind=kind, x=x, y=y, **fields)


def any_address(config: AieEngineConfig, kind: RowKind, tiles: int, source: np.random.Generator) -> int:
    """Return a random word address with room for ``tiles`` tiles."""
    return int(source.integers(0, config.result_depth - tiles * tile_words(config, kind) + 1))


def program(
    config: AieEngineConfig, source: np.random.Generator, rng: Random
) -> Iterator[tuple[tuple[str, str, str], RowCommand]]:
    """Yield every overlap with the previous accumulators, cleared or not, stored or not, in changing formats, with its bin."""
    plan = list(combinations(RELATIONS, STARTS, ENDS))
    rng.shuffle(plan)
    kinds = row_kinds(config.unit.numerics)
    half = config.unit.accumulators // 2
    accumulator, tiles = rng.randrange(2 * half), half
    for relation, start, end in plan:
        kind = rng.choice(kinds)
        if relation == "some of them":
            accumulator += rng.randrange(1, tiles) if tiles > 1 else 0
        elif relation == "others":
            accumulator += half
        accumulator %= 2 * half
        tiles = rng.randint(2, half) if relation != "the same accumulators" else tiles
        address = any_address(config, kind, tiles, source) if end == "stored" else None
        each = random_command(
            kind,
            source,
            steps=rng.choice((1, 1, 2, 3)),
            tiles=tiles,
            accumulator=accumulator,
            negate=rng.random() < 0.3,
            clear=start == "cleared",
            address=address,
        )
        yield (relation, start, end), each


SPARE_WORDS = 4
"""Largest number of unused words of Y between the tiles of two steps, unless tiles are spread."""


class Session(EngineSession):
    """A session with the AIE-ML v2 engine.

    Parameters
    ----------
    spread : tiles begin anywhere in the operand memories, behind whose ends their beginnings follow, and steps of Y lie as
        far apart as there is room.
    """

    def __init__(self, frame: Bench, config: AieEngineConfig, *, spread: bool = False, **how: Any):
        super().__init__(frame, config, **how)
        self.spread = spread
        self._writes = host_write_layout(config)
        self._begin()

    async def preset(self) -> None:
        """Write random numbers near 1 to the accumulators; keep the result memory."""
        await self.begin_on(await self.player.read(0, self.config.result_depth))

    @property
    def products(self) -> int:
        """Native products since reset, including those in the queue."""
        return self.model.products

    def contents(self) -> np.ndarray:
        """Return the expected result memory after all queued commands, uint8."""
        return np.frombuffer(self.model.results.tobytes(), np.uint8)

    async def begin_on(self, results: np.ndarray) -> None:
        """Start with an empty queue, the given result memory, uint8, and random accumulators near 1."""
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

    async def refill(self) -> None:
        """Run the queue, then write arbitrary codes to all accumulators."""
        await self.flush()
        lanes = self._junk.integers(0, 1 << LANE_BITS, self.model.accumulators.shape, dtype=np.uint32)
        self.model.accumulators[:] = lanes
        await self.player.play([Segment(writes=self.accumulator_writes(0, lanes))])

    async def queue(self, command: RowCommand) -> int:
        """Place the tiles, queue the command and return its bits; if the memories are full, run the queue first."""
        config = self.config
        x, y = (
            image.reshape(command.steps, -1, image.shape[-1])
            for image in (x_words(command.x, command.kind.mode), y_words(command.y, command.kind.mode))
        )
        gaps, depth = command.steps - 1, y.shape[1]  # between steps; words of a step
        # A single step ignores the stride.
        room = (config.y_depth - command.steps * depth) // gaps if gaps else config.y_depth - 1
        spare = int(self._junk.integers(0, (room if self.spread else min(SPARE_WORDS, room)) + 1))
        y = np.pad(y, [(0, 0), (0, spare if gaps else 0), (0, 0)], constant_values=0xA5)
        x, y = x.reshape(-1, x.shape[-1]), y.reshape(-1, y.shape[-1])[: command.steps * depth + gaps * spare]
        if self._used_x + len(x) > config.x_depth or self._used_y + len(y) > config.y_depth:
            await self.flush()
        x_address = (self._origin_x + self._used_x) % config.x_depth
        y_address = (self._origin_y + self._used_y) % config.y_depth
        self._write(AieMemory.X, config.x_depth, x_address, x)
        self._write(AieMemory.Y, config.y_depth, y_address, y)
        bits = command_bits(config, command, x_address, y_address, depth + spare, self._junk)
        self._segment.commands.append(bits)
        self._used_x += len(x)
        self._used_y += len(y)
        self.model.execute(command)
        self.faults.taken += 1
        return bits

    def queue_refused(self, fields: Fields) -> Fault:
        """Queue a command that the engine refuses; return its fault."""
        fault = fault_of(self.config, fields)
        self.refuse(fault, pack(command_layout(self.config), fields))
        return fault

    def _write(self, memory: AieMemory, depth: int, address: int, image: np.ndarray) -> None:
        """Write words to a memory, wrapping around its end."""
        words = image_words(image, image.shape[-1])
        for at, part in ((address, words[: depth - address]), (0, words[depth - address :])):
            self._segment.writes += write_payloads(self._writes, memory, at, part)

    def take_segment(self) -> Segment:
        segment = self._segment
        self._begin()
        return segment

    def _begin(self) -> None:
        self._segment = Segment()
        self._used_x = self._used_y = 0
        self._origin_x, self._origin_y = (
            int(self._junk.integers(0, depth)) if self.spread else 0
            for depth in (self.config.x_depth, self.config.y_depth)
        )

    async def flush(self) -> np.ndarray:
        """Run the queue, compare the result memory and return it, uint32 [words, lanes]."""
        return (await super().flush()).view("<u4").reshape(self.config.result_depth, -1)

    def forget(self) -> None:
        """Model a reset: clear the queue and the count of products."""
        self._begin()
        self.model.products = 0
        self.faults = FirstFault()
