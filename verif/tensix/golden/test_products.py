"""Products of prepared operands: the kernel of whole products equals MVMULs one by one and the exact twin, bit for bit."""

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.arrays import parallel
from bitpath.golden.formats.catalogue import Rounding
from bitpath.golden.tensix.declarations.formats import COLUMNS, STYLE_OWN_FORMAT, TILE, Style
from bitpath.golden.tensix.declarations.numerics import PRESETS, WORMHOLE, Masking
from bitpath.golden.tensix.matmul import product_loop
from bitpath.golden.tensix.matmul.host import FORMATS
from bitpath.golden.tensix.operands.registers import dst_fields
from bitpath.verif.tensix.golden.samples import scalar_dot

BASE = WORMHOLE.numerics
FLOATS = [(style, dst32) for style in (Style.BF16, Style.TF32, Style.FP16) for dst32 in (True, False)]
RANGES = {"near": 6, "far": 16, "anything": 128, "top": 0}
"""Exponents around the middle of the range by their distance; those of "top" overflow."""


def words(rng, kind, style, *shape):
    """Return source words, a tenth of them of exponent 0; fractions are often 0, so that ties are met."""
    middle, distance = (16 if style is Style.FP16 else 128), RANGES[kind]
    distance = min(distance, middle)
    low, high = (2 * middle - 2, 2 * middle) if kind == "top" else (middle - distance, middle + distance)
    exponent = np.where(rng.random(shape) < 0.1, 0, rng.integers(low, high, shape))
    fraction = rng.integers(0, 1 << 10, shape) & rng.choice([0, 0x380, 0x3F8, 0x3FF], shape)
    return (rng.integers(0, 2, shape) << 18 | exponent << 10 | fraction).astype(np.uint32)


def dst_of(numerics, b, a, columns, style, dst32, phases, dst=None):
    return product_loop.multiply(numerics, b, a, columns, style, STYLE_OWN_FORMAT[style], dst32, phases, dst=dst)


def steps(phases, depth):
    """Yield the phase and the first k of the MVMULs of an output, in order."""
    return ((phase, k + half) for k in range(0, depth, TILE) for phase in phases for half in (0, COLUMNS))


