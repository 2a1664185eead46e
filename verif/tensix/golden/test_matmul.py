"""Whole matrices: order of instructions, conversions, counts, and the cycle model's published figures."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, BfpRange
from bitpath.golden.tensix.matmul import cycles
from bitpath.golden.tensix.matmul.host import FORMATS, tile_images, tile_words
from bitpath.golden.tensix.matmul.matmul import from_tiles, to_tiles
from bitpath.verif.tensix.golden.scalar_dot import scalar_dot

FLOATS = [name for name in FORMATS if name != "int8"]


def matrices(rng, rows, depth, columns):
    return rng.normal(size=(rows, depth)).astype(np.float32), rng.normal(size=(depth, columns)).astype(np.float32)


def test_instructions_of_a_tile_product():
    """The order of the vendor's kernel library, written out by hand."""
    instructions = tensix.tile_instructions("HiFi2")
    first = [(each.src_b_row, each.src_a_row, each.dst_row) for each in instructions[:16]]
    assert first == [
        *((0, 0, 0), (8, 0, 8), (0, 16, 16), (8, 16, 24), (32, 0, 32), (40, 0, 40), (32, 16, 48), (40, 16, 56)),
        *((16, 32, 0), (24, 32, 8), (16, 48, 16), (24, 48, 24), (48, 32, 32), (56, 32, 40), (48, 48, 48), (56, 48, 56)),
    ]
    assert [each.phase for each in instructions] == [0] * 16 + [1] * 16
    assert first == [(each.src_b_row, each.src_a_row, each.dst_row) for each in instructions[16:]]


@pytest.mark.parametrize(
    ("fmt", "dst32"), [(fmt, dst32) for fmt in FORMATS for dst32 in (True, False) if dst32 or fmt != "int8"]
)
def test_elements_by_the_scalar_tier(fmt, dst32):
    """One element accumulates, for each tile of K and each phase, the two halves of the depth of the tile."""
    rng = np.random.default_rng(41)
    a, b = matrices(rng, 40, 70, 33)
    if fmt == "int8":
        a, b = rng.integers(-127, 128, a.shape), rng.integers(-127, 128, b.shape)
    program = tensix.matmul_program(a, b, fmt=fmt, fidelity="HiFi3", dst32=dst32)
    dst = tensix.run_program(program)
    left, right = from_tiles(program.src_b), from_tiles(program.src_a)
    formats = dict.fromkeys(("srca_format", "srcb_format"), program.fmt.register)
    got = from_tiles(dst)
    for i, j in ((0, 0), (39, 32), (17, 5), (31, 16), (8, 31)):
        word = 0
        for k_tile, phase, half in product(range(0, 96, 32), (0, 1, 2), (0, 16)):
            depth = slice(k_tile + half, k_tile + half + 16)
            operands = word, left[i, depth].tolist(), right[depth, j].tolist()
            options = {"style": program.fmt.style, "dst32": dst32, "phase": phase}
            word = scalar_dot(WORMHOLE.numerics, *operands, **options, **formats)
        assert got[i, j] == word


@pytest.mark.parametrize("fmt", FLOATS)
def test_numbers_of_few_bits_are_exact(fmt):
    """Powers of two and small sums, in every format: the whole path computes an exact product."""
    rng = np.random.default_rng(42)
    a, b = (rng.choice([-1.0, 1.0], shape).astype(np.float32) for shape in ((5, 64), (64, 7)))
    for dst32 in (True, False):
        got = tensix.matmul(a, b, fmt=fmt, fidelity="LoFi", dst32=dst32)
        assert got.dtype == np.float32
        assert np.array_equal(got, a @ b)


def test_integers_are_exact():
    rng = np.random.default_rng(43)
    a, b = rng.integers(-127, 128, (33, 70)), rng.integers(-127, 128, (70, 20))
    got = tensix.matmul(a, b, fmt="int8")
    assert got.dtype == np.int32
    assert np.array_equal(got, a @ b)


def test_inputs_are_not_modified_and_conversion_rules():
    a = np.full((1, 1), 1 + 2.0**-8 + 2.0**-9, np.float32)
    one = np.ones((1, 1), np.float32)
    kept = a.copy()
    # RNE to BF16 rounds up; TF32 truncates but keeps 10 bits; the result needs both phases of SrcB.
    assert tensix.matmul(a, one, fmt="bf16")[0, 0] == 1 + 2.0**-7
    assert tensix.matmul(a, one, fmt="tf32")[0, 0] == 1 + 2.0**-8 + 2.0**-9
    assert np.array_equal(a, kept)
    big = np.full((1, 1), 1e6, np.float32)
    assert tensix.matmul(one, big, fmt="fp16")[0, 0] == 65504 - 32  # SrcA's lowest bit is in no field
    assert tensix.matmul(big, one, fmt="fp16")[0, 0] == 65504
    assert tensix.matmul(big, one, fmt="fp8")[0, 0] == 57344


