"""Random products for the bench of the Tensix engine: single ones, and programs with dependent products."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product as combinations
from random import Random

import numpy as np

from bitpath.golden import tensix
from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.tensix.convert.formats import INTEGERS
from bitpath.golden.tensix.convert.unpack import L1_BYTES
from bitpath.golden.tensix.declarations.formats import EXPONENT5_FORMATS, FACE, TILE, Fidelity, Format, Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.matmul.matmul import Program, to_tiles
from bitpath.rtl.tensix.engine.command import TensixEngineConfig
from bitpath.rtl.tensix.unpack.layouts import EXPONENT_BITS
from bitpath.verif.kit.coverage import Coverage, cross
from bitpath.verif.kit.engine_host import source_of
from bitpath.verif.kit.streams import resolved
from bitpath.verif.tensix.engine.lowering import (
    BEGIN,
    DRAIN,
    PaceOfProducts,
    load_cycles,
    lower,
    memory_words,
    product_cycles,
    result_words,
)
from bitpath.verif.tensix.engine.model import (
    CONVERSIONS,
    FLOATS,
    SIDES,
    Move,
    Product,
    Store,
    Tile,
    random_tile,
    store_words,
)
from bitpath.verif.tensix.engine.session import Session
from bitpath.verif.tensix.matrix.model import ALL_MOVES, Banks
from bitpath.verif.tensix.pack.pack import ALL_PACKINGS, COMBINATIONS, Packing
from bitpath.verif.tensix.unpack.unpack import Conversion

# A small set of ways to store a Dst tile that covers every format and flag, for benches around the packer.


THRESHOLD_EXPONENTS = range(-2, 7)
"""Exponents of thresholds, near the sums of 32 products near 1."""
THRESHOLD_BITS = 15
"""Width of a ReLU threshold, which is not negative."""


def _holds(packing: Packing, *, dst32: bool, five: bool, integer: bool) -> bool:
    mid = packing.mid_format
    in_32_bits = (packing.dst32, mid in (Format.INT32, Format.INT8)) == (dst32, integer)
    return in_32_bits and (dst32 or (mid in EXPONENT5_FORMATS) == five)


def _by_kind(packings: Iterable[Packing]) -> dict[str, tuple[Packing, ...]]:
    packings = tuple(packings)
    return {
        kind: tuple(each for each in packings if _holds(each, dst32=dst32, five=five, integer=integer))
        for kind, (dst32, five, integer) in {
            "BF16": (False, False, False),
            "FP16": (False, True, False),
            "FP32": (True, False, False),
            "INT32": (True, False, True),
        }.items()
    }


PACKINGS = _by_kind(ALL_PACKINGS)
"""Every combination that golden accepts, by contents of Dst."""
RARER = _by_kind(
    each.packing
    for each in COMBINATIONS
    if each.packing.edge_minus_infinity or each.packing.round_10b or each.packing.descale_shift
)
"""Combinations with a step that few stores use, by contents of Dst."""
AS_IT_IS = {kind: Packing(Format[kind], Format[kind], kind.endswith("32"), raw=True) for kind in PACKINGS}
"""Packing that keeps the bits of Dst, by contents of Dst."""


def packing_bins(packing: Packing) -> list[str]:
    """Return the coverage bins of a packing."""
    early = f"{'raw' if packing.raw else 'rounded'} {packing.mid_format.name}"
    bins = [f"to {packing.out_format.name}", early, f"relu {packing.relu}"]
    for has, name in (
        (packing.unsigned, "unsigned"),
        (packing.accumulate, f"onto {packing.out_format.name}"),
        (packing.edge_minus_infinity, f"{early}, minus infinity where masked"),
        (packing.round_10b, f"{early}, to 10 bits"),
        (packing.descale_shift, f"divided by 2**{packing.descale_shift}"),
    ):
        bins += [name] if has else []
    return bins


def every_bin(packings: Iterable[Packing]) -> list[str]:
    """Return the bins of all packings."""
    return list(dict.fromkeys(name for packing in packings for name in packing_bins(packing)))


def covering(packings: Sequence[Packing], rng: Random) -> Iterable[Packing]:
    """Return packings in random order, each with at least one new bin, until all bins are hit."""
    missing = set(every_bin(packings))
    for packing in rng.sample(packings, len(packings)):
        if missing & set(packing_bins(packing)):
            missing -= set(packing_bins(packing))
            yield packing


def with_numbers(packing: Packing, rng: Random) -> Packing:
    """Return the packing with the thresholds and the shift that its steps need; an exponent threshold only sometimes."""
    if packing.mid_format in INTEGERS:
        shifts = packing.mid_format is Format.INT8 and not packing.raw
        return replace(packing, descale_shift=rng.randrange(8)) if shifts else packing
    bias, fraction_bits = (15, 10) if packing.mid_format in EXPONENT5_FORMATS else (127, 7)
    exponents = [bias + rng.choice(THRESHOLD_EXPONENTS) for _ in range(2)]
    threshold = exponents[0] << fraction_bits | rng.getrandbits(fraction_bits) if packing.relu > 1 else 0
    return replace(packing, relu_threshold=threshold, exponent_threshold=rng.choice((0, exponents[1])))


def with_any_numbers(packing: Packing, rng: Random) -> Packing:
    """Return the packing; floats get random thresholds."""
    if packing.mid_format in INTEGERS:
        return packing
    threshold = rng.getrandbits(THRESHOLD_BITS) if packing.relu > 1 else 0
    return replace(packing, relu_threshold=threshold, exponent_threshold=rng.getrandbits(EXPONENT_BITS))


# Operand tiles with special products: of any magnitude, cancelling to a unit, powers of two, at the ends of INT32.


BF16_TILE = Conversion(Format.BF16, Format.BF16)
FARTHEST = {True: 20, False: 115}
"""Largest exponent offset for 5-bit or 8-bit exponents; two together pass either end of the range."""
SPREAD = 8
"""Exponent range of cancelling operands, to either side of 1.0."""
FIRST_FIELD = 6
"""Fraction bits of SrcB in the first fidelity phase."""
DEEPEST = 30
"""Distance below the leading bit of a sum at which a remainder is discarded."""
UNITS, NOTHINGS = 12, 2
"""Rows with a remainder of one unit, and rows with a discarded one."""
UNIT = 23
"""Weight of a unit of a sum."""
SECOND_GROUP = FACE // 2
"""First product of the second group, so that a remainder does not share the exponent of cancelling products."""


def moved_operands(conversions: dict[str, Conversion], source: np.random.Generator) -> dict[str, Tile]:
    """Return tiles by side, with each row of the left one and each column of the right one scaled by its own power of two.

    Block floats scale 16 columns alike: by the smallest or the largest power.
    """
    tiles = {}
    for side, conversion in conversions.items():
        farthest = FARTHEST[conversion.l1_format in EXPONENT5_FORMATS]
        moved = source.permutation(np.linspace(-farthest, farthest, TILE).round().astype(np.int64))
        moved[[0, FACE]] = source.permutation([-farthest, farthest])
        by_side = np.repeat(
            moved[:, np.newaxis] if side == "left" else moved[np.newaxis], TILE, axis=int(side == "left")
        )
        tiles[side] = random_tile(source, conversion, to_tiles(by_side)[0, 0], rare=0)
    return tiles


def powers_of_two(conversion: Conversion, source: np.random.Generator) -> Tile:
    """Return a tile of powers of two near 1, which have no bits in fidelity phases after the first."""
    fmt = FLOATS[conversion.l1_format]
    shape = (TILE, TILE)
    signs = source.integers(0, 2, shape) << fmt.width - 1
    exponents = fmt.bias + source.integers(-SPREAD // 2, SPREAD // 2, shape)
    return _tile(conversion, signs | exponents << fmt.fraction_bits)


def cancelling(source: np.random.Generator) -> list[dict[str, Tile]]:
    """Return the operands of two consecutive products, by side: the second cancels the first up to a remainder.

    Many remainders are one unit of the sum, and some are discarded; they have either sign.
    """
    shape = (TILE, 1)
    exponents = BF16.bias + source.integers(-SPREAD, SPREAD + 1, shape)
    fractions = source.integers(0, 1 << FIRST_FIELD, shape) << BF16.fraction_bits - FIRST_FIELD
    signs, rest_signs = (source.integers(0, 2, shape) << BF16.width - 1 for _ in range(2))
    depths = source.integers(0, DEEPEST, shape)
    depths[:UNITS], depths[UNITS : UNITS + NOTHINGS] = UNIT, DEEPEST
    depths = source.permutation(depths)
    first, second, right = (np.zeros((TILE, TILE), np.int64) for _ in range(3))
    first[:, :1] = signs | exponents << BF16.fraction_bits | fractions
    second[:, :1] = first[:, :1] ^ BF16.sign_mask
    second[:, SECOND_GROUP : SECOND_GROUP + 1] = rest_signs | exponents - depths << BF16.fraction_bits
    powers = BF16.bias + source.integers(-SPREAD, SPREAD + 1, TILE) << BF16.fraction_bits
    right[0] = right[SECOND_GROUP] = powers
    return [{"left": _tile(BF16_TILE, left), "right": _tile(BF16_TILE, right)} for left in (first, second)]


def infinite(signs: np.ndarray) -> dict[str, Tile]:
    """Return operands of infinities with these signs, [32] of 0 or 1 for the rows."""
    largest = BF16.infinity_code - 1
    left = np.repeat(signs[:, np.newaxis] << BF16.width - 1 | largest, TILE, axis=1)
    return {"left": _tile(BF16_TILE, left), "right": _tile(BF16_TILE, np.full((TILE, TILE), largest))}


def largest_integers(signs: np.ndarray) -> dict[str, Tile]:
    """Return operands of the largest products of INT8 with these signs, [32] of 0 or 1 for the rows."""
    left = np.repeat(signs[:, np.newaxis] << 7 | 0x7F, TILE, axis=1)
    return {
        "left": _tile(Conversion(Format.INT8, Format.INT8), left),
        "right": _tile(Conversion(Format.INT8, Format.INT8, unsigned=True), np.full((TILE, TILE), 0xFF)),
    }


def _tile(conversion: Conversion, codes: np.ndarray) -> Tile:
    """Return the tile of a matrix of codes in its format, [32, 32]."""
    return Tile(conversion, to_tiles(codes).astype(f"<u{L1_BYTES[conversion.l1_format]}").reshape(-1).view(np.uint8))


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


# Products of chosen numbers for the bench of the Tensix engine, in chains into one tile of Dst, with their bins.


DST_TILES = 8
"""Number of Dst tiles in either width."""
PHASES = 10
"""Number of largest integer products that take the word of infinity to the end of INT32."""
INT32_ENDS = {"largest": 0x7FFFFFFF, "smallest": 0xFFFFFFFF}
"""Limits of INT32 in sign and magnitude."""
DST_WIDTHS = (False, True)


@dataclass(frozen=True)
class Chains:
    """Chains of one kind: consecutive products into one tile of Dst.

    Attributes
    ----------
    bins : bins that the chains hit together.
    products : in order, none stored; the first of a chain clears its tile of Dst.
    hits : the bins of a product, from its Dst words before (ignored if it clears them) and after.
    """

    bins: list[str]
    products: Callable[[np.random.Generator], Iterator[Product]]
    hits: Callable[[Product, np.ndarray | None, np.ndarray], Iterator[tuple[object, ...]]]


def _moved(source: np.random.Generator) -> Iterator[Product]:
    """Two products into one tile, for each width and style."""
    for style in FLOAT_STYLES:
        for dst32 in DST_WIDTHS:
            first, second = (
                moved_operands({side: random_conversion(style, source) for side in ("left", "right")}, source)
                for _ in range(2)
            )
            opened = _first(source, first, style, dst32)
            yield opened
            yield replace(opened, **second, clear=False)


def _sizes(product: Product, _: np.ndarray | None, words: np.ndarray) -> Iterator[tuple[object, ...]]:
    """Bins of sums at either end of a format; FP16 products are far from the ends of FP32, and block exponents wrap."""
    if product.style is Style.FP16 and product.dst32:
        return
    ends = {"zero": 0, "largest": (FP32 if product.dst32 else BF16).infinity_code}
    if product.fp16:
        ends = {"largest": FP16.sign_mask - 1}
    mask = (FP32 if product.dst32 else BF16).sign_mask - 1
    for name, end in ends.items():
        if (words & mask == end).any():
            yield product.style.value, product.dst32, name


def _cancelled(source: np.random.Generator) -> Iterator[Product]:
    for style in (Style.BF16, Style.TF32):
        for dst32 in DST_WIDTHS:
            first, second = cancelling(source)
            opened = _first(source, first, style, dst32)
            yield opened
            yield replace(opened, **second, clear=False)


def _rests(product: Product, before: np.ndarray | None, words: np.ndarray) -> Iterator[tuple[object, ...]]:
    """Bins of remainders: zero, discarded, and -1 unit, which becomes a value above all addends."""
    if product.clear:
        return
    fraction_bits = (FP32 if product.dst32 else BF16).fraction_bits
    was, is_now = (each >> fraction_bits & FP32.exponent_mask for each in (before, words))
    for rest, found in (("nothing", words == 0), ("less", (words != 0) & (is_now < was)), ("more", is_now > was)):
        if found.any() and (rest != "more" or product.dst32):
            yield product.style.value, product.dst32, rest


def _powers(source: np.random.Generator) -> Iterator[Product]:
    for style in FLOAT_STYLES:
        conversion = Conversion(Format.FP16, Format.FP16) if style is Style.FP16 else BF16_TILE
        for dst32 in DST_WIDTHS:
            first, second = ({side: powers_of_two(conversion, source) for side in ("left", "right")} for _ in range(2))
            opened = replace(_first(source, first, style, dst32), fidelity=Fidelity.HIFI4)
            yield opened
            yield replace(opened, **second, clear=False)


def _styles(product: Product, *_: np.ndarray | None) -> Iterator[tuple[object, ...]]:
    yield product.style.value, product.dst32


def _integers(source: np.random.Generator) -> Iterator[Product]:
    """Integers onto words of floats and floats onto words of integers; onto infinities up to the end of INT32."""
    sides = dict.fromkeys(("left", "right"), BF16_TILE)
    signs = source.permutation(np.arange(TILE) % 2)
    for opening, follows, count in (
        (moved_operands(sides, source), random_operands(Style.INT8, source), 2),
        (infinite(signs), largest_integers(signs), PHASES),
        (infinite(signs), largest_integers(1 - signs), 2),
    ):
        opened = _first(source, opening, Style.BF16, True)
        continued = replace(opened, **follows, style=Style.INT8, fidelity=Fidelity.HIFI4, clear=False)
        yield opened
        for step in range(count):
            kept = step < count - 1
            yield replace(continued, keep_left=kept, keep_right=kept)
        yield replace(opened, **moved_operands(sides, source), clear=False)


def _ends(product: Product, _: np.ndarray | None, words: np.ndarray) -> Iterator[tuple[object, ...]]:
    if not product.clear:
        yield "onto words of the other kind", product.style.value
    if product.style is Style.INT8:
        for name, end in INT32_ENDS.items():
            if (words == end).any():
                yield "at the end", name


def _first(source: np.random.Generator, sides: dict, style: Style, dst32: bool) -> Product:
    """Return a chain's first product, in any fidelity, into any tile of Dst."""
    fidelity = list(Fidelity)[source.integers(len(Fidelity))]
    return Product(**sides, style=style, dst32=dst32, dst_tile=int(source.integers(DST_TILES)), fidelity=fidelity)


