"""Bench of the array of all modes: whole products of each mode, each mode behind each other, tiles, loads' cycles, freezes.

Golden computes the sums below each pass over the rows, and a schedule gives the cycle of each, before anything is driven.
``BITPATH_CASES`` sets the moving words of a product.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np

from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, E2M1, E3M4, E4M3, E4M3FN, E5M2, FP16, FP32, FloatFormat
from bitpath.golden.trainium3 import load_cycles, pack_tags
from bitpath.golden.trainium3.declarations.tensor import PATTERNS
from bitpath.rtl.trainium3.array.systolic_array import Tiling, tile_groups, tilings
from bitpath.verif.kit.unit_bench import cases, covers, pauses
from bitpath.verif.trainium3.array import core_products as make
from bitpath.verif.trainium3.array.core_player import BENCH, COLS, CONFIG, GROUPS, ROWS, Player
from bitpath.verif.trainium3.array.core_products import Schedule

CASES = cases(3)
"""Moving words of a product; transposes have one for each row."""
PACES = {"full_speed": (0.0, 0.0), "gaps": (0.3, 0.0), "both": (0.3, 0.3)}
"""How often control pauses by itself, and how often the whole array is frozen."""
TILINGS = tilings(CONFIG)
Maker = Callable[[np.random.Generator, int], make.Product]
"""Makes a product of K rows; MX has a K of its own."""


def codes(rng: np.random.Generator, fmt: FloatFormat, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers within some binades of 1 and a few special codes, in the dtype of the format."""
    exponent = rng.integers(max(fmt.emin, -5), min(fmt.emax, 5), shape) + fmt.bias
    fraction = rng.integers(0, 1 << fmt.fraction_bits, shape)
    drawn = exponent << fmt.fraction_bits | fraction | rng.integers(0, 2, shape) * fmt.sign_mask
    any_code = rng.integers(0, 1 << fmt.width, shape)
    return np.where(rng.random(shape) < 0.03, any_code, drawn).astype(f"u{DTYPES[fmt].itemsize}").view(DTYPES[fmt])


def pair(build: Callable[..., make.Product], x: FloatFormat, y: FloatFormat, *inner: int) -> Maker:
    return lambda rng, k: build(codes(rng, x, (k, *inner, COLS)), codes(rng, y, (k, *inner, CASES)))


def fused(onezero: int) -> Maker:
    def made(rng: np.random.Generator, k: int) -> make.Product:
        sides = [codes(rng, FP32, (k, free)) for free in (COLS, CASES)]
        for side, bit in zip(sides, (2, 1), strict=True):
            if onezero & bit:
                side[:] = rng.integers(0, 2, side.shape)
        return make.fused(*sides, onezero)

    return made


