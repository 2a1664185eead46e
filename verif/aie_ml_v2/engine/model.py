"""Golden model of the engine: commands, and the contents of accumulators and result memory after each."""

from dataclasses import dataclass, replace

import numpy as np

from bitpath.golden.aie_ml_v2.convert.integers import integer_dot
from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8, INT8
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.mac.fused_dot import fused_dot
from bitpath.golden.aie_ml_v2.operands.layout import MxBlocks
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.engine.command import AieEngineConfig, command_layout
from bitpath.rtl.aie_ml_v2.mac.config import MacMode
from bitpath.verif.aie_ml_v2.engine.rows import RowKind, Tiles
from bitpath.verif.aie_ml_v2.mac.mac import MacOptions, chain_shown, lane_cases
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack


@dataclass(frozen=True, kw_only=True, eq=False)
class RowCommand:
    """One command with its operands.

    Attributes
    ----------
    kind : formats of the operands.
    x : tiles [steps, m, k], or blocks [steps, m, 1].
    y : tiles [steps, tiles, n, k], or blocks [steps, tiles, n, 1].
    accumulator : index of the first accumulator.
    negate, clear : the command's flags.
    address : first result word; None if the command does not store.
    """

    kind: RowKind
    x: Tiles
    y: Tiles
    accumulator: int = 0
    negate: bool = False
    clear: bool = True
    address: int | None = None

    @property
    def steps(self) -> int:
        return self.y.shape[0]

    @property
    def tiles(self) -> int:
        return self.y.shape[1]

    def __str__(self) -> str:
        flags = [name for name in ("negate", "clear") if getattr(self, name)]
        stored = "" if self.address is None else f", stored at {self.address}"
        what = f"{self.kind.name} acc[{self.accumulator}] {self.steps} steps of {self.tiles} tiles"
        return " ".join([what, *flags]) + stored


class EngineModel:
    """Reference model that executes commands in order.

    Parameters
    ----------
    config : the engine's configuration.
    accumulators : contents, uint32 [registers, 64]; changed in place.
    results : contents of the result memory, uint32 [words, lanes]; changed in place.
    """

    def __init__(self, config: AieEngineConfig, accumulators: np.ndarray, results: np.ndarray):
        self.config = config
        self.accumulators, self.results = accumulators, results
        # The command that wrote a word last, the word's place in its result, and the lanes before.
        self._written: dict[int, tuple[RowCommand, int, np.ndarray]] = {}
        self.products = 0

    def execute(self, command: RowCommand) -> None:
        """Execute a command: multiply, and store if it asks to."""
        kind = command.kind
        registers = (command.accumulator + np.arange(command.tiles)) % self.config.unit.accumulators
        before = lanes = self.accumulators[registers, : kind.mode.lanes]
        for step in range(command.steps):
            present = None if command.clear and step == 0 else lanes
            lanes = multiply(command, step, present, self.config.unit.numerics)
        self.accumulators[registers, : kind.mode.lanes] = lanes
        self.products += command.steps * command.tiles
        if command.address is not None:
            words = tile_words(self.config, kind)
            content = self.accumulators[registers, : words * self.config.unit.lanes]
            place = slice(command.address, command.address + command.tiles * words)
            self.results[place] = content.reshape(-1, self.config.unit.lanes)
            self._written |= {at: (command, at - place.start, before) for at in range(place.start, place.stop)}

    def shown(self, address: int, path: str) -> Shown:
        """Return who wrote a word of the result memory, and the last step of the lane that differs."""
        operands = {"word": f"{address} of the result memory"}
        if address not in self._written:
            return Shown(operands=operands | {"written by": "nothing"}, formats={"": FP32})
        command, index, before = self._written[address]
        tile, part = divmod(index, tile_words(self.config, command.kind))
        lane, kind = part * self.config.unit.lanes + int(path or 0), command.kind
        operands["written by"] = f"{command}, tile {tile}, lane {lane}"
        if lane >= kind.mode.lanes:
            return Shown(operands=operands, formats={"": FP32})
        m, n = divmod(lane, kind.tile.n)
        cases = lane_cases(
            MacMode.of(kind.mode),
            command.x[:, m],
            command.y[:, tile, n],
            formats=kind.formats,
            signed=kind.signed,
            options=MacOptions(negate_products=command.negate),
        )
        cases[0] = replace(cases[0], acc1=None if command.clear else int(before[tile, lane]))
        return chain_shown(self.config.unit.numerics, cases, operands)


def multiply(command: RowCommand, step: int, lanes: np.ndarray | None, numerics: AieNumerics) -> np.ndarray:
    """Add one step to the lanes, uint32 [tiles, lanes] or None, and return the new lanes."""
    kind = command.kind
    # MxBlocks take indices as arrays do.
    a, b = command.x[step][np.newaxis, :, np.newaxis], command.y[step][:, np.newaxis]
    shape = (command.tiles, kind.tile.m, kind.tile.n)
    if not (kind.formats or isinstance(a, MxBlocks)):
        acc = None if lanes is None else lanes.view(np.int32).astype(np.int64).reshape(shape)
        signed_a, signed_b = kind.signed
        options = {"signed_a": signed_a, "signed_b": signed_b, "negate_products": command.negate}
        result = integer_dot(a, b, acc, mode=kind.mode.name, **options)
        return result.astype(np.int32).view(np.uint32).reshape(command.tiles, -1)
    name = kind.mx.name if kind.mx else "fp8" if kind.mode is FLOAT8 else "bf16"
    acc = None if lanes is None else lanes.view(np.float32).reshape(shape)
    result = fused_dot(a, b, acc, fmt=name, negate_products=command.negate, numerics=numerics)
    return result.view(np.uint32).reshape(command.tiles, -1)


def tile_words(config: AieEngineConfig, kind: RowKind) -> int:
    """Words of the result memory that an output tile takes."""
    return max(1, kind.mode.lanes // config.unit.lanes)


def register_words(config: AieEngineConfig) -> int:
    """Words of an accumulator register."""
    return INT8.lanes // config.unit.lanes


def command_bits(
    config: AieEngineConfig, command: RowCommand, x: int, y: int, y_stride: int, junk: np.random.Generator
) -> int:
    """Return a command's payload with its operands at these words; ignored bits are random."""
    (x_format, y_format), (x_signed, y_signed) = command.kind.format_codes, command.kind.signed
    if not command.kind.mode.formats:
        x_format, y_format = (int(code) for code in junk.integers(0, 8, 2))
    if not command.kind.mode.a_bits:
        x_signed, y_signed = (int(bit) for bit in junk.integers(0, 2, 2))
    address = int(junk.integers(0, config.result_depth)) if command.address is None else command.address
    return pack(
        command_layout(config),
        {
            "x": x,
            "y": y,
            "y_stride": y_stride % config.y_depth,
            "last_step": command.steps - 1,
            "x_format": x_format,
            "y_format": y_format,
            "x_signed": x_signed,
            "y_signed": y_signed,
            "negate": command.negate,
            "clear": command.clear,
            "stores": command.address is not None,
            "store": {
                "mode": MacMode.of(command.kind.mode),
                "accumulator": command.accumulator,
                "last_tile": command.tiles - 1,
                "address": address,
            },
        },
    )
