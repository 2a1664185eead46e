"""Whole matrices: order of instructions, conversions, and cycles against published figures and documented rates."""

from dataclasses import replace
from itertools import product
from random import Random

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, BfpRange
from bitpath.golden.tensix.matmul import cycles
from bitpath.golden.tensix.matmul import schedule as model
from bitpath.golden.tensix.matmul.cycles import UNPACKER_START
from bitpath.golden.tensix.matmul.host import FORMATS, tile_images, tile_words
from bitpath.golden.tensix.matmul.matmul import from_tiles, to_tiles
from bitpath.verif.tensix.golden.samples import scalar_dot

# Cycles of loads and of whole matmuls against the documents' rates, bank moves against a model of two banks.


LAYER = (128, 384, 512)
"""M, K, N of the demo's layer: 4 x 12 x 16 = 768 tile products."""


BF16 = tensix.Packing(result=tensix.Format.BF16)


def layer(fmt, fidelity="LoFi", **options):
    m, k, n = LAYER
    one = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
    return tensix.matmul_program(*one, format=fmt, fidelity=fidelity, **options)


@pytest.mark.parametrize(
    ("fmt", "alone"),
    [
        *(
            ("FP32", 66),
            ("TF32", 66),
            ("INT32", 66),
            ("BF16", 34),
            ("FP16", 34),
            ("INT16", 34),
            ("FP8", 18),
            ("INT8", 18),
        ),
        *(("BFP8", 18), ("BFP8A", 18), ("BFP4", 10), ("BFP4A", 10), ("BFP2", 18), ("BFP2A", 18)),
    ],
)
def test_a_tile_alone(fmt, alone):
    """Two address cycles and 64 bytes a cycle; exponents come beside, BFP2 at 16 bytes a cycle."""
    assert tensix.unpack_cycles(fmt) == alone
    slow = tensix.unpack_cycles(fmt, throttle=0) - UNPACKER_START
    assert slow == (alone - UNPACKER_START) * (1 if fmt.startswith("BFP2") else 4)


def test_blackhole_unpacks_twice_as_fast():
    assert tensix.unpack_cycles("BFP8", throttle=3, chip="blackhole") == 2 + 8
    assert tensix.unpack_cycles("BF16", chip="blackhole") == 2 + 16
    assert tensix.unpack_cycles("FP8", chip="blackhole") == 18
    for fmt, throttle, chip in (("BF16", 3, "blackhole"), ("FP8", 3, "wormhole"), ("FP8", 0, "quasar")):
        with pytest.raises(ValueError, match="must be"):
            tensix.unpack_cycles(fmt, throttle=throttle, chip=chip)