CHAINS = {
    "magnitudes": Chains(
        [*cross(("BF16", "TF32"), DST_WIDTHS, ("zero", "largest")), *cross(("FP16",), (False,), ("largest",))],
        _moved,
        _sizes,
    ),
    "cancelling": Chains(
        [*cross(("BF16", "TF32"), DST_WIDTHS, ("nothing", "less")), *cross(("BF16", "TF32"), (True,), ("more",))],
        _cancelled,
        _rests,
    ),
    "powers": Chains(cross((style.value for style in FLOAT_STYLES), DST_WIDTHS), _powers, _styles),
    "integers": Chains(
        [*cross(("onto words of the other kind",), ("BF16", "INT8")), *cross(("at the end",), INT32_ENDS)],
        _integers,
        _ends,
    ),
}


# Timed runs for the bench of the Tensix engine, and whole matmuls compared with golden.


PACED = 4
"""Number of products in a timed run."""
BY_L1_FORMAT = [(style, each) for style in Style for each in CONVERSIONS[style] if style is not Style.TF32]
"""Style and conversion of every L1 format that goes to a source."""
L1_FORMATS = list(dict.fromkeys(each.l1_format.name for _, each in BY_L1_FORMAT))

MATMULS = {
    "tf32": (Fidelity.HIFI2, True, (40, 150, 33)),
    "bfp8": (Fidelity.LOFI, True, (33, 520, 20)),
    "int8": (Fidelity.HIFI4, True, (20, 64, 140)),
    "fp16": (Fidelity.HIFI3, False, (33, 96, 70)),
}
"""Fidelity, width of Dst, and M, K, N: only K is a multiple of 32."""