def by_mvmul(numerics, b, a, style, dst32, phases, before=None):
    """Return the Dst words of [M, K] @ [K, N], M a multiple of 8 and N of 16, added to those before, instruction by instruction."""
    rows, depth = b.shape
    before = np.zeros((rows, a.shape[1]), np.uint32) if before is None else before
    dst = np.ascontiguousarray(before.reshape(rows // 8, 8, -1, COLUMNS).swapaxes(1, 2))
    for phase, k in steps(phases, depth):
        src_b = b[:, k : k + COLUMNS].reshape(-1, 1, 8, COLUMNS)
        src_a = np.ascontiguousarray(a[k : k + COLUMNS].reshape(COLUMNS, -1, COLUMNS).swapaxes(0, 1))
        dst = tensix.mvmul(dst, src_b, src_a, style=style, dst32=dst32, phase=phase, numerics=numerics)
    return dst.swapaxes(1, 2).reshape(rows, -1)


def by_the_twin(numerics, b, a, style, dst32, phases):
    """Return the Dst word of a row and a column."""
    formats = dict.fromkeys(("srca_format", "srcb_format"), STYLE_OWN_FORMAT[style])
    word = 0
    for phase, k in steps(phases, len(b)):
        operands = word, b[k : k + COLUMNS].tolist(), a[k : k + COLUMNS].tolist()
        word = scalar_dot(numerics, *operands, style=style, dst32=dst32, phase=phase, **formats)
    return word


@pytest.mark.parametrize("kind", RANGES)
@pytest.mark.parametrize(("style", "dst32"), FLOATS)
def test_plain_and_general_steps(style, dst32, kind):
    """Rows of near and of any exponents, so that a tile has steps of both kinds."""
    rng = np.random.default_rng([*RANGES].index(kind))
    b, a = words(rng, kind, style, 16, 96), words(rng, "near" if kind == "anything" else kind, style, 96, 80)
    b[::2] = words(rng, "near", style, 8, 96)
    for phases in ((0,), (0, 1, 2, 3)):
        got = dst_of(BASE, b[np.newaxis], a[np.newaxis], 77, style, dst32, phases)[0]
        assert np.array_equal(got, by_mvmul(BASE, b, a, style, dst32, phases)[:, :77])
        for m, n in ((0, 0), (3, 76), (14, 15)):
            assert got[m, n] == by_the_twin(BASE, b[m], a[:, n], style, dst32, phases)


@pytest.mark.parametrize(("style", "dst32"), [*FLOATS, (Style.INT8, True)])
def test_words_of_dst_before(style, dst32):
    """Products that are added to words of any kind: zeros of both signs, exponent 0, numbers near the products', the top."""
    rng, (exponent_bits, fraction_bits) = np.random.default_rng(9), (8, 23) if dst32 else dst_fields(style, dst32)
    b, a = (words(rng, "near", style, *shape) for shape in ((16, 32), (32, 80)))
    b[::4], b[1] = words(rng, "anything", style, 4, 32), 0
    if style is Style.INT8:
        b, a = (each & ~np.uint32(0x7F << 11) | 1 << 10 for each in (b, a))
    before = rng.integers(0, 1 << exponent_bits + fraction_bits + 1, (16, 80), np.uint32)
    middle = np.uint32(1 << exponent_bits - 1 << fraction_bits)
    before = np.where(rng.random(before.shape) < 0.5, before & ~(middle - 1) | middle, before).astype(np.uint32)
    before[:, :8], before[:, 8:16] = 0, np.uint32(1 << exponent_bits + fraction_bits)
    before[:, 16:24] &= np.uint32((1 << fraction_bits) - 1)
    got = dst_of(BASE, b[np.newaxis], a[np.newaxis], 77, style, dst32, (0, 3), before[np.newaxis, :, :77])[0]
    assert np.array_equal(got, by_mvmul(BASE, b, a, style, dst32, (0, 3), before)[:, :77])


@pytest.mark.parametrize(
    "changes",
    [
        {"minus_one_quirk": False},
        {"masking": Masking.SRCA_STYLE},
        {"zero_terms_keep_bias": False},
        {"zero_flag_disabled": True},
        {"zero_flag_disabled": True, "zero_terms_keep_bias": False},
        {"group": 4},
        {"group": 16, "product_guard_bits": 13},
        {"pre_round": False},
        {"empty_terms_in_maximum": False},
        {"product_tie": Rounding.RNE, "dst_tie": Rounding.RNU},
        {"product_tie": Rounding.RNU, "sum_tie": Rounding.RNA, "final_tie": Rounding.RNE},
    ],
    ids=str,
)
def test_fields_of_the_numerics(changes):
    rng, numerics = np.random.default_rng(5), replace(BASE, **changes)
    for kind, (style, dst32) in product(("near", "far"), ((Style.BF16, True), (Style.FP16, True), (Style.FP16, False))):
        b, a = words(rng, kind, style, 8, 64), words(rng, kind, style, 64, 32)
        # Groups of zeros.
        b[1], b[2, :16], a[:, 3] = 0, 1 << 18, 0
        got = dst_of(numerics, b[np.newaxis], a[np.newaxis], 32, style, dst32, (0, 3))[0]
        assert np.array_equal(got, by_mvmul(numerics, b, a, style, dst32, (0, 3)))
        for m, n in ((1, 1), (2, 2), (7, 31)):
            assert got[m, n] == by_the_twin(numerics, b[m], a[:, n], style, dst32, (0, 3))


def test_numerics_with_plain_steps():
    """All presets have them, and each field of the proof that differs takes them away."""
    for preset, (style, dst32) in product(PRESETS.values(), FLOATS):
        assert product_loop.plain_fields(preset.numerics, dst_fields(style, dst32)) is not None
    ties = (
        ("product_tie", Rounding.RNE),
        ("sum_tie", Rounding.RNA),
        ("dst_tie", Rounding.RNU),
        ("final_tie", Rounding.RNE),
    )
    for name, value in (*ties, ("group", 16), ("product_guard_bits", 1), ("empty_terms_in_maximum", False)):
        assert product_loop.plain_fields(replace(BASE, **{name: value}), (8, 23)) is None
    assert product_loop.plain_fields(replace(BASE, pre_round=False), (8, 23)) is not None
    assert product_loop.plain_fields(replace(BASE, pre_round=False), (8, 7)) is None


@pytest.mark.parametrize("b_distance", [*range(98, 103), 219, 221, 254])
@pytest.mark.parametrize("a_distance", [0, 1, 118, 119, 120, 121, 254])
def test_exponents_as_far_apart_as_plain_steps_take(a_distance, b_distance):
    """The highest exponents of both sides meet, the lowest ones, and each the other's."""
    b, a = np.zeros((8, 32), np.uint32), np.zeros((32, 16), np.uint32)
    a[:8, ::2], a[:8, 1::2] = 1 << 10, 1 << 10 | 0x3F8
    a[::2] += np.uint32(a_distance << 10)
    b[:, :8] = 255 - b_distance << 10 | 0x3F8
    b[::2, 1::2] = 255 << 10
    b[1::2, ::2] = 1 << 18 | 255 << 10
    got = dst_of(BASE, b[np.newaxis], a[np.newaxis], 16, Style.TF32, True, (0, 3))[0]
    assert np.array_equal(got, by_mvmul(BASE, b, a, Style.TF32, True, (0, 3)))
    assert got.any()


@pytest.mark.parametrize("style", [Style.BF16, Style.FP16], ids=lambda style: style.value)
def test_the_quirk_is_met(style):
    """-1 - 2**-23 + 1 has the total -1 unit."""
    one = (15 if style is Style.FP16 else 127) << 10
    b, a = np.zeros((1, 1, 64), np.uint32), np.zeros((1, 64, 16), np.uint32)
    b[0, 0, [0, 16, 32]] = one | 1 << 18, one - (12 << 10) | 1 << 18, one
    a[0, [0, 16, 32], 0] = one, one - (11 << 10), one
    for quirk, expected in ((True, 1 << 31 | 131 << 23), (False, 1 << 31 | 104 << 23)):
        assert dst_of(replace(BASE, minus_one_quirk=quirk), b, a, 1, style, True, (0,))[0, 0, 0] == expected


def test_integers():
    """A sum of each phase saturates; a third of the exponents is 0."""
    rng = np.random.default_rng(6)
    for numerics, phases in product((BASE, replace(BASE, int8_zero_exponent_flush=False)), ((0,), (0, 1, 2, 3))):
        b, a = (
            (rng.choice([0, 16, 16], shape) << 10 | rng.integers(0, 1 << 10, shape)).astype(np.uint32)
            for shape in ((8, 96), (96, 80))
        )
        b[0] |= 1 << 18
        got = dst_of(numerics, b[np.newaxis], a[np.newaxis], 70, Style.INT8, True, phases)[0]
        assert np.array_equal(got, by_mvmul(numerics, b, a, Style.INT8, True, phases)[:, :70])
    depth = 1 << 15
    b, a = np.full((1, 1, depth), 16 << 10 | 0x3FF, np.uint32), np.full((1, depth, 16), 16 << 10 | 0x3FF, np.uint32)
    assert dst_of(BASE, b, a, 1, Style.INT8, True, (0,))[0, 0, 0] == 0x7FFFFFFF


@pytest.mark.parametrize(
    ("fmt", "options"),
    [
        *((fmt, {"dst32": dst32}) for fmt in FORMATS for dst32 in (True, False) if dst32 or fmt != "int8"),
        *((fmt, {"fidelity": "LoFi", "chip": "blackhole"}) for fmt in FORMATS),
        ("bf16", {"fidelity": "HiFi2", "quirk": False}),
        ("fp16", {"fidelity": "HiFi3", "numerics": replace(BASE, product_tie=Rounding.RNE)}),
    ],
    ids=str,
)
def test_prepared_operands_give_the_bits_of_the_program(fmt, options):
    """A batch, one row and many, a second use, and shapes that are no multiples of a tile."""
    rng = np.random.default_rng(9)
    b, a = rng.standard_normal((3, 70, 83)), rng.standard_normal((3, 11, 70))
    b[2] *= np.exp2(rng.integers(-30, 30, b[2].shape))
    b[0, 5, 3] = 0.0 if fmt == "int8" else np.inf
    b, a = (
        (50 * each).clip(-127, 127).astype(np.int32) if fmt == "int8" else each.astype(np.float32) for each in (b, a)
    )
    right = tensix.prepare(b, format=fmt, **options)
    quirk = {"quirk": options.pop("quirk", True)}
    for rows in (1, 11):
        own = a[:, :rows]
        got = tensix.multiply(own, right)
        assert got.tobytes() == tensix.multiply(own, right).tobytes()
        for each, x, y in zip(got, own, b, strict=True):
            program = tensix.matmul_program(x, y, format=fmt, **options)
            words = tensix.run_program(program, numerics=program.numerics, **quirk)
            assert each.tobytes() == tensix.result_matrix(program, words).tobytes()


def test_work_on_two_threads(monkeypatch):
    """Blocks of all batches, rows and columns of the result are shared out, and told one by one."""
    rng, shown = np.random.default_rng(10), []
    b, a = rng.standard_normal((2, 40, 150), np.float32), rng.standard_normal((2, 130, 40), np.float32)
    whole = tensix.multiply(a, tensix.prepare(b))
    monkeypatch.setenv(parallel.THREADS, "2")
    monkeypatch.setattr(product_loop, "SHORTEST", 1)
    monkeypatch.setattr(product_loop, "LONGEST", 1)
    got = tensix.multiply(a, tensix.prepare(b), progress=lambda *share: shown.append(share))
    assert got.tobytes() == whole.tobytes()
    assert shown == [(each, 2 * 3 * 3) for each in range(1, 19)]


@pytest.mark.parametrize(
    ("a", "sentence"),
    [
        (np.zeros((2, 4), np.float32), "a must have three dimensions of at least 1, not shape (2, 4)"),
        (np.zeros((1, 2, 4), np.float32), "a must have shape [2, M, 4] for this right operand, not (1, 2, 4)"),
        (np.full((2, 1, 4), np.nan, np.float32), "a holds NaN, which the Matrix unit would read as a number"),
    ],
)
def test_errors_of_prepared_operands(a, sentence):
    right = tensix.prepare(np.ones((2, 4, 3), np.float32))
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        tensix.multiply(a, right)
    with pytest.raises(ValueError, match="dst32 must be True"):
        tensix.prepare(np.ones((1, 4, 3), np.int8), format="int8", dst32=False)
