"""Layers of torch against golden's matmul and torch's own gradients; `make test-deep` installs torch and runs them."""

import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import bitpath
from bitpath.sim.flows import operands

layers = pytest.importorskip("bitpath.torch")
example = pytest.importorskip("examples.accuracy_by_layer")
torch, nn = layers.torch, layers.nn
pytestmark = pytest.mark.deep
PAGE = Path(__file__).resolve().parents[3] / "docs/tutorials/layers.md"
FORMATS = ("mxfp8_e4m3", "mxfp4", "bf16_lofi", "bfp8_hifi2", "mx9", "bf16")
MORE = (
    " It is a way I have of driving off the spleen and regulating the circulation. Whenever I find myself growing"
    " grim about the mouth; whenever it is a damp, drizzly November in my soul; whenever I find myself "
    "involuntarily pausing before coffin warehouses, and bringing up the rear of every funeral I meet; and "
    "especially whenever my hypos get such an upper hand of me, that it requires a strong moral principle to "
    "prevent me from deliberately stepping into the street, and methodically knocking people's hats off, then, I "
    "account it high time to get to sea as soon as I can."
)
"""The rest of the text whose beginning the tensors of verif/vectors belong to."""


def tensors(*leading, seed=0, dtype=torch.float32):
    """Return x [*leading, 48], w [5, 48] and a bias [5] that require gradients."""
    random = torch.Generator().manual_seed(seed)
    shapes = ((*leading, 48), (5, 48), (5,))
    return [torch.randn(shape, generator=random).to(dtype).requires_grad_() for shape in shapes]


def in_golden(x, w, bias, **names):
    x, w, bias = (each.detach().float().numpy() for each in (x, w, bias))
    return bitpath.matmul(x.reshape(-1, x.shape[-1]), w.T, **names).reshape(*x.shape[:-1], -1) + bias


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("leading", [(), (3,), (2, 1, 3)])
def test_a_layer_has_goldens_bits(name, leading):
    x, w, bias = tensors(*leading)
    y = layers.linear(x, w, bias, format=name)
    assert (y.dtype, y.shape) == (torch.float32, (*leading, 5))
    np.testing.assert_array_equal(y.detach().numpy(), in_golden(x, w, bias, format=name), strict=True)
    np.testing.assert_array_equal(
        layers.linear(x, w, format=name).detach().numpy(), in_golden(x, w, 0 * bias, format=name)
    )


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_other_floats_give_float32_and_gradients_of_their_own(dtype):
    x, w, bias = tensors(4, dtype=dtype)
    y = layers.linear(x, w, bias, format="mx9")
    assert y.dtype == torch.float32
    np.testing.assert_array_equal(y.detach().numpy(), in_golden(x, w, bias, format="mx9"))
    y.sum().backward()
    assert [each.grad.dtype for each in (x, w, bias)] == [dtype] * 3


def test_views_and_numerics_by_name():
    x, w, bias = tensors(6)
    rows, names = x.T.contiguous().T[::2], {"machine": "aie_ml_v2", "numerics": "aie_ml_v2_split"}
    got = layers.linear(rows, w, bias, format="mx9", **names)
    np.testing.assert_array_equal(got.detach().numpy(), in_golden(rows, w, bias, format="mx9", **names))


@pytest.mark.parametrize("leading", [(), (3,), (2, 3)])
def test_the_gradient_is_that_of_torchs_linear(leading):
    """Sums of small integers are exact in float32, so that the order of the sums cannot matter."""
    gradients = []
    for linear in (lambda *each: layers.linear(*each, format="mx4"), nn.functional.linear):
        leaves = [each.detach().mul(4).round().requires_grad_() for each in tensors(*leading)]
        y = linear(*leaves)
        y.backward(torch.arange(y.numel(), dtype=torch.float32).reshape(y.shape))
        gradients.append([each.grad for each in leaves])
    assert all(map(torch.equal, *gradients))


# The checker itself looks at gradients of tensors that are no leaves.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
@pytest.mark.parametrize("name", ["mxfp8_e4m3", "bf16_lofi", "mx9"])
def test_the_operator_obeys_torchs_rules(name):
    x, w, _ = tensors(2, 3)
    found = torch.library.opcheck(torch.ops.bitpath.matmul.default, (x, w, name, None, None))
    assert set(found.values()) == {"SUCCESS"}


def test_a_compiled_layer_has_the_same_bits():
    x, w, bias = tensors(2, 3)
    compiled = torch.compile(lambda *each: layers.linear(*each, format="mx6"), backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(x, w, bias), layers.linear(x, w, bias, format="mx6"))


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        (
            {"x": torch.zeros(2, 3)},
            ValueError,
            r"x and w must have shapes \[..., K\] and \[N, K\], not \[2, 3\] and \[5, 48\]",
        ),
        ({"w": torch.zeros(48)}, ValueError, r"x and w must have shapes .*, not \[2, 48\] and \[48\]"),
        ({"x": torch.zeros(2, 48, dtype=torch.int64)}, TypeError, r"x must hold floats, not torch\.int64"),
        ({"w": torch.zeros(5, 48, device="meta")}, ValueError, "x and w must be on one device, not cpu and meta"),
        ({"format": "int8_lofi"}, ValueError, "format must be one of floats for a layer, not 'int8_lofi'"),
        ({"format": "mx9", "machine": "tensix"}, ValueError, "format of tensix must be .*, not 'mx9'"),
        ({"numerics": 3}, TypeError, "numerics must be 'aie_ml_v2', .*, not 3"),
        ({"numerics": "exact"}, ValueError, "numerics must be 'aie_ml_v2', .*, not 'exact'"),
    ],
)
def test_mistakes_are_one_sentence(change, error, says):
    x, w, _ = tensors(2)
    with pytest.raises(error, match=f"^{says}$"):
        layers.linear(**({"x": x, "w": w, "format": "mx9"} | change))


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(48, 32), nn.ReLU(), nn.Sequential(nn.Linear(32, 32), nn.Linear(32, 5, bias=False)))