@pytest.mark.parametrize(
    ("pack", "shared", "cycles"), [(33, False, 13_255), (71, False, 15_687), (33, True, 14_389), (71, True, 16_821)]
)
def test_the_layer_with_both_right_tiles_held(pack, shared, cycles):
    """The cycles of blocks of 4x2 output tiles in LoFi, of operands with 8 bits; six loads for eight products."""
    products = model.tile_products(layer("bfp8"), (4, 2))
    times = model.TileTimes(data=16, compute=16, pack=pack)
    found = model.schedule_products(products, times, shared=shared)
    assert (found.cycles, found.loads) == (cycles, len(products) * 6 // 8)


def test_a_program_is_scheduled_by_its_formats():
    """33 cycles a packed BF16 tile, 65 of FP32; the issue's rates follow."""
    fp8 = layer("fp8", packing=BF16)
    assert tensix.schedule(fp8).cycles == tensix.schedule(layer("bfp8", packing=BF16)).cycles == 13_255
    assert tensix.schedule(fp8, l1_port="shared").cycles == 14_389
    assert model.pack_cycles(tensix.Format.FP32, 2) == model.pack_cycles(tensix.Format.BF16, 1) == 65
    assert tensix.schedule(layer("fp8")).cycles == tensix.schedule(fp8, pack_rows=1).cycles
    macs = np.prod(LAYER)
    for fmt, fidelity, least in (
        ("fp8", "LoFi", 1820),
        ("bf16", "LoFi", 1250),
        ("bfp8", "HiFi2", 1000),
        ("bfp4", "LoFi", 1900),
    ):
        assert macs / tensix.schedule(layer(fmt, fidelity, packing=BF16), clear=4).cycles >= least


def test_what_bounds_fp8_in_lofi():
    """18 cycles with a load for each product, the rate's 16/18; fewer with two right tiles held, 0.75 loads a product."""
    count = 4096
    column = [
        model.TileProduct(left=(row, 0), right=(0, 0), dst_tile=0, first=row == 0, last=row == count - 1)
        for row in range(count)
    ]
    found = model.schedule_products(column, model.TileTimes(data=16, compute=16, pack=33))
    bound = cycles.tile_cycles(tensix.Format.FP8, "LoFi")
    assert found.loads == count + 1
    assert found.cycles == pytest.approx(bound.bound * count, rel=1e-3)
    one = np.ones((512, 512), np.float32)
    cube = tensix.schedule(tensix.matmul_program(one, one, format="fp8", fidelity="LoFi", packing=BF16))
    assert (cube.cycles, cube.loads) == (69_719, 3072)
    assert bound.compute * count < cube.cycles < bound.bound * count


def test_sixteen_bit_dst_takes_blocks_in_turn():
    """The second block's products do not wait for the packing of the first."""
    wide, narrow = (tensix.schedule(layer("bfp8", dst32=dst32)) for dst32 in (True, False))
    assert narrow.cycles < 13_255 < wide.cycles
    assert {each.dst_tile for each in model.tile_products(layer("bfp8", dst32=False), (4, 2))} == set(range(16))


def test_a_tile_alone_through_the_schedule():
    """Both loads, the product and the pack follow each other; the second load's address cycles pass beside the first."""
    single = tensix.matmul_program(
        np.ones((32, 32), np.float32), np.ones((32, 32), np.float32), format="bf16", fidelity="LoFi"
    )
    found = tensix.schedule(replace(single, packing=BF16))
    assert found == model.TileSchedule(
        cycles=2 + 32 + 32 + model.HAND_OVER + 16 + 33 - 1, loads=2, stalls=2 + 64 + model.HAND_OVER
    )


def test_refusals():
    program = layer("bfp8")
    for block in ((8, 2), (0, 1), (3, 3)):
        with pytest.raises(ValueError, match="block"):
            tensix.schedule(program, block=block)
    with pytest.raises(ValueError, match="l1_port"):
        tensix.schedule(program, l1_port="fair")
    with pytest.raises(ValueError, match="pack_rows"):
        tensix.schedule(program, pack_rows=4)
    for fmt, packing, options in (
        ("bf16", tensix.Packing(result=tensix.Format.FP32), {"dst32": False}),
        ("int8", BF16, {}),
        ("bf16", tensix.Packing(result=tensix.Format.INT8), {}),
        ("bf16", replace(BF16, descale_shift=3), {}),
    ):
        matrix = np.ones((32, 32), np.int32 if fmt == "int8" else np.float32)
        with pytest.raises(ValueError, match="must"):
            tensix.matmul_program(matrix, matrix, format=fmt, packing=packing, **options)


@pytest.mark.parametrize("seed", range(200))
def test_bank_moves(seed):
    """Each product finds its tile; the unpacker fills the banks in turn and only those that it owns."""
    rng = Random(seed)
    tiles = [(0, rng.randrange(rng.choice((1, 2, 3, 4)))) for _ in range(rng.randrange(1, 40))]
    content: list = [None, None]
    bank = fills = 0
    for tile, move in zip(tiles, model.bank_moves(tiles), strict=True):
        assert move.load == (content[bank] is None)
        if move.load:
            assert fills % 2 == bank, "the unpacker fills the other bank next"
            content[bank], fills = tile, fills + 1
        assert content[bank] == tile
        if move.release:
            content[bank] = None
        bank ^= move.flip
    assert content == [None, None], "a bank is held at the end"


def test_two_tiles_are_held():
    """Four left tiles by two right ones: the right ones are loaded once, and given back in the order of their banks."""
    order = [(0, place % 2) for place in range(8)] + [(1, 0), (1, 1)]
    moves = model.bank_moves(order)
    assert [move.load for move in moves] == [True, True, *[False] * 6, True, True]
    assert [move.release for move in moves] == [False] * 6 + [True] * 4
    assert all(move.flip for move in moves)


def test_results_in_l1():
    """The packer's bytes and their numbers: copied, rounded with ReLU, and added to the bytes in L1."""
    rng = np.random.default_rng(35)
    a, b = (rng.standard_normal(shape, dtype=np.float32) for shape in ((32, 64), (64, 32)))
    program = tensix.matmul_program(a, b, format="fp8", fidelity="LoFi")
    words = tensix.run_program(program)
    assert np.array_equal(tensix.packed_tiles(program, words), words)
    assert np.array_equal(tensix.packed_matrix(program, words), tensix.result_matrix(program, words))
    relu = replace(program, packing=replace(BF16, relu=1))
    codes = tensix.packed_tiles(relu, words)
    assert np.array_equal(codes.ravel(), tensix.pack(words, "BF16", "BF16", dst32=True, relu=1).view("<u2"))
    rounded = words + np.uint32(0x8000) & np.uint32(0xFFFF0000)  # ties away from zero
    expected = np.maximum(tensix.result_matrix(program, rounded), 0)
    assert np.array_equal(tensix.packed_matrix(relu, codes), expected)
    adding = replace(program, packing=replace(relu.packing, accumulates=True))
    twice = tensix.packed_tiles(adding, words, codes)
    assert np.array_equal(tensix.packed_matrix(adding, twice), 2 * expected)
    for each, before, message in ((adding, None, "before must be given"), (relu, codes, "before must be None")):
        with pytest.raises(ValueError, match=message):
            tensix.packed_tiles(each, words, before)


def test_integers_in_l1():
    """INT8 results are the sums, shifted and rounded half away from zero."""
    a = np.arange(-127, 128, dtype=np.int32)[:225].reshape(15, 15)
    program = tensix.matmul_program(
        a, a.T, format="int8", packing=tensix.Packing(result=tensix.Format.INT8, descale_shift=12)
    )
    codes = tensix.packed_tiles(program, tensix.run_program(program))
    sums = (a @ a.T) / 4096
    assert np.array_equal(
        tensix.packed_matrix(program, codes), np.trunc(np.clip(sums + np.copysign(0.5, sums), -127, 127))
    )


# Whole matrices: order of instructions, conversions, counts, and the cycle model's published figures.


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
    program = tensix.matmul_program(a, b, format=fmt, fidelity="HiFi3", dst32=dst32)
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
        got = tensix.matmul(a, b, format=fmt, fidelity="LoFi", dst32=dst32)
        assert got.dtype == np.float32
        assert np.array_equal(got, a @ b)


def test_integers_are_exact():
    rng = np.random.default_rng(43)
    a, b = rng.integers(-127, 128, (33, 70)), rng.integers(-127, 128, (70, 20))
    got = tensix.matmul(a, b, format="int8")
    assert got.dtype == np.int32
    assert np.array_equal(got, a @ b)


def test_inputs_are_not_modified_and_conversion_rules():
    a = np.full((1, 1), 1 + 2.0**-8 + 2.0**-9, np.float32)
    one = np.ones((1, 1), np.float32)
    kept = a.copy()
    # RNE to BF16 rounds up; TF32 truncates but keeps 10 bits; the result needs both phases of SrcB.
    assert tensix.matmul(a, one, format="bf16")[0, 0] == 1 + 2.0**-7
    assert tensix.matmul(a, one, format="tf32")[0, 0] == 1 + 2.0**-8 + 2.0**-9
    assert np.array_equal(a, kept)
    big = np.full((1, 1), 1e6, np.float32)
    assert tensix.matmul(one, big, format="fp16")[0, 0] == 65504 - 32  # SrcA's lowest bit is in no field
    assert tensix.matmul(big, one, format="fp16")[0, 0] == 65504
    assert tensix.matmul(big, one, format="fp8")[0, 0] == 57344


def test_fp16_top_binade_is_numbers():
    """The overflow code of a 16-bit FP16 Dst reads as 131008."""
    a = np.full((1, 32), 65504, np.float32)
    assert tensix.matmul(a, a.T, format="fp16", dst32=False)[0, 0] == 131008


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
