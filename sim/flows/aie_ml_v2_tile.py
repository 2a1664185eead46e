"""Two layers on AIE-ML v2's tile, the second one's A being what came out of the first: operands in banked memory, a schedule of
bundles, SRS or the conversion to MX9 on the way out.

Golden's `Tile` and the RTL tile play the same schedule. All of memory, all registers, cycles, stalls and products must be equal;
the result is compared with one that golden computes from single operations too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bitpath.golden.aie_ml_v2.convert.integers import srs
from bitpath.golden.aie_ml_v2.convert.mx import from_mx, to_mx
from bitpath.golden.aie_ml_v2.declarations.codes import MX9, RoundingCode, Saturation
from bitpath.golden.aie_ml_v2.declarations.modes import INTEGER_MODES, MX9_MODE, Mode
from bitpath.golden.aie_ml_v2.declarations.tile import BANK_BYTES, BANK_WORDS, LINE_BYTES, MODULE_PAIRS, MODULES
from bitpath.golden.aie_ml_v2.matmul.matmul import matmul
from bitpath.golden.aie_ml_v2.operands.layout import MxBlocks
from bitpath.golden.aie_ml_v2.tile.layers import Layer, integer_layer, mx9_layer, write_bytes
from bitpath.golden.aie_ml_v2.tile.operation import Registers
from bitpath.golden.aie_ml_v2.tile.tile import Tile
from bitpath.golden.arrays.arguments import one_of, suggestion
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.core.config import AieTileConfig
from bitpath.rtl.aie_ml_v2.tile.data_memory import DataMemoryConfig
from bitpath.rtl.aie_ml_v2.vector.config import NativeMacConfig
from bitpath.rtl.aie_ml_v2.vector.native_shapes import NativeShape
from bitpath.sim.flows import operands as matrices
from bitpath.sim.flows.staged import StagedRun
from bitpath.verif.aie_ml_v2.core.encoding import encoded_all, register_values, register_writes
from bitpath.verif.aie_ml_v2.core.host import TileProgram, memory_bytes
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.values import Word

FORMATS = ("int8", "mx9")
"""Formats that run by default."""
KINDS = {
    "int8": ("int8", False, NativeShape.INT8_8X8X8),
    "int8_sparse": ("int8", True, NativeShape.INT8_8X16X8T),
    "int16": ("int16_64", False, NativeShape.INT16_64_4X4X8),
    "int16_sparse": ("int16_64", True, NativeShape.INT16_64_4X8X8T),
}
"""Mode of the integer formats, whether B is pruned to two of four neighbours along K, and the native product."""
ALL_FORMATS = (*KINDS, "mx9")
SIZES: tuple[str, ...] = ()
SLICES: Mapping[str, str] = {"icarus": "16x32x32"}
WHOLE = "64x128x64"
"""M, K and N of the first layer: the second one has K and N of its N. Operands and result take half a pair of banks at most."""
UNIT = "aie_tile"
STORED: dict[str, Any] = {"rounding": RoundingCode.CONV_EVEN, "saturate": Saturation.SATURATE}
"""Rounding and saturation of the stores."""


def _tile(modules: int, *products: NativeShape) -> AieTileConfig:
    """Return a tile with the machine's registers."""
    return AieTileConfig(
        multiply=NativeMacConfig(products=products),
        pairs=6,
        accumulators=8,
        memory=DataMemoryConfig(modules=modules, pairs=MODULE_PAIRS, words=BANK_WORDS, bank_bytes=BANK_BYTES),
    )


MACHINE = _tile(MODULES, *(product for _, _, product in KINDS.values()))
"""All formats, and all of the memory."""


@dataclass(frozen=True, kw_only=True)
class TileUnits:
    """The unit that runs a layer."""

    aie_tile: AieTileConfig = MACHINE


def engine_for(simulator: str) -> TileUnits:
    """The tile that a simulator runs; one for a slow simulator has the formats that run by default and one module of memory."""
    return TileUnits() if simulator == "verilator" else TileUnits(aie_tile=_tile(1, NativeShape.INT8_8X8X8))