def names_of(model):
    return [name for name, each in model.named_modules() if isinstance(each, layers.MachineLinear)]


def test_a_converted_model_is_a_copy_that_loads_the_same_weights():
    model, (x, _, _) = network(), tensors(4)
    expected = model(x)
    converted = layers.convert(model, format="mx6")
    assert names_of(converted) == ["0", "2.0", "2.1"]
    assert not names_of(model)
    assert torch.equal(model(x), expected)
    assert list(converted.state_dict()) == list(model.state_dict())
    converted.load_state_dict(model.state_dict())
    hidden = torch.relu(layers.linear(x, model[0].weight, model[0].bias, format="mx6"))
    inner = layers.linear(hidden, model[2][0].weight, model[2][0].bias, format="mx6")
    assert torch.equal(converted(x), layers.linear(inner, model[2][1].weight, format="mx6"))
    assert "format=mx6" in repr(converted)


@pytest.mark.parametrize(
    ("where", "chosen"),
    [(["2.*"], ["2.0", "2.1"]), (("0", "*.1"), ["0", "2.1"]), (lambda name, layer: layer.bias is None, ["2.1"])],
)
def test_layers_are_chosen_by_pattern_or_function(where, chosen):
    assert names_of(layers.convert(network(), format="mx6", where=where)) == chosen


@pytest.mark.parametrize(
    ("where", "error", "says"),
    [
        (["conv*"], ValueError, "where must choose at least one nn.Linear of the model, which has ['0', '2.0', '2.1']"),
        ("2.0", TypeError, "where must be a function or a list of patterns, not '2.0'"),
        (5, TypeError, "where must be a function or a list of patterns, not 5"),
    ],
)
def test_mistakes_of_where(where, error, says):
    with pytest.raises(error, match=f"^{re.escape(says)}$"):
        layers.convert(network(), format="mx6", where=where)


def test_a_converted_layer_takes_another_format():
    converted = layers.convert(layers.convert(network(), format="mx6"), format="mx9", where=["2.*"])
    chosen = [each.names["format"] for each in converted.modules() if isinstance(each, layers.MachineLinear)]
    assert chosen == ["mx6", "mx9", "mx9"]


def test_a_model_may_be_one_layer_or_share_one():
    layer, (x, _, _) = nn.Linear(48, 48), tensors(4)
    assert isinstance(layers.convert(layer, format="mx6"), layers.MachineLinear)
    shared = layers.convert(nn.Sequential(layer, layer), format="mx6")
    once = layers.linear(x, layer.weight, layer.bias, format="mx6")
    assert shared[0] is shared[1]
    assert torch.equal(shared(x), layers.linear(once, layer.weight, layer.bias, format="mx6"))


def test_torchs_encoder_calls_its_converted_layers():
    """Without gradients torch's encoder runs a fused kernel, which reads the layers' weights and calls no layer."""
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(48, 2, 64, batch_first=True), 1).eval()
    x, padding = tensors(2, 3)[0].detach(), torch.tensor([[False] * 3, [False, False, True]])
    converted = layers.convert(encoder, format="mx4")
    expected = converted(x, src_key_padding_mask=padding)
    with torch.no_grad():
        assert torch.equal(converted(x, src_key_padding_mask=padding), expected)


@pytest.fixture(scope="module")
def model():
    spec = find_spec(example.PACKAGE)
    if spec is None:
        pytest.skip(f"{example.PACKAGE} is not installed; make test-deep installs it")
    return Path(spec.origin).parent / "model"


def test_the_examples_encoder_gives_the_tensors_of_the_layer_that_runs_multiply(model):
    """The tensors are of the first 128 tokens of 177, rounded to float16; another text or a fault changes digits."""
    encoder, found = example.read_model(model), []
    encoder[2].up.register_forward_hook(lambda _layer, inputs, _output: found.append(inputs[0].numpy()))
    with torch.no_grad():
        encoder(example.embed(model, example.TEXT + MORE))
    inputs, weight = operands.layer()
    np.testing.assert_array_equal(encoder[2].up.weight.detach().numpy()[:512].astype(np.float16), weight.T)
    np.testing.assert_allclose(found[0][:128], inputs, rtol=2**-11, atol=2e-4)


def test_the_page_shows_what_the_example_prints(model, capsys):
    """The float32 operations between the layers round as the processor's kernels do: the last digit may differ by 1."""
    example.main(example.FORMATS)
    shown = re.search(r"^```text\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)[1]
    printed, page = ([line.split() for line in text.splitlines()] for text in (capsys.readouterr().out, shown))
    assert len(page) == 38
    assert [line[0] for line in printed] == [line[0] for line in page]
    assert printed[0] == page[0]
    errors = [
        np.subtract(np.array(a[1:], float), np.array(b[1:], float)) for a, b in zip(printed[1:], page[1:], strict=True)
    ]
    assert np.abs(errors).max() < 0.15