def test_fp16_top_binade_is_numbers():
    """The overflow code of a 16-bit FP16 Dst reads as 131008."""
    a = np.full((1, 32), 65504, np.float32)
    assert tensix.matmul(a, a.T, fmt="fp16", dst32=False)[0, 0] == 131008


def test_tiles():
    matrix = np.arange(40 * 70).reshape(40, 70)
    tiles = to_tiles(matrix)
    assert tiles.shape == (2, 3, 64, 16)
    assert np.array_equal(tiles[0, 1, 16:32], matrix[:16, 48:64])
    assert np.array_equal(tiles[0, 1, 32:48], matrix[16:32, 32:48])
    assert np.array_equal(from_tiles(tiles)[:40, :70], matrix)


def test_counts():
    program = tensix.matmul_program(*matrices(np.random.default_rng(44), 40, 70, 33), fidelity="HiFi4")
    assert program.tiles == (2, 3, 2)
    assert program.instruction_count == 12 * 64
    assert program.mac_count == 12 * 4 * 32**3
    assert program.output_count == 40 * 33


@pytest.mark.parametrize(
    ("operation", "published"),
    [
        ("MVMUL", (4.096, 2.048, 1.366, 1.024)),
        ("DOTPV", (4.096, 2.048, 1.366, 1.024)),
        ("GAPOOL", (2.048, 1.024, 0.683, 0.512)),
        ("MVMUL_ROW", (0.560, 0.280, 0.187, 0.140)),
        ("ELWMUL", (0.256, 0.128, 0.085, 0.064)),
        ("GMPOOL", (0.256,)),
        ("ELWADD", (0.256,)),
        ("ELWADD_OVERWRITE", (0.128,)),
    ],
)
def test_published_throughput(operation, published):
    """tt-isa-documentation, MatrixUnit, to its three decimals; it gives 1.366 for 4.096 / 3 = 1.3653."""
    for count, figure in enumerate(published, start=1):
        assert abs(cycles.tflops(operation, count) - figure) < 0.001


@pytest.mark.parametrize(("board", "figures"), [("n150s", (294.9, 147.5, 73.7)), ("n300s", (524.3, 262.1, 131.1))])
def test_published_boards(board, figures):
    for fidelity, figure in zip(("LoFi", "HiFi2", "HiFi4"), figures, strict=True):
        assert round(cycles.board_tflops(board, fidelity), 1) == figure


def test_the_vendors_fp8_figure():
    """16 cycles to multiply a tile and 18 to load one: 88.9 % of the peak. Loads do not limit bfp8 and fp16."""
    fp8 = cycles.tile_cycles(tensix.Format.FP8, "LoFi")
    assert (fp8.compute, fp8.data, fp8.bound) == (16, 18, 18)
    for board in cycles.BOARD_UNITS:
        peak = cycles.board_tflops(board, "LoFi")
        assert cycles.board_tflops(board, "LoFi", tensix.Format.FP8) == peak * 16 / 18
        for fidelity, fmt in (("HiFi2", tensix.Format.BFP8), ("HiFi4", tensix.Format.FP16)):
            assert cycles.board_tflops(board, fidelity, fmt) == cycles.board_tflops(board, fidelity)


def test_dst_hazard():
    """The library's order never stalls; repeated use of one block stalls four cycles each time."""
    order = tensix.tile_instructions("HiFi4")
    assert cycles.issue_cycles(order) == list(range(64))
    assert cycles.issue_cycles([order[0]] * 3) == [0, 5, 10]


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("flush", [False, True])
def test_images_of_tiles_unpack_to_source_words(fmt, flush):
    """Its size is that of the datums, plus one exponent byte for each of 64 face rows of block floats."""
    rng = np.random.default_rng(45)
    matrix = rng.integers(-127, 128, (32, 96)) if fmt == "int8" else matrices(rng, 32, 96, 1)[0]
    if fmt != "int8":
        matrix *= np.exp2(rng.integers(-140, 100, (32, 96))).astype(np.float32)
    numerics = replace(WORMHOLE.numerics, bfp_range=BfpRange.FLUSH if flush else BfpRange.WRAP)
    tiles = to_tiles(matrix)[0]
    tile = tiles[1]
    image = tensix.tile_image(tile, fmt, numerics)
    bits = {"bf16": 16, "tf32": 32, "fp16": 16, "fp8": 8, "bfp8": 8, "bfp4": 4, "bfp2": 2, "int8": 8}[fmt]
    assert image.dtype == np.uint8
    assert len(image) == 1024 * bits // 8 + (64 if fmt.startswith("bfp") else 0)
    register = FORMATS[fmt].register
    words = tensix.unpack(image, "FP32" if fmt == "tf32" else register, register, count=1024, numerics=numerics)
    images = tile_images(tiles, fmt, numerics)
    assert np.array_equal(images[1], image)
    assert np.array_equal(words.reshape(64, 16), tile_words(images, FORMATS[fmt], numerics)[1])
    if not flush:
        assert np.array_equal(image, tensix.tile_image(tile, fmt))
