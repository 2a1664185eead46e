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
