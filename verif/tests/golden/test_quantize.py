"""`quantize` and `dequantize` for all machines: bits of each machine's own functions, numbers that `matmul` multiplies, mistakes."""

import re

import ml_dtypes
import numpy as np
import pytest

import bitpath
from bitpath.golden import aie_ml_v2, tensix, trainium3
from bitpath.golden.aie_ml_v2.declarations.codes import BLOCK_FORMATS
from bitpath.golden.arrays.codec import DTYPES, encode_array
from bitpath.golden.formats.catalogue import BF16, MX_FORMATS
from bitpath.golden.machines import MACHINES
from bitpath.golden.tensix.convert.pack import pack
from bitpath.golden.tensix.declarations.quasar import MX_FORMATS as QUASAR_FORMATS
from bitpath.golden.trainium3.matmul.matmul import operand_tiles, quantize_tile

FORMATS = [(machine, name) for machine, record in MACHINES.items() for name in record.conversions]
X = np.random.default_rng(63).standard_normal((4, 64)).astype(np.float32)
"""Whole blocks of every format."""


@pytest.mark.parametrize("name", MX_FORMATS)
@pytest.mark.parametrize("rule", ["ocp", "nki05"])
def test_trainium3(name, rule):
    x = np.concatenate([X] * 20, axis=1)
    found = bitpath.quantize(x, name, scale_rule=rule).data
    expected = [quantize_tile(tile, name, scale_rule=rule) for tile in operand_tiles(x.T)]
    assert len(found) == len(expected) == 3
    for one, other in zip(found, expected, strict=True):
        assert [each.tobytes() for each in one] == [each.tobytes() for each in other]
    data, scale = found[0]
    numbers = trainium3.from_partitions(trainium3.dequantize(data.reshape(128, -1), scale).reshape(data.shape)).T
    assert np.array_equal(bitpath.dequantize(bitpath.quantize(x, name, scale_rule=rule))[:, :512], numbers)


@pytest.mark.parametrize("name", ["bfp8", "bfp4", "bfp2"])
def test_tensix_block_floats(name):
    words = encode_array(BF16, X.reshape(-1).astype(float)).astype(np.uint32)
    own = pack(words, "BF16", name.upper(), dst32=False, raw=True)
    assert bitpath.quantize(X, f"{name}_lofi").data.tobytes() == own.tobytes()
    numbers = (tensix.unpack(own, name.upper(), name.upper(), count=X.size) << 13).view(np.float32)
    assert np.array_equal(bitpath.dequantize(bitpath.quantize(X, f"{name}_lofi")), numbers.reshape(X.shape))


@pytest.mark.parametrize("name", QUASAR_FORMATS)
@pytest.mark.parametrize("rule", ["floor", "ceil"])
def test_tensix_mx(name, rule):
    quantized = bitpath.quantize(X, name, scale_rule=rule)
    own = tensix.mx_pack(X, name, scale_rule=rule)
    assert quantized.data.tobytes() == own.tobytes()
    numbers = (tensix.mx_unpack(own, name, count=X.size) >> 3).astype(np.uint16).view(ml_dtypes.bfloat16)
    assert np.array_equal(bitpath.dequantize(quantized), numbers.astype(np.float32).reshape(X.shape))


@pytest.mark.parametrize("name", BLOCK_FORMATS)
@pytest.mark.parametrize("rounding", [0, 12])
def test_aie_ml_v2_blocks(name, rounding):
    quantized = bitpath.quantize(X, name, rounding=rounding)
    own = aie_ml_v2.to_mx(X, name, rounding=rounding)
    assert all(
        getattr(quantized.data, each).tobytes() == getattr(own, each).tobytes() for each in ("exponent", "codes")
    )
    assert quantized.data.shift.tobytes() == own.shift.tobytes()
    assert np.array_equal(bitpath.dequantize(quantized), aie_ml_v2.from_mx(own))


LESS_THAN_WHOLE = ("lofi", "hifi2", "hifi3")
"""Fidelities whose phases leave out bits."""
MULTIPLIED = [
    each for each in FORMATS if each[1] in MACHINES[each[0]].formats and not each[1].endswith(LESS_THAN_WHOLE)
]


@pytest.mark.parametrize(("machine", "name"), MULTIPLIED, ids=str)
def test_numbers_are_those_that_matmul_multiplies(machine, name):
    """A product with ones of the diagonal is exact in every format; "mxfp4" are weights."""
    x, ones = X[:, :40], np.eye(40, dtype=np.float32)
    numbers = bitpath.dequantize(bitpath.quantize(x, name, machine=machine))
    product = bitpath.matmul(ones, x.T, format=name).T if name == "mxfp4" else bitpath.matmul(x, ones, format=name)
    assert np.array_equal(numbers, product)


@pytest.mark.parametrize(("machine", "name"), FORMATS, ids=str)
def test_shapes(machine, name):
    """Leading axes are rows, one axis is a row, and zeros behind the last block change no number."""
    whole = bitpath.dequantize(bitpath.quantize(X, name, machine=machine))
    assert (whole.shape, whole.dtype) == (X.shape, np.float32)
    stacked = bitpath.quantize(X.reshape(2, 2, 64), name)
    assert stacked.shape == (2, 2, 64)
    assert np.array_equal(bitpath.dequantize(stacked).reshape(X.shape), whole)
    assert np.array_equal(bitpath.dequantize(bitpath.quantize(X[1].astype(float).tolist(), name)), whole[1])
    assert bitpath.dequantize(bitpath.quantize(X[:, :5], name)).shape == (4, 5)


