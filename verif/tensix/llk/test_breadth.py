"""Cases beyond whole tiles of one format: small tiles, formats of each source, broadcasts, Dst as an operand, rows, integers without
a sign, random bits."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import FACE, TILE, Format
from bitpath.golden.tensix.llk import Case, compare, expected
from bitpath.golden.tensix.llk.expected import in_tiles, row_major
from bitpath.verif.tensix.llk.stimuli import COPY, EIGHTHS, TWO, bf16, l1_of, normal, result

SMALL = [(16, 32), (32, 16), (16, 16)]
BROADCASTS = {"COL": np.s_[:, :1], "ROW": np.s_[:1, :], "SCALAR": np.s_[:1, :1]}


def tiled(matrix, tile):
    """Return a matrix in BF16 as tiles in L1."""
    codes = np.asarray(matrix, ml_dtypes.bfloat16).view(np.uint16)
    return in_tiles(codes.reshape(-1), codes.shape, tile).view(np.uint8)


def matrix_of(case, l1):
    """Return the matrix of a case's result in BF16."""
    numbers = bf16(l1.view(ml_dtypes.bfloat16))
    return row_major(numbers, case.result_dimensions, case.tile).reshape(case.result_dimensions)


# Tiles of one and two faces.


@pytest.mark.parametrize("tile", SMALL)
@pytest.mark.parametrize("kind", ["NONE", *BROADCASTS])
def test_small_tiles_of_element_wise_operations(tile, kind):
    """Each tile broadcasts its own datums."""
    rows, columns = 2 * tile[0], 3 * tile[1]
    left, right = normal(1, rows, columns), normal(2, rows, columns)
    left, right = bf16(np.round(left * 4)), bf16(np.round(right * 4))
    case = Case(
        **TWO | {"op": "elwsub", "tile": tile, "broadcast": kind}, dimensions_a=left.shape, dimensions_b=left.shape
    )
    place = BROADCASTS.get(kind, np.s_[:, :])
    chosen = right.reshape(2, tile[0], 3, tile[1]).transpose(0, 2, 1, 3)
    chosen = np.array([[np.broadcast_to(own[place], tile) for own in row] for row in chosen])
    chosen = chosen.transpose(0, 2, 1, 3).reshape(left.shape)
    stages = expected(case, tiled(left, tile), tiled(right, tile))
    assert stages.src_a.shape == (6, tile[0] * tile[1] // FACE, FACE)
    assert np.array_equal(matrix_of(case, stages.l1), left - chosen)


@pytest.mark.parametrize("tile", SMALL)
@pytest.mark.parametrize("fidelity", ["LoFi", "HiFi4"])
def test_small_tiles_of_products(tile, fidelity):
    """The bits of `tensix.matmul`; a left tile has 32 columns and a right one 32 rows."""
    rows, columns = 3 * tile[0], 2 * tile[1]
    a, b = normal(3, rows, 2 * TILE).astype(np.float32), normal(4, 2 * TILE, columns).astype(np.float32)
    case = Case(**TWO | {"fidelity": fidelity, "tile": tile}, dimensions_a=a.shape, dimensions_b=b.shape)
    stages = expected(case, tiled(a, (tile[0], TILE)), tiled(b, (TILE, tile[1])))
    right = tensix.matmul(a, b, fidelity=fidelity, dst32=False)
    assert np.array_equal(matrix_of(case, stages.l1), right)


@pytest.mark.parametrize("tile", SMALL)
@pytest.mark.parametrize(("dim", "axis"), [("COL", 2), ("ROW", 3), ("SCALAR", (2, 3))])
@pytest.mark.parametrize("pool", ["SUM", "MAX"])
def test_small_tiles_of_reductions(pool, dim, axis, tile):
    """Each tile is reduced by itself; its other datums are zero."""
    matrix = np.arange(2 * tile[0] * 2 * tile[1]).reshape(2 * tile[0], 2 * tile[1]) * 7 % 5 - 2.0
    fields = {"op": "reduce", "pool": pool, "reduce_dim": dim, "tile": tile, "dst32": True, "dimensions_b": tile}
    fidelity = "HiFi4" if pool == "SUM" else "LoFi"
    case = Case(**TWO | fields | {"fidelity": fidelity, "dimensions_a": matrix.shape})
    stages = expected(case, tiled(matrix, tile), tiled(np.ones(tile), tile))
    tiles = matrix.reshape(2, tile[0], 2, tile[1]).swapaxes(1, 2)
    reduced = (np.sum if pool == "SUM" else np.max)(tiles, axis=axis, keepdims=True)
    right = np.zeros_like(tiles)
    right[:, :, : reduced.shape[2], : reduced.shape[3]] = reduced
    assert np.array_equal(matrix_of(case, stages.l1), bf16(right.swapaxes(1, 2).reshape(matrix.shape)))


def test_small_tiles_of_block_floats():
    """A tile of one face has 16 exponents before it, and the datums of one of four."""
    matrix = normal(5)
    whole = Case(**COPY | {"out_format": "BFP8"})
    small = Case(**COPY | {"out_format": "BFP8", "tile": (16, 16)})
    l1 = expected(small, tiled(matrix, (16, 16))).l1
    right = expected(whole, l1_of(matrix, Format.BF16)).l1
    exponents, datums = right[:64].reshape(4, 16), right[64:].reshape(4, 256)
    assert np.array_equal(l1, np.concatenate([exponents, datums], axis=1).reshape(-1))
    device = l1.copy()
    device[16 + 256 + 16 + 17] ^= 1
    found = compare(small, tiled(matrix, (16, 16)), None, device)
    assert (found.first_difference.row, found.first_difference.column) == (1, 17)


# Formats of each source, and Dst as an operand.


@pytest.mark.parametrize("op", ["matmul", "elwmul", "elwadd"])
def test_a_register_format_of_each_source(op):
    """TF32 in one register and BF16 in the other; the left operand of "matmul" is in SrcB."""
    left, right = 1 + EIGHTHS / 128, 1 + EIGHTHS.T / 16
    fields = {"in_a": "FP32", "register_format": "TF32", "register_b": "BF16", "dst32": True, "out_format": "FP32"}
    fidelity = "LoFi" if op == "elwadd" else "HiFi4"
    case = Case(**TWO | fields | {"op": op, "mid_format": "FP32", "fidelity": fidelity})
    assert case.sources == ((Format.BF16, Format.TF32) if op == "matmul" else (Format.TF32, Format.BF16))
    stages = expected(case, l1_of(left, Format.FP32), l1_of(right, Format.BF16))
    wide = tensix.unpack(l1_of(left, Format.FP32), "FP32", "TF32", count=TILE * TILE)
    narrow = tensix.unpack(l1_of(right, Format.BF16), "BF16", "BF16", count=TILE * TILE)
    words = (stages.src_b, stages.src_a) if op == "matmul" else (stages.src_a, stages.src_b)
    assert [each.reshape(-1).tolist() for each in words] == [wide.tolist(), narrow.tolist()]
    numbers = tensix.untilize(stages.l1.view(np.float32).reshape(1, 1, 2 * TILE, FACE))
    if op == "elwadd":
        assert np.array_equal(numbers, left + right)


def test_registers_of_one_width_of_exponents():
    says = r"^SrcB must be FP32, TF32, BF16, .* with BF16 in SrcA, not FP16$"
    with pytest.raises(ValueError, match=says):
        Case(**TWO | {"op": "elwadd", "in_b": "FP16", "register_b": "FP16"})
    with pytest.raises(ValueError, match=r"^register_b must be None with datacopy, not BF16$"):
        Case(**COPY | {"register_b": "BF16"})
    with pytest.raises(ValueError, match=r"^register_b must be FP16 with in_b FP16, not TF32$"):
        Case(**TWO | {"op": "elwadd", "in_b": "FP16", "register_b": "TF32"})


@pytest.mark.parametrize("dst32", [False, True])
@pytest.mark.parametrize("reuse", ["DEST_TO_SRCA", "DEST_TO_SRCB"])
@pytest.mark.parametrize("op", ["elwsub", "elwmul"])
def test_an_operand_from_dst(op, reuse, dst32):
    """The operand passes Dst, which keeps BF16 whole: the same result as from L1, and a TF32 one as wide as its move."""
    fidelity = "HiFi4" if op == "elwmul" else "LoFi"
    case = Case(**TWO | {"op": op, "fidelity": fidelity, "dest_reuse": reuse, "dst32": dst32})
    right = 2.0 ** (EIGHTHS.T // 1 % 3)
    operation = np.subtract if op == "elwsub" else np.multiply
    assert np.array_equal(result(case, EIGHTHS, right), bf16(operation(EIGHTHS, right)))
    denormal = l1_of(np.full((TILE, TILE), 1e-39), Format.BF16)
    assert not expected(case, denormal, denormal).dst_after_phase[-1].any()


# Operations on one operand, and on a row of tiles.


@pytest.mark.parametrize("chip", ["wormhole", "blackhole"])
@pytest.mark.parametrize("dst32", [False, True])
@pytest.mark.parametrize("kind", BROADCASTS)
def test_unary_broadcast(kind, dst32, chip):
    fields = COPY | {"op": "unary_broadcast", "broadcast": kind, "dst32": dst32, "chip": chip}
    if kind == "ROW" and dst32 and chip == "wormhole":
        with pytest.raises(
            ValueError, match=r"^dst32 must be False .* BF16, whose datums MOVB2D writes as 16 bits, not True$"
        ):
            Case(**fields)
        return
    case = Case(**fields)
    stages = expected(case, l1_of(EIGHTHS, Format.BF16))
    assert stages.src_a is None
    assert np.array_equal(result(case, EIGHTHS), np.broadcast_to(EIGHTHS[BROADCASTS[kind]], (TILE, TILE)))


@pytest.mark.parametrize("dst32", [False, True])
def test_maxima_of_a_block(dst32):
    """Each row's maximum over three tiles, in column 0 of one tile; the other datums are masked."""
    matrix = bf16(normal(7, 2 * TILE, 3 * TILE))
    fields = TWO | {"op": "reduce_block_max", "dst32": dst32, "dimensions_a": matrix.shape}
    case = Case(**fields)
    right = np.zeros((2 * TILE, TILE))
    right[:, 0] = matrix.max(axis=1)
    assert np.array_equal(result(case, matrix, np.ones((TILE, TILE))), right)


@pytest.mark.parametrize("rows", [1, 16, 50, 64])
def test_rows_of_a_tile(rows):
    matrix = bf16(normal(8, TILE, 2 * TILE))
    case = Case(**COPY | {"op": "pack_rows", "pack_rows": rows, "dimensions_a": matrix.shape})
    stages = expected(case, l1_of(matrix, Format.BF16))
    words = l1_of(matrix, Format.BF16).view(np.uint16).reshape(2, 64, FACE)[:, :rows]
    assert np.array_equal(stages.l1.view(np.uint16), words.reshape(-1))
    assert stages.mid.shape == (2, rows, FACE)
    device = stages.l1.copy()
    device[-1] ^= 1
    found = compare(case, l1_of(matrix, Format.BF16), None, device)
    assert (found.first_difference.row, found.first_difference.column) == (2 * rows - 1, FACE - 1)


def test_a_reduction_leaves_less_with_an_edge_mask():
    case = Case(**TWO | {"op": "reduce", "edge_mask": 0x00FF, "fidelity": "HiFi4", "dst32": True})
    whole = result(replace(case, edge_mask=None), EIGHTHS, np.ones((TILE, TILE)))
    kept = np.tile(np.arange(TILE) % FACE < 8, (TILE, 1))
    assert whole[0].all()
    assert np.array_equal(result(case, EIGHTHS, np.ones((TILE, TILE))), np.where(kept, whole, 0))


# Integers without a sign, E4M3 by its name, and random bits.


def test_integers_without_a_sign():
    codes = np.arange(TILE * TILE).astype(np.uint8)
    fields = dict.fromkeys(("in_a", "register_format", "mid_format", "out_format"), "UInt8")
    case = Case(op="datacopy", dst32=True, **fields)
    assert case.unsigned
    stages = expected(case, codes)
    assert np.array_equal(stages.l1, codes)
    assert np.array_equal(stages.dst_after_phase[-1].reshape(-1), codes)
    sums = Case(
        **dict.fromkeys(("in_a", "in_b", "register_format"), "UInt8"),
        op="elwadd",
        dst32=True,
        mid_format="INT32",
        out_format="UInt32",
    )
    assert np.array_equal(expected(sums, codes, codes).l1.view(np.uint32), 2 * codes.astype(np.uint32))
    with pytest.raises(ValueError, match=r"^formats must not be UInt8 and Int8, which are one mode of a case$"):
        Case(op="datacopy", dst32=True, **fields | {"out_format": "Int8"})


def test_e4m3_by_its_name():
    fields = dict.fromkeys(("in_a", "out_format"), "Fp8_e4m3") | {"register_format": "FP16", "mid_format": "FP16"}
    case = Case(op="datacopy", chip="blackhole", **fields)
    assert case == Case(
        op="datacopy", chip="blackhole", e4m3=True, **fields | dict.fromkeys(("in_a", "out_format"), "FP8")
    )
    codes = np.arange(8, 0x7E, dtype=np.uint8)
    codes = np.resize(codes, TILE * TILE)
    assert np.array_equal(expected(case, codes).l1, codes)
    with pytest.raises(ValueError, match=r"^e4m3 must be False with FP8 .*"):
        Case(op="datacopy", **fields)
    with pytest.raises(
        ValueError, match=r"^in_a must be a format of Wormhole or Blackhole, not 'MxFp8R': it is Quasar's, .*$"
    ):
        Case(**COPY | {"in_a": "MxFp8R"})


def test_random_bits_of_the_packer():
    """Bits of 0x400000 round to nearest; others as `tensix.pack` does, tile by tile."""
    matrix = normal(9, TILE, 2 * TILE)
    fields = COPY | {"in_a": "FP32", "register_format": "FP32", "dst32": True, "dimensions_a": matrix.shape}
    nearest, case = Case(**fields), Case(**fields | {"stochastic_rounding": "Pack"})
    l1 = l1_of(matrix, Format.FP32)
    half = np.full(matrix.size, 0x400000, np.uint32)
    assert np.array_equal(expected(case, l1, pack_bits=half).l1, expected(nearest, l1).l1)
    bits = np.random.default_rng(10).integers(0, 1 << 23, matrix.size, np.uint32)
    right = tensix.pack(l1.view(np.uint32), "BF16", "BF16", dst32=True, stochastic_bits=bits)
    stages = expected(case, l1, pack_bits=bits)
    assert np.array_equal(stages.l1, right)
    assert np.array_equal(stages.mid.reshape(-1), right.view(np.uint16))
    assert compare(case, l1, None, right, pack_bits=bits).equal
    with pytest.raises(ValueError, match=r"^pack_bits must be an array with stochastic_rounding, not None$"):
        expected(case, l1)
    with pytest.raises(ValueError, match=r"^pack_bits must be None without stochastic_rounding, not an array$"):
        expected(nearest, l1, pack_bits=bits)
    with pytest.raises(ValueError, match=r"^stochastic_rounding must be 'None' with mid_format FP32, not 'Pack'$"):
        Case(**fields | {"mid_format": "FP32", "stochastic_rounding": "Pack"})


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"tile": (8, 32)}, r"tile must be \(32, 32\), \(16, 32\), \(32, 16\) or \(16, 16\), not \(8, 32\)"),
        ({"tile": (16, 32), "dimensions_a": (8, 32)}, r"dimensions_a must be multiples of 16 and 32, not \(8, 32\)"),
        ({"op": "transpose", "tile": (16, 16)}, r"tile must be \(32, 32\) with transpose, not \(16, 16\)"),
        (
            {"tile": (16, 32), "unpack_transpose_faces": True},
            r"tile must be \(32, 32\) where SrcA is transposed, not \(16, 32\)",
        ),
        ({"pack_rows": 5}, "pack_rows must be left out with datacopy, not 5"),
        ({"op": "pack_rows", "pack_rows": 65}, "pack_rows must be 1 to 64, not 65"),
        ({"op": "pack_rows", "out_format": "BFP8"}, "out_format must be no block float with pack_rows, not BFP8"),
        ({"dest_reuse": "DEST_TO_SRCA"}, "dest_reuse must be left out with datacopy, not 'DEST_TO_SRCA'"),
        ({"op": "unary_broadcast"}, "broadcast must be 'COL', 'ROW' or 'SCALAR' with unary_broadcast, not 'NONE'"),
        ({"unsigned": True}, "unsigned must be False without INT8, not True"),
        ({"stochastic_rounding": "Fpu"}, "stochastic_rounding must be 'None' or 'Pack', not 'Fpu'.*"),
    ],
)
def test_mistakes(fields, says):
    with pytest.raises(ValueError, match=f"^{says}$"):
        Case(**COPY | fields)
