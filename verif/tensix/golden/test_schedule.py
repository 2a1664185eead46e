"""Cycles of loads and of whole matmuls against the documents' rates, bank moves against a model of two banks."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.matmul import schedule as model
from bitpath.golden.tensix.matmul.cycles import UNPACKER_START

LAYER = (128, 384, 512)
"""M, K, N of the demo's layer: 4 x 12 x 16 = 768 tile products."""
OLD_PACKER = 71
"""Cycles a tile of a packer that takes one row a cycle and begins behind the previous tile's last write."""


BF16 = tensix.Packing(result=tensix.Format.BF16)


def layer(fmt, fidelity="LoFi", **options):
    m, k, n = LAYER
    one = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
    return tensix.matmul_program(*one, fmt=fmt, fidelity=fidelity, **options)


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


def test_sixteen_bit_dst_takes_blocks_in_turn():
    """The second block's products do not wait for the packing of the first."""
    wide, narrow = (tensix.schedule(layer("bfp8", dst32=dst32)) for dst32 in (True, False))
    assert narrow.cycles < 13_255 < wide.cycles
    assert {each.dst_tile for each in model.tile_products(layer("bfp8", dst32=False), (4, 2))} == set(range(16))


def test_a_tile_alone_through_the_schedule():
    """Both loads, the product and the pack follow each other; the second load's address cycles pass beside the first."""
    single = tensix.matmul_program(
        np.ones((32, 32), np.float32), np.ones((32, 32), np.float32), fmt="bf16", fidelity="LoFi"
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
            tensix.matmul_program(matrix, matrix, fmt=fmt, packing=packing, **options)


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
    program = tensix.matmul_program(a, b, fmt="fp8", fidelity="LoFi")
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
        a, a.T, fmt="int8", packing=tensix.Packing(result=tensix.Format.INT8, descale_shift=12)
    )
    codes = tensix.packed_tiles(program, tensix.run_program(program))
    sums = (a @ a.T) / 4096
    assert np.array_equal(
        tensix.packed_matrix(program, codes), np.trunc(np.clip(sums + np.copysign(0.5, sums), -127, 127))
    )
