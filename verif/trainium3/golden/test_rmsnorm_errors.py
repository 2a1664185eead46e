"""RMSNorm-Quant's limits: each one is an error of one sentence."""

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.trainium3 import rmsnorm, rmsnorm_quant

BF = ml_dtypes.bfloat16
HIDDEN, GAMMA, SCALE = np.ones((1, 3, 8), BF), np.ones(8, BF), np.ones((128, 1), np.float32)


def zeros(*shape):
    """A large array that takes no memory."""
    return np.broadcast_to(np.zeros((), BF), shape)


BOTH = [
    ({"hidden": [1.0]}, TypeError, "hidden is a list; a numpy array is allowed"),
    ({"hidden": HIDDEN.astype(np.float64)}, TypeError, "hidden is float64; bfloat16, float16 and float32 are allowed"),
    ({"hidden": HIDDEN.astype(ml_dtypes.float8_e4m3)}, TypeError, "hidden is float8_e4m3"),
    ({"hidden": np.ones(8, BF)}, ValueError, r"hidden has shape \(8,\); \[B, S, H\] or \[rows, H\] is allowed"),
    ({"hidden": np.ones((1, 1, 1, 8), BF)}, ValueError, r"hidden has shape \(1, 1, 1, 8\)"),
    ({"hidden": zeros(3, 1, 8)}, ValueError, "hidden has B = 3; 1 to 2 are allowed"),
    ({"hidden": zeros(1, 32769, 8)}, ValueError, "hidden has S = 32769; 1 to 32768 are allowed"),
    ({"hidden": zeros(1, 1, 16385)}, ValueError, "hidden has H = 16385; 1 to 16384 are allowed"),
    ({"hidden": zeros(65537, 8)}, ValueError, "hidden has rows = 65537; 1 to 65536 are allowed"),
    ({"hidden": zeros(1, 16385)}, ValueError, "hidden has H = 16385; 1 to 16384 are allowed"),
    ({"hidden": zeros(0, 1, 8)}, ValueError, "hidden has B = 0; 1 to 2 are allowed"),
    ({"hidden": zeros(1, 0, 8)}, ValueError, "hidden has S = 0"),
    ({"hidden": zeros(1, 1, 0)}, ValueError, "hidden has H = 0"),
    ({"hidden": zeros(0, 8)}, ValueError, "hidden has rows = 0"),
    ({"gamma": None}, TypeError, "gamma is None; a numpy array is allowed"),
    ({"gamma": GAMMA.astype(np.float32)}, TypeError, "gamma is float32; bfloat16 and float16 are allowed"),
    ({"gamma": np.ones(7, BF)}, ValueError, r"gamma has shape \(7,\); \(8,\) or \(1, 8\) is allowed"),
    ({"gamma": np.ones((8, 1), BF)}, ValueError, r"gamma has shape \(8, 1\)"),
    ({"eps": "1e-6"}, TypeError, "eps is '1e-6'; a number is allowed"),
    ({"eps": True}, TypeError, "eps is True; a number is allowed"),
    ({"eps": None}, TypeError, "eps is None"),
    ({"eps": -1e-6}, ValueError, "eps is -1e-06; finite numbers of bfloat16's range from 0 are allowed"),
    ({"eps": float("nan")}, ValueError, "eps is nan"),
    ({"eps": float("inf")}, ValueError, "eps is inf"),
    ({"eps": np.int8(-128)}, ValueError, "eps is -128; finite numbers of bfloat16's range from 0 are allowed"),
    ({"eps": 10**400}, ValueError, "eps is an integer of 1329 bits; numbers of float64's range are allowed"),
    ({"eps": 10**300}, ValueError, "eps is an integer of 997 bits; finite numbers of bfloat16's range"),
    ({"eps": 3.4e38}, ValueError, r"eps is 3.4e\+38"),
    ({"eps_placement": "outside"}, ValueError, "eps_placement is 'outside'; 'kernel' and 'golden' are allowed"),
    ({"eps_placement": None}, TypeError, "eps_placement is None"),
    ({"sum_order": "tree"}, ValueError, "sum_order is 'tree'; 'serial' and 'exact' are allowed"),
]
QUANT = [
    ({"quant_type": "column"}, ValueError, "quant_type is 'column'; 'row' and 'static' are allowed"),
    ({"quant_type": 1}, TypeError, "quant_type is 1"),
    ({"quant_type": "static"}, ValueError, r"in_scale is None; float32 \[128, 1\] is needed with quant_type 'static'"),
    ({"in_scale": SCALE}, ValueError, "in_scale is a ndarray; None is allowed with quant_type 'row'"),
    ({"quant_type": "static", "in_scale": SCALE.astype(BF)}, TypeError, "in_scale is bfloat16; float32 is allowed"),
    ({"quant_type": "static", "in_scale": 1.0}, TypeError, "in_scale is 1.0; a numpy array is allowed"),
    (
        {"quant_type": "static", "in_scale": SCALE[:3]},
        ValueError,
        r"in_scale has shape \(3, 1\); \(128, 1\) is allowed",
    ),
    ({"quant_type": "static", "in_scale": SCALE[:, 0]}, ValueError, r"in_scale has shape \(128,\)"),
    ({"quant_only": 1}, TypeError, "quant_only is 1; True and False are allowed"),
    ({"quant_only": True, "gamma": np.ones(7, BF)}, ValueError, r"gamma has shape \(7,\)"),
    (
        {"lower_bound": -0.1},
        ValueError,
        "lower_bound is -0.1; 0 and finite numbers of FP32's range above it are allowed",
    ),
    ({"lower_bound": float("nan")}, ValueError, "lower_bound is nan"),
    ({"lower_bound": 1e39}, ValueError, r"lower_bound is 1e\+39"),
    ({"lower_bound": np.int8(-128)}, ValueError, "lower_bound is -128; 0 and finite numbers"),
    ({"lower_bound": 10**5000}, ValueError, "lower_bound is an integer of 16610 bits; numbers of float64's range"),
    ({"lower_bound": np.longdouble("1e4000")}, ValueError, r"lower_bound is 1e\+4000; numbers of float64's range"),
    ({"lower_bound": None}, TypeError, "lower_bound is None; a number is allowed"),
    ({"shards": 0}, ValueError, "shards is 0; 1 to 3 are allowed for 3 rows"),
    ({"shards": 4}, ValueError, "shards is 4; 1 to 3 are allowed for 3 rows"),
    ({"shards": 1.0}, TypeError, "shards is 1.0; an integer is allowed"),
    ({"shards": True}, TypeError, "shards is True; an integer is allowed"),
]