def random_matmul(fmt: str, numerics: TensixNumerics) -> Program:
    """Return the program of random matrices of `MATMULS`."""
    fidelity, dst32, (m, k, n) = MATMULS[fmt]
    source = source_of("matrices")
    a, b = (source.standard_normal(shape, dtype=np.float32) for shape in ((m, k), (k, n)))
    if fmt == "int8":
        a, b = (np.clip(matrix * 40, -127, 127).astype(np.int32) for matrix in (a, b))
    return tensix.matmul_program(a, b, format=fmt, fidelity=fidelity, dst32=dst32, numerics=numerics)


def blocked_matmul(numerics: TensixNumerics) -> Program:
    """Return the program of random matrices in blocks of 2x2 output tiles, whose results are packed to BF16."""
    source = source_of("matrices")
    a, b = (source.standard_normal((64, 64), dtype=np.float32) for _ in range(2))
    packing = tensix.Packing(result=Format.BF16)
    return tensix.matmul_program(a, b, format="bfp4", fidelity="LoFi", numerics=numerics, block=(2, 2), packing=packing)


async def paced_products(session: Session, conversion: Conversion, fidelity: Fidelity) -> None:
    """Run products of every kind of `PaceOfProducts` and assert their cycles."""
    source, config = source_of("operands"), session.config
    cycles = PaceOfProducts(config.unit.passes, fidelity, conversion.l1_format, Format.BF16)
    for case in cycles.cases(PACED):
        products = []
        for index in range(PACED):
            stored = case.stores == "all" or (case.stores == "last" and index == PACED - 1)
            products.append(
                Product(
                    left=random_tile(source, conversion),
                    right=random_tile(source, conversion),
                    style=Style.BF16,
                    fidelity=fidelity,
                    dst32=False,
                    dst_tile=index % 2 * case.alternates,
                    clear=case.clears or index == 0,
                    store=as_it_is(Style.BF16, slots(config)[0], dst32=False) if stored else None,
                )
            )
        busy = await _busy(session, *products)
        assert busy == case.cycles, f"{PACED} products, {case}: busy for {busy} cycles"
    await session.compare()


