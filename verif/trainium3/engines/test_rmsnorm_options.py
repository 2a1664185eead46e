"""RMSNorm-Quant's residual, pre-norm and OCP format, SPEC's CPU golden, unpacked rows, and the timeline of engines."""

from fractions import Fraction
from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.scalar import fp32
from bitpath.golden.trainium3 import (
    flow_latency,
    flow_timeline,
    rmsnorm_quant,
    rmsnorm_quant_reference,
    tile_latency,
    unpack_rows,
)
from bitpath.golden.trainium3.core.rmsnorm import NUMERICS, DtypeModeName
from bitpath.golden.trainium3.declarations.rates import TRAINIUM2, TRAINIUM3
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_RMSNORM_QUANT, DtypeMode, EpsPlacement, SumOrder
from bitpath.golden.trainium3.exact import (
    add_residual,
    load_row,
    quantize_row,
    quantize_row_static,
    reference_row,
    rmsnorm_row,
    row_bytes,
)
from bitpath.verif.trainium3.engines.codes import draw

BF, FN = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn
EPS = TRAINIUM3_RMSNORM_QUANT.numerics.eps


def array(fmt, codes):
    return np.asarray(codes).astype(f"u{fmt.width // 8}").view(DTYPES[fmt])


@pytest.mark.parametrize("mode", DtypeModeName.__args__)
@pytest.mark.parametrize("source", [BF16, FP16, FP32], ids=lambda fmt: fmt.name)
@pytest.mark.parametrize(("pre", "residual", "norm"), [(1, 1, 1), (0, 1, 1), (1, 0, 1), (1, 1, 0), (0, 0, 0)])
def test_options_are_the_scalar_tier(mode, source, pre, residual, norm):
    """Row and static quantisation, with and without a lower bound; sums come out as bfloat16."""
    rng = np.random.default_rng([source.width, pre, residual, norm])
    hidden, addend = (draw(rng, source.name.lower(), (3, 9)) for _ in range(2))
    hidden[0] = source.bias << source.fraction_bits
    gammas = [array(BF16, (rng.standard_normal(9) + 1).astype(BF).view(np.uint16)) for _ in range(2)]
    numerics = NUMERICS[DtypeMode(mode)]
    scale = np.full((128, 1), 0.01, np.float32)
    norm_options = {"eps": EPS, "eps_placement": EpsPlacement.KERNEL, "sum_order": SumOrder.SERIAL}
    for bound, static in ((0.0, {}), (0.7, {}), (0.0, {"quant_type": "static", "in_scale": scale})):
        got = rmsnorm_quant(
            array(source, hidden), gammas[0] if norm else None, quant_only=not norm, lower_bound=bound,
            dtype_mode=mode, residual=array(source, addend) if residual else None,
            pre_norm_gamma=gammas[1] if pre else None, **static,
        )  # fmt: skip
        packed, sums = got if residual else (got, None)
        for p in range(3):
            row = load_row(numerics, hidden[p].tolist(), source)
            if pre:
                row = rmsnorm_row(numerics, row, codes_of(gammas[1]).tolist(), BF16, BF16, **norm_options)
            if residual:
                row = add_residual(numerics, row, addend[p].tolist(), source)
                assert codes_of(sums)[p].tolist() == row
            if norm:
                row = rmsnorm_row(numerics, row, codes_of(gammas[0]).tolist(), BF16, BF16, **norm_options)
            if static:
                assert packed[p].tolist() == quantize_row_static(numerics, row, int(scale[0].view(np.uint32)[0]))
            else:
                expected = row_bytes(*quantize_row(numerics, row, lower_bound=Fraction(bound)))
                assert packed[p].tobytes() == expected


def test_ocp_reaches_448():
    row = np.array([[1, -2, 4, 3]], BF)
    packed = rmsnorm_quant(row, None, quant_only=True, dtype_mode="ocp")
    data, scale = unpack_rows(packed, dtype=FN)
    assert data.astype(np.float32).tolist() == [[112, -224, 448, 320]]  # 336 is a tie of 320 and 352
    assert scale.item() == np.float32(np.float32(4) * np.float32(1 / 448))