@pytest.mark.parametrize(
    ("function", "changes", "error", "sentence"),
    [
        (function, *case)
        for cases, functions in ((BOTH, (rmsnorm, rmsnorm_quant)), (QUANT, (rmsnorm_quant,)))
        for function in functions
        for case in cases
    ],
)
def test_refused(function, changes, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        function(**({"hidden": HIDDEN, "gamma": GAMMA} | changes))


@pytest.mark.parametrize("shape", [(2, 1, 1), (1, 1, 16384), (65536, 1), (2, 32768, 1)])
def test_limits_themselves_are_allowed(shape):
    got = rmsnorm_quant(np.ones(shape, BF), None, quant_only=True)
    assert got.shape == (*shape[:-1], shape[-1] + 4)
    assert set(got[..., :-4].flat) == {0x77}


def test_numpy_numbers_are_numbers():
    plain = rmsnorm_quant(HIDDEN, GAMMA, eps=0.5, lower_bound=0.25, shards=2)
    same = rmsnorm_quant(HIDDEN, GAMMA, eps=np.float32(0.5), lower_bound=np.float16(0.25), shards=np.int64(2))
    assert np.array_equal(plain, same)


INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)


@pytest.mark.parametrize("dtype", [*INTEGERS, np.float16, np.float32, np.longdouble])
def test_numpy_numbers_mean_their_value(dtype):
    """Elements of both signs beyond the bound, so that its negative counts; a mean square that eps changes."""
    hidden = np.linspace(-40, 40, 24, dtype=np.float32).reshape(3, 8).astype(BF)
    for options in (
        {"quant_only": True, "lower_bound": 5},
        {"eps": 100, "lower_bound": 1},
        {"eps": 3, "eps_placement": "golden"},
    ):
        given, absent = (
            {name: type_of(each) if name in ("eps", "lower_bound") else each for name, each in options.items()}
            for type_of in (dtype, lambda _: 0.0)
        )
        plain = rmsnorm_quant(hidden, GAMMA, **options)
        assert np.array_equal(rmsnorm_quant(hidden, GAMMA, **given), plain)
        assert not np.array_equal(rmsnorm_quant(hidden, GAMMA, **absent), plain)
    plain, same = (rmsnorm(hidden, GAMMA, eps=eps).view(np.uint16) for eps in (100.0, dtype(100)))
    assert np.array_equal(plain, same)


def test_eps_is_rounded_once():
    """2**100 + 2**92 is a tie of bfloat16, and what float64 does not hold lies above it."""
    eps = (1 << 100) + (1 << 92)
    hidden = np.full((1, 8), 2.0**53, BF)
    up, down = (rmsnorm(hidden, GAMMA, eps=each, eps_placement="golden") for each in (2.0**100 + 2.0**93, 2.0**100))
    assert not np.array_equal(up.view(np.uint16), down.view(np.uint16))
    for given, expected in ((eps + 1, up), (eps, down), (eps - 1, down)):
        got = rmsnorm(hidden, GAMMA, eps=given, eps_placement="golden")
        assert np.array_equal(got.view(np.uint16), expected.view(np.uint16))
