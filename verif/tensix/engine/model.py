"""Golden model of the Tensix engine: Dst and the result memory after each command, and the encoding of commands."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bitpath.golden import tensix
from bitpath.golden.formats.catalogue import BF16, FloatFormat
from bitpath.golden.tensix import unpack
from bitpath.golden.tensix.convert.unpack import L1_BYTES
from bitpath.golden.tensix.declarations.formats import (
    BLOCK,
    BLOCK_FLOATS,
    BLOCK_ROWS,
    DST16_ROWS,
    FACE,
    FIDELITY_PHASES,
    TILE,
    Fidelity,
    Format,
    Style,
)
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.tensix.dot.layouts import StyleCode
from bitpath.rtl.tensix.engine.command import TILE_ROWS, WORD_BYTES, TensixEngineConfig, command_layout
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.tensix.dot.numbers import FLOATS, l1_number
from bitpath.verif.tensix.matrix.model import Banks
from bitpath.verif.tensix.pack.pack import ALL_COLUMNS, Packing
from bitpath.verif.tensix.unpack.unpack import ALL_CONVERSIONS, Conversion, join_datums

# Operand tiles in their L1 layout, with numbers whose products add up: most near 1, some zeros, few random.
#
# A result sums 64 datums, and one of extreme magnitude would mask all others.


DATUMS = TILE * TILE
RARE = 0.002
"""Probability of a random datum; of a random block exponent, times the datums of a block."""
ZERO = 0.05
"""Probability of exponent 0, with any fraction."""
SPREAD = 3
"""Range of the other exponents, to either side of 1.0."""
SHIFTS = (0, 0, 0, 0, 3)
"""Right shifts of a tile's integers, so that sums of products have any size."""
REGISTER_FORMATS = {
    Style.BF16: (Format.TF32, Format.BF16, Format.BFP8, Format.BFP4, Format.BFP2, Format.INT16),
    Style.TF32: (Format.TF32, Format.BF16, Format.BFP8, Format.BFP4, Format.BFP2, Format.INT16),
    Style.FP16: (Format.FP16, Format.FP8, Format.BFP8A, Format.BFP4A, Format.BFP2A),
    Style.INT8: (Format.INT8,),
}
"""Formats of the sources, by style."""
CONVERSIONS = {
    style: tuple(each for each in ALL_CONVERSIONS if each.register_format in formats)
    for style, formats in REGISTER_FORMATS.items()
}
"""L1 and register formats of an unpacker, by style."""


@dataclass(frozen=True, eq=False)
class Tile:
    """A tile in L1: exponents for block formats, then 1024 datums, face by face."""

    conversion: Conversion
    image: np.ndarray

    def words(self, numerics: TensixNumerics) -> np.ndarray:
        """Return the unpacked words in SrcA or SrcB, uint32 [64, 16]."""
        each = self.conversion
        words = unpack(
            self.image,
            each.l1_format,
            each.register_format,
            unsigned=each.unsigned,
            count=DATUMS,
            numerics=numerics,
        )
        return words.reshape(-1, FACE)