def test_residual_keeps_hiddens_shape():
    hidden, gamma = np.ones((1, 2, 4), np.float16), np.ones(4, BF)
    packed, sums = rmsnorm_quant(hidden, gamma, residual=hidden)
    assert packed.shape == (1, 2, 8)
    assert (sums.dtype, sums.tolist()) == (BF, np.full((1, 2, 4), 2.0).tolist())


def test_unpacked_rows_are_the_packed_ones():
    rng = np.random.default_rng(5)
    packed = rng.integers(0, 256, (2, 3, 11), dtype=np.uint8)
    data, scale = unpack_rows(packed)
    assert (data.shape, scale.shape, data.dtype) == ((2, 3, 7), (2, 3, 1), ml_dtypes.float8_e4m3)
    assert np.concatenate([data.view(np.uint8), scale.view(np.uint8)], axis=-1).tobytes() == packed.tobytes()


usual = st.integers(0x3E000000, 0x41FFFFFF).flatmap(lambda code: st.sampled_from([code, code | 1 << 31]))
any_code = st.one_of(usual, usual, st.sampled_from([0, 1 << 31, 1, 0x007FFFFF, 0x7F7FFFFF, 0x7F800000, 0x7FC00000]))


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.tuples(any_code, usual), min_size=1, max_size=6),
    st.sampled_from([0.0, 1e-6, 0.25]),
    st.sampled_from(list(SumOrder)),
)
def test_reference_is_the_scalar_tier(pairs, eps, order):
    row, gamma = map(list, zip(*pairs, strict=True))
    arguments = array(FP32, [row]), array(FP32, gamma), eps
    eps_code = int(np.float32(eps).view(np.uint32))
    try:
        data, scale = reference_row(TRAINIUM3_RMSNORM_QUANT.numerics, row, gamma, eps_code, order)
    except ValueError:
        with pytest.raises(
            ValueError, match=r"^hidden must have rows with a finite scale; row 0 is all zeros, too small"
        ):
            rmsnorm_quant_reference(*arguments, sum_order=order.value)
        return
    got = rmsnorm_quant_reference(*arguments, sum_order=order.value)
    assert [codes_of(each)[0].tolist() for each in got] == [data, [scale]]


def test_reference_is_numpys_up_to_the_sum():
    """The steps of SPEC's golden as numpy has them; one element in a row, so that no sum has an order."""
    rng = np.random.default_rng(9)
    hidden, gamma = rng.standard_normal((2, 40, 1)).astype(np.float32), np.array([1.5], np.float32)
    rms = np.sqrt(np.mean(np.square(hidden), axis=-1, keepdims=True))
    norm = hidden * np.reciprocal(rms + np.float32(1e-6)) * gamma
    factor = np.float32(240) / np.abs(norm).max(axis=-1, keepdims=True)
    data, scale = rmsnorm_quant_reference(hidden, gamma)
    assert np.array_equal(data.view(np.uint8), (norm * factor).astype(ml_dtypes.float8_e4m3).view(np.uint8))
    assert np.array_equal(scale, np.reciprocal(factor))


def test_reference_is_near_the_kernel():
    """SPEC compares the kernel with it; the vendor's tolerance of scales is 0.007 of the largest."""
    rng = np.random.default_rng(2)
    hidden, gamma = rng.standard_normal((1, 30, 256)).astype(BF), np.ones(256, BF)
    _, scale = rmsnorm_quant_reference(hidden, gamma)
    _, packed = unpack_rows(rmsnorm_quant(hidden, gamma))
    assert np.abs(scale - packed).max() <= 0.007 * scale.max()


RATES = TRAINIUM2.numerics


@pytest.mark.parametrize("rates", [RATES, TRAINIUM3.numerics])
@pytest.mark.parametrize("tokens", [2, 256, 300, 2048])
def test_one_buffer_is_the_serial_time(rates, tokens):
    steps = flow_timeline(rates, tokens, 512, buffers=1)
    assert max(step.end for step in steps) == pytest.approx(flow_latency(rates, tokens, 512), rel=1e-12)
    ordered = [step for step in steps if step.engine != "tensor"]
    assert all(first.end <= second.start + 1e-12 for first, second in pairwise(ordered))


