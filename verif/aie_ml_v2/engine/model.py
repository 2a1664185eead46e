"""Golden model of the engine: commands, and the contents of accumulators and result memory after each."""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from bitpath.golden.aie_ml_v2.convert.integers import integer_dot
from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK, MX_FORMATS, MX_NAN_EXPONENT, MxFormat
from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8, FLOAT16, INT8, INT16, MODES, Mode, Shape
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.mac.fused_dot import fused_dot
from bitpath.golden.aie_ml_v2.operands.layout import MxBlocks
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.rtl.aie_ml_v2.engine.command import AieEngineConfig, command_layout
from bitpath.rtl.aie_ml_v2.mac.config import MacMode
from bitpath.verif.aie_ml_v2.mac.mac import MacOptions, chain_shown, lane_cases
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack

# Tiles of X and Y for rows of native products of AIE-ML v2's vector unit, in every format.


Tiles = np.ndarray | MxBlocks
SPECIAL_SHARE = 1 / 64
"""Share of tiles with arbitrary codes or exponents, NaN included; the other numbers are near 1, so sums are informative."""
EDGE_SHARE = 1 / 16
"""Share of zeros and infinities in such tiles of floats, which would rarely meet otherwise."""


@dataclass(frozen=True, kw_only=True)
class RowKind:
    """Formats of the operands of a row of products.

    Attributes
    ----------
    name : name in tests.
    mode : its row of Table 7.
    formats : formats of X and Y, for floats.
    mx : format of both operands, for blocks.
    signed : True for each of X and Y with signed integers.
    """

    name: str
    mode: Mode
    formats: tuple[FloatFormat, FloatFormat] | None = None
    mx: MxFormat | None = None
    signed: tuple[bool, bool] = (True, True)

    @property
    def tile(self) -> Shape:
        return self.mode.shapes[0]

    @property
    def format_codes(self) -> tuple[int, int]:
        """Format indices of X and Y within the mode."""
        return tuple(self.mode.formats.index(each) for each in self.formats) if self.formats else (0, 0)


def row_kinds(numerics: AieNumerics) -> list[RowKind]:
    """Return every combination of formats and of signedness."""
    return [
        *(
            RowKind(name=f"{mode.name}_{'us'[x]}{'us'[y]}", mode=mode, signed=(bool(x), bool(y)))
            for mode, x, y in product((INT8, INT16), (0, 1), (0, 1))
        ),
        *(
            RowKind(name=f"{x.name.lower()}_{y.name.lower()}", mode=mode, formats=(x, y))
            for mode in (FLOAT16, FLOAT8)
            for x, y in product(mode.formats, repeat=2)
        ),
        *(
            RowKind(name=name, mode=MODES[numerics.mx4_path.value if name == "mx4" else name], mx=fmt)
            for name, fmt in MX_FORMATS.items()
        ),
    ]


def random_tiles(
    source: np.random.Generator, kind: RowKind, side: int, shape: tuple[int, ...], special: float = SPECIAL_SHARE
) -> Tiles:
    """Return random tiles of X (side 0), [..., m, k], or of Y (side 1), [..., n, k]; blocks are [..., m or n, 1].

    Numbers near 1; a share of the tiles has any code.
    """
    rows = kind.tile.n if side else kind.tile.m
    anything = source.random((*shape, 1, 1)) < special
    if kind.mx:
        return _blocks(source, kind.mx, (*shape, rows, 1), anything)
    whole = (*shape, rows, kind.tile.k)
    if not kind.formats:
        bits = kind.mode.b_bits if side else kind.mode.a_bits
        low, high = (-(1 << bits - 1), 1 << bits - 1) if kind.signed[side] else (0, 1 << bits)
        return source.integers(low, high, whole)
    fmt = kind.formats[side]
    dtype = DTYPES[fmt]
    near = source.standard_normal(whole, dtype=np.float32).astype(dtype)
    code_dtype = np.dtype(f"u{near.itemsize}")
    any_codes = source.integers(0, 1 << fmt.width, whole).astype(code_dtype)
    edges = source.choice((0, fmt.infinity_code or 0), whole).astype(code_dtype)
    any_codes = np.where(source.random(whole) < EDGE_SHARE, edges, any_codes)
    return np.where(anything, any_codes, near.view(code_dtype)).view(dtype)


def _blocks(source: np.random.Generator, fmt: MxFormat, shape: tuple[int, ...], anything: np.ndarray) -> MxBlocks:
    near, exponent = source.integers(122, 132, shape), source.integers(0, MX_NAN_EXPONENT + 1, shape)
    return MxBlocks(
        fmt,
        np.where(anything, exponent, near).astype(np.uint8),
        source.integers(0, 256, shape).astype(np.uint8),
        source.integers(fmt.min_code, fmt.max_code + 1, (*shape, MX_BLOCK)).astype(np.int8),
    )


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
    result = fused_dot(a, b, acc, format=name, negate_products=command.negate, numerics=numerics)
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
