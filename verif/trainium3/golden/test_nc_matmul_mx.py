"""nc_matmul_mx: every documented constraint and its sentence, operands of every kind, and the write to PSUM."""

import re
from dataclasses import replace
from itertools import product

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.arrays.codec import DTYPES, codes_of, format_of
from bitpath.golden.formats.catalogue import BF16, E2M1, E4M3FN, E5M2, FP32, Rounding
from bitpath.golden.trainium3 import nc_matmul_mx
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX, TRAINIUM3_QUAD_MX_ALIGNED
from bitpath.golden.trainium3.exact.dot import psum_write as exact_psum_write
from bitpath.golden.trainium3.matmul.instruction import psum_write
from bitpath.verif.trainium3.golden.exact_columns import column_steps, instruction_side

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


def test_a_result_may_span_banks():
    x, y, x_scale, y_scale = operands(n=513)
    one, rest = (nc_matmul_mx(x, y[:, part], x_scale, y_scale[:, part]) for part in (slice(512), slice(512, None)))
    whole = nc_matmul_mx(x, y, x_scale, y_scale, multi_bank=True)
    assert whole.tobytes() == np.concatenate((one, rest), axis=1).tobytes()


@pytest.mark.parametrize(
    ("error", "changes", "sentence"),
    [*((TypeError, *row) for row in WRONG_TYPES), *((ValueError, *row) for row in WRONG_VALUES)],
)
def test_constraints(error, changes, sentence):
    with pytest.raises(error, match=f"^{re.escape(sentence)}"):
        call(**changes)


def test_largest_sizes():
    fp32 = call(**side("stationary", 32, 128), **side("moving", 32, 512))
    assert (fp32.shape, fp32.dtype) == ((128, 512), np.float32)
    bf16 = call(**side("moving", 32, 1024), **BF16_DST)
    assert (bf16.shape, bf16.dtype) == ((2, 1024), BF16_DTYPE)
