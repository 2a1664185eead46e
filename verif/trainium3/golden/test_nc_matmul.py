"""Matmul instructions of TensorE, and transposes, which move bits."""

import re
from dataclasses import replace
from fractions import Fraction
from itertools import product

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.arrays.codec import DTYPES, codes_of, decode_array, encode_array, format_of
from bitpath.golden.formats.catalogue import BF16, E2M1, E3M4, E4M3, E4M3FN, E5M2, FP16, FP32, TF32, Rounding
from bitpath.golden.formats.dot import ProductRounding
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.fp32 import add, convert, multiply
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3 import Xorwow, nc_matmul, nc_matmul_mx, nc_transpose, psum_random_bits
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX, TRAINIUM3_QUAD_MX_ALIGNED
from bitpath.golden.trainium3.declarations.vector import TRAINIUM2_BF16_PRODUCTS, TRAINIUM3_MATMUL
from bitpath.golden.trainium3.exact import multiply_add
from bitpath.golden.trainium3.exact.array import psum_write as exact_psum_write
from bitpath.golden.trainium3.matmul.instruction import psum_write
from bitpath.golden.trainium3.matmul.nc_matmul import TRANSPOSE_DTYPES
from bitpath.verif.trainium3.golden.samples import column_steps, instruction_side

# nc_matmul_mx: every documented constraint and its sentence, operands of every kind, and the write to PSUM.


E4, E5, FP4 = DTYPES[E4M3FN], DTYPES[E5M2], DTYPES[E2M1]
BF16_DTYPE = DTYPES[BF16]