async def timed_loads(session: Session, coverage: Coverage) -> None:
    """Load a tile of every L1 format beside one of another format, then alone, and assert the cycles of both."""
    source, config = source_of("operands"), session.config
    computes = product_cycles(config.unit.passes, Fidelity.LOFI)
    for style, conversion in BY_L1_FORMAT:
        other = CONVERSIONS[style][source.integers(len(CONVERSIONS[style]))]
        left, *right = (random_tile(source, each) for each in (other, conversion, conversion, conversion))
        # The left tile is kept, so that the second product waits for one load.
        both = Product(left=left, right=right[0], style=style, keep_left=True)
        alone = replace(both, right=right[1], clear=False)
        for name, each, formats in (
            ("two", both, (other.l1_format, conversion.l1_format)),
            ("alone", alone, (conversion.l1_format,)),
        ):
            busy = await _busy(session, each)
            expected = BEGIN + load_cycles(*formats) + computes + DRAIN
            assert busy == expected, f"{name}, {conversion.bin} beside {other.bin}: {busy} cycles, not {expected}"
            coverage.hit(name, conversion.l1_format.name)
        store = as_it_is(style, slots(config)[0], dst32=True)
        await session.queue(replace(alone, right=right[2], keep_left=False, store=store))
        await session.flush()


async def _busy(session: Session, *products: Product) -> int:
    """Run products; return the cycles for which they keep the engine busy."""
    before = resolved(session.dut.busy_cycles)
    for each in products:
        await session.queue(each)
    await session.player.play([session.take_segment()])
    return resolved(session.dut.busy_cycles) - before


async def compare_matmul(session: Session, program: Program) -> int:
    """Run a program and compare its stored tiles with golden's; return the number of segments."""
    config = session.config
    numerics = config.unit.numerics
    tiles = tensix.packed_tiles(program, tensix.run_program(program, numerics=numerics))
    segments = list(lower(config, program))
    async for row, column, got in session.player.output_tiles(segments, result_words(program)):
        image = tiles[row, column].view(np.uint8).reshape(-1)
        for place, (right, real) in enumerate(zip(memory_words(image), memory_words(got), strict=True)):
            session.board.compare(real, right, f"tile {row}, {column}, word {place}")
    return len(segments)
