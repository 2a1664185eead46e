"""Products of chosen numbers for the bench of the Tensix engine, in chains into one tile of Dst, with their bins."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.tensix.declarations.formats import TILE, Fidelity, Format, Style
from bitpath.verif.kit.coverage import cross
from bitpath.verif.tensix.engine.chosen_tiles import (
    BF16_TILE,
    cancelling,
    infinite,
    largest_integers,
    moved_operands,
    powers_of_two,
)
from bitpath.verif.tensix.engine.model import Product
from bitpath.verif.tensix.engine.programs import FLOAT_STYLES, random_conversion, random_operands
from bitpath.verif.tensix.unpack.unpack import Conversion

DST_TILES = 8
"""Number of Dst tiles in either width."""
PHASES = 10
"""Number of largest integer products that take the word of infinity to the end of INT32."""
INT32_ENDS = {"largest": 0x7FFFFFFF, "smallest": 0xFFFFFFFF}
"""Limits of INT32 in sign and magnitude."""
WIDTHS = (False, True)


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
        for dst32 in WIDTHS:
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
        for dst32 in WIDTHS:
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
        for dst32 in WIDTHS:
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
        [*cross(("BF16", "TF32"), WIDTHS, ("zero", "largest")), *cross(("FP16",), (False,), ("largest",))],
        _moved,
        _sizes,
    ),
    "cancelling": Chains(
        [
            *cross(("BF16", "TF32"), WIDTHS, ("nothing", "less")),
            *cross(("BF16", "TF32"), (True,), ("more",)),
        ],
        _cancelled,
        _rests,
    ),
    "powers": Chains(cross((style.value for style in FLOAT_STYLES), WIDTHS), _powers, _styles),
    "integers": Chains(
        [*cross(("onto words of the other kind",), ("BF16", "INT8")), *cross(("at the end",), INT32_ENDS)],
        _integers,
        _ends,
    ),
}