def quad_mx(x: FloatFormat, y: FloatFormat) -> Maker:
    def made(rng: np.random.Generator, k: int) -> make.Product:
        sides = [codes(rng, fmt, (make.MX_ROWS, free, 4)) for fmt, free in ((x, COLS), (y, CASES))]
        shapes = [(make.MX_ROWS // 8, free) for free in (COLS, CASES)]
        scales = [
            np.where(rng.random(shape) < 0.1, rng.integers(0, 256, shape), rng.integers(120, 134, shape))
            for shape in shapes
        ]
        return make.quad_mx(*sides, *(scale.astype(np.uint8) for scale in scales))

    return made


def transpose(bits: int) -> Maker:
    return lambda rng, k: make.transpose(rng.integers(0, 1 << bits, (k, COLS)).astype(f"u{bits // 8}"))


def sparse(name: str, fmt: FloatFormat) -> Maker:
    def made(rng: np.random.Generator, k: int) -> make.Product:
        pattern = PATTERNS[name]
        words = pack_tags(rng.integers(0, pattern.group, (k, COLS)).astype(np.uint8), name)
        return make.sparse(codes(rng, fmt, (k, COLS)), codes(rng, fmt, (k, pattern.ratio, CASES)), words, name)

    return made


PAIRS = ((BF16, FP16), (FP16, E4M3), (E4M3, E3M4), (E4M3FN, BF16), (E5M2, E4M3FN), (E3M4, E5M2))
DOUBLE_ROWS = ((E4M3, E5M2), (E4M3FN, E4M3FN), (E5M2, E4M3))
QUAD_MX = ((E4M3FN, E5M2), (E2M1, E4M3FN), (E5M2, E2M1))
KINDS: dict[str, Maker] = {
    **{x.name.lower(): pair(make.matmul, x, y) for x, y in PAIRS},
    "tf32": pair(make.tf32, FP32, FP32),
    **{f"fused_{onezero}": fused(onezero) for onezero in range(4)},
    "split12": pair(make.split12, FP32, FP32),
    **{f"row2_{x.name.lower()[:5]}": pair(make.double_row, x, y, 2) for x, y in DOUBLE_ROWS},
    **{f"mx_{x.name.lower()}": quad_mx(x, y) for x, y in QUAD_MX},
    **{f"move_{bits}": transpose(bits) for bits in (8, 16, 32)},
}
"""Makers by the mode and the stationary format; cocotb shows names of up to ten letters."""
SPARSE = {f"sparse{name.replace(':', '_')}": name for name in PATTERNS if CONFIG.dot.sparse}
KINDS |= {kind: sparse(name, (BF16, FP16, FP32)[place % 3]) for place, (kind, name) in enumerate(SPARSE.items())}


def tile_count(tiling: Tiling) -> int:
    return GROUPS // tile_groups(CONFIG, tiling)


def fitting(tiles: int) -> list[str]:
    """Kinds of products for a number of tiles: a sparse group lies in one tile."""
    return [kind for kind in KINDS if kind not in SPARSE or PATTERNS[SPARSE[kind]].kept <= ROWS // tiles]


def products(rng: Random, kind: str, tiles: int, passes: int = 1) -> list[make.Product]:
    """A product for each tile, of `passes` passes over its rows."""
    source = np.random.default_rng(rng.getrandbits(64))
    return [KINDS[kind](source, ROWS // tiles * passes) for _ in range(tiles)]


def first_rows(product: make.Product, rows: int) -> make.Product:
    """The product up to a row."""
    scales = None if product.scales is None else tuple(side[:rows] for side in product.scales)
    return replace(product, stationary=product.stationary[:rows], moving=product.moving[:rows], scales=scales)


@covers(
    "core_array.modes",
    "One array serves all instructions of TensorE",
    "Whole products of BF16, FP16, FP8 and pairs of them, TF32, FP32 fused with and without onezero operands and "
    "in four matmuls of halves, double row, MX of FP8 and FP4, seven sparse patterns, transposes of 8, 16 and 32 "
    "bits; one and two passes over the rows",
)
@covers(
    "core_array.latency",
    "Who takes the results counts them",
    "result_valid in every cycle: tile_rows * row_latency + cols + 1 cycles behind a word, and none behind a pass "
    "that is not a fused step's last",
)
@BENCH.test(
    "core_array.unread",
    "SBUF holds anything beside an operand",
    "Bits beside an element, scales and tags of modes without them, slots of modes without slots are random",
    kind=fitting(1),
)
async def products_of_a_mode(frame, kind):
    """Whole products, of one and of two passes over the rows, back to back."""
    rng = pauses.rng("products")
    instructions = [products(rng, kind, 1, passes) for passes in (1, 2, 1)]
    await Player(frame, 0.0).play(Tiling.FULL, Schedule(CONFIG, instructions, rng, 0.0).steps)


@covers(
    "core_array.changes",
    "A mode that lasts a word too long, or changes in one row alone, would mix two instructions",
    "Products of all modes in any order, in every tiling, with pauses and freezes",
)
@covers("core_array.loads")
@covers("core_array.latency")
@BENCH.test(
    "core_array.freezes",
    "One register without its enable would shift a tile out of step",
    "advance low at random, with operands written meanwhile: all registers hold",
    pace=list(PACES),
)
async def any_mode_behind_any_other(frame, pace):
    """Products of all modes in any order in every tiling, with loads beside the moving words of the product before."""
    rng, (gap, freeze) = pauses.rng("products"), PACES[pace]
    coverage = frame.coverage(f"{tiling.name}/{kind}" for tiling in TILINGS for kind in fitting(tile_count(tiling)))
    player = Player(frame, freeze)
    for tiling in TILINGS:
        tiles = tile_count(tiling)
        names = fitting(tiles)
        rng.shuffle(names)
        for kind in names:
            coverage.hit(tiling.name, kind)
        instructions = [[first_rows(each, ROWS // tiles) for each in products(rng, kind, tiles)] for kind in names]
        await player.play(tiling, Schedule(CONFIG, instructions, rng, gap).steps)


LOADS = {
    "bf16": ("matmul", BF16),
    "fused_0": ("matmul", FP32),
    "row2_e5m2": ("double_row", E5M2),
    "mx_e4m3fn": ("mx", E4M3FN),
    "mx_e2m1": ("mx", E2M1),
}


@BENCH.test("core_array.loads", "The stationary words are held twice so that a load costs no time", kind=list(LOADS))
async def a_product_takes_the_longer_of_load_and_multiplication(frame, kind):
    """Loads beside the moving words of the product before, from the cycle after its swap on; a product takes the longer
    of load and multiplication."""
    rng, (name, fmt) = pauses.rng("products"), LOADS[kind]
    load = load_cycles(name, COLS, DTYPES[fmt])
    instructions = [[first_rows(product, ROWS) for product in products(rng, kind, 1)] for _ in range(3)]
    schedule = Schedule(CONFIG, instructions, rng, written=True)
    assert all(len(work.beats) == load for work in schedule.works)
    swaps = [cycle for cycle, step in enumerate(schedule.steps) if step.swap]
    taken = [max(load, len(work.moves)) for work in schedule.works[:-1]]
    assert [after - before for before, after in pairwise(swaps)] == taken
    await Player(frame, 0.0).play(Tiling.FULL, schedule.steps)
