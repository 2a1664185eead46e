"""Programs of products on golden's core against `tensix.matmul`, and partial sums: one scalar, their losses, mistakes."""

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import COLUMNS, TILE, Format, Style
from bitpath.golden.tensix.declarations.numerics import BLACKHOLE, WORMHOLE
from bitpath.golden.tensix.exact import (
    add,
    add_to_l1,
    dst_word,
    early_float,
    late_float,
    moved_source,
    unpack_datum,
)
from bitpath.golden.tensix.matmul.host import FORMATS
from bitpath.verif.tensix.golden.samples import scalar_dot

CHIPS = ("wormhole", "blackhole")
ORDERS = ("round_robin", "thread_first", "last_thread_first")
PARTIALS = [each.value for each in tensix.Partials]


def operands(seed, rows, depth, columns):
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal(shape).astype(np.float32) for shape in ((rows, depth), (depth, columns)))


def assert_same(a, b, chip, order="round_robin", **options):
    """Assert that the program's result has the bits of `matmul`."""
    program = tensix.product_program(a, b, chip=chip, **options)
    core = tensix.Core(chip, l1_bytes=program.product.addresses[-1])
    program.prepare(core)
    program.push(core)
    core.run(order)
    found = program.matrix(program.result_of(core))
    right = tensix.matmul(a, b, chip=chip, **options)
    assert found.dtype == right.dtype
    assert found.tobytes() == right.tobytes()


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("partials", PARTIALS)
def test_partial_sums(partials, chip):
    """Three blocks; tiles of the result that are not whole, in every order of the threads."""
    narrow = {"format": "fp16", "dst32": False} if partials.endswith("fp16") else {}
    order = ORDERS[PARTIALS.index(partials) % len(ORDERS)]
    options = {"partials": partials, "block_k": TILE, "fidelity": "LoFi"} | narrow
    assert_same(*operands(1, 40, 90, 20), chip, order, **options)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("fmt", FORMATS)
def test_formats(fmt, chip):
    """Two blocks of two tiles; block floats have exponents before each tile."""
    a, b = operands(2, TILE, 4 * TILE, TILE)
    if fmt == "int8":
        a, b = ((40 * each).astype(np.int8) for each in (a, b))
    partials = "dst" if fmt == "int8" else "spill_bf16"
    assert_same(a, b, chip, format=fmt, block_k=2 * TILE, partials=partials, fidelity="LoFi")


@pytest.mark.parametrize(("chip", "fidelity"), [("wormhole", "HiFi2"), ("wormhole", "HiFi3"), ("blackhole", "HiFi4")])
@pytest.mark.parametrize("partials", ["dst", "spill_bf16", "l1_bf16"])
def test_16_bits_of_dst(partials, chip, fidelity):
    assert_same(
        *operands(3, TILE, 3 * TILE, TILE), chip, dst32=False, block_k=TILE, partials=partials, fidelity=fidelity
    )


def test_a_group_of_tiles_fills_a_mop():
    """131 tiles along K are more than a MOP counts, and no smaller number than 1 divides them."""
    a, b = operands(4, TILE, 131 * TILE, TILE)
    assert_same(a, b, "wormhole", fidelity="LoFi", block_k=131 * TILE, partials="spill_bf16")


def test_a_program_runs_on_a_core_of_its_chip():
    a, b = operands(5, TILE, TILE, TILE)
    program = tensix.product_program(a, b, chip="blackhole")
    assert np.array_equal(program.run(), tensix.matmul(a, b, chip="blackhole"))
    with pytest.raises(ValueError, match=r"^core must be of chip 'blackhole', not 'wormhole'$"):
        program.run(tensix.Core("wormhole"))


# Partial sums on scalars, and the digits that they lose.


def scalar(numerics, a, b, partials, *, dst32):
    """Return the Dst word of a row and a column of BF16 source words in LoFi, in blocks of one tile."""
    place, _, name = partials.partition("_")
    stored = {"tf32": Format.FP32}.get(name, Format[name.upper()])
    l1, last = None, len(a) - TILE
    for k in range(0, len(a), TILE):
        word = 0
        if l1 is not None and (place == "spill" or k == last):
            word = reloaded(numerics, l1, stored, Format[name.upper()], dst32=dst32)
        for half in (k, k + COLUMNS):
            products = b[half : half + COLUMNS].tolist(), a[half : half + COLUMNS].tolist()
            word = scalar_dot(numerics, word, *products, dst32=dst32, phase=0, **BF16)
        new = late_float(early_float(numerics, word, stored, dst32=dst32), stored, stored)
        l1 = add_to_l1(numerics, l1, new, stored) if place == "l1" and l1 is not None else new
    return word


BF16 = {"style": Style.BF16, "srca_format": Format.BF16, "srcb_format": Format.BF16}


