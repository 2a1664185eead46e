"""Known answers that other implementations computed: the vendor's goldens and element-wise derivations.

The folder's README says where each array comes from. `golden` there rounds otherwise than this project, so it is
compared within the bound that the README states; everything else is compared bit for bit.
"""

from fractions import Fraction

import numpy as np
import pytest

from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.golden.formats.catalogue import BF16, E2M1, E4M3FN, E5M2, E8M0, FP16
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3 import gather_scale, nc_matmul_mx, pack_x4, quantize_mx, scatter_scale, unpack_x4
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX
from bitpath.verif.kit.known_answers import skip_absent
from bitpath.verif.trainium3.golden.exact_columns import column_steps, instruction_side

FORMATS = {"bf16": BF16, "fp16": FP16, "e4m3fn": E4M3FN, "e5m2": E5M2, "e2m1": E2M1}


def test_quantize_mx(kat):
    archive = kat("trn_quantize_mx.npz")
    compared = 0
    for case in archive["meta"]:
        key = f"c{case['id']:03d}"
        source = archive[f"{key}_src_bits"].view(DTYPES[FORMATS[case["src"]]])
        for name, rule in (("floor", "ocp"), ("x2", "nki05")):
            data, scale = quantize_mx(source, DTYPES[FORMATS[case["dst"]]], scale_rule=rule)
            assert data.shape == (case["P"], case["F"])
            if f"{key}_own_{name}_code" in archive:
                assert np.array_equal(scale, archive[f"{key}_own_{name}_code"])
                assert np.array_equal(codes_of(data), archive[f"{key}_own_{name}_data"])
                compared += data.size
    skip_absent("trn_quantize_mx.npz", {"QuantizeMX": compared})


def matmul_cases(archive):
    for case in archive["meta"]:
        prefix = f"m{case['id']:03d}_"
        arrays = {key.removeprefix(prefix): value for key, value in archive.items() if key.startswith(prefix)}
        yield case, arrays


def elements(case, arrays, side):
    return arrays[f"{side}_bits"].view(DTYPES[FORMATS[case[side]]])


def test_packing(kat):
    count = 0
    for case, arrays in matmul_cases(kat("trn_matmul_mx.npz")):
        for side in ("st", "mv"):
            flat = elements(case, arrays, side)
            words = pack_x4(flat)
            # The archive keeps FP4 as byte pairs: the little-endian bytes of the same words.
            got, stored = (
                each.astype(each.dtype.newbyteorder("<")).tobytes() for each in (words, arrays[f"{side}_x4"])
            )
            assert got == stored
            assert np.array_equal(codes_of(unpack_x4(words, flat.dtype)), codes_of(flat))
            count += words.size
    assert count > 0


def test_scale_layout(kat):
    for case, arrays in matmul_cases(kat("trn_matmul_mx.npz")):
        for side, offset in zip(("st", "mv"), arrays["offs"].tolist(), strict=True):
            stored = arrays[f"{side}_scale_hw"]
            used = np.zeros(stored.shape[0], bool)
            used[scatter_scale(np.ones((case["P"] // 8, 1), np.uint8), offset)[:, 0] == 1] = True
            assert set(np.unique(stored[~used])) <= {0xAA, 0x55}
            assert np.array_equal(gather_scale(stored, offset), arrays[f"{side}_scale"])
            assert np.array_equal(scatter_scale(arrays[f"{side}_scale"], offset)[used], stored[used])


def operands(case, arrays):
    shape = case["P"], -1, 4
    return (
        elements(case, arrays, "st").reshape(shape),
        elements(case, arrays, "mv").reshape(shape),
        gather_scale(arrays["st_scale_hw"], int(arrays["offs"][0])),
        gather_scale(arrays["mv_scale_hw"], int(arrays["offs"][1])),
    )


def test_matmul_is_within_the_vendor_golden(kat):
    compared = 0
    for case, arrays in matmul_cases(kat("trn_matmul_mx.npz")):
        got = nc_matmul_mx(*operands(case, arrays)).astype(np.float64)
        assert got.shape == (case["M"], case["N"])
        if case["mode"] == "extreme":
            continue
        bound = 5e-7 * arrays["abs_sum"]
        assert np.all(np.abs(got - arrays["exact"]) <= bound)
        assert np.all(np.abs(got - arrays["golden"]) <= bound)
        compared += got.size
    skip_absent("trn_matmul_mx.npz", {"ordinary scales": compared})


def test_matmul_is_the_scalar_tier(kat):
    """Bits, 'extreme' scales included: up to 6 outputs of every case."""
    rng = np.random.default_rng(9)
    compared = 0
    for case, arrays in matmul_cases(kat("trn_matmul_mx.npz")):
        x, y, x_scale, y_scale = operands(case, arrays)
        got = nc_matmul_mx(x, y, x_scale, y_scale).view(np.uint32)
        for flat in rng.choice(got.size, min(6, got.size), replace=False):
            m, n = divmod(int(flat), got.shape[1])
            sides = instruction_side(x, x_scale), instruction_side(y, y_scale)
            assert got[m, n] == column_steps(TRAINIUM3_QUAD_MX.numerics, *sides, m, n)[-1].result
            compared += 1
    assert compared > 0


@pytest.mark.parametrize("mode", ["exact", "exact_bf16"])
def test_exact_sums(kat, mode):
    """The archive's exact sums against the scalar tier's: the products' sum as one fraction."""
    compared = 0
    for case, arrays in matmul_cases(kat("trn_matmul_mx.npz")):
        x, y, x_scale, y_scale = operands(case, arrays)
        for m, n in list(np.ndindex(case["M"], case["N"]))[:4]:
            exact = Fraction(0)
            for p in range(case["P"]):
                codes = zip(codes_of(x)[p, m].tolist(), codes_of(y)[p, n].tolist(), strict=True)
                kinds = FORMATS[case["st"]], FORMATS[case["mv"]]
                products = sum(decode(kinds[0], a).value * decode(kinds[1], b).value for a, b in codes)
                scales = [decode(E8M0, int(each)).value for each in (x_scale[p // 8, m], y_scale[p // 8, n])]
                exact += products * scales[0] * scales[1]
            if mode == "exact_bf16":
                assert round_to_format(exact, BF16) == arrays[mode][m, n]
            else:
                stored = Fraction(float(arrays[mode][m, n]))
                assert abs(stored - exact) <= Fraction(float(np.spacing(abs(float(exact))))) / 2
            compared += 1
    assert compared > 0
