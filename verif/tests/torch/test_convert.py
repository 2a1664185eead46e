"""`convert`: layers, attention and products of modules; copies, choices and the state of a model."""

import copy
import io
import re

import pytest

layers = pytest.importorskip("bitpath.torch")
samples = pytest.importorskip("bitpath.verif.tests.torch.samples")
models = pytest.importorskip("bitpath.verif.tests.torch.models")
products = pytest.importorskip("bitpath.torch.product")
torch, tensors, golden = samples.torch, samples.tensors, samples.golden
nn, functional, checkpoint = torch.nn, torch.nn.functional, torch.utils.checkpoint.checkpoint
pytestmark = pytest.mark.deep


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
    assert "rounding=0" in repr(layers.convert(model, format="mx6", rounding=0))


@pytest.mark.parametrize(
    ("where", "chosen"),
    [(["2.*"], ["2.0", "2.1"]), (("0", "*.1"), ["0", "2.1"]), (lambda name, layer: layer.bias is None, ["2.1"])],
)
def test_layers_are_chosen_by_pattern_or_function(where, chosen):
    assert names_of(layers.convert(network(), format="mx6", where=where)) == chosen


@pytest.mark.parametrize(
    ("where", "error", "says"),
    [
        (["conv*"], ValueError, "where must choose at least one module of the model, which has '0', '2.0', '2.1'"),
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


# Modules of the user: their own products, and those of the modules in them.


@pytest.mark.parametrize("build", models.MODELS.values(), ids=models.MODELS)
def test_a_converted_model_is_the_model_in_the_context(build):
    model, inputs = build()
    with torch.no_grad():
        with layers.machine(format="mx6"):
            expected = models.output(model(*inputs))
        converted = layers.convert(model, format="mx6")
        assert torch.equal(models.output(converted(*inputs)), expected)
        assert not torch.equal(models.output(model(*inputs)), expected)
    assert list(converted.state_dict()) == list(model.state_dict())


@pytest.mark.parametrize("build", models.MODELS.values(), ids=models.MODELS)
def test_copies_files_and_compiled_models_have_the_same_bits(build):
    model, inputs = build()
    converted = layers.convert(model, format="mx6")
    with torch.no_grad():
        expected = models.output(converted(*inputs))
        file = io.BytesIO()
        torch.save(converted, file)
        file.seek(0)
        compiled = torch.compile(converted, backend="aot_eager", fullgraph=True)
        for each in (copy.deepcopy(converted), torch.load(file, weights_only=False), compiled):
            assert torch.equal(models.output(each(*inputs)), expected)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_models_and_autocast_give_narrow_results(dtype):
    model, (x,) = models.attention()
    assert layers.convert(model.to(dtype), format="mx6")(x.to(dtype)).dtype == dtype
    with torch.autocast("cpu", dtype):
        assert layers.convert(model.float(), format="mx6")(x).dtype == dtype


class Product(nn.Module):
    """A layer, and a product of its own."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.weight = nn.Linear(48, 48), nn.Parameter(torch.randn(48, 5))

    def forward(self, x):
        if x.shape[0] == 13:
            raise ArithmeticError
        return self.layer(x) @ self.weight


def test_a_product_belongs_to_the_innermost_module():
    model, (x, _, _) = Product(), tensors(4)
    own = layers.convert(model, format="mx4", where=[""])
    hidden = model.layer(x)
    assert torch.equal(own(x), golden(hidden, model.weight, format="mx4"))
    inner = layers.convert(model, format="mx9", where=["layer"])
    hidden = layers.linear(x, model.layer.weight, model.layer.bias, format="mx9")
    assert torch.equal(inner(x), hidden @ model.weight)
    both = golden(hidden, model.weight, format="mx4")
    assert torch.equal(layers.convert(own, format="mx9", where=["layer"])(x), both)
    assert torch.equal(layers.convert(inner, format="mx4", where=[""])(x), both)
    again = layers.convert(layers.convert(own, format="mx6"), format="mx9", where=["layer"])
    assert torch.equal(again(x), golden(hidden, model.weight, format="mx6"))


def test_an_exception_of_the_model_leaves_no_context():
    converted, (x, _, _) = layers.convert(Product(), format="mx4"), tensors(13)
    with pytest.raises(ArithmeticError):
        converted(x)
    with torch.no_grad():
        assert torch.equal(x @ converted.weight, torch.mm(x, converted.weight))
        assert not torch.overrides._get_current_function_mode_stack()


def test_the_gradient_reaches_the_weights_of_products():
    converted, (x, _, _) = layers.convert(Product(), format="bf16", backward_format="bf16"), tensors(4)
    converted(x).sum().backward()
    hidden = converted.layer(x)
    assert torch.equal(converted.weight.grad, golden(hidden.T, torch.ones(4, 5), format="bf16"))


def test_a_checkpoint_recomputes_the_same_bits():
    model, (x,) = models.attention()
    converted, gradients = layers.convert(model, format="mx6"), []
    for call in (converted, lambda x: checkpoint(converted, x, use_reentrant=False)):
        converted.zero_grad()
        call(x).square().sum().backward()
        gradients.append([each.grad for each in converted.parameters()])
    assert all(map(torch.equal, *gradients))


def test_a_parametrized_layer_is_converted_in_its_place():
    layer, (x, _, _) = nn.utils.parametrizations.weight_norm(nn.Linear(48, 5)), tensors(4)
    expected = layers.linear(x, layer.weight, layer.bias, format="mx4")
    assert torch.equal(layers.convert(layer, format="mx4")(x), expected)


def test_a_second_run_converts_activations_only(monkeypatch):
    """Two products of attention and one of the mixture have no weight."""
    model, inputs = models.language()
    converted, prepared, own = layers.convert(model, format="mx6"), [], products.prepare
    monkeypatch.setattr(products, "prepare", lambda b, **names: prepared.append(b) or own(b, **names))
    with torch.no_grad():
        for new in (9, 3):
            prepared.clear()
            converted(*inputs)
            assert len(prepared) == new


@pytest.mark.parametrize(
    ("model", "has"),
    [(nn.ReLU(), "ReLU"), (nn.Sequential(nn.LSTM(4, 4), nn.Embedding(3, 4)), "Embedding, LSTM, Sequential")],
)
def test_a_model_with_nothing_to_convert_says_what_it_has(model, has):
    with pytest.raises(ValueError, match=f"^model must have layers that multiply, not only {has}$"):
        layers.convert(model, format="mx6")


def test_a_model_without_numbers_keeps_shapes():
    model, _ = models.attention()
    y = layers.convert(model.to("meta"), format="mx6")(torch.ones(2, 6, 32, device="meta"))
    assert (y.device.type, y.shape) == ("meta", (2, 6, 32))


def test_a_file_of_numerics_is_read_once(tmp_path):
    file, x = tmp_path / "own.json", tensors(4)[0]
    file.write_text('{"align_fraction_bits": 8}')
    converted = layers.convert(network(), format="mxfp8_e4m3", numerics=str(file))
    expected = converted(x)
    file.unlink()
    assert torch.equal(converted(x), expected)


def test_options_are_checked_at_once():
    with pytest.raises(ValueError, match=r"^chip must be 'wormhole' or 'blackhole', not 'grayskull'$"):
        layers.convert(network(), format="bf16_lofi", chip="grayskull")
    with pytest.raises(TypeError, match=r"^model must be a Module, not a Tensor$"):
        layers.convert(torch.ones(3), format="mx6")
