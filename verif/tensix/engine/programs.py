"""Random products for the bench of the Tensix engine: single ones, and programs with dependent products."""

from itertools import product as combinations
from random import Random

import numpy as np

from bitpath.golden.tensix.declarations.formats import Style
from bitpath.rtl.tensix.engine.command import TensixEngineConfig
from bitpath.verif.tensix.engine.model import SIDES, Move, Product, Store, store_words
from bitpath.verif.tensix.engine.stores import AS_IT_IS, PACKINGS, with_numbers
from bitpath.verif.tensix.engine.tiles import CONVERSIONS, Tile, random_tile
from bitpath.verif.tensix.matrix.banks import ALL_MOVES, Banks
from bitpath.verif.tensix.pack.pack import Packing
from bitpath.verif.tensix.unpack.unpack import Conversion

LARGEST_STORE = 64
"""Result memory words of the largest tile."""
HELD = 32
"""Products with random moves of the banks."""
WIDTHS = {style: (True,) if style is Style.INT8 else (False, True) for style in Style}
"""Widths of Dst, as `dst32`."""
KINDS = {
    "BF16": (Style.BF16, False),
    "FP16": (Style.FP16, False),
    "FP32": (Style.TF32, True),
    "INT32": (Style.INT8, True),
}
"""Style and width of Dst, by contents of Dst."""
RELATIONS = ("same tile, cleared", "same tile, continued", "other tile", "other width")
"""Relation of a product's Dst tile to the previous one, which is being packed; a tile of another width overlaps it."""
KEEPS = {"neither": (False, False), "left": (True, False), "right": (False, True), "both": (True, True)}
FLOAT_STYLES = (Style.BF16, Style.TF32, Style.FP16)


def dst_kind(style: Style, *, dst32: bool) -> str:
    """Return the contents of Dst, by the names of `PACKINGS`."""
    if style is Style.INT8:
        return "INT32"
    if dst32:
        return "FP32"
    return "FP16" if style is Style.FP16 else "BF16"


def as_it_is(style: Style, address: int, *, dst32: bool) -> Store:
    """Return a store that keeps the bits of Dst."""
    return Store(AS_IT_IS[dst_kind(style, dst32=dst32)], address)


def slots(config: TensixEngineConfig) -> range:
    """Return addresses of the result memory at which tiles of any format are disjoint."""
    return range(0, config.result_depth - LARGEST_STORE + 1, LARGEST_STORE)


def any_address(config: TensixEngineConfig, packing: Packing, source: np.random.Generator) -> int:
    """Return a random address with room for a tile."""
    return int(source.integers(0, config.result_depth - store_words(packing) + 1))


def random_conversion(style: Style, source: np.random.Generator) -> Conversion:
    choices = CONVERSIONS[style]
    return choices[source.integers(len(choices))]


def random_operands(style: Style, source: np.random.Generator) -> dict[str, Tile]:
    """Return tiles of random formats of a style, by side."""
    return {side: random_tile(source, random_conversion(style, source)) for side in ("left", "right")}


def program(config: TensixEngineConfig, source: np.random.Generator, rng: Random) -> list[tuple[str, str, Product]]:
    """Yield a product of every relation to the previous Dst tile, for every choice of kept tiles, stored in any format.

    Returns
    -------
    the relation to the previous product, the tiles kept from it, and the product; the first has no predecessor.
    """
    plan = list(combinations(RELATIONS, KEEPS))
    rng.shuffle(plan)
    products: list[Product] = []
    steps = [("", "neither"), *plan]
    # The next product determines which tiles a product keeps.
    keeps = [KEEPS[keep] for _, keep in plan] + [(False, False)]
    for (relation, _), (keep_left, keep_right) in zip(steps, keeps, strict=True):
        before = products[-1] if products else None
        kept = (before.keep_left, before.keep_right) if before else (False, False)
        fields = _style_and_place(before, relation, rng, held=any(kept))
        operands = random_operands(fields["style"], source)
        if before:
            operands = {
                side: getattr(before, side) if held else operands[side]
                for side, held in zip(("left", "right"), kept, strict=True)
            }
        packing = with_numbers(rng.choice(PACKINGS[dst_kind(fields["style"], dst32=fields["dst32"])]), rng)
        store = Store(packing, any_address(config, packing, source))
        products.append(Product(**operands, **fields, keep_left=keep_left, keep_right=keep_right, store=store))
    return [(*step, each) for step, each in zip(steps, products, strict=True)]


def held_program(
    config: TensixEngineConfig, source: np.random.Generator, rng: Random
) -> list[tuple[dict[str, Move], Product]]:
    """Return products of one style with random moves of both sides' banks, and the moves.

    The next product reads a tile that was loaded, or the next load, which goes to the bank behind that of the last one.
    """
    style = rng.choice(FLOAT_STYLES)
    banks = {side: Banks() for side in SIDES}
    tiles: dict[str, list[Tile]] = {side: [] for side in SIDES}
    products = []
    for index in range(HELD):
        fields, moves = {}, {}
        for side, each in banks.items():
            if each.fill == len(tiles[side]):
                tiles[side].append(random_tile(source, random_conversion(style, source)))
            fields[side] = tiles[side][each.fill]
            moves[side] = rng.choice([move for move in ALL_MOVES if each.after(*move).fill <= len(tiles[side])])
            each.move(*moves[side])
            fields[f"move_{side}"] = moves[side]
        store = Store(AS_IT_IS["FP32"], slots(config)[index % len(slots(config))])
        dst_tile, clear = index % 8, rng.getrandbits(1) == 1
        products.append((moves, Product(**fields, style=style, dst_tile=dst_tile, clear=clear, store=store)))
    return products


def _style_and_place(before: Product | None, relation: str, rng: Random, *, held: bool) -> dict:
    """Return style and Dst tile of a product in a program; a kept tile keeps the style."""
    style = rng.choice(FLOAT_STYLES) if before is None or not held else before.style
    if before is None:
        return {"style": style, "dst32": True, "dst_tile": 0, "clear": True}
    dst32, tile = before.dst32, before.dst_tile
    if relation == "same tile, continued" and not dst32:
        style = before.style
    if relation == "other tile":
        tile ^= rng.choice((1, 2, 4))
    if relation == "other width":
        dst32, tile = (False, 2 * tile + rng.getrandbits(1)) if dst32 else (True, tile // 2)
    return {"style": style, "dst32": dst32, "dst_tile": tile, "clear": relation != "same tile, continued"}
