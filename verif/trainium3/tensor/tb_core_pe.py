"""Bench of TensorE's processing element: tiles of each mode, sums at boundaries, every mode behind every other, stalls, resets.

A program has the inputs of every cycle; the exact tier computes the outputs before the first one.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random

from bitpath.golden.formats.catalogue import FP32, Rounding
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.rounding import floor_log2
from bitpath.rtl.trainium3.tensor.config import CorePeConfig
from bitpath.rtl.trainium3.tensor.core_pe import CorePe, Mode
from bitpath.verif.common.dot.directed_corners import BOUNDARIES
from bitpath.verif.common.fp32.numbers import exact_code
from bitpath.verif.kit.unit_bench import UnitBench, cases, covers, cross, pauses
from bitpath.verif.kit.values import near_floats
from bitpath.verif.trainium3.dot.multiply_add import boundary_corners
from bitpath.verif.trainium3.dot.pe_player import STALLS, Cycle, PePlayer
from bitpath.verif.trainium3.tensor.core_pe import Maker, Tile, Word, mode_pairs

BENCH = UnitBench(CorePe, CorePeConfig, ms=100)
CONFIG = BENCH.config
PE = BENCH.unit
CASES = cases(300)
PRODUCT_DISTANCES = range(2, 2 * FP32.precision)
"""From the unit down to the last bit of a product of two FP32 numbers."""
MODES = [mode for mode in Mode if CONFIG.sparse or mode is not Mode.SPARSE]


def side(word: Word, name: str) -> int:
    return word.held if name == "stationary" else word.moving


def step(held: Word, work: Word) -> tuple[int | None, str | None]:
    """A word's result, if the stationary word is its own."""
    return (work.result, work.shown) if held.held == work.held else (None, None)


PLAYER = PePlayer(PE, CONFIG.pipeline.stages, side, step)


def program(tiles: list[Tile]) -> list[Cycle]:
    """Each tile is loaded while the one before multiplies, and swapped in with its last word."""
    rng, first = pauses.rng("loads"), tiles[0].words[0]
    cycles = [Cycle(True, True, first, first)]
    for tile, following in zip(tiles, [*tiles[1:], tiles[0]], strict=True):
        begin = rng.randrange(len(tile.words))
        before = tile.words[-1].mode
        for place, word in enumerate(tile.words):
            last = place == len(tile.words) - 1
            change = f"{before.name}/{following.words[0].mode.name}" if last else None
            cycles.append(Cycle(place >= begin, last, following.words[0], word, change))
    return cycles + [Cycle(False, False, first, first)] * PLAYER.latency


@covers(
    "core_pe.modes",
    "One PE serves all formats, with two datapaths",
    "Words of MX, double row, one element, FP32 in four, two and one pass, sparse and transpose mode against the "
    "exact tier; specials, subnormals, cancellations; unused bits of a word have any value",
)
@covers(
    "core_pe.tiles",
    "The stationary word is held twice",
    "Each stationary word is loaded during the multiplication before and swapped in with its last word; operands "
    "leave east after a cycle",
)
@covers(
    "core_pe.advance",
    "A stall holds the whole array",
    "Without advance every output and the sum of passes hold, whatever the inputs do",
)
@BENCH.test(
    "core_pe.passes",
    "The first pass begins the sum, whatever the register holds",
    "A step of FP32 that ends before its last pass adds nothing to the next one",
    mode=[mode.name for mode in MODES],
    stall=["none", "scattered"],
)
async def tiles_of_a_mode(frame, mode, stall):
    rng = pauses.rng("tiles")
    maker, tiles, words = Maker(CONFIG, rng), [], 0
    while words < CASES:
        tiles.append(maker.tile(Mode[mode], rng.randint(1, 6)))
        words += len(tiles[-1].words)
    await PLAYER.play(frame, program(tiles), STALLS[stall](), [f"{mode}/{mode}"])


def _mx(maker: Maker) -> Iterator[Tile]:
    for make in BOUNDARIES:
        for corner in make(maker.config.dot, maker.rng):
            assert corner.hits(corner.case.trace(maker.config.dot))
            yield maker.mx_tile(corner.case)


def _narrow(maker: Maker) -> Iterator[Tile]:
    for corner in boundary_corners(maker.rng):
        assert corner.hits()
        yield maker.narrow_tile(corner.case)


def _fused(maker: Maker) -> Iterator[Tile]:
    rng = maker.rng
    for each in near_floats(FP32, rng, PRODUCT_DISTANCES, Rounding.RNE):
        addend, lower = each.value - each.boundary.lower, exact_code(each.boundary.lower)
        if (pair := _factors(addend, rng)) is None:
            continue
        x, y = (exact_code(factor) for factor in pair)
        assert decode(FP32, x).value * decode(FP32, y).value + decode(FP32, lower).value == each.value
        sign = rng.getrandbits(1) * FP32.sign_mask
        yield maker.fused_tile(x ^ sign, y, lower ^ sign)


def _factors(value: Fraction, rng: Random) -> tuple[Fraction, Fraction] | None:
    """Two normal FP32 numbers with this product: a power of two and the rest, or ``2**k - 1`` or ``2**k + 1`` and the rest."""
    low = floor_log2(Fraction(value.numerator & -value.numerator, value.denominator))
    odd = int(value / Fraction(2) ** low)
    candidates = [1, *((1 << k) + step for k in range(2, FP32.precision) for step in (-1, 1))]
    limit = 1 << FP32.precision
    fitting = [each for each in candidates if odd % each == 0 and odd // each < limit]
    if not fitting:
        return None
    first = rng.choice(fitting)
    return first * Fraction(2) ** (low // 2), odd // first * Fraction(2) ** (low - low // 2)


TILES: dict[Mode, Callable[[Maker], Iterator[Tile]]] = {Mode.MX: _mx, Mode.NARROW: _narrow, Mode.FUSED: _fused}
"""Makers of the tiles of each mode that sums and rounds in its own way."""


@BENCH.test(
    "core_pe.boundaries",
    "A sticky bit lost at one end of the range shows only where a far term breaks a tie there",
    mode=[mode.name for mode in TILES],
)
async def boundaries_of_sums(frame, mode):
    """Sums of the MX, narrow and fused modes at the ends of FP32's range and at ties, and one sticky bit beside them at
    every distance that products have."""
    tiles = list(TILES[Mode[mode]](Maker(CONFIG, pauses.rng("tiles"))))
    await PLAYER.play(frame, program(tiles), STALLS["none"](), [f"{mode}/{mode}"])


@covers("core_pe.changes", "Results of both datapaths and of transpose mode take the same number of cycles")
@covers("core_pe.tiles")
@BENCH.test("core_pe.advance", stall=list(STALLS))
async def every_mode_behind_every_other(frame, stall):
    """Every mode behind every other without a bubble."""
    rng = pauses.rng("tiles")
    maker = Maker(CONFIG, rng)
    assert set(maker.modes) == set(MODES)
    tiles = [maker.tile(mode, rng.randint(1, 3)) for mode in mode_pairs(MODES)]
    names = [mode.name for mode in MODES]
    await PLAYER.play(frame, program(tiles), STALLS[stall](), cross(names, names))


@BENCH.test("core_pe.reset", "A swap that survives the reset would change the next tile's operands")
async def resets(frame):
    """A reset during a swap ends the swap."""
    maker = Maker(CONFIG, pauses.rng("case"))
    await PLAYER.resets(frame, maker.tile(Mode.MX, 1).words[0])