@pytest.mark.parametrize("buffers", [2, 3, 8])
def test_overlapped_steps_keep_their_order(buffers):
    """Engines do one thing at a time, a tile's steps follow each other, and a buffer is stored before it is loaded again."""
    steps = flow_timeline(RATES, 2048, 8192, buffers=buffers)
    for engines in (("load", "store"), ("scalar",), ("vector",), ("tensor",)):
        busy = sorted((step.start, step.end) for step in steps if step.engine in engines)
        assert all(first[1] <= second[0] + 1e-9 for first, second in pairwise(busy))
    of = {(step.engine, step.tile): step for step in steps}
    assert len(of) == len(steps) == 5 * 8
    for tile in range(8):
        chain = [of[engine, tile] for engine in ("load", "scalar", "vector", "store")]
        assert all(first.end <= second.start + 1e-9 for first, second in pairwise(chain))
        assert of["tensor", tile].start == of["vector", tile].start
        if tile >= buffers:
            assert of["store", tile - buffers].end <= of["load", tile].start + 1e-9


def test_vector_engine_bounds_the_overlapped_flow():
    """VectorE is never idle between the first tile and the last: 8 tiles, and the ends of one."""
    tile = tile_latency(RATES, 8192)
    steps = flow_timeline(RATES, 2048, 8192)
    assert max(step.end for step in steps) == pytest.approx(tile.dma + tile.scalar + 8 * tile.vector)


HIDDEN, GAMMA = np.ones((2, 4), BF), np.ones(4, BF)
BAD = [
    (lambda: rmsnorm_quant(HIDDEN, GAMMA, dtype_mode="fn"), ValueError, "dtype_mode must be 'non_ocp' or 'ocp', not 'fn'"),
    (lambda: rmsnorm_quant(HIDDEN, GAMMA, residual=HIDDEN[:1]), ValueError, r"residual must have hidden's shape \(2, 4\), not \(1, 4\)"),
    (lambda: rmsnorm_quant(HIDDEN, GAMMA, residual=HIDDEN.astype(np.float64)), TypeError, "residual must be bfloat16, float16 or float32, not"),
    (lambda: rmsnorm_quant(HIDDEN, GAMMA, pre_norm_gamma=GAMMA[:2]), ValueError, r"pre_norm_gamma must have shape \(4,\) or \(1, 4\), not \(2,\)"),
    (lambda: rmsnorm_quant_reference(HIDDEN * 0, GAMMA), ValueError, "hidden must have rows with a finite scale; row 0 is all zeros, too small or not"),
    (lambda: rmsnorm_quant_reference(HIDDEN, GAMMA[:2]), ValueError, r"gamma must have shape \[4\], not \(2,\)"),
    (lambda: rmsnorm_quant_reference(HIDDEN, GAMMA, "x"), TypeError, "eps must be a number, not 'x'"),
    (lambda: unpack_rows(np.ones((2, 4), np.uint8)), ValueError, r"packed must have shape \[..., H \+ 4\] with H of at least 1, not \(2, 4\)"),
    (lambda: unpack_rows(np.ones((2, 8), np.uint8), dtype=BF), TypeError, "dtype must be float8_e4m3 or float8_e4m3fn, not bfloat16"),
    (lambda: unpack_rows(np.ones((2, 8), np.int8)), TypeError, "packed must be uint8, not int8"),
    (lambda: flow_timeline(RATES, 300, 512, buffers=9), ValueError, "buffers must be 1 to 8, not 9"),
    (lambda: flow_timeline(RATES, 1, 512), ValueError, "tokens must be at least 2, one for each core, not 1"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "sentence"), BAD)
def test_arguments(call, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        call()


def test_modes_name_the_members():
    assert DtypeModeName.__args__ == tuple(member.value for member in DtypeMode)
    assert fp32.convert(0x7FC00000, FP32, NUMERICS[DtypeMode.OCP].output) == 0x7F