@pytest.mark.parametrize("order", ["interleaved", "adjacent"])
def test_the_order_of_k_stays_with_the_numbers(order):
    x = np.float32(np.random.default_rng(3).standard_normal((4, 512)))
    quantized = bitpath.quantize(x, "mxfp8_e4m3", k_order=order)
    own = MACHINES["trainium3"].numbers("a", x, a_format="mxfp8_e4m3", b_format="mxfp8_e4m3", k_order=order)
    assert np.array_equal(bitpath.dequantize(quantized), own)


def test_numerics_stay_with_the_numbers():
    quantized = bitpath.quantize([np.nan] * 16, "mx9", numerics="aie_ml_v2")
    assert quantized.numerics is MACHINES["aie_ml_v2"].presets["aie_ml_v2"].numerics
    assert np.isnan(bitpath.dequantize(quantized)).all()


def test_mistakes(subtests):
    for call, error, sentence in (
        (lambda: bitpath.quantize(X, "int8"), ValueError, "format must be a machine's, such as trainium3's mxfp8_e4m3"),
        (lambda: bitpath.quantize(X, "mx9", machine="tensix"), ValueError, "format must be a machine's, such as tensix's "),
        (lambda: bitpath.quantize(X, "mx9", machine="x"), ValueError, "machine must be 'trainium3', "),
        (lambda: bitpath.quantize(X, "mx9", rounding=77), ValueError, "rounding must be 0, 1, "),
        (lambda: bitpath.quantize(X, "mxfp4", scale_rule="x"), ValueError, "scale_rule must be 'ocp' or 'nki05', not"),
        (lambda: bitpath.quantize(X[:, :0], "mx9"), ValueError, "x must have two dimensions or more of at least 1,"),
        (lambda: bitpath.quantize(X > 0, "mx9"), TypeError, "x must hold floats or integers, not bool"),
        (lambda: bitpath.quantize(X * np.nan, "bf16_lofi"), ValueError, "x holds NaN, which the Matrix unit"),
        (lambda: bitpath.quantize(X * np.nan, "mxfp4"), ValueError, f"x holds NaN, which {DTYPES[MX_FORMATS['mxfp4'].element]}"),
        (lambda: bitpath.quantize(X, "mx9", numerics="x"), ValueError, "numerics must be 'aie_ml_v2', "),
        (lambda: bitpath.dequantize(X), TypeError, "quantized must be a Quantized, not a ndarray"),
    ):  # fmt: skip
        with subtests.test(sentence), pytest.raises(error, match=f"^{re.escape(sentence)}"):
            call()


# MX tensors of checkpoints.


@pytest.mark.parametrize("rule", ["ocp", "nki05"])
@pytest.mark.parametrize("name", ["mxfp8_e4m3", "mxfp8_e5m2", "mxfp4"])
def test_mx_tensors_hold_the_machines_numbers(name, rule):
    """With adjacent k a tile's blocks are 32 neighbours, as in a checkpoint."""
    x = np.float32(X.reshape(2, 2, 64))
    tensor = bitpath.quantize(x, name, layout="ocp", scale_rule=rule)
    assert isinstance(tensor, bitpath.MxTensor)
    assert (tensor.shape, tensor.scales.shape) == (x.shape, (2, 2, 2))
    whole = bitpath.dequantize(tensor)
    own = MACHINES["trainium3"].numbers("a", x, a_format=name, b_format=name, scale_rule=rule, k_order="adjacent")
    assert np.array_equal(whole, own)


def test_mx_tensors_are_read_as_stored():
    tensor = bitpath.MxTensor(elements=np.full((1, 16), 0x21, np.uint8), scales=np.array([[128]], np.uint8))
    assert bitpath.dequantize(tensor).tolist() == [[1.0, 2.0] * 16]
    elements = np.full((2, 32), 1.5, ml_dtypes.float8_e5m2)
    tensor = bitpath.MxTensor(elements=elements, scales=np.array([[0.5], [2.0**127]]).astype(ml_dtypes.float8_e8m0fnu))
    assert bitpath.dequantize(tensor)[:, 0].tolist() == [0.75, float(np.float32(1.5 * 2.0**127))]


def test_mx_tensors_refuse_other_arrays(subtests):
    good = {"elements": np.zeros((2, 32), ml_dtypes.float8_e4m3fn), "scales": np.zeros((2, 1), np.uint8)}
    for changes, error, sentence in (
        (
            {"elements": np.zeros((2, 32))},
            TypeError,
            "elements must be float8_e4m3fn, float8_e5m2 or uint8, not float64",
        ),
        (
            {"elements": np.zeros((2, 40), np.uint8)},
            ValueError,
            "scales must have shape [2, 2] for these elements, not",
        ),
        ({"scales": np.zeros((2, 2), np.uint8)}, ValueError, "scales must have shape [2, 1] for these elements, not"),
        ({"scales": np.zeros((2, 1))}, TypeError, "scales must be float8_e8m0fnu or uint8, not float64"),
    ):
        with subtests.test(sentence), pytest.raises(error, match=f"^{re.escape(sentence)}"):
            bitpath.MxTensor(**good | changes)
    with pytest.raises(ValueError, match=r"^format with layout 'ocp' must be 'mxfp8_e4m3', .*, not 'mx9'"):
        bitpath.quantize(X, "mx9", layout="ocp")
    with pytest.raises(ValueError, match="options with layout 'ocp' must be scale_rule, not 'numerics'"):
        bitpath.quantize(X, "mxfp4", layout="ocp", numerics="x")
    with pytest.raises(ValueError, match="elements must have shape"):
        bitpath.MxTensor(elements=np.zeros((), np.uint8), scales=np.zeros((), np.uint8))
    with pytest.raises(ValueError, match="x must have a multiple of 32 numbers along K with layout 'ocp', not 40"):
        bitpath.quantize(X[:, :40], "mxfp4", layout="ocp")