def operands(p=32, m=2, n=3, x_dtype=E4, y_dtype=E4, seed=0):
    rng = np.random.default_rng(seed)
    limit = {E4: 0x7F, E5: 0x7C, FP4: 8}
    sides = []
    for dtype, free in ((x_dtype, m), (y_dtype, n)):
        codes = rng.integers(0, limit[dtype], (p, free, 4))
        sign = 8 if dtype == FP4 else 0x80
        sides.append((codes | rng.choice([0, sign], codes.shape)).astype(np.uint8).view(dtype))
    scales = [rng.integers(120, 134, (p // 8, free)).astype(np.uint8) for free in (m, n)]
    return *sides, *scales


def exact_result(x, y, x_scale, y_scale, m, n, numerics=TRAINIUM3_QUAD_MX.numerics):
    return column_steps(numerics, instruction_side(x, x_scale), instruction_side(y, y_scale), m, n)[-1].result


@pytest.mark.parametrize(("x_dtype", "y_dtype"), list(product((E4, E5, FP4), repeat=2)), ids=str)
@pytest.mark.parametrize("preset", [TRAINIUM3_QUAD_MX, TRAINIUM3_QUAD_MX_ALIGNED], ids=lambda preset: preset.name)
@pytest.mark.parametrize("p", [32, 64, 96, 128])
def test_every_pair_of_formats(p, preset, x_dtype, y_dtype):
    sides = operands(p=p, x_dtype=x_dtype, y_dtype=y_dtype)
    got = nc_matmul_mx(*sides, numerics=preset.numerics).view(np.uint32)
    for m, n in list(np.ndindex(got.shape))[:: 1 if p == 32 else 5]:
        assert got[m, n] == exact_result(*sides, m, n, preset.numerics)


def test_row_tiles_do_not_change_values():
    sides = operands()
    plain = nc_matmul_mx(*sides)
    for rows in (32, 64, 128):
        for start in range(0, 128, rows):
            tiled = nc_matmul_mx(*sides, tile_position=(start, 0), tile_size=(rows, 128))
            assert np.array_equal(tiled.view(np.uint32), plain.view(np.uint32))


@pytest.mark.parametrize(("flag", "accumulate"), [(0, True), (1, False), (2, True), (3, False), (4, True), (6, True)])
@pytest.mark.parametrize("dtype", [np.dtype(np.float32), BF16_DTYPE], ids=str)
def test_accumulate_flag(dtype, flag, accumulate):
    sides = operands()
    dst = np.full((2, 3), 1.5).astype(dtype)
    before = dst.copy()
    incoming = nc_matmul_mx(*sides).view(np.uint32)
    got = codes_of(nc_matmul_mx(*sides, dst=dst, psum_accumulate_flag=flag))
    present = int(codes_of(dst)[0, 0]) if accumulate else None
    expected = [[exact_psum_write(int(bits), present, format_of(dtype)) for bits in row] for row in incoming]
    assert got.tolist() == expected
    assert np.array_equal(codes_of(dst), codes_of(before))


def test_stochastic_rounding_of_an_instruction():
    sides = operands()
    random_bits = np.random.default_rng(1).integers(0, 1 << 16, (2, 3)).astype(np.uint16)
    incoming = nc_matmul_mx(*sides).view(np.uint32)
    got = nc_matmul_mx(*sides, dst_dtype=BF16_DTYPE, rounding="sr", random_bits=random_bits)
    expected = (incoming.astype(np.uint64) + random_bits) >> 16
    assert codes_of(got).tolist() == expected.tolist()


INTERESTING = [0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x3F808000, 0x3F818000, 0x3F808001, 0x7F7F7FFF, 0x7F7F8000]
INTERESTING += [0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x33800000, 0x4B7FFFFF]
INTERESTING += [code | 0x80000000 for code in INTERESTING]


@pytest.mark.parametrize("rounding", [Rounding.RNE, Rounding.SR], ids=lambda rounding: rounding.value)
@pytest.mark.parametrize("fmt", [FP32, BF16], ids=lambda fmt: fmt.name)
def test_psum_tiers(fmt, rounding):
    rng = np.random.default_rng(6)
    incoming = np.concatenate([INTERESTING, rng.integers(0, 1 << 32, 28)]).astype(np.uint32)
    incoming, present = (each.ravel() for each in np.meshgrid(incoming, incoming))
    present = present if fmt is FP32 else present >> 16
    random_bits = rng.choice([0, 1, 0x7FFF, 0x8000, 0xFFFF], incoming.shape).astype(np.uint16)
    carrier = DTYPES[fmt]
    for content in (None, present.astype(f"u{carrier.itemsize}").view(carrier)):
        got = codes_of(psum_write(incoming, content, carrier, rounding, random_bits))
        contents = [None] * len(incoming) if content is None else present.tolist()
        expected = [
            exact_psum_write(a, b, fmt, rounding, r)
            for a, b, r in zip(incoming.tolist(), contents, random_bits.tolist(), strict=True)
        ]
        assert got.tolist() == expected


def test_bf16_accumulation_rounds_twice():
    """tenstorrent/tt-metal#46101's lesson: FP32 first, then BF16. Fused, 1 + 2**-8 + 2**-24 would round up."""
    assert exact_psum_write(0x3B800080, 0x3F80, BF16) == 0x3F80
    assert exact_psum_write(0x3B800000, 0x3F80, BF16) == 0x3F80
    assert exact_psum_write(0x3B810000, 0x3F80, BF16) == 0x3F81


def test_psum_write_by_hand():
    assert exact_psum_write(0x3F808000, None, BF16) == 0x3F80  # a tie, to even
    assert exact_psum_write(0x3F818000, None, BF16) == 0x3F82
    assert exact_psum_write(0x7F7FFFFF, None, BF16) == 0x7F80
    assert exact_psum_write(0x3F800001, None, BF16, Rounding.SR, 0xFFFF) == 0x3F81
    assert exact_psum_write(0x3F800000, None, BF16, Rounding.SR, 0xFFFF) == 0x3F80
    assert exact_psum_write(0xBF808000, None, BF16, Rounding.SR, 0x8000) == 0xBF81
    assert exact_psum_write(0x7F7FFFFF, None, BF16, Rounding.SR, 1) == 0x7F80
    assert exact_psum_write(0xFF800000, None, BF16, Rounding.SR, 0xFFFF) == 0xFF80
    assert exact_psum_write(0xFFFFFFFF, None, BF16, Rounding.SR, 0xFFFF) == 0x7FC0
    assert exact_psum_write(0x7F800000, 0xFF800000, FP32) == 0x7FC00000
    assert exact_psum_write(0x80000000, 0x80000000, FP32) == 0x80000000
    assert exact_psum_write(0x3F800000, 0xBF800000, FP32) == 0x00000000
    for arguments, sentence in (
        ((0, None, E5M2), "destination must be FP32 or BF16, not E5M2"),
        ((0, None, BF16, Rounding.RTZ), "rounding must be RNE or SR, not RTZ"),
        ((0, None, BF16, Rounding.SR, 65536), "random_bits must be 0 to 65535, not 65536"),
        ((0, None, BF16, Rounding.SR, -1), "random_bits must be 0 to 65535, not -1"),
    ):
        with pytest.raises(ValueError, match=sentence):
            exact_psum_write(*arguments)


def test_stochastic_rounding_distribution():
    """NVIDIA/TransformerEngine#3281: stochastic rounding returned zeros.

    numpy's PCG64, seed 20251201, 100,000 draws. The share rounded up is binomial with p = fraction / 2**16; five standard
    deviations are allowed.
    """
    rng = np.random.default_rng(20251201)
    draws = 100_000
    for fraction in (0x0000, 0x0001, 0x1000, 0x4000, 0x8000, 0xC000, 0xFFFF):
        for base in (0x3F800000, 0xC1230000, 0x00010000):
            incoming = np.full(draws, base | fraction, np.uint32)
            random_bits = rng.integers(0, 1 << 16, draws).astype(np.uint16)
            got = codes_of(psum_write(incoming, None, BF16_DTYPE, Rounding.SR, random_bits))
            up = got == (base >> 16) + 1
            assert np.all(up | (got == base >> 16))
            probability = fraction / 65536
            assert abs(up.mean() - probability) <= 5 * np.sqrt(probability * (1 - probability) / draws)
    exhaustive = np.arange(1 << 16).astype(np.uint16)
    got = psum_write(np.full(1 << 16, 0x3F801234, np.uint32), None, BF16_DTYPE, Rounding.SR, exhaustive)
    assert (codes_of(got) == 0x3F81).sum() == 0x1234


def call(**changes):
    """Call nc_matmul_mx with valid operands, but for the changes."""
    names = ("stationary", "moving", "stationary_scale", "moving_scale")
    return nc_matmul_mx(**dict(zip(names, operands(), strict=True)) | changes)


def zeros(*shape, dtype=E4):
    return np.zeros(shape, dtype)


def side(name, p, free):
    """An operand of zeros with scales of 1."""
    return {name: zeros(p, free, 4), f"{name}_scale": np.full((p // 8, free), 127, np.uint8)}


def tile(position, size):
    return {"tile_position": position, "tile_size": size}


def exact(**changes):
    return {"numerics": replace(TRAINIUM3_QUAD_MX.numerics, **changes)}


BF16_DST = {"dst_dtype": BF16_DTYPE}
STOCHASTIC = BF16_DST | {"rounding": "sr"}
WRONG_TYPES = [
    *(
        ({name: zeros(32, 2, 4, dtype=dtype)}, f"{name} must be float8_e4m3fn, float8_e5m2 or float4_e2m1fn, not")
        for name, dtype in (("stationary", np.uint8), ("moving", ml_dtypes.float8_e4m3))
    ),
    ({"stationary_scale": np.ones((4, 2))}, "stationary_scale must be uint8, not float64"),
    ({"dst": zeros(2, 3, dtype=np.float16)}, "dst must be float32 or bfloat16, not float16"),
    ({"dst_dtype": np.float64}, "dst_dtype must be float32 or bfloat16, not float64"),
    (STOCHASTIC | {"random_bits": np.zeros((2, 3))}, "random_bits must be uint16, not float64"),
]
WRONG_VALUES = [
    (
        {"moving": np.full((32, 3, 4), 16, np.uint8).view(FP4)},
        "moving has float4_e2m1fn bytes above 15; codes are 0 to 15",
    ),
    ({"stationary": zeros(32, 8)}, "stationary must have shape [P, M, 4], not (32, 8)"),
    ({"moving": zeros(32, 3, 2)}, "moving must have shape [P, N, 4], not (32, 3, 2)"),
    *(
        ({"stationary": zeros(p, 2, 4)}, f"stationary must span 32, 64, 96 or 128 partitions, not {p}")
        for p in (48, 160, 0)
    ),
    (side("moving", 64, 3), "moving must span stationary's 32 partitions, not 64"),
    *(
        (side("stationary", 32, m), f"stationary must have an even free size M from 2 to 128, not {m}")
        for m in (3, 130, 0)
    ),
    *(
        (side("moving", 32, n), f"moving must have a free size N from 1 to 512 with a float32 dst, not {n}")
        for n in (513, 0)
    ),
    (side("moving", 32, 1025) | BF16_DST, "moving must have a free size N from 1 to 1024 with a bfloat16 dst,"),
    ({"moving_scale": np.ones((16, 3), np.uint8)}, "moving_scale must have shape (4, 3) for moving (32, 3, 4), not"),
    (
        {"moving_scale": np.ones((32, 4), np.uint8)},
        "moving_scale must have shape (4, 3) for moving (32, 3, 4), not (4, 4)",
    ),
    ({"moving_scale_offset": 4}, "moving_scale_offset must be 0 unless moving_scale lies in quadrants, not 4"),
    (
        {"stationary_scale": np.ones((32, 2), np.uint8), "stationary_scale_offset": 16},
        "stationary_scale_offset must be 0, 4, 8 or 12, not 16",
    ),
    (
        side("moving", 32, 4097) | {"multi_bank": True},
        "moving must have a free size N from 1 to 4096 with a float32 dst, not 4097",
    ),
    ({"tile_size": (32, 128)}, "tile_position must be given with tile_size, not None"),
    ({"tile_position": (0, 0)}, "tile_size must be given with tile_position, not None"),
    *(
        (tile((0, 0), size), f"tile_size must be (32, 128), (64, 128) or (128, 128), not {size}")
        for size in ((96, 128), (32, 64))
    ),
    (tile((32, 0), (64, 128)), "tile_position must be (0, 0) or (64, 0) with tile_size (64,"),
    *(
        (tile(place, (32, 128)), "tile_position must be (0, 0), (32, 0), (64, 0) or (96, 0) with tile_size (32, 128),")
        for place in ((128, 0), (0, 32))
    ),
    (tile((0,), (32, 128)), "tile_position must have 2 elements, not 1"),
    (
        side("stationary", 96, 2) | side("moving", 96, 3) | tile((0, 0), (64, 128)),
        "stationary must span up to 64 partitions in a tile of 64 rows, not 96",
    ),
    *(
        ({"psum_accumulate_flag": flag}, f"psum_accumulate_flag must be 0, 1, 2, 3, 4 or 6, not {flag}")
        for flag in (5, 7, 8, -1)
    ),
    ({"psum_accumulate_flag": 2}, "dst is None; an accumulating psum_accumulate_flag needs"),
    ({"dst": zeros(3, 2, dtype=np.float32)}, "dst must have shape (2, 3), not (3, 2)"),
    ({"rounding": "rtz"}, "rounding must be 'rne' or 'sr', not 'rtz'"),
    ({"rounding": "sr"}, "dst must be bfloat16 with rounding 'sr', not float32"),
    (STOCHASTIC, "random_bits is None; rounding 'sr' needs uint16 of shape (2, 3)"),
    (STOCHASTIC | {"random_bits": np.zeros(6, np.uint16)}, "random_bits must have shape (2, 3), not (6,)"),
    ({"random_bits": np.zeros((2, 3), np.uint16)}, "random_bits must be None with rounding 'rne', not given"),
    (exact(terms=8), "numerics must have 4 terms, not 8"),
    (exact(element_formats=(E5M2,)), "stationary must be E5M2 at the array with these numerics, not E4M3FN"),
]


@pytest.mark.parametrize(("p", "offsets"), [(32, (0, 12)), (96, (8, 4)), (128, (12, 12))])
def test_scales_in_quadrants(p, offsets):
    """Scales as SBUF holds them, each operand's by itself; every other row is poison."""
    x, y, *scales = operands(p=p)
    tiles = [np.full((p, scale.shape[1]), 255, np.uint8) for scale in scales]
    for tile_, scale, offset in zip(tiles, scales, offsets, strict=True):
        for group, row in enumerate(scale):
            tile_[32 * (group // 4) + group % 4 + offset] = row
    expected = nc_matmul_mx(x, y, *scales)
    assert not np.isnan(expected).any()
    in_quadrants = {"stationary_scale_offset": offsets[0], "moving_scale_offset": offsets[1]}
    assert nc_matmul_mx(x, y, *tiles, **in_quadrants).tobytes() == expected.tobytes()
    mixed = nc_matmul_mx(x, y, tiles[0], scales[1], stationary_scale_offset=offsets[0])
    assert mixed.tobytes() == expected.tobytes()


def test_a_result_may_span_banks_of_nc_matmul_mx():
    x, y, x_scale, y_scale = operands(n=513)
    one, rest = (nc_matmul_mx(x, y[:, part], x_scale, y_scale[:, part]) for part in (slice(512), slice(512, None)))
    whole = nc_matmul_mx(x, y, x_scale, y_scale, multi_bank=True)
    assert whole.tobytes() == np.concatenate((one, rest), axis=1).tobytes()


def test_constraints(subtests):
    for error, changes, sentence in [
        *((TypeError, *row) for row in WRONG_TYPES),
        *((ValueError, *row) for row in WRONG_VALUES),
    ]:
        with subtests.test(sentence), pytest.raises(error, match=f"^{re.escape(sentence)}"):
            call(**changes)


def test_largest_sizes():
    fp32 = call(**side("stationary", 32, 128), **side("moving", 32, 512))
    assert (fp32.shape, fp32.dtype) == ((128, 512), np.float32)
    bf16 = call(**side("moving", 32, 1024), **BF16_DST)
    assert (bf16.shape, bf16.dtype) == ((2, 1024), BF16_DTYPE)


# Transposes move bits: against loops over elements, on TensorE, on VectorE and through nc_matmul.


@pytest.mark.parametrize("dtype", TRANSPOSE_DTYPES, ids=str)
def test_every_bit_moves(dtype):
    rng = np.random.default_rng(dtype.num)
    data = rng.integers(0, 256, (7, 5 * dtype.itemsize), np.uint8).view(dtype)
    words = data.view(f"u{dtype.itemsize}")
    image = nc_transpose(data)
    assert image.dtype == (np.uint16 if dtype.itemsize == 1 else dtype)
    block = nc_transpose(data, engine="vector")
    assert block.dtype == dtype
    for p, f in np.ndindex(data.shape):
        assert image.view(f"u{image.itemsize}")[f, p] == words[p, f]
        assert block.view(f"u{dtype.itemsize}")[f, p] == words[p, f]


@pytest.mark.parametrize("fmt", [FP16, E3M4, E5M2, FP32], ids=lambda fmt: fmt.name)
def test_a_pe_passes_its_bits_south_where_the_moving_element_is_one(fmt):
    """Each PE hands on the partial sum from the north, or its own bits where the moving element is 1."""
    rng = np.random.default_rng(fmt.width)
    data = rng.integers(0, 1 << fmt.width, (6, 4)).astype(f"u{fmt.width // 8}").view(DTYPES[fmt])
    picks = [3, 3, None, 0, 5]
    moving = np.zeros((6, len(picks)), DTYPES[fmt])
    for column, row in enumerate(picks):
        if row is not None:
            moving[row, column] = 1
    got = nc_matmul(data, moving, is_transpose=True)
    got = got.view(f"u{got.itemsize}")
    for m, n in np.ndindex(got.shape):
        south = 0
        for row in range(6):
            south = int(codes_of(data)[row, m]) if moving[row, n] == 1 else south
        assert got[m, n] == south


def test_a_nan_of_fp8_in_psum():
    data = np.zeros((8, 8), np.uint8)
    data[2, 5] = 0x7F
    assert nc_transpose(data.view(ml_dtypes.float8_e4m3fn))[5, 2] == 0x007F


BAD = [
    (np.zeros((2, 2)), {}, TypeError, "data must be bfloat16, float16, float32, .* uint32, not float64"),
    (np.zeros(2, np.float32), {}, ValueError, r"data must have shape \[P, F\], not \(2,\)"),
    (
        np.zeros((129, 2), np.int8),
        {},
        ValueError,
        r"data must have up to 128 partitions and columns on tensor, not \(129,",
    ),
    (
        np.zeros((2, 0), np.int8),
        {},
        ValueError,
        r"data must have up to 128 partitions and columns on tensor, not \(2, 0",
    ),
    (
        np.zeros((2, 33), np.int8),
        {"engine": "vector"},
        ValueError,
        "data must have up to 32 partitions and columns on v",
    ),
    (np.zeros((2, 2), np.int8), {"engine": "scalar"}, ValueError, "engine must be 'tensor' or 'vector', not 'scalar'"),
]


def test_arguments_of_transposes(subtests):
    for data, options, error, sentence in BAD:
        with subtests.test(sentence), pytest.raises(error, match=f"^{sentence}"):
            nc_transpose(data, **options)


# nc_matmul: the array without scales, against the scalar multiply-add and against exact sums.


EXACT = TRAINIUM3_MATMUL.numerics
BF16_PRODUCTS = TRAINIUM2_BF16_PRODUCTS.numerics
S1E8M15 = replace(FP32, name="S1E8M15", fraction_bits=15, nan_code=0x7FC000)


def products(fmt, rounding=Rounding.RNE):
    return ProductRounding(format=fmt, rounding=rounding)


NUMERICS = {
    "exact": EXACT,
    "product": replace(EXACT, product_rounding=products(FP32)),
    "product_rtz": replace(EXACT, product_rounding=products(FP32, Rounding.RTZ), accumulator_rounding=Rounding.RTZ),
    "rtz": replace(EXACT, accumulator_rounding=Rounding.RTZ, tf32_rounding=Rounding.RTZ),
    "m15": replace(EXACT, accumulator=S1E8M15, product_rounding=products(S1E8M15)),
    "bf16_products": BF16_PRODUCTS,
    "bf16_products_rtz": replace(
        BF16_PRODUCTS, product_rounding=products(BF16, Rounding.RTZ), accumulator_rounding=Rounding.RTZ
    ),
}
PAIRS = [
    pair
    for formats in (EXACT.narrow_formats, EXACT.wide_formats)
    for pair in product(formats, repeat=2)
    if set(pair) != {E4M3, E4M3FN}
]


def element_codes(rng, fmt, shape, kind):
    """Codes of a format, all kinds; or finite ones of exponents near 1."""
    if kind == "any":
        draw = rng.random(shape)
        corners = [0, 1, fmt.fraction_mask, fmt.fraction_mask + 1, fmt.max_code, fmt.max_code + 1, fmt.nan_code]
        special = rng.choice(corners, shape) | rng.choice([0, fmt.sign_mask], shape)
        return np.where(draw < 0.3, special, rng.integers(0, 1 << fmt.width, shape))
    exponent = np.clip(rng.integers(-4, 5, shape) + fmt.bias, 0, fmt.exponent_mask - 1)
    fraction = rng.integers(0, fmt.fraction_mask + 1, shape)
    return exponent << fmt.fraction_bits | fraction | rng.choice([0, fmt.sign_mask], shape)


def matrix(fmt, codes):
    """The array that carries codes, and nc_matmul's word for TF32, whose codes are FP32's upper 19 bits."""
    if fmt is TF32:
        return (codes << FP32.fraction_bits - TF32.fraction_bits).astype(np.uint32).view(np.float32)
    return codes.astype(f"u{fmt.width // 8}").view(DTYPES[fmt])


def run(x, x_format, y, y_format, **options):
    tf32 = {"stationary_tf32": x_format is TF32, "moving_tf32": y_format is TF32}
    return nc_matmul(matrix(x_format, x), matrix(y_format, y), **tf32, **options)


def chained(numerics, x, x_format, y, y_format):
    """FP32 codes [M][N] of the scalar tier."""
    result = np.zeros((x.shape[1], y.shape[1]), np.int64)
    for m, n in np.ndindex(result.shape):
        for k in range(len(x)):
            result[m, n] = multiply_add(numerics, int(x[k, m]), x_format, int(y[k, n]), y_format, int(result[m, n]))
    return result


@pytest.mark.parametrize("kind", ["near", "any"])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0].name}x{pair[1].name}")
def test_tiers_agree(pair, kind):
    rng = np.random.default_rng([PAIRS.index(pair), len(kind)])
    for index, numerics in enumerate(NUMERICS.values()):
        shape = (5, 4, 3) if index == 0 else (3, 2, 3)
        if E4M3FN in pair and numerics.narrow_formats != EXACT.narrow_formats:
            continue  # Trainium2 does not take it
        x, y = (element_codes(rng, fmt, (shape[0], free), kind) for fmt, free in zip(pair, shape[1:], strict=True))
        got = run(x, pair[0], y, pair[1], numerics=numerics).view(np.uint32)
        assert got.tolist() == chained(numerics, x, pair[0], y, pair[1]).tolist()


SPECIALS = (0, 1 << 31, 1, 0x007FFFFF, 0x00800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000)
codes32 = st.one_of(st.sampled_from(SPECIALS), st.integers(0, (1 << 32) - 1))


def bf16_product(x, y):
    """The product of two FP32 codes, rounded once to BF16, as an FP32 code."""
    a, b = decode(FP32, x), decode(FP32, y)
    if a.kind is not Kind.FINITE or b.kind is not Kind.FINITE:
        return multiply(x, y)
    return round_to_format(a.value * b.value, BF16, zero_sign=a.sign ^ b.sign) << 16


@settings(max_examples=120, deadline=None)
@given(codes32, codes32, codes32)
def test_one_step_onto_anything(x, y, partial):
    """Arrays take the partial sum as FP32 times 1, the first of two rows; the scalar step is checked by its definition.

    It is one rounding of the exact sum; with a rounded product, a multiplication in its format and an addition of FP32.
    """
    for numerics in NUMERICS.values():
        start = partial & -(1 << 23 - numerics.accumulator.fraction_bits)
        sides = np.array([[start], [x]]), FP32, np.array([[0x3F800000], [y]]), FP32
        assert run(*sides, numerics=numerics).view(np.uint32) == chained(numerics, *sides)
    separate = multiply_add(NUMERICS["product"], x, FP32, y, FP32, partial)
    assert separate == add(multiply(x, y), partial)
    halved = multiply_add(BF16_PRODUCTS, x, FP32, y, FP32, partial)
    assert halved == add(bf16_product(x, y), partial)
    fused = multiply_add(EXACT, x, FP32, y, FP32, partial)
    operands = [decode(FP32, code) for code in (x, y, partial)]
    if all(each.kind.value == "finite" for each in operands):
        total = operands[0].value * operands[1].value + operands[2].value
        sign = (operands[0].sign ^ operands[1].sign) & operands[2].sign
        assert fused == round_to_format(total, FP32, zero_sign=sign)
    else:
        assert fused == separate or decode(FP32, fused).kind.value == "infinity"


def test_fused_and_separate_rounding_differ():
    """(1 + 2**-12)**2 - (1 + 2**-11) leaves 2**-24, which a product of 24 bits has lost: a tie that went to even."""
    x = np.array([[1.0], [1 + 2.0**-12]], np.float32)
    y = np.array([[-1 - 2.0**-11], [1 + 2.0**-12]], np.float32)
    assert nc_matmul(x, y)[0, 0] == 2.0**-24
    assert nc_matmul(x, y, numerics=NUMERICS["product"])[0, 0] == 0


def test_bf16_products_of_trainium2():
    """1.0078125**2 is 1.015625 + 2**-14; in BF16 the last term is lost before the subtraction."""
    x = np.array([[1.0078125], [-1.0]], ml_dtypes.bfloat16)
    y = np.array([[1.0078125], [1.015625]], ml_dtypes.bfloat16)
    assert nc_matmul(x, y)[0, 0] == 2.0**-14
    assert nc_matmul(x, y, numerics=BF16_PRODUCTS)[0, 0] == 0
    codes = [(0x3F81, 0x3F81), (0xBF80, 0x3F82)]
    for numerics, expected in ((EXACT, 0x38800000), (BF16_PRODUCTS, 0)):
        partial = 0
        for a, b in codes:
            partial = multiply_add(numerics, a, BF16, b, BF16, partial)
        assert partial == expected


@pytest.mark.parametrize("rounding", [Rounding.RNE, Rounding.RTZ], ids=lambda each: each.name)
def test_every_bf16_product_of_two_binades(rounding):
    """All pairs of fractions times signs, and exponents that leave BF16's range or reach its subnormals."""
    numerics = replace(BF16_PRODUCTS, product_rounding=products(BF16, rounding))
    fractions = np.arange(128, dtype=np.uint16)
    for x_exponent, y_exponent in (
        (127, 127),
        (254, 127),
        (254, 128),
        (1, 127),
        (60, 66),
        (60, 60),
        (0, 127),
        (0, 130),
    ):
        x, y = x_exponent << 7 | fractions, y_exponent << 7 | fractions | 0x8000
        got = nc_matmul(matrix(BF16, x[None]), matrix(BF16, y[None]), numerics=numerics).view(np.uint32)
        values = [decode_array(BF16, codes) for codes in (x, y)]
        exact = np.multiply.outer(*values)  # 16 bits
        expected = encode_array(BF16, exact, rounding=rounding).astype(np.uint32) << 16
        # A product that rounds to -0 becomes +0 with the partial sum.
        assert np.array_equal(got, np.where(expected == 1 << 31, 0, expected))


def test_deep_sums_are_near_the_exact_ones():
    rng = np.random.default_rng(6)
    x, y = (rng.standard_normal((128, free)).astype(ml_dtypes.bfloat16) for free in (16, 24))
    exact = x.astype(np.float64).T @ y.astype(np.float64)  # 53 bits: good to 2**-40
    magnitude = np.abs(x.astype(np.float64)).T @ np.abs(y.astype(np.float64))
    assert np.all(np.abs(nc_matmul(x, y) - exact) <= 5e-7 * magnitude)


def test_rows_are_added_in_order():
    """1 and many halves of its unit: one by one they are lost, the other way round they are not."""
    x = np.array([[1.0], *[[2.0**-24]] * 8], np.float32)
    ones = np.ones((9, 1), np.float32)
    assert nc_matmul(x, ones)[0, 0] == 1
    assert nc_matmul(x[::-1], ones)[0, 0] == 1 + 2.0**-21


def test_gamma_broadcast():
    """Depth 1 by ones: every code of the format comes back, but for -0 and the other NaNs."""
    for fmt in (BF16, FP16):
        codes = np.arange(1 << 16).reshape(-1, 512)
        for row in codes[:: 1 if fmt is BF16 else 4]:
            gamma = matrix(fmt, row[np.newaxis])
            got = nc_matmul(np.ones((1, 2), ml_dtypes.bfloat16), gamma)
            expected = encode_array(FP32, decode_array(fmt, row) + 0.0)
            assert np.array_equal(got.view(np.uint32), np.stack([expected, expected]))


def test_tf32_is_rounded_on_its_way_in():
    x = np.array([[1 + 2.0**-11, 1 + 3 * 2.0**-11, 1 + 2.0**-23]], np.float32)
    one = np.ones((1, 1), np.float32)
    assert nc_matmul(x, one, stationary_tf32=True)[:, 0].tolist() == [1, 1 + 2.0**-9, 1]
    assert nc_matmul(one, x, moving_tf32=True)[0].tolist() == [1, 1 + 2.0**-9, 1]
    truncated = nc_matmul(x, one, stationary_tf32=True, numerics=NUMERICS["rtz"])
    assert truncated[:, 0].tolist() == [1, 1 + 2.0**-10, 1]
    assert nc_matmul(x, one)[:, 0].tolist() == x[0].tolist()


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_psum_accumulates(dtype):
    """Two instructions of a group, in FP32 and in BF16, which is rounded a second time."""
    rng = np.random.default_rng(7)
    x, y = rng.standard_normal((2, 8, 4)).astype(np.float16), rng.standard_normal((2, 8, 5)).astype(np.float16)
    first = nc_matmul(x[0], y[0], dst_dtype=dtype, psum_accumulate_flag=1)
    second = nc_matmul(x[1], y[1], dst=first, psum_accumulate_flag=2)
    assert second.dtype == dtype
    fmt = FP32 if dtype is np.float32 else BF16
    results = [chained(EXACT, codes_of(a), FP16, codes_of(b), FP16) for a, b in zip(x, y, strict=True)]
    for m, n in np.ndindex(4, 5):
        present = exact_psum_write(int(results[0][m, n]), None, fmt)
        assert codes_of(second)[m, n] == exact_psum_write(int(results[1][m, n]), present, fmt)
    fresh = nc_matmul(x[1], y[1], dst=first)
    assert np.array_equal(codes_of(fresh), codes_of(nc_matmul(x[1], y[1], dst_dtype=dtype)))


def test_stochastic_rounding_takes_bits_of_xorwow():
    rng = np.random.default_rng(8)
    x, y = rng.standard_normal((4, 20)).astype(np.float16), rng.standard_normal((4, 6)).astype(np.float16)
    bits = psum_random_bits(Xorwow(rng.integers(0, 1 << 32, (3, 4, 6), dtype=np.uint32)), 20, 6)
    got = codes_of(nc_matmul(x, y, dst_dtype=ml_dtypes.bfloat16, rounding="sr", random_bits=bits))
    exact = nc_matmul(x, y).view(np.uint32)
    for m, n in np.ndindex(20, 6):
        assert got[m, n] == exact_psum_write(int(exact[m, n]), None, BF16, Rounding.SR, int(bits[m, n]))
    assert len(np.unique(bits)) > 100


def test_tiles_of_the_array_do_not_change_values():
    rng = np.random.default_rng(9)
    x, y = rng.standard_normal((2, 30, 20)).astype(ml_dtypes.bfloat16)
    whole = nc_matmul(x, y)
    for size in product((32, 64, 128), repeat=2):
        for position in product(*(range(0, 128, each) for each in size)):
            assert np.array_equal(nc_matmul(x, y, tile_size=size, tile_position=position), whole)


def test_e3m4():
    x = np.array([[15.5, 2.0**-6, -0.25]], ml_dtypes.float8_e3m4)
    assert nc_matmul(x, np.array([[2.0]], ml_dtypes.float8_e5m2))[:, 0].tolist() == [31, 2.0**-5, -0.5]
    assert E3M4.max == Fraction(31, 2)
    assert convert(0x7F7FFFFF, FP32, E3M4) == 0x70


def test_a_result_may_span_banks_of_nc_matmul():
    x, y = (np.random.default_rng(1).standard_normal((5, n)).astype(BF) for n in (3, 513))
    one, rest = (nc_matmul(x, y[:, part]) for part in (slice(512), slice(512, None)))
    assert nc_matmul(x, y, multi_bank=True).tobytes() == np.concatenate((one, rest), axis=1).tobytes()


def ones(dtype, *shape):
    return np.ones(shape, dtype)


BF, F32, E4_NC_MATMUL, E4FN = ml_dtypes.bfloat16, np.float32, ml_dtypes.float8_e4m3, ml_dtypes.float8_e4m3fn
GOOD = (ones(BF, 2, 4), ones(BF, 2, 3))
BAD_NC_MATMUL = [
    ((ones(np.float64, 2, 4), GOOD[1]), {}, TypeError, "stationary must be bfloat16, float16, float32, float8_e4m3,"),
    ((ones(BF, 2, 4, 1), GOOD[1]), {}, ValueError, r"stationary must have shape \[K, M\] with K from 1 to 128, not \(2, 4,"),
    ((GOOD[0], ones(BF, 0, 3)), {}, ValueError, r"moving must have shape \[K, N\] with K from 1 to 128, not \(0, 3\)"),
    ((ones(BF, 129, 1), ones(BF, 129, 1)), {}, ValueError, r"stationary must have shape \[K, M\] with K from 1 to 128, not \(129,"),
    ((GOOD[0], ones(BF, 3, 3)), {}, ValueError, "moving must have stationary's K = 2, not 3"),
    ((ones(BF, 2, 129), GOOD[1]), {}, ValueError, "stationary must have a free size M from 1 to 128, not 129"),
    ((GOOD[0], ones(BF, 2, 513)), {}, ValueError, "moving must have a free size N from 1 to 512 with a float32 dst, not"),
    ((GOOD[0], ones(BF, 2, 1025)), {"dst_dtype": BF}, ValueError, "moving must have a free size N from 1 to 1024 with a bfloat16 dst,"),
    ((GOOD[0], ones(BF, 2, 4097)), {"multi_bank": True}, ValueError, "moving must have a free size N from 1 to 4096 with a float32 dst,"),
    ((ones(F32, 2, 4), GOOD[1]), {}, ValueError, "TF32 and FP32 must be multiplied with each other only, but stationary"),
    (
        (ones(E4_NC_MATMUL, 2, 4), ones(E4FN, 2, 3)), {}, ValueError,
        "a matmul must not mix E4M3 and E4M3FN, but stationary is float8_e4m3",
    ),
    (GOOD, {"stationary_tf32": True}, ValueError, "stationary must be float32 with stationary_tf32, not bfloat16"),
    (GOOD, {"moving_tf32": 1}, TypeError, "moving_tf32 must be True or False, not 1"),
    (GOOD, {"numerics": "exact"}, TypeError, r"numerics must be a MatmulNumerics \(preset.numerics\), not 'exact'"),
    (GOOD, {"numerics": replace(EXACT, narrow_formats=(FP16,))}, ValueError, "formats must be among FP16, TF32, FP32, but stationary is bfloat16"),
    (GOOD, {"psum_accumulate_flag": 0}, ValueError, "dst is None; an accumulating psum_accumulate_flag needs"),
    (GOOD, {"psum_accumulate_flag": 5}, ValueError, "psum_accumulate_flag must be 0, 1, 2, 3, 4 or 6, not 5"),
    (GOOD, {"dst": ones(F32, 3, 4)}, ValueError, r"dst must have shape \(4, 3\), not \(3, 4\)"),
    (GOOD, {"dst_dtype": np.float16}, TypeError, "dst_dtype must be float32 or bfloat16, not float16"),
    (GOOD, {"rounding": "sr"}, ValueError, "dst must be bfloat16 with rounding 'sr', not float32"),
    (GOOD, {"rounding": "sr", "dst_dtype": BF}, ValueError, "random_bits is None; rounding 'sr' needs uint16"),
    (GOOD, {"tile_size": (32, 128)}, ValueError, "tile_position must be given with tile_size, not None"),
    (GOOD, {"tile_size": (16, 32), "tile_position": (0, 0)}, ValueError, r"tile_size must be \(32, 32\), \(32, 64\), \(32, 128\), \(64, 32\),"),
    (GOOD, {"tile_size": (32, 32), "tile_position": (0, 16)}, ValueError, r"tile_position must be \(0, 0\), \(0, 32\), \(0, 64\), \(0, 96\),"),
    (
        (ones(BF, 2, 33), GOOD[1]), {"tile_size": (32, 32), "tile_position": (0, 0)}, ValueError,
        "stationary must span up to 32 columns in a tile of 32 columns, not 33",
    ),
    (
        (ones(BF, 33, 2), ones(BF, 33, 2)), {"tile_size": (32, 32), "tile_position": (0, 0)}, ValueError,
        "stationary must span up to 32 partitions in a tile of 32 rows, not 33",
    ),
]  # fmt: skip


def test_arguments_of_nc_matmul(subtests):
    for operands, options, error, sentence in BAD_NC_MATMUL:
        with subtests.test(sentence), pytest.raises(error, match=f"^{sentence}"):
            nc_matmul(*operands, **options)


def test_scalar_arguments():
    with pytest.raises(
        ValueError, match="partial_sum is 0x00000001; its lowest 8 bits are 0 on the accumulator's grid"
    ):
        multiply_add(NUMERICS["m15"], 0, FP32, 0, FP32, 1)
    with pytest.raises(ValueError, match=r"formats must be among E4M3, E5M2, .*, but x_format is E4M3FN"):
        multiply_add(BF16_PRODUCTS, 0, E4M3FN, 0, BF16, 0)
    with pytest.raises(ValueError, match="formats must be among BF16, TF32, FP32, but y_format is E5M2"):
        multiply_add(replace(EXACT, narrow_formats=(BF16,)), 0, BF16, 0, E5M2, 0)
    with pytest.raises(ValueError, match="TF32 and FP32 must be multiplied with each other only, but x_format"):
        multiply_add(EXACT, 0, FP32, 0, BF16, 0)
