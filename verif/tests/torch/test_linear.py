"""`linear` against golden's matmul and torch's own gradients; `make test-deep` installs torch and runs this."""

import json
from dataclasses import replace

import pytest

from bitpath.golden.machines import MACHINES

layers = pytest.importorskip("bitpath.torch")
samples = pytest.importorskip("bitpath.verif.tests.torch.samples")
torch, tensors, golden, golden_linear = samples.torch, samples.tensors, samples.golden, samples.golden_linear
pytestmark = pytest.mark.deep
FORMATS = [
    (machine.name, name) for machine in MACHINES.values() for name in machine.formats if name not in machine.integers
]


@pytest.mark.parametrize(("machine", "name"), FORMATS)
def test_every_format_of_floats(machine, name):
    x, w, _ = tensors(3)
    w = torch.nn.Parameter(w.detach())
    for _ in range(2):
        y = layers.linear(x, w, format=name, machine=machine)
        assert torch.equal(y, golden(x, w.T, format=name, machine=machine))


@pytest.mark.parametrize("name", ["mxfp8_e4m3", "bf16_lofi", "mx9"])
@pytest.mark.parametrize("leading", [(), (3,), (2, 1, 3)])
def test_a_layer_has_goldens_bits(name, leading):
    x, w, bias = tensors(*leading)
    y = layers.linear(x, w, bias, format=name)
    assert (y.dtype, y.shape) == (torch.float32, (*leading, 5))
    assert torch.equal(y, golden_linear(x, w, bias, format=name))
    assert torch.equal(layers.linear(x, w, format=name), golden(x, w.T, format=name))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_results_and_gradients_have_the_dtype_of_the_operands(dtype):
    x, w, bias = tensors(4, dtype=dtype)
    y = layers.linear(x, w, bias, format="mx9")
    assert y.dtype == dtype
    assert torch.equal(y, golden_linear(x, w, bias, format="mx9").to(dtype))
    y.sum().backward()
    assert [each.grad.dtype for each in (x, w, bias)] == [dtype] * 3


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_rounds_operands_and_result(dtype):
    x, w, bias = tensors(4)
    with torch.autocast("cpu", dtype):
        y = layers.linear(x, w, bias, format="mx9")
        own = torch.nn.functional.linear(x, w, bias)
        assert layers.linear(*tensors(4, dtype=torch.float64), format="mx9").dtype == torch.float64
    assert y.dtype == own.dtype == dtype
    narrow = [each.to(dtype) for each in (x, w, bias)]
    assert torch.equal(y, golden_linear(*narrow, format="mx9").to(dtype))
    y.sum().backward()
    # The gradient of x is the sum of the weights as they were multiplied.
    assert torch.equal(x.grad[0], torch.ones(5) @ narrow[1].float())


@pytest.mark.parametrize(
    "options",
    [
        {"format": "mx9", "numerics": "aie_ml_v2_split", "machine": "aie_ml_v2"},
        {"format": "mx6", "rounding": 0},
        {"format": "mxfp8_e4m3", "scale_rule": "nki05", "k_order": "adjacent"},
        {"format": "bf16_lofi", "chip": "blackhole", "dst32": False},
    ],
    ids=lambda options: options["format"],
)
def test_options_of_the_machine(options):
    x, w, bias = tensors(6)
    rows = x.T.contiguous().T[::2]
    assert torch.equal(layers.linear(rows, w, bias, **options), golden_linear(rows, w, bias, **options))


def test_numerics_by_record_and_by_file(tmp_path):
    x, w, _ = tensors(6)
    default = MACHINES["trainium3"].presets["trainium3_quad_mx"].numerics
    own = replace(default, align_fraction_bits=8)
    expected = golden(x, w.T, format="mxfp8_e4m3", numerics=own)
    assert not torch.equal(expected, golden(x, w.T, format="mxfp8_e4m3"))
    assert torch.equal(layers.linear(x, w, format="mxfp8_e4m3", numerics=own), expected)
    file = tmp_path / "own.json"
    file.write_text(json.dumps({"align_fraction_bits": 8}))
    assert torch.equal(layers.linear(x, w, format="mxfp8_e4m3", numerics=str(file)), expected)


@pytest.mark.parametrize("leading", [(0,), (2, 0)])
def test_an_empty_batch_is_empty_and_has_a_gradient_of_zeros(leading):
    x, w, bias = tensors(*leading)
    y = layers.linear(x, w, bias, format="mx9", backward_format="mx9")
    assert y.shape == (*leading, 5)
    y.sum().backward()
    assert x.grad.shape == x.shape
    assert not w.grad.any()
    assert torch.equal(layers.linear(torch.ones(2, 0), torch.ones(5, 0), format="mx9"), torch.zeros(2, 5))


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        (
            {"x": torch.zeros(2, 3)},
            ValueError,
            r"x and w must have shapes \[..., K\] and \[N, K\], not \[2, 3\] and \[5, 48\]",
        ),
        ({"w": torch.zeros(48)}, ValueError, r"x and w must have shapes .*, not \[2, 48\] and \[48\]"),
        ({"x": torch.zeros(2, 48, dtype=torch.int64)}, TypeError, r"a must hold floats, not torch\.int64"),
        ({"w": torch.zeros(5, 48, device="meta")}, ValueError, "a and b must be on one device, not cpu and meta"),
        ({"format": "int8_lofi"}, ValueError, "format must be one of floats for a layer, not 'int8_lofi'"),
        ({"format": "mx9", "machine": "tensix"}, ValueError, "format must be a machine's, such as .*; not 'mx9'"),
        ({"numerics": 3}, TypeError, r"numerics must be an AieNumerics \(preset\.numerics\), not 3"),
        ({"backward_format": "int8"}, ValueError, "backward_format must be one of floats for a layer, not 'int8'"),
        ({"backward_format": 8}, TypeError, "backward_format must be the name of a format, not 8"),
        ({"rounding": 99}, ValueError, "rounding must be .*, not 99"),
        ({"rounding": [0]}, TypeError, r"rounding must be a name, a number or a flag, not \[0\]"),
        ({"chip": "wormhole"}, TypeError, "options of aie_ml_v2 must be .*, not 'chip'"),
        ({"numerics": "exact"}, ValueError, "numerics must be 'aie_ml_v2', .*, not 'exact'"),
    ],
)
def test_mistakes_are_one_sentence(change, error, says):
    x, w, _ = tensors(2)
    with pytest.raises(error, match=f"^{says}$"):
        layers.linear(**({"x": x, "w": w, "format": "mx9"} | change))
