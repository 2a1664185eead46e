"""RMSNorm-Quant's known answers: the kernel's instruction sequence byte for byte, the vendor's goldens within its tolerances.

The vendor compares FP8 values within 0.072, and scales within 0.007, of the largest magnitude of its golden (nki-library,
the kernel's test). Its goldens compute in FP32, add eps to the root, and divide by a maximum that is not 0.
"""

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.golden.formats.catalogue import BF16, E4M3, FP16
from bitpath.golden.trainium3 import rmsnorm_quant
from bitpath.verif.kit.known_answers import skip_absent

VALUES, SCALES = 0.072, 0.007
FORMATS = {"bfloat16": BF16, "float16": FP16}


def cases(archive):
    """Yield each case's description, the flow's arguments, and its other arrays."""
    for case in archive["meta"]:
        prefix = f"r{case['id']:03d}_"
        arrays = {key.removeprefix(prefix): value for key, value in archive.items() if key.startswith(prefix)}
        dtype = DTYPES[FORMATS[str(case["dtype"])]]
        hidden = arrays["hidden_bits"].view(dtype)
        assert hidden.shape == (case["B"], case["S"], case["H"])
        arguments = {
            "hidden": hidden,
            "gamma": arrays["gamma_bits"].view(dtype),
            "quant_type": str(case["qtype"]).lower(),
            "in_scale": arrays.get("in_scale"),
            "quant_only": bool(case["quant_only"]),
            "lower_bound": float(case["lower_bound"]),
            "shards": int(case["shards"]),
        }
        yield case, arguments, arrays


@pytest.mark.parametrize(("order", "key"), [("serial", "kernel_bytes"), ("exact", "kernel_bytes_sumexact")])
def test_every_byte_of_the_kernel(kat, order, key):
    compared = differing = 0
    for _, arguments, arrays in cases(kat("trn_rmsnorm_quant.npz")):
        got = rmsnorm_quant(**arguments, sum_order=order)
        assert np.array_equal(got, arrays[key])
        compared += got.size
        differing += np.count_nonzero(arrays["kernel_bytes"] != arrays["kernel_bytes_sumexact"])
    assert compared > 0
    apart = "rows that tell the orders apart"
    skip_absent("trn_rmsnorm_quant.npz", {apart: differing})


def distance(got, reference):
    """The largest difference, by the largest magnitude of the reference."""
    return float(np.abs(got - reference).max() / np.abs(reference).max())


def errors(arguments, arrays, reference, placement):
    """How far values and scales are from a vendor golden; no scale in static mode."""
    packed = rmsnorm_quant(**arguments, eps_placement=placement)
    columns = arguments["hidden"].shape[-1]
    codes, scale = packed[..., :columns], packed[..., columns:]
    as_values = [
        np.ascontiguousarray(each).view(DTYPES[E4M3]).astype(np.float64) for each in (codes, arrays[f"{reference}_q"])
    ]
    scales = np.ascontiguousarray(scale).view("<f4") if scale.size else None
    return distance(*as_values), 0.0 if scales is None else distance(scales, arrays[f"{reference}_s"])


@pytest.mark.parametrize(("reference", "placement"), [("ref_eps_added", "golden"), ("ref_eps_inside", "kernel")])
def test_vendor_tolerances_with_the_same_place_of_eps(kat, reference, placement):
    worst = np.array(
        [
            errors(arguments, arrays, reference, placement)
            for _, arguments, arrays in cases(kat("trn_rmsnorm_quant.npz"))
        ]
    )
    assert np.all(worst <= (VALUES, SCALES))
    # At most one step of the topmost binade.
    assert np.all(worst.max(axis=0) <= (0.0677, 0.0037))


def test_vendor_tolerances_with_the_other_place_of_eps(kat):
    """They hold but where rows are as small as the root of eps: there static values, or row scales, are far off."""
    for case, arguments, arrays in cases(kat("trn_rmsnorm_quant.npz")):
        of_values, of_scales = errors(arguments, arrays, "ref_eps_added", "kernel")
        if case["quant_only"] or case["kind"] != "small1e-3":
            assert of_values <= VALUES
            assert of_scales <= SCALES
        elif case["qtype"] == "STATIC":
            assert of_values == pytest.approx(1 / 3, abs=0.001)
        else:
            assert of_values <= VALUES  # the scale of the norm cancels
            assert of_scales == pytest.approx(0.288, abs=0.001)


def vendor_golden(hidden, gamma, eps=1e-6):
    """The formula of the design specification's CPU golden, in float64: values before the cast, and scales."""
    hidden, gamma = hidden.astype(np.float64), gamma.astype(np.float64)
    norm = hidden / (np.sqrt(np.mean(hidden**2, axis=-1, keepdims=True)) + eps) * gamma
    largest = np.abs(norm).max(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return norm * (240 / largest), largest / 240


@pytest.mark.parametrize("columns", [64, 512, 1000])
def test_formula_of_the_specification(columns):
    rng = np.random.default_rng(columns)
    hidden = rng.standard_normal((20, columns)).astype(ml_dtypes.bfloat16)
    gamma = (1 + 0.2 * rng.standard_normal(columns)).astype(ml_dtypes.bfloat16)
    golden, scales = vendor_golden(hidden, gamma)
    packed = rmsnorm_quant(hidden, gamma)
    assert distance(packed[:, :columns].copy().view(DTYPES[E4M3]).astype(float), golden) <= VALUES
    assert distance(packed[:, columns:].copy().view("<f4"), scales) <= SCALES


def test_zero_rows_have_no_golden():
    """For a row of zeros the vendor's golden divides zero by zero; the kernel's smallest scale gives zeros."""
    hidden, gamma = np.zeros((1, 8), ml_dtypes.bfloat16), np.ones(8, ml_dtypes.bfloat16)
    assert np.all(np.isnan(vendor_golden(hidden, gamma)[0]))
    packed = rmsnorm_quant(hidden, gamma)
    assert packed[0].tolist() == [0] * 8 + list(np.float32(1e-6).tobytes())
    assert not np.any(codes_of(hidden))