def operands(wanted: str | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A [M, K], B [K, N] and the second layer's B [N, N]: the real layer's input, and two parts of its weight."""
    x, weight = matrices.layer()
    m, k, n = matrices.extents(wanted or WHOLE, (x.shape[0], x.shape[1], weight.shape[1] // 2), "MxKxN", WHOLE)
    a, b, c = (np.ascontiguousarray(part) for part in (x[:m, :k], weight[:k, :n], weight[:n, n : 2 * n]))
    return a, b, c


class Run(StagedRun):
    """Two layers; a format has its `_Arithmetic`.

    Attributes
    ----------
    layers : names of the layers, in their order.
    """

    machine, flow, before = "aie_ml_v2", "tile", "in stages"
    units = (UNIT,)
    benches: ClassVar[Mapping[str, str]] = {UNIT: "bitpath.verif.runs.tb_aie_ml_v2"}
    layers: Sequence[str] = ("first layer", "second layer")

    def __init__(
        self, a: np.ndarray, b: np.ndarray, c: np.ndarray, format_name: str, engine: TileUnits, simulator: str
    ):
        super().__init__(format_name, engine, simulator)
        if format_name not in ALL_FORMATS:
            raise ValueError(
                f"format of tile must be {one_of(ALL_FORMATS)}, not {format_name!r}{suggestion(format_name, ALL_FORMATS)}"
            )
        self.tensors = a, b, c
        if format_name == "mx9":
            self.arithmetic: Any = Blocks(*self.tensors)
            return
        mode, sparse, product = KINDS[format_name]
        if product not in engine.aie_tile.multiply.products:
            raise ValueError(f"format {format_name} of tile runs on verilator alone, not on {simulator}")
        self.arithmetic = _Integers(*self.tensors, mode, sparse)

    def reference(self) -> np.ndarray:
        a, b, c = (each.astype(np.float64) for each in self.tensors)
        return a @ b @ c

    def values(self, rtl: np.ndarray) -> np.ndarray:
        return self.arithmetic.values(rtl)

    def shown(self, *place: int) -> Shown:
        return Shown(
            operands={"place": f"row {place[0]}, column {place[1]} of the {self.layers[-1]}"},
            formats={"": self.arithmetic.shown},
        )

    def compute(self, play: Any) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        made: Any = None
        cycles = macs = 0
        stalls = {"banks": 0, "bundles": 0}
        rows = []
        config = self.engine.aie_tile
        for number, name in enumerate(self.layers):
            layer = self.arithmetic.layer(number, made)
            left = play(UNIT, program_of(config, layer))
            golden = golden_run(config, layer)
            counted = int(left["cycles"])
            self.stage(name, rtl_run(left), golden, int(golden[-1][0]))
            address, size = layer.result
            made = layer.decode(left["memory"][address : address + size])
            cycles, macs = cycles + counted, macs + layer.macs
            stalls = {cause: stalls[cause] + int(left[f"{cause}_stalls"]) for cause in stalls}
            rows.append({"layer": name, "cycles": counted, "MAC/cycle": round(layer.macs / counted, 1)})
        figures = {
            "macs": macs,
            "cycles": cycles,
            "mac_per_cycle": round(macs / cycles, 1),
            "peak_mac_per_cycle": float(self.arithmetic.peak),
            "stalls": stalls,
            "layers": rows,
        }
        return self.arithmetic.codes(made), self.arithmetic.codes(self.arithmetic.expected()), figures


def program_of(config: AieTileConfig, layer: Layer) -> TileProgram:
    """Return the program of a layer for the RTL tile."""
    registers = Registers()
    for name, value in layer.registers.items():
        registers.write(name, value)
    return TileProgram(
        bundles=encoded_all(layer.bundles),
        writes=list(register_writes(config, registers)),
        images=dict(layer.images),
    )


def golden_run(config: AieTileConfig, layer: Layer, conflicts: str = "raise") -> list[np.ndarray]:
    """Return what golden's tile leaves: all of memory, uint8; all registers, eight words each; cycles, stalls for banks, products."""
    tile = Tile(conflicts=conflicts, exposed=True)
    for name, value in layer.registers.items():
        tile.registers.write(name, value)
    for address, image in layer.images.items():
        write_bytes(tile.memory, address, image)
    report = tile.run(layer.bundles)
    memory = np.concatenate(
        [tile.memory.load(at, LINE_BYTES) for at in range(0, memory_bytes(config.memory), LINE_BYTES)]
    )
    counts = [report.cycles, report.stalls["banks"], report.products]
    return [memory, _words(register_values(config, tile.registers).values()), np.array(counts, np.int64)]


def rtl_run(left: Mapping[str, Any]) -> list[np.ndarray]:
    """Return the same arrays from the results of the RTL's bench."""
    counts = [int(left[name]) for name in ("cycles", "banks_stalls", "products")]
    return [left["memory"], _words(left["registers"]), np.array(counts, np.int64)]


def _words(values: Any) -> np.ndarray:
    """Return registers as 64-bit words, eight for each."""
    return np.frombuffer(b"".join(int(value).to_bytes(64, "little") for value in values), np.uint64)


class _Integers:
    """Layers of integers: A and B scaled to their bits, and shifts that bring the sums back into them."""

    def __init__(self, a: np.ndarray, b: np.ndarray, c: np.ndarray, mode: str, sparse: bool):
        self.mode: Mode = INTEGER_MODES[mode]
        self.sparse = sparse
        weights = [_pruned(each) if sparse else each for each in (b, c)]
        bits = self.mode.a_bits
        (self.a, scale), *scaled = (matrices.quantised(each, bits) for each in (a, *weights))
        self.weights = [weight for weight, _ in scaled]
        self.results, self.shifts, made = [], [], self.a
        self.scale = scale
        for weight, own in scaled:
            total = matmul(made, weight, format=mode, sparse=sparse)
            shift = max(0, int(np.abs(total).max()).bit_length() - (bits - 1))
            made = srs(total, shift, acc_bits=self.mode.lane_bits, out_bits=bits, **STORED).astype(np.int64)
            self.shifts.append(shift)
            self.results.append(made)
            self.scale *= own * 2.0**shift
        self.shown = Word(bits)

    @property
    def peak(self) -> int:
        return self.mode.macs_per_cycle * (1 + self.sparse)

    def layer(self, number: int, made: np.ndarray | None) -> Layer:
        """Return a layer; its A is ``made`` but for the first one."""
        left = self.a if made is None else made
        return integer_layer(
            left, self.weights[number], mode=self.mode.name, shift=self.shifts[number], sparse=self.sparse, **STORED
        )

    def expected(self) -> np.ndarray:
        """Return the result of single operations."""
        return self.results[-1]

    def codes(self, made: np.ndarray) -> np.ndarray:
        return made.astype(f"i{self.mode.a_bits // 8}")

    def values(self, codes: np.ndarray) -> np.ndarray:
        return codes * self.scale


class Blocks:
    """Comparison of layers of MX9."""

    shown = FP32
    peak = MX9_MODE.macs_per_cycle

    def __init__(self, a: np.ndarray, b: np.ndarray, c: np.ndarray):
        self.a, self.weights = a, (b, c)

    def layer(self, number: int, made: MxBlocks | None) -> Layer:
        """Return a layer; its A is ``made`` but for the first one."""
        return mx9_layer(self.a if made is None else made, self.weights[number])

    def expected(self) -> MxBlocks:
        """Return the result of single operations."""
        made: Any = self.a
        for weight in self.weights:
            blocks = to_mx(matmul(made, weight, format=MX9.name), MX9)
            made = from_mx(blocks)
        return blocks

    def codes(self, made: MxBlocks) -> np.ndarray:
        return from_mx(made)

    def values(self, codes: np.ndarray) -> np.ndarray:
        return codes.astype(np.float64)


def _pruned(matrix: np.ndarray) -> np.ndarray:
    """Return a matrix with the smaller two of four neighbours along K set to 0."""
    groups = matrix.reshape(-1, 4, matrix.shape[1])
    order = np.argsort(np.abs(groups), axis=1, kind="stable").argsort(axis=1)
    return np.where(order >= 2, groups, 0).reshape(matrix.shape)