def random_tile(
    source: np.random.Generator, conversion: Conversion, moved: np.ndarray | int = 0, *, rare: float = RARE
) -> Tile:
    """Return a random tile of an L1 format, with the exponents of floats offset, per datum [64, 16] or for all.

    ``rare`` is the probability of a random datum.
    """
    fmt = conversion.l1_format
    moved = np.broadcast_to(moved, (DATUMS // FACE, FACE))
    if fmt in BLOCK_FLOATS:
        return Tile(conversion, _blocks(source, fmt, moved[:, 0], rare))
    if fmt in FLOATS:
        codes = _floats(source, FLOATS[fmt], moved.ravel(), rare)
    elif fmt is Format.INT16:
        # Opaque: its low byte goes to the exponent field.
        codes = source.integers(0, 1 << 16, DATUMS) & ~0xFF | _exponents(source, BF16, moved.ravel(), rare)
    else:
        codes = _integers(source, unsigned=conversion.unsigned)
    return Tile(conversion, codes.astype(f"<u{L1_BYTES[fmt]}").view(np.uint8))


def _integers(source: np.random.Generator, *, unsigned: bool) -> np.ndarray:
    """Return INT8 datums up to a random limit."""
    bits = 8 if unsigned else 7
    magnitudes = source.integers(0, 1 << bits, DATUMS) >> source.choice(SHIFTS)
    return magnitudes if unsigned else source.integers(0, 2, DATUMS) << 7 | magnitudes


def _exponents(source: np.random.Generator, fmt: FloatFormat, moved: np.ndarray, rare: float) -> np.ndarray:
    near = (fmt.bias + moved + source.integers(-SPREAD, SPREAD + 1, DATUMS)).clip(0, fmt.exponent_mask)
    anything = source.integers(0, 1 << fmt.exponent_bits, DATUMS)
    choice = source.random(DATUMS)
    return np.where(choice < ZERO, 0, np.where(choice > 1 - rare, anything, near))


def _floats(source: np.random.Generator, fmt: FloatFormat, moved: np.ndarray, rare: float) -> np.ndarray:
    signs = source.integers(0, 2, DATUMS) << fmt.width - 1
    return (
        signs
        | _exponents(source, fmt, moved, rare) << fmt.fraction_bits
        | source.integers(0, 1 << fmt.fraction_bits, DATUMS)
    )


def _blocks(source: np.random.Generator, fmt: Format, moved: np.ndarray, rare: float) -> np.ndarray:
    block = BLOCK_FLOATS[fmt]
    blocks = DATUMS // BLOCK
    bias = (1 << block.exponent_bits - 1) - 1
    near = (bias + moved + source.integers(-SPREAD, SPREAD + 1, blocks)).clip(0, (1 << block.exponent_bits) - 1)
    anything = source.integers(0, 1 << block.exponent_bits, blocks)
    exponents = np.where(source.random(blocks) < rare * BLOCK, anything, near).astype(np.uint8)
    datums = source.integers(0, 1 << block.datum_bits, DATUMS)
    # A negative zero counts as 2**128.
    minus_zero = datums == 1 << block.magnitude_bits
    datums = np.where(minus_zero & (source.random(DATUMS) > rare), 0, datums)
    return np.concatenate([exponents, join_datums(block, datums)])


TILES16 = DST16_ROWS // TILE_ROWS
"""Number of 16-bit tiles in Dst; a 32-bit tile takes two."""


@dataclass(frozen=True)
class Store:
    """Packing of a Dst tile, and its first word in the result memory."""

    packing: Packing
    address: int


Move = tuple[bool, bool]
"""Release of a bank, and flip to the other one."""
SIDES = ("left", "right")


@dataclass(frozen=True, kw_only=True, eq=False)
class Product:
    """One command; a side whose bank holds a tile already uses its own for the register format only.

    It hands both banks over, unless it keeps one or ``move_left`` or ``move_right`` says otherwise.
    """

    left: Tile
    right: Tile
    style: Style
    fidelity: Fidelity = Fidelity.LOFI
    dst32: bool = True
    dst_tile: int = 0
    clear: bool = True
    keep_left: bool = False
    keep_right: bool = False
    move_left: Move | None = None
    move_right: Move | None = None
    store: Store | None = None

    def move(self, side: str) -> Move:
        """Return release and flip of a side."""
        kept = getattr(self, f"keep_{side}")
        return getattr(self, f"move_{side}") or (not kept, not kept)

    @property
    def fp16(self) -> bool:
        """True if 16-bit words of Dst are FP16."""
        return self.style is Style.FP16 and not self.dst32

    @property
    def dst16_tiles(self) -> frozenset[int]:
        """Return the 16-bit tiles of Dst that it writes."""
        return frozenset({2 * self.dst_tile, 2 * self.dst_tile + 1} if self.dst32 else {self.dst_tile})

    def __str__(self) -> str:
        formats = f"{self.left.conversion.bin} @ {self.right.conversion.bin}"
        flags = [name for name in ("clear", "keep_left", "keep_right") if getattr(self, name)]
        stored = "" if self.store is None else f", stored at {self.store.address} as {self.store.packing.bin}"
        width = 32 if self.dst32 else 16
        what = " ".join([self.style.value, self.fidelity.value, f"dst{width}[{self.dst_tile}]", *flags])
        return f"{formats} {what}{stored}"


class Source:
    """The tiles in the two banks of one side."""

    def __init__(self) -> None:
        self.banks = Banks()
        self._filled: list[Any] = []

    @property
    def loads(self) -> bool:
        """Return True if the next product loads its tile."""
        return self.banks.fill == len(self._filled)

    @property
    def state(self) -> dict[str, int]:
        """Return the fields of RTL's BANK_STATE."""
        fills = len(self._filled)
        holds = sum(1 << bank for bank, count in enumerate(self.banks.released) if 2 * count + bank < fills)
        return {"holds": holds, "reads": self.banks.bank, "fills": fills % 2}

    def allows(self, release: bool, flip: bool) -> bool:
        """Return True if the next product may move so: the one behind it must read a tile that is loaded, or the next one."""
        return self.banks.after(release, flip).fill <= len(self._filled) + self.loads

    def load(self, words: Any) -> None:
        self._filled.append(words)

    @property
    def words(self) -> Any:
        """Return the tile in the bank of the next product."""
        return self._filled[self.banks.fill]


class EngineModel:
    """Model of the engine that executes products in order.

    Parameters
    ----------
    config : configuration of the engine.
    results : contents of the result memory, uint8; changed in place.
    """

    def __init__(self, config: TensixEngineConfig, results: np.ndarray):
        self.numerics = config.unit.numerics
        self.results = results
        self._written: dict[int, Product] = {}  # last writer of each word of the result memory
        self._dst: dict[tuple[int, bool, bool], np.ndarray] = {}
        self._touched: set[int] = set()
        self._sources = {side: Source() for side in SIDES}

    def execute(self, product: Product) -> None:
        """Multiply, and store if the product stores."""
        words = {}
        for side in SIDES:
            source = self._sources[side]
            if source.loads:
                source.load(getattr(product, side).words(self.numerics))
            words[side] = source.words
            source.banks.move(*product.move(side))
        dst = self._tile(product)
        for each in tensix.tile_instructions(product.fidelity):
            rows = slice(each.dst_row, each.dst_row + BLOCK_ROWS)
            dst[rows] = tensix.mvmul(
                dst[rows],
                words["left"][each.src_b_row : each.src_b_row + BLOCK_ROWS],
                words["right"][each.src_a_row : each.src_a_row + FACE],
                style=product.style,
                dst32=product.dst32,
                phase=each.phase,
                srca_format=product.right.conversion.register_format,
                srcb_format=product.left.conversion.register_format,
                numerics=self.numerics,
            )
        if product.store is not None:
            self._store(product, dst)

    def present(self, product: Product) -> np.ndarray:
        """Return the words of a product's Dst tile, uint32 [64, 16]."""
        return self._dst[product.dst_tile, product.dst32, product.fp16]

    def shown(self, address: int, _: str) -> Shown:
        """Return who wrote a word of the result memory, and the number format of its datums."""
        product = self._written.get(address)
        operands = {"word": f"{address} of the result memory", "written by": str(product or "nothing")}
        if product is None:
            return Shown(operands=operands)
        packing = product.store.packing
        number = l1_number(packing.out_format, unsigned=packing.unsigned)
        return Shown(operands=operands, formats={"": number})

    def _tile(self, product: Product) -> np.ndarray:
        """Return the Dst tile that a product accumulates onto; it must have words of the same width."""
        key = (product.dst_tile, product.dst32, product.fp16)
        if product.clear or key not in self._dst:
            if not product.clear and product.dst16_tiles & self._touched:
                raise ValueError(f"{product} must accumulate onto words of its own width of Dst")
            places = [other for other in self._dst if self._overlaps(other, product)]
            for other in places:
                del self._dst[other]
            self._dst[key] = np.zeros((TILE_ROWS, FACE), np.uint32)
        self._touched |= product.dst16_tiles
        return self._dst[key]

    def _overlaps(self, key: tuple[int, bool, bool], product: Product) -> bool:
        tile, dst32, _ = key
        return bool(({2 * tile, 2 * tile + 1} if dst32 else {tile}) & product.dst16_tiles)

    def _store(self, product: Product, dst: np.ndarray) -> None:
        packing, start = product.store.packing, product.store.address * WORD_BYTES
        data = tensix.pack(
            dst.reshape(-1),
            **packing.arguments,
            edge_mask=ALL_COLUMNS,
            l1=self.results[start:] if packing.accumulate else None,
            numerics=self.numerics,
        )
        self.results[start : start + len(data)] = data
        for word in range(product.store.address, product.store.address + -(-len(data) // WORD_BYTES)):
            self._written[word] = product


def store_words(packing: Packing) -> int:
    """Return the number of result memory words of a tile, exponents included."""
    return packing.row_bytes * TILE_ROWS // WORD_BYTES + (packing.out_format in BLOCK_FLOATS)


def command_bits(
    config: TensixEngineConfig, product: Product, addresses: dict[str, int | None], junk: np.random.Generator
) -> int:
    """Return the payload of a product; as `command_fields`."""
    return pack(command_layout(config), command_fields(config, product, addresses, junk))


def command_fields(
    config: TensixEngineConfig, product: Product, addresses: dict[str, int | None], junk: np.random.Generator
) -> dict[str, Any]:
    """Return the fields of a product with random bits in ignored ones; a side without an address loads none."""
    loads = {side: _load(config, getattr(product, side), addresses[side], junk) for side in ("left", "right")}
    control = {
        name: int(junk.integers(0, 1 << width)) for name, width in (("mid_format", 4), ("out_format", 4), ("relu", 2))
    }
    control["dst32"] = int(product.dst32)
    address = int(junk.integers(0, config.result_depth))
    if product.store is not None:
        packing, address = product.store.packing, product.store.address
        control = {name: int(getattr(packing, name)) for name in Packing.__dataclass_fields__}
    fp16 = int(junk.integers(0, 2)) if product.dst32 else product.fp16
    return {
        **loads,
        **_moves(product),
        "style": StyleCode.of(product.style).value,
        "last_phase": len(FIDELITY_PHASES[product.fidelity]) - 1,
        "clear": product.clear,
        "stores": product.store is not None,
        "store": {"address": address, "control": control, "dst_tile": product.dst_tile, "fp16": fp16},
    }


def _moves(product: Product) -> dict[str, bool]:
    moves = {"a": product.move("right"), "b": product.move("left")}
    return {
        f"{kind}_{side}": move[place] for side, move in moves.items() for place, kind in enumerate(("release", "flip"))
    }


def _load(config: TensixEngineConfig, tile: Tile, address: int | None, junk: np.random.Generator) -> dict:
    conversion = tile.conversion
    if address is None:
        address = int(junk.integers(0, config.operand_depth))
        l1_format, unsigned = int(junk.integers(0, 16)), int(junk.integers(0, 2))
    else:
        l1_format, unsigned = int(conversion.l1_format), int(conversion.unsigned)
    control = {"l1_format": l1_format, "register_format": int(conversion.register_format), "unsigned": unsigned}
    return {"address": address, "control": control}
