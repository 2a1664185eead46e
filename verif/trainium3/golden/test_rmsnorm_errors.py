"""Each limit of RMSNorm-Quant raises an error of one sentence."""

import re

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.trainium3 import rmsnorm, rmsnorm_quant

BF = ml_dtypes.bfloat16
HIDDEN, GAMMA, SCALE = np.ones((1, 3, 8), BF), np.ones(8, BF), np.ones((128, 1), np.float32)


def zeros(*shape):
    """A large array that takes no memory."""
    return np.broadcast_to(np.zeros((), BF), shape)


HIDDEN_SHAPE = "hidden must have shape [B, S, H] or [rows, H], not"
GAMMA_SHAPE = "gamma must have shape (8,) or (1, 8), not"
EPS = "eps must be a finite number of bfloat16's range, at least 0, not"
BOUND = "lower_bound must be a finite number of FP32's range, at least 0, not"
BOTH = [
    *(
        ({"hidden": HIDDEN.astype(dtype)}, TypeError, "hidden must be bfloat16, float16 or float32, not float")
        for dtype in (np.float64, ml_dtypes.float8_e4m3)
    ),
    *(({"hidden": np.ones(shape, BF)}, ValueError, f"{HIDDEN_SHAPE} {shape}") for shape in ((8,), (1, 1, 1, 8))),
    *(
        ({"hidden": zeros(*shape)}, ValueError, f"hidden must have {limit}")
        for shape, limit in (
            ((3, 1, 8), "B from 1 to 2, not 3"),
            ((0, 1, 8), "B from 1 to 2, not 0"),
            ((1, 32769, 8), "S from 1 to 32768, not 32769"),
            ((1, 0, 8), "S from 1 to 32768, not 0"),
            ((1, 1, 16385), "H from 1 to 16384, not 16385"),
            ((1, 16385), "H from 1 to 16384, not 16385"),
            ((1, 1, 0), "H from 1 to 16384, not 0"),
            ((65537, 8), "rows from 1 to 65536, not 65537"),
            ((0, 8), "rows from 1 to 65536, not 0"),
        )
    ),
    ({"gamma": GAMMA.astype(np.float32)}, TypeError, "gamma must be bfloat16 or float16, not float32"),
    *(({"gamma": np.ones(shape, BF)}, ValueError, f"{GAMMA_SHAPE} {shape}") for shape in ((7,), (8, 1))),
    *(({"eps": each}, TypeError, f"eps must be a number, not {each!r}") for each in ("1e-6", True, None)),
    *(({"eps": each}, ValueError, f"{EPS} {each}") for each in (-1e-6, np.nan, np.inf, np.int8(-128), 3.4e38)),
    ({"eps": 10**300}, ValueError, f"{EPS} an"),
    ({"eps": 10**400}, ValueError, "eps must be a number of float64's range, not an integer of 1329 bits"),
    ({"eps_placement": "outside"}, ValueError, "eps_placement must be 'kernel' or 'golden', not 'outside'"),
    ({"eps_placement": None}, TypeError, "eps_placement must be 'kernel' or 'golden', not None"),
    ({"sum_order": "tree"}, ValueError, "sum_order must be 'serial' or 'exact', not 'tree'"),
]
STATIC = {"quant_type": "static"}
QUANT = [
    ({"quant_type": "column"}, ValueError, "quant_type must be 'row' or 'static', not 'column'"),
    ({"quant_type": 1}, TypeError, "quant_type must be 'row' or 'static', not 1"),
    (STATIC, ValueError, "in_scale must be float32 [128, 1] with quant_type 'static', not None"),
    ({"in_scale": SCALE}, ValueError, "in_scale must be None with quant_type 'row', not a ndarray"),
    (STATIC | {"in_scale": SCALE.astype(BF)}, TypeError, "in_scale must be float32, not bfloat16"),
    (STATIC | {"in_scale": 1.0}, TypeError, "in_scale must be a numpy array, not 1.0"),
    (STATIC | {"in_scale": SCALE[:3]}, ValueError, "in_scale must have shape (128, 1), not (3, 1)"),
    (STATIC | {"in_scale": SCALE[:, 0]}, ValueError, "in_scale must have shape (128, 1), not (128,)"),
    ({"quant_only": 1}, TypeError, "quant_only must be True or False, not 1"),
    ({"quant_only": True, "gamma": np.ones(7, BF)}, ValueError, f"{GAMMA_SHAPE} (7,)"),
    *(({"lower_bound": each}, ValueError, f"{BOUND} {each}") for each in (-0.1, np.nan, 1e39, np.int8(-128))),
    ({"lower_bound": 10**5000}, ValueError, "lower_bound must be a number of float64's range, not an integer of"),
    (
        {"lower_bound": np.longdouble("1e4000")},
        ValueError,
        "lower_bound must be a number of float64's range, not 1e+4000",
    ),
    ({"lower_bound": None}, TypeError, "lower_bound must be a number, not None"),
    ({"static_scale_row": "tile"}, ValueError, "static_scale_row must be 'input' or 'shard', not 'tile'"),
    ({"static_scale_row": 1}, TypeError, "static_scale_row must be 'input' or 'shard', not 1"),
    *(({"shards": each}, ValueError, f"shards must be 1 to 3 for 3 rows, not {each}") for each in (0, 4)),
    *(({"shards": each}, TypeError, f"shards must be an integer, not {each}") for each in (1.0, True)),
]


@pytest.mark.parametrize(
    ("function", "changes", "error", "sentence"),
    [
        *((function, *case) for case in BOTH for function in (rmsnorm, rmsnorm_quant)),
        *((rmsnorm_quant, *case) for case in QUANT),
    ],
)
def test_refused(function, changes, error, sentence):
    with pytest.raises(error, match=f"^{re.escape(sentence)}"):
        function(**({"hidden": HIDDEN, "gamma": GAMMA} | changes))


@pytest.mark.parametrize("shape", [(2, 1, 1), (1, 1, 16384), (65536, 1), (2, 32768, 1)])
def test_limits_themselves_are_allowed(shape):
    got = rmsnorm_quant(np.ones(shape, BF), None, quant_only=True)
    assert got.shape == (*shape[:-1], shape[-1] + 4)
    assert set(got[..., :-4].flat) == {0x77}


INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)


@pytest.mark.parametrize("dtype", [*INTEGERS, np.float16, np.float32, np.longdouble])
def test_numpy_numbers_mean_their_value(dtype):
    """Elements of both signs beyond the bound, so that its negative counts; a mean square that eps changes."""
    hidden = np.linspace(-40, 40, 24, dtype=np.float32).reshape(3, 8).astype(BF)
    for options in (
        {"quant_only": True, "lower_bound": 5, "shards": np.int64(2)},
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