def reloaded(numerics, code, stored, register, *, dst32):
    word = unpack_datum(numerics, code, stored, register, unsigned=False)
    if register is Format.FP32:
        return word
    if not dst32:
        return dst_word(numerics, moved_source(numerics, word), register, old=0)
    formats = dict.fromkeys(("srca_format", "srcb_format"), register)
    options = {"subtract": False, "accumulating": False, "style": Style(register.name), "dst32": True}
    return add(numerics, 0, 0, word, **options, **formats)


@pytest.mark.parametrize("preset", [WORMHOLE, BLACKHOLE], ids=CHIPS)
@pytest.mark.parametrize(
    ("partials", "dst32"),
    [(each, True) for each in PARTIALS[1:] if "fp16" not in each] + [("spill_bf16", False), ("l1_bf16", False)],
)
def test_partial_sums_of_the_twin(partials, dst32, preset):
    """Four blocks, so that the packer adds twice; numbers of a wide range."""
    rng, numerics = np.random.default_rng(6), preset.numerics
    a, b = (np.ldexp(rng.standard_normal((8, 4 * TILE)), rng.integers(-9, 9, (8, 4 * TILE))) for _ in range(2))
    a, b = (each.astype(ml_dtypes.bfloat16).astype(np.float32) for each in (a, b))
    options = {"fidelity": "LoFi", "block_k": TILE, "partials": partials, "dst32": dst32, "numerics": numerics}
    got = tensix.matmul(a, b.T.copy(), **options)
    words_a, words_b = (each.view(np.uint32) >> 13 for each in (a, b))
    for m, n in ((0, 0), (3, 5), (7, 7)):
        word = scalar(numerics, words_b[n], words_a[m], partials, dst32=dst32)
        assert got[m, n].view(np.uint32) == (word if dst32 else word << 16)


def test_a_vocabulary_s_depth():
    """tt-metal#46101 has a correlation of 0.975 at K = 128,256. FP32 partial sums that come back as TF32 (tt-mlir#8666) give 0.93
    in blocks of one tile and 0.98 in blocks of two, on normal numbers; whole FP32 and an accumulation in L1 lose nothing."""
    rng = np.random.default_rng(46101)
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((TILE, 128256), (128256, COLUMNS)))
    a, b = (each.astype(np.float32) for each in (a, b))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    right = tensix.prepare(b[np.newaxis], fidelity="HiFi4")

    def correlation(partials, block_k):
        found = tensix.multiply(a[np.newaxis], right, partials=partials, block_k=block_k)[0]
        return np.corrcoef(exact.reshape(-1), found.reshape(-1))[0, 1]

    assert 0.90 < correlation("spill_tf32", TILE) < 0.95
    assert 0.97 < correlation("spill_tf32", 2 * TILE) < 0.99
    assert correlation("spill_fp32", 2 * TILE) > 0.99999
    assert correlation("l1_tf32", 2 * TILE) > 0.99999
    assert 0.998 < correlation("spill_bf16", 2 * TILE) < 0.999


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"partials": "spill"}, "partials must be 'dst', 'spill_bf16',.*, not 'spill'.*"),
        (
            {"partials": "spill_fp32", "dst32": False},
            "partials must be 'dst', 'spill_bf16' or 'l1_bf16' with style BF16 and dst32 False, not 'spill_fp32'",
        ),
        ({"partials": "l1_bf16", "format": "fp16", "dst32": False}, "partials must be 'dst', 'spill_fp16' .*"),
        ({"partials": "spill_fp16"}, "partials must be .* with style BF16 and dst32 True, not 'spill_fp16'"),
        ({"block_k": 48}, "block_k must be a multiple of 32 that divides K, 96 with its padding, not 48"),
        ({"block_k": 64}, "block_k must be a multiple of 32 that divides K, 96 with its padding, not 64"),
        ({"block_k": 128}, "block_k must be 1 to 96, not 128"),
    ],
)
def test_mistakes(options, says):
    a, b = operands(7, TILE, 90, TILE)
    for function in (tensix.matmul, tensix.product_program):
        with pytest.raises(ValueError, match=f"^{says}$"):
            function(a, b, **options)
    with pytest.raises(ValueError, match=r"^partials must be 'dst' with style INT8 and dst32 True, not 'l1_fp32'$"):
        tensix.matmul(a.astype(np.int8), b.astype(np.int8), format="int8", partials="l1_fp32")


def test_matrices_beyond_l1():
    a, b = operands(8, 512, 512, 512)
    says = r"a and b must fit in L1, 1499136 bytes, not reach \d+"
    with pytest.raises(ValueError, match=f"^{says}$"):
        tensix.product_program(a, b, format="tf32")
