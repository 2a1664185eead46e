"""Known answers of TensorE's modes: FP32 passes, mixed formats, double row, sparsity, transposes."""

import numpy as np
import pytest

from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.golden.formats.catalogue import BF16, CATALOGUE, E5M2, FP16, FP32
from bitpath.golden.trainium3 import (
    compress_sparse,
    expand_sparse,
    nc_matmul,
    nc_matmul_sparse,
    nc_transpose,
    pack_tags,
    unpack_tags,
)
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_MATMUL
from bitpath.golden.trainium3.exact import split12
from bitpath.golden.trainium3.matmul.nc_matmul import chain_passes
from bitpath.verif.kit.known_answers import skip_absent


@pytest.fixture
def fp32(kat):
    return kat("trn_core_fp32.npz")


def test_known_answers_of_fp32_and_tf32(fp32):
    compared = 0
    for case, *sizes in fp32["meta"]:
        x, y = (fp32[f"p{case}_{side}"].view(np.float32) for side in ("st", "mv"))
        assert [x.shape[0], x.shape[1], y.shape[1]] == sizes
        for mode in ("fused", "split12"):
            assert np.array_equal(nc_matmul(x, y, fp32_mode=mode).view(np.uint32), fp32[f"p{case}_{mode}"])
        tf32 = nc_matmul(x, y, stationary_tf32=True, moving_tf32=True)
        assert np.array_equal(tf32.view(np.uint32), fp32[f"p{case}_tf32"])
        passes = chain_passes(TRAINIUM3_MATMUL.numerics, x.astype(np.float64), y.astype(np.float64))[1]
        assert np.array_equal(np.stack(passes), fp32[f"p{case}_passes"])
        compared += tf32.size
    assert compared == sum(fp32[f"p{case}_fused"].size for case, *_ in fp32["meta"]) > 0


def test_known_answers_of_fp32_on_scalars(fp32):
    for case, *_ in fp32["meta"]:
        x, y = fp32[f"p{case}_st"].tolist(), fp32[f"p{case}_mv"].tolist()
        m, n = case % len(x[0]), (case + 1) % len(y[0])
        total, passes = split12(TRAINIUM3_MATMUL.numerics, [row[m] for row in x], [row[n] for row in y])
        assert total == fp32[f"p{case}_split12"][m, n]
        assert list(passes) == fp32[f"p{case}_passes"][:, m, n].tolist()


@pytest.mark.parametrize(("prefix", "mode"), [("n", "none"), ("d", "double_row")])
def test_known_answers_of_mixed_formats(fp32, prefix, mode):
    cases = [key.removesuffix("_formats") for key in fp32 if key.startswith(prefix) and key.endswith("_formats")]
    skip_absent("trn_core_fp32.npz", {mode: cases})
    for case in cases:
        x, y = (
            fp32[f"{case}_{side}"].view(DTYPES[CATALOGUE[str(name).upper()]])
            for side, name in zip(("st", "mv"), fp32[f"{case}_formats"], strict=True)
        )
        assert np.array_equal(nc_matmul(x, y, perf_mode=mode).view(np.uint32), fp32[f"{case}_out"])


def test_known_answers_of_sparsity(kat):
    archive, patterns, specials = kat("trn_core_sparse.npz"), [], 0
    for case, kept, group, *_, fmt in archive["meta"]:
        arrays = {key.split("_", 1)[1]: value for key, value in archive.items() if key.startswith(f"s{case}_")}
        dtype, pattern = DTYPES[(BF16, FP16, FP32)[fmt]], f"{kept}:{group}"
        dense = arrays["dense"].view(dtype)
        values, tags = compress_sparse(dense, pattern)
        assert np.array_equal(codes_of(values), arrays["values"])
        assert np.array_equal(tags, arrays["tags"])
        words = pack_tags(tags, pattern)
        assert np.array_equal(words, arrays["tag_words"])
        assert np.array_equal(unpack_tags(words, pattern), tags)
        assert np.array_equal(codes_of(expand_sparse(values, tags, pattern)), arrays["dense"])
        out = nc_matmul_sparse(values, arrays["moving"].view(dtype), words, pattern)
        assert np.array_equal(out.view(np.uint32), arrays["out"])
        exact = arrays["exact"]
        assert np.allclose(out[np.isfinite(exact)], exact[np.isfinite(exact)], rtol=1e-4, atol=1e-3)
        specials += np.count_nonzero(out.view(np.uint32) != arrays["dense_out"])
        patterns.append(pattern)
    assert patterns
    special = "zero weights that meet an infinity or NaN"
    skip_absent("trn_core_sparse.npz", {special: specials})


def test_known_answers_of_transposes(kat):
    archive = kat("trn_core_transpose.npz")
    for case, bits, partitions, columns in archive["te_meta"]:
        data, psum = archive[f"te{case}_data"], archive[f"te{case}_psum"]
        assert data.shape == (partitions, columns)
        assert np.array_equal(nc_transpose(data), psum)
        element, identity = {8: (E5M2, BF16), 16: (FP16, BF16), 32: (FP32, FP32)}[bits]
        moved = nc_matmul(data.view(DTYPES[element]), np.eye(partitions).astype(DTYPES[identity]), is_transpose=True)
        assert np.array_equal(moved.view(psum.dtype), psum)
    picked = nc_matmul(
        archive["perm_data"].view(DTYPES[BF16]), archive["perm_moving_bf16"].view(DTYPES[BF16]), is_transpose=True
    )
    assert np.array_equal(codes_of(picked), archive["perm_psum"])
